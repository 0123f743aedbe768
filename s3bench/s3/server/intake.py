"""Reads one request body from a socket: in large pieces where a sink wants them, otherwise dropped in the kernel."""

import socket

from s3bench.s3.protocol.exchange import RequestBody, Sink
from s3bench.s3.protocol.framing import Framing
from s3bench.system.event_loop import VOID_BYTES
from s3bench.system.sockets import DISCARD

_RECORD_BYTES = 16 * 1024  # the most that a record of TLS holds, and OpenSSL gives in a call (RFC 8446 5.1)
_FRAME_BYTES = 4 * 1024  # read where only a chunk line is wanted and what follows it will be dropped


class Intake:
    """The body of one request. `droppable` says that the socket can discard bytes unseen, which TLS cannot."""

    __slots__ = (
        "_buffer", "_droppable", "_framing", "_is_secure", "_sink", "_sock", "_void", "payload_bytes", "wire_bytes",
    )  # fmt: skip

    def __init__(
        self,
        sock: socket.socket,
        framing: Framing,
        sink: Sink | None,
        *,
        buffer: memoryview,
        void: memoryview,
        droppable: bool,
    ) -> None:
        self._sock = sock
        self._framing = framing
        self._sink = sink
        self._buffer = buffer
        self._void = void
        self._droppable = droppable and sink is None
        self._is_secure = not droppable
        self.payload_bytes = 0
        self.wire_bytes = 0

    @property
    def ended(self) -> bool:
        """Whether the body has been read to its end."""
        return self._framing.ended

    def body(self) -> RequestBody:
        """Give the body, once it has ended."""
        return RequestBody(self.payload_bytes, self.wire_bytes, self._framing.trailers, self._sink)

    def feed(self, view: memoryview) -> int:
        """Take body bytes that were read already; how many of them belong to the body. Raises `BadRequest`."""
        pieces, consumed = self._framing.feed(view)
        self.wire_bytes += consumed
        for piece in pieces:
            self.payload_bytes += len(piece)
            if self._sink is not None:
                self._sink.update(piece)
        return consumed

    def receive(self, bytes_max: int = VOID_BYTES) -> bytes | None:
        """Read what there is, `bytes_max` at most; what follows the body, or `None` when the client closed.

        Raises `OSError` (also when nothing is there) and `BadRequest`.
        """
        wanted = min(len(self._buffer), bytes_max)
        if self._droppable:
            ahead = self._framing.payload_ahead()
            if ahead:
                return self._drop(min(ahead, bytes_max))
            wanted = min(_FRAME_BYTES, bytes_max)
        count = self._sock.recv_into(self._buffer, wanted)
        if not count:
            return None
        if self._is_secure:
            count = self._read_records(count, wanted)
        consumed = self.feed(self._buffer[:count])
        return bytes(self._buffer[consumed:count])

    def _read_records(self, count: int, wanted: int) -> int:
        """Read on behind the first `count` bytes, record after record; how many bytes there are then.

        So they are hashed and stored together. There is always room for a whole record: what were left of one in
        OpenSSL, epoll could not see.
        """
        more = count
        try:
            while more == _RECORD_BYTES and count + _RECORD_BYTES <= wanted:
                more = self._sock.recv_into(self._buffer[count:], _RECORD_BYTES)
                count += more
        except OSError:
            pass  # nothing more is there, or the connection failed, which shows again at the next call
        return count

    def _drop(self, ahead: int) -> bytes | None:
        # The buffer only bounds how much is discarded; Linux does not write to it.
        count = self._sock.recv_into(self._void, min(ahead, VOID_BYTES), DISCARD)
        if not count:
            return None
        self.wire_bytes += count
        self.payload_bytes += count
        self._framing.skip(count)
        return b""
