"""What each run says against its own figures: doubts about the machine, unfinished runs, failures, doubtful iterations.

Owns gathering these from the documents, so that whoever reads a comparison need not open them.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from s3bench.results.document import Result, Status
from s3bench.verdict.matching import Source, dimensions_of

_NAMED_MAX = 3
_NUMBER = re.compile(r"[0-9][0-9.]*")


def objections(sources: Iterable[Source]) -> tuple[str, ...]:
    """Say what speaks against the figures of each document, its name in front."""
    return tuple(f"{source.name}: {words}" for source in sources for words in _objections(source))


def subject(result: Result) -> str:
    """A result in words: `s3.cp.upload FileSize=4KB on cli-crt@2.38.5`."""
    dimensions = (f"{name}={value}" for name, value in dimensions_of(result))
    return f"{' '.join((result.name, *dimensions))} on {result.client.label}"


def _objections(source: Source) -> Iterator[str]:
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
    """Tell of each kind of doubt once: its figures differ from iteration to iteration, its beginning does not."""
    counts: Counter[str] = Counter()
    examples: dict[str, str] = {}
    where: dict[str, dict[int, Result]] = {}
    for result in results:
        for measurement in result.measurements:
            for warning in measurement.warnings:
                kind = _kind(warning)
                counts[kind] += 1
                examples.setdefault(kind, warning)
                where.setdefault(kind, {})[id(result)] = result
    for kind, count in counts.items():
        iterations = "1 iteration" if count == 1 else f"{count} iterations"
        example = examples[kind] if count == 1 else f"such as: {examples[kind]}"
        yield f"{_named(list(where[kind].values()))}: {iterations} in doubt, {example}"


def _kind(warning: str) -> str:
    """The warning without its numbers."""
    return _NUMBER.sub("", warning)


def _named(results: Sequence[Result]) -> str:
    if len(results) > _NAMED_MAX:
        return f"{len(results)} results (first {subject(results[0])})"
    return ", ".join(map(subject, results))
