"""Sections of the page about a run of clients: a summary of all benchmarks, then each benchmark."""

from collections.abc import Iterator, Sequence

from s3bench.report.page.run.axis import TOTAL_TIME
from s3bench.report.page.run.benchmark import Benchmark, ClientResults, benchmarks_of, clients_of
from s3bench.report.page.run.detail import TABLE_ROWS_MAX, Detail, Level, detail_of
from s3bench.report.page.run.dots import dots_chart, dots_words, usage_figure
from s3bench.report.page.run.ecdf import ecdf_chart
from s3bench.report.page.run.headline import run_headline
from s3bench.report.page.run.line import failure_lines, head_lines
from s3bench.report.page.run.memory import memory_chart, memory_words, sampled_runs
from s3bench.report.page.run.ratio import STRIPS_MAX, overview_chart, strip_charts, timed_rows
from s3bench.report.page.run.requests import requests_chart
from s3bench.report.page.run.table import runs_table, summary_table
from s3bench.report.page.run.waterfall import steps_of, waterfall_chart, waterfall_table
from s3bench.report.page.run.wire import wire_runs, wire_table, wire_words
from s3bench.report.page.section import ChartFigure, Line, Section
from s3bench.report.table import Tone
from s3bench.results.document import Document
from s3bench.results.metrics import METRICS_BY_NAME

_DOTS_HEIGHT, _COMPACT_HEIGHT, _ECDF_HEIGHT = 200, 90, 160
_MANY = "The figures of every run are in the results document; `s3bench report --format csv` has them as a table."
_TABLED = tuple(METRICS_BY_NAME[name] for name in ("total_time", "cpu_time", "peak_memory"))


def run_sections(document: Document) -> tuple[Section, ...]:
    """The page's sections for a document of clients; its results of load are left to others."""
    benchmarks = benchmarks_of(document)
    detail = detail_of(benchmarks)
    summary = _summary(document, benchmarks)
    if not benchmarks:
        return (summary,)
    if detail.level <= Level.STRIPS:
        return summary, _strips(benchmarks, detail)
    clients = clients_of(benchmarks)
    parts = tuple(
        _part(benchmark, clients, detail, is_folded=number >= detail.open_max)
        for number, benchmark in enumerate(benchmarks)
    )
    return summary, Section(name="benchmarks", title="Benchmarks", lines=_left_out(detail), parts=parts)


def _left_out(detail: Detail) -> tuple[Line, ...]:
    return (Line(text=detail.words, tone=Tone.WARNING),) if detail.words else ()


def _summary(document: Document, benchmarks: Sequence[Benchmark]) -> Section:
    return Section(
        name="summary",
        title="Summary",
        headline=run_headline(benchmarks),
        lines=tuple(head_lines(document, benchmarks)),
        tables=(summary_table(benchmarks),) if benchmarks else (),
        figures=tuple(_overview(benchmarks)),
    )


def _overview(benchmarks: Sequence[Benchmark]) -> Iterator[ChartFigure]:
    """Medians of all benchmarks, as many as one chart holds."""
    timed = timed_rows(benchmarks)
    if len(timed) < 2:  # noqa: PLR2004 (one figure needs no picture)
        return
    shown = timed[:STRIPS_MAX]
    words = ["Medians of the total time of each benchmark, with their 95 % intervals, the clients beside each other."]
    if len({each.row.client for each in shown}) > 1:
        words.append(
            "As multiples of the median of the benchmark's fastest client, which is 1 and is taken as exact: "
            "times of different benchmarks lie too far apart for one axis."
        )
    if len(timed) > len(shown):
        words.append(f"The first {len(shown)} of {len(timed):,} rows; the table has all.")
    yield ChartFigure(
        name="overview",
        title="Total time of all benchmarks",
        description=" ".join(words),
        chart=overview_chart(shown, clients=clients_of(benchmarks)),
        narrow=overview_chart(shown, clients=clients_of(benchmarks), is_narrow=True),
    )


def _strips(benchmarks: Sequence[Benchmark], detail: Detail) -> Section:
    """All runs of many benchmarks, a row each."""
    with_runs = detail.level is Level.STRIPS
    timed = timed_rows(benchmarks)
    what = "Each dot is a run" if with_runs else "Each bar goes from the fastest run to the slowest"
    wide, narrow = (
        strip_charts(timed, clients=clients_of(benchmarks), with_runs=with_runs, is_narrow=is_narrow) if timed else ()
        for is_narrow in (False, True)
    )
    figures = tuple(
        ChartFigure(
            name=f"runs-{number}",
            title=f"Total time, rows {(number - 1) * STRIPS_MAX + 1:,} to {min(number * STRIPS_MAX, len(timed)):,}",
            description=f"{what}, the upright tick is the median. Multiples are of the median of the benchmark's "
            f"fastest client. {_MANY}",
            chart=chart,
            narrow=narrow_chart,
        )
        for number, (chart, narrow_chart) in enumerate(zip(wide, narrow, strict=True), 1)
    )
    failures = failure_lines([row for benchmark in benchmarks for row in benchmark.rows])
    return Section(name="runs", title="Runs", lines=(*_left_out(detail), *failures), figures=figures)


def _part(benchmark: Benchmark, clients: list[str], detail: Detail, *, is_folded: bool) -> Section:
    rows = benchmark.rows
    table = runs_table(rows, _TABLED if detail.level is Level.ALL else (TOTAL_TIME,))
    has_table = detail.level >= Level.DISTRIBUTION and len(table.rows) <= TABLE_ROWS_MAX
    lines = list(failure_lines(rows))
    if detail.level is Level.ALL and not any(each.series for row in rows for each in row.result.runs):
        lines.append(Line(text="memory and CPU over time: the document holds no samples of this benchmark"))
    return Section(
        name=benchmark.name,
        title=benchmark.title,
        lines=tuple(lines),
        tables=(table,) if has_table else (),
        figures=tuple(_figures(rows, clients, detail, closing="" if has_table else f" {_MANY}")),
        is_folded=is_folded,
    )


def _figures(
    rows: Sequence[ClientResults], clients: list[str], detail: Detail, *, closing: str
) -> Iterator[ChartFigure]:
    height = _COMPACT_HEIGHT if detail.level is Level.DOTS else _DOTS_HEIGHT
    dots = dots_chart(rows, TOTAL_TIME, clients=clients, height=height)
    if dots is not None:
        words = f"{dots_words(rows, TOTAL_TIME)}{closing}"
        yield ChartFigure(name="total-time", title="Total time of every run", description=words, chart=dots)
    if detail.level < Level.DISTRIBUTION:
        return
    ecdf = ecdf_chart(rows, TOTAL_TIME, clients=clients, height=_ECDF_HEIGHT)
    if ecdf is not None:
        words = f"Which share of a client's runs took how long at most; each step is a run, none is smoothed.{closing}"
        yield ChartFigure(name="total-time-ecdf", title="Distribution of the total time", description=words, chart=ecdf)
    if detail.level is Level.ALL:
        yield from usage_figure(rows, clients=clients, closing=closing)
        yield from _inside(rows, clients, detail)


def _inside(rows: Sequence[ClientResults], clients: list[str], detail: Detail) -> Iterator[ChartFigure]:
    """What happened within the runs."""
    if sampled := sampled_runs(rows, runs_max=detail.overlaid_max):
        yield ChartFigure(
            name="memory-cpu-over-time",
            title="Memory and CPU over time",
            description=memory_words(rows, sampled),
            chart=memory_chart(sampled, clients=clients),
            narrow=memory_chart(sampled, clients=clients, is_narrow=True),
        )
    if steps := steps_of(rows):
        yield ChartFigure(
            name="start-up",
            title="From the spawn to the end, step by step",
            description="What each client was at, between the medians of its milestones over all runs. "
            "A client without probes shows what the wire shows of it.",
            chart=waterfall_chart(steps, clients=clients),
            table=waterfall_table(rows),
        )
    if wired := wire_runs(rows, requests_max=detail.requests_max):
        yield ChartFigure(
            name="requests",
            title="Requests by connection",
            description=wire_words(wired),
            chart=requests_chart(wired),
            narrow=requests_chart(wired, is_narrow=True),
            table=wire_table(wired, rows_max=TABLE_ROWS_MAX),
        )
