"""How a run is going, on stderr: a bar with the time left on a terminal, a line per finished benchmark in a pipe."""

import sys
from contextlib import AbstractContextManager
from typing import Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from s3bench.report.table import result_line
from s3bench.results.document import Result


class RunProgress(AbstractContextManager["RunProgress"], Protocol):
    """Told after every iteration."""

    def iteration(self, result: Result) -> None:
        """One more iteration of `result` has ended."""

    def finished(self, result: Result) -> None:
        """The last iteration of `result` has ended."""

    def say(self, line: str) -> None:
        """Something worth knowing that is no result."""


def progress_for(iterations: int, *, quiet: bool) -> RunProgress:
    """The progress that fits stderr."""
    if quiet:
        return _Quiet()
    return _Bar(iterations) if sys.stderr.isatty() else _Lines()


class _Quiet:
    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def iteration(self, result: Result) -> None:
        pass

    def finished(self, result: Result) -> None:
        pass

    def say(self, line: str) -> None:
        pass


class _Lines(_Quiet):
    def finished(self, result: Result) -> None:
        self.say(result_line(result))

    def say(self, line: str) -> None:
        print(f"s3bench: {line}", file=sys.stderr, flush=True)  # noqa: T201 (this is the command line's own voice)


class _Bar(_Quiet):
    def __init__(self, iterations: int) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(elapsed_when_finished=False),
            console=Console(stderr=True, highlight=False),
            transient=True,
            # Redrawing takes CPU from the client under test, so seldom is often enough.
            refresh_per_second=1,
        )
        self._task = self._progress.add_task("starting", total=iterations)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def iteration(self, result: Result) -> None:
        dimensions = " ".join(value for dimension in result.dimensions for value in dimension.values())
        self._progress.update(
            self._task, advance=1, description=" ".join(f"{result.name} {dimensions} on {result.client.label}".split())
        )

    def finished(self, result: Result) -> None:
        self.say(result_line(result))

    def say(self, line: str) -> None:
        self._progress.console.print(line, markup=False, soft_wrap=True)
