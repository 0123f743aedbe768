"""Medians of results with their intervals, and the metrics that formats for other benchmark tools hold."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from s3bench.compare.sample import MetricFigures, figures_of
from s3bench.errors import BadInput
from s3bench.report.label import one_line
from s3bench.results.document import Document, Result
from s3bench.results.metrics import METRICS, METRICS_BY_NAME, Metric, render_figure
from s3bench.results.redaction import redact
from s3bench.stats.median_interval import median_interval
from s3bench.units import counted

HEADLINES = tuple(
    METRICS_BY_NAME[name]
    for name in (
        "total_time",
        "cpu_time",
        "peak_memory",
        "first_client_invocation_time",
        "throughput",
        "wire.requests",
        "load.operations_rate",
        "load.error_rate",
        "load.latency.p50",
        "load.latency.p90",
        "load.latency.p99",
        "load.first_byte.p50",
        "load.first_byte.p99",
        "load.response.p50",
        "load.response.p99",
    )
)
"""The metrics for tools that draw a chart or a table for each; CSV has all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MedianEstimate:
    """The median of the figures of a metric, in its unit, and the ends of its 95 % interval, `None` below six."""

    metric: Metric
    values: tuple[float, ...]
    median: float
    low: float | None
    high: float | None

    @property
    def count(self) -> int:
        """The number of figures."""
        return len(self.values)

    @property
    def text(self) -> str:
        """The median with its unit."""
        return render_figure(self.median, self.metric.unit)

    @property
    def interval(self) -> str:
        """`1.01 s to 1.10 s`; empty where there is none."""
        if self.low is None or self.high is None:
            return ""
        return f"{render_figure(self.low, self.metric.unit)} to {render_figure(self.high, self.metric.unit)}"


def estimates(result: Result, metrics: Sequence[Metric] = HEADLINES) -> Iterator[MedianEstimate]:
    """The medians of those metrics that any measurement of the result has a figure of."""
    for metric in metrics:
        if (found := estimate(result, metric)) is not None:
            yield found


def estimate(result: Result, metric: Metric) -> MedianEstimate | None:
    """The median of a metric in a result; `None` where no measurement has a figure."""
    values = figures_of(result, metric.name).values
    if not values:
        return None
    center, low, high = median_interval(values)
    return MedianEstimate(metric=metric, values=tuple(values), median=center, low=low, high=high)


def endpoint_text(document: Document) -> str:
    """The endpoint that the clients used, credentials removed; empty where it is unknown."""
    options = document.options
    known = (options.get(name) for name in ("endpoint", "endpoint_url"))
    return next((one_line(redact((text,))[0]) for text in known if isinstance(text, str)), "")


def measured(result: Result) -> Iterator[tuple[Metric, MetricFigures]]:
    """Each metric that any iteration of the result has, in the table's order."""
    for metric in METRICS:
        figures = figures_of(result, metric.name)
        if figures.values:
            yield metric, figures


def check_any(found: object, *, name: str, holds: str) -> None:
    """Raise `BadInput` where nothing was found that a format can hold: its readers take no empty file."""
    if not found:
        raise BadInput(
            f"the document has nothing to write as {name}",
            f"the format holds {holds}; no result has a figure of that",
            "--format csv and --format markdown hold every document",
        )


def failures_in_words(results: Sequence[Result], unit: str = "iteration") -> str:
    """`2 iterations failed, 1 failure outside of the iterations`; empty where nothing failed."""
    failed = sum(result.failed_iterations for result in results)
    outside = sum(result.failures_outside for result in results)
    words = [f"{counted(failed, unit)} failed"] if failed else []
    words += [f"{counted(outside, 'failure')} outside of the iterations"] if outside else []
    return ", ".join(words)


def shortfall(result: Result) -> str:
    """What a result lacks, in words: failed iterations, or those that never came; empty where it lacks nothing."""
    words = [f"{result.failed_iterations} failed"] if result.failed_iterations else []
    words += [f"{result.failures_outside} failed outside of the iterations"] if result.failures_outside else []
    return ", ".join((*words, *(("unfinished",) if result.is_running else ())))
