"""What the page shows, before any HTML: sections of lines, tables and figures, in plain text.

Owns the shapes that every part of the page hands over. All text is plain: who draws escapes it.
"""

from dataclasses import dataclass
from enum import StrEnum

import altair as alt


class Tone(StrEnum):
    """What a line means: the page marks it by a word and a shape, and by a colour beside them."""

    PLAIN = "plain"
    GOOD = "good"
    BAD = "bad"
    DOUBT = "doubt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One sentence of a section's head: a verdict, a summary, a warning."""

    text: str
    mood: Tone = Tone.PLAIN


@dataclass(frozen=True, slots=True, kw_only=True)
class TableColumn:
    """A table's column; numbers are set to the right and sorted by their values."""

    title: str
    is_number: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCell:
    """One cell: what is shown, and by what a column of numbers is sorted (`None` sorts last)."""

    text: str
    value: float | None = None
    mood: Tone = Tone.PLAIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table that the page lets people sort; each row has a cell for every column, the first one names the row."""

    caption: str
    columns: tuple[TableColumn, ...]
    rows: tuple[tuple[TableCell, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartFigure:
    """A chart with its words.

    `name` is made of `a-z`, `0-9` and `-`, and unique in its section; files of `--svg` and `--png` are named by it.
    `description` says in a sentence what the chart shows, for those who do not see it. `table` holds the chart's
    figures, folded away beneath it: whatever is drawn can be read there.
    """

    name: str
    title: str
    description: str
    chart: alt.TopLevelMixin
    table: Table | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeBlock:
    """Lines to be copied as they stand, such as commands."""

    caption: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of the page with a heading: its lines first, then blocks, figures, tables, and parts of its own.

    `name` is made as a figure's and unique among its neighbours. One that `is_folded` shows only its heading and its
    lines until it is opened.
    """

    name: str
    title: str
    lines: tuple[Line, ...] = ()
    blocks: tuple[CodeBlock, ...] = ()
    tables: tuple[Table, ...] = ()
    figures: tuple[ChartFigure, ...] = ()
    parts: tuple["Section", ...] = ()
    is_folded: bool = False
