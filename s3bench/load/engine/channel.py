"""How coordinator and workers talk: typed messages over the framing of `s3bench.s3.frames`.

Owns both ends. The coordinator sends orders and waits for reports; a worker waits for orders, and in the middle of a
phase it posts reports without waiting for anybody.
"""

import socket

import msgspec

from s3bench.load.engine.message import Order, Report
from s3bench.s3.frames import ChannelClosed, framed, read_frame, write_frame

__all__ = ["ChannelClosed", "WorkerChannel"]

_BACKLOG_BYTES_MAX = 256 * 1024**2

_ORDERS: msgspec.msgpack.Decoder[Order] = msgspec.msgpack.Decoder(Order)
_REPORTS: msgspec.msgpack.Decoder[Report] = msgspec.msgpack.Decoder(Report)


class WorkerChannel:
    """One end of a socket pair. Every wait is bounded; `ChannelClosed` tells that the other side is gone or mute."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._backlog = bytearray()

    def fileno(self) -> int:
        """The descriptor that is readable when a message has begun to come."""
        return self._sock.fileno()

    def send(self, message: Order | Report, *, limit_s: float) -> None:
        """Send a message within `limit_s`, after all that was posted."""
        if self._backlog:
            self._sock.settimeout(limit_s)
            try:
                self._sock.sendall(self._backlog)
            except OSError as error:
                raise ChannelClosed from error
            self._backlog.clear()
        write_frame(self._sock, msgspec.msgpack.encode(message), limit_s=limit_s)

    def post(self, message: Order | Report) -> None:
        """Send a message without waiting; what the other side does not take now follows with the next."""
        self._backlog += framed(msgspec.msgpack.encode(message))
        if len(self._backlog) > _BACKLOG_BYTES_MAX:
            raise ChannelClosed
        self._sock.settimeout(0)
        try:
            del self._backlog[: self._sock.send(self._backlog)]
        except BlockingIOError:
            pass
        except OSError as error:
            raise ChannelClosed from error

    def receive_order(self, *, limit_s: float) -> Order:
        """Wait for the next order, at a worker."""
        return _ORDERS.decode(read_frame(self._sock, limit_s=limit_s))

    def receive_report(self, *, limit_s: float) -> Report:
        """Wait for the next report, at the coordinator."""
        return _REPORTS.decode(read_frame(self._sock, limit_s=limit_s))
