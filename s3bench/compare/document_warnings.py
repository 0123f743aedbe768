"""What each run says against its own figures: doubts about the machine, unfinished runs, failures, doubtful iterations.

Owns gathering these from the documents, so that whoever reads a comparison need not open them.
"""

from collections.abc import Iterable, Iterator, Sequence

from s3bench.compare.matching import DocumentSource, dimensions_of
from s3bench.results.document import Result, Status
from s3bench.results.warnings import gather_doubts

_NAMED_MAX = 3


def objections(sources: Iterable[DocumentSource]) -> tuple[str, ...]:
    """Say what speaks against the figures of each document, its name in front."""
    return tuple(f"{source.name}: {words}" for source in sources for words in _objections(source))


def subject(result: Result) -> str:
    """A result in words: `s3.cp.upload FileSize=4KB on cli-crt@2.38.5`."""
    dimensions = (f"{name}={value}" for name, value in dimensions_of(result))
    return f"{' '.join((result.name, *dimensions))} on {result.client.label}"


def _objections(source: DocumentSource) -> Iterator[str]:
    document = source.document
    yield from document.warnings
    unfinished = [result for result in document.results if result.status is Status.RUNNING]
    if document.ended_at is None or unfinished:
        which = f": {_named(unfinished)}" if unfinished else ""
        yield f"the run did not come to its end{which}"
    failed = [result for result in document.results if result.errors]
    if failed:
        count = sum(len(result.errors) for result in failed)
        first = failed[0].errors[0].what
        yield f"{count} {'failure' if count == 1 else 'failures'} in {_named(failed)} ({first})"
    yield from _doubtful(document.results)


def _doubtful(results: Sequence[Result]) -> Iterator[str]:
    for doubt in gather_doubts(results):
        iterations = "1 iteration" if doubt.iterations == 1 else f"{doubt.iterations} iterations"
        yield f"{_named(doubt.results)}: {iterations} in doubt, {doubt.words}"


def _named(results: Sequence[Result]) -> str:
    if len(results) > _NAMED_MAX:
        return f"{len(results)} results (first {subject(results[0])})"
    return ", ".join(map(subject, results))
