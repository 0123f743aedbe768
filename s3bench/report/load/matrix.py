"""Throughput and latencies over object sizes and thread counts: a table for each size, a line for each thread count.

Wide terminals get the first-byte and last-byte latency at avg, min, 25, 50, 75, 90, 99, 99.9 and max; narrower ones
lose columns, the outer ones first. All figures are in `load_csv`'s.
"""

from collections.abc import Callable, Iterator, Sequence

from s3bench.report.columns import TextColumn, fitted, heading_lines, row_lines
from s3bench.report.load.cells import (
    ALL,
    NOTHING,
    PURPOSE,
    SIZE,
    THREADS,
    LoadRow,
    bytes_rate,
    bytes_rate_text,
    count_text,
    load_phases,
    load_rows,
    rate_text,
)
from s3bench.report.load.notes import NODES, document_notes, phase_notes
from s3bench.report.terminal import BOLD, DIM, RED, YELLOW, painter, printable
from s3bench.results.document import Document
from s3bench.results.load import Latency, Load

POINTS: tuple[tuple[str, Callable[[Latency], float | None]], ...] = (
    ("avg", lambda latency: latency.mean),
    ("min", lambda latency: latency.min),
    ("p25", lambda latency: latency.p25),
    ("p50", lambda latency: latency.p50),
    ("p75", lambda latency: latency.p75),
    ("p90", lambda latency: latency.p90),
    ("p99", lambda latency: latency.p99),
    ("p99.9", lambda latency: latency.p999),
    ("max", lambda latency: latency.max),
)
"""Where latencies are told, in the order of the columns."""

_ALWAYS = frozenset({"p50", "p90", "p99"})
_RANKS = {"p99.9": 2, "max": 3}
_GAP = 1  # 18 columns of latencies stand side by side
_INDENT = "  "
_LEGEND = (
    "first byte, last byte: ms from the start of an attempt; medians of the loops",
    "errors: operations that failed for good; -: none, or too few for that figure",
)


def cells(document: Document) -> tuple[LoadRow, ...]:
    """The document's results that belong to a matrix, in its order: one kind at one size and one thread count.

    What wrote the objects before they were read is none of it.
    """
    rows = (row for row in load_rows(document) if row.kind != ALL and PURPOSE not in row.dimensions)
    return tuple(row for row in rows if {SIZE, THREADS} <= row.dimensions.keys())


def render_matrix(document: Document, *, width: int, color: bool) -> str:
    """Render the matrix for a terminal of `width` columns; sizes in the order in which they were measured."""
    paint = painter(color=color)
    by_title: dict[str, list[LoadRow]] = {}
    for row in cells(document):
        by_title.setdefault(_title(row), []).append(row)
    if not by_title:
        return "no matrix\n"
    columns = fitted(tuple(_columns([row for rows in by_title.values() for row in rows])), width=width, gap=_GAP)
    row_texts = iter(row_lines(columns, gap=_GAP))
    lines: list[str] = []
    for title, rows in by_title.items():
        lines.append(paint(title, BOLD))
        lines += (paint(line, DIM) for line in heading_lines(columns, gap=_GAP))
        lines += (paint(next(row_texts), RED if row.total(lambda load: load.failed) else "") for row in rows)
        lines += _notes(rows, paint)
        lines.append("")
    lines += (paint(line, DIM) for line in _LEGEND)
    lines += (
        f"{paint(kind, RED if kind == 'error' else YELLOW)}: {printable(words)}"
        for kind, words in document_notes(document)
    )
    return "\n".join(lines) + "\n"


def _title(row: LoadRow) -> str:
    others = (f"{name}={value}" for name, value in row.dimensions.items() if name not in {SIZE, THREADS})
    return printable(" ".join((f"{row.label} of {row.dimensions[SIZE]}", *others)))


def _columns(rows: Sequence[LoadRow]) -> Iterator[TextColumn]:
    yield TextColumn(heading=f"{_INDENT}threads", cells=tuple(f"{_INDENT}{_threads(row)}" for row in rows))
    rates = tuple(rate_text(row.median(lambda load: load.operations_rate)) for row in rows)
    yield TextColumn(heading="rate/s", rank=1, cells=rates)
    yield TextColumn(heading="throughput", cells=tuple(bytes_rate_text(row.median(bytes_rate)) for row in rows))
    yield from _latencies(rows, "first byte", lambda load: load.first_byte)
    yield from _latencies(rows, "last byte", lambda load: load.latency)
    errors = tuple(count_text(row.total(lambda load: load.failed)) for row in rows)
    yield TextColumn(heading="errors", cells=errors)


def _latencies(rows: Sequence[LoadRow], group: str, latency: Callable[[Load], Latency]) -> Iterator[TextColumn]:
    for heading, pick in POINTS:
        rank = 0 if heading in _ALWAYS else _RANKS.get(heading, 4)
        yield TextColumn(
            heading=heading, group=group, rank=rank, cells=tuple(_cell(row, latency, pick) for row in rows)
        )


def _cell(row: LoadRow, latency: Callable[[Load], Latency], pick: Callable[[Latency], float | None]) -> str:
    return _ms_text(row.median(lambda load: pick(latency(load))))


def _ms_text(seconds: float | None) -> str:
    """Milliseconds with three digits, or all those before the point."""
    if seconds is None:
        return NOTHING
    milliseconds = seconds * 1e3
    return f"{milliseconds:.{2 if milliseconds < 10 else 1 if milliseconds < 100 else 0}f}"  # noqa: PLR2004 (digits)


def _notes(rows: Sequence[LoadRow], paint: Callable[[str, str], str]) -> Iterator[str]:
    for phase in load_phases(rows):
        for kind, words in (note for note in phase_notes(phase) if note[0] != NODES):
            yield f"{_INDENT}{paint(kind, YELLOW)}: {_threads(phase.rows[0])} threads: {printable(words)}"


def _threads(row: LoadRow) -> str:
    return printable(row.dimensions[THREADS])
