"""The lines of a run on the page: what was measured, what failed, and warnings."""

from collections.abc import Iterator, Sequence

from s3bench.report.label import one_line
from s3bench.report.page.run.benchmark import Benchmark, ClientResults
from s3bench.report.page.section import Line
from s3bench.report.run.figures import failures_in_words
from s3bench.report.run.problems import failure_text, warning_lines
from s3bench.report.table import Tone
from s3bench.results.document import Document
from s3bench.results.measurement import Failure
from s3bench.units import counted

LINES_MAX = 20
"""The most failures of a section, and the most warnings."""

_TEXT_MAX = 400


def head_lines(document: Document, benchmarks: Sequence[Benchmark]) -> Iterator[Line]:
    """What failed, what is not finished, and warnings."""
    rows = [row for benchmark in benchmarks for row in benchmark.rows]
    if not rows:
        yield Line(text="no results")
        return
    failed = failures_in_words([row.result for row in rows], "run")
    of = sum(bool(row.result.errors) for row in rows)
    if failed:
        yield Line(text=f"{failed}, on {of:,} of {counted(len(rows), 'row')}", tone=Tone.BAD)
    if unfinished := sum(row.result.is_running for row in rows):
        yield Line(text=f"unfinished: {unfinished:,} of {counted(len(rows), 'row')}", tone=Tone.WARNING)
    yield from _limited(list(_warnings(document, benchmarks)), "warnings")


def _failed(failure: Failure) -> str:
    return f"failed {failure.place}" if failure.iteration is None else f"run {failure.iteration} failed"


def failure_lines(rows: Sequence[ClientResults]) -> Iterator[Line]:
    """What failed on a benchmark, and which of its clients gave no figure."""
    texts = [f"{row.client} {_failed(each)}: {failure_text(each)}" for row in rows for each in row.result.errors]
    lines = [Line(text=one_line(text, characters_max=_TEXT_MAX), tone=Tone.BAD) for text in texts]
    yield from _limited(lines, "failures")
    for row in rows:
        if not row.result.measurements:
            yield Line(text=f"{row.client} has no measurement", tone=Tone.WARNING)


def _warnings(document: Document, benchmarks: Sequence[Benchmark]) -> Iterator[Line]:
    """Warnings about measurements; those about the whole run stand in the head of the page."""
    where = {id(row.result): f"{benchmark.title} on {row.client}" for benchmark in benchmarks for row in benchmark.rows}
    results = [result for result in document.results if id(result) in where]
    for text in warning_lines(results, lambda result: where[id(result)]):
        yield _line(text, Tone.WARNING)


def _limited(lines: Sequence[Line], what: str) -> Iterator[Line]:
    yield from lines[:LINES_MAX]
    if len(lines) > LINES_MAX:
        yield Line(text=f"{len(lines) - LINES_MAX:,} more {what} are in the results document", tone=lines[-1].tone)


def _line(text: str, tone: Tone) -> Line:
    return Line(text=one_line(text, characters_max=_TEXT_MAX), tone=tone)
