"""One client connection: reads requests, passes them to the handler, sends its replies, and records each exchange.

One exchange at a time (RFC 9112 9): pipelined requests are kept until their turn, and every body is read to its end.

The epoll set holds a connection for reading and nothing else as long as replies fit into the socket's buffer, so the
usual request costs one epoll_wait (shared by all ready connections), one recv and one send; so does one with a small
body that comes together with its head.
"""

import socket

from s3bench.s3.protocol.exchange import NO_BODY, NO_FACTS, Reply, RequestBody, Unwanted
from s3bench.s3.protocol.framing import framing_of, is_bare
from s3bench.s3.protocol.http import HEAD_BYTES_MAX, HEAD_END, BadRequest, RequestHead, check_beginning
from s3bench.s3.protocol.s3_error import error_reply
from s3bench.s3.server.fast_path import Begun, FastPath, fast_path, parse_head
from s3bench.s3.server.intake import Intake
from s3bench.s3.server.loop import ServerLoop
from s3bench.s3.server.outbox import FileChanged, Outbox
from s3bench.s3.server.peer import READ_MASK, Peer, PeerState
from s3bench.system.poller import WRITABLE

RECEIVE_BYTES = 64 * 1024
"""At least one TLS record (16 KiB), so that no decrypted byte stays behind in OpenSSL, where epoll cannot see it."""

_CR = 13
_HEAD_END_BYTES = len(HEAD_END)


_HEAD, _SEND = PeerState.HEAD, PeerState.SEND  # a global is looked up faster than an enum's member


class ServerConnection(Peer):
    """A plain-text connection."""

    __slots__ = (
        "_body_ended_ns", "_broken", "_closing", "_descriptor", "_droppable", "_fast", "_head", "_intake", "_number",
        "_outbox", "_payload_bytes", "_recv", "_reply", "_response_started_ns", "_send", "_ticket", "_wire_bytes",
    )  # fmt: skip

    def __init__(self, loop: ServerLoop, sock: socket.socket, number: int) -> None:
        super().__init__(loop, sock)
        self._number = number
        self._fast: FastPath | None = fast_path
        self._descriptor = sock.fileno()
        self._recv = sock.recv
        self._send = sock.send
        self._outbox = Outbox(sock)
        self._droppable = True
        self._ticket = 0  # of the current delay; earlier ones are void
        self._head: RequestHead | None = None  # of the exchange that is on
        self._intake: Intake | None = None
        self._reply: Reply | None = None
        self._closing = False
        self._broken = ""  # why the exchange cannot be complete
        self._body_ended_ns = self._response_started_ns = 0
        self._payload_bytes = self._wire_bytes = 0

    # Called by the loop.

    def on_event(self, events: int) -> None:
        """Go on, since the socket is ready; errors show in the call that follows, so `events` adds nothing."""
        del events
        loop = self._loop
        self._active_ns = loop.now_ns
        if self._state is not _HEAD:
            self._go_on_after_head()
            return
        fast = None if self._held else self._fast
        received: bytes | Begun | None
        try:
            if fast is None:
                received = self._recv(RECEIVE_BYTES)
            else:
                recorder = loop.recorder
                received = fast.exchange(
                    loop.handler.finish, loop.date_line, recorder.records, recorder.records_max, loop.now_ns,
                    self._descriptor, self._number,
                )  # fmt: skip
                if received is None:
                    return
        except self.would_block:
            return
        except OSError as error:
            self._lose(in_words(error))
            return
        if isinstance(received, tuple):
            try:
                self._continue_exchange(*received)
            finally:
                del received  # else a cycle: the traceback of what the handler raised refers to this frame
        elif received and not self._held:
            self._take(received, self._active_ns)
        else:
            self._take_more(received)

    def on_time(self, ticket: int) -> None:
        """Go on with what was put off with `ticket`: a delayed reply, or pipelined requests."""
        if ticket != self._ticket:
            return
        if self._state is _HEAD and self._held:
            data, self._held = self._held, b""
            self._loop.busy -= 1  # it is counted again where the bytes are taken
            self._watch_for(READ_MASK)
            self._active_ns = self._loop.now_ns
            self._take(data, self._active_ns)
        elif self._state is PeerState.DELAY:
            self._active_ns = self._loop.now_ns
            assert self._reply is not None
            if self._start_reply(self._reply, self._loop.clock()):
                self._resume()

    def fail(self, why: str) -> None:
        """Reply 500 where nothing of a reply has been sent yet, and close."""
        if self._state in {PeerState.HEAD, PeerState.BODY} and self._reply is None:
            self._reject(BadRequest(why, status=500, code="InternalError"))
        else:
            self._lose(why)

    def abort(self, why: str) -> None:
        """Close now; a request that is on is recorded as incomplete, because of `why`."""
        self._lose(why)

    # Reading.

    def _go_on_after_head(self) -> None:
        """Go on with what follows a request's head."""
        state = self._state
        if state is PeerState.BODY:
            self._receive_body()
        elif state is _SEND:
            self._send_on()
        elif state is PeerState.LINGER:
            self._drain()
        elif state is PeerState.DELAY:  # nothing is watched for then: the client is gone
            self._lose("the client closed the connection")

    def _take_more(self, data: bytes) -> None:
        """Take the next bytes of a head that has begun, or the client's end."""
        if data:
            held, self._held = self._held, b""
            self._loop.busy -= 1  # it is counted again where the bytes are taken
            self._take(held + data, self._started_ns)
        else:
            self._lose("the client closed the connection")

    def _continue_exchange(self, head: RequestHead, reply: Reply | Exception, now_ns: int, sent: int) -> None:
        """Go on with the exchange that `FastPath.exchange` has begun."""
        self._started_ns = self._active_ns
        self._begin(head)  # so that what failed is recorded
        try:
            if isinstance(reply, Exception):
                raise reply
            self._respond_with(reply, NO_BODY, now_ns, sent)
        except BadRequest as bad:
            self._reject(bad)
        finally:
            del reply  # as in `on_event`

    def _take(self, data: bytes, started_ns: int) -> None:
        """Serve the first request in `data`, begun at `started_ns`, and keep what follows until its turn."""
        try:
            if data[0] <= _CR:  # RFC 9112 2.2 asks to ignore empty lines before a request
                data = data.lstrip(b"\r\n")
                if not data:
                    return
            self._started_ns = started_ns
            end = data.find(HEAD_END)
            if not 0 <= end <= HEAD_BYTES_MAX:
                self._hold_head(data)
                return
            head = parse_head(data[:end])
            at = end + _HEAD_END_BYTES
            if head.chunked or head.length:
                at = self._begin_body(head, data, at)
            else:
                self._respond_bodyless(head)
            if at < len(data):
                if self._state is _HEAD:
                    self._postpone(data[at:])
                else:
                    self._held = data[at:]
        except BadRequest as bad:
            self._reject(bad, to_head=data.startswith(b"HEAD "))

    def _postpone(self, data: bytes) -> None:
        """Keep pipelined requests for the next turn, and read no more before: the other connections come first."""
        self._loop.busy += 1
        self._held = data
        self._ticket += 1
        self._watch_for(0)
        self._loop.call_at(self._loop.now_ns + 1, self, self._ticket)

    def _begin(self, head: RequestHead) -> None:
        """Begin an exchange that may outlast this turn."""
        self._loop.busy += 1
        self._head = head
        self._closing = head.closing

    def _hold_head(self, data: bytes) -> None:
        """Keep a head that has only begun; one that can never be whole is refused at its first wrong byte."""
        if len(data) > HEAD_BYTES_MAX:
            why = f"the request head is longer than {HEAD_BYTES_MAX} bytes"
            raise BadRequest(why, status=431, code="RequestHeaderSectionTooLarge")
        check_beginning(data)
        self._loop.busy += 1
        self._held = data

    def _begin_body(self, head: RequestHead, data: bytes, at: int) -> int:
        """Take the body of `head`, as much of it as is in `data` from `at` on; where it ends there."""
        end = at + head.length
        if end > len(data) or not is_bare(head):
            return self._read_body(head, data, at)
        loop = self._loop
        try:
            sink = loop.handler.begin(head)
            if sink is not None:
                sink.update(memoryview(data)[at:end])
            body = RequestBody(head.length, head.length, {}, sink)
            body_ended_ns = loop.clock()
            reply = loop.handler.finish(head, body, loop.date_line)
        except Exception:
            self._begin(head)  # so that what failed is recorded
            raise
        self._respond_at_once(head, body, reply, body_ended_ns)
        return end

    def _read_body(self, head: RequestHead, data: bytes, at: int) -> int:
        """Begin to read the body of `head`, part of which may be in `data` from `at` on; where it ends there."""
        loop = self._loop
        self._begin(head)
        sink = loop.handler.begin(head)
        if isinstance(sink, Unwanted) and head.expects_continue and at == len(data):
            self._closing = True
            self._respond(head, RequestBody(0, 0, {}, sink))
            return at
        framing = framing_of(head, None if sink is None else sink.chunk_check)
        self._intake = intake = Intake(
            self.sock, framing, sink, buffer=loop.buffer, void=loop.void, droppable=self._droppable
        )
        self._state = PeerState.BODY
        if at < len(data):
            at += intake.feed(memoryview(data)[at:])
        if intake.ended:
            self._respond(head, intake.body())
        elif head.expects_continue and not self._outbox.send_continue():
            self._lose("the client took no 100 Continue")
        return at

    def _receive_body(self) -> None:
        assert self._intake is not None
        try:
            leftover = self._intake.receive()
        except self.would_block:
            return
        except OSError as error:
            self._lose(in_words(error))
            return
        except BadRequest as bad:
            self._reject(bad)
            return
        if leftover is None:
            self._lose("the client closed the connection")
        elif self._intake.ended:
            self._held = leftover
            assert self._head is not None
            if self._respond(self._head, self._intake.body()):
                self._resume()

    # Responding.

    def _respond_bodyless(self, head: RequestHead) -> None:
        """Respond to a request without a body."""
        loop = self._loop
        body = NO_BODY
        if "expect" in head.fields and head.expects_continue:
            # botocore asks for it with an empty body too. Where the final status comes without it, botocore takes that
            # for the status of the next such request on the connection as well, and waits for ever: so the connection
            # is closed then.
            body = RequestBody(0, 0, {}, loop.handler.begin(head))
            if isinstance(body.sink, Unwanted):
                self._begin(head)
                self._closing = True
                self._respond_with(loop.handler.finish(head, body, loop.date_line), body, loop.clock(), 0)
                return
            if not self._outbox.send_continue():
                self._begin(head)
                self._lose("the client took no 100 Continue")
                return
        try:
            reply = loop.handler.finish(head, body, loop.date_line)
        except Exception:
            self._begin(head)  # so that what failed is recorded
            raise
        self._respond_at_once(head, body, reply, loop.clock())

    def _respond_at_once(self, head: RequestHead, body: RequestBody, reply: Reply, now_ns: int) -> None:
        """Send `reply` to a request that came whole: in one go when it is in memory and the socket takes it.

        That is what nearly every small request is, and all of the time a busy server has; the longer way leads
        through the connection's state.
        """
        loop = self._loop
        sent = 0
        if reply.at_once is not None and not head.closing:
            try:
                sent = self._send(reply.data)
            except OSError:  # a full socket is waited for; any other trouble shows again when sending goes on
                sent = 0
            if sent == len(reply.data):
                body_bytes = sent - reply.head_bytes
                loop.recorder.add(
                    head,
                    self._number,
                    self._started_ns,
                    now_ns,
                    now_ns,
                    loop.clock(),
                    body.payload_bytes,
                    body.wire_bytes,
                    body_bytes,
                    reply.facts,
                    "",
                )
                return
        self._begin(head)
        self._respond_with(reply, body, now_ns, sent)

    def _respond(self, head: RequestHead, body: RequestBody) -> bool:
        """Respond to the request; whether the exchange is over and the next one may begin."""
        loop = self._loop
        now_ns = loop.clock()
        return self._respond_with(loop.handler.finish(head, body, loop.date_line), body, now_ns, 0)

    def _respond_with(self, reply: Reply, body: RequestBody, now_ns: int, sent: int) -> bool:
        loop = self._loop
        self._intake = None
        self._payload_bytes = body.payload_bytes
        self._wire_bytes = body.wire_bytes
        self._body_ended_ns = now_ns
        self._reply = reply
        if reply.delay_s:
            self._state = PeerState.DELAY
            self._ticket += 1
            self._watch_for(0)
            loop.call_promptly_at(now_ns + round(reply.delay_s * 1e9), self, self._ticket)
            return False
        return self._start_reply(reply, now_ns, sent)

    def _start_reply(self, reply: Reply, now_ns: int, sent: int = 0) -> bool:
        """Send `reply`, of which `sent` bytes are sent; whether all is, and the connection goes on."""
        self._response_started_ns = now_ns
        try:
            self._outbox.load(reply, sent=sent, closing=self._closing)
            if self._outbox.pump():
                return self._end(self._outbox.body_bytes, self._broken)
        except (OSError, FileChanged) as error:
            self._state = _SEND
            self._lose(in_words(error))
            return False
        self._state = _SEND
        self._watch_for(WRITABLE)
        return False

    def _send_on(self) -> None:
        try:
            sent = self._outbox.pump()
        except (OSError, FileChanged) as error:
            self._lose(in_words(error))
            return
        if sent and self._end(self._outbox.body_bytes, self._broken):
            self._resume()

    def _resume(self) -> None:
        """Go on to the next request, part of which may have been read ahead."""
        self._watch_for(READ_MASK)
        if self._held:
            data, self._held = self._held, b""
            self._take(data, self._loop.now_ns)

    def _reject(self, bad: BadRequest, *, to_head: bool = False) -> None:
        """Reply with an error to a request that cannot be read further, and close; `to_head`: its method is HEAD."""
        head = self._head
        self._count_intake()
        if head is None:
            self._loop.busy += 1
            self._loop.recorder.fault(f"connection {self._number}: {bad.why}")
        else:
            self._broken = f"{bad.why} (in {head.method} {head.target})"
        self._closing = True
        self._body_ended_ns = now_ns = self._loop.clock()
        date_line = self._loop.date_line
        self._reply = error_reply(
            head, status=bad.status, code=bad.code, message=bad.why, date_line=date_line, to_head=to_head
        )
        self._start_reply(self._reply, now_ns)

    # Recording and ending.

    def _end(self, response_bytes: int, error: str) -> bool:
        """Record the current exchange, if its head could be read; whether the connection goes on."""
        loop = self._loop
        loop.busy -= 1
        head, reply = self._head, self._reply
        if head is not None:
            self._head = self._reply = None
            loop.recorder.add(
                head,
                self._number,
                self._started_ns,
                self._body_ended_ns,
                self._response_started_ns,
                loop.clock(),
                self._payload_bytes,
                self._wire_bytes,
                response_bytes,
                NO_FACTS if reply is None else reply.facts,
                error,
            )
        self._state = _HEAD
        if self._closing:
            self._linger()
            return False
        return True

    def _lose(self, why: str) -> None:
        """Record that the connection is over, in the middle of an exchange or between two."""
        head = self._head
        if head is not None:
            self._count_intake()
            response_bytes = 0
            if self._state is _SEND:
                response_bytes = max(0, self._outbox.body_bytes)
                moved = f"{response_bytes} bytes of its response sent"
            else:
                moved = f"{self._wire_bytes} bytes of its body received"
                self._reply = None
                self._response_started_ns = self._loop.clock()
                if self._state is not PeerState.DELAY:
                    self._body_ended_ns = self._response_started_ns
            self._closing = False  # the client is gone
            self._end(response_bytes, self._broken or f"{why}: {head.method} {head.target}, {moved}")
        elif self._held:
            self._loop.busy -= 1
            self._loop.recorder.fault(f"connection {self._number}: {why} inside a request head: {self._held[:80]!r}")
        elif self._state is _SEND:  # the error reply to a head that could not be read
            self._loop.busy -= 1
        self._close()

    def _count_intake(self) -> None:
        intake = self._intake
        if intake is not None:
            self._payload_bytes, self._wire_bytes = intake.payload_bytes, intake.wire_bytes
            self._intake = None
        elif self._state is PeerState.HEAD:
            self._payload_bytes = self._wire_bytes = 0


def in_words(error: OSError | FileChanged) -> str:
    """Say what ended a connection."""
    return str(error) if isinstance(error, FileChanged) else f"the connection failed ({error.strerror or error})"
