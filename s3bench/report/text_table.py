"""Tables as aligned text for a terminal, made as narrow as it is by leaving out whole columns; no figure is cut."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from s3bench.report.table import Table, TableCell, TableColumn, Tone
from s3bench.report.terminal import BOLD, DIM, GREEN, RED, YELLOW, painter, printable

Paint = Callable[[str, str], str]

_GAP = 2
_INDENT = "  "
TONE_STYLES = {Tone.PLAIN: "", Tone.GOOD: GREEN, Tone.BAD: RED, Tone.WARNING: YELLOW}
_PLAIN = painter(color=False)


def table_lines(
    table: Table,
    *,
    width: int,
    paint: Paint = _PLAIN,
    gap: int = _GAP,
    below: Callable[[int], Sequence[str]] | None = None,
) -> Iterator[str]:
    """Render a table that fits into `width` characters, its notes beneath.

    `below` returns the lines that stand beneath a row, by the row's number from 0.
    """
    shown = fitted(table, width=width, gap=gap)
    yield from (paint(line, DIM) for line in heading_lines(shown, gap=gap))
    above = ""
    titles = _titles(shown)
    for number, line in enumerate(row_lines(shown, paint=paint, gap=gap)):
        if titles and titles[number] != above:
            yield paint(titles[number], BOLD)
            above = titles[number]
        yield line
        yield from below(number) if below else ()
    yield from (paint(printable(note), DIM) for note in shown.notes)


def fitted(table: Table, *, width: int, gap: int = _GAP) -> Table:
    """Leave out what follows the texts of cells, and then columns, until the rest fits or only rank 0 is left."""
    if fits(table, width=width, gap=gap):
        return table
    columns = tuple(
        replace(column, cells=tuple(replace(cell, more="") for cell in column.cells)) for column in table.columns
    )
    shown = replace(table, columns=columns)
    while (rank := max((each.rank for each in shown.columns), default=0)) and not fits(shown, width=width, gap=gap):
        shown = replace(shown, columns=tuple(each for each in shown.columns if each.rank < rank))
    return shown


def fits(table: Table, *, width: int, gap: int = _GAP) -> bool:
    """Whether no line of the table's columns is longer than `width`."""
    return len(_indent(table)) + _span(_side_by_side(table), gap) <= width


def heading_lines(table: Table, *, gap: int = _GAP) -> tuple[str, ...]:
    """The headings, below the names of their groups where there are any."""
    columns, indent = _side_by_side(table), _indent(table)
    cells = [_aligned(each.heading, each.heading, _width(each), is_number=each.is_number) for each in columns]
    headings = (indent + (" " * gap).join(cells)).rstrip()
    if not any(column.group for column in columns):
        return (headings,)
    return ((indent + (" " * gap).join(_group_names(columns, gap))).rstrip(), headings)


def row_lines(table: Table, *, paint: Paint = _PLAIN, gap: int = _GAP) -> tuple[str, ...]:
    """One line for each row; a cell is painted by its tone."""
    columns, indent = _side_by_side(table), _indent(table)
    padded = [tuple(_padded(column, paint)) for column in columns]
    return tuple((indent + (" " * gap).join(cells)).rstrip() for cells in zip(*padded, strict=True))


def sentence_lines(table: Table) -> tuple[str, ...]:
    """Each row as a sentence, for terminals in which the narrowest table has no room."""
    headings = [column.heading for column in table.columns]
    return tuple(
        f"{_text(first)}: {', '.join(f'{name} {_text(cell)}' for name, cell in zip(headings[1:], others, strict=True))}"
        for first, *others in table.rows
    )


def _side_by_side(table: Table) -> tuple[TableColumn, ...]:
    return tuple(column for column in table.columns if not column.is_title)


def _titles(table: Table) -> tuple[str, ...]:
    return next((tuple(map(_text, column.cells)) for column in table.columns if column.is_title), ())


def _indent(table: Table) -> str:
    return _INDENT if any(column.is_title for column in table.columns) else ""


def _text(cell: TableCell) -> str:
    return printable(cell.text + cell.more)


def _width(column: TableColumn) -> int:
    """The characters that its widest cell takes."""
    return max(len(column.heading), *(len(cell.text) + len(cell.more) for cell in column.cells), 0)


def _span(columns: Sequence[TableColumn], gap: int) -> int:
    """How wide columns are side by side, the gaps between them included."""
    return sum(map(_width, columns)) + gap * (len(columns) - 1)


def _group_names(columns: Sequence[TableColumn], gap: int) -> Iterator[str]:
    for group, members in groupby(columns, key=lambda column: column.group):
        span = _span(tuple(members), gap)
        has_room = bool(group) and len(group) + 2 <= span
        yield f" {group} ".center(span, "─") if has_room else group[:span].ljust(span)


def _padded(column: TableColumn, paint: Paint) -> Iterator[str]:
    width = _width(column)
    for cell in column.cells:
        text = _text(cell)
        yield _aligned(paint(text, TONE_STYLES[cell.tone]), text, width, is_number=column.is_number)


def _aligned(painted: str, text: str, width: int, *, is_number: bool) -> str:
    room = " " * (width - len(text))
    return room + painted if is_number else painted + room
