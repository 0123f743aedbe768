"""Typed messages over a socket pair: eight bytes of length, then the message in MessagePack."""

import socket
import threading
import time
from typing import Generic, TypeVar

import msgspec

_LENGTH_BYTES = 8
_PIECE_BYTES = 1 << 20
_BACKLOG_BYTES_MAX = 256 * 1024**2

SentT = TypeVar("SentT")
ReceivedT = TypeVar("ReceivedT")


class ChannelClosed(Exception):
    """The other side is gone, or did not answer within the time it was given."""


class Channel(Generic[SentT, ReceivedT]):
    """One end of a socket pair. Every wait is bounded; raises `ChannelClosed`. Several threads may send."""

    def __init__(self, sock: socket.socket, decoder: msgspec.msgpack.Decoder[ReceivedT]) -> None:
        self._sock = sock
        self._decoder = decoder
        self._backlog = bytearray()
        self._sending = threading.Lock()

    def fileno(self) -> int:
        """The descriptor that is readable when a message has begun to come."""
        return self._sock.fileno()

    def send(self, message: SentT, *, limit_s: float) -> None:
        """Send a message within `limit_s`, after all that was posted."""
        with self._sending:
            self._backlog += _framed(message)
            self._sock.settimeout(limit_s)
            try:
                self._sock.sendall(self._backlog)
            except OSError as error:
                raise ChannelClosed from error
            self._backlog = bytearray()

    def post(self, message: SentT) -> None:
        """Send a message without waiting; what the other side does not take now follows with the next."""
        with self._sending:
            self._backlog += _framed(message)
            if len(self._backlog) > _BACKLOG_BYTES_MAX:
                raise ChannelClosed
            self._sock.settimeout(0)
            try:
                del self._backlog[: self._sock.send(self._backlog)]
            except BlockingIOError:
                pass
            except OSError as error:
                raise ChannelClosed from error

    def receive(self, *, limit_s: float) -> ReceivedT:
        """Wait for the next message."""
        deadline_s = time.monotonic() + limit_s
        length = int.from_bytes(self._receive_exactly(_LENGTH_BYTES, deadline_s), "big")
        return self._decoder.decode(self._receive_exactly(length, deadline_s))

    def _receive_exactly(self, size_bytes: int, deadline_s: float) -> bytearray:
        data = bytearray()
        while len(data) < size_bytes:
            try:
                self._sock.settimeout(max(0.001, deadline_s - time.monotonic()))
                piece = self._sock.recv(min(_PIECE_BYTES, size_bytes - len(data)))
            except OSError as error:
                raise ChannelClosed from error
            if not piece:
                raise ChannelClosed
            data += piece
        return data


def _framed(message: object) -> bytes:
    data = msgspec.msgpack.encode(message)
    return len(data).to_bytes(_LENGTH_BYTES, "big") + data
