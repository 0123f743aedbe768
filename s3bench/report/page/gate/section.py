"""A gate as a section of the page: its verdict, what decided, the changes drawn against their zones, the raw pairs.

Made from a concluded record; all words are the digest's, which the terminal and the Markdown share.
"""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from s3bench.gate.evidence import Role
from s3bench.gate.record import GateRecord
from s3bench.gate.row import GateRow, RowKind, Verdict
from s3bench.report.gate import digest as words
from s3bench.report.gate.digest import Digest, digest
from s3bench.report.label import clipped
from s3bench.report.page import theme
from s3bench.report.page.forest import ForestRow, MarkerStyle, forest_figure
from s3bench.report.page.gate.pairs import pairs_figure
from s3bench.report.page.section import ChartFigure, Line, Section
from s3bench.report.table import Table, TableCell, TableColumn, Tone
from s3bench.results.metrics import METRICS_BY_NAME

ROWS_MAX = 1000
"""The most rows of a table; the rest is counted by verdict."""
PAIRS_SHOWN_MAX = 6
"""The most rows whose pairs are drawn."""

TONES: Mapping[Verdict | None, Tone] = MappingProxyType({
    Verdict.INVALID: Tone.BAD,
    Verdict.FAIL: Tone.BAD,
    Verdict.INCONCLUSIVE: Tone.WARNING,
    Verdict.SMALL: Tone.WARNING,
    Verdict.PASS: Tone.GOOD,
    None: Tone.PLAIN,
})  # fmt: skip
_LOOKS: Mapping[str, MarkerStyle] = MappingProxyType({
    Verdict.FAIL.value: MarkerStyle(color=theme.BAD, shape="square"),
    Verdict.INCONCLUSIVE.value: MarkerStyle(color=theme.WARNING, shape="diamond"),
    Verdict.SMALL.value: MarkerStyle(color=theme.WARNING, shape="triangle-up"),
    Verdict.PASS.value: MarkerStyle(color=theme.GOOD, shape="circle"),
})  # fmt: skip
_LEGEND = (
    "Limits: a change up to the first matters to nobody, one of the second or more must not pass. "
    "Detectable: the smallest worsening that 95 of 100 gates would FAIL."
)
_ZONE_SAID = (
    "Shaded are each row's limits: a worsening within the darker part matters to nobody, one from the mark on must not "
    "pass. The interval drawn is the plain one; verdicts use bounds that share their error among all looks and rows, "
    "given as reasons in the tables."
)
_TEXT_MAX = 600
_CONTROL_NAMES = {
    Role.NEGATIVE_CONTROL: "baseline against itself",
    Role.POSITIVE_CONTROL: "with a planted delay",
}


def gate_section(record: GateRecord) -> Section:
    """The section of a record that has its conclusion."""
    told = digest(record)
    deciding = (*told.decided, *told.waived, *told.rest)
    return Section(
        name="gate",
        title=_text(f"Gate: {told.candidate} against {told.baseline}"),
        lines=tuple(_lines(record, told)),
        figures=tuple(_forests([row for row in deciding if row.role is Role.BENCHMARK], "forest")),
        tables=tuple(_tables(told)),
        parts=(*_pairs(record, told), *_controls(told), *_counts(told), *_also_changed(told)),
    )


def _lines(record: GateRecord, told: Digest) -> Iterator[Line]:
    tone = TONES[told.verdict]
    yield Line(text=_text(told.headline), tone=tone)
    yield from (Line(text=_text(note), tone=tone) for note in told.notes)
    for row in told.decided:
        yield Line(text=_text(f"{words.subject(row)}: {words.sentence(row, told)}"), tone=TONES[row.verdict])
    yield Line(text=_text(f"Controls: {words.controls_in_words(record, told)}"))
    if rest := words.rest_in_words(told):
        yield Line(text=_text(f"{'The rest' if told.decided else 'All'}: {rest}"))
    for row in told.waived:
        yield Line(text=_text(f"waived: {words.subject(row)}: {row.waived_by}"), tone=Tone.WARNING)
    yield from (Line(text=_text(f"failure: {text}"), tone=Tone.BAD) for text in told.failures)
    yield from (Line(text=_text(f"warning: {text}"), tone=Tone.WARNING) for text in told.warnings)
    yield Line(text=_LEGEND)


def _forests(rows: Sequence[GateRow], name: str) -> Iterator[ChartFigure]:
    """A forest plot for each metric judged by its size, in the order in which they decided."""
    sized = [row for row in rows if row.kind in {RowKind.SIZE, RowKind.CREEP}]
    for metric in dict.fromkeys(row.metric for row in sized):
        drawn = [_forest_row(row) for row in sized if row.metric == metric]
        figure = forest_figure(drawn, metric=METRICS_BY_NAME[metric], looks=_LOOKS, said=_ZONE_SAID, name=name)
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
            f"{verdict}: {words.subject(row)}{role} {change}, 95 % interval {interval}, {words.medians(row)}, "
            f"limits {words.limits(row)}, detectable from {words.detectable(row)}"
        ),
        word=verdict.value,
        change=row.change,
        low=row.low,
        high=row.high,
        d0=row.d0,
        d1=row.d1,
        is_two_sided=row.role is Role.NEGATIVE_CONTROL,
    )


def _tables(told: Digest) -> Iterator[Table]:
    for rows, title in ((told.decided, "What decided"), (told.waived, "Waived"), (told.rest, "The rest of the rows")):
        if rows:
            yield _table(rows, told, title=title)


def _table(rows: Sequence[GateRow], told: Digest, *, title: str) -> Table:
    caption = f"{title}: {words.tally(rows)}"
    if len(rows) > ROWS_MAX:
        caption += f"; {words.tally(rows[ROWS_MAX:])} are left out, the gate's record has them"
    return Table.of_rows(
        caption=caption,
        columns=(
            TableColumn(heading="benchmark"),
            TableColumn(heading="metric"),
            TableColumn(heading="verdict"),
            TableColumn(heading="medians"),
            *(
                TableColumn(heading=title, is_number=True)
                for title in ("change", "95 % interval", "limits", told.counted)
            ),
            TableColumn(heading="detectable", is_number=True),
            TableColumn(heading="why"),
        ),
        rows=tuple(_cells(row) for row in rows[:ROWS_MAX]),
    )


def _cells(row: GateRow) -> tuple[TableCell, ...]:
    role = "" if row.role is Role.BENCHMARK else f" ({row.role})"
    verdict = "" if row.verdict is None else row.verdict.value
    return (
        TableCell(text=clipped(words.benchmark(row)) + role),
        TableCell(text=row.metric),
        TableCell(text=f"{verdict}, waived" if row.waived_by else verdict, tone=TONES[row.verdict]),
        TableCell(text=words.medians(row)),
        TableCell(text=words.change(row), value=float(len(row.changes)) if row.kind is RowKind.EXACT else row.change),
        TableCell(text=words.interval(row), value=row.low),
        TableCell(text=words.limits(row), value=row.d0),
        TableCell(text=f"{row.pairs}", value=row.pairs),
        TableCell(text=words.detectable(row), value=row.detectable),
        TableCell(text=_text(row.reason)),
    )


def _pairs(record: GateRecord, told: Digest) -> Iterator[Section]:
    """The raw pairs of what decided; where nothing did by its size, of the row that came nearest to its limit."""
    sized = [row for row in told.decided if row.kind is RowKind.SIZE]
    title = "The pairs of what decided"
    if not sized:
        bounded = [row for row in told.rest if row.kind is RowKind.SIZE and row.at_most is not None]
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


def _controls(told: Digest) -> Iterator[Section]:
    if told.controls:
        yield Section(
            name="controls",
            title="Controls",
            figures=tuple(_forests(told.controls, "controls")),
            tables=(_table(told.controls, told, title="Controls"),),
            is_folded=True,
        )


def _counts(told: Digest) -> Iterator[Section]:
    """Every count that differs, by its name."""
    found = [
        (row, change)
        for row in (*told.decided, *told.waived, *told.rest, *told.changed)
        if row.kind is RowKind.EXACT
        for change in row.changes
    ]
    found = list(dict.fromkeys(found))
    if not found:
        return
    table = Table.of_rows(
        caption=f"{len(found):,} counts that differ" + f", the first {ROWS_MAX:,}" * (len(found) > ROWS_MAX),
        columns=tuple(TableColumn(heading=title) for title in ("benchmark", "metric", "count, baseline -> candidate")),
        rows=tuple(
            (
                TableCell(text=clipped(words.benchmark(row))),
                TableCell(text=row.metric),
                TableCell(text=_text(words.change_line(change)), tone=TONES[row.verdict]),
            )
            for row, change in found[:ROWS_MAX]
        ),
    )
    yield Section(name="counts", title="Counts that differ", tables=(table,), is_folded=True)


def _also_changed(told: Digest) -> Iterator[Section]:
    if told.changed:
        table = _table(told.changed, told, title="Also changed, which decides nothing")
        yield Section(name="changed", title="Also changed, which decides nothing", tables=(table,), is_folded=True)


def _text(text: str) -> str:
    return clipped(text, most=_TEXT_MAX)
