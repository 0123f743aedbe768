"""The table of `--compare-clients` as text and as Markdown: Gb/s of every client on every workload, and what is behind.

The first table has the clients' rates alone; below it each workload has its own, with times, CPU time and memory.
"""

from collections.abc import Callable, Iterator

from s3bench.report.columns import TextColumn, fitted, heading_lines, row_lines
from s3bench.report.load.cells import NOTHING
from s3bench.report.markdown import cell, code, escaped, list_lines, table_lines
from s3bench.report.terminal import BOLD, DIM, RED, painter, printable
from s3bench.report.tune.cells import (
    bytes_text,
    gigabits_text,
    seconds_text,
    span_text,
)
from s3bench.tune.client_table import ClientCell, ClientTable
from s3bench.tune.workload import Workload
from s3bench.units import render_bytes, render_seconds

_LEGEND = (
    "Gb/s: 10^9 bits; real, user and sys as time(1) prints them, medians; "
    "95 %: interval of the figure before it; memory: the most that any run needed; -: unknown, or too few runs"
)


def render_clients(table: ClientTable, *, width: int, color: bool) -> str:
    """Render for a terminal of `width` columns, by leaving columns out; no figure is cut."""
    paint = painter(color=color)
    lines: list[str] = []
    for title, columns in _parts(table):
        left = fitted(columns, width=width)
        lines += [paint(title, BOLD), *(paint(line, DIM) for line in heading_lines(left)), *row_lines(left), ""]
    lines += [f"{paint('failure', RED)}: {printable(text)}" for text in _failure_lines(table)]
    lines.append(paint(_LEGEND, DIM))
    return "\n".join(line.rstrip() for line in lines) + "\n"


def render_clients_markdown(table: ClientTable) -> str:
    """Render as GitHub Flavored Markdown."""
    lines: list[str] = []
    for title, columns in _parts(table):
        headings = [cell(column.heading) for column in columns]
        names, *figures = (column.cells for column in columns)
        cells = zip(map(code, names), *(map(cell, each) for each in figures), strict=True)
        lines += [f"### {escaped(title)}", "", *table_lines(headings, cells, texts=frozenset({0})), ""]
    lines += (*list_lines(f"failure: {text}" for text in _failure_lines(table)), "", escaped(_LEGEND))
    return "\n".join(lines) + "\n"


def _parts(table: ClientTable) -> Iterator[tuple[str, tuple[TextColumn, ...]]]:
    names = TextColumn(heading="client", cells=tuple(printable(str(row.setting)) for row in table.rows))
    rates = tuple(each for number in range(len(table.workloads)) for each in _rates(table, number))
    yield _title(table), (names, *rates)
    for number, workload in enumerate(table.workloads):
        yield f"{workload.action} {_label(workload)}", (names, *_details(table, number))


def _rates(table: ClientTable, number: int) -> Iterator[TextColumn]:
    """The rate on one workload with its interval; a failure is said in words."""
    cells, workload = _cells(table, number), table.workloads[number]
    action = f"{workload.action} " if len({each.action for each in table.workloads}) > 1 else ""
    yield TextColumn(heading=f"{action}{_label(workload)}", cells=tuple(map(_rate_text, cells)))
    spans = tuple(span_text(each.gigabits_low, each.gigabits_high, gigabits_text) for each in cells)
    yield TextColumn(heading="95 %", rank=1, cells=spans)


def _details(table: ClientTable, number: int) -> Iterator[TextColumn]:
    cells = _cells(table, number)

    def column(heading: str, rank: int, text: Callable[[ClientCell], str]) -> TextColumn:
        return TextColumn(heading=heading, rank=rank, cells=tuple(map(text, cells)))

    yield column("real", 0, lambda each: seconds_text(each.time))
    yield column("95 %", 2, lambda each: span_text(each.time_low, each.time_high, render_seconds))
    yield column("user", 1, lambda each: seconds_text(each.user))
    yield column("sys", 1, lambda each: seconds_text(each.system))
    yield column("memory", 0, lambda each: bytes_text(each.peak_memory))
    yield column("runs", 3, lambda each: f"{each.runs}")


def _cells(table: ClientTable, number: int) -> tuple[ClientCell, ...]:
    return tuple(row.cells[number] for row in table.rows)


def _rate_text(found: ClientCell) -> str:
    if found.gigabits_per_s is None:
        return "failed" if found.failures else NOTHING
    return f"{gigabits_text(found.gigabits_per_s)} Gb/s"


def _failure_lines(table: ClientTable) -> Iterator[str]:
    for row in table.rows:
        for workload, found in zip(table.workloads, row.cells, strict=True):
            if found.failures:
                count = f"{found.failures} of {found.failures + found.runs} runs failed"
                reason = " ".join(found.failure.split()) or "no reason told"
                yield f"{row.setting}, {workload.action} {_label(workload)}: {count}: {reason}"


def _title(table: ClientTable) -> str:
    actions = " and ".join(dict.fromkeys(str(workload.action) for workload in table.workloads))
    return f"{actions}: all object data over the median time, the fastest first"


def _label(workload: Workload) -> str:
    return f"{workload.files:,} x {render_bytes(workload.size_bytes)}"
