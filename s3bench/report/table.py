"""The results as a text table for a terminal.

One row for each benchmark and client, then a line for every failure and every doubt. A figure is the median of the
iterations, with the median absolute deviation behind it: like the median, it does not mind a single straggler.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from io import StringIO
from statistics import median

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from s3bench.results.document import Document, Result, Status
from s3bench.results.measurement import figure
from s3bench.units import render_bytes, render_seconds

_NOTHING = "-"


def render_table(document: Document, *, width: int, color: bool) -> str:
    """Render the document's results for a terminal of `width` columns. Color adds nothing to the meaning."""
    out = StringIO()
    console = Console(
        file=out,
        width=width,
        force_terminal=color,
        color_system="standard" if color else None,
        no_color=not color,
        highlight=False,
        emoji=False,
        legacy_windows=False,
    )
    if document.results:
        console.print(_table(document.results))
        console.print(Text("median ± median absolute deviation; n: iterations measured", style="dim"))
    else:
        console.print("no results")
    for line in _lines(document):
        console.print(line, soft_wrap=True)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _table(results: Iterable[Result]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("benchmark", overflow="fold")
    table.add_column("client", overflow="fold")
    table.add_column("n", justify="right", no_wrap=True)
    for heading in ("total time", "CPU time", "peak memory", "throughput", "requests"):
        table.add_column(heading, justify="right")
    table.add_column("engine")
    table.add_column("status")
    for result in results:
        style = "red" if result.errors else ""
        table.add_row(*(Text(cell) for cell in _cells(result)), style=style)
    return table


def _cells(result: Result) -> Iterator[str]:
    dimensions = " ".join(f"{name}={value}" for dimension in result.dimensions for name, value in dimension.items())
    yield f"{result.name} {dimensions}".rstrip()
    yield result.client.label
    yield str(len(result.measurements))
    yield _spread(result, "total_time", render_seconds)
    yield _spread(result, "cpu_time", render_seconds)
    yield _spread(result, "peak_memory", render_bytes)
    yield _spread(result, "throughput", lambda rate: f"{render_bytes(rate)}/s")
    yield _spread(result, "wire.requests", lambda count: f"{count:g}")
    yield "/".join(sorted({item.engine for item in result.measurements if item.engine})) or _NOTHING
    yield _status(result)


def _spread(result: Result, metric: str, render: Callable[[float], str]) -> str:
    values = [value for item in result.measurements if (value := figure(item, metric)) is not None]
    if not values:
        return _NOTHING
    center = median(values)
    deviation = median(abs(value - center) for value in values)
    if len(values) == 1 or (metric == "wire.requests" and not deviation):
        return render(center)
    return f"{render(center)} ± {render(deviation)}"


def _status(result: Result) -> str:
    if result.status is Status.FAILED:
        return f"{len(result.errors)} failed"
    return "ok" if result.status is Status.COMPLETE else "unfinished"


def _lines(document: Document) -> Iterator[Text]:
    for warning in document.warnings:
        yield _line("warning", "yellow", warning)
    for result in document.results:
        subject = f"{result.name} on {result.client.label}"
        doubts = Counter(warning for item in result.measurements for warning in item.warnings)
        for doubt, count in doubts.items():
            yield _line("warning", "yellow", f"{subject}: {doubt}" + (f" ({count} iterations)" if count > 1 else ""))
        for failure in result.errors:
            code = "" if failure.exit_code is None else f" (exit code {failure.exit_code})"
            about = f"; request {failure.request}" if failure.request else ""
            why = f": {' '.join(failure.why.split())}" if failure.why else ""
            yield _line("error", "red", f"{subject}, iteration {failure.iteration}: {failure.what}{code}{about}{why}")


def _line(kind: str, style: str, text: str) -> Text:
    """One line whatever the text holds: a client's stderr must not move the cursor or paint the terminal."""
    printable = "".join(character if character.isprintable() else " " for character in text)
    return Text.assemble((f"{kind}: ", style), printable)
