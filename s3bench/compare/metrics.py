"""Chooses the metrics that a comparison shows."""

from collections.abc import Sequence

from s3bench.errors import BadInput
from s3bench.results.metrics import METRICS, METRICS_BY_NAME
from s3bench.spec.reader import nearest, one_of

REQUESTS_BY_KIND = "requests_by_kind"
"""The only metric with several values: it gives one row for each kind of request."""
ALL_METRICS = "all"
DEFAULT_METRICS = (
    "total_time",
    "cpu_time",
    "peak_memory",
    REQUESTS_BY_KIND,
    "wire.requests",
    "wire.bytes_received",
    "wire.bytes_sent",
    "load.operations_rate",
    "load.error_rate",
    "load.latency.p50",
    "load.latency.p99",
    "load.first_byte.p50",
    "load.response.p99",
)


def choose_metrics(names: Sequence[str]) -> tuple[str, ...]:
    """The named metrics without duplicates; `all` means every metric. Raises `BadInput` for an unknown name."""
    known = (*METRICS_BY_NAME, REQUESTS_BY_KIND)
    for name in names:
        if name != ALL_METRICS and name not in known:
            near = nearest(name, (*known, ALL_METRICS))
            raise BadInput(
                f"--metric {name}: unknown metric",
                fix=f"did you mean `{near}`?" if near else f"Known metrics: {one_of((*known, ALL_METRICS))}",
            )
    if ALL_METRICS in names:
        return (*(metric.name for metric in METRICS), REQUESTS_BY_KIND)
    return tuple(dict.fromkeys(names))
