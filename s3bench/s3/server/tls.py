"""TLS connections: after the handshake they differ from plain ones only in how bytes move.

The server speaks TLS 1.2 and 1.3 and offers HTTP/1.1 alone.
"""

import os
import socket
import ssl
from pathlib import Path
from typing import ClassVar

from s3bench.s3.network.link import Link
from s3bench.s3.protocol.exchange import Reply
from s3bench.s3.server.connection import ServerConnection
from s3bench.s3.server.loop import ServerLoop
from s3bench.s3.server.outbox import ALL, NOTHING, WOULD_BLOCK, Errors, FileChanged, Outbox
from s3bench.s3.server.paced import PacedConnection
from s3bench.s3.server.peer import READ_MASK, PeerState
from s3bench.system.poller import READABLE, WRITABLE

_WOULD_BLOCK: Errors = (*WOULD_BLOCK, ssl.SSLWantReadError, ssl.SSLWantWriteError)
_PIECE_BYTES = 256 * 1024


def server_context(certificate: Path) -> ssl.SSLContext:
    """Make the TLS settings of a server with `certificate`, a PEM file that holds its private key too."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(certificate)
    context.set_alpn_protocols(["http/1.1"])
    return context


class TlsOutbox(Outbox):
    """The sending half of a TLS connection: file bytes pass through this process to be encrypted."""

    __slots__ = ("_ahead",)

    would_block: ClassVar[Errors] = _WOULD_BLOCK

    def load(self, reply: Reply, *, sent: int, closing: bool) -> None:
        """Take `reply`, as any outbox does."""
        super().load(reply, sent=sent, closing=closing)
        self._ahead = False  # whether the bytes to send are read ahead from the file

    def pump(self, until_bytes: int = ALL) -> bool:
        """Send on, as any outbox does; what a full socket does not take is read again, so slow clients hold nothing.

        OpenSSL asks to be given the same bytes again, wherever they are by then, and they may be followed by more.
        """
        done = super().pump(until_bytes)
        if self._ahead and not done:
            self._at -= len(self._out)
            self._out = NOTHING
        return done

    def _send_bytes(self, data: memoryview, *, more: bool) -> int:
        del more  # records go out as they are made
        return self._sock.send(data)

    def _send_file(self, room: int) -> bool:
        del room  # what is read is sent by `_send_bytes`
        segment = self._segment
        assert segment is not None
        content = os.pread(segment.source.descriptor, min(self._end - self._at, _PIECE_BYTES), self._at)
        if not content:
            raise FileChanged(segment)
        self._at += len(content)
        self._out = memoryview(content)
        self._ahead = True
        return True


class TlsConnection(ServerConnection):
    """A connection whose bytes are encrypted."""

    __slots__ = ("_secure",)

    would_block: ClassVar[Errors] = _WOULD_BLOCK

    def __init__(self, loop: ServerLoop, sock: socket.socket, number: int, context: ssl.SSLContext) -> None:
        secure = context.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
        super().__init__(loop, secure, number)
        self._fast = None  # it would read and write the socket behind OpenSSL
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


class PacedTlsConnection(PacedConnection, TlsConnection):
    """A connection on a link whose bytes are encrypted; the link carries plaintext bytes, as the wire log counts."""

    def __init__(self, loop: ServerLoop, sock: socket.socket, number: int, link: Link, context: ssl.SSLContext) -> None:
        TlsConnection.__init__(self, loop, sock, number, context)
        self._join(link)
