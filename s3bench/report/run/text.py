"""The results of a run as text for a terminal: a table below the names of benchmarks, then warnings and failures.

Figures are medians with the median absolute deviation, which a single straggler does not move.
"""

from collections.abc import Collection, Iterator

from s3bench.report.label import clipped, one_line
from s3bench.report.run.figures import estimate
from s3bench.report.run.problems import failure_lines, run_warnings, warning_lines
from s3bench.report.run.tables import FigureHeading, NamedResult, deviation, run_table, status_text
from s3bench.report.table import NOTHING
from s3bench.report.terminal import CYAN, DIM, RED, YELLOW, painter, printable
from s3bench.report.text_table import fits, table_lines
from s3bench.results.audit import Audit, Ratio
from s3bench.results.document import Document, Result
from s3bench.results.measurement import Failure
from s3bench.results.metrics import METRICS_BY_NAME
from s3bench.results.warnings import unrepeated

_HEADINGS = (
    FigureHeading(heading="time", metrics=("total_time",)),
    FigureHeading(heading="CPU", metrics=("cpu_time",)),
    FigureHeading(heading="memory", metrics=("peak_memory",)),
    FigureHeading(heading="throughput", metrics=("throughput",), rank=1),
    FigureHeading(heading="requests", metrics=("wire.requests",)),
)
_LEGEND = (
    "median ± median absolute deviation of n iterations: total time, CPU time of user and system, peak memory; "
    "requests from fewest to most"
)
_LEGEND_NARROW = "median of n iterations: total time, CPU time, peak memory"


def render_table(document: Document, *, width: int, color: bool, said: Collection[str] = ()) -> str:
    """Render the document's results for a terminal of `width` columns; color adds nothing to the meaning.

    Where the terminal is too narrow, deviations are left out, and then the throughput. Warnings that were `said` at the
    start are counted.
    """
    paint = painter(color=color)
    lines = ["no results"]
    if document.results:
        rows = [
            NamedResult(benchmark=each.benchmark, client=each.client.label, result=each) for each in document.results
        ]
        table = run_table(rows, _HEADINGS, spread=deviation)
        legend = _LEGEND if fits(table, width=width) else _LEGEND_NARROW
        lines = [*table_lines(table, width=width, paint=paint), paint(legend, DIM)]
    styles = {"warning": YELLOW, "audit": CYAN, "error": RED}
    lines += (f"{paint(kind, styles[kind])}: {printable(text)}" for kind, text in _notes(document, said))
    return "\n".join(lines) + "\n"


def result_line(result: Result) -> str:
    """Render one result as a line: its label, and its median total time or its first failure."""
    total_time = estimate(result, METRICS_BY_NAME["total_time"])
    figures = NOTHING if total_time is None else total_time.text + deviation(total_time)
    outcome = f"{figures} total time, n={len(result.measurements)}"
    if result.errors:
        outcome = f"{status_text(result)}: {_short(result.errors[0])}"
    return f"{clipped(result.label)}: {outcome}"


def _short(failure: Failure) -> str:
    """What failed, and the last line of why: in a traceback, that is the one that names the error."""
    lines = failure.why.strip().splitlines()
    return ": ".join(one_line(text) for text in (failure.what, *lines[-1:]))


def _notes(document: Document, said: Collection[str]) -> Iterator[tuple[str, str]]:
    """Warnings, then the audits, then the failures."""
    yield from (("warning", text) for text in unrepeated(run_warnings(document), said))
    yield from (("warning", text) for text in warning_lines(document.results, _label))
    for result in document.results:
        if result.audit is not None:
            yield "audit", f"{result.label}: {_audit_text(result.audit)}"
    yield from (("error", text) for text in failure_lines(document.results, _label))


def _label(result: Result) -> str:
    return result.label


def _audit_text(audit: Audit) -> str:
    text = f"sampling and probes changed total time by {_change(audit.total_time)}"
    if audit.cpu_time is not None:
        text += f", CPU time by {_change(audit.cpu_time)}"
    return f"{text}; median of {audit.pairs} pairs, 95 % interval"


def _change(ratio: Ratio) -> str:
    interval = (
        "unknown" if ratio.low is None or ratio.high is None else f"{ratio.low - 1:+.1%} to {ratio.high - 1:+.1%}"
    )
    return f"{ratio.median - 1:+.1%} ({interval})"
