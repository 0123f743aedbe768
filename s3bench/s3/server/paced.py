"""Paces a connection: its bytes leave and arrive no faster than a network model lets them.

Also injects the faults that strike inside a reply. `network.pacer` calculates how long bytes take.

A reply's head leaves at once. Its body leaves by quanta, each when its slot on the link ends, so the last byte leaves
when the model says. There is one timer per slot, and the next slot is reserved when the last one has been sent. A
request's body is read by quanta too; each is paid for before the next is read, and the last before the reply. The rest
waits in the sockets' buffers, where the client sees the link's pace as TCP's back-pressure.
"""

import socket
import struct

from s3bench.s3.network.link import Link, LinkDirection
from s3bench.s3.network.pacer import Pacer, reserve
from s3bench.s3.protocol.exchange import Reply, RequestBody
from s3bench.s3.protocol.http import BadRequest, RequestHead
from s3bench.s3.server.connection import ServerConnection, in_words
from s3bench.s3.server.loop import ServerLoop
from s3bench.s3.server.outbox import FileChanged
from s3bench.s3.server.peer import READ_MASK, PeerState
from s3bench.system.poller import WRITABLE

SLACK_NS = 20_000_000
"""How late a timer or a socket may be without costing the connection its pace: what was missed is made up for. A client
that reads slowly gets no more than this in a burst."""

_SOON_NS = 50_000
"""What is due within this time leaves now: a timer would be as late as that."""

_FIRST_BYTES = 4 * 1024
"""The first quantum of a body: the first byte does not wait for a whole slot."""

_READ_BYTES_MIN = 16 * 1024
"""A whole TLS record, so that no decrypted byte stays behind in OpenSSL, where epoll cannot see it."""

_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: closing sends RST and drops what is not sent (socket(7))


class PacedConnection(ServerConnection):
    """A plain-text connection on `link`; without `__slots__`, so that the TLS one can inherit from both sides."""

    def __init__(self, loop: ServerLoop, sock: socket.socket, number: int, link: Link) -> None:
        ServerConnection.__init__(self, loop, sock, number)
        self._join(link)

    def _join(self, link: Link) -> None:
        self._fast = None  # no reply over a link can be sent at once
        self._link = link
        self._up = link.up.own_pacer()
        self._down = link.down.own_pacer()
        self._direction: LinkDirection | None = None  # where a body of this connection is on its way
        self._charged_bytes = 0  # of the request body, on the wire
        self._body: RequestBody | None = None  # has been read, but not all of it would have arrived yet
        self._allowed_bytes = 0  # of the reply: what has crossed the link
        self._slot_bytes = 0  # what crosses it in the slot that is reserved
        self._edge_bytes = 0  # where the reply ends or breaks
        self._reply_bytes = 0
        self._is_paced = False

    # Called by the loop.

    def on_event(self, events: int) -> None:
        """Continue as any connection; while it waits for its time it watches no event, so only its end is noticed."""
        if self._mask:
            super().on_event(events)
        else:
            self._lose("the client closed the connection")

    def on_time(self, ticket: int) -> None:
        """Go on with what waited for its slot."""
        if ticket != self._ticket:
            return
        self._active_ns = self._loop.now_ns
        if self._state is PeerState.SEND:
            self._allowed_bytes += self._slot_bytes
            self._slot_bytes = 0
            self._send_on()
        elif self._state is PeerState.BODY:
            if self._body is None:
                self._receive_body()
            else:
                assert self._head is not None
                if self._respond(self._head, self._body):
                    self._resume()
        else:
            super().on_time(ticket)

    def on_sweep(self, now_ns: int) -> None:
        """Give up what waits too long for the client; what waits for its slot does not."""
        if self._mask:
            super().on_sweep(now_ns)

    # Receiving.

    def _begin_body(self, head: RequestHead, data: bytes, at: int) -> int:
        self._enter(self._link.up)
        self._charged_bytes = 0
        self._up.free_ns = max(self._up.free_ns, self._started_ns)
        return self._read_body(head, data, at)

    def _receive_body(self) -> None:
        direction, intake = self._link.up, self._intake
        if not direction.limited:
            super()._receive_body()
            return
        assert intake is not None
        until_bytes = intake.wire_bytes + direction.quantum_bytes()
        leftover: bytes | None = b""
        try:
            while leftover is not None and intake.wire_bytes < until_bytes and not intake.ended:
                leftover = intake.receive(max(until_bytes - intake.wire_bytes, _READ_BYTES_MIN))
        except self.would_block:
            pass
        except OSError as error:
            self._lose(in_words(error))
            return
        except BadRequest as bad:
            self._reject(bad)
            return
        if leftover is None:
            self._lose("the client closed the connection")
        elif intake.ended:
            self._held = leftover
            assert self._head is not None
            if self._respond(self._head, intake.body()):
                self._resume()
        elif intake.wire_bytes > self._charged_bytes:
            self._wait_until(self._charge(intake.wire_bytes))
        else:
            self._watch_for(READ_MASK)

    def _charge(self, wire_bytes: int) -> float:
        """Let the request body up to `wire_bytes` on to the link; when it will have arrived."""
        size_bytes = wire_bytes - self._charged_bytes
        self._charged_bytes = wire_bytes
        return reserve(self._up, self._link.up.shared, size_bytes, self._loop.now_ns - SLACK_NS)

    def _respond(self, head: RequestHead, body: RequestBody) -> bool:
        """Respond once all of the body would have arrived."""
        if self._link.up.limited and body.wire_bytes > self._charged_bytes:
            self._body = body
            if self._comes_later(self._up):
                return False
            due_ns = self._charge(body.wire_bytes)
            if due_ns > self._loop.clock() + _SOON_NS:
                self._wait_until(due_ns)
                return False
        self._body = None
        self._leave()
        return super()._respond(head, body)

    # Sending.

    def _start_reply(self, reply: Reply, now_ns: int, sent: int = 0) -> bool:
        self._is_paced = self._link.down.limited or reply.broken is not None
        if not self._is_paced:
            return super()._start_reply(reply, now_ns, sent)
        self._response_started_ns = now_ns
        self._state = PeerState.SEND
        self._outbox.load(reply, sent=sent, closing=self._closing)
        self._reply_bytes = self._outbox.size_bytes
        self._edge_bytes = self._reply_bytes if reply.broken is None else reply.broken.after_bytes
        self._allowed_bytes = min(self._reply_bytes - self._outbox.body_size_bytes, self._edge_bytes)
        self._enter(self._link.down)
        due_ns = self._body_ended_ns + reply.delay_s * 1e9
        self._down.free_ns = max(self._down.free_ns, due_ns, now_ns - SLACK_NS)
        return self._cross(first=True)

    def _send_on(self) -> None:
        if not self._is_paced:
            super()._send_on()
        elif self._cross():
            self._resume()

    def _cross(self, *, first: bool = False) -> bool:
        """Send what has crossed the link, reserve the next slot; whether the next exchange may begin.

        What the socket does not take stays allowed, and nothing more is reserved before it is taken.
        """
        try:
            if not first and not self._outbox.pump(self._allowed_bytes):
                self._watch_for(WRITABLE)
                return False
            waits = self._reserve()
            sent = self._outbox.pump(self._allowed_bytes)
        except (OSError, FileChanged) as error:
            self._lose(in_words(error))
            return False
        if waits:
            return False
        if not sent:
            self._watch_for(WRITABLE)
            return False
        return self._reach_edge()

    def _reserve(self) -> bool:
        """Reserve the next slot, if there is more to send; whether it is waited for.

        One slot at a time, even where several are overdue: so connections that catch up take turns. The first quantum
        of a body leaves at once where its slot ends soon.
        """
        direction = self._link.down
        left_bytes = self._edge_bytes - self._allowed_bytes
        if not left_bytes:
            return False
        if self._comes_later(self._down):
            return True
        is_first = self._allowed_bytes == self._reply_bytes - self._outbox.body_size_bytes
        now_ns = self._loop.clock()
        size_bytes = min(_FIRST_BYTES if is_first else direction.quantum_bytes(), left_bytes)
        due_ns = reserve(self._down, direction.shared, size_bytes, now_ns - SLACK_NS)
        if is_first and due_ns <= now_ns + _SOON_NS:
            self._allowed_bytes += size_bytes
            return self._reserve()
        self._slot_bytes = size_bytes
        self._wait_until(due_ns)
        return True

    def _reach_edge(self) -> bool:
        """Go on where the reply has ended, or where it breaks."""
        if self._edge_bytes == self._reply_bytes:
            return self._end(self._outbox.body_bytes, self._broken)
        assert self._reply is not None
        assert self._reply.broken is not None
        stall_ns = self._reply.broken.stall_s * 1e9
        if stall_ns:
            self._edge_bytes = self._reply_bytes
            self._down.free_ns = self._loop.clock() + stall_ns
            self._wait_until(self._down.free_ns)
        else:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            self._lose("the network model reset the connection")
        return False

    # The link.

    def _comes_later(self, own: Pacer) -> bool:
        """Whether slots that end before this connection is ready are overdue; if so, it waits behind them.

        Slots are reserved in the order in which connections are ready for them. If a late one came first, it would
        move the schedule that all share forward to its own time, and leave a gap before it that nobody could use.
        """
        timers = self._loop.timers
        if not timers or timers[0][0] >= int(own.free_ns):
            return False
        self._wait_until(own.free_ns)
        return True

    def _wait_until(self, due_ns: float) -> None:
        self._ticket += 1
        self._watch_for(0)
        self._loop.call_at(int(due_ns), self, self._ticket)

    def _enter(self, direction: LinkDirection) -> None:
        self._leave()
        self._direction = direction
        direction.active += 1

    def _leave(self) -> None:
        if self._direction is not None:
            self._direction.active -= 1
            self._direction = None

    def _end(self, response_bytes: int, error: str) -> bool:
        self._leave()
        return super()._end(response_bytes, error)

    def _close(self) -> None:
        self._leave()
        super()._close()
