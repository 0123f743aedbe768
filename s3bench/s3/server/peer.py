"""One client's socket in the loop: its states, how long each may last, and closing without losing what was sent."""

import socket
from enum import IntEnum
from typing import ClassVar

from s3bench.s3.server.loop import ServerLoop
from s3bench.s3.server.outbox import WOULD_BLOCK, Errors
from s3bench.system.event_loop import VOID_BYTES
from s3bench.system.poller import PEER_CLOSED, READABLE
from s3bench.system.sockets import DISCARD

READ_MASK = READABLE | PEER_CLOSED


class PeerState(IntEnum):
    """What a connection waits for."""

    HANDSHAKE = 0
    HEAD = 1
    BODY = 2
    DELAY = 3
    SEND = 4
    LINGER = 5
    CLOSED = 6


HEAD_LIMIT_S = 60.0
"""From the first byte of a request head to its last."""

LIMITS_S = {
    PeerState.HANDSHAKE: 30.0,
    PeerState.HEAD: 900.0,
    PeerState.BODY: 120.0,
    PeerState.SEND: 120.0,
    PeerState.LINGER: 5.0,
}
"""How long a connection may stay in a state without any progress. Between requests a client may think for long: its
connection pool must not be measured against our closing."""


class Peer:
    """The socket of one client, and its state."""

    __slots__ = ("_active_ns", "_held", "_loop", "_mask", "_started_ns", "_state", "sock")

    would_block: ClassVar[Errors] = WOULD_BLOCK
    """The exceptions of the socket when it is not ready."""

    def __init__(self, loop: ServerLoop, sock: socket.socket) -> None:
        self.sock = sock
        self._loop = loop
        self._state = PeerState.HEAD
        self._mask = READ_MASK
        self._active_ns = loop.now_ns
        self._started_ns = 0  # when the current request's first byte was known
        self._held = b""  # bytes read ahead: part of a head, or pipelined requests
        loop.watch(sock.fileno(), self, READ_MASK)

    def on_event(self, events: int) -> None:
        """Go on, since the socket is ready for `events`."""
        raise NotImplementedError

    def on_sweep(self, now_ns: int) -> None:
        """Give up what waits longer than any working client would."""
        limit_s, since_ns = LIMITS_S.get(self._state), self._active_ns
        if self._state is PeerState.HEAD and self._held:
            limit_s, since_ns = HEAD_LIMIT_S, self._started_ns
        if limit_s is not None and now_ns - since_ns > limit_s * 1e9:
            self.abort(f"no data for {limit_s:.0f} s")

    def fail(self, why: str) -> None:
        """End after an error in the server's own code, because of `why`."""
        raise NotImplementedError

    def abort(self, why: str) -> None:
        """Close now, because of `why`."""
        raise NotImplementedError

    @property
    def idle(self) -> bool:
        """Whether no request has begun."""
        return self._state is PeerState.HEAD and not self._held

    def _watch_for(self, mask: int) -> None:
        if mask != self._mask:
            self._mask = mask
            self._loop.poller.modify(self.sock.fileno(), mask)

    def _linger(self) -> None:
        """Close our half and wait for the client to close its own: closing both would destroy a reply on its way."""
        try:
            self.sock.shutdown(socket.SHUT_WR)
        except OSError:
            self._close()
            return
        self._held = b""
        self._state = PeerState.LINGER
        self._watch_for(READABLE)

    def _drain(self) -> None:
        """Drop what a client sends after its last reply."""
        try:
            count = self.sock.recv_into(self._loop.void, VOID_BYTES, DISCARD)
        except self.would_block:
            return
        except OSError:
            count = 0
        if not count:
            self._close()

    def _close(self) -> None:
        if self._state is not PeerState.CLOSED:
            self._state = PeerState.CLOSED
            self._held = b""
            self._loop.unwatch(self.sock.fileno())
            self.sock.close()
