"""Columns of text, aligned, and fitted to a terminal by leaving whole columns out; no cell is ever cut.

Owns widths and alignment. What the cells say, and how much a column matters, is each report's own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby


@dataclass(frozen=True, slots=True, kw_only=True)
class TextColumn:
    """One column: its heading, a cell for each row, and the group whose name stands above it.

    `rank` 0 is never left out; of the others those of the highest rank go first, and all of one rank together.
    """

    heading: str
    cells: tuple[str, ...]
    group: str = ""
    rank: int = 0

    @property
    def width(self) -> int:
        """The characters that its widest cell takes."""
        return max(len(self.heading), *(len(cell) for cell in self.cells), 0)


def fitted(columns: Sequence[TextColumn], *, width: int, gap: int = 2) -> tuple[TextColumn, ...]:
    """Leave columns out until the others fit into `width` characters, or only those of rank 0 are left.

    `gap` spaces stand between two.
    """
    left = tuple(columns)
    while (rank := max((column.rank for column in left), default=0)) and _width(left, gap) > width:
        left = tuple(column for column in left if column.rank < rank)
    return left


def heading_lines(columns: Sequence[TextColumn], *, gap: int = 2) -> tuple[str, ...]:
    """The headings, below the names of their groups where there are any."""
    headings = _line(columns, [column.heading for column in columns], gap)
    if not any(column.group for column in columns):
        return (headings,)
    return ((" " * gap).join(_group_names(columns, gap)).rstrip(), headings)


def row_lines(columns: Sequence[TextColumn], *, gap: int = 2) -> tuple[str, ...]:
    """One line a row: the first column set to the left, the others, figures, to the right."""
    return tuple(_line(columns, cells, gap) for cells in zip(*(column.cells for column in columns), strict=True))


def _group_names(columns: Sequence[TextColumn], gap: int) -> Iterator[str]:
    for group, members in groupby(columns, key=lambda column: column.group):
        span = _width(tuple(members), gap)
        has_room = bool(group) and len(group) + 2 <= span
        yield f" {group} ".center(span, "─") if has_room else group[:span].ljust(span)


def _width(columns: Sequence[TextColumn], gap: int) -> int:
    """How wide a line is, gaps included."""
    return sum(column.width for column in columns) + gap * (len(columns) - 1)


def _line(columns: Sequence[TextColumn], cells: Sequence[str], gap: int) -> str:
    first, *others = zip(columns, cells, strict=True)
    aligned = (first[1].ljust(first[0].width), *(cell.rjust(column.width) for column, cell in others))
    return (" " * gap).join(aligned).rstrip()
