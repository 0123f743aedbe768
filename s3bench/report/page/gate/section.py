"""A gate as a section of the page: its verdict, what decided, the changes beside their limits, and the raw pairs."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from s3bench.gate.evidence import Role
from s3bench.gate.record import GateRecord
from s3bench.gate.row import GateRow, RowKind, Verdict
from s3bench.report.gate import digest as words
from s3bench.report.gate.digest import Digest, digest
from s3bench.report.gate.tables import LEGEND, TONES, benchmark_text, gate_table
from s3bench.report.label import sentence
from s3bench.report.page import theme
from s3bench.report.page.chart import MarkerStyle
from s3bench.report.page.fitting import ROWS_MAX
from s3bench.report.page.forest import ForestRow, forest_figure
from s3bench.report.page.gate.pairs import pairs_figure, zone_of
from s3bench.report.page.profile.explanation import explanation_sections
from s3bench.report.page.section import ChartFigure, Headline, Line, Section
from s3bench.report.table import Table, Tone, column
from s3bench.results.metrics import METRICS_BY_NAME

PAIRS_SHOWN_MAX = 6
"""The most rows whose pairs are drawn."""

_STYLES: Mapping[str, MarkerStyle] = MappingProxyType({
    Verdict.FAIL.value: MarkerStyle(color=theme.BAD, shape="square"),
    Verdict.INCONCLUSIVE.value: MarkerStyle(color=theme.WARNING, shape="diamond"),
    Verdict.SMALL.value: MarkerStyle(color=theme.WARNING, shape="triangle-up"),
    Verdict.PASS.value: MarkerStyle(color=theme.GOOD, shape="circle"),
})  # fmt: skip
_ZONE_WORDS = (
    "Shaded are the limits of each row: a worsening within the darker part is negligible, one beyond the mark fails. "
    "The interval drawn is that of the row by itself; verdicts use bounds that share their error among all looks and "
    "rows, given as reasons in the tables."
)
_CONTROL_NAMES = {
    Role.NEGATIVE_CONTROL: "baseline against itself",
    Role.POSITIVE_CONTROL: "with a planted delay",
}


def gate_section(record: GateRecord) -> Section:
    """The section of a record that has its conclusion."""
    content = digest(record)
    deciding = (*content.decided, *content.waived, *content.rest)
    return Section(
        name="gate",
        title=sentence(f"Gate: {content.candidate} against {content.baseline}"),
        headline=_headline(content),
        lines=tuple(_lines(record, content)),
        figures=tuple(_forests([row for row in deciding if row.role is Role.BENCHMARK], "forest")),
        tables=tuple(_tables(content)),
        parts=(
            *explanation_sections(record.explanations, (record.baseline.label, record.candidate.label)),
            *_pairs(record, content),
            *_controls(content),
            *_counts(content),
            *_also_changed(content),
        ),
    )


def _headline(content: Digest) -> Headline:
    """The verdict with the bound that decided, the first row of several."""
    row = next((row for row in content.decided if row.role is Role.BENCHMARK), None)
    sized = [each for each in (*content.decided, *content.rest) if each.kind is RowKind.SIZE and each.pairs]
    counts = [each.pairs for each in sized]
    found = [
        ("candidate", content.candidate),
        ("baseline", content.baseline),
        (content.counted, f"{min(counts)} to {max(counts)}" if len(set(counts)) > 1 else f"{max(counts, default=0)}"),
        ("rows decided", words.tally((*content.decided, *content.waived, *content.rest)) or "none"),
    ]
    more = [f"{len(content.decided) - 1} more rows decided as well."] if row and len(content.decided) > 1 else []
    return Headline(
        verdict=content.verdict.value,
        tone=TONES[content.verdict],
        text=sentence(_answer(row, content)),
        remarks=tuple(sentence(each) for each in ([*_medians(row), *more] if row else content.notes[:2])),
        figures=tuple((name, sentence(value)) for name, value in found),
    )


def _answer(row: GateRow | None, content: Digest) -> str:
    """`s3.cp.upload FileSize=32MB total_time at least +9.3%, limit +6.0%`, or what can be said without such a row."""
    if row is not None:
        subject = f"{row.metric} {'over all benchmarks' if not row.benchmark else f'of {words.benchmark(row)}'}"
        if row.kind is RowKind.INSTRUCTIONS:
            return f"{subject}: {row.reason}"
        if row.verdict is Verdict.FAIL and row.at_least is not None and row.d0 is not None:
            how = f"{row.at_least:.1%} lower" if row.is_drop else f"{row.at_least:+.1%} worse"
            return f"{subject} at least {how}, limit {row.d0:.1%}"
        if row.verdict is Verdict.SMALL and row.at_most is not None and row.d1 is not None:
            return f"{subject} worse by at most {row.at_most:.1%}, limit {row.d1:.1%}"
        return f"{subject}: {row.reason}"
    worst = max(
        (each for each in content.rest if each.at_most is not None), key=lambda each: each.at_most or 0.0, default=None
    )
    if content.verdict is Verdict.PASS and worst is not None and worst.at_most is not None:
        return f"No row is worse by more than {worst.at_most:.1%}" if worst.at_most > 0 else "Nothing got worse"
    return f"{content.candidate} against {content.baseline}"


def _medians(row: GateRow) -> Iterator[str]:
    if row.kind is RowKind.INSTRUCTIONS:
        yield f"{words.medians(row)} in {row.pairs} runs of each side."
    elif row.change is not None:
        yield f"{words.change(row)} ({words.medians(row)}), 95 % interval {words.interval(row)}."


def _lines(record: GateRecord, content: Digest) -> Iterator[Line]:
    tone = TONES[content.verdict]
    yield from (Line(text=sentence(note), tone=tone) for note in content.notes)
    for row in content.decided:
        yield Line(text=sentence(f"{words.subject(row)}: {words.sentence(row, content)}"), tone=TONES[row.verdict])
    yield Line(text=sentence(f"Controls: {words.controls_in_words(record, content)}"))
    if adjusted := words.adjusted_in_words(content):
        yield Line(text=sentence(f"Adjusted {adjusted}"))
    if rest := words.rest_in_words(content):
        yield Line(text=sentence(f"{'The rest' if content.decided else 'All'}: {rest}"))
    for row in content.waived:
        yield Line(text=sentence(f"waived: {words.subject(row)}: {row.waived_by}"), tone=Tone.WARNING)
    yield from (Line(text=sentence(f"failure: {text}"), tone=Tone.BAD) for text in content.failures)
    yield from (Line(text=sentence(f"warning: {text}"), tone=Tone.WARNING) for text in content.warnings)
    yield Line(text=LEGEND)


def _forests(rows: Sequence[GateRow], name: str) -> Iterator[ChartFigure]:
    """A forest plot for each measured metric, in the order in which they decided."""
    sized = [row for row in rows if row.kind in {RowKind.SIZE, RowKind.CREEP}]
    for metric in dict.fromkeys(row.metric for row in sized):
        drawn = [_forest_row(row) for row in sized if row.metric == metric]
        figure = forest_figure(drawn, metric=METRICS_BY_NAME[metric], styles=_STYLES, closing=_ZONE_WORDS, name=name)
        if figure is not None:
            yield figure


def _forest_row(row: GateRow) -> ForestRow:
    verdict = row.verdict or Verdict.INCONCLUSIVE
    change, interval = words.change(row), words.interval(row)
    role = f" ({_CONTROL_NAMES[row.role]})" if row.role in _CONTROL_NAMES else ""
    return ForestRow(
        name=f"{words.benchmark(row)}{role}",
        figures=f"{words.change(row, has_word=False)} ({interval})",
        label=(
            f"{verdict}: {words.subject(row)}{role} {words.bound(row)}, size {change}, 95 % interval {interval}, "
            f"{words.medians(row)}, "
            f"limits {words.limits(row)}, detectable from {words.detectable(row)}"
        ),
        word=verdict.value,
        change=row.change,
        low=row.low,
        high=row.high,
        **zone_of(row),
    )


def _tables(content: Digest) -> Iterator[Table]:
    for rows, title in (
        (content.decided, "What decided"),
        (content.waived, "Waived"),
        (content.rest, "The rest of the rows"),
    ):
        if rows:
            yield _table(rows, content, title=title)


def _table(rows: Sequence[GateRow], content: Digest, *, title: str) -> Table:
    caption = f"{title}: {words.tally(rows)}"
    if len(rows) > ROWS_MAX:
        caption += f"; {words.tally(rows[ROWS_MAX:])} are left out, the gate's record has them"
    shown = rows[:ROWS_MAX]
    return gate_table(shown, content, caption=caption).with_columns(
        column("why", shown, lambda row: sentence(row.reason))
    )


def _pairs(record: GateRecord, content: Digest) -> Iterator[Section]:
    """The raw pairs of what decided; where nothing did by its size, of the row that came nearest to its limit."""
    sized = [row for row in content.decided if row.kind is RowKind.SIZE]
    title = "The pairs of what decided"
    if not sized:
        bounded = [row for row in content.rest if row.kind is RowKind.SIZE and row.at_most is not None]
        sized = sorted(bounded, key=lambda row: -(row.at_most or 0.0))[:1]
        title = "The pairs of the row that may be worst"
    able = [row for row in sized if row.pairs and record.is_paired]
    figures = (pairs_figure(row, record, number) for number, row in enumerate(able[:PAIRS_SHOWN_MAX], start=1))
    drawn = tuple(figure for figure in figures if figure is not None)
    if not drawn:
        return
    lines: tuple[Line, ...] = ()
    if len(able) > PAIRS_SHOWN_MAX:
        left = f"{PAIRS_SHOWN_MAX} of {len(able)} rows are drawn; the gate's record holds the pairs of all"
        lines = (Line(text=left),)
    yield Section(name="pairs", title=title, lines=lines, figures=drawn)


def _controls(content: Digest) -> Iterator[Section]:
    if content.controls:
        yield Section(
            name="controls",
            title="Controls",
            figures=tuple(_forests(content.controls, "controls")),
            tables=(_table(content.controls, content, title="Controls"),),
            is_folded=True,
        )


def _counts(content: Digest) -> Iterator[Section]:
    """Every count that differs, by its name."""
    found = [
        (row, change)
        for row in (*content.decided, *content.waived, *content.rest, *content.changed)
        if row.kind is RowKind.EXACT
        for change in row.changes
    ]
    found = list(dict.fromkeys(found))
    if not found:
        return
    shown = found[:ROWS_MAX]
    table = Table(
        caption=f"{len(found):,} counts that differ" + f", the first {ROWS_MAX:,}" * (len(found) > ROWS_MAX),
        columns=(
            column("benchmark", shown, lambda each: benchmark_text(each[0])),
            column("metric", shown, lambda each: each[0].metric),
            column(
                "count, baseline -> candidate",
                shown,
                lambda each: sentence(words.change_line(each[1])),
                tone=lambda each: TONES[each[0].verdict],
            ),
        ),
    )
    yield Section(name="counts", title="Counts that differ", tables=(table,), is_folded=True)


def _also_changed(content: Digest) -> Iterator[Section]:
    if content.changed:
        table = _table(content.changed, content, title="Also changed, which decides nothing")
        yield Section(name="changed", title="Also changed, which decides nothing", tables=(table,), is_folded=True)
