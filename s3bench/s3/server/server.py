"""The server: accepts connections and runs their loop, in one thread without blocking.

Speaks HTTP/1.1 on a listening socket, over TLS where it gets a context; a handler makes the replies.
"""

import errno
import os
import socket
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

from s3bench.s3.network.link import Link
from s3bench.s3.protocol.exchange import Handler
from s3bench.s3.server.connection import ServerConnection
from s3bench.s3.server.loop import ServerLoop, ServerWatched
from s3bench.s3.server.paced import PacedConnection
from s3bench.s3.server.recorder import WireRecorder
from s3bench.system.poller import READABLE, wait_precisely
from s3bench.system.sockets import avoid_pacing

if TYPE_CHECKING:
    import ssl

CONNECTIONS_MAX = 50_000
"""More than any client under test opens; a limit without bound would be one on memory."""

_ACCEPTS_A_TURN = 64
_EVENTS_A_TURN = 512
_EVENTS_BETWEEN_TIMERS = 2  # an event may be a body of 256 KiB, and timers shall not wait for many of those
_SWEEP_NS = 1_000_000_000
_DESCRIPTORS_RESERVED = 512  # for the workspace's files, the control channel and the process itself
_TOO_MANY = (
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n"
    b"x-amz-request-id: S3BENCH000000001\r\n\r\n"
)
_FULL = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


def connections_of(descriptors: int) -> int:
    """How many connections a server takes that may open so many files."""
    limit = min(descriptors, CONNECTIONS_MAX)
    return limit - min(_DESCRIPTORS_RESERVED, limit // 2)


class Server:
    """Serves `listener` by turns; the caller repeats `turn`.

    With `link`, that of a network model, connections are paced by it.

    Connections wait in the listener's queue until `accept_connections`, if it does not `accept_at_once`.

    While it is full, a new connection gets a 503 and is closed, never left to hang.
    """

    def __init__(
        self,
        listener: socket.socket,
        handler: Handler,
        *,
        connections_max: int,
        context: "ssl.SSLContext | None" = None,
        link: Link | None = None,
        accept_at_once: bool = True,
    ) -> None:
        self.loop = ServerLoop(handler)
        self._link = link
        self._listener = listener
        self._connections_max = connections_max
        self._is_plain = context is None
        self._make_connection, self._make_paced_connection = _connection_classes(context)
        self._permanent = 0  # descriptors watched that are no connections
        self._sweep_due_ns = self.loop.now_ns + _SWEEP_NS
        # Closed for a moment when descriptors run out, so that a connection can be accepted and gets a 503.
        self._spare = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        listener.settimeout(0)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # inherited by every accepted socket
        avoid_pacing(listener)
        if accept_at_once:
            self.accept_connections()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close_connections("the server ended")
        self.loop.poller.close()
        os.close(self._spare)

    def accept_connections(self) -> None:
        """Accept connections from now on, if that has not begun."""
        if self._listener.fileno() not in self.loop.watched:
            self.watch(self._listener.fileno(), self)

    def watch(self, descriptor: int, owner: ServerWatched) -> None:
        """Have `owner` called when `descriptor` becomes readable, for as long as the server lives."""
        self._permanent += 1
        self.loop.watch(descriptor, owner, READABLE)

    def turn(self, timeout_s: float) -> int:
        """Wait up to `timeout_s` for events and handle them; how many there were."""
        loop = self.loop
        events_max = _EVENTS_A_TURN
        due_ns = loop.next_due_ns() if loop.timers or loop.prompt_timers else None
        if due_ns is not None:
            timeout_s = self._wait_precisely(timeout_s, due_ns)
            events_max = _EVENTS_BETWEEN_TIMERS
        events = loop.poller.poll(timeout_s, events_max)
        loop.tick()
        if loop.busy + len(events) > loop.recorder.in_flight_max:
            self._note_in_flight(events)
        watched = loop.watched
        for descriptor, mask in events:
            owner = watched.get(descriptor)
            if owner is not None:
                try:
                    owner.on_event(mask)
                except Exception as error:  # noqa: BLE001 (one broken exchange must not end the others)
                    self._give_up(owner, error)
        if loop.timers or loop.prompt_timers:
            self._run_timers()
        if loop.now_ns >= self._sweep_due_ns:
            self._sweep_due_ns = loop.now_ns + _SWEEP_NS
            for owner in tuple(watched.values()):
                owner.on_sweep(loop.now_ns)
        return len(events)

    def start_recording(self, handler: Handler, *, link: Link | None = None) -> None:
        """Drop all connections and begin an empty wire log. From now on `handler` replies, and `link` paces."""
        self.close_connections("a new iteration began")
        self.loop.handler = handler
        self._link = link
        self.loop.recorder = WireRecorder()

    def close_connections(self, why: str) -> None:
        """Close every connection; requests that are on are recorded as incomplete because of `why`."""
        for owner in tuple(self.loop.watched.values()):
            if isinstance(owner, ServerConnection):
                owner.abort(why)
        self.loop.forget_timers()

    # Called by the loop for the listener.

    def on_event(self, events: int) -> None:
        """Accept the connections that wait."""
        del events
        for _ in range(_ACCEPTS_A_TURN):
            try:
                sock, _address = self._listener.accept()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno in _FULL:
                    self._reject_with_spare()
                    return
                continue  # the client gave up before it was accepted (accept(2): ECONNABORTED and the like)
            self._admit(sock)

    def on_sweep(self, now_ns: int) -> None:
        """Do nothing: the listener waits for ever."""

    def fail(self, why: str) -> None:
        """Do nothing: the error is recorded, and the listener stays."""

    def _admit(self, sock: socket.socket) -> None:
        loop = self.loop
        recorder = loop.recorder
        recorder.connections += 1
        if len(loop.watched) - self._permanent >= self._connections_max:
            self._reject(sock)
            return
        sock.settimeout(0)
        try:
            self._connect(sock, recorder.connections)
        except OSError:  # the client is gone already
            sock.close()
            return
        recorder.connections_open_max = max(recorder.connections_open_max, len(loop.watched) - self._permanent)

    def _connect(self, sock: socket.socket, number: int) -> None:
        if self._link is None:
            self._make_connection(self.loop, sock, number)
        else:
            self._make_paced_connection(self.loop, sock, number, self._link)

    def _reject(self, sock: socket.socket) -> None:
        self.loop.recorder.fault(
            f"connection {self.loop.recorder.connections}: refused, {len(self.loop.watched) - self._permanent} are open"
        )
        with sock:
            sock.settimeout(0)
            try:
                if self._is_plain:
                    sock.send(_TOO_MANY)
                sock.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # a client that is gone needs no reply

    def _reject_with_spare(self) -> None:
        os.close(self._spare)
        try:
            sock, _address = self._listener.accept()
            self.loop.recorder.connections += 1
            self._reject(sock)
        except OSError:
            pass  # another part of the process took the descriptor; the connection waits for the next turn
        finally:
            self._spare = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)

    def _wait_precisely(self, timeout_s: float, due_ns: int) -> float:
        """Wait for events or until `due_ns`; how long to wait afterwards, which is not at all."""
        loop = self.loop
        wait_s = min(timeout_s, (due_ns - loop.clock()) / 1e9)
        if wait_s > 0:
            wait_precisely(loop.poller, wait_s)
        return 0.0

    def _run_timers(self) -> None:
        for owner, ticket in self.loop.due():
            try:
                owner.on_time(ticket)
            except Exception as error:  # noqa: BLE001 (as in turn)
                self._give_up(owner, error)

    def _give_up(self, owner: ServerWatched, error: Exception) -> None:
        """End what `owner` was about after an error in our own code, which the wire log reports."""
        place = traceback.extract_tb(error.__traceback__)[-1]
        why = f"the server failed: {error!r} in {Path(place.filename).name}, line {place.lineno}"
        self.loop.recorder.failure(why)
        try:
            owner.fail(why)
        except Exception:  # noqa: BLE001 (nor may a reply that cannot be made)
            assert isinstance(owner, ServerConnection)
            owner.abort(why)

    def _note_in_flight(self, events: list[tuple[int, int]]) -> None:
        """Count requests seen at once: those that are on, and one for each idle connection that has bytes waiting."""
        loop = self.loop
        begun = 0
        for descriptor, mask in events:
            owner = loop.watched.get(descriptor)
            begun += isinstance(owner, ServerConnection) and owner.idle and mask == READABLE
        loop.recorder.in_flight_max = max(loop.recorder.in_flight_max, loop.busy + begun)


def _connection_classes(
    context: "ssl.SSLContext | None",
) -> tuple[
    Callable[[ServerLoop, socket.socket, int], ServerConnection],
    Callable[[ServerLoop, socket.socket, int, Link], PacedConnection],
]:
    """The connections without a link and with one; over TLS with `context`."""
    if context is None:
        return ServerConnection, PacedConnection
    from s3bench.s3.server.tls import PacedTlsConnection, TlsConnection  # noqa: PLC0415 (plain servers need no ssl)

    return partial(TlsConnection, context=context), partial(PacedTlsConnection, context=context)
