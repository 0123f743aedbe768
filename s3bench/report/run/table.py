"""The results as a text table for a terminal.

One row for each client under its benchmark, then a line for every failure and every doubt. A figure is the median of
the iterations, with the median absolute deviation behind it: like the median, it does not mind a single straggler.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import median

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from s3bench.report.terminal import printable, rendered, terminal_console
from s3bench.results.audit import Audit, Ratio
from s3bench.results.document import Document, Result, Status
from s3bench.results.measurement import figure
from s3bench.results.warnings import gather_warnings
from s3bench.units import render_bytes, render_seconds

_NOTHING = "-"
_LEGEND = (
    "median ± median absolute deviation of n iterations: total time, CPU time of user and system, peak memory; "
    "requests from fewest to most"
)
_WHOLE_PERCENTS_FROM = 0.0995  # 9.95 % is "10%"
_LEGEND_NARROW = "median of n iterations: total time, CPU time, peak memory"


def render_table(document: Document, *, width: int, color: bool) -> str:
    """Render the document's results for a terminal of `width` columns. Color adds nothing to the meaning.

    Where the terminal is too narrow, spreads and throughput are left out; no figure is ever cut.
    """
    console = terminal_console(color=color)
    lines = [*_table_lines(document.results, console, width), *(rendered(line, console) for line in _lines(document))]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def result_line(result: Result) -> str:
    """Render one result as a line: what it was, on which client, and its median total time or its first error."""
    client, count, total_time, *_ = _cells(result)
    outcome = f"{_status(result)}: {result.errors[0].what}" if result.errors else f"{total_time} total time, n={count}"
    return f"{_benchmark(result)} on {client}: {outcome}"


def _table_lines(results: Sequence[Result], console: Console, width: int) -> Iterator[str]:
    """Render one line a result, and one for its benchmark above the first of each."""
    if not results:
        yield "no results"
        return
    table, legend = _table(results, is_wide=True), _LEGEND
    if Measurement.get(console, console.options, table).maximum > width:
        table, legend = _table(results, is_wide=False), _LEGEND_NARROW
    heading, rule, *rows = rendered(table, console).splitlines()
    yield heading
    yield rule
    above = ""
    for result, row in zip(results, rows, strict=True):
        if (benchmark := _benchmark(result)) != above:
            yield rendered(Text(benchmark, style="bold"), console)
        yield row
        above = benchmark
    yield rendered(Text(legend, style="dim"), console)


def _table(results: Iterable[Result], *, is_wide: bool) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("  client", no_wrap=True)
    for heading in ("n", "time", "CPU", "memory", *(("throughput",) if is_wide else ()), "requests"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("engine", no_wrap=True)
    table.add_column("status", no_wrap=True)
    for result in results:
        client, *cells = _cells(result, is_wide=is_wide)
        table.add_row(Text(f"  {client}"), *(Text(cell) for cell in cells), style="red" if result.errors else "")
    return table


def _benchmark(result: Result) -> str:
    dimensions = (f"{name}={value}" for dimension in result.dimensions for name, value in dimension.items())
    return printable(" ".join((result.name, *dimensions)))


def _cells(result: Result, *, is_wide: bool = True) -> Iterator[str]:
    def center(metric: str, render: Callable[[float], str]) -> str:
        values = _figures(result, metric)
        return _center(values, render) + (_spread(values) if is_wide else "")

    yield printable(result.client.label)
    yield str(len(result.measurements))
    yield center("total_time", render_seconds)
    yield center("cpu_time", render_seconds)
    yield center("peak_memory", render_bytes)
    if is_wide:
        yield center("throughput", lambda rate: f"{render_bytes(rate)}/s")
    yield _range(_figures(result, "wire.requests"))
    yield printable("/".join(sorted({item.engine for item in result.measurements if item.engine}))) or _NOTHING
    yield _status(result)


def _center(values: Sequence[float], render: Callable[[float], str]) -> str:
    return render(median(values)) if values else _NOTHING


def _spread(values: Sequence[float]) -> str:
    center = median(values) if len(values) > 1 else 0.0
    if not center:
        return ""
    share = median(abs(value - center) for value in values) / center
    return f" ±{share:.0%}" if share >= _WHOLE_PERCENTS_FROM else f" ±{share:.1%}"


def _range(values: Sequence[float]) -> str:
    if not values:
        return _NOTHING
    low, high = min(values), max(values)
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def _figures(result: Result, metric: str) -> list[float]:
    return [value for item in result.measurements if (value := figure(item, metric)) is not None]


def _status(result: Result) -> str:
    if result.status is Status.FAILED:
        return f"{len(result.errors)} failed"
    return "ok" if result.status is Status.COMPLETE else "unfinished"


def _lines(document: Document) -> Iterator[Text]:
    for warning in document.warnings:
        yield _line("warning", "yellow", warning)
    yield from _doubts(document.results)
    for result in document.results:
        subject = f"{_benchmark(result)} on {result.client.label}"
        if result.audit is not None:
            yield _line("audit", "cyan", f"{subject}: {_audit_in_words(result.audit)}")
        for failure in result.errors:
            code = "" if failure.exit_code is None else f" (exit code {failure.exit_code})"
            about = f"; request {failure.request}" if failure.request else ""
            why = f": {' '.join(failure.why.split())}" if failure.why else ""
            yield _line("error", "red", f"{subject}, iteration {failure.iteration}: {failure.what}{code}{about}{why}")


def _doubts(results: Sequence[Result]) -> Iterator[Text]:
    for doubt in gather_warnings(results):
        first = doubt.results[0]
        where = f"{_benchmark(first)} on {first.client.label}"
        if len(doubt.results) > 1:
            where = f"{len(doubt.results)} results"
        count = f" ({doubt.iterations} iterations)" if doubt.iterations > 1 else ""
        yield _line("warning", "yellow", f"{where}: {doubt.words}{count}")


def _audit_in_words(audit: Audit) -> str:
    words = f"sampling and probes changed total time by {_change(audit.total_time)}"
    if audit.cpu_time is not None:
        words += f", CPU time by {_change(audit.cpu_time)}"
    return f"{words}; median of {audit.pairs} pairs, 95 % interval"


def _change(ratio: Ratio) -> str:
    interval = (
        "unknown" if ratio.low is None or ratio.high is None else f"{ratio.low - 1:+.1%} to {ratio.high - 1:+.1%}"
    )
    return f"{ratio.median - 1:+.1%} ({interval})"


def _line(kind: str, style: str, text: str) -> Text:
    """One line whatever the text holds: a client's stderr must not move the cursor or paint the terminal."""
    return Text.assemble((f"{kind}: ", style), printable(text))
