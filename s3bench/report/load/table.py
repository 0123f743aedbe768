"""The end of a load run as text for a terminal: a row for each kind of operation, and beneath it what limits it.

Fitted to the terminal's width by leaving columns out; no figure is ever cut. Color adds nothing to the meaning. Of
several loops figures are medians, with the median absolute deviation of the rates behind them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from s3bench.report.columns import TextColumn, fitted, heading_lines, row_lines
from s3bench.report.load.cells import (
    FIRST_BYTE_PERCENTILES,
    NOTHING,
    PERCENTILES,
    LoadPhase,
    LoadRow,
    bytes_rate,
    bytes_rate_text,
    count_text,
    first_byte_of,
    gbit_text,
    latency_of,
    legend_lines,
    load_phases,
    load_rows,
    longest_text,
    operations_rate_of,
    rate_text,
    seconds_text,
    service_of,
    spread_text,
)
from s3bench.report.load.notes import NODES, document_notes, phase_notes
from s3bench.report.sparkline import sparkline, stretches
from s3bench.report.terminal import BOLD, DIM, RED, YELLOW, painter, printable
from s3bench.results.document import Document
from s3bench.results.load import Latency, Load

_INDENT = "  "
_HISTORY_SECONDS_MIN = 5
_HISTORY_WIDTH_MIN, _HISTORY_WORDS_WIDTH = 10, 54
_COLORS = {"failed": RED, "failure": RED, "reads": DIM, "unfinished": DIM, NODES: DIM}

_RANKS = {"p90": 6, "p99.9": 3, "max": 2}
"""Of the columns of latencies (`columns.Column`); the others stay always."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """A line of the table: a row's own, or the latency of its attempts alone below it."""

    row: LoadRow
    is_service: bool = False
    latency: Callable[[Load], Latency] = field(default=latency_of)


def render_load(document: Document, *, width: int, color: bool) -> str:
    """Render the load results of a document for a terminal of `width` columns."""
    paint = painter(color=color)
    phases = load_phases(load_rows(document))
    lines = [*_phase_lines(phases, width, paint)] if phases else ["no results"]
    lines += (
        f"{paint(kind, RED if kind == 'error' else YELLOW)}: {printable(words)}"
        for kind, words in document_notes(document)
    )
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _phase_lines(phases: Sequence[LoadPhase], width: int, paint: Callable[[str, str], str]) -> Iterator[str]:
    """Render all phases in columns of the same widths, each below its title and above its notes."""
    lines = [line for phase in phases for line in _lines_of(phase)]
    columns = fitted(tuple(_columns(lines)), width=width)
    yield from (paint(line, DIM) for line in heading_lines(columns))
    rendered = iter(row_lines(columns))
    for phase in phases:
        if title := phase.title + " (not complete)" * phase.is_running:
            yield paint(title.strip(), BOLD)
        for line in _lines_of(phase):
            style = DIM if line.is_service else RED if line.row.total(lambda load: load.failed) else ""
            yield paint(next(rendered), style)
        yield from (f"{_INDENT}{paint(line, DIM)}" for line in _history_lines(phase, width - len(_INDENT)))
        for kind, words in phase_notes(phase):
            yield f"{_INDENT}{paint(kind, _COLORS.get(kind, YELLOW))}: {printable(words)}"
    yield from (paint(line, DIM) for line in legend_lines([line.row for line in lines]))


def _history_lines(phase: LoadPhase, width: int) -> Iterator[str]:
    """The operations of each second of the measured window, for phases of a few seconds at least."""
    for row in phase.rows:
        for number, load in enumerate(row.loops, 1):
            counts = [second.operations for second in load.seconds if second.second >= 0]
            if len(counts) < _HISTORY_SECONDS_MIN:
                continue
            size, means = stretches(counts, count_max=max(_HISTORY_WIDTH_MIN, width - _HISTORY_WORDS_WIDTH))
            loop = f"loop {number}, " if len(row.loops) > 1 else ""
            each = "second" if size == 1 else f"{size} seconds"
            span = f"{rate_text(min(means))} to {rate_text(max(means))} operations/s"
            yield f"{sparkline(means)}  {loop}each {each}: {span}"


def _lines_of(phase: LoadPhase) -> Iterator[_Line]:
    for row in phase.rows:
        yield _Line(row=row)
        if any(load.response for load in row.loops):
            yield _Line(row=row, is_service=True, latency=service_of)


def _columns(lines: Sequence[_Line]) -> Iterator[TextColumn]:
    labels = tuple(f"{_INDENT}  service" if line.is_service else f"{_INDENT}{line.row.label}" for line in lines)
    yield TextColumn(heading=f"{_INDENT}kind", cells=labels)
    yield _figures("ops", 5, lines, lambda row: count_text(row.total(lambda load: load.operations)))
    yield _figures("rate/s", 0, lines, lambda row: rate_text(row.median(operations_rate_of)))
    yield from _unless_empty(_figures("±", 9, lines, lambda row: spread_text(row.spread(operations_rate_of))))
    yield _figures("throughput", 0, lines, lambda row: bytes_rate_text(row.median(bytes_rate)))
    yield from _unless_empty(_figures("±", 9, lines, lambda row: spread_text(row.spread(bytes_rate))))
    yield from _unless_empty(_figures("Gbit/s", 8, lines, lambda row: gbit_text(row.median(bytes_rate))))
    for heading, pick in PERCENTILES.items():
        cells = tuple(
            longest_text(line.row, line.latency) if heading == "max" else _latency_text(line.row, line.latency, pick)
            for line in lines
        )
        yield TextColumn(heading=heading, group="latency", rank=_RANKS.get(heading, 0), cells=cells)
    for heading in FIRST_BYTE_PERCENTILES:
        pick = PERCENTILES[heading]
        cells = tuple("" if line.is_service else _latency_text(line.row, first_byte_of, pick) for line in lines)
        yield TextColumn(heading=heading, group="first byte", rank=7, cells=cells)
    yield _figures("errors", 0, lines, lambda row: count_text(row.total(lambda load: load.failed)))


def _figures(heading: str, rank: int, lines: Sequence[_Line], cell: Callable[[LoadRow], str]) -> TextColumn:
    cells = tuple("" if line.is_service else cell(line.row) for line in lines)
    return TextColumn(heading=heading, rank=rank, cells=cells)


def _latency_text(row: LoadRow, latency: Callable[[Load], Latency], pick: Callable[[Latency], float | None]) -> str:
    return seconds_text(row.median(lambda load: pick(latency(load))))


def _unless_empty(column: TextColumn) -> tuple[TextColumn, ...]:
    return (column,) if set(column.cells) - {NOTHING, ""} else ()
