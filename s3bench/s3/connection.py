"""One client connection: reads requests, has them answered, and records what happened.

Owns the order of things on one socket (RFC 9112 9): one exchange at a time, pipelined requests kept until their turn,
every body read to its end. What a request means is `http`'s and `framing`'s; how bytes move, `intake`'s and `outbox`'s;
what is answered, the handler's.

The epoll set holds a connection for reading and nothing else as long as replies fit into the socket's buffer, so the
usual request costs one epoll_wait (shared by all ready connections), one recv and one send.
"""

import socket
from enum import IntEnum
from select import EPOLLIN, EPOLLOUT, EPOLLRDHUP

from s3bench.s3.exchange import NO_BODY, NO_FACTS, Body, Reply
from s3bench.s3.framing import framing_of
from s3bench.s3.http import HEAD_BYTES_MAX, HEAD_END, BadRequest, RequestHead, parse_head
from s3bench.s3.intake import Intake
from s3bench.s3.loop import VOID_BYTES, Loop
from s3bench.s3.outbox import BLOCKED, Outbox
from s3bench.s3.refusal import refuse

READ_MASK = EPOLLIN | EPOLLRDHUP
RECEIVE_BYTES = 64 * 1024
"""At least one TLS record (16 KiB), so that no decrypted byte stays behind in OpenSSL, where epoll cannot see it."""

_CR = 13
_HEAD_END_BYTES = len(HEAD_END)


class State(IntEnum):
    """What a connection waits for."""

    HANDSHAKE = 0
    HEAD = 1
    BODY = 2
    DELAY = 3
    SEND = 4
    LINGER = 5
    CLOSED = 6


_HEAD, _SEND = State.HEAD, State.SEND  # a global is looked up faster than an enum's member

HEAD_LIMIT_S = 60.0
"""From the first byte of a request head to its last."""

LIMITS_S = {
    State.HANDSHAKE: 30.0,
    State.HEAD: 900.0,
    State.BODY: 120.0,
    State.SEND: 120.0,
    State.LINGER: 5.0,
}
"""How long a connection may stay in a state without any progress. Between requests a client may think for long: its
connection pool must not be measured against our closing."""


class Connection:
    """A plain-text connection."""

    __slots__ = (
        "_active_ns", "_body_ended_ns", "_broken", "_closing", "_droppable", "_head", "_held", "_intake", "_loop",
        "_mask", "_number", "_outbox", "_payload_bytes", "_recv", "_reply", "_response_started_ns", "_started_ns",
        "_state", "_ticket", "_wire_bytes", "sock",
    )  # fmt: skip

    def __init__(self, loop: Loop, sock: socket.socket, number: int) -> None:
        self.sock = sock
        self._loop = loop
        self._number = number
        self._recv = sock.recv
        self._outbox = Outbox(sock)
        self._droppable = True
        self._state = State.HEAD
        self._mask = READ_MASK
        self._active_ns = loop.now_ns
        self._held = b""  # bytes read ahead: part of a head, or pipelined requests
        self._ticket = 0  # tells the current delay from earlier ones
        self._head: RequestHead | None = None  # of the exchange that is on
        self._intake: Intake | None = None
        self._reply: Reply | None = None
        self._closing = False
        self._broken = ""  # why the exchange cannot be complete
        self._started_ns = self._body_ended_ns = self._response_started_ns = 0
        self._payload_bytes = self._wire_bytes = 0
        loop.watch(sock.fileno(), self, READ_MASK)

    # What the loop calls.

    def on_event(self, events: int) -> None:
        """Go on, since the socket is ready; errors show in the call that follows, so `events` tells nothing more."""
        del events
        self._active_ns = self._loop.now_ns
        state = self._state
        if state is _HEAD:
            self._receive_head()
        elif state is State.BODY:
            self._receive_body()
        elif state is _SEND:
            self._send_on()
        elif state is State.LINGER:
            self._drain()
        elif state is State.DELAY:  # nothing is watched for then: the client is gone
            self._lose("the client closed the connection")

    def on_time(self, ticket: int) -> None:
        """Send the reply that was delayed with `ticket`."""
        if self._state is State.DELAY and ticket == self._ticket:
            self._active_ns = self._loop.now_ns
            assert self._reply is not None
            if self._start_reply(self._reply, self._loop.clock()):
                self._resume()

    def on_sweep(self, now_ns: int) -> None:
        """Give up what waits longer than any working client would."""
        limit_s, since_ns = LIMITS_S.get(self._state), self._active_ns
        if self._state is State.HEAD and self._held:
            limit_s, since_ns = HEAD_LIMIT_S, self._started_ns
        if limit_s is not None and now_ns - since_ns > limit_s * 1e9:
            self._lose(f"nothing came for {limit_s:.0f} s")

    @property
    def idle(self) -> bool:
        """Whether no request has begun."""
        return self._state is State.HEAD and not self._held

    def abort(self, why: str) -> None:
        """Close now; a request that is on is recorded as incomplete, because of `why`."""
        self._lose(why)

    # Reading.

    def _receive_head(self) -> None:
        try:
            data = self._recv(RECEIVE_BYTES)
        except BLOCKED:
            return
        except OSError as error:
            self._lose(_in_words(error))
            return
        if not data:
            self._lose("the client closed the connection")
        elif self._held:
            held, self._held = self._held, b""
            self._loop.busy -= 1  # it is counted again where the bytes are taken
            self._take(held + data, self._started_ns)
        else:
            self._take(data, self._loop.now_ns)

    def _take(self, data: bytes, started_ns: int) -> None:
        """Serve the requests in `data`, the first begun at `started_ns`, one after another until one has to wait."""
        loop = self._loop
        try:
            while True:
                if data[0] <= _CR:  # RFC 9112 2.2 asks to ignore empty lines before a request
                    data = data.lstrip(b"\r\n")
                    if not data:
                        return
                self._started_ns = started_ns
                loop.busy += 1
                end = data.find(HEAD_END)
                if not 0 <= end <= HEAD_BYTES_MAX:
                    self._hold_head(data)
                    return
                self._head = head = parse_head(data[:end])
                self._closing = head.closing
                at = end + _HEAD_END_BYTES
                if head.chunked or head.length:
                    at = self._begin_body(head, data, at)
                else:
                    sink = loop.handler.begin(head)
                    self._answer(head, NO_BODY if sink is None else Body(0, 0, {}, sink))
                if at == len(data):
                    return
                data = data[at:]
                if self._state is not _HEAD:
                    self._held = data
                    return
                started_ns = loop.now_ns
        except BadRequest as bad:
            self._refuse(bad)

    def _hold_head(self, data: bytes) -> None:
        if len(data) > HEAD_BYTES_MAX:
            why = f"the request head is longer than {HEAD_BYTES_MAX} bytes"
            raise BadRequest(why, status=431, code="RequestHeaderSectionTooLarge")
        self._held = data

    def _begin_body(self, head: RequestHead, data: bytes, at: int) -> int:
        """Begin to read the body of `head`, part of which may be in `data` from `at` on; where it ends there."""
        loop = self._loop
        framing = framing_of(head)
        sink = loop.handler.begin(head)
        self._intake = intake = Intake(
            self.sock, framing, sink, buffer=loop.buffer, void=loop.void, droppable=self._droppable
        )
        self._state = State.BODY
        if at < len(data):
            at += intake.feed(memoryview(data)[at:])
        if intake.ended:
            self._answer(head, intake.body())
        elif head.expects_continue and not self._outbox.send_continue():
            self._lose("the client took no 100 Continue")
        return at

    def _receive_body(self) -> None:
        assert self._intake is not None
        try:
            leftover = self._intake.receive()
        except BLOCKED:
            return
        except OSError as error:
            self._lose(_in_words(error))
            return
        except BadRequest as bad:
            self._refuse(bad)
            return
        if leftover is None:
            self._lose("the client closed the connection")
        elif self._intake.ended:
            self._held = leftover
            assert self._head is not None
            if self._answer(self._head, self._intake.body()):
                self._resume()

    # Answering.

    def _answer(self, head: RequestHead, body: Body) -> bool:
        """Have the request answered; whether the exchange is over and the next one may begin."""
        loop = self._loop
        self._intake = None
        self._payload_bytes = body.payload_bytes
        self._wire_bytes = body.wire_bytes
        self._body_ended_ns = now_ns = loop.clock()
        self._reply = reply = loop.handler.finish(head, body, loop.date_line)
        if reply.delay_s:
            self._state = State.DELAY
            self._ticket += 1
            self._watch_for(0)
            loop.call_at(now_ns + round(reply.delay_s * 1e9), self, self._ticket)
            return False
        return self._start_reply(reply, now_ns)

    def _start_reply(self, reply: Reply, now_ns: int) -> bool:
        self._response_started_ns = now_ns
        self._state = _SEND
        try:
            sent = self._outbox.start(reply, self._closing)
        except OSError as error:
            self._lose(_in_words(error))
            return False
        if sent:
            return self._end()
        self._watch_for(EPOLLOUT)
        return False

    def _send_on(self) -> None:
        try:
            sent = self._outbox.pump()
        except OSError as error:
            self._lose(_in_words(error))
            return
        if sent and self._end():
            self._resume()

    def _end(self) -> bool:
        """Take note that the exchange is over; tell whether the connection goes on."""
        self._record(self._broken)
        self._state = _HEAD
        if self._closing:
            self._linger()
            return False
        return True

    def _resume(self) -> None:
        """Go on to the next request, part of which may have been read ahead."""
        self._watch_for(READ_MASK)
        if self._held:
            data, self._held = self._held, b""
            self._take(data, self._loop.now_ns)

    def _refuse(self, bad: BadRequest) -> None:
        """Answer a request that cannot be read any further, and close."""
        head = self._head
        self._count_intake()
        if head is None:
            self._loop.recorder.fault(f"connection {self._number}: {bad.why}")
        else:
            self._broken = f"{bad.why} (in {head.method} {head.target})"
        self._closing = True
        self._body_ended_ns = now_ns = self._loop.clock()
        date_line = self._loop.date_line
        self._reply = refuse(head, status=bad.status, code=bad.code, message=bad.why, date_line=date_line)
        self._start_reply(self._reply, now_ns)

    # Recording and ending.

    def _record(self, error: str) -> None:
        """Record the exchange that is on, if its head could be read, and take it off."""
        loop = self._loop
        loop.busy -= 1
        head, reply = self._head, self._reply
        if head is not None:
            loop.recorder.add(
                head,
                self._number,
                self._started_ns,
                self._body_ended_ns,
                self._response_started_ns,
                loop.clock(),
                self._payload_bytes,
                self._wire_bytes,
                0 if reply is None else self._outbox.body_bytes,
                NO_FACTS if reply is None else reply.facts,
                error,
            )
            self._head = None

    def _lose(self, why: str) -> None:
        """Take note that the connection is over, in the middle of an exchange or between two."""
        head = self._head
        if head is not None:
            self._count_intake()
            moved = f"{self._wire_bytes} bytes of its body received"
            if self._state is State.SEND:
                moved = f"{self._outbox.body_bytes} bytes of its response sent"
            else:
                self._reply = None
                self._response_started_ns = self._loop.clock()
                if self._state is not State.DELAY:
                    self._body_ended_ns = self._response_started_ns
            self._record(self._broken or f"{why}: {head.method} {head.target}, {moved}")
        elif self._held:
            self._loop.busy -= 1
            self._loop.recorder.fault(f"connection {self._number}: {why} inside a request head: {self._held[:80]!r}")
        elif self._state is State.SEND:  # the refusal of a head that could not be read
            self._loop.busy -= 1
        self._close()

    def _count_intake(self) -> None:
        intake = self._intake
        if intake is not None:
            self._payload_bytes, self._wire_bytes = intake.payload_bytes, intake.wire_bytes
            self._intake = None
        elif self._state is State.HEAD:
            self._payload_bytes = self._wire_bytes = 0

    def _linger(self) -> None:
        """Close our half and wait for the client to close its own: closing both would destroy a reply on its way."""
        try:
            self.sock.shutdown(socket.SHUT_WR)
        except OSError:
            self._close()
            return
        self._held = b""
        self._state = State.LINGER
        self._watch_for(EPOLLIN)

    def _drain(self) -> None:
        try:
            count = self.sock.recv_into(self._loop.void, VOID_BYTES, socket.MSG_TRUNC)
        except BLOCKED:
            return
        except OSError:
            count = 0
        if not count:
            self._close()

    def _close(self) -> None:
        if self._state is not State.CLOSED:
            self._state = State.CLOSED
            self._held = b""
            self._loop.unwatch(self.sock.fileno())
            self.sock.close()

    def _watch_for(self, mask: int) -> None:
        if mask != self._mask:
            self._mask = mask
            self._loop.epoll.modify(self.sock.fileno(), mask)


def _in_words(error: OSError) -> str:
    return f"the connection failed ({error.strerror or error})"
