"""Messages over a socket pair: eight bytes of length, then that many bytes.

Owns the framing and its time limits. What messages mean is their users' (`control`, `s3bench.load.engine.channel`).
"""

import socket
import time

_LENGTH_BYTES = 8
_PIECE_BYTES = 1 << 20


class ChannelClosed(Exception):
    """The other side is gone, or did not speak within the time it was given."""


def framed(data: bytes) -> bytes:
    """One message as it crosses the socket."""
    return len(data).to_bytes(_LENGTH_BYTES, "big") + data


def write_frame(sock: socket.socket, data: bytes, *, limit_s: float) -> None:
    """Send one message within `limit_s`."""
    sock.settimeout(limit_s)
    try:
        sock.sendall(framed(data))
    except OSError as error:
        raise ChannelClosed from error


def read_frame(sock: socket.socket, *, limit_s: float) -> bytearray:
    """Wait for one message, within `limit_s`."""
    deadline_s = time.monotonic() + limit_s
    length = int.from_bytes(_exactly(sock, _LENGTH_BYTES, deadline_s), "big")
    return _exactly(sock, length, deadline_s)


def _exactly(sock: socket.socket, size_bytes: int, deadline_s: float) -> bytearray:
    data = bytearray()
    while len(data) < size_bytes:
        try:
            sock.settimeout(max(0.001, deadline_s - time.monotonic()))
            piece = sock.recv(min(_PIECE_BYTES, size_bytes - len(data)))
        except OSError as error:
            raise ChannelClosed from error
        if not piece:
            raise ChannelClosed
        data += piece
    return data
