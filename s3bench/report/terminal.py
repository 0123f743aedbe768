"""Lines for a terminal: styled or plain, and never able to move its cursor."""

from collections.abc import Callable

BOLD, DIM, RED, GREEN, YELLOW, CYAN = "1", "2", "31", "32", "33", "36"
"""Styles for `painter` (ECMA-48, select graphic rendition)."""


def printable(text: str) -> str:
    """`text` with a space for each character that is not printable: line ends, escapes, surrogates, text direction."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else " " for character in text)


def painter(*, color: bool) -> Callable[[str, str], str]:
    """The function that gives a text a style; without `color` it returns the text."""
    return _painted if color else _plain


def _painted(text: str, style: str) -> str:
    return f"\x1b[{style}m{text}\x1b[0m" if style else text


def _plain(text: str, _style: str) -> str:
    return text
