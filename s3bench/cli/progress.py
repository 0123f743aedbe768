"""How long work is going, on stderr: a bar with the time left on a terminal, lines in a pipe."""

import sys
from contextlib import AbstractContextManager
from typing import Protocol, Self


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
    if not sys.stderr.isatty():
        return _Lines()
    from s3bench.cli.progress_bar import ProgressBar  # noqa: PLC0415 (rich, for terminals alone)

    return ProgressBar(unit)


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
