"""The recording endpoint: passes each request on to the endpoint behind it, and keeps what was exchanged.

It listens on loopback, over HTTP or HTTPS, with a thread for each connection, and is not measured. Bodies pass in
pieces, so that memory stays bounded; the content of objects is not kept, only its size.
"""

import contextlib
import http.client
import select
import socket
import ssl
import threading
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Self
from urllib.parse import unquote, urlsplit

from s3bench.recording.exchange import BODY_KEPT_BYTES_MAX, Kind, RecordedExchange, kind_of, signed_scope
from s3bench.recording.signing import Signer
from s3bench.s3.endpoint import LOOPBACK
from s3bench.s3.server.tls import server_context
from s3bench.s3.signing.sigv4 import EXPRESS_SERVICE
from s3bench.s3.transfer_engine import engine_of
from s3bench.units import counted

BODIES_KEPT_BYTES_MAX = 512 << 20
"""All response bodies together that are kept; what goes beyond is a failure of the recording."""

_PIECE_BYTES = 256 << 10
_OTHER_BODY_BYTES_MAX = 64 << 20  # of services other than S3, whose signature covers the body
_TIMEOUT_S = 600.0
_SETTLE_S = 10.0
_POLL_S = 0.05
_HOP_BY_HOP = frozenset({
    "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "expect",
})  # fmt: skip
_SIGNED_CHUNKS = "STREAMING-AWS4-"
_NO_KEYS = "it is signed, and you have no credentials to sign it anew; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"


class _RequestCut(Exception):
    """The client closed the connection in the middle of a request's body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """The endpoint behind the recording.

    To one that `is_live`, signed requests go signed anew by `signer`, which is `None` if there are no keys. `context`
    is for connections over TLS.
    """

    url: str
    is_live: bool = False
    signer: Signer | None = None
    context: ssl.SSLContext | None = None


@dataclass(slots=True)
class _Record:
    """What was exchanged so far, shared by all connections.

    `failures` are exchanges that the endpoint behind did not complete, `cut_requests` those that the client did not.
    """

    keeps_contents: bool
    exchanges: list[tuple[int, RecordedExchange]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    cut_requests: list[str] = field(default_factory=list)
    kept_bytes: int = 0
    begun: int = 0
    in_flight: int = 0
    changed: threading.Condition = field(default_factory=threading.Condition)

    @contextlib.contextmanager
    def request(self) -> Iterator[int]:
        """Count a request in; gives its number in the order of arrival."""
        with self.changed:
            self.begun += 1
            self.in_flight += 1
            number = self.begun
        try:
            yield number
        finally:
            with self.changed:
                self.in_flight -= 1
                self.changed.notify_all()

    def add(self, number: int, exchange: RecordedExchange) -> None:
        """Keep an exchange."""
        with self.changed:
            self.exchanges.append((number, exchange))
            self.kept_bytes += len(exchange.body or b"")

    def fail(self, what: str) -> None:
        """Keep what was wrong with a request or its response."""
        with self.changed:
            self.failures.append(what)

    def cut(self, what: str) -> None:
        """Keep which request the client did not send to its end."""
        with self.changed:
            self.cut_requests.append(what)


class RecordingEndpoint:
    """Listens while the context lasts, and passes requests on to `upstream`.

    With `certificate`, a PEM file with its key, it speaks TLS. With `keeps_contents` the content of short objects is
    kept as well.
    """

    def __init__(self, upstream: Upstream, *, certificate: Path | None = None, keeps_contents: bool = False) -> None:
        self._record = _Record(keeps_contents=keeps_contents)
        self._server = _Server(upstream, self._record, server_context(certificate) if certificate else None)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(_POLL_S,), daemon=True)
        self.url = f"{'https' if certificate else 'http'}://{LOOPBACK}:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def settle(self) -> None:
        """Wait until the last exchanges are kept, which the client does not wait for; unfinished ones are failures."""
        record = self._record
        with record.changed:
            if not record.changed.wait_for(lambda: not record.in_flight, _SETTLE_S):
                missing = counted(record.in_flight, "request")
                record.fail(f"{missing} had no complete response {_SETTLE_S:.0f} s after the command had ended")

    @property
    def exchanges(self) -> tuple[RecordedExchange, ...]:
        """Everything so far, in the order in which requests came."""
        with self._record.changed:
            return tuple(exchange for _, exchange in sorted(self._record.exchanges, key=lambda kept: kept[0]))

    @property
    def failures(self) -> tuple[str, ...]:
        """Requests that were not passed on and responses that broke off, and why."""
        with self._record.changed:
            return tuple(dict.fromkeys(self._record.failures))

    @property
    def cut_requests(self) -> tuple[str, ...]:
        """Requests that the client did not send to their end."""
        with self._record.changed:
            return tuple(dict.fromkeys(self._record.cut_requests))


class _Server(ThreadingHTTPServer):
    request_queue_size = 1024  # s5cmd opens 256 connections at once
    daemon_threads = True

    def __init__(self, upstream: Upstream, record: _Record, context: ssl.SSLContext | None) -> None:
        super().__init__((LOOPBACK, 0), _Connection)
        self.upstream = upstream
        self.record = record
        if context is not None:  # the handshake is made by the connection's own thread, when it first reads
            self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    def handle_error(self, *_: object) -> None:
        """A client that goes away in the middle of a request is no error of the recording."""


class _Connection(BaseHTTPRequestHandler):
    """One connection of the client, with a connection of its own to the endpoint behind."""

    server: _Server
    protocol_version = "HTTP/1.1"
    timeout = _TIMEOUT_S
    disable_nagle_algorithm = True

    def setup(self) -> None:
        """Prepare the connection to the endpoint behind; it opens with the first request."""
        super().setup()
        upstream = self.server.upstream
        url = urlsplit(upstream.url)
        host, port = url.hostname or "", url.port
        self._behind = (
            http.client.HTTPSConnection(host, port, timeout=_TIMEOUT_S, context=upstream.context)
            if url.scheme == "https"
            else http.client.HTTPConnection(host, port, timeout=_TIMEOUT_S)
        )

    def finish(self) -> None:
        """Close both connections."""
        self._behind.close()
        with contextlib.suppress(OSError):
            super().finish()

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""

    def _forward(self) -> None:
        """Pass the request on and the response back.

        Once a response has begun, the client can be told of a failure only by the connection's end.
        """
        record, url = self.server.record, self.server.upstream.url
        self._has_begun = False
        with record.request() as number:
            request = f"{self.command} {unquote(self._target.partition('?')[0])}"
            try:
                self._pass(number)
            except _RequestCut:
                self.close_connection = True
                record.cut(f"{request}: the client closed the connection in the middle of the body")
            except (OSError, http.client.HTTPException, ValueError) as error:
                if self._has_begun:
                    self.close_connection = True
                    record.fail(f"the response to {request} from {url} broke off: {error}")
                else:
                    self._refuse(502, f"{request} could not be passed on to {url}: {error}")

    def __getattr__(self, name: str) -> Callable[[], None]:
        """The base class looks for a method such as `do_GET`; every method is passed on."""
        if name.startswith("do_"):
            return self._forward
        raise AttributeError(name)

    @property
    def _target(self) -> str:
        """The target as sent; the base class shortens leading slashes."""
        return self.requestline.split(" ")[1]

    def _pass(self, number: int) -> None:
        headers = [(name, value) for name, value in self.headers.items() if name.lower() not in _HOP_BY_HOP]
        upstream = self.server.upstream
        if upstream.is_live:
            headers = [item for item in headers if item[0].lower() != "host"]
        region, service = signed_scope({"authorization": self.headers.get("authorization", "")})
        is_chunked = "chunked" in self.headers.get("transfer-encoding", "").lower()
        body: bytes | None = None
        if upstream.is_live and service:
            why = self._unsignable(service)
            if why or upstream.signer is None:
                self._refuse(501, f"{self.command} {self._target}: {why or _NO_KEYS}")
                return
            if service != "s3":
                body = b"".join(self._pieces(is_chunked=is_chunked, limit_bytes=_OTHER_BODY_BYTES_MAX))
                headers = [item for item in headers if item[0].lower() != "content-length"]
                headers.append(("Content-Length", str(len(body))))
            headers = upstream.signer.signed(
                self.command, self._target, headers, region=region, service=service, body=body
            )
        sent = self._send(headers, body, is_chunked=is_chunked and body is None)
        self._answer(number, self._behind.getresponse(), service=service, sent_bytes=sent)

    def _unsignable(self, service: str) -> str:
        """Why a request to `service` cannot be signed anew for a live endpoint; empty if it can."""
        if service == EXPRESS_SERVICE:
            return "directory buckets take the keys of a session, with which it cannot be signed anew"
        if self.headers.get("x-amz-content-sha256", "").startswith(_SIGNED_CHUNKS):
            return "each chunk of the body is signed, and cannot be signed anew"
        return ""

    def _send(self, headers: list[tuple[str, str]], body: bytes | None, *, is_chunked: bool) -> int:
        """Send the request to the endpoint behind; gives the size of its body."""
        behind = self._behind
        if behind.sock is not None and _is_readable(behind.sock):  # endpoints close connections that were idle
            behind.close()
        behind.putrequest(self.command, self._target, skip_host=True, skip_accept_encoding=True)
        if not any(name.lower() == "host" for name, _ in headers):
            behind.putheader("Host", urlsplit(self.server.upstream.url).netloc)
        for name, value in headers:
            behind.putheader(name, value)
        if is_chunked:
            behind.putheader("Transfer-Encoding", "chunked")
        behind.endheaders()
        sent = 0
        for piece in (body,) if body is not None else self._pieces(is_chunked=is_chunked):
            if piece:
                behind.send(b"%x\r\n%b\r\n" % (len(piece), piece) if is_chunked else piece)
                sent += len(piece)
        if is_chunked:
            behind.send(b"0\r\n\r\n")
        return sent

    def _pieces(self, *, is_chunked: bool, limit_bytes: int | None = None) -> Iterator[bytes]:
        """The request's body.

        Raises `ValueError` for one that is longer than `limit_bytes`, and `_RequestCut` for one that ends early.
        """
        left = limit_bytes
        try:
            for size_bytes in self._chunk_sizes() if is_chunked else (int(self.headers.get("content-length", "0")),):
                missing = size_bytes
                while missing:
                    piece = self.rfile.read(min(missing, _PIECE_BYTES))
                    if not piece:
                        raise _RequestCut
                    missing -= len(piece)
                    left = None if left is None else left - len(piece)
                    if left is not None and left < 0:
                        raise ValueError(f"the body is longer than {limit_bytes} bytes")
                    yield piece
        except OSError as error:
            raise _RequestCut from error

    def _chunk_sizes(self) -> Iterator[int]:
        """The sizes of the chunks (RFC 9112 7.1), the reader at the data of each; trailers are left out."""
        while line := self.rfile.readline(1024):
            size = int(line.partition(b";")[0], 16)
            if not size:
                break
            yield size
            self.rfile.readline(8)
        else:
            raise _RequestCut
        while self.rfile.readline(65536).strip():
            pass

    def _answer(self, number: int, response: http.client.HTTPResponse, *, service: str, sent_bytes: int) -> None:
        """Pass the response back, and keep the exchange."""
        path, _, query = self._target.partition("?")
        copied = unquote(self.headers.get("x-amz-copy-source", "")).partition("?")[0]
        parameters = {piece.partition("=")[0]: piece.partition("=")[2] for piece in query.split("&")}
        kind = kind_of(self.command, unquote(path), parameters, is_copy=bool(copied))
        is_object = kind is Kind.READ and service in {"", "s3", "s3express"} and response.status in {200, 206}
        record = self.server.record
        keeps = (record.keeps_contents or not is_object) and record.kept_bytes < BODIES_KEPT_BYTES_MAX
        if not keeps and not is_object:
            record.fail(f"the responses are longer than {BODIES_KEPT_BYTES_MAX} bytes together")
        kept, size_bytes = self._relay(response, keeps=keeps, may_stop=is_object and response.length is not None)
        decoded = self.headers.get("x-amz-decoded-content-length", "")
        record.add(
            number,
            RecordedExchange(
                method=self.command,
                path=unquote(path),
                query=query,
                service=service,
                engine=engine_of(self.headers.get("user-agent", "")),
                request_bytes=int(decoded) if decoded.isascii() and decoded.isdigit() else sent_bytes,
                copy_source=f"/{copied.lstrip('/')}" if copied else "",
                status=response.status,
                headers=tuple(response.getheaders()),
                response_bytes=size_bytes,
                body=None if kept is None else _decoded(kept, response.getheader("content-encoding", "")),
            ),
        )

    def _relay(self, response: http.client.HTTPResponse, *, keeps: bool, may_stop: bool) -> tuple[bytes | None, int]:
        """Write the response to the client; gives its body, if that is kept, and the size of what was read of it.

        A client may close the connection before the end, as after the first bytes of a large object. The rest is read
        nevertheless, for the recording, unless it `may_stop` there.
        """
        is_chunked = response.length is None
        self._has_begun = True
        self.send_response_only(response.status, response.reason)
        for name, value in response.getheaders():
            if name.lower() not in _HOP_BY_HOP and not (is_chunked and name.lower() == "content-length"):
                self.send_header(name, value)
        if is_chunked:
            self.send_header("Transfer-Encoding", "chunked")
        if self.close_connection:
            self.send_header("Connection", "close")
        has_client = self._reaches_client(self.end_headers)
        kept, size_bytes = bytearray(), 0
        for piece in _body_of(response):
            size_bytes += len(piece)
            framed = b"%x\r\n%b\r\n" % (len(piece), piece) if is_chunked else piece
            has_client = has_client and self._reaches_client(self.wfile.write, framed)
            if may_stop and not has_client:
                return None, size_bytes
            if keeps and size_bytes <= BODY_KEPT_BYTES_MAX:
                kept += piece
        if is_chunked and has_client:
            self._reaches_client(self.wfile.write, b"0\r\n\r\n")
        return (bytes(kept) if keeps and size_bytes <= BODY_KEPT_BYTES_MAX else None), size_bytes

    def _reaches_client(self, write: Callable[..., object], *content: bytes) -> bool:
        """Whether the client takes what `write` sends; if not, the connection serves no other request."""
        try:
            write(*content)
        except OSError:
            self.close_connection = True
            return False
        return True

    def _refuse(self, status: int, why: str) -> None:
        """Answer with an error of our own, which fails the recording."""
        self.server.record.fail(why)
        self.close_connection = True
        self._behind.close()
        content = why.encode()
        with contextlib.suppress(OSError):
            self.send_response_only(status)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(b"" if self.command == "HEAD" else content)


def _is_readable(connection: socket.socket) -> bool:
    """Whether something came on a connection on which nothing is awaited, such as its end."""
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    return bool(poll.poll(0))


def _body_of(response: http.client.HTTPResponse) -> Iterator[bytes]:
    """The body of a response in pieces. Raises `ValueError` for one that ends before its framing says."""
    try:
        while piece := response.read(_PIECE_BYTES):
            yield piece
    except http.client.IncompleteRead:
        raise ValueError("the connection was closed before the last chunk") from None
    if response.length:  # `read` reports an early end of chunks alone
        raise ValueError(f"the connection was closed {response.length} bytes before the end")


def _decoded(body: bytes, encoding: str) -> bytes | None:
    """The body without its content coding; `None` for a coding that is not known."""
    if not body or encoding.lower() in {"", "identity", "aws-chunked"}:
        return body
    if encoding.lower() != "gzip":
        return None
    try:
        return zlib.decompressobj(wbits=31).decompress(body, BODY_KEPT_BYTES_MAX)
    except zlib.error:
        return None
