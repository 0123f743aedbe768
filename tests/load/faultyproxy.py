"""A proxy in front of an S3 that misbehaves on order and keeps the books of it: a thread for each connection.

Owns the sockets and the bytes; what is to happen is said in `misbehaving`. Written to be evidently right and not to be
fast: a few thousand requests a second. Bodies are held whole, so they should be of a few MiB at most.
"""

import contextlib
import socket
import ssl
import struct
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tests.load.misbehaving import (
    NS,
    Cut,
    Delay,
    Exchange,
    Flip,
    Forward,
    Garble,
    HangUp,
    Ignore,
    Ledger,
    Order,
    Plan,
    Refuse,
    Request,
    Shorten,
    Stall,
    Swap,
    honest,
)

_RECEIVE_BYTES = 256 * 1024
_JOIN_S = 10.0
_GARBAGE = b"\x16\x03\x01 this is no HTTP \x00\xff\r\n\r\n"
_BODILESS = frozenset({204, 304})
_READ = frozenset({200, 206})
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER of no time: close(2) sends a reset, socket(7)


class Gone(Exception):
    """The other side closed where more should have come."""


class Wire:
    """A socket that is read by heads and lengths."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock = sock
        self._held = bytearray()

    def head(self) -> bytes | None:
        """The next head with its empty line; `None` at a proper end."""
        while (end := self._held.find(b"\r\n\r\n")) < 0:
            if not self._more():
                if self._held:
                    raise Gone
                return None
        return self._take(end + 4)

    def body(self, size_bytes: int) -> bytes:
        """The next `size_bytes`."""
        while len(self._held) < size_bytes:
            if not self._more():
                raise Gone
        return self._take(size_bytes)

    def _more(self) -> int:
        data = self.sock.recv(_RECEIVE_BYTES)
        self._held += data
        return len(data)

    def _take(self, size_bytes: int) -> bytes:
        taken = bytes(self._held[:size_bytes])
        del self._held[:size_bytes]
        return taken


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A request or an answer: its head, first line included, and its body."""

    head: bytes
    body: bytes = b""

    @property
    def status(self) -> int:
        """The status of an answer."""
        return int(self.head.split(b" ", 2)[1])

    def field(self, name: bytes) -> bytes:
        """The value of a header field, in lower case; empty without it."""
        for line in self.head.split(b"\r\n")[1:]:
            key, _, value = line.partition(b":")
            if key.lower() == name:
                return value.strip().lower()
        return b""

    def with_body(self, body: bytes) -> "Message":
        """The same with another body, and the length of that."""
        lines = [line for line in self.head.split(b"\r\n")[:-2] if not line.lower().startswith(b"content-length:")]
        return Message(head=b"\r\n".join((*lines, b"Content-Length: %d\r\n\r\n" % len(body))), body=body)


class FaultyProxy:
    """Stands in front of the server at `host` and `port` while the context lasts, and is at first honest.

    With `certificate`, a PEM file, it speaks TLS to its clients; what it cuts then ends without TLS's own end.
    """

    def __init__(self, host: str, port: int, *, certificate: Path | None = None) -> None:
        self._context: ssl.SSLContext | None = None
        if certificate is not None:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._context.load_cert_chain(certificate)
        self._behind = (host, port)
        self._plan: Plan = honest
        self._stall: Stall | None = None
        self.ledger = Ledger()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.port: int = self._listener.getsockname()[1]
        self.url = f"{'https' if certificate else 'http'}://127.0.0.1:{self.port}"
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._bodies: dict[int, dict[str, bytes]] = {}
        self._lock = threading.Lock()
        self._is_over = threading.Event()
        self.troubles: list[str] = []

    def __enter__(self) -> Self:
        self._begin(self._accept, ())
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # which ends an accept(2) that waits
        self._listener.close()
        self._threads[0].join(_JOIN_S)
        with self._lock:
            for sock in self._open:
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(_JOIN_S)
        assert not any(thread.is_alive() for thread in self._threads), "the proxy does not end"
        assert self.troubles == [], "the proxy is at fault itself"

    def obey(self, plan: Plan, *, stall: Stall | None = None) -> Ledger:
        """Misbehave like this from now on; gives the new ledger."""
        self.ledger = Ledger()
        self._stall = stall
        self._plan = plan
        return self.ledger

    def _begin(self, target: object, arguments: tuple[object, ...]) -> None:
        assert callable(target)
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self._begin(self._welcome, (sock,))

    def _welcome(self, sock: socket.socket) -> None:
        with sock:
            if self._context is not None:
                sock.settimeout(_JOIN_S)
                try:
                    sock = self._context.wrap_socket(sock, server_side=True)
                except OSError:
                    return
                sock.settimeout(None)
            self._serve(sock)

    def _serve(self, sock: socket.socket) -> None:
        connection = self.ledger.connect(time.monotonic_ns())
        with sock, socket.create_connection(self._behind, _JOIN_S) as behind:
            with self._lock:
                self._open |= {sock, behind}
            try:
                client, server = Wire(sock), Wire(behind)
                while (head := client.head()) is not None and self._answer(connection, head, client, server):
                    pass
            except (Gone, OSError):
                pass  # the client went away, and what it got until then is in the ledger
            except Exception as error:  # noqa: BLE001 (told where the proxy ends)
                self.troubles.append(repr(error))
            finally:
                with self._lock:
                    self._open -= {sock, behind}

    def _answer(self, connection: int, head: bytes, client: Wire, server: Wire) -> bool:
        """Answer one request; whether the connection goes on."""
        arrived_ns = time.monotonic_ns()
        ledger, plan = self.ledger, self._plan
        method, target = head.split(b" ", 2)[:2]
        path, _, query = target.decode("ascii").partition("?")
        request = ledger.begin(method.decode("ascii"), path, query, arrived_ns)
        order: Order = plan(request)
        status = bytes_down = 0
        was_sent = False
        asked = Message(head=head)
        try:
            asked = Message(head=head, body=client.body(int(asked.field(b"content-length") or 0)))
            answer, order = self._reply(asked, request, order, server)
            self._is_over.wait(self._wait_s(order, ledger))
            if answer is not None:
                status = answer.status
                bytes_down = _send(client.sock, answer, order)
            elif isinstance(order, Garble):
                client.sock.sendall(_GARBAGE)
            was_sent = True
        finally:
            ledger.end(
                Exchange(
                    connection=connection, request=request, order=order, arrived_ns=arrived_ns,
                    answered_ns=time.monotonic_ns(), status=status, bytes_up=len(asked.body), bytes_down=bytes_down,
                    was_sent=was_sent,
                )
            )  # fmt: skip
        if isinstance(order, Cut) and order.by_reset:
            client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        is_over = isinstance(order, Cut | HangUp | Ignore | Garble) or asked.field(b"connection") == b"close"
        return not is_over

    def _reply(self, asked: Message, request: Request, order: Order, server: Wire) -> tuple[Message | None, Order]:
        """What to send, `None` where it is no answer, and the order as it could be carried out."""
        if isinstance(order, Ignore | Garble):
            return None, order
        if isinstance(order, Refuse):
            return _refusal(order), order
        answer = self._ask(asked, request, server)
        if not answer.body or request.method != "GET" or answer.status not in _READ:
            return answer, Forward() if isinstance(order, Flip | Swap | Shorten) else order
        return self._spoiled(answer, request, order)

    def _ask(self, asked: Message, request: Request, server: Wire) -> Message:
        """Let the server behind answer."""
        server.sock.sendall(asked.head + asked.body)
        head = server.head()
        if head is None:
            raise Gone
        answer = Message(head=head)
        assert not answer.field(b"transfer-encoding"), "answers of the server behind have a length"
        if request.method == "HEAD" or answer.status in _BODILESS:
            return answer
        return Message(head=head, body=server.body(int(answer.field(b"content-length"))))

    def _spoiled(self, answer: Message, request: Request, order: Order) -> tuple[Message, Order]:
        body = answer.body
        if isinstance(order, Flip):
            at = min(int(len(body) * order.share), len(body) - 1)
            return Message(head=answer.head, body=body[:at] + bytes([body[at] ^ 1]) + body[at + 1 :]), order
        if isinstance(order, Shorten):
            return answer.with_body(body[: int(len(body) * order.share)]), order
        other = self._other(request, body)
        if isinstance(order, Swap):
            return (answer, Forward()) if other is None else (Message(head=answer.head, body=other), order)
        return answer, order

    def _other(self, request: Request, body: bytes) -> bytes | None:
        """A different body of another object of this size; `None` as long as there was none. Two a size are kept.

        Ranges of two objects may hold the same bytes: which of them came is then nobody's loss.
        """
        with self._lock:
            known = self._bodies.setdefault(len(body), {})
            if len(known) < 2:
                known.setdefault(request.path, body)
            return next((other for path, other in known.items() if path != request.path and other != body), None)

    def _wait_s(self, order: Order, ledger: Ledger) -> float:
        """How long the answer has to wait, now that it is ready."""
        delay_s = order.delay_s if isinstance(order, Refuse | Delay) else 0.0
        if self._stall is None or not ledger.read_ns:
            return delay_s
        return delay_s + self._stall.wait_ns(time.monotonic_ns() - ledger.read_ns) / NS


def _refusal(order: Refuse) -> Message:
    body = f'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{order.code}</Code></Error>'.encode()
    head = f"HTTP/1.1 {order.status} Refused\r\nContent-Type: application/xml\r\nContent-Length: {len(body)}\r\n\r\n"
    return Message(head=head.encode(), body=body)


def _send(sock: socket.socket, answer: Message, order: Order) -> int:
    """Send an answer, or as much of it as ordered; how many bytes of its body."""
    body = answer.body[: int(len(answer.body) * order.share)] if isinstance(order, Cut) else answer.body
    sock.sendall(answer.head + body)
    return len(body)
