"""A keep-alive connection, made when it is needed, over TLS where the target wants it.

Connects, shakes hands, applies the timeouts, and notices that the other side has closed it. `exchange` sends and reads.
"""

import contextlib
import errno
import socket
import ssl
from enum import IntEnum

from s3bench.load.engine.loop import EngineLoop, Route
from s3bench.load.operation import AttemptFailure
from s3bench.system.poller import PEER_CLOSED, READABLE, WRITABLE
from s3bench.system.sockets import avoid_pacing, stream_socket

RECEIVE_BYTES = 64 * 1024
"""At least one TLS record (16 KiB), so that no decrypted byte stays behind in OpenSSL, where epoll cannot see it."""

READ_MASK = READABLE | PEER_CLOSED

BLOCKED = (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
"""What a non-blocking socket raises when it has to be waited for."""

FAULTS = {
    errno.ECONNREFUSED: AttemptFailure.REFUSED,
    errno.ECONNRESET: AttemptFailure.RESET,
    errno.EPIPE: AttemptFailure.RESET,
    errno.ETIMEDOUT: AttemptFailure.TIMEOUT,
    errno.ECONNABORTED: AttemptFailure.RESET,
    errno.EMFILE: AttemptFailure.DESCRIPTORS,
    errno.ENFILE: AttemptFailure.DESCRIPTORS,
    errno.EADDRNOTAVAIL: AttemptFailure.PORTS,
}
"""What the number of an error of a socket is counted as."""


class ClientConnectionState(IntEnum):
    """What a connection waits for."""

    CLOSED = 0
    CONNECT = 1
    HANDSHAKE = 2
    IDLE = 3
    SEND = 4
    AWAIT = 5  # the first byte of a response
    RECEIVE = 6


_IDLE = ClientConnectionState.IDLE  # faster to look up


class ClientConnection:
    """A connection to the next address of the loop, as often as it takes."""

    __slots__ = (
        "_active_ns", "_loop", "_low_water_bytes", "_mask", "_recv", "_send", "_sock", "_state", "route", "started_ns",
    )  # fmt: skip

    def __init__(self, loop: EngineLoop) -> None:
        self._loop = loop
        self._state = ClientConnectionState.CLOSED
        self._sock: socket.socket | None = None
        self._mask = 0
        self._low_water_bytes = 1
        self._active_ns = 0
        self.started_ns = 0  # of the exchange
        self.route: Route = loop.route()

    # Overridden by subclasses.

    def on_route(self) -> None:
        """Take note of a new `route`."""
        raise NotImplementedError

    def on_open(self) -> None:
        """Go on, over a connection that has just been made."""
        raise NotImplementedError

    def on_surplus(self) -> None:
        """Take note that more bytes followed the last response; the connection is closed, or will be."""
        raise NotImplementedError

    def _break(self, fault: AttemptFailure) -> None:
        """End the exchange, which failed, and the connection."""
        raise NotImplementedError

    # For subclasses.

    @property
    def is_open(self) -> bool:
        """Whether there is a connection, as far as is known."""
        return self._state is _IDLE

    def close(self) -> None:
        """Close; what is in flight is dropped."""
        if self._sock is not None:
            self._loop.unwatch(self._sock.fileno())
            if self._state > ClientConnectionState.HANDSHAKE and isinstance(self._sock, ssl.SSLSocket):
                self.route.session = self._sock.session
            with contextlib.suppress(OSError):
                self._sock.close()  # which takes it out of the epoll set
            self._sock = None
        self._low_water_bytes = 1
        self._state = ClientConnectionState.CLOSED

    def sweep(self, now_ns: int) -> None:
        """Give up what has made no progress for too long, or takes too long as a whole."""
        state = self._state
        if state is ClientConnectionState.CLOSED or state is _IDLE:
            return
        if self._low_water_bytes > 1 and now_ns - self._active_ns > self._loop.slow_ns:
            self._set_low_water(1)
        early = state is ClientConnectionState.CONNECT or state is ClientConnectionState.HANDSHAKE
        idle_ns_max = self._loop.connect_timeout_ns if early else self._loop.idle_timeout_ns
        if now_ns - self._active_ns > idle_ns_max or now_ns - self.started_ns > self._loop.timeout_ns:
            self._break(AttemptFailure.TIMEOUT)

    def on_event(self, events: int) -> None:  # noqa: ARG002 (subclasses look at them)
        """Go on, since the socket is ready; errors show in the call that follows."""
        state = self._state
        if state is ClientConnectionState.CONNECT:
            self._connected()
        elif state is ClientConnectionState.HANDSHAKE:
            self._shake_hands()
        elif state is _IDLE:
            self._read_idle()

    def _set_low_water(self, size_bytes: int) -> None:
        if size_bytes != self._low_water_bytes:
            assert self._sock is not None
            self._low_water_bytes = size_bytes
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, size_bytes)

    def _watch_for(self, mask: int) -> None:
        if mask != self._mask:
            self._mask = mask
            assert self._sock is not None
            self._loop.poller.modify(self._sock.fileno(), mask)

    # Connecting.

    def _connect(self) -> None:
        loop = self._loop
        self.route = route = loop.route()
        route.is_tried = True
        self.on_route()
        try:
            sock = stream_socket(route.family)
        except OSError as error:
            self._break(FAULTS.get(error.errno or 0, AttemptFailure.UNREACHABLE))
            return
        self._sock = sock
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if route.local:
            avoid_pacing(sock)
        code = sock.connect_ex(route.address)
        if code not in {0, errno.EINPROGRESS}:
            self._break(FAULTS.get(code, AttemptFailure.UNREACHABLE))
            return
        self._state = ClientConnectionState.CONNECT
        self._mask = WRITABLE
        loop.watch(sock.fileno(), self, WRITABLE)

    def _connected(self) -> None:
        sock = self._sock
        assert sock is not None
        code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            self._break(FAULTS.get(code, AttemptFailure.UNREACHABLE))
            return
        self._loop.connects += 1
        context = self._loop.context
        if context is None:
            self._ready(sock)
            return
        try:
            self._sock = context.wrap_socket(
                sock, server_hostname=self.route.name, do_handshake_on_connect=False, session=self.route.session
            )
        except (OSError, ValueError):
            self._break(AttemptFailure.TLS)
            return
        self._state = ClientConnectionState.HANDSHAKE
        self._shake_hands()

    def _shake_hands(self) -> None:
        sock = self._sock
        assert isinstance(sock, ssl.SSLSocket)
        try:
            sock.do_handshake()
        except ssl.SSLWantReadError:
            self._watch_for(READABLE)
        except ssl.SSLWantWriteError:
            self._watch_for(WRITABLE)
        except OSError:
            self._break(AttemptFailure.TLS)
        else:
            self._ready(sock)

    def _ready(self, sock: socket.socket) -> None:
        self._recv = sock.recv
        self._send = sock.send
        self._state = _IDLE
        self._active_ns = self._loop.now_ns
        self.route.is_reached = True
        self._watch_for(READ_MASK)
        self.on_open()

    def _read_idle(self) -> None:
        """Close a connection whose other side did, or sends unasked; over TLS it may be a session ticket."""
        try:
            data = self._recv(RECEIVE_BYTES)
        except BLOCKED:
            return
        except OSError:
            data = b""
        self.close()
        if data:
            self.on_surplus()
        else:
            self._loop.cut += 1
