"""Options of TCP sockets that only Linux has."""

import contextlib
import socket

from s3bench.system.portable import IS_PORTABLE

DISCARD = 0 if IS_PORTABLE else socket.MSG_TRUNC
"""The flag with which recv(2) discards bytes without copying them (tcp(7)); elsewhere they are copied."""

MORE = 0 if IS_PORTABLE else socket.MSG_MORE
"""The flag with which send(2) waits for more bytes to fill a packet with (tcp(7))."""


def avoid_pacing(sock: socket.socket) -> None:
    """Choose a congestion control that does not pace, for connections on loopback; accepted sockets inherit it.

    BBR, the default of some machines, paces its sending by timers: on loopback that halves what one connection
    carries, and there is no congestion to control.
    """
    if not IS_PORTABLE:
        with contextlib.suppress(OSError):  # not every kernel lets us choose
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
