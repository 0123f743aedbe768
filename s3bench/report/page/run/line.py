"""The sentences of a run: what was measured, what failed, and what is in doubt.

Owns how failures and doubts are told on the page, and how many.
"""

from collections.abc import Iterator, Sequence

from s3bench.report.label import one_line
from s3bench.report.page.run.benchmark import Benchmark, ClientResults
from s3bench.report.page.section import Line
from s3bench.report.table import Tone
from s3bench.results.document import Document
from s3bench.results.measurement import Failure
from s3bench.results.warnings import MeasurementWarning, gather_warnings

LINES_MAX = 20
"""The most failures of a section, and the most doubts, that are told."""

_WORDS_MAX = 400


def head_lines(document: Document, benchmarks: Sequence[Benchmark]) -> Iterator[Line]:
    """How much was measured, and whether all of it."""
    rows = [row for benchmark in benchmarks for row in benchmark.rows]
    if not rows:
        yield Line(text="no results")
        return
    measured = sum(len(row.result.measurements) for row in rows)
    clients = len({row.client for row in rows})
    counts = (_counted(len(benchmarks), "benchmark"), _counted(clients, "client"), _counted(measured, "measurement"))
    yield Line(text=", ".join(counts))
    failed = sum(len({failure.iteration for failure in row.result.errors}) for row in rows)
    of = sum(bool(row.result.errors) for row in rows)
    if failed:
        yield Line(text=f"{_counted(failed, 'run')} failed, on {of:,} of {_counted(len(rows), 'row')}", tone=Tone.BAD)
    else:
        yield Line(text="no run failed", tone=Tone.GOOD)
    if unfinished := sum(row.result.is_running for row in rows):
        yield Line(text=f"unfinished: {unfinished:,} of {_counted(len(rows), 'row')}", tone=Tone.WARNING)
    yield from _limited([_doubt_line(words) for words in _doubts(document, benchmarks)], "doubts")


def failure_lines(rows: Sequence[ClientResults]) -> Iterator[Line]:
    """What failed on a benchmark, and which of its clients gave no figure."""
    lines = [
        Line(text=f"{row.client} {one_line(failure_text(failure), characters_max=_WORDS_MAX)}", tone=Tone.BAD)
        for row in rows
        for failure in row.result.errors
    ]
    yield from _limited(lines, "failures")
    for row in rows:
        if not row.result.measurements:
            yield Line(text=f"{row.client} has no measurement", tone=Tone.WARNING)


def failure_text(failure: Failure) -> str:
    """`run 6 failed: the client failed (exit code 1); request PUT /b/k: no such bucket`."""
    code = "" if failure.exit_code is None else f" (exit code {failure.exit_code})"
    about = f"; request {failure.request}" if failure.request else ""
    why = f": {failure.why}" if failure.why else ""
    return f"run {failure.iteration} failed: {failure.what}{code}{about}{why}"


def _doubts(document: Document, benchmarks: Sequence[Benchmark]) -> Iterator[str]:
    """Doubts about measurements; those about the whole run stand in the head of the page."""
    where = {id(row.result): f"{benchmark.title} on {row.client}" for benchmark in benchmarks for row in benchmark.rows}
    results = [result for result in document.results if id(result) in where]
    yield from (_doubt_words(doubt, where) for doubt in gather_warnings(results))


def _doubt_words(doubt: MeasurementWarning, where: dict[int, str]) -> str:
    subject = where[id(doubt.results[0])] if len(doubt.results) == 1 else f"{len(doubt.results):,} rows"
    count = f" ({doubt.iterations:,} runs)" if doubt.iterations > 1 else ""
    return f"{subject}{', such as' * doubt.varies}: {doubt.example}{count}"


def _doubt_line(words: str) -> Line:
    return Line(text=one_line(words, characters_max=_WORDS_MAX), tone=Tone.WARNING)


def _limited(lines: Sequence[Line], what: str) -> Iterator[Line]:
    yield from lines[:LINES_MAX]
    if len(lines) > LINES_MAX:
        yield Line(text=f"{len(lines) - LINES_MAX:,} more {what} are in the results document", tone=lines[-1].tone)


def _counted(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"
