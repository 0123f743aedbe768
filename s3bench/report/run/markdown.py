"""A results document as Markdown, for a pull request: a table for each benchmark, a row for each of its results.

A figure is the median of the iterations, with its 95 % interval from six iterations on. Latencies of an open loop count
from the planned start. That the run is not complete stands above the tables; failures and warnings are folded away
below them.
"""

from collections.abc import Iterator, Sequence
from itertools import chain

from s3bench.report.label import benchmark_text, client_text, one_line
from s3bench.report.markdown import code, escaped, folded_lines, list_lines, table_lines
from s3bench.report.run.problems import CUT_SHORT, failure_lines, warning_lines
from s3bench.report.run.tables import FigureHeading, NamedResult, interval, run_table
from s3bench.results.document import Document, Result
from s3bench.spec.label import dimensions_label

_RUN = (
    FigureHeading(heading="time", metrics=("total_time",)),
    FigureHeading(heading="CPU time", metrics=("cpu_time",)),
    FigureHeading(heading="peak memory", metrics=("peak_memory",)),
    FigureHeading(heading="throughput", metrics=("throughput",)),
    FigureHeading(heading="requests", metrics=("wire.requests",)),
)
_LOAD = (
    FigureHeading(heading="rate", metrics=("load.operations_rate",)),
    FigureHeading(heading="throughput", metrics=("throughput",)),
    FigureHeading(heading="p50", metrics=("load.response.p50", "load.latency.p50")),
    FigureHeading(heading="p99", metrics=("load.response.p99", "load.latency.p99")),
    FigureHeading(heading="first byte p50", metrics=("load.first_byte.p50",)),
    FigureHeading(heading="errors", metrics=("load.error_rate",)),
)
_LEGEND = "Medians; in brackets the 95 % interval of the median, from six iterations on."
_LEGEND_COUNTED = "Requests from fewest to most."
_WORDS_MAX = 1000


def render_markdown(document: Document) -> str:
    """Render as GitHub Flavored Markdown; whatever names hold, they are shown as they are."""
    by_name: dict[str, list[Result]] = {}
    for result in document.results:
        by_name.setdefault(result.name, []).append(result)
    lines = [_head(document), ""]
    if document.was_cut_short:
        lines += [f"**{escaped(CUT_SHORT)}**", ""]
    lines += chain.from_iterable(_section(document, *each) for each in by_name.items())
    legend = _LEGEND if document.is_of_load else f"{_LEGEND} {_LEGEND_COUNTED}"
    lines += [legend if by_name else "no results", ""]

    def name(result: Result) -> str:
        return f"{benchmark_text(result)} on {client_text(document, result)}"

    failures = (one_line(text, characters_max=_WORDS_MAX) for text in failure_lines(document.results, name))
    warnings = (*document.warnings, *warning_lines(document.results, name))
    lines += folded_lines("failures", list_lines(failures))
    lines += folded_lines("warnings", list_lines(one_line(text, characters_max=_WORDS_MAX) for text in warnings))
    return "\n".join(lines).rstrip() + "\n"


def _head(document: Document) -> str:
    """What measured, when, and on what."""
    cpu = document.machine.get("cpu_model")
    facts = (f"s3bench {document.s3bench}", document.started_at, *((cpu,) if isinstance(cpu, str) else ()))
    return escaped(", ".join(one_line(fact) for fact in facts))


def _section(document: Document, name: str, results: Sequence[Result]) -> Iterator[str]:
    headings = _LOAD if any(result.loops for result in results) else _RUN
    rows = [
        NamedResult(
            benchmark=one_line(dimensions_label(each.dimension_pairs)),
            client=client_text(document, each),
            result=each,
        )
        for each in results
    ]
    yield from (f"### {code(one_line(name))}", "")
    table = run_table(rows, headings, spread=interval, benchmark_heading="dimensions", has_engine=False)
    yield from (*table_lines(table), "")
