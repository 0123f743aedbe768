"""The event loop of one worker: waiting, what is in flight, and where connections go to."""

import itertools
import socket
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from s3bench.load.engine.message import Keys, RequestTarget
from s3bench.load.engine.request import Requests
from s3bench.load.profile.profile import Manner
from s3bench.system.event_loop import EventLoop, Timed, Watched
from s3bench.system.poller import wait_precisely

BODY_PIECE_BYTES = 1024 * 1024
"""Bytes of a body that are read and verified in one piece. A GET of 8 MiB costs a sixth less CPU time with 1 MiB than
with 256 KiB: 2.0 ms, not 2.4 (versitygw on loopback, TCP Reno, AMD EPYC; medians of four interleaved runs)."""

_EVENTS_A_TURN = 512
_NO_LIMIT_NS = 1 << 62
_SLOW_NS = 500_000_000


@dataclass(slots=True, eq=False)
class Route:
    """One address of the target: `requests` are rendered for its host, `name` is what its certificate must be good for.

    `session` is the last TLS session, by which the next handshake is shorter. `is_tried`: a connection to it was begun,
    `is_reached`: one was made.
    """

    family: socket.AddressFamily
    address: tuple[str, int]
    name: str
    local: bool
    requests: Requests
    session: ssl.SSLSession | None = None
    is_tried: bool = False
    is_reached: bool = False


class EngineLoop(EventLoop[Watched, Timed]):
    """The event loop for one target; open while the context lasts."""

    __slots__ = (
        "_events", "_next_route", "connect_timeout_ns", "connects", "context", "cut", "flight_ns", "gap_ns",
        "idle_timeout_ns", "in_flight", "in_flight_max", "keep_alive", "paused_ns", "pausing", "routes", "slow_ns",
        "timeout_ns", "wait_ns",
    )  # fmt: skip

    def __init__(
        self,
        target: RequestTarget,
        manner: Manner,
        context: ssl.SSLContext | None,
        *,
        session_keys: Callable[[], Keys] | None = None,
    ) -> None:
        super().__init__(buffer_bytes=BODY_PIECE_BYTES)
        self.routes = _routes(target, manner, session_keys)
        self._next_route = itertools.cycle(self.routes)
        self.context = context
        self.keep_alive = manner.keep_alive
        self.idle_timeout_ns = round(manner.idle_timeout_s * 1e9)
        # Without any event for so long, the kernel shall wake us for every byte again, well before the limit.
        self.slow_ns = min(_SLOW_NS, self.idle_timeout_ns // 3)
        self.timeout_ns = _NO_LIMIT_NS if manner.timeout_s is None else round(manner.timeout_s * 1e9)
        self.connect_timeout_ns = round(manner.connect_timeout_s * 1e9)
        self.wait_ns = 0  # spent with nothing to do
        self.in_flight = 0  # operations
        self.in_flight_max = 0
        self.flight_ns = 0  # the integral of `in_flight` over the time until `now_ns`
        self.gap_ns = 0  # what is too much in it, since operations begin and end within batches
        self.pausing = 0  # virtual users that wait, after a failed connection, before they begin another operation
        self.paused_ns = 0  # the integral of `pausing` over the time until `now_ns`
        self._events: list[tuple[int, int]] = []
        self.connects = 0
        self.cut = 0  # connections that the other side closed

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.poller.close()

    def route(self) -> Route:
        """The next address: all are taken in turn."""
        return next(self._next_route)

    def addresses(self, *, reached: bool) -> tuple[str, ...]:
        """The addresses that connections were begun to, and that were `reached` or not."""
        return tuple(
            address_text(*route.address) for route in self.routes if route.is_tried and route.is_reached is reached
        )

    def wait(self, until_ns: int, *, precise: bool) -> None:
        """Wait until something is ready, no longer than `until_ns`; `now_ns` is the time afterwards.

        With `precise` to the microsecond, without to the millisecond, and later.
        """
        before_ns = self.clock()
        if self.timers and self.timers[0][0] < until_ns:
            until_ns = self.timers[0][0]
        wait_s = (until_ns - before_ns) / 1e9
        if wait_s < 0:
            wait_s = 0.0
        elif precise:
            wait_precisely(self.poller, wait_s)
            wait_s = 0.0
        self._events = self.poller.poll(wait_s, _EVENTS_A_TURN)
        now_ns = self.clock()
        self.wait_ns += now_ns - before_ns
        self.flight_ns += self.in_flight * (now_ns - self.now_ns)
        if self.pausing:
            self.paused_ns += self.pausing * (now_ns - self.now_ns)
        self.now_ns = now_ns

    def handle(self) -> None:
        """Handle what `wait` found to be ready, and the timers that are due."""
        watched = self.watched
        for descriptor, mask in self._events:
            owner = watched.get(descriptor)
            if owner is not None:
                owner.on_event(mask)
        if self.timers and self.timers[0][0] <= self.now_ns:
            for timed, ticket in self.due():
                timed.on_time(ticket)

    def enter(self) -> None:
        """Count an operation as in flight, from `now_ns` on; what it begins later goes into `gap_ns`."""
        self.in_flight += 1
        self.in_flight_max = max(self.in_flight_max, self.in_flight)

    def leave(self, ended_ns: int) -> None:
        """Count an operation as in flight no more, from `ended_ns` on."""
        self.in_flight -= 1
        self.gap_ns -= ended_ns - self.now_ns

    def integral_ns(self, until_ns: int) -> int:
        """The integral of the operations in flight over the time, up to `until_ns`, which lies in the last wait."""
        return self.flight_ns - self.gap_ns - self.in_flight * (self.now_ns - until_ns)

    def paused_until(self, until_ns: int) -> int:
        """The integral of the pausing virtual users over the time, up to `until_ns`, which lies in the last wait."""
        return self.paused_ns - self.pausing * (self.now_ns - until_ns)


def address_text(address: str, port: int) -> str:
    """`10.0.0.1:80` or `[::1]:80`."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _routes(target: RequestTarget, manner: Manner, session_keys: Callable[[], Keys] | None) -> tuple[Route, ...]:
    wall_s = time.time()
    hosts = {host: Requests(target, manner, host, wall_s=wall_s, session_keys=session_keys) for host in target.hosts}
    routes = []
    for address, host in zip(target.addresses, target.hosts, strict=True):
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        local = address[0].startswith("127.") or address[0] == "::1"
        routes.append(Route(family, address, target.certificate_name(host), local, hosts[host]))
    return tuple(routes)
