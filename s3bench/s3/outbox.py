"""One reply on its way into a socket.

Owns how reply bytes leave: small ones in one send, large files by sendfile(2), over TLS by read and send. What the
reply is belongs to the handler; waiting for the socket belongs to `connection`.
"""

import os
import socket
import ssl

from s3bench.s3.exchange import Reply, Segment

BLOCKED = (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
"""What a non-blocking socket raises when it has to be waited for."""

_INLINE_BYTES = 32 * 1024  # files up to this size are read and sent with their head; larger ones go by sendfile
_SENDFILE_BYTES = 4 * 1024 * 1024
_TLS_PIECE_BYTES = 256 * 1024
_pread = os.pread
_NOTHING = memoryview(b"")
_CLOSE = b"Connection: close\r\n\r\n"


class FileChanged(Exception):
    """A workspace file became shorter than it was when the script was armed."""

    def __init__(self, segment: Segment) -> None:
        super().__init__(f"the workspace file {segment.file.name!r} became shorter while it was served")


class Outbox:
    """The sending half of one plain-text connection."""

    __slots__ = ("_at", "_end", "_head_bytes", "_out", "_segment", "_send", "_sent_bytes", "_sock")

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._send = sock.send
        self._out = _NOTHING  # bytes to send before the file
        self._segment: Segment | None = None  # the file that is sent, from _at to _end
        self._at = 0
        self._end = 0
        self._head_bytes = 0
        self._sent_bytes = 0

    @property
    def body_bytes(self) -> int:
        """Bytes of the response body that the kernel has taken so far."""
        return max(0, self._sent_bytes - self._head_bytes)

    def start(self, reply: Reply, closing: bool, /) -> bool:  # noqa: FBT001 (a keyword costs the hot path more)
        """Begin to send `reply`, and `Connection: close` with it where `closing`; whether all of it is sent.

        Raises `OSError` when the client is gone, `FileChanged` when the file is.
        """
        data = reply.head
        if closing:
            data = data[:-2] + _CLOSE
        self._head_bytes = len(data)
        segment = reply.segment
        if segment is None:
            data += reply.body
        else:
            start = segment.start
            size_bytes = segment.end - start
            if size_bytes > _INLINE_BYTES:
                return self._start_file(data, segment)
            content = _pread(segment.file.descriptor, size_bytes, start)
            if len(content) < size_bytes:
                raise FileChanged(segment)
            data += content
        try:
            sent = self._send(data)
        except BLOCKED:
            sent = 0
        self._sent_bytes = sent
        if sent == len(data):
            return True
        self._out = memoryview(data)[sent:]
        return self.pump()

    def pump(self) -> bool:
        """Send on; whether all of the reply is sent. Otherwise the socket is full."""
        try:
            while True:
                if len(self._out):
                    sent = self._send(self._out)
                    self._sent_bytes += sent
                    self._out = self._out[sent:]
                elif self._at == self._end:
                    return True
                elif not self._send_file():
                    return False
        except BLOCKED:
            return False

    def send_continue(self) -> bool:
        """Answer `Expect: 100-continue`; false when the socket does not take those few bytes."""
        line = b"HTTP/1.1 100 Continue\r\n\r\n"
        try:
            return self._send(line) == len(line)
        except OSError:
            return False

    def _start_file(self, head: bytes, segment: Segment) -> bool:
        self._segment = segment
        self._at, self._end = segment.start, segment.end
        try:
            sent = self._send(head, socket.MSG_MORE)  # the head shares its packet with the file's first bytes
        except BLOCKED:
            sent = 0
        self._sent_bytes = sent
        self._out = memoryview(head)[sent:]
        return self.pump()

    def _send_file(self) -> bool:
        """Move file bytes into the socket; whether it may take more."""
        segment = self._segment
        assert segment is not None
        wanted = min(self._end - self._at, _SENDFILE_BYTES)
        sent = os.sendfile(self._sock.fileno(), segment.file.descriptor, self._at, wanted)
        if not sent:
            raise FileChanged(segment)
        self._at += sent
        self._sent_bytes += sent
        return sent == wanted


class TlsOutbox(Outbox):
    """The sending half of a TLS connection: file bytes pass through this process to be encrypted."""

    __slots__ = ()

    def _start_file(self, head: bytes, segment: Segment) -> bool:
        self._segment = segment
        self._at, self._end = segment.start, segment.end
        self._sent_bytes = 0
        self._out = memoryview(head)
        return self.pump()

    def _send_file(self) -> bool:
        segment = self._segment
        assert segment is not None
        content = os.pread(segment.file.descriptor, min(self._end - self._at, _TLS_PIECE_BYTES), self._at)
        if not content:
            raise FileChanged(segment)
        self._at += len(content)
        self._out = memoryview(content)
        return True
