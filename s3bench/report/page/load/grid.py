"""A matrix as a grid: for one kind of operation the results by object size and number of threads, both in order."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from s3bench.report.label import clipped
from s3bench.report.load.cells import (
    NOTHING,
    SIZE,
    THREADS,
    LoadRow,
    bytes_rate,
    bytes_rate_text,
    count_text,
    point_of,
    rate_text,
    seconds_text,
)
from s3bench.report.load.matrix import cells
from s3bench.report.load.tables import MATRIX_LATENCIES, matrix_columns
from s3bench.report.table import Table, TableColumn, column, without_empty
from s3bench.results.document import Document
from s3bench.results.load import Load
from s3bench.units import parse_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A figure of a cell: its title, how it is found, and how it is written; a throughput is bytes a second."""

    title: str
    pick: Callable[[Load], float | None]
    text: Callable[[float | None], str]
    is_throughput: bool = False

    def of(self, row: LoadRow) -> float | None:
        """The median over the loops."""
        return row.median(self.pick)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The cells of one kind of operation. `sizes` and `threads` are texts, in rising order, as keys of `rows`."""

    title: str
    sizes: tuple[str, ...]
    threads: tuple[str, ...]
    rows: dict[tuple[str, str], LoadRow]

    def found(self, measure: Measure) -> Iterator[tuple[tuple[str, str], float]]:
        """Size and threads, and the figure, of every cell that has it, by size and then by threads."""
        for size in self.sizes:
            for threads in self.threads:
                row = self.rows.get((size, threads))
                if row is not None and (value := measure.of(row)) is not None:
                    yield (size, threads), value


THROUGHPUT = Measure(title="throughput", pick=bytes_rate, text=bytes_rate_text, is_throughput=True)
RATE = Measure(title="operations/s", pick=lambda load: load.operations_rate, text=rate_text)


def latency_measure(group: str, point: str) -> Measure:
    """A percentile of a latency by its group, `first byte` or `last byte`, and its point, such as `p50`."""
    return Measure(title=f"{group} {point}", pick=point_of(MATRIX_LATENCIES[group], point), text=seconds_text)


def grids(document: Document) -> tuple[Grid, ...]:
    """A grid for each kind of operation of a matrix, in the document's order."""
    by_title: dict[str, list[LoadRow]] = {}
    for row in cells(document):
        others = (f"{name}={value}" for name, value in row.dimensions.items() if name not in {SIZE, THREADS})
        by_title.setdefault(" ".join((row.label, *others)), []).append(row)
    return tuple(_grid(clipped(title), rows) for title, rows in by_title.items())


def grid_table(grid: Grid) -> Table:
    """All figures of a grid, a row for each cell."""
    rows = [(size, threads, grid.rows[size, threads]) for size, threads in _places(grid)]
    figures = matrix_columns([row for *_, row in rows], seconds_text)
    *measured, errors = without_empty(tuple(figures), frozenset({NOTHING}))
    return Table(
        caption=grid.title,
        columns=(
            column("size", rows, lambda row: row[0], value=lambda row: size_number(row[0])),
            column("threads", rows, lambda row: row[1], value=lambda row: count_number(row[1])),
            *measured,
            *(_count_column(heading, [row for *_, row in rows], pick) for heading, pick in _COUNTS),
            errors,
        ),
        notes=(_LEGEND,),
    )


def by_group(table: Table) -> Iterator[Table]:
    """The table as one for each group of columns: all of them beside each other are wider than a page."""
    alone = tuple(each for each in table.columns if not each.group)
    groups = tuple(dict.fromkeys(each.group for each in table.columns if each.group))
    for group in groups:
        own = tuple(replace(each, group="") for each in table.columns if each.group == group)
        yield replace(table, caption=f"{table.caption}: {group}", columns=(*alone, *own))
    if not groups:
        yield table


def _count_column(heading: str, rows: Sequence[LoadRow], pick: Callable[[Load], int | None]) -> TableColumn:
    def text(row: LoadRow) -> str:
        return NOTHING if (count := _sum(row, pick)) is None else count_text(count)

    return column(heading, rows, text, value=lambda row: _sum(row, pick))


def size_number(text: str) -> float | None:
    """A size in bytes, `None` of what is none."""
    try:
        return float(parse_bytes(text)) or None
    except (ValueError, OverflowError):
        return None


def count_number(text: str) -> float | None:
    """A number of threads; `None` of what is none."""
    return (float(text) or None) if text.isascii() and text.isdecimal() and len(text) <= _DIGITS_MAX else None


_DIGITS_MAX = 9
_LEGEND = (
    "first byte, last byte: from the start of an attempt; medians of the loops; min and max: the least and the "
    "greatest of all loops; read before: operations on what had been read already; errors: operations that failed for "
    "good; -: none, or too few for that figure"
)
_COUNTS: tuple[tuple[str, Callable[[Load], int | None]], ...] = (
    ("read before", lambda load: load.repeated),
    ("unfinished", lambda load: load.unfinished),
)


def _sum(row: LoadRow, pick: Callable[[Load], int | None]) -> int | None:
    """The sum over the loops; `None` where it is not known of all."""
    counts = [pick(load) for load in row.loops]
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def best_text(grid: Grid, measure: Measure) -> str:
    """The highest figure and where it was: `5.8 GiB/s with 8 MiB on 16 threads`."""
    (size, threads), value = max(grid.found(measure), key=lambda each: each[1])
    return f"{measure.text(value)} with {size} on {threads} threads"


def _grid(title: str, rows: Sequence[LoadRow]) -> Grid:
    placed = {(clipped(row.dimensions[SIZE]), clipped(row.dimensions[THREADS])): row for row in rows}
    return Grid(
        title=title,
        sizes=_ordered([size for size, _ in placed], size_number),
        threads=_ordered([threads for _, threads in placed], count_number),
        rows=placed,
    )


def _ordered(texts: Sequence[str], number: Callable[[str], float | None]) -> tuple[str, ...]:
    """Each text once, by its number; what is none stays behind, in the order in which it came."""
    return tuple(sorted(dict.fromkeys(texts), key=lambda text: (number(text) is None, number(text) or 0.0)))


def _places(grid: Grid) -> Iterator[tuple[str, str]]:
    return ((size, threads) for size in grid.sizes for threads in grid.threads if (size, threads) in grid.rows)
