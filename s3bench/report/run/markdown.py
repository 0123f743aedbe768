"""A results document as Markdown, for a pull request: a table for each benchmark, a row for each of its results.

Owns the tables. A figure is the median of the iterations, in brackets its 95 % interval where there are six or more.
What failed and what is in doubt stands below, folded away. Load runs have rates and latencies, those of an open loop
from the planned start.
"""

from collections.abc import Iterator, Sequence
from itertools import chain

from s3bench.compare.sample import figures_of
from s3bench.report.markdown import cell, code, escaped, folded_lines, list_lines, table_lines
from s3bench.report.run.figures import (
    benchmark_text,
    client_text,
    estimate,
    one_line,
)
from s3bench.report.run.summary import dimension_pairs
from s3bench.results.document import Document, Result, Status
from s3bench.results.metrics import METRICS_BY_NAME, render_figure
from s3bench.results.warnings import gather_warnings

_NOTHING = "-"
_RUN = (
    ("time", ("total_time",)),
    ("CPU time", ("cpu_time",)),
    ("peak memory", ("peak_memory",)),
    ("throughput", ("throughput",)),
    ("requests", ("wire.requests",)),
)
_LOAD = (
    ("rate", ("load.operations_rate",)),
    ("throughput", ("throughput",)),
    ("p50", ("load.response.p50", "load.latency.p50")),
    ("p99", ("load.response.p99", "load.latency.p99")),
    ("first byte p50", ("load.first_byte.p50",)),
    ("errors", ("load.error_rate",)),
)
"""Headings, and the metric of each: the first that a result has."""

_COUNTED = "wire.requests"
_LEGEND = "Medians; in brackets the 95 % interval of the median, from six iterations on."
_LEGEND_COUNTED = "Requests from fewest to most."
_WORDS_MAX = 1000


def render_markdown(document: Document) -> str:
    """Render as GitHub Flavored Markdown; whatever names hold, they are shown as they are."""
    by_name: dict[str, list[Result]] = {}
    for result in document.results:
        by_name.setdefault(result.name, []).append(result)
    lines = [_head(document), "", *chain.from_iterable(_section(document, *each) for each in by_name.items())]
    legend = _LEGEND if document.is_of_load else f"{_LEGEND} {_LEGEND_COUNTED}"
    lines += [legend if by_name else "no results", ""]
    lines += folded_lines("failures", list_lines(_failures(document)))
    lines += folded_lines("warnings", list_lines(_warnings(document)))
    return "\n".join(lines).rstrip() + "\n"


def _head(document: Document) -> str:
    """What measured, when, and on what."""
    cpu = document.machine.get("cpu_model")
    facts = (f"s3bench {document.s3bench}", document.started_at, *((cpu,) if isinstance(cpu, str) else ()))
    return escaped(", ".join(one_line(fact) for fact in facts))


def _section(document: Document, name: str, results: Sequence[Result]) -> Iterator[str]:
    columns = _LOAD if any(each.load for result in results for each in result.measurements) else _RUN
    headings = ("dimensions", "client", "n", *(heading for heading, _ in columns), "status")
    yield from (f"### {code(one_line(name))}", "")
    yield from table_lines(
        headings,
        [tuple(_cells(document, result, [metrics for _, metrics in columns])) for result in results],
        texts=frozenset({0, 1, len(headings) - 1}),
    )
    yield ""


def _cells(document: Document, result: Result, columns: Sequence[Sequence[str]]) -> Iterator[str]:
    yield cell(one_line(" ".join(f"{name}={value}" for name, value in dimension_pairs(result))))
    yield cell(client_text(document, result))
    yield str(len(result.measurements))
    for metrics in columns:
        yield cell(next((words for name in metrics if (words := _figure(result, name))), _NOTHING))
    yield _status(result)


def _figure(result: Result, name: str) -> str:
    """`300 ms (290 ms to 310 ms)`; requests, which are counted, from the fewest to the most; empty without a figure."""
    metric = METRICS_BY_NAME[name]
    found = estimate(result, metric)
    if found is None:
        return ""
    if name == _COUNTED:
        values = figures_of(result, name).values
        low, high = (render_figure(each, metric.unit) for each in (min(values), max(values)))
        return low if low == high else f"{low} to {high}"
    center = render_figure(found.median, metric.unit)
    if found.low is None or found.high is None:
        return center
    return f"{center} ({render_figure(found.low, metric.unit)} to {render_figure(found.high, metric.unit)})"


def _status(result: Result) -> str:
    if result.errors:
        return f"**{len(result.errors)} failed**"
    return "ok" if result.status is Status.COMPLETE else "unfinished"


def _failures(document: Document) -> Iterator[str]:
    for result in document.results:
        subject = f"{benchmark_text(result)} on {client_text(document, result)}"
        for failure in result.errors:
            exit_code = "" if failure.exit_code is None else f" (exit code {failure.exit_code})"
            about = f"; request {failure.request}" if failure.request else ""
            why = f": {failure.why}" if failure.why else ""
            words = f"iteration {failure.iteration}: {failure.what}{exit_code}{about}{why}"
            yield f"{subject}, {one_line(words, characters_max=_WORDS_MAX)}"


def _warnings(document: Document) -> Iterator[str]:
    yield from (one_line(words, characters_max=_WORDS_MAX) for words in document.warnings)
    for doubt in gather_warnings(document.results):
        first = doubt.results[0]
        where = f"{benchmark_text(first)} on {client_text(document, first)}"
        if len(doubt.results) > 1:
            where = f"{len(doubt.results)} results"
        yield f"{where}: {one_line(doubt.words, characters_max=_WORDS_MAX)}"
