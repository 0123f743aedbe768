"""Tables as aligned text for a terminal. Where it is narrow no figure is cut.

Whole columns are left out, and a note names them; then texts are wrapped; at last each row becomes a sentence, with all
columns.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from textwrap import wrap

from s3bench.report.table import Table, TableCell, TableColumn, Tone
from s3bench.report.terminal import BOLD, DIM, GREEN, RED, YELLOW, painter, printable

Paint = Callable[[str, str], str]

_GAP = 2
_INDENT = "  "
_TIED_MAX = 24
_NO_BREAK = "\N{NO-BREAK SPACE}"
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
    folded = _folded(shown, width=width, gap=gap)
    if folded is None:
        rows = [tuple(_sentence(row, width)) for row in _sentences(table)]
        notes = table.notes
    else:
        yield from (paint(line, DIM) for line in heading_lines(folded.table, gap=gap))
        rows = folded.rows(row_lines(folded.table, paint=paint, gap=gap))
        notes = (*shown.notes, *left_out(table, shown, width=width, gap=gap))
    above = ""
    titles = _titles(table)
    for number, lines in enumerate(rows):
        if titles and titles[number] != above:
            yield from (paint(line, BOLD) for line in _wrapped(titles[number], width))
            above = titles[number]
        yield from lines
        yield from below(number) if below else ()
    yield from (paint(printable(note), DIM) for note in notes)


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


def left_out(table: Table, shown: Table, *, width: int, gap: int = _GAP, beside: int = 0) -> tuple[str, ...]:
    """The lines of a note that names the columns of a table, and the figures behind cells, that are not `shown`.

    `beside` characters are needed for what stands beside the table.
    """
    rank_max = max((column.rank for column in shown.columns), default=0)
    gone = [column for column in table.columns if column.rank > rank_max]
    kept = [column for column in table.columns if column.rank <= rank_max]
    names = []
    for group, members in groupby(gone, key=lambda column: column.group):
        headings = ", ".join(dict.fromkeys(column.heading for column in members))
        names.append(f"{group} ({headings})" if group else headings)
    for column, reduced in zip(kept, shown.columns, strict=True):
        if column.is_number and _has_figures_behind(column, reduced):
            names.append(f"deviation of {column.title}")
    if not names:
        return ()
    needed = len(_indent(table)) + _span(_side_by_side(table), gap) + beside
    return tuple(_wrapped(f"left out at {width} columns: {', '.join(names)}; {needed} columns show all", width))


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


def _sentences(table: Table) -> Iterator[str]:
    """Each row as a sentence, for terminals in which the narrowest table has no room."""
    first, *others = _side_by_side(table)
    for number, cell in enumerate(first.cells):
        told = [(column.title, _text(column.cells[number])) for column in others]
        yield f"{_text(cell)}: {', '.join(_tied(f'{title} {text}') for title, text in told if text)}"


@dataclass(frozen=True, slots=True)
class _Folded:
    """A table in which a row may take several lines; `numbers` has the row of each line."""

    table: Table
    numbers: tuple[int, ...]

    def rows(self, lines: Sequence[str]) -> list[tuple[str, ...]]:
        """The lines of each row."""
        by_row = groupby(zip(self.numbers, lines, strict=True), key=lambda pair: pair[0])
        return [tuple(line for _, line in pairs) for _, pairs in by_row]


def _folded(table: Table, *, width: int, gap: int) -> _Folded | None:
    """Wrap texts between words until the columns fit; `None` where they do not."""
    count = len(table.columns[0].cells) if table.columns else 0
    if fits(table, width=width, gap=gap):
        return _Folded(table, tuple(range(count)))
    widths = {id(column): _width(column) for column in _side_by_side(table)}
    texts = [column for column in _side_by_side(table) if not column.is_number]
    excess = len(_indent(table)) + _span(_side_by_side(table), gap) - width
    while excess > 0:
        column = max(texts, key=lambda each: widths[id(each)] - _longest_word(each), default=None)
        if column is None or widths[id(column)] <= _longest_word(column):
            return None
        widths[id(column)] -= 1
        excess -= 1
    wrapped = [
        [_wrapped(_text(cell), widths[id(column)]) for cell in column.cells]
        if column in texts
        else [[_text(cell)] for cell in column.cells]
        for column in table.columns
        if not column.is_title
    ]
    heights = [max(map(len, row)) for row in zip(*wrapped, strict=True)]
    columns = (
        replace(
            column,
            cells=tuple(
                replace(cell, text=line, more="")
                for cell, lines, height in zip(column.cells, rows, heights, strict=True)
                for line in (*lines, *("",) * (height - len(lines)))
            ),
        )
        for column, rows in zip(_side_by_side(table), wrapped, strict=True)
    )
    titles = (column for column in table.columns if column.is_title)  # they are printed by row, and indent the others
    numbers = tuple(number for number, height in enumerate(heights) for _ in range(height))
    return _Folded(
        Table(columns=(*(replace(each, cells=tuple(each.cells[n] for n in numbers)) for each in titles), *columns)),
        numbers,
    )


def _wrapped(text: str, width: int) -> list[str]:
    """Lines of at most `width` characters, unless a word is longer."""
    return wrap(text, max(width, 1), break_long_words=False, break_on_hyphens=False) or [""]


def _sentence(text: str, width: int) -> Iterator[str]:
    indent = _INDENT * 2
    lines = wrap(
        text,
        max(width, len(indent) + 1),
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    yield from (line.replace(_NO_BREAK, " ") for line in lines)


def _tied(words: str) -> str:
    """A heading and its figure as one word for the wrapping of lines, unless they are long."""
    return words.replace(" ", _NO_BREAK) if len(words) <= _TIED_MAX else words


def _longest_word(column: TableColumn) -> int:
    words = (word for cell in column.cells for word in _text(cell).split())
    return max(len(column.heading), *map(len, words), 0)


def _has_figures_behind(column: TableColumn, shown: TableColumn) -> bool:
    pairs = zip(column.cells, shown.cells, strict=True)
    return any(cell.more != kept.more and any(map(str.isdigit, cell.more)) for cell, kept in pairs)


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
