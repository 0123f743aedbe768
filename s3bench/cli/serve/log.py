"""The log of `s3bench serve`: introduction, requests, injected faults, and the totals at the end."""

import time
from collections.abc import Callable, Sequence

import msgspec

from s3bench.cli.serve.request_log import LogFormat, json_line, remark_line, text_line
from s3bench.cli.serve.status import ServeStatus
from s3bench.s3.control import Counters, Drained
from s3bench.s3.wirelog import WireLog, WireRequest
from s3bench.units import render_bytes, render_seconds


class ServerLog:
    """Writes what the server did as lines in `form`; `started_s` is the monotonic time of its start.

    In JSON every line is one object with an `event`; the introduction is left out.
    """

    def __init__(
        self, form: LogFormat, status: ServeStatus, *, started_s: float, wall_ns: Callable[[], int] = time.time_ns
    ) -> None:
        self._form = form
        self._status = status
        self._started_s = started_s
        self._wall_ns = wall_ns
        self._counters = Counters()

    def introduce(self, lines: Sequence[str]) -> None:
        """Write what is served and how to reach it."""
        if self._form is not LogFormat.JSON:
            self._status.say(lines)

    def remark(self, event: str, text: str) -> None:
        """Write a line that is not a request."""
        self._status.say([remark_line(self._form, event, text)])

    def update(self, drained: Drained) -> None:
        """Write what is new, and update the status."""
        self._counters = drained.counters
        self._write_requests(drained.requests, drained.faults)
        self._write_failures(drained.failures)
        for text in drained.warnings:
            self.remark("warning", text)
        self._status.count(drained.counters)

    def end(self, log: WireLog, *, ended_s: float) -> None:
        """Write the rest, unused responses, and the totals."""
        self._write_requests(log.requests, log.faults)
        self._write_failures(log.failures)
        for line in log.leftover:
            self.remark("leftover", line)
        self._status.say([self._totals(log, ended_s - self._started_s)])

    def _write_requests(self, requests: Sequence[WireRequest], faults: Sequence[str]) -> None:
        if self._form is LogFormat.NONE:
            return
        # The two clocks drift apart over days, so their difference is taken each time.
        epoch_ns = self._wall_ns() - time.monotonic_ns()
        line = json_line if self._form is LogFormat.JSON else text_line
        self._status.say(
            [
                *(line(request, epoch_ns=epoch_ns) for request in requests),
                *(remark_line(self._form, "fault", fault) for fault in faults),
            ]
        )

    def _write_failures(self, failures: Sequence[str]) -> None:
        """Write internal errors of s3bench, whatever the form of the log."""
        for text in failures:
            self.remark("warning", f"{text}; please report this as a bug of s3bench")

    def _totals(self, log: WireLog, duration_s: float) -> str:
        before = self._counters
        totals = Totals(
            requests=before.requests + len(log.requests),
            bytes_received=before.bytes_received + sum(request.body_bytes for request in log.requests),
            bytes_sent=before.bytes_sent + sum(request.response_bytes for request in log.requests),
            connections=log.connections,
            server_cpu_s=log.server_cpu_s,
            duration_s=duration_s,
        )
        return msgspec.json.encode(totals).decode() if self._form is LogFormat.JSON else totals.in_words()


class Totals(msgspec.Struct, frozen=True, kw_only=True, tag="totals", tag_field="event"):
    """The last line: the totals from start to end."""

    requests: int
    bytes_received: int
    bytes_sent: int
    connections: int
    server_cpu_s: float
    duration_s: float

    def in_words(self) -> str:
        """The same for people."""
        return (
            f"s3bench: stopped after {render_seconds(self.duration_s)}: {self.requests} requests on "
            f"{self.connections} connections, {render_bytes(self.bytes_received)} received, "
            f"{render_bytes(self.bytes_sent)} sent, {render_seconds(self.server_cpu_s)} of CPU time"
        )
