"""The console on stderr for progress bars and live views; untrusted text in them cannot control the terminal."""

import sys
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from s3bench.cli.streams import unescaped
from s3bench.visible import visible


class SafeConsole(Console):
    """A console that shows control characters in texts as escapes; rich's cursor movements are separate segments."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render as rich does, with control characters in texts escaped."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)


def stderr_console() -> Console:
    """A console on stderr; texts stay as they are, also where they look like the name of an emoji (`:id:`)."""
    return SafeConsole(file=unescaped(sys.stderr), highlight=False, emoji=False)
