"""How long work is going, on stderr: a bar with the time left on a terminal, lines in a pipe."""

import sys
from contextlib import AbstractContextManager
from typing import Protocol, Self

from rich.progress import (
    BarColumn,
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
from s3bench.report.terminal import printable


class Ticker(AbstractContextManager["Ticker"], Protocol):
    """Told where the work stands and what is worth knowing."""

    def stands(self, doing: str, *, done: int, total: int | None) -> None:
        """Say what is being done; `done` of `total` steps are behind, of nobody knows how many when that is `None`."""

    def say(self, line: str) -> None:
        """Say something that stays on the screen."""


def ticker_for(unit: str = "", *, quiet: bool) -> Ticker:
    """The one that fits stderr; `unit` is what is counted."""
    if quiet:
        return _Quiet()
    return _Bar(unit) if sys.stderr.isatty() else _Lines()


class _Quiet:
    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def stands(self, doing: str, *, done: int, total: int | None) -> None:
        pass

    def say(self, line: str) -> None:
        pass


class _Lines(_Quiet):
    def say(self, line: str) -> None:
        print(f"s3bench: {line}", file=sys.stderr, flush=True)  # noqa: T201 (this is the command line's own voice)


class _Doing(ProgressColumn):
    """What is being done: the column that gives way where the terminal is too narrow for all of them."""

    def render(self, task: Task) -> Text:
        return Text(printable(task.description), no_wrap=True, overflow="ellipsis")


class _Bar(_Quiet):
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
            # Redrawing takes CPU from the client under test, so seldom is often enough.
            refresh_per_second=1,
        )
        self._task = self._progress.add_task("starting", total=None)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def stands(self, doing: str, *, done: int, total: int | None) -> None:
        self._progress.update(self._task, description=doing, completed=done, total=total)

    def say(self, line: str) -> None:
        self._progress.console.print(line, markup=False, soft_wrap=True)
