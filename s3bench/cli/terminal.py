"""What the terminal behind stdout or stderr can show."""

import os
import shutil
import sys
from typing import TextIO

_DUMB = frozenset({"dumb", "unknown"})
"""Values of TERM for terminals that neither move the cursor nor paint (terminfo(5))."""


def is_smart(stream: TextIO) -> bool:
    """Whether a stream is a terminal that can paint and move its cursor; others get plain lines, as a pipe does."""
    return stream.isatty() and os.environ.get("TERM", "").lower() not in _DUMB


def stdout_width() -> int:
    """The columns of the terminal; 80 where there is none."""
    return shutil.get_terminal_size().columns


def stdout_paints() -> bool:
    """Whether stdout shows colors: not where NO_COLOR is set (https://no-color.org)."""
    return is_smart(sys.stdout) and not os.environ.get("NO_COLOR")
