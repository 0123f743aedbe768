"""The tables of a run on the page: a row for each benchmark and client, and a row for each run of one benchmark."""

from collections.abc import Sequence
from dataclasses import replace

from s3bench.report.page.run.axis import HEADINGS
from s3bench.report.page.run.benchmark import Benchmark, ClientResults
from s3bench.report.page.run.dots import failed_runs
from s3bench.report.run.figures import estimate
from s3bench.report.run.tables import FigureHeading, NamedResult, interval, run_table
from s3bench.report.table import Table, TableCell, TableColumn, Tone, column
from s3bench.results.measurement import figure
from s3bench.results.metrics import Metric, render_figure

_FIGURES = tuple(FigureHeading(heading=heading, metrics=(name,)) for name, heading in HEADINGS.items())


def summary_table(benchmarks: Sequence[Benchmark]) -> Table:
    """Medians with their intervals of every benchmark and client."""
    rows = [
        NamedResult(benchmark=benchmark.title, client=row.client, result=row.result)
        for benchmark in benchmarks
        for row in benchmark.rows
    ]
    caption = "Medians, in brackets the 95 % interval of the median, from six runs on"
    return replace(run_table(rows, _FIGURES, spread=interval), caption=caption)


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

    return Table(
        caption="Every run",
        columns=(
            column("run", numbers, str, value=float),
            *(
                TableColumn(
                    heading=f"{row.client} {HEADINGS[metric.name]}",
                    cells=tuple(cell(row, metric, number) for number in numbers),
                    is_number=True,
                )
                for row, metric in columns
            ),
        ),
    )
