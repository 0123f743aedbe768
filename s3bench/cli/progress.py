"""Progress on stderr: a bar with the remaining time on a terminal, lines in a pipe."""

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol, Self

from s3bench.cli.terminal import is_smart
from s3bench.clients.package import InstallProgress, by_line


class Ticker(AbstractContextManager["Ticker"], Protocol):
    """Shows the progress of some work, and messages about it."""

    def update(self, doing: str, *, done: int, total: int | None) -> None:
        """Show what is being done and that `done` of `total` steps are done; `total` is `None` if unknown."""

    def say(self, line: str) -> None:
        """Print a line that stays on the screen."""

    def installing(self) -> AbstractContextManager[InstallProgress]:
        """Show the progress of an installation instead, until the context ends."""


def ticker_for(unit: str = "", *, quiet: bool) -> Ticker:
    """The progress display for stderr as it is; `unit` is the unit of the steps."""
    if quiet:
        return _Quiet()
    if not is_smart(sys.stderr):
        return _Lines()
    from s3bench.cli.progress_bar import ProgressBar  # noqa: PLC0415 (rich, for terminals alone)

    return ProgressBar(unit)


def is_beside_results(*, quiet: bool) -> bool:
    """Whether lines of the progress are on the same terminal as the results, which then need not repeat them."""
    return not quiet and sys.stderr.isatty() and sys.stdout.isatty()


class _Quiet:
    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def update(self, doing: str, *, done: int, total: int | None) -> None:
        pass

    def say(self, line: str) -> None:
        pass

    def installing(self) -> AbstractContextManager[InstallProgress]:
        return nullcontext(by_line(self.say))


class _Lines(_Quiet):
    def say(self, line: str) -> None:
        print(f"s3bench: {line}", file=sys.stderr, flush=True)  # noqa: T201 (the command line may print)
