"""A load run as CSV (RFC 4180): a row for each second while it runs, and the cells of a matrix at its end.

Seconds and bytes, no units in cells; unknown figures are empty. Lines end with CR LF.
"""

import csv
from collections.abc import Iterable, Iterator
from io import StringIO

from s3bench.report.load.cells import POINTS, SIZE, THREADS, LoadRow, bytes_rate
from s3bench.report.load.matrix import cells
from s3bench.results.document import Document
from s3bench.results.load import Latency, Load, Second

SECOND_COLUMNS = (
    "phase",
    "loop",
    "second",
    "kind",
    "operations",
    "failures",
    "bytes",
    "p50",
    "p99",
    "max",
    "in_flight",
    "stalled",
)

_POINT_NAMES = tuple(name.replace(".", "") for name in POINTS)  # p999, as in the results document

MATRIX_COLUMNS = (
    "kind",
    "job",
    "size",
    "threads",
    "loop",
    "operations",
    "failed",
    "rate",
    "throughput",
    *(f"first_byte_{name}" for name in _POINT_NAMES),
    *(f"last_byte_{name}" for name in _POINT_NAMES),
)

_Cell = str | int | float | None


def seconds_header() -> str:
    """The first line of a file of seconds."""
    return _line(SECOND_COLUMNS)


def second_row(second: Second, *, phase: str, kind: str, loop: int = 1) -> str:
    """One second of one kind of operation; `stalled` is 1 or 0, `failures` are attempts."""
    return _line(
        (
            phase,
            loop,
            second.second,
            kind,
            second.operations,
            second.failures,
            second.bytes,
            second.p50,
            second.p99,
            second.max,
            second.in_flight,
            int(second.stalled),
        )
    )


def matrix_csv(document: Document) -> Iterator[str]:
    """The matrix of a document: the header, then a row for each kind, size, thread count and loop.

    `throughput` is bytes a second; `first_byte_` and `last_byte_` are seconds from the start of an attempt.
    """
    yield _line(MATRIX_COLUMNS)
    for row in cells(document):
        for loop, load in enumerate(row.loops, 1):
            yield _line(_matrix_row(row, loop, load))


def _matrix_row(row: LoadRow, loop: int, load: Load) -> Iterator[_Cell]:
    yield from (load.kind, load.job, row.dimensions[SIZE], row.dimensions[THREADS], loop)
    yield from (load.operations, load.failed, load.operations_rate, bytes_rate(load))
    yield from _points(load.first_byte)
    yield from _points(load.latency)


def _points(latency: Latency) -> Iterator[float | None]:
    return (pick(latency) for pick in POINTS.values())


def _line(row: Iterable[_Cell]) -> str:
    line = StringIO()
    csv.writer(line).writerow([_cell(cell) for cell in row])
    return line.getvalue()


def _cell(cell: _Cell) -> _Cell:
    return f"{cell:.9g}" if isinstance(cell, float) else cell  # nanoseconds in whatever takes up to a second
