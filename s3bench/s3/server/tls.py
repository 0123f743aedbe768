"""TLS connections: after the handshake they differ from plain ones only in how bytes move.

The server speaks TLS 1.2 and 1.3 and offers HTTP/1.1 alone.
"""

import socket
import ssl
from pathlib import Path

from s3bench.s3.server.connection import ServerConnection
from s3bench.s3.server.loop import ServerLoop
from s3bench.s3.server.outbox import TlsOutbox
from s3bench.s3.server.peer import READ_MASK, PeerState
from s3bench.system.poller import READABLE, WRITABLE


def server_context(certificate: Path) -> ssl.SSLContext:
    """Make the TLS settings of a server with `certificate`, a PEM file that holds its private key too."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(certificate)
    context.set_alpn_protocols(["http/1.1"])
    return context


class TlsConnection(ServerConnection):
    """A connection whose bytes are encrypted."""

    __slots__ = ("_secure",)

    def __init__(self, loop: ServerLoop, sock: socket.socket, number: int, context: ssl.SSLContext) -> None:
        secure = context.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
        super().__init__(loop, secure, number)
        self._secure = secure
        self._outbox = TlsOutbox(secure)
        self._droppable = False
        self._state = PeerState.HANDSHAKE

    def on_event(self, events: int) -> None:
        """Shake hands first, then go on as any connection."""
        if self._state is PeerState.HANDSHAKE:
            self._active_ns = self._loop.now_ns
            self._shake_hands()
        else:
            super().on_event(events)

    def _shake_hands(self) -> None:
        try:
            self._secure.do_handshake()
        except ssl.SSLWantReadError:
            self._watch_for(READABLE)
        except ssl.SSLWantWriteError:
            self._watch_for(WRITABLE)
        except OSError as error:
            self._loop.recorder.fault(
                f"connection {self._number}: the TLS handshake failed ({error.strerror or error})"
            )
            self._close()
        else:
            self._state = PeerState.HEAD
            self._watch_for(READ_MASK)
