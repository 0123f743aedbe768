"""Text, tables and code in GitHub Flavored Markdown, escaped so that every text is shown as it is."""

import re
from collections.abc import Iterable, Iterator, Sequence

from s3bench.report.table import Table, TableCell, Tone
from s3bench.report.terminal import printable

# Marks anywhere; underscores beside no letter; colons of emoji and of URLs.
_MARK = re.compile(r"[\\`*\[\]<>|~&$@#]|(?<![^\W_])_|_(?![^\W_])|:(?=(?:[A-Za-z+-][\w+-]*|\d{3,4}):|//)")
_LINE_MARK = re.compile(r"^[-+=]|^\d(?=\d*[.)])")
_CUT = re.compile(r"(&#(?:35|64);)")
_FENCE = re.compile(r"`{3,}")
_UNFIT_FOR_BACKTICKS = re.compile(r"[`|\\]|^\s|\s$|^$")


def escaped(text: str) -> str:
    """One line without marks, tags, ends of cells, mentions or links, and that begins no list.

    Marks are written as numeric references, which CommonMark takes as text alone, in cells as well. GitHub looks for
    mentions, addresses and issues after that; a comment cuts them.
    """
    line = printable(text).strip()
    start = _LINE_MARK.match(line)
    return _reference(start) + _marked(line[start.end() :]) if start else _marked(line)


def code(text: str) -> str:
    """A name as code, in which GitHub makes no mentions and no links; where backticks do harm, the tag serves."""
    line = printable(text)
    return f"<code>{_marked(line)}</code>" if _UNFIT_FOR_BACKTICKS.search(line) else f"`{line}`"


def table_lines(table: Table) -> Iterator[str]:
    """A table, its notes beneath; numbers are set to the right, and cells with a tone are bold."""
    yield _row(_marked(printable(column.title)) or " " for column in table.columns)
    yield _row("---:" if column.is_number else "---" for column in table.columns)
    yield from row_lines(table)
    for note in table.notes:
        yield from ("", escaped(note))


def row_lines(table: Table) -> Iterator[str]:
    """One line for each row."""
    return (_row(map(_cell, row)) for row in table.rows)


def list_lines(texts: Iterable[str]) -> tuple[str, ...]:
    """A list, an item for each text."""
    return tuple(f"- {escaped(text)}" for text in texts)


def fenced_lines(lines: Sequence[str], *, language: str) -> Iterator[str]:
    """Lines to be copied as they stand; the fence is longer than any in them."""
    longest = max((len(found) for line in lines for found in _FENCE.findall(line)), default=2)
    fence = "`" * (longest + 1)
    yield f"{fence}{language}"
    yield from (printable(line) for line in lines)
    yield fence


def folded_lines(title: str, lines: Sequence[str]) -> Iterator[str]:
    """Lines that are folded away below a title; nothing where there are none."""
    if lines:
        yield from (f"<details><summary>{escaped(title)}</summary>", "", *lines, "", "</details>", "")


def _cell(cell: TableCell) -> str:
    """The cell's text, in which nothing can begin a list."""
    text = code(cell.text) if cell.is_code and cell.text else _marked(printable(cell.text))
    shown = text + _marked(printable(cell.more))
    return shown if cell.tone is Tone.PLAIN or not shown else f"**{shown}**"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _marked(line: str) -> str:
    return _CUT.sub(r"\1<!-- -->", _MARK.sub(_reference, line))


def _reference(found: re.Match[str]) -> str:
    return f"&#{ord(found[0])};"
