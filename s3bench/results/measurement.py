"""The figures of one iteration, computed from what the kernel, the samples, the server and the probes showed.

What was not measured is null, never invented.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Self

import msgspec

from s3bench.results.load import LoadMeasurement
from s3bench.results.machine_speed import MachineSpeed, SpeedFacts, machine_speed
from s3bench.results.metrics import METRICS_BY_NAME
from s3bench.results.timeline import RequestSpan, SeriesFacts, Timeline, UsageSeries, cores_in_use

_SERVER_BOUND_SHARE = 0.5
_CHOSEN_BY_LOAD = frozenset({"total_time", "cpu_time"})
_PATHS = {name: tuple(name.split(".")) for name in METRICS_BY_NAME}
_NUMBER = (int, float)  # made once: a comparison looks up hundreds of thousands of figures


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageFacts:
    """What the kernel accounted to the process and its descendants; `None` where the system has no figure."""

    user_cpu_s: float | None = None
    system_cpu_s: float | None = None
    peak_memory_bytes: int | None = None
    minor_faults: int | None = None
    major_faults: int | None = None
    voluntary_context_switches: int | None = None
    involuntary_context_switches: int | None = None
    runqueue_wait_s: float | None = None

    @property
    def cpu_s(self) -> float | None:
        """User and system time together."""
        if self.user_cpu_s is None or self.system_cpu_s is None:
            return None
        return self.user_cpu_s + self.system_cpu_s


_NO_USAGE = UsageFacts()
_NO_TIMELINE = Timeline()
_NO_MILESTONES: Mapping[str, float] = MappingProxyType({})


class Wire(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the client did as the server saw it: counts, and sizes in bytes."""

    requests: int
    retries: int
    connections: int
    requests_in_flight_max: int
    bytes_received: int
    bytes_sent: int
    part_size_max: int
    checksums_verified: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WireFacts:
    """What the server saw. `first_request_s` and `last_response_s` count from the spawn, `None` without a request."""

    counts: Wire
    first_request_s: float | None
    last_response_s: float | None
    requests_by_kind: Mapping[str, int]
    engine: str
    server_cpu_s: float | None


class NetworkFigure(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One property of a network model, asked and achieved over `count` requests, in `unit` (`s` or `B/s`)."""

    name: str
    unit: str
    asked: float
    achieved: float
    count: int


class Milestones(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When the client reached what, in seconds since it was spawned."""

    interpreter_start: float | None = None
    imports_done: float | None = None
    plugins_loaded: float | None = None
    client_created: float | None = None
    first_request: float | None = None
    last_response: float | None = None
    exit: float | None = None


class Harness(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What measuring cost: samples taken, CPU seconds beside the client, and seconds between it and the one before."""

    samples: int
    turnaround_time: float | None
    sampler_cpu_time: float | None
    server_cpu_time: float | None


class Measurement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The figures of one iteration, by the names, units and meanings of `s3bench.results.metrics`.

    `iteration` counts from 0, warm-up iterations not counted. `engine` is the S3 engine that the wire showed (`crt`,
    `python`, `go`, `other`, joined by `+` when there were several), empty when there was no request.
    `requests_by_kind` counts requests by what they were (`GET ranged`, `PUT`). `network` holds what was achieved of a
    network model against what was asked, where one was imposed. `load` is null; a phase of a load run gives a
    `LoadMeasurement`. `machine_speed` is null where the core's speed was not probed,
    `series` where no samples were taken or kept. `requests` are kept by `s3bench run`, in order of their start,
    `requests_left_out` being how many more there were.
    """

    iteration: int
    total_time: float
    max_memory: float | None
    max_cpu: float | None
    p50_memory: float | None
    p95_memory: float | None
    p50_cpu: float | None
    p95_cpu: float | None
    first_client_invocation_time: float | None
    user_cpu_time: float | None
    system_cpu_time: float | None
    cpu_time: float | None
    peak_memory: int | None
    minor_faults: int | None
    major_faults: int | None
    voluntary_context_switches: int | None
    involuntary_context_switches: int | None
    throughput: float | None
    engine: str
    requests_by_kind: dict[str, int]
    milestones: Milestones
    wire: Wire | None
    harness: Harness
    network: tuple[NetworkFigure, ...] = ()
    load: None = None
    machine_speed: MachineSpeed | None = None
    runqueue_wait_time: float | None = None
    series: UsageSeries | None = None
    requests: tuple[RequestSpan, ...] = ()
    requests_left_out: int = 0
    warnings: tuple[str, ...]

    def without_requests(self) -> Self:
        """Drop the requests, and the count of those left out."""
        return msgspec.structs.replace(self, requests=(), requests_left_out=0) if self.requests else self


AnyMeasurement = Measurement | LoadMeasurement
"""What a client's iteration gives, or a phase of a load run."""


class Failure(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why an iteration gave no measurement, or one that is not to be trusted.

    `iteration` is null of a warm-up, of `--cleanup`, and where no iteration could be run.
    `exit_code` is null when the client did not exit by itself (never started, timed out), negative for a signal. `why`
    is the end of its stderr or the reason in words. `request` names the HTTP request concerned, if any.
    """

    iteration: int | None
    what: str
    exit_code: int | None = None
    why: str = ""
    request: str = ""

    @property
    def place(self) -> str:
        """`iteration 3`, or `outside of the iterations`."""
        return "outside of the iterations" if self.iteration is None else f"iteration {self.iteration}"


def measure(
    *,
    iteration: int,
    total_s: float,
    series: SeriesFacts | None = None,
    speed: SpeedFacts | None = None,
    usage: UsageFacts = _NO_USAGE,
    wire: WireFacts | None = None,
    milestones_s: Mapping[str, float] = _NO_MILESTONES,
    first_client_invocation_s: float | None = None,
    sampler_cpu_s: float | None = None,
    turnaround_s: float | None = None,
    network: tuple[NetworkFigure, ...] = (),
    timeline: Timeline = _NO_TIMELINE,
    warnings: Iterable[str] = (),
) -> Measurement:
    """Compute the figures of one iteration from what is known about it.

    `milestones_s` are the probes' times since the spawn by the names of `Milestones`; `first_client_invocation_s` is
    theirs too. `turnaround_s` passed between the end of the iteration before and the start of this one. `network` is
    how well a network model was met, `timeline` what is to be kept for charts.
    """
    memory = sorted(series.rss_bytes) if series else []
    cores = sorted(cores_in_use(series)) if series else []
    highs = [value for value in (memory[-1] if memory else None, usage.peak_memory_bytes) if value is not None]
    seen = {"first_request": wire.first_request_s, "last_response": wire.last_response_s} if wire else {}
    if first_client_invocation_s is None and wire:
        first_client_invocation_s = wire.first_request_s
    payload_bytes = wire.counts.bytes_received + wire.counts.bytes_sent if wire else 0
    return Measurement(
        iteration=iteration,
        total_time=total_s,
        max_memory=max(highs, default=None),
        max_cpu=cores[-1] if cores else None,
        p50_memory=percentile(memory, 50),
        p95_memory=percentile(memory, 95),
        p50_cpu=percentile(cores, 50),
        p95_cpu=percentile(cores, 95),
        first_client_invocation_time=first_client_invocation_s,
        user_cpu_time=usage.user_cpu_s,
        system_cpu_time=usage.system_cpu_s,
        cpu_time=usage.cpu_s,
        peak_memory=usage.peak_memory_bytes,
        minor_faults=usage.minor_faults,
        major_faults=usage.major_faults,
        voluntary_context_switches=usage.voluntary_context_switches,
        involuntary_context_switches=usage.involuntary_context_switches,
        throughput=payload_bytes / total_s if payload_bytes and total_s > 0 else None,
        engine=wire.engine if wire else "",
        requests_by_kind=dict(sorted(wire.requests_by_kind.items())) if wire else {},
        milestones=Milestones(**{**milestones_s, **seen}),
        wire=wire.counts if wire else None,
        harness=Harness(
            samples=len(memory) + (series.left_out if series else 0),
            turnaround_time=turnaround_s,
            sampler_cpu_time=sampler_cpu_s,
            server_cpu_time=wire.server_cpu_s if wire else None,
        ),
        network=network,
        machine_speed=machine_speed(speed),
        runqueue_wait_time=usage.runqueue_wait_s,
        series=timeline.series,
        requests=timeline.requests,
        requests_left_out=timeline.requests_left_out,
        warnings=(*warnings, *_server_warnings(wire, total_s)),
    )


def percentile(ordered: Sequence[float], percent: float) -> float | None:
    """Find the percentile of values in ascending order, linear between the closest ranks; `None` of nothing.

    Type 7 of Hyndman and Fan, "Sample Quantiles in Statistical Packages" (1996); the default of numpy.
    """
    if not ordered:
        return None
    rank = (len(ordered) - 1) * percent / 100
    below = math.floor(rank)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (rank - below)


def figure(measurement: AnyMeasurement, name: str) -> float | None:
    """Look up the figure of the metric `name`; `None` when it was not measured.

    How long a load run took was chosen and not measured, and the CPU time follows from that: neither is a figure.
    """
    if measurement.load is not None and name in _CHOSEN_BY_LOAD:
        return None
    value: object = measurement
    for key in _PATHS[name]:
        value = getattr(value, key, None)
        if value is None:
            return None
    return value if isinstance(value, _NUMBER) else None


def _server_warnings(wire: WireFacts | None, total_s: float) -> tuple[str, ...]:
    if wire is None or wire.server_cpu_s is None or total_s <= 0:
        return ()
    share = wire.server_cpu_s / total_s
    if share <= _SERVER_BOUND_SHARE:
        return ()
    return (f"stub-bound: the server was busy for {share:.0%} of the iteration, the client waited for it",)
