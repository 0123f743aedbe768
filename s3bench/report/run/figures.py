"""What the formats for other benchmark tools share: names of results, and medians with their intervals.

Owns which figures go where a tool takes a few only, and how a name is made that any of them can hold. A name has the
client's name and not its version, so that a series of releases is one series; where a document holds several versions
of one client, it has the label, which tells them apart.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from s3bench.compare.sample import figures_of
from s3bench.errors import BadInput
from s3bench.report.run.summary import NAME_MAX, benchmark_title, clipped
from s3bench.results.document import Document, Result
from s3bench.results.metrics import METRICS_BY_NAME, Metric
from s3bench.results.redaction import redact
from s3bench.tune.verification import median_interval

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
"""The metrics for tools that draw a chart or a table for each; `run_csv` has all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MedianEstimate:
    """The median of `count` figures of a metric, in its unit, and the ends of its 95 % interval, `None` below six.

    Above a thousand figures there is no interval either.
    """

    metric: Metric
    count: int
    median: float
    low: float | None
    high: float | None


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
    return MedianEstimate(metric=metric, count=len(values), median=center, low=low, high=high)


def result_names(document: Document) -> tuple[str, ...]:
    """A name for each result, unique in the document: `s3.cp.upload FileSize=32MB on cli-crt`."""
    names = (f"{benchmark_text(each)} on {client_text(document, each)}" for each in document.results)
    return tuple(unique(names))


def benchmark_text(result: Result) -> str:
    """The benchmark's name and dimensions as one line."""
    return one_line(benchmark_title(result))


def client_text(document: Document, result: Result) -> str:
    """The client's name, or its label where the document has several clients of that name."""
    labels = {each.client.label for each in document.results if each.client.name == result.client.name}
    return one_line(result.client.label if len(labels) > 1 else result.client.name)


def endpoint_text(document: Document) -> str:
    """What the clients spoke to, credentials taken out; empty where the document does not tell."""
    options = document.options
    known = (options.get(name) for name in ("endpoint", "endpoint_url"))
    return next((one_line(redact((text,))[0]) for text in known if isinstance(text, str)), "")


def one_line(text: str, *, characters_max: int = NAME_MAX) -> str:
    """A text as one line, clipped, and without spaces around it."""
    return clipped(text, most=characters_max).strip()


def unique(names: Iterable[str], numbered: Callable[[str, int], str] = "{} ({})".format) -> Iterator[str]:
    """The names, those that came before already with a number, from 2: texts that differ may be one line alike."""
    taken: dict[str, int] = {}
    for name in names:
        number, free = taken.get(name, 0) + 1, name
        while number > 1 and (free := numbered(name, number)) in taken:
            number += 1
        taken[name] = number
        taken.setdefault(free, 1)
        yield free


def check_any(found: object, *, name: str, holds: str) -> None:
    """Raise `BadInput` where nothing was found that a format can hold: its readers take no empty file."""
    if not found:
        raise BadInput(
            f"the document has nothing to write as {name}",
            f"the format holds {holds}; no result has a figure of that",
            "--format csv and --format markdown hold every document",
        )


def shortfall(result: Result) -> str:
    """What a result lacks, in words: failed iterations, or those that never came; empty where it lacks nothing."""
    failed = len({failure.iteration for failure in result.errors})
    words = [f"{failed} failed"] if failed else []
    return ", ".join((*words, *(("unfinished",) if result.is_running else ())))
