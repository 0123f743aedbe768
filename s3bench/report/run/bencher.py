"""A results document in the Bencher Metric Format, for `bencher run --adapter json`.

The format is https://bencher.dev/docs/reference/bencher-metric-format/: benchmark -> measure -> `value`, `lower_value`
and `upper_value`. Values are medians, the other two the ends of the 95 % interval; they are left out where there is
none. BMF has no units, and Bencher's own measures `latency` and `throughput` are nanoseconds and operations a second:
our measures have names of their own, with their units (`total_time (s)`). Names of measures have at most 64
characters, those of benchmarks at most 1,024.

It has no place for failures: results without a figure are left out.
"""

from s3bench.report.label import result_names
from s3bench.report.run.figures import MedianEstimate, check_any, estimates
from s3bench.results.document import Document
from s3bench.results.encoding import pretty_json


def render_bencher(document: Document) -> str:
    """Render as JSON. Raises `BadInput` without any figure."""
    named = zip(result_names(document), document.results, strict=True)
    benchmarks = {
        name: {f"{each.metric.name} ({each.metric.unit})": _metric(each) for each in found}
        for name, result in named
        if (found := tuple(estimates(result)))
    }
    check_any(benchmarks, name="bencher", holds="times, memory, requests, rates and latencies")
    return pretty_json(benchmarks).decode()


def _metric(each: MedianEstimate) -> dict[str, float]:
    if each.low is None or each.high is None:
        return {"value": each.median}
    return {"value": each.median, "lower_value": each.low, "upper_value": each.high}
