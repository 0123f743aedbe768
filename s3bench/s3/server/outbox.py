"""Sends one reply: small ones in one send, large files by sendfile(2). For TLS see `tls.TlsOutbox`."""

import os
import socket
from collections.abc import Iterator
from typing import ClassVar

from s3bench.s3.protocol.exchange import Reply, Segment
from s3bench.system.sockets import MORE

Errors = tuple[type[OSError], ...]

WOULD_BLOCK: Errors = (BlockingIOError, InterruptedError)
"""The exceptions of a non-blocking plain socket that is not ready: wait for it, and try again."""

ALL = 1 << 62
"""More bytes than any reply has."""

NOTHING = memoryview(b"")

_SENDFILE_BYTES = 4 * 1024 * 1024
_CLOSE = b"Connection: close\r\n"


class FileChanged(Exception):
    """A file became shorter than it was when it was opened."""

    def __init__(self, segment: Segment) -> None:
        super().__init__(f"{segment.source.name!r} became shorter while it was served")


class Outbox:
    """The sending half of one plain-text connection."""

    __slots__ = ("_at", "_end", "_head_bytes", "_out", "_segment", "_segments", "_sent_bytes", "_sock", "size_bytes")

    would_block: ClassVar[Errors] = WOULD_BLOCK
    """The exceptions of the socket when it is not ready."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._out = NOTHING  # bytes to send before the file
        self._segments: Iterator[Segment] = iter(())  # what is sent after _segment
        self._segment: Segment | None = None  # what is sent from _at to _end
        self._at = 0
        self._end = 0
        self._head_bytes = 0
        self._sent_bytes = 0
        self.size_bytes = 0  # of the reply, its head included

    @property
    def body_bytes(self) -> int:
        """Bytes of the response body that the kernel has taken so far; negative while the head is not yet sent."""
        return self._sent_bytes - self._head_bytes

    @property
    def body_size_bytes(self) -> int:
        """Bytes of the response body."""
        return self.size_bytes - self._head_bytes

    def load(self, reply: Reply, *, sent: int, closing: bool) -> None:
        """Take `reply`, of which `sent` bytes are sent, and `Connection: close` with it where `closing`."""
        data = reply.data
        self._head_bytes = head_bytes = reply.head_bytes
        if closing:
            self._head_bytes += len(_CLOSE)
            data = data[: head_bytes - 2] + _CLOSE + data[head_bytes - 2 :]
        self._sent_bytes = sent
        self.size_bytes = len(data) + sum(segment.end - segment.start for segment in reply.segments)
        self._out = memoryview(data)[sent:]
        self._segments = iter(reply.segments)
        self._next_segment()

    def pump(self, until_bytes: int = ALL) -> bool:
        """Send on, until `until_bytes` of the reply are sent; whether that is so or the reply is all sent.

        Otherwise the socket is full. Raises `OSError` when the client is gone, `FileChanged` when the file is.
        """
        try:
            while True:
                room = until_bytes - self._sent_bytes
                if room <= 0:
                    return True
                if len(self._out):
                    # A head shares its packet with the first bytes of its file.
                    more = self._at < self._end and room > len(self._out)
                    sent = self._send_bytes(self._out[:room], more=more)
                    self._sent_bytes += sent
                    self._out = self._out[sent:]
                elif self._at < self._end:
                    if not self._send_file(room):
                        return False
                elif not self._next_segment():
                    return True
        except self.would_block:
            return False

    def send_continue(self) -> bool:
        """Reply to `Expect: 100-continue`; false when the socket does not take those few bytes."""
        line = b"HTTP/1.1 100 Continue\r\n\r\n"
        try:
            return self._sock.send(line) == len(line)
        except OSError:
            return False

    def _next_segment(self) -> bool:
        """Go on to the next segment, if there is one."""
        segment = self._segment = next(self._segments, None)
        if segment is None:
            return False
        self._at, self._end = segment.start, segment.end
        return True

    def _send_bytes(self, data: memoryview, *, more: bool) -> int:
        return self._sock.send(data, MORE if more else 0)

    def _send_file(self, room: int) -> bool:
        """Move up to `room` file bytes into the socket; whether it may take more."""
        segment = self._segment
        assert segment is not None
        wanted = min(self._end - self._at, _SENDFILE_BYTES, room)
        sent = os.sendfile(self._sock.fileno(), segment.source.descriptor, self._at, wanted)
        if not sent:
            raise FileChanged(segment)
        self._at += sent
        self._sent_bytes += sent
        return sent == wanted
