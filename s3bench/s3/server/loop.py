"""What all connections of one server share, and the clock they go by.

Owns the shared state of the epoll loop: one thread, so nothing is locked. `server` drives it, `connection` uses it.
"""

import heapq
import select
import time
from collections.abc import Iterator
from typing import Protocol

from s3bench.s3.protocol.exchange import Handler
from s3bench.s3.protocol.http import render_date
from s3bench.s3.server.recorder import WireRecorder

BUFFER_BYTES = 256 * 1024
"""Body bytes read in one piece where they are looked at: large enough for hashes to run at memory speed."""

VOID_BYTES = 8 * 1024 * 1024
"""Body bytes discarded in one system call. The kernel never writes there, so no memory stands behind it."""


class ServerWatched(Protocol):
    """Whoever owns a descriptor in the epoll set."""

    def on_event(self, events: int) -> None:
        """Go on, since the descriptor is ready for `events` (an epoll mask)."""

    def on_sweep(self, now_ns: int) -> None:
        """Give up what has waited too long."""

    def fail(self, why: str) -> None:
        """End what is on at this descriptor after an error in the server's own code; the loop goes on."""


class ServerTimer(ServerWatched, Protocol):
    """Whoever waits for a time."""

    def on_time(self, ticket: int) -> None:
        """Go on, since the time given to `ServerLoop.call_at` has come; `ticket` as given there."""


class ServerLoop:
    """The epoll set, the timers, the recorder and the handler of one server."""

    __slots__ = (
        "_date_due_ns",
        "_sequence",
        "buffer",
        "busy",
        "clock",
        "date_line",
        "epoll",
        "handler",
        "now_ns",
        "prompt_timers",
        "recorder",
        "timers",
        "void",
        "watched",
    )

    def __init__(self, handler: Handler) -> None:
        self.handler = handler
        self.recorder = WireRecorder()
        self.epoll = select.epoll()
        self.watched: dict[int, ServerWatched] = {}
        self.timers: list[tuple[int, int, ServerTimer, int]] = []
        self.prompt_timers: list[
            tuple[int, int, ServerTimer, int]
        ] = []  # first bytes, which shall not queue behind others
        self.buffer = memoryview(bytearray(BUFFER_BYTES))
        self.void = memoryview(bytearray(VOID_BYTES))
        self.busy = 0  # requests between their first byte and the end of their response
        self.clock = time.monotonic_ns
        self.now_ns = 0  # when the current batch of events was known
        self.date_line = b""
        self._date_due_ns = 0
        self._sequence = 0
        self.tick()

    def tick(self) -> None:
        """Begin a new batch of events: take the time, and a new Date once a second."""
        self.now_ns = self.clock()
        if self.now_ns >= self._date_due_ns:
            wall_s = time.time()
            self.date_line = f"Date: {render_date(wall_s)}\r\n".encode()
            self._date_due_ns = self.now_ns + round((1 - wall_s % 1) * 1e9)

    def watch(self, descriptor: int, owner: ServerWatched, events: int) -> None:
        """Tell `owner` when `descriptor` is ready for `events`."""
        self.epoll.register(descriptor, events)
        self.watched[descriptor] = owner

    def unwatch(self, descriptor: int) -> None:
        """Forget `descriptor`; closing it takes it out of the epoll set."""
        self.watched.pop(descriptor, None)

    def call_at(self, due_ns: int, owner: ServerTimer, ticket: int, *, prompt: bool = False) -> None:
        """Call `owner.on_time(ticket)` when the clock reaches `due_ns`; `prompt` ones before others that are due."""
        self._sequence += 1
        heapq.heappush(self.prompt_timers if prompt else self.timers, (due_ns, self._sequence, owner, ticket))

    def next_due_ns(self) -> int | None:
        """Tell when the next timer is due, if there is one."""
        heaps = [heap[0][0] for heap in (self.timers, self.prompt_timers) if heap]
        return min(heaps) if heaps else None

    def due(self) -> Iterator[tuple[ServerTimer, int]]:
        """Whoever's time has come, with the ticket, each once; prompt ones also if theirs comes meanwhile."""
        while True:
            if self.prompt_timers and self.prompt_timers[0][0] <= self.clock():
                _, _, owner, ticket = heapq.heappop(self.prompt_timers)
            elif self.timers and self.timers[0][0] <= self.now_ns:
                _, _, owner, ticket = heapq.heappop(self.timers)
            else:
                return
            yield owner, ticket

    def forget_timers(self) -> None:
        """Call nobody any more."""
        self.timers.clear()
        self.prompt_timers.clear()
