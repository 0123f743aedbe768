"""What `s3bench serve` tells while it runs: introduction, requests, faults, and the totals at the end.

Owns the order and the form of what is said. Single lines are `requestlog`'s, writing them `voice`'s.
"""

import time
from collections.abc import Callable, Sequence

import msgspec

from s3bench.cli.serve.request_log import (
    LogFormat,
    json_line,
    remark_line,
    text_line,
)
from s3bench.cli.serve.status import ServeStatus
from s3bench.s3.control import Counters, Drained
from s3bench.s3.wirelog import WireLog, WireRequest
from s3bench.units import render_bytes, render_seconds


class ServerLog:
    """Turns what the server says into lines in `form`, from `started_s` (monotonic) on.

    In JSON every line is one object, told apart by `event`; the introduction is for people alone.
    """

    def __init__(
        self, form: LogFormat, voice: ServeStatus, *, started_s: float, wall_ns: Callable[[], int] = time.time_ns
    ) -> None:
        self._form = form
        self._voice = voice
        self._started_s = started_s
        self._wall_ns = wall_ns
        self._counters = Counters()

    def introduce(self, lines: Sequence[str]) -> None:
        """Say what is served and how to reach it."""
        if self._form is not LogFormat.JSON:
            self._voice.say(lines)

    def remark(self, event: str, text: str) -> None:
        """Say something that is no request."""
        self._voice.say([remark_line(self._form, event, text)])

    def look(self, drained: Drained) -> None:
        """Tell what came since the last look."""
        self._counters = drained.counters
        self._tell(drained.requests, drained.faults)
        self._admit(drained.failures)
        self._voice.count(drained.counters)

    def end(self, log: WireLog, *, ended_s: float) -> None:
        """Tell the rest, responses left over, and the totals."""
        self._tell(log.requests, log.faults)
        self._admit(log.failures)
        for line in log.leftover:
            self.remark("leftover", line)
        self._voice.say([self._totals(log, ended_s - self._started_s)])

    def _tell(self, requests: Sequence[WireRequest], faults: Sequence[str]) -> None:
        if self._form is LogFormat.NONE:
            return
        # The two clocks drift apart over days, so they are compared anew each time.
        epoch_ns = self._wall_ns() - time.monotonic_ns()
        line = json_line if self._form is LogFormat.JSON else text_line
        self._voice.say(
            [
                *(line(request, epoch_ns=epoch_ns) for request in requests),
                *(remark_line(self._form, "fault", fault) for fault in faults),
            ]
        )

    def _admit(self, failures: Sequence[str]) -> None:
        """Report errors in our own code, whatever the form of the log."""
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
    """The last line: what the server did from its start to its end."""

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
