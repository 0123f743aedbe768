"""The event loop of one server, and what all its connections share."""

import heapq
import time
from collections.abc import Iterator
from typing import Protocol

from s3bench.s3.protocol.exchange import Handler
from s3bench.s3.protocol.http import render_date
from s3bench.s3.server.recorder import WireRecorder
from s3bench.system.event_loop import EventLoop, Timed, Watched


class ServerWatched(Watched, Protocol):
    """The owner of a watched descriptor of the server."""

    def on_sweep(self, now_ns: int) -> None:
        """Give up what has waited too long."""

    def fail(self, why: str) -> None:
        """End what is on at this descriptor after an error in the server's own code; the loop goes on."""


class ServerTimed(ServerWatched, Timed, Protocol):
    """The owner of a timer of the server."""


class ServerLoop(EventLoop[ServerWatched, ServerTimed]):
    """The event loop, the recorder and the handler of one server."""

    __slots__ = ("_date_due_ns", "busy", "date_line", "handler", "prompt_timers", "recorder")

    def __init__(self, handler: Handler) -> None:
        super().__init__()
        self.handler = handler
        self.recorder = WireRecorder()
        self.prompt_timers: list[tuple[int, int, ServerTimed, int]] = []  # first bytes, which come before all others
        self.busy = 0  # requests between their first byte and the end of their response
        self.date_line = b""
        self._date_due_ns = 0
        self.tick()

    def tick(self) -> None:
        """Begin a new batch of events: take the time, and a new Date once a second."""
        self.now_ns = self.clock()
        if self.now_ns >= self._date_due_ns:
            wall_s = time.time()
            self.date_line = f"Date: {render_date(wall_s)}\r\n".encode()
            self._date_due_ns = self.now_ns + round((1 - wall_s % 1) * 1e9)

    def call_promptly_at(self, due_ns: int, owner: ServerTimed, ticket: int) -> None:
        """Call `owner.on_time(ticket)` when the clock reaches `due_ns`, before other timers that are due."""
        self._sequence += 1
        heapq.heappush(self.prompt_timers, (due_ns, self._sequence, owner, ticket))

    def next_due_ns(self) -> int | None:
        """When the next timer is due, if there is one."""
        heaps = [heap[0][0] for heap in (self.timers, self.prompt_timers) if heap]
        return min(heaps) if heaps else None

    def due(self) -> Iterator[tuple[ServerTimed, int]]:
        """The timers whose time has come, each once; prompt ones also where theirs comes meanwhile."""
        while True:
            if self.prompt_timers and self.prompt_timers[0][0] <= self.clock():
                _, _, owner, ticket = heapq.heappop(self.prompt_timers)
            elif self.timers and self.timers[0][0] <= self.now_ns:
                _, _, owner, ticket = heapq.heappop(self.timers)
            else:
                return
            yield owner, ticket

    def forget_timers(self) -> None:
        """Cancel all timers."""
        self.timers.clear()
        self.prompt_timers.clear()
