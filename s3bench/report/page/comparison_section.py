"""A comparison as a section of the page: the summary, a chart of the changes of each metric, and all rows in tables."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from s3bench.compare.comparison import Against, Comparison
from s3bench.compare.difference import ChangeOutcome, ComparisonRow
from s3bench.compare.matching import TRANSFER_CLIENT
from s3bench.gate.indifference_zone import default_indifference_zone
from s3bench.report.comparison.cells import (
    change_text,
    difference_text,
    figure_text,
    header_lines,
    interval_text,
    is_exact,
    legend_text,
    metric_text,
    missing_lines,
    outcome_text,
    subject_text,
    summary_lines,
    warning_lines,
)
from s3bench.report.comparison.tables import TONES, comparison_tables
from s3bench.report.label import clipped, sentence
from s3bench.report.page import theme
from s3bench.report.page.chart import MarkerStyle
from s3bench.report.page.fitting import ROWS_MAX
from s3bench.report.page.forest import ForestRow, forest_figure
from s3bench.report.page.section import ChartFigure, Headline, Line, Section
from s3bench.report.table import NOTHING, Table, Tone, column
from s3bench.results.metrics import METRICS_BY_NAME

_STYLES: Mapping[str, MarkerStyle] = MappingProxyType({
    "worse": MarkerStyle(color=theme.BAD, shape="square"),
    "better": MarkerStyle(color=theme.GOOD, shape="triangle-up"),
    ChangeOutcome.TOO_FEW.value: MarkerStyle(color=theme.WARNING, shape="diamond"),
    ChangeOutcome.NOT_JUDGED.value: MarkerStyle(color=theme.MUTED, shape="cross"),
    ChangeOutcome.NO_DETECTABLE_DIFFERENCE.value: MarkerStyle(color=theme.MUTED, shape="circle"),
    ChangeOutcome.NO_DIFFERENCE.value: MarkerStyle(color=theme.MUTED, shape="triangle-down"),
})  # fmt: skip
_HEADING = "total_time"
_ENGINES = ("Classic", "CRT")
_ZONE_WORDS = (
    "Shaded is the indifference zone of `s3bench gate` for this metric: a change within the darker part is negligible, "
    "one beyond the mark would fail. The outcomes here do not depend on it. The table of all rows has the figures."
)


def comparison_section(comparison: Comparison) -> Section:
    """The whole comparison; where several are compared with the baseline, each has a part."""
    lines = (
        *(Line(text=sentence(f"{kind}: {text}")) for kind, text in header_lines(comparison)),
        *(Line(text=sentence(text), tone=Tone.WARNING) for text in comparison.warnings),
    )
    summaries = tuple(
        Line(text=sentence(text), tone=_tone(other))
        for text, other in zip(summary_lines(comparison), comparison.others, strict=True)
    )
    if len(comparison.others) == 1:
        section = _against(comparison.others[0], comparison, name="comparison")
        headline = _headline(comparison.others[0])
        return replace(section, headline=headline, lines=(*lines, *section.lines))
    parts = tuple(
        replace(section, lines=(Line(text=sentence(other.summary), tone=_tone(other)), *section.lines))
        for number, other in enumerate(comparison.others, start=1)
        for section in (_against(other, comparison, name=f"other-{number}"),)
    )
    title = f"Against {clipped(comparison.baseline.name)}"
    return Section(name="comparison", title=title, lines=(*summaries, *lines), parts=parts)


def _against(other: Against, comparison: Comparison, *, name: str) -> Section:
    return Section(
        name=name,
        title=f"{clipped(other.name)} against {clipped(comparison.baseline.name)}",
        lines=tuple(_missing(other)),
        figures=tuple(_figures(other)),
        tables=tuple(_tables(other)),
        parts=(*_equal(other), *_warnings(other)),
    )


def _headline(other: Against) -> Headline:
    """The gravest row, one of the total time before others, and the count of all outcomes."""
    rows = [row for row in other.rows if row.outcome in TONES and not is_exact(row)]
    rank = {outcome: place for place, outcome in enumerate(TONES)}
    row = min(rows, key=lambda row: (rank[row.outcome], row.metric != _HEADING), default=None)
    if row is None or (row.change is None and row.difference is None):
        return Headline(text=sentence(other.summary), tone=_tone(other))
    interval = "" if interval_text(row) == NOTHING else f" (95 % interval {interval_text(row)})"
    medians = f"{figure_text(row.baseline, row)} to {figure_text(row.other, row)}"
    change = change_text(row) if row.difference is None else difference_text(row.difference, row.unit)
    return Headline(
        verdict=clipped(row.word.upper()),
        tone=TONES[row.outcome],
        text=sentence(f"{metric_text(row)} of {subject_text(row)}: {change}{interval}"),
        remarks=(f"{medians[:1].upper()}{medians[1:]}, medians. In all: {sentence(other.summary)}.",),
    )


def _tone(other: Against) -> Tone:
    """That of its gravest outcome; an undetected difference is neither good nor bad."""
    return next((tone for outcome, tone in TONES.items() if other.counts.get(outcome.value)), Tone.PLAIN)


def _missing(other: Against) -> Iterator[Line]:
    for text in missing_lines(other, show_all=True):
        yield Line(text=clipped(f"missing {text}", most=2000), tone=Tone.WARNING)


def _warnings(other: Against) -> Iterator[Section]:
    """The warnings about single figures, all of them, folded away: there may be hundreds."""
    lines = tuple(Line(text=sentence(text)) for text in warning_lines(other, show_all=True))
    if lines:
        title = f"Warnings about single figures: {len(lines)}"
        yield Section(name="warnings", title=title, lines=lines, is_folded=True)


def _figures(other: Against) -> Iterator[ChartFigure]:
    """A forest plot for each metric that is no exact count, in the order of the gravest row."""
    metrics = dict.fromkeys(row.metric for row in other.rows if not is_exact(row))
    for name in metrics:
        rows = [row for row in other.rows if row.metric == name and not is_exact(row)]
        metric = METRICS_BY_NAME[name]
        has_zone = default_indifference_zone(metric) is not None
        closing = _ZONE_WORDS if has_zone else "The table of all rows has the figures."
        has_client = len({row.other_client for row in rows}) > 1
        drawn = [_forest_row(row, has_client=has_client) for row in rows]
        figure = forest_figure(drawn, metric=metric, styles=_STYLES, closing=closing)
        if figure is not None:
            yield figure


def _forest_row(row: ComparisonRow, *, has_client: bool) -> ForestRow:
    subject = subject_text(row)
    change, interval = change_text(row), interval_text(row)
    figures = change if interval == NOTHING else f"{change} ({interval})"
    limits = None
    if (zone := default_indifference_zone(METRICS_BY_NAME[row.metric])) and row.baseline.median:
        limits = zone.limits(row.baseline.median)
    medians = f"{figure_text(row.baseline, row)} to {figure_text(row.other, row)}"
    return ForestRow(
        name=_axis_name(subject, row, has_client=has_client),
        figures=figures,
        label=f"{subject}: {metric_text(row)} {change}, 95 % interval {interval}, {medians}: {outcome_text(row)}",
        word=row.outcome.value,
        change=row.change if row.difference is None else None,
        low=row.low,
        high=row.high,
        d0=math.expm1(limits.d0) if limits else None,
        d1=math.expm1(limits.d1) if limits else None,
    )


def _axis_name(subject: str, row: ComparisonRow, *, has_client: bool) -> str:
    """What distinguishes the row from its neighbours: without a client that all have, and without the engine."""
    name = subject.removesuffix(f" against {row.baseline_client}")
    for engine in _ENGINES if has_client else ():
        name = name.replace(f" {TRANSFER_CLIENT}={engine} on ", " on ")
    return name if has_client else name.removesuffix(f" on {row.other_client}")


def _tables(other: Against) -> Iterator[Table]:
    """What was measured, and exact counts that differ."""
    rows = [row for row in other.rows if row.outcome is not ChangeOutcome.EQUAL]
    for table in comparison_tables(rows):
        left_out = ("s3bench compare --json has all rows",) if len(table.rows) > ROWS_MAX else ()
        yield replace(table, notes=(legend_text(rows), *left_out))


def _equal(other: Against) -> Iterator[Section]:
    """Exact counts that are equal, by name, folded away."""
    if groups := _equal_rows(other):
        counts = sum(map(len, groups))
        title = f"Exact counts that are equal: {counts}"
        yield Section(name="equal", title=title, tables=(_equal_table(groups),), is_folded=True)


def _equal_rows(other: Against) -> tuple[Sequence[ComparisonRow], ...]:
    by_metric: dict[str, list[ComparisonRow]] = {}
    for row in other.rows:
        if row.outcome is ChangeOutcome.EQUAL:
            by_metric.setdefault(row.metric + row.kind, []).append(row)
    return tuple(by_metric.values())


def _equal_table(groups: Sequence[Sequence[ComparisonRow]]) -> Table:
    def names(rows: Sequence[ComparisonRow]) -> str:
        return "; ".join(f"{clipped(subject_text(row))} ({figure_text(row.other, row)})" for row in rows[:ROWS_MAX])

    return Table(
        caption="Exact counts that are equal, by name",
        columns=(
            column("metric", groups, lambda rows: clipped(metric_text(rows[0]))),
            column("rows", groups, lambda rows: f"{len(rows)}", value=len),
            column("benchmarks", groups, names),
        ),
    )
