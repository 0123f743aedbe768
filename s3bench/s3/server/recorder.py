"""Records requests for the wire log: one tuple each, turned into `wirelog` types when the log is asked for.

Keeps all until the end of an iteration, or until a drain takes them. Nothing is parsed, decoded or allocated beyond the
tuple until then, since that would be the client's time.
"""

import re
from operator import itemgetter
from typing import Any

import msgspec

from s3bench.s3.protocol.exchange import ReplyFacts
from s3bench.s3.protocol.http import RequestHead
from s3bench.s3.transfer_engine import engine_of
from s3bench.s3.wirelog import InjectedFault, TransferEngine, UploadDigest, WireLog, WireRequest

RECORDS_MAX = 1_000_000
"""Requests kept of one iteration: about 0.6 KB each, and 200 times the largest shipped benchmark."""

FAULTS_MAX = 100
"""Faults, and failures, kept between two looks at them."""

_BODY_BYTES, _RESPONSE_BYTES = 11, 13  # their places in a record, see `WireRecorder.add`

_FAULTS = {fault.value: fault for fault in InjectedFault}
_ATTEMPT = re.compile(r"attempt=([0-9]{1,6})", re.ASCII)


class RequestTotals(msgspec.Struct, frozen=True):
    """Requests that have ended, and the bytes of their bodies both ways."""

    requests: int = 0
    bytes_received: int = 0
    bytes_sent: int = 0

    def plus(self, other: "RequestTotals") -> "RequestTotals":
        """Give the sum of both."""
        return RequestTotals(
            self.requests + other.requests,
            self.bytes_received + other.bytes_received,
            self.bytes_sent + other.bytes_sent,
        )


class WireRecorder:
    """Collects what the connections of one iteration did."""

    __slots__ = (
        "_failures",
        "_faults",
        "_forgotten",
        "_unkept",
        "connections",
        "connections_open_max",
        "in_flight_max",
        "records",
        "records_max",
    )

    def __init__(self) -> None:
        self.records: list[tuple[Any, ...]] = []  # fast_path.c appends the same tuples as `add`
        self.records_max = RECORDS_MAX
        self._faults: list[str] = []
        self._failures: list[str] = []
        self._unkept = [0, 0]  # records and faults beyond their maximum
        self._forgotten = RequestTotals()  # what was recorded and is not kept (any more)
        self.connections = 0
        self.connections_open_max = 0
        self.in_flight_max = 0

    def add(  # noqa: PLR0917 (this runs once a request, and keywords cost time)
        self,
        head: RequestHead,
        connection: int,
        started_ns: int,
        body_ended_ns: int,
        response_started_ns: int,
        ended_ns: int,
        body_bytes: int,
        wire_bytes: int,
        response_bytes: int,
        facts: ReplyFacts,
        error: str,
        /,
    ) -> None:
        """Record one exchange that has ended; it is complete unless `error` says otherwise."""
        if len(self.records) >= self.records_max:
            self._unkept[0] += 1
            self._forgotten = self._forgotten.plus(RequestTotals(1, body_bytes, response_bytes))
            return
        field = head.fields.get
        self.records.append(
            (
                started_ns,
                body_ended_ns,
                response_started_ns,
                ended_ns,
                head.method,
                head.path,
                head.query,
                field("range", ""),
                field("amz-sdk-request", ""),
                field("user-agent", ""),
                connection,
                body_bytes,
                wire_bytes,
                response_bytes,
                facts,
                error,
            )
        )

    def fault(self, text: str) -> None:
        """Record a connection that spoke no HTTP, in words."""
        if len(self._faults) < FAULTS_MAX:
            self._faults.append(text)
        else:
            self._unkept[1] += 1

    def failure(self, text: str) -> None:
        """Record an error in the server's own code, in words."""
        if len(self._failures) < FAULTS_MAX:
            self._failures.append(text)

    def log(
        self,
        *,
        leftover: tuple[str, ...],
        server_cpu_s: float,
        verified: bool = False,
        digests: tuple[UploadDigest, ...] = (),
    ) -> WireLog:
        """Everything recorded, requests in order of their start, with what the handler knows."""
        self.records.sort(key=itemgetter(0))
        return WireLog(
            requests=_requests(self.records),
            leftover=leftover,
            connections=self.connections,
            connections_open_max=self.connections_open_max,
            requests_in_flight_max=self.in_flight_max,
            server_cpu_s=server_cpu_s,
            faults=tuple(self._faults) + self._overflow(),
            failures=tuple(self._failures),
            verified=verified,
            digests=digests,
        )

    def totals(self) -> "RequestTotals":
        """Count everything recorded, what was drained included."""
        return self._forgotten.plus(_totals_of(self.records))

    def drain(self, requests_max: int) -> tuple[WireRequest, ...]:
        """Give up to `requests_max` of the oldest records, in order of their end, and keep only their totals.

        With 0 all records are forgotten, but for their totals.
        """
        records = self.records[: requests_max or None]
        del self.records[: requests_max or None]
        self._forgotten = self._forgotten.plus(_totals_of(records))
        return _requests(records) if requests_max else ()

    def drain_faults(self) -> tuple[str, ...]:
        """Give the faults recorded since the last time, and forget them."""
        faults = tuple(self._faults) + self._overflow()
        self._faults = []
        self._unkept = [0, 0]
        return faults

    def drain_failures(self) -> tuple[str, ...]:
        """Give the failures recorded since the last time, and forget them."""
        failures, self._failures = tuple(self._failures), []
        return failures

    @property
    def pending(self) -> int:
        """How many records are kept."""
        return len(self.records)

    def _overflow(self) -> tuple[str, ...]:
        records, faults = self._unkept
        texts = []
        if records:
            texts.append(
                f"the wire log is full at {self.records_max} requests; {records} more were answered but not recorded"
            )
        if faults:
            texts.append(f"{faults} more faults like these")
        return tuple(texts)


def _totals_of(records: list[tuple[Any, ...]]) -> RequestTotals:
    return RequestTotals(
        len(records),
        sum(record[_BODY_BYTES] for record in records),
        sum(record[_RESPONSE_BYTES] for record in records),
    )


def _requests(records: list[tuple[Any, ...]]) -> tuple[WireRequest, ...]:
    """Parse the headers of each record. Clients repeat the same few, and harness and client wait for the log."""
    engines: dict[str, TransferEngine] = {}
    attempts: dict[str, int] = {}
    requests: list[WireRequest] = []
    for (
        started_ns,
        body_ended_ns,
        response_started_ns,
        ended_ns,
        method,
        path,
        query,
        byte_range,
        sdk_request,
        user_agent,
        connection,
        body_bytes,
        wire_bytes,
        response_bytes,
        (status, checksums, s3_error, file, served_start, served_end, asked_ttfb_s, fault),
        error,
    ) in records:
        engine = engines.get(user_agent)
        if engine is None:
            engine = engines[user_agent] = engine_of(user_agent)
        attempt = attempts.get(sdk_request)
        if attempt is None:
            attempt = attempts[sdk_request] = _attempt(sdk_request)
        requests.append(
            WireRequest(
                method=method,
                path=path,
                query=query,
                byte_range=byte_range,
                connection=connection,
                attempt=attempt,
                engine=engine,
                started_ns=started_ns,
                body_ended_ns=body_ended_ns,
                response_started_ns=response_started_ns,
                ended_ns=ended_ns,
                status=status,
                body_bytes=body_bytes,
                wire_bytes=wire_bytes,
                response_bytes=response_bytes,
                checksums=checksums,
                file=file,
                served_start=served_start,
                served_end=served_end,
                complete=not error,
                error=error or s3_error,
                asked_ttfb_s=asked_ttfb_s,
                fault=_FAULTS[fault],
            )
        )
    return tuple(requests)


def _attempt(sdk_request: str) -> int:
    found = _ATTEMPT.search(sdk_request)
    return int(found[1]) if found else 1
