"""Makes the measurement of one iteration from its process, the server's log and the probes' milestones."""

import os
import re
import stat
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from s3bench.results.measurement import Measurement, Milestones, NetworkFigure, Wire, WireFacts, measure
from s3bench.results.redaction import without_queries
from s3bench.results.timeline import REQUESTS_MAX, RequestSpan, Timeline, thinned
from s3bench.run.process import ProcessRecord
from s3bench.run.wire_checks import engines, moves_object_data
from s3bench.s3.network.accuracy import Accuracy, accuracy
from s3bench.s3.network.model import NetworkModel
from s3bench.s3.wirelog import WireLog, WireRequest

FIRST_CALL = "first_client_invocation"
"""The probes' name for the first call of an API client."""

_MILESTONES = {FIRST_CALL, *Milestones.__struct_fields__}
_MILESTONE = re.compile(rb"(?P<name>[a-z_]{1,40}) (?P<at_ns>[0-9]{1,19})")
_PROBE_BYTES_MAX = 1024 * 1024  # of the probes' file; they write some hundred bytes
_SECOND_NS = 1_000_000_000
_TOO_MANY_REQUESTS, _SERVER_ERRORS = 429, 500
_ERROR_CHARACTERS = 200
"""How much is kept of what was wrong with one request."""


def read_milestones(probe_file: Path, *, started_ns: int) -> dict[str, float]:
    """The first time each milestone was reached, in seconds since the spawn.

    Lines are `NAME MONOTONIC_NS`. The client can write to the file and replace it: what is no such line is skipped, and
    what is no regular file is not read.
    """
    milestones: dict[str, float] = {}
    for line in _lines_of(probe_file):
        found = _MILESTONE.fullmatch(line)
        if found is not None and found["name"].decode() in _MILESTONES:
            milestones.setdefault(found["name"].decode(), (int(found["at_ns"]) - started_ns) / _SECOND_NS)
    return milestones


def _lines_of(probe_file: Path) -> list[bytes]:
    try:
        descriptor = os.open(probe_file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        return os.read(descriptor, _PROBE_BYTES_MAX).splitlines() if stat.S_ISREG(os.fstat(descriptor).st_mode) else []
    finally:
        os.close(descriptor)


def measure_run(
    record: ProcessRecord,
    log: WireLog | None,
    milestones_s: Mapping[str, float],
    *,
    iteration: int,
    turnaround_s: float | None = None,
    network: NetworkModel | None = None,
    keeps_timeline: bool = False,
    warnings: tuple[str, ...] = (),
) -> Measurement:
    """What one iteration showed; `turnaround_s` passed between the end of the one before and its start.

    `network` is the model that the server was to impose. `warnings` are what the wire showed of the transfer.
    """
    series, started_ns = record.series, record.started_ns
    met = Accuracy(figures=(), warnings=()) if log is None or network is None else accuracy(log, network)
    return measure(
        iteration=iteration,
        total_s=(record.ended_ns - started_ns) / _SECOND_NS,
        series=series,
        speed=record.speed,
        usage=record.usage,
        wire=None if log is None else wire_facts(log, started_ns=started_ns),
        milestones_s={name: at_s for name, at_s in milestones_s.items() if name != FIRST_CALL},
        first_client_invocation_s=milestones_s.get(FIRST_CALL),
        sampler_cpu_s=record.sampler_cpu_s,
        turnaround_s=turnaround_s,
        network=tuple(
            NetworkFigure(
                name=figure.name,
                unit=figure.unit,
                asked=figure.asked,
                achieved=figure.achieved,
                count=figure.count,
            )
            for figure in met.figures
        ),
        timeline=_timeline(record, log) if keeps_timeline else Timeline(),
        warnings=(*record.warnings, *met.warnings, *warnings),
    )


def _timeline(record: ProcessRecord, log: WireLog | None) -> Timeline:
    requests = () if log is None else log.requests[:REQUESTS_MAX]
    return Timeline(
        series=None if record.series is None else thinned(record.series, record.speed),
        requests=tuple(
            _span(request, attempt, record.started_ns)
            for request, attempt in zip(requests, attempts(requests), strict=True)
        ),
        requests_left_out=0 if log is None else len(log.requests) - len(requests),
    )


def _span(request: WireRequest, attempt: int, started_ns: int) -> RequestSpan:
    answered = request.status > 0
    return RequestSpan(
        connection=request.connection or None,
        kind=_kind(request.method, request.query, bool(request.byte_range)),
        start=_since(started_ns, request.started_ns),
        body_end=_since(started_ns, request.body_ended_ns),
        first_byte=_since(started_ns, request.response_started_ns) if answered else None,
        end=_since(started_ns, request.ended_ns),
        bytes_up=request.body_bytes,
        bytes_down=request.response_bytes,
        status=request.status if answered else None,
        attempt=attempt,
        fault=request.fault.value,
        error=without_queries(request.error)[:_ERROR_CHARACTERS] if request.error else "",
    )


def attempts(requests: Iterable[WireRequest]) -> Iterator[int]:
    """Give the number of each request's attempt, from 1: what the client tells, or what the failures before it show.

    Many clients tell none. A request is another attempt if the last ones with its method, path, query and range had
    failed when it began. What a DeleteObjects names is in its body: of those only the client tells. Of a request that
    the client gave up the server learns the end late, so it counts from its beginning.
    """
    failures: defaultdict[tuple[str, str, str, str], list[int]] = defaultdict(list)  # from when on they count
    for request in requests:
        if _is_batch(request):
            yield request.attempt
            continue
        target = request.method, request.path, request.query, request.byte_range
        yield max(request.attempt, 1 + sum(failed_ns <= request.started_ns for failed_ns in failures[target]))
        if _has_failed(request):
            is_answered = request.complete and not request.error
            failures[target].append(request.ended_ns if is_answered else request.started_ns)
        else:
            del failures[target]


def _is_batch(request: WireRequest) -> bool:
    return request.method == "POST" and request.query in {"delete", "delete="}


def _has_failed(request: WireRequest) -> bool:
    """Whether a client would send it again: no whole response, or one with an error of the server's."""
    is_refused = request.status == _TOO_MANY_REQUESTS or request.status >= _SERVER_ERRORS
    return is_refused or not request.status or not request.complete or bool(request.error)


def _since(started_ns: int, at_ns: int) -> float:
    """Seconds since the spawn, to the microsecond."""
    return round((at_ns - started_ns) / _SECOND_NS, 6)


def wire_facts(log: WireLog, *, started_ns: int) -> WireFacts:
    """Count what the server saw. Sizes are those of object data where any moved, else of any body."""
    requests = log.requests
    data = [request for request in requests if moves_object_data(request)]
    first_ns = min((request.started_ns for request in requests), default=None)
    last_ns = max((request.ended_ns for request in requests if request.ended_ns), default=None)
    return WireFacts(
        counts=Wire(
            requests=len(requests),
            retries=sum(attempt > 1 for attempt in attempts(requests)),
            connections=log.connections,
            requests_in_flight_max=log.requests_in_flight_max,
            bytes_received=sum(request.body_bytes for request in requests),
            bytes_sent=sum(request.response_bytes for request in requests),
            part_size_max=max((max(request.body_bytes, request.response_bytes) for request in data), default=0),
            checksums_verified=sum(sum(request.checksums.values()) for request in requests if request.checksums),
        ),
        first_request_s=None if first_ns is None else (first_ns - started_ns) / _SECOND_NS,
        last_response_s=None if last_ns is None else (last_ns - started_ns) / _SECOND_NS,
        requests_by_kind=Counter(_kind(item.method, item.query, bool(item.byte_range)) for item in requests),
        engine="+".join(sorted(engines(data or requests))),
        server_cpu_s=log.server_cpu_s,
    )


_QUERY_KINDS = ("uploads", "partNumber", "uploadId", "list-type", "delete")


@lru_cache(maxsize=4096)
def _kind(method: str, query: str, is_ranged: bool) -> str:  # noqa: FBT001 (part of a key)
    """What a request was, for counting: its method, with the query key that changes its meaning, or `ranged`."""
    keys = {item.partition("=")[0] for item in query.split("&")}
    special = next((key for key in _QUERY_KINDS if key in keys), "ranged" if is_ranged else "")
    return f"{method} {special}".rstrip()
