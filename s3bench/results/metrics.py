"""The table of metrics: name, unit, better direction, meaning and source of each.

Documents are read by it, and `docs/results.md` and the reports are made from it. Names are the paths of the figures
inside a measurement, with `.` between an object and its key.
"""

from dataclasses import dataclass
from enum import StrEnum

from s3bench.units import render_bytes, render_seconds


class Unit(StrEnum):
    """The units of all figures; nothing else is stored."""

    SECONDS = "s"
    BYTES = "bytes"
    CORES = "cores"
    COUNT = "count"
    BYTES_PER_SECOND = "bytes/s"
    PER_SECOND = "1/s"
    SHARE = "share"


class Direction(StrEnum):
    """The better direction."""

    LOWER = "lower is better"
    HIGHER = "higher is better"
    NEUTRAL = "neutral"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One figure of a measurement."""

    name: str
    unit: Unit
    direction: Direction
    meaning: str
    source: str


_PERCENTILE = "samples; linear between closest ranks (Hyndman and Fan's type 7, numpy's default)"
_RUSAGE = "wait4(2) at the end of the process, less what was used before exec; children it waited for included"
_SAMPLES = "samples of the whole process tree"
_PROBE = "probe inside the client; null if the client has none"
_SPEED = "probes beside the client, on the core where it runs; null where the system does not allow that"
_SCHEDSTAT = "/proc/PID/schedstat after its end, less that before exec; null where the kernel does not tell"
_WIRE = "the server's wire log; null with a live endpoint"
_HARNESS = "s3bench's own processes"
_LOAD = "workers of a load run; null otherwise"
_LOAD_BINS = "histogram of a load run, nearest rank to 0.2 %; null for too few operations"
_OF_LATENCY = "from an attempt's start to its last byte"
_OF_FIRST_BYTE = "from an attempt's start to the first byte of the response"
_OF_RESPONSE = "from the planned start, or the first attempt, to the last byte; null if equal to the latency"


def _lower(name: str, unit: Unit, meaning: str, source: str) -> Metric:
    return Metric(name=name, unit=unit, direction=Direction.LOWER, meaning=meaning, source=source)


def _neutral(name: str, unit: Unit, meaning: str, source: str) -> Metric:
    return Metric(name=name, unit=unit, direction=Direction.NEUTRAL, meaning=meaning, source=source)


METRICS: tuple[Metric, ...] = (
    _lower("total_time", Unit.SECONDS, "from just before the program was executed to its end", "monotonic clock"),
    _lower(
        "max_memory",
        Unit.BYTES,
        "most resident memory of the process tree",
        "the largest sample, or the kernel's high-water mark if that is higher",
    ),
    _neutral("max_cpu", Unit.CORES, "most cores in use over one data interval", _SAMPLES),
    _lower("p50_memory", Unit.BYTES, "median resident memory of the process tree", _PERCENTILE),
    _lower("p95_memory", Unit.BYTES, "95th percentile of the tree's resident memory", _PERCENTILE),
    _neutral("p50_cpu", Unit.CORES, "median of the cores in use", _PERCENTILE),
    _neutral("p95_cpu", Unit.CORES, "95th percentile of the cores in use", _PERCENTILE),
    _lower(
        "first_client_invocation_time",
        Unit.SECONDS,
        "from the spawn to the first call of an API client",
        "probe inside the client, or the first request on the wire if there is none",
    ),
    _lower("user_cpu_time", Unit.SECONDS, "CPU time in the program's own code", _RUSAGE),
    _lower("system_cpu_time", Unit.SECONDS, "CPU time in the kernel on its behalf", _RUSAGE),
    _lower("cpu_time", Unit.SECONDS, "user and system CPU time together", _RUSAGE),
    _lower(
        "peak_memory",
        Unit.BYTES,
        "most resident memory of all processes of the tree at one time; pages that they share count once",
        "the kernel's high-water mark (ru_maxrss); with several processes, looks at what each holds",
    ),
    _neutral("minor_faults", Unit.COUNT, "page faults served without reading a disk", _RUSAGE),
    _lower("major_faults", Unit.COUNT, "page faults that read a disk; not 0 means a cold cache", _RUSAGE),
    _neutral("voluntary_context_switches", Unit.COUNT, "number of times that it waited for something", _RUSAGE),
    _neutral("involuntary_context_switches", Unit.COUNT, "number of times that the kernel preempted it", _RUSAGE),
    _neutral(
        "machine_speed.rate",
        Unit.PER_SECOND,
        "speed of the client's core: how often a second it does a fixed piece of work",
        _SPEED,
    ),
    _neutral("machine_speed.error", Unit.SHARE, "relative standard error of that mean", _SPEED),
    _neutral("machine_speed.probes", Unit.COUNT, "number of probes", _SPEED),
    _neutral("runqueue_wait_time", Unit.SECONDS, "time its first thread was ready to run and had no core", _SCHEDSTAT),
    Metric(
        name="throughput",
        unit=Unit.BYTES_PER_SECOND,
        direction=Direction.HIGHER,
        meaning="payload bytes both ways over total_time, start-up included; in a load run verified bytes only",
        source="wire.bytes_received, wire.bytes_sent and total_time; workers of a load run",
    ),
    _lower("milestones.interpreter_start", Unit.SECONDS, "spawn to the first line of Python", _PROBE),
    _lower("milestones.imports_done", Unit.SECONDS, "spawn to the client's modules being imported", _PROBE),
    _lower("milestones.plugins_loaded", Unit.SECONDS, "spawn to the plug-ins being loaded", _PROBE),
    _lower("milestones.client_created", Unit.SECONDS, "spawn to the first API client being made", _PROBE),
    _lower("milestones.first_request", Unit.SECONDS, "spawn to the first byte of the first request", _WIRE),
    _lower("milestones.last_response", Unit.SECONDS, "spawn to the last byte of the last response", _WIRE),
    _lower("milestones.exit", Unit.SECONDS, "spawn to the interpreter's own exit", _PROBE),
    _lower("wire.requests", Unit.COUNT, "HTTP requests", _WIRE),
    _lower("wire.retries", Unit.COUNT, "requests that were a second or later attempt", _WIRE),
    _neutral("wire.connections", Unit.COUNT, "connections accepted", _WIRE),
    _neutral("wire.requests_in_flight_max", Unit.COUNT, "most requests at one time", _WIRE),
    _neutral("wire.bytes_received", Unit.BYTES, "payload that the client uploaded, framing taken off", _WIRE),
    _neutral("wire.bytes_sent", Unit.BYTES, "response bodies that the client was sent", _WIRE),
    _neutral("wire.part_size_max", Unit.BYTES, "largest payload of one request or response", _WIRE),
    _neutral("wire.checksums_verified", Unit.COUNT, "checksums of the client that the server recomputed", _WIRE),
    _neutral("harness.samples", Unit.COUNT, "samples taken", _HARNESS),
    _lower("harness.turnaround_time", Unit.SECONDS, "end of the iteration before to the start of this one", _HARNESS),
    _lower(
        "harness.sampler_cpu_time",
        Unit.SECONDS,
        "CPU time of sampling, of looking for helper processes and of probing the core during the iteration",
        _HARNESS,
    ),
    _lower("harness.server_cpu_time", Unit.SECONDS, "CPU time of the server during the iteration", _HARNESS),
    Metric(
        name="load.operations_rate",
        unit=Unit.PER_SECOND,
        direction=Direction.HIGHER,
        meaning="successful operations per second of the measured window",
        source=_LOAD,
    ),
    _lower(
        "load.error_rate",
        Unit.SHARE,
        "share of ended operations that failed after all attempts",
        f"{_LOAD}, or if no operation ended",
    ),
    _lower("load.latency.mean", Unit.SECONDS, f"mean, {_OF_LATENCY}", _LOAD),
    _lower("load.latency.p50", Unit.SECONDS, f"median, {_OF_LATENCY}", _LOAD_BINS),
    _lower("load.latency.p90", Unit.SECONDS, f"90th percentile, {_OF_LATENCY}", _LOAD_BINS),
    _lower("load.latency.p99", Unit.SECONDS, f"99th percentile, {_OF_LATENCY}", _LOAD_BINS),
    _lower("load.latency.p999", Unit.SECONDS, f"99.9th percentile, {_OF_LATENCY}", _LOAD_BINS),
    _lower("load.latency.max", Unit.SECONDS, f"longest, {_OF_LATENCY}", _LOAD),
    _lower("load.first_byte.p50", Unit.SECONDS, f"median, {_OF_FIRST_BYTE}", _LOAD_BINS),
    _lower("load.first_byte.p90", Unit.SECONDS, f"90th percentile, {_OF_FIRST_BYTE}", _LOAD_BINS),
    _lower("load.first_byte.p99", Unit.SECONDS, f"99th percentile, {_OF_FIRST_BYTE}", _LOAD_BINS),
    _lower("load.response.p50", Unit.SECONDS, f"median, {_OF_RESPONSE}", _LOAD_BINS),
    _lower("load.response.p99", Unit.SECONDS, f"99th percentile, {_OF_RESPONSE}", _LOAD_BINS),
    _neutral("load.in_flight", Unit.COUNT, "mean number of operations in flight", _LOAD),
    _neutral("load.client_cpu_share", Unit.SHARE, "share of a core that the busiest worker used", _LOAD),
)

METRICS_BY_NAME = {metric.name: metric for metric in METRICS}


def render_metrics() -> str:
    """Render the table as Markdown, for the documentation."""
    rows = [f"| `{m.name}` | {m.unit} | {m.direction} | {m.meaning} | {m.source} |" for m in METRICS]
    return "\n".join(("| metric | unit | direction | meaning | source |", "| --- | --- | --- | --- | --- |", *rows))


def render_figure(value: float, unit: Unit) -> str:
    """Write a figure with its unit, to three digits; counts in full."""
    match unit:
        case Unit.SECONDS:
            return render_seconds(value)
        case Unit.BYTES:
            return render_bytes(value)
        case Unit.BYTES_PER_SECOND:
            return f"{render_bytes(value)}/s"
        case Unit.CORES:
            return f"{value:.2f} cores"
        case Unit.PER_SECOND:
            return f"{value:,.0f}/s" if abs(value) >= 100 else f"{value:.3g}/s"  # noqa: PLR2004 (three digits)
        case Unit.SHARE:
            return f"{value * 100:.3g} %"
        case Unit.COUNT:
            return f"{value:,.1f}".removesuffix(".0")
