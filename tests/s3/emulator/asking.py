"""Requests to an emulator without a server: bytes in, an answer out, all at once or piece by piece."""

import os
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from s3bench.s3.emulator.addressing import Scheme
from s3bench.s3.emulator.handler import Emulator
from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.protocol.exchange import Reply, RequestBody
from s3bench.s3.protocol.http import parse_head

BUCKET = "bucket"
NOON_S = 1_700_000_000.0
DATE_LINE = b"Date: Tue, 14 Nov 2023 22:13:20 GMT\r\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back: `headers` by lower-case names."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def code(self) -> str:
        """The error code; empty where it is none."""
        if self.status < 400 or not self.body:
            return ""
        return ET.fromstring(self.body).findtext("Code") or ""

    @property
    def tree(self) -> ET.Element:
        """The document, its elements without their namespace."""
        root = ET.fromstring(self.body)
        for node in root.iter():
            node.tag = node.tag.rpartition("}")[2]
        return root

    def texts(self, path: str) -> list[str]:
        """The texts of the elements at `path`, in order."""
        return [node.text or "" for node in self.tree.iterfind(path)]


class Pending:
    """A request whose body has not all come yet."""

    def __init__(self, emulator: Emulator, raw: bytes, body: bytes) -> None:
        self._emulator = emulator
        self._head = parse_head(raw)
        self._body = memoryview(body)
        self._at = 0
        self._sink = emulator.begin(self._head) if self._head.has_body else None

    @property
    def left(self) -> int:
        """How many bytes of the body are still to come."""
        return len(self._body) - self._at

    def feed(self, count: int) -> None:
        """Let the next `count` bytes come."""
        piece = self._body[self._at : self._at + count]
        self._at += len(piece)
        if self._sink is not None and len(piece):
            self._sink.update(piece)

    def finish(self) -> Answer:
        """Let the rest come, and give the answer."""
        self.feed(self.left)
        size = len(self._body)
        return answer_of(self._emulator.finish(self._head, RequestBody(size, size, {}, self._sink), DATE_LINE))


class Asker:
    """An emulator with one bucket, whose clock stands still until it is moved."""

    def __init__(self, *, scheme: Scheme = "http", **settings: object) -> None:
        self.now_s = NOON_S
        chosen = EmulatorSettings(**{"buckets": (BUCKET,), **settings})  # type: ignore[arg-type]
        self.emulator = Emulator(chosen, now=lambda: self.now_s, scheme=scheme)

    def begin(self, method: str, key: str = "", *, query: dict[str, str] | None = None,
              headers: dict[str, str] | None = None, body: bytes = b"", bucket: str = BUCKET) -> Pending:  # fmt: skip
        """Send the head of a request."""
        target = "/" + quote(f"{bucket}/{key}" if key else bucket, safe="/")
        if query:
            target += "?" + urlencode(query, quote_via=quote)
        fields = {"host": "h", **(headers or {})}
        if method in {"PUT", "POST"}:
            fields.setdefault("content-length", str(len(body)))
        lines = "".join(f"\r\n{name}: {value}" for name, value in fields.items())
        return Pending(self.emulator, f"{method} {target} HTTP/1.1{lines}".encode(), body)

    def ask(self, method: str, key: str = "", *, query: dict[str, str] | None = None,
            headers: dict[str, str] | None = None, body: bytes = b"", bucket: str = BUCKET) -> Answer:  # fmt: skip
        """Send a whole request."""
        return self.begin(method, key, query=query, headers=headers, body=body, bucket=bucket).finish()


def answer_of(reply: Reply) -> Answer:
    """Read a reply as a client does."""
    head, _, body = reply.data.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    pairs = [line.split(": ", 1) for line in lines]
    body += b"".join(
        os.pread(segment.source.descriptor, segment.end - segment.start, segment.start) for segment in reply.segments
    )
    headers = {name.lower(): value for name, value in pairs}
    assert len(headers) == len(pairs), f"a header comes twice: {lines}"
    return Answer(status=int(first.split()[1]), headers=headers, body=body)
