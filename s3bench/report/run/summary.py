"""What the machine formats of a run share: the names of its results, and each metric's figures summed up.

Owns how long a name may be: a format that is read by machines keeps names apart, and no name fills its file.
"""

from collections.abc import Iterator
from zlib import crc32

from s3bench.compare.sample import MetricFigures, figures_of
from s3bench.report.terminal import printable
from s3bench.results.document import Result
from s3bench.results.metrics import METRICS, Metric

NAME_MAX = 200
"""The most characters of a name or a value; what is longer ends in a checksum of the whole."""


def clipped(text: str, *, most: int = NAME_MAX) -> str:
    """`text` without what cannot be printed, on one line, and cut to `most` characters so that others stay others."""
    if len(text) <= most:
        return printable(text)
    mark = f"~{crc32(text.encode('utf-8', 'surrogatepass')):08x}"
    return printable(text[: most - len(mark)]) + mark


def dimension_pairs(result: Result) -> Iterator[tuple[str, str]]:
    """The dimensions of a result as pairs of name and value."""
    return (pair for dimension in result.dimensions for pair in dimension.items())


def benchmark_title(result: Result) -> str:
    """The benchmark with its dimensions: `s3.cp.upload FileSize=32MB`."""
    return clipped(" ".join((result.name, *(f"{name}={value}" for name, value in dimension_pairs(result)))))


def measured(result: Result) -> Iterator[tuple[Metric, MetricFigures]]:
    """Each metric that any iteration of the result has, in the table's order."""
    for metric in METRICS:
        figures = figures_of(result, metric.name)
        if figures.values:
            yield metric, figures
