"""The table of a run: a row for each result, with the medians of its figures, and how it ended."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from s3bench.report.label import clipped
from s3bench.report.run.figures import MedianEstimate, estimate
from s3bench.report.table import NOTHING, Table, TableCell, TableColumn, Tone, column
from s3bench.results.document import Result, Status
from s3bench.results.metrics import METRICS_BY_NAME, Unit, render_figure

_COUNTED = "wire.requests"
_WHOLE_PERCENTS_FROM = 0.0995  # 9.95 % is "10%"


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedResult:
    """A result, by the names of its benchmark and of its client that a report gives to it."""

    benchmark: str
    client: str
    result: Result


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureHeading:
    """A column of figures: of each result those of the first of `metrics` that it has."""

    heading: str
    metrics: tuple[str, ...]
    rank: int = 0


Spread = Callable[[MedianEstimate], str]
"""What stands behind a median: its interval, or how far the figures lie from it."""


def run_table(
    rows: Sequence[NamedResult],
    headings: Sequence[FigureHeading],
    *,
    spread: Spread,
    benchmark_heading: str = "benchmark",
    has_engine: bool = True,
) -> Table:
    """The table of these results, without the columns of figures that none of them has."""
    figures = [_figure_column(each, rows, spread) for each in headings]
    return Table(
        columns=(
            column(benchmark_heading, rows, lambda row: clipped(row.benchmark), is_title=True),
            column("client", rows, lambda row: clipped(row.client)),
            column("n", rows, _count_text, value=lambda row: len(row.result.measurements)),
            *(each for each in figures if any(cell.text != NOTHING for cell in each.cells)),
            *((column("engine", rows, _engine),) if has_engine else ()),
            column("status", rows, lambda row: status_text(row.result), tone=_tone),
        )
    )


def interval(found: MedianEstimate) -> str:
    """The 95 % interval of the median in brackets, where there is one."""
    return f" ({found.interval})" if found.interval else ""


def deviation(found: MedianEstimate) -> str:
    """The median absolute deviation: ` ±3.1%`; empty for a single figure."""
    center = found.median if found.count > 1 else 0.0
    if not center:
        return ""
    share = median(abs(value - center) for value in found.values) / center
    return f" ±{share:.0%}" if share >= _WHOLE_PERCENTS_FROM else f" ±{share:.1%}"


def status_text(result: Result) -> str:
    """`ok`, `2 failed`, `failed` outside of the iterations alone, or `unfinished`."""
    if result.errors:
        return f"{result.failed_iterations} failed" if result.failed_iterations else "failed"
    return "ok" if result.status is Status.COMPLETE else "unfinished"


def _figure_column(heading: FigureHeading, rows: Sequence[NamedResult], spread: Spread) -> TableColumn:
    return TableColumn(
        heading=heading.heading,
        cells=tuple(_figure_cell(row.result, heading.metrics, spread) for row in rows),
        is_number=True,
        rank=heading.rank,
    )


def _figure_cell(result: Result, metrics: Sequence[str], spread: Spread) -> TableCell:
    estimates = (estimate(result, METRICS_BY_NAME[name]) for name in metrics)
    found = next((each for each in estimates if each is not None), None)
    if found is None:
        return TableCell(text=NOTHING)
    if found.metric.name == _COUNTED:
        return TableCell(text=_range(found.values, found.metric.unit), value=found.median)
    return TableCell(text=found.text, more=spread(found), value=found.median)


def _range(values: Sequence[float], unit: Unit) -> str:
    """`5`, or `5 to 7` from the fewest to the most."""
    low, high = (render_figure(each, unit) for each in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def _count_text(row: NamedResult) -> str:
    return f"{len(row.result.measurements):,}"


def _engine(row: NamedResult) -> str:
    return clipped("/".join(sorted({each.engine for each in row.result.measurements if each.engine}))) or NOTHING


def _tone(row: NamedResult) -> Tone:
    if row.result.errors:
        return Tone.BAD
    return Tone.PLAIN if row.result.status is Status.COMPLETE else Tone.WARNING
