"""Gathers the warnings of compared documents: about the machine, unfinished runs, failures, single iterations.

A warning that several documents have in the same words is one line.
"""

from collections.abc import Iterable, Iterator, Sequence

from s3bench.compare.matching import DocumentSource
from s3bench.results.document import Result, Status
from s3bench.results.warnings import gather_warnings, places_text
from s3bench.units import counted


def document_warnings(sources: Iterable[DocumentSource]) -> tuple[str, ...]:
    """The warnings of all documents, prefixed with the names of those that have it."""
    names: dict[str, dict[str, None]] = {}
    for source in sources:
        for text in _warnings(source):
            names.setdefault(text, {})[source.name] = None
    return tuple(f"{places_text(tuple(those), 'document')}: {text}" for text, those in names.items())


def _warnings(source: DocumentSource) -> Iterator[str]:
    document = source.document
    yield from document.warnings
    unfinished = [result for result in document.results if result.status is Status.RUNNING]
    if document.was_cut_short or unfinished:
        which = f": {_named(unfinished)}" if unfinished else ""
        yield f"the run is not complete{which}"
    failed = [result for result in document.results if result.errors]
    if failed:
        count = counted(sum(len(result.errors) for result in failed), "failure")
        first = failed[0].errors[0].what
        yield f"{count} in {_named(failed)} ({first})"
    yield from _iteration_warnings(document.results)


def _iteration_warnings(results: Sequence[Result]) -> Iterator[str]:
    for warning in gather_warnings(results):
        yield f"{_named(warning.places)}: {counted(warning.count, 'iteration')} with a warning, {warning.words}"


def _named(results: Sequence[Result]) -> str:
    return places_text([result.label for result in results], "result")
