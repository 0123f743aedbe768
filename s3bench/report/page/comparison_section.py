"""A comparison as a section of the page: what it says first, then the changes drawn, then every row.

All words are those of the terminal's table (`comparison_cells`).
"""

import math
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from s3bench.compare.comparison import Against, Comparison
from s3bench.compare.difference import ChangeOutcome, ComparisonRow
from s3bench.gate.indifference_zone import default_indifference_zone
from s3bench.report.comparison.cells import (
    LEGEND,
    chance_text,
    change_text,
    count_text,
    exact_text,
    figure_text,
    header_lines,
    interval_text,
    is_exact,
    metric_text,
    missing_lines,
    reservation_lines,
    subject_text,
    summary_lines,
    word_text,
)
from s3bench.report.page import theme
from s3bench.report.page.forest import ForestRow, MarkerStyle, forest_figure
from s3bench.report.page.section import ChartFigure, Line, Section
from s3bench.report.run.summary import clipped
from s3bench.report.table import Table, TableCell, TableColumn, Tone
from s3bench.results.metrics import METRICS_BY_NAME

ROWS_MAX = 1000
"""The most rows of a table: they stand in the order of their importance, and the rest is counted."""

_LOOKS: Mapping[str, MarkerStyle] = MappingProxyType({
    "worse": MarkerStyle(color=theme.BAD, shape="square"),
    "better": MarkerStyle(color=theme.GOOD, shape="triangle-up"),
    ChangeOutcome.TOO_FEW.value: MarkerStyle(color=theme.WARNING, shape="diamond"),
    ChangeOutcome.NOT_JUDGED.value: MarkerStyle(color=theme.MUTED, shape="cross"),
    ChangeOutcome.NO_DETECTABLE_DIFFERENCE.value: MarkerStyle(color=theme.MUTED, shape="circle"),
    ChangeOutcome.NO_DIFFERENCE.value: MarkerStyle(color=theme.MUTED, shape="triangle-down"),
})  # fmt: skip
_TONES = {
    ChangeOutcome.WORSE: Tone.BAD,
    ChangeOutcome.DIFFERS: Tone.WARNING,
    ChangeOutcome.BETTER: Tone.GOOD,
    ChangeOutcome.TOO_FEW: Tone.WARNING,
}
_ZONE_SAID = (
    "Shaded is the zone of `s3bench gate` for this metric: a change within the darker part matters to nobody, one from "
    "the mark on would not pass. The outcomes here do not depend on it. The table of all rows has the figures."
)


def comparison_section(comparison: Comparison) -> Section:
    """The whole comparison; several that are held against the baseline have a part each."""
    lines = [
        Line(text=clipped(text, most=600), tone=_tone(other))
        for text, other in zip(summary_lines(comparison), comparison.others, strict=True)
    ]
    lines += [Line(text=clipped(f"{kind}: {text}", most=600)) for kind, text in header_lines(comparison)]
    lines += [Line(text=clipped(text, most=600), tone=Tone.WARNING) for text in comparison.warnings]
    title = f"Against {clipped(comparison.baseline.name)}"
    if len(comparison.others) == 1:
        (other,) = comparison.others
        return Section(
            name="comparison",
            title=f"{clipped(other.name)} against {clipped(comparison.baseline.name)}",
            lines=(*lines, *_missing(other), *_more(other)),
            figures=tuple(_figures(other)),
            tables=tuple(_tables(other)),
            parts=tuple(_doubts(other)),
        )
    parts = tuple(_against(other, comparison, number) for number, other in enumerate(comparison.others, start=1))
    return Section(name="comparison", title=title, lines=tuple(lines), parts=parts)


def _against(other: Against, comparison: Comparison, number: int) -> Section:
    return Section(
        name=f"other-{number}",
        title=f"{clipped(other.name)} against {clipped(comparison.baseline.name)}",
        lines=(Line(text=clipped(other.summary, most=600), tone=_tone(other)), *_missing(other), *_more(other)),
        figures=tuple(_figures(other)),
        tables=tuple(_tables(other)),
        parts=tuple(_doubts(other)),
    )


def _tone(other: Against) -> Tone:
    """The gravest of its outcomes; that no difference could be detected is neither good nor bad."""
    return next((tone for outcome, tone in _TONES.items() if other.counts.get(outcome.value)), Tone.PLAIN)


def _missing(other: Against) -> Iterator[Line]:
    for text in missing_lines(other, show_all=True):
        yield Line(text=clipped(f"missing {text}", most=2000), tone=Tone.WARNING)


def _doubts(other: Against) -> Iterator[Section]:
    """Doubts about single figures, all of them, folded away: there may be hundreds."""
    lines = tuple(Line(text=clipped(text, most=600)) for text in reservation_lines(other, show_all=True))
    if lines:
        yield Section(name="doubts", title=f"Doubts about single figures: {len(lines)}", lines=lines, is_folded=True)


def _figures(other: Against) -> Iterator[ChartFigure]:
    """A forest plot for each metric that is no exact count, in the order of the gravest row."""
    metrics = dict.fromkeys(row.metric for row in other.rows if not is_exact(row))
    for name in metrics:
        rows = [row for row in other.rows if row.metric == name and not is_exact(row)]
        metric = METRICS_BY_NAME[name]
        has_zone = default_indifference_zone(metric) is not None
        said = _ZONE_SAID if has_zone else "The table of all rows has the figures."
        has_client = len({row.other_client for row in rows}) > 1
        drawn = [_forest_row(row, has_client=has_client) for row in rows]
        figure = forest_figure(drawn, metric=metric, looks=_LOOKS, said=said)
        if figure is not None:
            yield figure


def _forest_row(row: ComparisonRow, *, has_client: bool) -> ForestRow:
    subject = subject_text(row)
    change, interval = change_text(row), interval_text(row)
    figures = change if row.low is None else f"{change} ({interval})"
    limits = None
    if (zone := default_indifference_zone(METRICS_BY_NAME[row.metric])) and row.baseline.median:
        limits = zone.limits(row.baseline.median)
    medians = f"{figure_text(row.baseline, row)} to {figure_text(row.other, row)}"
    return ForestRow(
        name=_axis_name(subject, row, has_client=has_client),
        figures=figures,
        label=f"{subject}: {metric_text(row)} {change}, 95 % interval {interval}, {medians}: {word_text(row)}",
        word=row.outcome.value,
        change=row.change,
        low=row.low,
        high=row.high,
        d0=math.expm1(limits.d0) if limits else None,
        d1=math.expm1(limits.d1) if limits else None,
    )


def _axis_name(subject: str, row: ComparisonRow, *, has_client: bool) -> str:
    """What tells the row from its neighbours: no client that all of them have."""
    name = subject.removesuffix(f" against {row.baseline_client}")
    return name if has_client else name.removesuffix(f" on {row.other_client}")


def _tables(other: Against) -> Iterator[Table]:
    """Every row: what was measured, exact counts that differ, and by name those that are equal."""
    measured = [row for row in other.rows if not is_exact(row)]
    if measured:
        yield Table.of_rows(
            caption=f"All {len(measured):,} rows: {LEGEND}" if len(measured) > 1 else LEGEND,
            columns=(
                TableColumn(heading="benchmark and client"),
                TableColumn(heading="metric"),
                *(TableColumn(heading=title, is_number=True) for title in ("n", "baseline", "other", "change")),
                TableColumn(heading="95 % interval", is_number=True),
                TableColumn(heading="p", is_number=True),
                TableColumn(heading="outcome"),
            ),
            rows=tuple(_cells(row) for row in measured[:ROWS_MAX]),
        )
    counts = [row for row in other.rows if is_exact(row) and row.outcome is not ChangeOutcome.EQUAL]
    if counts:
        yield Table.of_rows(
            caption="Exact counts that differ or vary, compared without statistics",
            columns=tuple(TableColumn(heading=title) for title in ("benchmark and client", "metric", "counts")),
            rows=tuple(
                (
                    TableCell(text=clipped(subject_text(row))),
                    TableCell(text=clipped(metric_text(row))),
                    TableCell(text=clipped(exact_text(row), most=600), tone=_TONES.get(row.outcome, Tone.PLAIN)),
                )
                for row in counts[:ROWS_MAX]
            ),
        )
    if any(row.outcome is ChangeOutcome.EQUAL for row in other.rows):
        yield _equal_table(other)


def _equal_table(other: Against) -> Table:
    by_metric: dict[str, list[str]] = {}
    for row in other.rows:
        if row.outcome is ChangeOutcome.EQUAL:
            by_metric.setdefault(clipped(metric_text(row)), []).append(
                f"{clipped(subject_text(row))} ({figure_text(row.other, row)})"
            )
    return Table.of_rows(
        caption="Exact counts that are equal, by name",
        columns=(
            TableColumn(heading="metric"),
            TableColumn(heading="rows", is_number=True),
            TableColumn(heading="benchmarks"),
        ),
        rows=tuple(
            (
                TableCell(text=metric),
                TableCell(text=f"{len(names)}", value=len(names)),
                TableCell(text="; ".join(names[:ROWS_MAX])),
            )
            for metric, names in by_metric.items()
        ),
    )


def _cells(row: ComparisonRow) -> tuple[TableCell, ...]:
    return (
        TableCell(text=clipped(subject_text(row))),
        TableCell(text=clipped(metric_text(row))),
        TableCell(text=count_text(row), value=min(row.baseline.n, row.other.n)),
        TableCell(text=figure_text(row.baseline, row), value=row.baseline.median),
        TableCell(text=figure_text(row.other, row), value=row.other.median),
        TableCell(text=change_text(row), value=row.change),
        TableCell(text=interval_text(row), value=row.low),
        TableCell(text=chance_text(row), value=row.p_adjusted),
        TableCell(text=clipped(word_text(row)), tone=_TONES.get(row.outcome, Tone.PLAIN)),
    )


def _more(other: Against) -> Iterator[Line]:
    """What tables of so many rows leave out."""
    for rows, words in (
        ([row for row in other.rows if not is_exact(row)], "rows"),
        ([row for row in other.rows if is_exact(row) and row.outcome is not ChangeOutcome.EQUAL], "counts"),
    ):
        if len(rows) > ROWS_MAX:
            left = f"{len(rows) - ROWS_MAX:,} {words} of less importance"
            yield Line(text=f"{left} are left out of the table; s3bench compare --json has all", tone=Tone.WARNING)
