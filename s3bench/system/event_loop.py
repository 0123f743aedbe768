"""The event loop that the server and the load engine share: watched descriptors, timers, the clock and buffers.

One thread, so nothing is locked. Who turns the loop, and what is counted at each turn, is up to each of them.
"""

import heapq
import time
from collections.abc import Iterator
from typing import Generic, Protocol, TypeVar

from s3bench.system.poller import open_poller

BUFFER_BYTES = 256 * 1024
"""Body bytes read in one piece where they are looked at: large enough for checksums to run at memory speed."""

VOID_BYTES = 8 * 1024 * 1024
"""Body bytes discarded in one system call. Linux never writes there, so no memory stands behind it."""


class Watched(Protocol):
    """The owner of a watched descriptor."""

    def on_event(self, events: int) -> None:
        """Go on, since the descriptor is ready for `events` (a mask of `system.poller`)."""


class Timed(Protocol):
    """The owner of a timer."""

    def on_time(self, ticket: int) -> None:
        """Go on, since the time given to `EventLoop.call_at` has come; `ticket` as given there."""


WatchedT = TypeVar("WatchedT", bound=Watched)
TimedT = TypeVar("TimedT", bound=Timed)


class EventLoop(Generic[WatchedT, TimedT]):
    """What all connections of one process share."""

    __slots__ = ("_sequence", "buffer", "clock", "now_ns", "poller", "timers", "void", "watched")

    def __init__(self, *, buffer_bytes: int = BUFFER_BYTES) -> None:
        self.watched: dict[int, WatchedT] = {}
        self.poller = open_poller(self.watched.keys())
        self.timers: list[tuple[int, int, TimedT, int]] = []
        self._sequence = 0
        self.buffer = memoryview(bytearray(buffer_bytes))
        self.void = memoryview(bytearray(VOID_BYTES))
        self.clock = time.monotonic_ns
        self.now_ns = self.clock()  # when the current batch of events was known

    def watch(self, descriptor: int, owner: WatchedT, events: int) -> None:
        """Call `owner` when `descriptor` is ready for `events`."""
        self.poller.register(descriptor, events)
        self.watched[descriptor] = owner

    def unwatch(self, descriptor: int) -> None:
        """Forget `descriptor`, which is closed next."""
        self.watched.pop(descriptor, None)

    def call_at(self, due_ns: int, owner: TimedT, ticket: int) -> None:
        """Call `owner.on_time(ticket)` when the clock reaches `due_ns`."""
        self._sequence += 1
        heapq.heappush(self.timers, (due_ns, self._sequence, owner, ticket))

    def due(self) -> Iterator[tuple[TimedT, int]]:
        """The timers whose time has come by `now_ns`, each once."""
        while self.timers and self.timers[0][0] <= self.now_ns:
            _, _, owner, ticket = heapq.heappop(self.timers)
            yield owner, ticket
