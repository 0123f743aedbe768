"""The figures of one phase of a load run: rates, latencies with their histograms, failures, per-second statistics.

Computed by `s3bench.load.aggregation`. Times are in seconds and sizes in bytes; only bins of histograms are in
nanoseconds.
"""

from collections.abc import Iterable

import msgspec

from s3bench.results.bins import Bins


class Latency(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Seconds over `count` operations; a percentile that so few cannot carry is null (`histogram.carries`)."""

    count: int
    mean: float | None
    min: float | None
    p25: float | None
    p50: float | None
    p75: float | None
    p90: float | None
    p99: float | None
    p999: float | None
    max: float | None


class Failures(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Attempts that failed in one way: an HTTP status with S3's code (`503 SlowDown`), or what happened instead.

    `retried` of the `count` were tried again; `time_lost` is the seconds from their starts to the next attempt, or to
    their ends, and, in closed loop, the pauses of virtual users after a failed connection. `body_bytes` were
    transferred in them and are wasted.
    """

    label: str
    count: int
    retried: int
    time_lost: float
    body_bytes: int


class Second(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The statistics of one second of the phase, warm-up included where `second` is below it.

    `failures` are attempts. Percentiles are of the response times. `in_flight` is the mean over the second, `pausing`
    the mean number of virtual users that paused after a failed connection: these are not in flight. `stalled` means
    that the whole second was without service (`Load.without_service`).
    """

    second: int
    operations: int
    failures: int
    bytes: int
    p50: float | None
    p99: float | None
    max: float | None
    in_flight: float
    pausing: float | None = None
    stalled: bool


class Load(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The figures of one kind of operation in one phase, or of all kinds together (`kind` is `all`).

    `operations` succeeded within the measured window, and only their bytes count; `attempts` are all requests of them,
    `failed` operations failed after their retries. `error_rate` is failed over failed and successful, null if no
    operation ended. `latency` counts from an attempt's start to its last byte, `first_byte` to the first byte of the
    response; `response` from the planned start (open loop) or the first attempt, null where that is the same.
    `in_flight` is the mean number of operations in flight, measured apart from the latencies, and
    `in_flight_by_littles_law` what their rate and latencies give. `waiting_max` is the most planned operations that
    found no free virtual user. `unfinished` operations were in flight at the end or planned and not begun, `late`
    succeeded afterwards; neither counts. `oldest` is the age of the oldest of the unfinished at the end, counted as in
    `response`, and `oldest_attempt` that of the oldest attempt, as in `latency`: the greatest times are at least these.
    `pausing` is the mean number of virtual users that paused after a failed connection. `without_service` is the time
    in which no operation succeeded although some were wanted (docs/load.md says how it is measured). `connects` are
    connections made. These nine are counted over all kinds together, and null for one kind among several, which has no
    `stalls` and `seconds` either.
    `all` counts a multipart upload as one operation and leaves out its requests, which have kinds of their own.
    `repeated` of the operations read what had been read before.
    `client_cpu_share` is how busy the busiest worker was during the phase, 1 being a whole core.
    `client_run_delay_share` is the largest share of the phase in which a worker was ready to run and had no core, null
    if the kernel does not report it. `cores_awake`: whether the workers kept all cores out of idle states, null in
    closed loop. `rate_planned` is the open loop's, null in closed loop. `bottleneck` is `client`, `other programs`,
    `connections`, `network` or `server`, empty where nothing points to one; `ceiling` is what this machine reached
    against a server that does nothing. What another tool does not report of its load is null.
    """

    kind: str
    job: str = ""
    operations: int
    attempts: int | None
    failed: int
    retried: int | None
    repeated: int | None
    error_rate: float | None
    operations_rate: float
    rate_planned: float | None = None
    bytes_up: int
    bytes_down: int
    latency: Latency
    first_byte: Latency
    response: Latency | None = None
    in_flight: float | None
    in_flight_by_littles_law: float | None
    pausing: float | None = None
    waiting_max: int | None = None
    without_service: float | None = None
    unfinished: int | None = None
    late: int | None = None
    oldest: float | None = None
    oldest_attempt: float | None = None
    connects: int | None = None
    client_cpu_share: float | None
    client_run_delay_share: float | None = None
    cores_awake: bool | None = None
    ceiling: float | None = None
    bottleneck: str = ""
    failures: tuple[Failures, ...] = ()
    stalls: tuple[int, ...] = ()
    seconds: tuple[Second, ...] = ()
    bins: Bins = Bins()
    first_byte_bins: Bins = Bins()
    response_bins: Bins = Bins()


class LoadMeasurement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One loop of a phase, as `Measurement` is one iteration of a client; keys that both have mean the same.

    `started_at` is when second 0 of the phase began, UTC in ISO 8601; null where that was not recorded. `total_time` is
    the measured window, and `cpu_time` the CPU time of all workers within it; `peak_memory` is that of all workers
    together. `throughput` is the payload of successful operations, both ways, over the window. `engine` is `s3bench`,
    or empty if another tool made the load.
    """

    iteration: int
    started_at: str | None = None
    total_time: float
    cpu_time: float | None
    peak_memory: int | None
    throughput: float | None
    engine: str
    load: Load
    warnings: tuple[str, ...]


def error_rate(operations: int, failed: int) -> float | None:
    """The share of failed operations among those that ended; `None` if none did. `operations` succeeded."""
    ended = operations + failed
    return failed / ended if ended else None


def failures_together(loads: Iterable[Load]) -> tuple[Failures, ...]:
    """The failed attempts of several figures by label, the most frequent first."""
    by_label: dict[str, Failures] = {}
    for each in (failures for load in loads for failures in load.failures):
        old = by_label.get(each.label)
        by_label[each.label] = each if old is None else _sum(old, each)
    return tuple(sorted(by_label.values(), key=lambda each: (-each.count, each.label)))


def _sum(left: Failures, right: Failures) -> Failures:
    return Failures(
        label=left.label,
        count=left.count + right.count,
        retried=left.retried + right.retried,
        time_lost=left.time_lost + right.time_lost,
        body_bytes=left.body_bytes + right.body_bytes,
    )
