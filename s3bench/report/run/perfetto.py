"""One iteration of each result as a trace in Chrome's JSON, which Perfetto's UI and chrome://tracing open.

The format is the Trace Event Format's JSON object form
(https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU): complete events (`X`) with `ts` and
`dur` in microseconds, counter events (`C`), and metadata events (`M`) that name processes and threads. Every result is
a process of its own, and all of them begin at 0, so that clients lie one below the other.

A run of a client has its process, on a second track what it did between the milestones that were seen, and counters of
its memory and CPU. Where the document holds the iteration's requests, each connection is a track, and each request a
slice from its first byte to the last one of its response. A phase under load has counters for each second, and its
stalls.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from s3bench.report.label import benchmark_text, clipped
from s3bench.report.run.figures import check_any
from s3bench.results.document import Document, Result
from s3bench.results.load import Load, LoadMeasurement, Second
from s3bench.results.measurement import AnyMeasurement, Measurement, Milestones
from s3bench.results.timeline import RequestSpan, UsageSeries

_MICROSECONDS = 1e6
_PROCESS, _STEPS, _FIRST_CONNECTION = 1, 2, 3

UNTIL = {
    "interpreter_start": "start the interpreter",
    "imports_done": "import modules",
    "plugins_loaded": "load plug-ins",
    "client_created": "create the API client",
    "first_request": "prepare the first request",
    "last_response": "requests and responses",
    "exit": "finish",
    "": "end the process",
}
"""What the client was at until it reached a milestone, with the one before it seen as well."""

_COUNTERS: Mapping[str, Callable[[Second], float | None]] = {
    "operations per second": lambda second: second.operations,
    "failed attempts per second": lambda second: second.failures,
    "bytes per second": lambda second: second.bytes,
    "operations in flight": lambda second: second.in_flight,
    "response time p50 (ms)": lambda second: _milliseconds(second.p50),
    "response time p99 (ms)": lambda second: _milliseconds(second.p99),
    "response time max (ms)": lambda second: _milliseconds(second.max),
}

_Event = dict[str, Any]


def render_perfetto(document: Document) -> str:
    """Render the iteration of median total time of each result, and of a phase under load the first loop.

    Results without a measurement are left out. Raises `BadInput` if that leaves none.
    """
    events = [
        event
        for number, result in enumerate(document.results, 1)
        if (chosen := result.loops[0] if result.loops else result.median_iteration) is not None
        for event in _events(number, result, chosen)
    ]
    check_any(events, name="perfetto", holds="an iteration of each result")
    about = {"s3bench": clipped(document.s3bench), "started_at": clipped(document.started_at)}
    trace = {"traceEvents": events, "displayTimeUnit": "ms", "otherData": about}
    return json.dumps(trace, allow_nan=False, separators=(",", ":")) + "\n"


def _events(pid: int, result: Result, measurement: AnyMeasurement) -> Iterator[_Event]:
    title = f"{benchmark_text(result)} on {clipped(result.client.label)}"
    yield _named("process_name", pid, _PROCESS, f"{title}, iteration {measurement.iteration}")
    yield {"ph": "M", "name": "process_sort_index", "pid": pid, "tid": _PROCESS, "args": {"sort_index": pid}}
    if isinstance(measurement, LoadMeasurement):
        yield from _load_events(pid, measurement.load)
        return
    yield _named("thread_name", pid, _PROCESS, "process")
    yield _slice(pid, _PROCESS, benchmark_text(result), 0.0, measurement.total_time, _facts(measurement))
    yield _named("thread_name", pid, _STEPS, "steps between milestones")
    yield from _steps(pid, measurement)
    if measurement.series is not None:
        yield from _usage(pid, measurement.series)
    for tid, (name, spans) in enumerate(_tracks(measurement.requests), _FIRST_CONNECTION):
        yield _named("thread_name", pid, tid, name)
        for span in spans:
            yield _slice(pid, tid, clipped(span.kind), span.start, span.end, _request_facts(span))


def _steps(pid: int, measurement: Measurement) -> Iterator[_Event]:
    """What lies between the milestones that were seen, in the order in which they were reached."""
    seen = _seen(measurement.milestones)
    reached = [(0.0, ""), *sorted((at_s, name) for name, at_s in seen.items() if at_s >= 0)]
    if len(reached) > 1 and reached[-1][0] < measurement.total_time:
        reached.append((measurement.total_time, ""))
    for (start_s, _), (end_s, name) in pairwise(reached):
        yield _slice(pid, _STEPS, UNTIL[name], start_s, end_s, {"until": name or "end of the process"})


def _usage(pid: int, series: UsageSeries) -> Iterator[_Event]:
    """What was used from each point to the next: the largest memory and the mean of the cores, which the next tells."""
    pairs = zip(series.memory[1:], series.cores[1:], strict=True)
    for at_s, (memory_bytes, cores) in zip(series.at, pairs, strict=False):
        yield _count(pid, "memory (bytes)", at_s, memory_bytes)
        if cores is not None:
            yield _count(pid, "cores in use", at_s, cores)


def _tracks(requests: Sequence[RequestSpan]) -> Iterator[tuple[str, list[RequestSpan]]]:
    """Give every connection a track, by its number.

    Requests without one (there were no sockets), and those that began on a connection before the one ahead of them had
    ended, go to the first track of the same name that is free: slices of a track may not overlap.
    """
    tracks: dict[str, list[list[RequestSpan]]] = {}
    for span in sorted(requests, key=lambda span: (span.connection or 0, span.start)):
        name = "requests without a connection" if span.connection is None else f"connection {span.connection}"
        lanes = tracks.setdefault(name, [])
        free = next((lane for lane in lanes if lane[-1].end <= span.start), None)
        if free is None:
            lanes.append([span])
        else:
            free.append(span)
    for name, lanes in tracks.items():
        for lane in lanes:
            yield name, lane


def _request_facts(span: RequestSpan) -> _Event:
    """What stands beside the slice of a request: sizes in bytes, moments in seconds since the spawn."""
    facts = {
        "status": span.status,
        "attempt": span.attempt,
        "bytes_up": span.bytes_up,
        "bytes_down": span.bytes_down,
        "body_end_s": span.body_end,
        "first_byte_s": span.first_byte,
        "fault": clipped(span.fault) or None,
        "error": clipped(span.error) or None,
    }
    return {name: value for name, value in facts.items() if value is not None}


def _seen(milestones: Milestones) -> dict[str, float]:
    named = ((name, getattr(milestones, name)) for name in Milestones.__struct_fields__)
    return {name: at_s for name, at_s in named if at_s is not None}


def _facts(measurement: Measurement) -> _Event:
    """What stands beside the slice of the process: figures that are known, in seconds and bytes."""
    facts = {
        "engine": clipped(measurement.engine) or None,
        "total_time_s": measurement.total_time,
        "cpu_time_s": measurement.cpu_time,
        "peak_memory_bytes": measurement.peak_memory,
        "requests": measurement.wire.requests if measurement.wire else None,
        "connections": measurement.wire.connections if measurement.wire else None,
    }
    return {name: value for name, value in facts.items() if value is not None}


def _load_events(pid: int, load: Load) -> Iterator[_Event]:
    yield _named("thread_name", pid, _PROCESS, "phase")
    if not load.seconds:
        return
    first, last = load.seconds[0].second, load.seconds[-1].second
    about = {"operations": load.operations, "failed": load.failed, "operations_rate": load.operations_rate}
    yield _slice(pid, _PROCESS, clipped(load.kind), float(first), float(last + 1), about)
    for second in load.seconds:
        yield from _counts(pid, second)
        if second.stalled:
            yield _slice(pid, _PROCESS, "stalled", float(second.second), float(second.second + 1), {})


def _counts(pid: int, second: Second) -> Iterator[_Event]:
    for name, value_of in _COUNTERS.items():
        value = value_of(second)
        if value is not None:
            yield _count(pid, name, float(second.second), value)


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1e3


def _slice(pid: int, tid: int, name: str, start_s: float, end_s: float, args: _Event) -> _Event:
    return {
        "ph": "X",
        "cat": "s3bench",
        "name": name,
        "pid": pid,
        "tid": tid,
        "ts": round(start_s * _MICROSECONDS, 3),
        "dur": round((end_s - start_s) * _MICROSECONDS, 3),
        "args": args,
    }


def _count(pid: int, name: str, at_s: float, value: float) -> _Event:
    at_us = round(at_s * _MICROSECONDS, 3)
    return {"ph": "C", "name": name, "pid": pid, "tid": _PROCESS, "ts": at_us, "args": {"value": value}}


def _named(what: str, pid: int, tid: int, name: str) -> _Event:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}}
