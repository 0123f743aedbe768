"""Tables of reports, described once and rendered as text, as Markdown and in the HTML page.

A column holds its cells, so that a heading, the texts below it and the values by which they are sorted stand in one
place. All texts are plain: `text_table`, `markdown` and the page escape them, each in its own way.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeVar

NOTHING = "-"
"""The text of a cell that has no figure."""

Row = TypeVar("Row")


class Tone(StrEnum):
    """How a line or a cell is to be taken. The page adds a sign to it, Markdown bold type, a terminal color."""

    PLAIN = "plain"
    GOOD = "good"
    BAD = "bad"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCell:
    """One cell: its text, `more` that follows it where there is room, and the value it is sorted by (`None`: last).

    `is_code` is for names that Markdown sets as code.
    """

    text: str
    more: str = ""
    value: float | None = None
    tone: Tone = Tone.PLAIN
    is_code: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TableColumn:
    """A column with a cell for each row; numbers are aligned to the right.

    `group` stands above neighbouring headings. A terminal that is too narrow leaves columns out, those of the highest
    `rank` first and all of one rank together; rank 0 is never left out. A title column stands above its rows there,
    once for neighbours that are equal.
    """

    heading: str
    cells: tuple[TableCell, ...] = ()
    is_number: bool = False
    group: str = ""
    rank: int = 0
    is_title: bool = False

    @property
    def title(self) -> str:
        """The heading behind the name of its group, for formats that set no groups above headings."""
        return f"{self.group} {self.heading}".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Columns of equally many cells, of which the first names the row; `notes` explain them beneath the table."""

    columns: tuple[TableColumn, ...]
    caption: str = ""
    notes: tuple[str, ...] = ()

    @property
    def rows(self) -> tuple[tuple[TableCell, ...], ...]:
        """The cells of each row."""
        return tuple(zip(*(column.cells for column in self.columns), strict=True))

    def head(self, count: int) -> "Table":
        """The same table with at most `count` rows."""
        return replace(self, columns=tuple(replace(each, cells=each.cells[:count]) for each in self.columns))

    def with_columns(self, *columns: TableColumn) -> "Table":
        """The same table with further columns at its end."""
        return replace(self, columns=(*self.columns, *columns))


def column(
    heading: str,
    rows: Iterable[Row],
    text: Callable[[Row], str],
    *,
    more: Callable[[Row], str] | None = None,
    value: Callable[[Row], float | None] | None = None,
    tone: Callable[[Row], Tone] | None = None,
    is_number: bool | None = None,
    is_code: bool = False,
    is_title: bool = False,
    group: str = "",
    rank: int = 0,
) -> TableColumn:
    """Make a column of what `text` and the others return for each row. One that has values is a column of numbers."""
    return TableColumn(
        heading=heading,
        cells=tuple(
            TableCell(
                text=text(row),
                more=more(row) if more else "",
                value=value(row) if value else None,
                tone=tone(row) if tone else Tone.PLAIN,
                is_code=is_code,
            )
            for row in rows
        ),
        is_number=value is not None if is_number is None else is_number,
        group=group,
        rank=rank,
        is_title=is_title,
    )


def without_empty(columns: Sequence[TableColumn], empty: frozenset[str]) -> tuple[TableColumn, ...]:
    """The columns in which any cell says something: another text than those in `empty`."""
    return tuple(each for each in columns if {cell.text for cell in each.cells} - empty)
