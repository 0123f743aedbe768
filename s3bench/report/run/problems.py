"""The failures of a run, and the warnings about it and its measurements, each as a sentence."""

from collections.abc import Callable, Iterable, Iterator

from s3bench.results.document import Document, Result
from s3bench.results.machine_speed import slow_runs
from s3bench.results.measurement import Failure
from s3bench.results.warnings import gather_warnings

CUT_SHORT = "the run is not complete: it ended early, or is still running"


def run_warnings(document: Document) -> Iterator[str]:
    """The warnings about the whole run; the first is that it was cut short."""
    if document.was_cut_short:
        yield CUT_SHORT
    yield from document.warnings


def failure_text(failure: Failure) -> str:
    """`the client failed (exit code 1); request PUT /b/k: no such bucket`."""
    code = "" if failure.exit_code is None else f" (exit code {failure.exit_code})"
    about = f"; request {failure.request}" if failure.request else ""
    why = f": {' '.join(failure.why.split())}" if failure.why else ""
    return f"{failure.what}{code}{about}{why}"


def failure_lines(results: Iterable[Result], name: Callable[[Result], str]) -> Iterator[str]:
    """Every failed iteration, behind the name of its result."""
    for result in results:
        for failure in result.errors:
            yield f"{name(result)}, {failure.place}: {failure_text(failure)}"


def warning_lines(results: Iterable[Result], name: Callable[[Result], str]) -> Iterator[str]:
    """The warnings of all measurements, each kind once, with the results and the number of iterations that have it.

    Then each result during which the machine was slower than usual.
    """
    known = tuple(results)
    for found in gather_warnings(known):
        where = name(found.places[0]) if len(found.places) == 1 else f"{len(found.places):,} results"
        count = f" ({found.count:,} iterations)" if found.count > 1 else ""
        yield f"{where}: {found.words}{count}"
    for result in known:
        if slow := slow_runs(run.machine_speed for run in result.runs):
            yield f"{name(result)}: {slow}"
