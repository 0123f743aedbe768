"""The tables of a run: a row for each benchmark and client, and a row for each run of one benchmark.

Owns their columns. Figures that no result has get none.
"""

from collections.abc import Iterator, Sequence

from s3bench.report.page.run.axis import HEADINGS
from s3bench.report.page.run.benchmark import Benchmark, ClientResults
from s3bench.report.page.run.dots import failed_runs
from s3bench.report.page.run.waterfall import estimate_text
from s3bench.report.run.figures import estimate, estimates, shortfall
from s3bench.report.table import Table, TableCell, TableColumn, Tone
from s3bench.results.measurement import figure
from s3bench.results.metrics import METRICS_BY_NAME, Metric, render_figure

SUMMARY_ROWS_MAX = 1000
"""The most rows of the summary: what is longer is read by a program."""

_NOTHING = TableCell(text="-")
_METRICS = tuple(METRICS_BY_NAME[name] for name in HEADINGS)


def summary_table(benchmarks: Sequence[Benchmark]) -> Table:
    """Medians with their intervals of every benchmark and client."""
    rows = [(benchmark, row) for benchmark in benchmarks for row in benchmark.rows]
    metrics = [metric for metric in _METRICS if any(estimate(row.result, metric) is not None for _, row in rows)]
    caption = "Medians, in brackets the 95 % interval of the median, from six runs on"
    if len(rows) > SUMMARY_ROWS_MAX:
        caption = f"{caption}; the first {SUMMARY_ROWS_MAX:,} of {len(rows):,} rows"
    return Table.of_rows(
        caption=caption,
        columns=(
            TableColumn(heading="benchmark"),
            TableColumn(heading="client"),
            TableColumn(heading="runs", is_number=True),
            *(TableColumn(heading=HEADINGS[metric.name], is_number=True) for metric in metrics),
            TableColumn(heading="failed", is_number=True),
        ),
        rows=tuple(tuple(_summary_cells(*each, metrics)) for each in rows[:SUMMARY_ROWS_MAX]),
    )


def runs_table(rows: Sequence[ClientResults], metrics: Sequence[Metric]) -> Table:
    """Each run of a benchmark: a column for each client and metric of which there are figures."""
    columns = [(row, metric) for metric in metrics for row in rows if estimate(row.result, metric) is not None]
    by_number = {id(row): {each.iteration: each for each in row.result.measurements} for row in rows}
    failed = {id(row): failed_runs(row) for row in rows}
    numbers = sorted({number for row in rows for number in (*by_number[id(row)], *failed[id(row)])})

    def cell(row: ClientResults, metric: Metric, number: int) -> TableCell:
        measurement = by_number[id(row)].get(number)
        value = None if measurement is None else figure(measurement, metric.name)
        has_failed = number in failed[id(row)]
        text = "-" if value is None else render_figure(value, metric.unit)
        if has_failed:
            text = "failed" if value is None else f"{text} (failed)"
        return TableCell(text=text, value=value, tone=Tone.BAD if has_failed else Tone.PLAIN)

    return Table.of_rows(
        caption="Every run",
        columns=(
            TableColumn(heading="run", is_number=True),
            *(TableColumn(heading=f"{row.client} {HEADINGS[metric.name]}", is_number=True) for row, metric in columns),
        ),
        rows=tuple(
            (TableCell(text=str(number), value=number), *(cell(*column, number) for column in columns))
            for number in numbers
        ),
    )


def _summary_cells(benchmark: Benchmark, row: ClientResults, metrics: Sequence[Metric]) -> Iterator[TableCell]:
    found = {each.metric.name: each for each in estimates(row.result, metrics)}
    count = len(row.result.measurements)
    yield TableCell(text=benchmark.title)
    yield TableCell(text=row.client)
    yield TableCell(text=f"{count:,}", value=count)
    for metric in metrics:
        each = found.get(metric.name)
        yield _NOTHING if each is None else TableCell(text=estimate_text(each), value=each.median)
    failed = len(failed_runs(row))
    words = shortfall(row.result)
    yield TableCell(text=words or "0", value=failed, tone=Tone.BAD if failed else Tone.WARNING if words else Tone.PLAIN)
