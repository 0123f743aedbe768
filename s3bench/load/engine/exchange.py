"""Exchanges on a connection, one after the other: sends a request, reads the response and checks that it is right.

The connection is made where there is none (`connection`). `VirtualUser` decides what is sent and what follows.

The usual small request costs one send, one recv and a share of an epoll_wait. Large bodies go out of the memory they
are in; what comes back is discarded by the kernel where it need not be verified (MSG_TRUNC, tcp(7)), else read into a
buffer that all connections share. Over TLS every byte passes through this process, by no more than a record a call.
"""

from s3bench.load.engine.connection import (
    BLOCKED,
    FAULTS,
    READ_MASK,
    RECEIVE_BYTES,
    ClientConnection,
    ClientConnectionState,
)
from s3bench.load.engine.loop import BODY_PIECE_BYTES, EngineLoop
from s3bench.load.engine.response import HEAD_END, HEAD_END_BYTES, BadResponse, ResponseParser, quick_length
from s3bench.load.engine.verification import BodyVerifier, ExpectedBody
from s3bench.load.operation import AttemptFailure
from s3bench.system.event_loop import VOID_BYTES
from s3bench.system.poller import READABLE, WRITABLE
from s3bench.system.sockets import DISCARD

OK = b"HTTP/1.1 200 "
PARTIAL = b"HTTP/1.1 206 "

LOW_WATER_BYTES = BODY_PIECE_BYTES
"""How much of a large body shall have come before the kernel wakes us (SO_RCVLOWAT, socket(7)): each time costs."""

_RECORD_BYTES = 17 * 1024  # the most that a record of TLS takes on the wire (RFC 8446 5.2), rounded up
_TURN_BYTES_MAX = 1024 * 1024  # how much of a body is read over TLS before other connections have their turn

_RESPONSE_START = b"HTTP/1."

_LARGE_BYTES = 256 * 1024  # after such a body the next one will hardly fit into one piece with its head,
_HEAD_BYTES = 2 * 1024  # so that copying more than the head would be wasted
_FAST_BYTES = 64 * 1024  # what one call must have brought for the next to wait for more

_JOINED_BYTES_MAX = 64 * 1024  # a body up to here is sent together with its head: copying is less than a second call
_PIECES_A_CALL = 64
_SLICE_BYTES = _JOINED_BYTES_MAX + 16 * 1024
"""How much goes out in one call over TLS, which returns only when all of it has been taken.

A body that was joined to its head fits: OpenSSL refuses to send what was blocked again if it is shorter (SSL_write(3)).
"""

_IDLE, _SEND, _AWAIT, _RECEIVE = (
    ClientConnectionState.IDLE,
    ClientConnectionState.SEND,
    ClientConnectionState.AWAIT,
    ClientConnectionState.RECEIVE,
)  # faster to look up


class Exchange(ClientConnection):
    """A connection, and the exchange that is on.

    A subclass sets the request: `head` and `pieces` go out. What must come back: `start` of the head, `size_bytes` of
    the body and the `expected` body itself where they are known. `quick` responses need nothing of the head but its
    length; `head_only` ones have no body; of others `wants_text` keeps the beginning. `reads_body` off ends at the
    head.
    """

    __slots__ = (
        "_fed",
        "_first_bytes",
        "_out",
        "_response",
        "_reused",
        "_stray",
        "_verifier",
        "body_bytes",
        "entered_ns",
        "expected",
        "first_ns",
        "head",
        "head_only",
        "pieces",
        "quick",
        "reads_body",
        "sent_bytes",
        "size_bytes",
        "start",
        "wants_text",
    )  # fmt: skip

    def __init__(self, loop: EngineLoop) -> None:
        super().__init__(loop)
        self._response = ResponseParser()
        self._out: list[memoryview] = []
        self._first_bytes = RECEIVE_BYTES
        self._reused = False
        self._stray: bytes | None = None  # what came before the response; empty once that was found
        self._fed = False  # whether `_response` is in use for this exchange
        self._verifier: BodyVerifier | None = None
        self.head = b""
        self.pieces: tuple[memoryview, ...] = ()
        self.start = OK
        self.size_bytes: int | None = None
        self.expected: ExpectedBody | None = None
        self.quick = True
        self.head_only = False
        self.wants_text = False
        self.reads_body = True
        self.entered_ns = 0  # since when the operation that begins is in `loop.in_flight`; 0 where that is settled
        self.first_ns = 0
        self.body_bytes = 0  # of the response
        self.sent_bytes = 0  # of the request, its head included

    # Overridden by subclasses.

    def prepare(self) -> None:
        """Fill in what is asked, for `route`."""
        raise NotImplementedError

    def on_response(self, now_ns: int) -> None:
        """Go on after a successful response that is complete and right, whose last byte came at `now_ns`."""
        raise NotImplementedError

    def on_error_response(self, status: int, text: bytes, now_ns: int) -> None:
        """Go on after a response that reports an error."""
        raise NotImplementedError

    def on_fault(self, fault: AttemptFailure, now_ns: int) -> None:
        """Go on after an exchange that failed."""
        raise NotImplementedError

    # For subclasses.

    @property
    def is_fresh(self) -> bool:
        """Whether the exchange that is on, or was, is the first on its connection."""
        return not self._reused

    @property
    def has_no_response(self) -> bool:
        """Whether nothing of a response has come."""
        return not self._fed

    @property
    def response(self) -> ResponseParser:
        """The response, where it was not a quick one."""
        return self._response

    def exchange(self) -> None:
        """Begin: connect where that has to be, ask, and call one of the `on_` methods in the end."""
        loop = self._loop
        self._fed = False
        self.body_bytes = self.sent_bytes = self.first_ns = 0
        is_open = self._state is _IDLE
        if is_open:
            self.prepare()
        self.started_ns = self._active_ns = started_ns = loop.clock()
        if self.entered_ns:
            loop.gap_ns += started_ns - self.entered_ns
            self.entered_ns = 0
        if is_open:
            self._request()
        else:
            self._reused = False
            self._connect()

    def close(self) -> None:
        """Close; an exchange that is on is over without another word."""
        super().close()
        self._out = []
        self._stray = None

    # Sending.

    def on_open(self) -> None:
        """Ask, over a connection that has just been made."""
        self.prepare()
        self._request()

    def _request(self) -> None:
        """Send the request, or as much of it as the socket takes."""
        head, pieces = self.head, self.pieces
        if pieces:
            if len(pieces) > 1 or len(pieces[0]) > _JOINED_BYTES_MAX:
                self._out = [memoryview(head), *pieces]
                self._state = _SEND
                self._send_on()
                return
            head = b"".join((head, pieces[0]))
        self._state = _AWAIT
        try:
            sent = self._send(head)
        except BLOCKED:
            sent = 0
        except OSError as error:
            self._break(FAULTS.get(error.errno or 0, AttemptFailure.RESET))
            return
        self.sent_bytes = sent
        if sent != len(head):
            self._out = [memoryview(head)[sent:]]
            self._state = _SEND
            self._watch_for(READ_MASK | WRITABLE)

    def _send_on(self) -> None:
        """Send on until all is sent or the socket is full."""
        out = self._out
        sock = self._sock
        assert sock is not None
        together = self._loop.context is None
        try:
            while out:
                sent = sock.sendmsg(out[:_PIECES_A_CALL]) if together else self._send(out[0][:_SLICE_BYTES])
                self._active_ns = self._loop.now_ns
                self.sent_bytes += sent
                while sent and sent >= len(out[0]):
                    sent -= len(out.pop(0))
                if sent:
                    out[0] = out[0][sent:]
                    if together:  # what a socket does not take whole it will not take again at once
                        break
        except BLOCKED:
            pass
        except OSError as error:
            if not self._read_early_response():
                self._break(FAULTS.get(error.errno or 0, AttemptFailure.RESET))
            return
        if out:
            self._watch_for(READ_MASK | WRITABLE)
        else:
            self._state = _AWAIT
            self._watch_for(READ_MASK)

    def _read_early_response(self) -> bool:
        """Take the response of a server that rejected the rest of a body and closed; whether there was one."""
        try:
            data = self._recv(RECEIVE_BYTES)
        except OSError:
            return False
        if not data:
            return False
        self._take(data)
        return True

    # Receiving.

    def on_event(self, events: int) -> None:
        """Go on, since the socket is ready; errors show in the call that follows."""
        state = self._state
        if state is _AWAIT:
            try:
                data = self._recv(self._first_bytes)
            except BLOCKED:
                return
            except OSError as error:
                self._break(FAULTS.get(error.errno or 0, AttemptFailure.RESET))
                return
            if self.quick and not self._fed:
                end = data.find(HEAD_END)
                if end > 0 and quick_length(data, end, self.start) == len(data) - end - HEAD_END_BYTES:
                    self._take_quick(data, end + HEAD_END_BYTES)
                    return
            self._take(data)
        elif state is _RECEIVE:
            self._receive()
        elif state is _SEND:
            if events & READABLE or not events & WRITABLE:
                self._take_early()
            if self._state is _SEND and events & WRITABLE:
                self._send_on()
        else:
            super().on_event(events)

    def _take_quick(self, data: bytes, at: int) -> None:
        """Take a usual response that came in one piece, its body from `at` on."""
        self.first_ns = now_ns = self._loop.clock()
        self.body_bytes = length = len(data) - at
        self._state = _IDLE
        self._reused = True
        if (self.size_bytes is None or self.size_bytes == length) and (
            self.expected is None or self.expected.is_equal(data, at)
        ):
            if not self._loop.keep_alive:
                self.close()
            self.on_response(now_ns)
        else:
            self._fed = True
            self.close()
            self.on_fault(AttemptFailure.CORRUPT, now_ns)

    def _take_early(self) -> None:
        """Take what comes before the request is all sent: a response that rejects it, or the end."""
        try:
            data = self._recv(RECEIVE_BYTES)
        except BLOCKED:
            return
        except OSError as error:
            self._break(FAULTS.get(error.errno or 0, AttemptFailure.RESET))
            return
        self._take(data)

    def _take(self, data: bytes) -> None:  # noqa: C901, PLR0912 (all that can come, in order)
        """Take the next bytes of a response, whatever they are."""
        self._active_ns = self._loop.now_ns
        response = self._response
        if not self._fed:
            if not data:
                self._break(AttemptFailure.CLOSED)
                return
            self._fed = True
            self._verifier = None if self.expected is None else self.expected.verifier()
            self.first_ns = self._loop.clock()
            response.begin(head_only=self.head_only, wants_text=self.wants_text)
        if not data:
            self._loop.cut += 1
            if response.close():
                self._complete()
            else:
                self._break(AttemptFailure.TRUNCATED if response.status else AttemptFailure.CLOSED)
            return
        if self._stray:
            data = self._stray + data
        try:
            pieces = response.feed(data)
        except BadResponse:
            self._take_stray(data)
            return
        if self._verifier is not None:
            for piece in pieces:
                self._verifier.take(piece)
        if not response.status:
            return
        if self._state is _SEND:
            if response.status < 300:  # noqa: PLR2004 (nothing can have succeeded that was not all sent)
                self._break(AttemptFailure.EARLY)
                return
            self._out = []  # the rest of the request is not wanted, and the connection is of no use any more
            response.closing = True
        self._state = _RECEIVE
        if response.ended or (not self.reads_body and response.status < 300):  # noqa: PLR2004 (success ends there)
            response.closing = response.closing or not response.ended
            self._complete()

    def _take_stray(self, data: bytes) -> None:
        """Take bytes that are no response.

        On a connection that was used before they may belong to the response before. They do if the response to this
        request follows them, so that is waited for; otherwise they are all that there is.
        """
        response = self._response
        if not self._reused or response.status or self._stray == b"":
            self._break(AttemptFailure.PROTOCOL)
            return
        at = data.find(_RESPONSE_START)
        if at >= 0:
            self.on_surplus()
            self._stray = b""
            self.first_ns = self._loop.clock()
            response.begin(head_only=self.head_only, wants_text=self.wants_text)
            self._take(data[at:])
        elif len(data) <= RECEIVE_BYTES:
            self._stray = data
        else:
            self._break(AttemptFailure.PROTOCOL)

    def _receive(self) -> None:
        """Receive the next bytes of a body, without a look where none is needed; one more is asked for at its end."""
        response = self._response
        wanted = response.direct_bytes
        beyond = response.direct_beyond
        sock = self._sock
        assert sock is not None
        loop = self._loop
        if wanted and loop.context is not None:
            self._receive_records(wanted, beyond)
            return
        try:
            if not wanted:
                self._take(self._recv(RECEIVE_BYTES))
                return
            if self._verifier is None:
                count = sock.recv_into(loop.void, min(wanted + beyond, VOID_BYTES), DISCARD)
            else:
                count = sock.recv_into(loop.buffer, min(wanted + beyond, BODY_PIECE_BYTES))
                self._verifier.take(loop.buffer[: min(count, wanted)])
        except BLOCKED:
            return
        except OSError as error:
            self._break(FAULTS.get(error.errno or 0, AttemptFailure.RESET))
            return
        if not count:
            self._take(b"")
            return
        self._active_ns = loop.now_ns
        response.skip(count)
        if response.ended:
            self._complete()
        elif count >= _FAST_BYTES or count == wanted:
            self._set_low_water(max(1, min(LOW_WATER_BYTES, wanted - count)))

    def _receive_records(self, wanted: int, beyond: int) -> None:
        """Receive what has come of the next `wanted` bytes of a body over TLS."""
        response = self._response
        received, fault = self._read_records(wanted, beyond)
        if received:
            self._active_ns = self._loop.now_ns
            response.skip(received)
        if response.ended:
            self._complete()
        elif fault is AttemptFailure.CLOSED:
            self._take(b"")
        elif fault is not None:
            self._break(fault)
        elif received == wanted:  # of a chunk, whose end may be in OpenSSL already, where epoll cannot see it
            self._set_low_water(1)
            self._receive()
        elif received >= _FAST_BYTES:  # a part of the next record may be in OpenSSL already
            self._set_low_water(max(1, min(LOW_WATER_BYTES, wanted - received - _RECORD_BYTES)))

    def _read_records(self, wanted: int, beyond: int) -> tuple[int, AttemptFailure | None]:
        """Read and verify record after record: how many bytes came, and what ended the connection, if anything did.

        OpenSSL gives one record in a call, so going back to the event loop after each would cost a good part of what
        decrypting it costs. The same bytes of the buffer are used again, since they are in the processor's cache.
        """
        sock, buffer, verifier = self._sock, self._loop.buffer, self._verifier
        assert sock is not None
        received, most = 0, min(wanted, _TURN_BYTES_MAX)
        try:
            while received < most:
                count = sock.recv_into(buffer, min(wanted + beyond - received, BODY_PIECE_BYTES))
                if not count:
                    return received, AttemptFailure.CLOSED
                if verifier is not None:
                    verifier.take(buffer[: min(count, wanted - received)])
                received += count
        except BLOCKED:
            pass
        except OSError as error:
            return received, FAULTS.get(error.errno or 0, AttemptFailure.RESET)
        return received, None

    def _complete(self) -> None:
        """End an exchange whose response is complete."""
        response = self._response
        now_ns = self._loop.clock()
        self.body_bytes = response.body_bytes
        is_large = response.body_bytes >= _LARGE_BYTES and self._loop.context is None
        self._first_bytes = _HEAD_BYTES if is_large else RECEIVE_BYTES
        status = response.status
        if response.closing or self._stray is not None or not self._loop.keep_alive:
            self.close()
        else:
            self._state = _IDLE
            self._reused = True
            self._set_low_water(1)
            if self._mask != READ_MASK:
                self._watch_for(READ_MASK)
        if status >= 300:  # noqa: PLR2004 (success ends there)
            self.on_error_response(status, response.text, now_ns)
        elif response.surplus:
            self.on_fault(AttemptFailure.SURPLUS, now_ns)
        elif self._is_right():
            self.on_response(now_ns)
        else:
            self.close()
            self.on_fault(AttemptFailure.CORRUPT, now_ns)

    def _is_right(self) -> bool:
        """Whether a success brought what was asked for, as far as is known."""
        response = self._response
        if self.start is PARTIAL and response.status != 206:  # noqa: PLR2004 (Partial Content)
            return False
        if self.head_only or not self.reads_body:
            return True
        if self.size_bytes is not None and response.body_bytes != self.size_bytes:
            return False
        return self._verifier is None or self._verifier.is_right

    def _break(self, fault: AttemptFailure) -> None:
        """End an exchange that failed, and its connection."""
        if self._fed:
            self.body_bytes = self._response.body_bytes
        if self._stray is not None and not self._response.status:
            fault = AttemptFailure.PROTOCOL
        if fault is AttemptFailure.CLOSED:
            self._loop.cut += 1
        self.close()
        self.on_fault(fault, self._loop.clock())
