"""Lines for a terminal: styled or plain, and never able to move its cursor.

Owns the console that renders into strings, and the styles. What the lines say is each report's own.
"""

from collections.abc import Callable
from io import StringIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

BOLD, DIM, RED, GREEN, YELLOW, CYAN = "1", "2", "31", "32", "33", "36"
"""Styles for `painter` (ECMA-48, select graphic rendition)."""

_LINE_MAX = 10_000  # never reached: the terminal folds long lines, we do not


def terminal_console(*, color: bool) -> Console:
    """Make a console that writes into nothing; `rendered` takes from it what it would have written."""
    return Console(
        file=StringIO(),
        width=_LINE_MAX,
        force_terminal=color,
        color_system="standard" if color else None,
        no_color=not color,
        highlight=False,
        emoji=False,
        legacy_windows=False,
    )


def rendered(renderable: Table | Text, console: Console) -> str:
    """Render a table, or a text as one line."""
    with console.capture() as capture:
        console.print(renderable, soft_wrap=isinstance(renderable, Text))
    return capture.get().rstrip("\n")


def printable(text: str) -> str:
    """`text` with a space for each character that is not printable: line ends, escapes, surrogates, text direction."""
    return "".join(character if character.isprintable() else " " for character in text)


def painter(*, color: bool) -> Callable[[str, str], str]:
    """How a text is given a style; without `color` it is left as it is."""
    return _painted if color else _plain


def _painted(text: str, style: str) -> str:
    return f"\x1b[{style}m{text}\x1b[0m" if style else text


def _plain(text: str, _style: str) -> str:
    return text
