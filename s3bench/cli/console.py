"""The console on stderr for bars and live views. What is untrusted in them cannot steer the terminal."""

import sys
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from s3bench.cli.streams import unescaped
from s3bench.visible import visible


class SafeConsole(Console):
    """A console that shows controls within texts as escapes; rich's own cursor movements are segments of their own."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render as rich does, with the texts made safe."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)


def stderr_console() -> Console:
    """Make a console on stderr."""
    return SafeConsole(file=unescaped(sys.stderr), highlight=False)
