"""The tables of `--compare-clients` as text and as Markdown: first the rates, then the times and memory behind them."""

from collections.abc import Iterator, Sequence

from s3bench.clients.tuning.workload import Workload
from s3bench.report.load.cells import NOTHING
from s3bench.report.markdown import escaped, list_lines
from s3bench.report.markdown import table_lines as markdown_table_lines
from s3bench.report.table import Table, TableColumn, column
from s3bench.report.terminal import BOLD, DIM, RED, painter, printable
from s3bench.report.text_table import table_lines
from s3bench.report.tune.cells import bytes_text, gigabits_text, seconds_text, span_text
from s3bench.tune.client_table import ClientCell, ClientTable
from s3bench.units import render_bytes, render_seconds

_LEGEND = (
    "Gb/s: 10^9 bits; real, user and sys as time(1) prints them, medians; "
    "95 %: interval of the figure before it; memory: the most that any run needed; -: unknown, or too few runs"
)


def render_clients(table: ClientTable, *, width: int, color: bool) -> str:
    """Render for a terminal of `width` columns, by leaving columns out; no figure is cut."""
    paint = painter(color=color)
    lines: list[str] = []
    for each in _tables(table):
        lines += [paint(each.caption, BOLD), *table_lines(each, width=width, paint=paint), ""]
    lines += [f"{paint('failure', RED)}: {printable(text)}" for text in _failure_lines(table)]
    lines.append(paint(_LEGEND, DIM))
    return "\n".join(line.rstrip() for line in lines) + "\n"


def render_clients_markdown(table: ClientTable) -> str:
    """Render as GitHub Flavored Markdown."""
    lines: list[str] = []
    for each in _tables(table):
        lines += [f"### {escaped(each.caption)}", "", *markdown_table_lines(each), ""]
    lines += (*list_lines(f"failure: {text}" for text in _failure_lines(table)), "", escaped(_LEGEND))
    return "\n".join(lines) + "\n"


def _tables(table: ClientTable) -> Iterator[Table]:
    """The rates on all workloads, then each workload with its details."""
    names = column("client", table.rows, lambda row: str(row.setting), is_code=True)
    rates = (each for number in range(len(table.workloads)) for each in _rates(table, number))
    yield Table(caption=_title(table), columns=(names, *rates))
    for number, workload in enumerate(table.workloads):
        yield Table(caption=f"{workload.action} {_label(workload)}", columns=(names, *_details(_cells(table, number))))


def _rates(table: ClientTable, number: int) -> Iterator[TableColumn]:
    """The rate on one workload with its interval, or that it failed."""
    cells, workload = _cells(table, number), table.workloads[number]
    action = f"{workload.action} " if len({each.action for each in table.workloads}) > 1 else ""
    yield column(f"{action}{_label(workload)}", cells, _rate_text, value=lambda each: each.gigabits_per_s)
    yield column("95 %", cells, _rate_interval, value=lambda each: each.gigabits_low, rank=1)


def _details(cells: Sequence[ClientCell]) -> Iterator[TableColumn]:
    yield column("real", cells, lambda each: seconds_text(each.time), value=lambda each: each.time)
    yield column("95 %", cells, _time_interval, value=lambda each: each.time_low, rank=2)
    yield column("user", cells, lambda each: seconds_text(each.user), value=lambda each: each.user, rank=1)
    yield column("sys", cells, lambda each: seconds_text(each.system), value=lambda each: each.system, rank=1)
    yield column("memory", cells, lambda each: bytes_text(each.peak_memory), value=lambda each: each.peak_memory)
    yield column("runs", cells, lambda each: f"{each.runs}", value=lambda each: each.runs, rank=3)


def _rate_interval(found: ClientCell) -> str:
    return span_text(found.gigabits_low, found.gigabits_high, gigabits_text)


def _time_interval(found: ClientCell) -> str:
    return span_text(found.time_low, found.time_high, render_seconds)


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
                reason = " ".join(found.failure.split()) or "no reason given"
                yield f"{row.setting}, {workload.action} {_label(workload)}: {count}: {reason}"


def _title(table: ClientTable) -> str:
    actions = " and ".join(dict.fromkeys(str(workload.action) for workload in table.workloads))
    return f"{actions}: all object data over the median time, the fastest first"


def _label(workload: Workload) -> str:
    each = f"up to {render_bytes(workload.size_bytes)}" if workload.sizes else render_bytes(workload.size_bytes)
    return f"{workload.files:,} x {each}"
