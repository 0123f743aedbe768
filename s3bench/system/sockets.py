"""Options of TCP sockets that only Linux has."""

import contextlib
import socket

from s3bench.system.portable import IS_PORTABLE

# DISCARD lets recv(2) discard bytes without copying them, and MORE lets send(2) wait for more bytes to fill a packet
# with (tcp(7)); elsewhere the bytes are copied, and the packet leaves.
DISCARD = MORE = 0
if not IS_PORTABLE:
    DISCARD = socket.MSG_TRUNC
    MORE = socket.MSG_MORE


def stream_socket(family: socket.AddressFamily) -> socket.socket:
    """A new TCP socket that never blocks."""
    if IS_PORTABLE:
        sock = socket.socket(family, socket.SOCK_STREAM)
        sock.settimeout(0)
        return sock
    return socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)


def avoid_pacing(sock: socket.socket) -> None:
    """Choose a congestion control that does not pace, for connections on loopback; accepted sockets inherit it.

    BBR, the default of some machines, paces its sending by timers: on loopback that halves what one connection
    carries, and there is no congestion to control.
    """
    if not IS_PORTABLE:
        with contextlib.suppress(OSError):  # not every kernel lets us choose
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
