"""Progress bars on a terminal, with the current step and the remaining time."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

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


class _Doing(ProgressColumn):
    """The current step: the column that is shortened if the terminal is too narrow."""

    def render(self, task: Task) -> Text:
        return Text(printable(task.description), no_wrap=True, overflow="ellipsis")


class ProgressBar:
    """A bar with the remaining time, and lines that stay above it."""

    def __init__(self, unit: str) -> None:
        self._progress = Progress(
            _Doing(),
            BarColumn(),
            MofNCompleteColumn(table_column=Column(no_wrap=True)),
            TextColumn(unit),
            TimeElapsedColumn(table_column=Column(no_wrap=True)),
            TextColumn("left"),
            TimeRemainingColumn(elapsed_when_finished=False, table_column=Column(no_wrap=True)),
            console=stderr_console(),
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
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=stderr_console(), transient=True) as bars:
        task = bars.add_task("", total=None)

        def show(step: str, done_bytes: int, total_bytes: int, /) -> None:
            bars.update(task, description=step, completed=done_bytes, total=total_bytes or None)

        yield show
