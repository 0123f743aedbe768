"""A matrix as text for a terminal: throughput and latencies over object sizes and thread counts.

Wide terminals get the first-byte and last-byte latency at avg, min, 25, 50, 75, 90, 99, 99.9 and max; narrower ones
lose columns, the outer ones first. CSV has all figures.
"""

from collections.abc import Iterator

from s3bench.report.load.cells import ALL, NOTHING, PURPOSE, SIZE, THREADS, LoadRow, load_phases, load_rows
from s3bench.report.load.notes import NODES, Note, document_notes, phase_notes
from s3bench.report.load.tables import matrix_columns
from s3bench.report.table import Table, column
from s3bench.report.terminal import DIM, RED, YELLOW, painter, printable
from s3bench.report.text_table import table_lines
from s3bench.results.document import Document

_GAP = 1  # 18 columns of latencies stand side by side
_INDENT = "  "
_LEGEND = (
    "first byte, last byte: ms from the start of an attempt",
    "medians of the loops; min and max: the least and the greatest of all loops",
    "errors: operations that failed for good; -: none, or too few for that figure",
)


def cells(document: Document) -> tuple[LoadRow, ...]:
    """The document's results that belong to a matrix, in its order: one kind at one size and one thread count.

    The phases that wrote the objects before they were read are not part of it.
    """
    rows = (row for row in load_rows(document) if row.kind != ALL and PURPOSE not in row.dimensions)
    return tuple(row for row in rows if {SIZE, THREADS} <= row.dimensions.keys())


def render_matrix(document: Document, *, width: int, color: bool) -> str:
    """Render the matrix for a terminal of `width` columns; sizes in the order in which they were measured."""
    paint = painter(color=color)
    by_title: dict[str, list[LoadRow]] = {}
    for row in cells(document):
        by_title.setdefault(_title(row), []).append(row)
    rows = [row for each in by_title.values() for row in each]
    if not rows:
        return "no matrix\n"
    titles = column("size", rows, _title, is_title=True)
    threads = column("threads", rows, lambda row: row.dimensions[THREADS])
    table = Table(columns=(titles, threads, *matrix_columns(rows, _ms_text)))
    notes = {id(each[-1]): tuple(_notes(each)) for each in by_title.values()}
    lines = [
        *table_lines(
            table,
            width=width,
            paint=paint,
            gap=_GAP,
            below=lambda number: [
                f"{_INDENT}{paint(kind, YELLOW)}: {printable(text)}" for kind, text in notes.get(id(rows[number]), ())
            ],
        ),
        *(paint(line, DIM) for line in _LEGEND),
        *(
            f"{paint(kind, RED if kind == 'error' else YELLOW)}: {printable(text)}"
            for kind, text in document_notes(document)
        ),
    ]
    return "\n".join(lines) + "\n"


def _title(row: LoadRow) -> str:
    others = (f"{name}={value}" for name, value in row.dimensions.items() if name not in {SIZE, THREADS})
    return printable(" ".join((f"{row.label} of {row.dimensions[SIZE]}", *others)))


def _ms_text(seconds: float | None) -> str:
    """Milliseconds with three digits, or all those before the point."""
    if seconds is None:
        return NOTHING
    milliseconds = seconds * 1e3
    return f"{milliseconds:.{2 if milliseconds < 10 else 1 if milliseconds < 100 else 0}f}"  # noqa: PLR2004 (digits)


def _notes(rows: list[LoadRow]) -> Iterator[Note]:
    for phase in load_phases(rows):
        threads = printable(phase.rows[0].dimensions[THREADS])
        yield from ((kind, f"{threads} threads: {text}") for kind, text in phase_notes(phase) if kind != NODES)
