"""Reads answers from a socket, strictly: what is not well-formed HTTP/1.1, or not S3's form of an error, fails."""

import re
import socket
import xml.etree.ElementTree as ET
from dataclasses import dataclass

from tests.s3.fuzzing.oracle import Owed, Shape

LIMIT_S = 60.0

_STATUS_LINE = re.compile(rb"HTTP/1\.1 ([1-5][0-9]{2}) ([\t -~]*)")
_FIELD = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+): ([\t -~\x80-\xff]*)")
# S3 refers to characters of keys that XML 1.0 forbids even as references; clients ask for encoding-type=url there.
_FORBIDDEN_REFERENCE = re.compile(rb"&#x(?:[0-8bcef]|1[0-9a-f]|fff[ef]);")
_DECIMAL = re.compile(rb"0|[1-9][0-9]{0,17}")
_OUR_XML = b'<?xml version="1.0" encoding="UTF-8"?>\n'
_NEVER = frozenset({500, 502, 503, 504})
_BODYLESS = frozenset({204, 304})


class Wrong(Exception):
    """The server broke a rule of `oracle`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One final answer."""

    status: int
    fields: dict[bytes, bytes]
    body: bytes

    @property
    def closes(self) -> bool:
        """Whether it announces the end of the connection."""
        return self.fields.get(b"connection", b"").lower() == b"close"


class Talk:
    """One connection to the server; every wait is bounded."""

    def __init__(self, port: int) -> None:
        self._sock = socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S)
        self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._data = b""
        self._reset = False

    def close(self) -> None:
        """Close both halves."""
        self._sock.close()

    def send(self, pieces: list[bytes]) -> None:
        """Send `pieces`; a server that has closed is found out when its answer is read."""
        try:
            for piece in pieces:
                self._sock.sendall(piece)
        except (BrokenPipeError, ConnectionResetError):
            self._reset = True

    def collect(self, owed: list[Owed], *, end: bool) -> bool:
        """Read what is owed; whether the connection goes on. With `end` the client ends its half first.

        Raises `Wrong`.
        """
        end = end or any(each.shape is Shape.UNFINISHED for each in owed)
        if end:
            try:
                self._sock.shutdown(socket.SHUT_WR)
            except OSError:
                self._reset = True
        for each in owed:
            if each.shape is Shape.UNFINISHED and self._at_end(each):
                return False
            answer = self._answer(each)
            self._judge(each, answer)
            if answer.closes:
                end = True
                break
        if end and not self._at_end(None):
            raise Wrong(f"bytes follow the last answer: {self._data[:300]!r}")
        return not end

    def _judge(self, owed: Owed, answer: Answer) -> None:
        if answer.status in _NEVER:
            raise Wrong(f"answered {answer.status}: {answer.body[:600]!r}")
        if owed.asks_to_close and owed.shape is Shape.COMPLETE and not answer.closes:
            raise Wrong("the client asked to close, and the answer does not say so")
        if answer.closes and not owed.asks_to_close and answer.status < 400:
            raise Wrong(f"closed with {answer.status} though nobody asked for it")
        if owed.shape is not Shape.COMPLETE and not (answer.status >= 400 and answer.closes):
            raise Wrong(f"a {owed.shape.value} request is answered {answer.status} and the connection goes on")

    def _answer(self, owed: Owed) -> Answer:
        status, fields = self._head()
        if status == 100:
            if not owed.may_continue or fields:
                raise Wrong("100 Continue for a request that does not expect it, or with fields")
            status, fields = self._head()
        if not 200 <= status <= 599:
            raise Wrong(f"a final answer with status {status}")
        length = fields.get(b"content-length")
        if (length is None) is (status not in _BODYLESS) and status != 304:
            raise Wrong(f"Content-Length is {length!r} in an answer with status {status}")
        if length is not None and _DECIMAL.fullmatch(length) is None:
            raise Wrong(f"Content-Length is {length!r}")
        if b"transfer-encoding" in fields or b"date" not in fields or b"x-amz-request-id" not in fields:
            raise Wrong(f"an answer has the fields {fields}")
        if owed.to_head or status in _BODYLESS:
            return Answer(status=status, fields=fields, body=b"")
        size = int(length or b"0")
        while len(self._data) < size:
            self._more()
        body, self._data = self._data[:size], self._data[size:]
        _check_document(status, body)
        return Answer(status=status, fields=fields, body=body)

    def _head(self) -> tuple[int, dict[bytes, bytes]]:
        while b"\r\n\r\n" not in self._data:
            self._more()
        head, _, self._data = self._data.partition(b"\r\n\r\n")
        first, *lines = head.split(b"\r\n")
        status = _STATUS_LINE.fullmatch(first)
        if status is None:
            raise Wrong(f"not a status line: {first[:200]!r}")
        fields: dict[bytes, bytes] = {}
        for line in lines:
            field = _FIELD.fullmatch(line)
            if field is None or field[1].lower() in fields:
                raise Wrong(f"not a field, or a second one of its name: {line[:200]!r}")
            fields[field[1].lower()] = field[2]
        return int(status[1]), fields

    def _at_end(self, owed: Owed | None) -> bool:
        """Whether the server ends the connection without another byte, but for a 100 Continue."""
        while True:
            if owed is not None and owed.may_continue:
                self._data = self._data.removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n")
            if self._data:
                return False
            try:
                self._data = self._receive()
            except EOFError:
                return True

    def _more(self) -> None:
        try:
            self._data += self._receive()
        except EOFError:
            raise Wrong(f"the connection ends without an answer, after {self._data[:300]!r}") from None

    def _receive(self) -> bytes:
        try:
            data = self._sock.recv(1 << 18)
        except TimeoutError:
            raise Wrong(f"no data for {LIMIT_S} s, after {self._data[:300]!r}") from None
        except ConnectionResetError:
            raise Wrong(f"the connection was reset, after {self._data[:300]!r}") from None
        if not data:
            raise EOFError
        return data


def _check_document(status: int, body: bytes) -> None:
    """Hold errors, and documents of the server's own making, to be XML."""
    if status < 400 and not body.startswith(_OUR_XML):
        return
    if not body and status < 500:
        return
    try:
        root = ET.fromstring(_FORBIDDEN_REFERENCE.sub(b"?", body))
    except ET.ParseError as error:
        raise Wrong(f"answered {status} with what is no XML ({error}): {body[:600]!r}") from None
    if status >= 400 and (root.tag != "Error" or not root.findtext("Code") or not root.findtext("Message")):
        raise Wrong(f"answered {status} with what is no S3 error: {body[:600]!r}")
