"""The wire log while it is written: one tuple a request, turned into `wirelog` types once, at the end.

Owns what is kept per request and how much of it. The server's loop appends; nothing is parsed, decoded or allocated
beyond the tuple until the log is collected, since that would be the client's time.
"""

import re
from typing import Any

from s3bench.s3.engine import engine_of
from s3bench.s3.exchange import Reply
from s3bench.s3.http import RequestHead
from s3bench.s3.wirelog import Engine, WireLog, WireRequest

RECORDS_MAX = 1_000_000
"""Requests kept of one iteration: about 0.6 KB each, and 200 times the largest shipped benchmark."""

FAULTS_MAX = 100

_ATTEMPT = re.compile(r"attempt=([0-9]{1,6})", re.ASCII)


class Recorder:
    """Collects what the connections of one iteration did."""

    __slots__ = ("_attempts", "_faults", "_records", "_unkept", "connections", "connections_open_max", "in_flight_max")

    def __init__(self) -> None:
        self._records: list[tuple[Any, ...]] = []
        self._faults: list[str] = []
        self._unkept = [0, 0]  # records and faults beyond their maximum
        self.connections = 0
        self.connections_open_max = 0
        self.in_flight_max = 0

    def add(  # positional and flat: this runs once a request
        self,
        head: RequestHead,
        connection: int,
        times_ns: tuple[int, int, int, int],
        body_bytes: int,
        wire_bytes: int,
        response_bytes: int,
        reply: Reply | None,
        error: str,
        /,
    ) -> None:
        """One exchange that has ended; it is complete unless `error` says otherwise."""
        if len(self._records) >= RECORDS_MAX:
            self._unkept[0] += 1
            return
        fields = head.fields
        self._records.append(
            (
                times_ns,
                head.method,
                head.path,
                head.query,
                fields.get("range", ""),
                fields.get("amz-sdk-request", ""),
                fields.get("user-agent", ""),
                connection,
                body_bytes,
                wire_bytes,
                response_bytes,
                reply,
                error,
            )
        )

    def fault(self, text: str) -> None:
        """A connection that spoke no HTTP, in words."""
        if len(self._faults) < FAULTS_MAX:
            self._faults.append(text)
        else:
            self._unkept[1] += 1

    def log(self, *, leftover: tuple[str, ...], server_cpu_s: float) -> WireLog:
        """Everything recorded, requests in order of their start."""
        engines: dict[str, Engine] = {}
        self._records.sort(key=_started_ns)
        return WireLog(
            requests=tuple(_request(record, engines) for record in self._records),
            leftover=leftover,
            connections=self.connections,
            connections_open_max=self.connections_open_max,
            requests_in_flight_max=self.in_flight_max,
            server_cpu_s=server_cpu_s,
            faults=tuple(self._faults) + self._overflow(),
        )

    def _overflow(self) -> tuple[str, ...]:
        records, faults = self._unkept
        texts = []
        if records:
            texts.append(
                f"the wire log is full at {RECORDS_MAX} requests; {records} more were answered but not recorded"
            )
        if faults:
            texts.append(f"{faults} more faults like these")
        return tuple(texts)


def _started_ns(record: tuple[Any, ...]) -> int:
    started: int = record[0][0]
    return started


def _request(record: tuple[Any, ...], engines: dict[str, Engine]) -> WireRequest:
    times_ns, method, path, query, byte_range, sdk_request, user_agent, connection, *rest = record
    body_bytes, wire_bytes, response_bytes, reply, error = rest
    engine = engines.get(user_agent)
    if engine is None:
        engine = engines[user_agent] = engine_of(user_agent)
    attempt = _ATTEMPT.search(sdk_request)
    segment = None if reply is None else reply.segment
    return WireRequest(
        method=method,
        path=path,
        query=query,
        byte_range=byte_range,
        connection=connection,
        attempt=int(attempt[1]) if attempt else 1,
        engine=engine,
        started_ns=times_ns[0],
        body_ended_ns=times_ns[1],
        response_started_ns=times_ns[2],
        ended_ns=times_ns[3],
        status=0 if reply is None else reply.status,
        body_bytes=body_bytes,
        wire_bytes=wire_bytes,
        response_bytes=response_bytes,
        checksums={} if reply is None or reply.checksums is None else reply.checksums,
        file="" if segment is None else segment.file,
        served_start=0 if segment is None else segment.start,
        served_end=0 if segment is None else segment.end,
        complete=not error,
        error=error or ("" if reply is None else reply.error),
    )
