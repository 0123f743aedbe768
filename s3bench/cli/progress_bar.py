"""Progress bars on a terminal, with the current step and the remaining time."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Self

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column
from rich.text import Text

from s3bench.cli.console import stderr_console
from s3bench.clients.package import InstallProgress
from s3bench.report.terminal import printable

_WHOLE = Column(no_wrap=True)
_BAR_WIDTH = 12
_BAR_WIDTH_MIN, _ELAPSED_WIDTH_MIN = 80, 60
"""The columns of terminals from which on there is a bar, and the time that has passed."""


def _bar(console: Console) -> tuple[ProgressColumn, ...]:
    return (BarColumn(bar_width=_BAR_WIDTH),) if console.width >= _BAR_WIDTH_MIN else ()


@dataclass(frozen=True, slots=True)
class _Label:
    """A text on one line. Where it is too long its middle is left out: its end has the size and the client."""

    text: str

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(1, max(1, cell_len(self.text))).with_maximum(options.max_width)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        shown = self.text
        if (excess := cell_len(shown) - options.max_width) > 0:
            start = (options.max_width - 1) // 2
            shown = f"{set_cell_size(shown, start)}…{shown[start + excess + 1 :]}"
        yield Text(set_cell_size(shown, min(cell_len(shown), options.max_width)), no_wrap=True)


class _Doing(ProgressColumn):
    """The current step: the column that is shortened if the terminal is too narrow."""

    def render(self, task: Task) -> RenderableType:
        return _Label(printable(task.description))


class _Elapsed(TimeElapsedColumn):
    """The time that has passed, before the time that is left: `0:00:20, 0:05:00 left`."""

    def render(self, task: Task) -> Text:
        return super().render(task).append(",")


class ProgressBar:
    """A bar with the remaining time, and lines that stay above it."""

    def __init__(self, unit: str) -> None:
        console = stderr_console()
        self._progress = Progress(
            _Doing(),
            *_bar(console),
            MofNCompleteColumn(table_column=_WHOLE),
            TextColumn(unit, table_column=_WHOLE),
            *((_Elapsed(table_column=_WHOLE),) if console.width >= _ELAPSED_WIDTH_MIN else ()),
            TimeRemainingColumn(elapsed_when_finished=False, table_column=_WHOLE),
            TextColumn("left", table_column=_WHOLE),
            console=console,
            transient=True,
            # Redrawing takes CPU time from the client under test.
            refresh_per_second=1,
        )
        self._task = self._progress.add_task("starting", total=None)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def update(self, doing: str, *, done: int, total: int | None) -> None:
        """Update the bar."""
        self._progress.update(self._task, description=doing, completed=done, total=total)

    def say(self, line: str) -> None:
        """Print a line above the bar."""
        self._progress.console.print(line, markup=False, soft_wrap=True)

    @contextmanager
    def installing(self) -> Iterator[InstallProgress]:
        """Show a download bar in the place of this one."""
        self._progress.stop()
        try:
            with download_bar() as show:
                yield show
        finally:
            self._progress.start()


@contextmanager
def download_bar() -> Iterator[InstallProgress]:
    """Show the bytes of a download as a bar, with the remaining time."""
    console = stderr_console()
    columns = (_Doing(), *_bar(console), DownloadColumn(table_column=_WHOLE), TimeRemainingColumn(table_column=_WHOLE))
    with Progress(*columns, console=console, transient=True) as bars:
        task = bars.add_task("", total=None)

        def show(step: str, done_bytes: int, total_bytes: int, /) -> None:
            bars.update(task, description=step, completed=done_bytes, total=total_bytes or None)

        yield show
