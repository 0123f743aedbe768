"""Progress on stderr: a bar with the remaining time on a terminal, lines in a pipe."""

import sys
from contextlib import AbstractContextManager
from typing import Protocol, Self


class Ticker(AbstractContextManager["Ticker"], Protocol):
    """Shows the progress of some work, and messages about it."""

    def update(self, doing: str, *, done: int, total: int | None) -> None:
        """Show what is being done and that `done` of `total` steps are done; `total` is `None` if unknown."""

    def say(self, line: str) -> None:
        """Print a line that stays on the screen."""


def ticker_for(unit: str = "", *, quiet: bool) -> Ticker:
    """The progress display for stderr as it is; `unit` is the unit of the steps."""
    if quiet:
        return _Quiet()
    if not sys.stderr.isatty():
        return _Lines()
    from s3bench.cli.progress_bar import ProgressBar  # noqa: PLC0415 (rich, for terminals alone)

    return ProgressBar(unit)


class _Quiet:
    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def update(self, doing: str, *, done: int, total: int | None) -> None:
        pass

    def say(self, line: str) -> None:
        pass


class _Lines(_Quiet):
    def say(self, line: str) -> None:
        print(f"s3bench: {line}", file=sys.stderr, flush=True)  # noqa: T201 (the command line may print)
