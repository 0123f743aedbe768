"""Renders a scripted response: its heads beforehand, ranges of its file as S3 does.

The stub adds what a definition leaves out and clients fail without:

- Content-Length, always ours; a declared one is kept only where no body says otherwise (HEAD, 304);
- `x-amz-request-id` and `Date` (RFC 9110 6.6.1) on every response;
- `ETag` on 2xx responses to PUT, GET and HEAD: UploadPart is useless without it, and downloads pin their ranges to it.
  It has the form of a multipart ETag, which no client takes for the MD5 of the body;
- `Last-Modified` on 2xx responses to GET and HEAD, a fixed date, so that two runs write the same file times.
"""

import hashlib
from collections.abc import Iterable
from urllib.parse import parse_qs

from s3bench.s3.files.file_cache import OpenFile
from s3bench.s3.protocol.exchange import Reply, Segment
from s3bench.s3.protocol.http import SUCCESSES, RequestHead, render_head
from s3bench.s3.protocol.ranges import ByteRange, Unsatisfiable, parse_range
from s3bench.s3.protocol.s3_error import REQUEST_ID, error_reply
from s3bench.spec.definition import FileBody, Response

_OK = 200
_PARTIAL = 206
_NOT_MODIFIED = 304
_BODYLESS = frozenset({204, 304})
_READS = frozenset({"GET", "HEAD"})
_KINDS = frozenset({"GET", "HEAD", "PUT"})  # the methods whose heads differ
_OURS = frozenset({"content-length", "transfer-encoding"})
_LAST_MODIFIED = "Mon, 01 Jan 2024 00:00:00 GMT"


class StubResponse:
    """What one `Response` of a definition sends."""

    __slots__ = ("_content", "_date_line", "_file", "_ranged", "_replies", "_response")

    def __init__(self, response: Response, file: OpenFile | None) -> None:
        assert (file is not None) == isinstance(response.body, FileBody)
        self._response = response
        self._file = file
        self._content = response.body.encode() if isinstance(response.body, str) else b""
        self._ranged = file is not None and response.match is not None and response.status_code == _OK
        self._date_line = b""
        self._replies: dict[str, Reply] = {}  # by method, for one date line

    def reply(self, head: RequestHead, date_line: bytes) -> Reply:
        """Give the reply to `head`; a Range or partNumber is honoured where the response has a `match` and a file."""
        if self._ranged and ("range" in head.fields or "partNumber=" in head.query) and head.method in _READS:
            partial = self._partial(head, date_line)
            if partial is not None:
                return partial
        if date_line is not self._date_line:
            self._date_line = date_line
            self._replies.clear()
        reply = self._replies.get(head.method)
        if reply is None:
            reply = self._whole(head.method if head.method in _KINDS else "", date_line)
            if head.method in _KINDS:
                self._replies[head.method] = reply
        return reply

    def _whole(self, kind: str, date_line: bytes) -> Reply:
        status = self._response.status_code
        size_bytes = len(self._content) if self._file is None else self._file.size_bytes
        if status in _BODYLESS:
            length = self._declared("content-length") if status == _NOT_MODIFIED else None  # RFC 9110 8.6
            return self._assemble(status, self._headers(kind, status, length), date_line)
        length = str(size_bytes)
        if kind == "HEAD":
            if self._file is None:
                length = self._declared("content-length") or length
            return self._assemble(status, self._headers(kind, status, length), date_line)
        headers = self._headers(kind, status, length)
        if self._file is None:
            return self._assemble(status, headers, date_line, body=self._content)
        return self._assemble(status, headers, date_line, part=(0, size_bytes))

    def _partial(self, head: RequestHead, date_line: bytes) -> Reply | None:
        """Give the 206 or 416 for a request with a Range or partNumber; `None` when all of the object is sent."""
        assert self._file is not None
        size_bytes = self._file.size_bytes
        try:
            if "range" in head.fields:
                part = parse_range(head.fields["range"], size_bytes)
            else:
                part = _numbered_part(head.query, size_bytes)
        except Unsatisfiable:
            return self._unsatisfiable(head, date_line)
        if part is None:
            return None
        headers = self._headers(head.method, _PARTIAL, str(part.end - part.start))
        headers.append(("Content-Range", part.content_range))
        served = (part.start, part.end) if head.method == "GET" else None
        return self._assemble(_PARTIAL, headers, date_line, part=served)

    def _unsatisfiable(self, head: RequestHead, date_line: bytes) -> Reply:
        assert self._file is not None
        size = str(self._file.size_bytes)
        headers = (("Content-Range", f"bytes */{size}"),)
        if "range" not in head.fields:
            message = "The requested partnumber is not satisfiable"
            return error_reply(
                head, status=416, code="InvalidPartNumber", message=message, date_line=date_line, headers=headers
            )
        # aws-c-s3 looks for ActualObjectSize to distinguish an empty object, which it asked for by range, from an
        # error.
        details = (("RangeRequested", head.fields["range"]), ("ActualObjectSize", size))
        message = "The requested range is not satisfiable"
        return error_reply(
            head,
            status=416,
            code="InvalidRange",
            message=message,
            date_line=date_line,
            headers=headers,
            details=details,
        )

    def _headers(self, kind: str, status: int, length: str | None) -> list[tuple[str, str]]:
        """Give the declared headers, completed by what the module's docstring lists."""
        dropped = _OURS | {"content-range"} if self._ranged else _OURS
        headers = [(name, value) for name, value in self._response.headers if name.lower() not in dropped]
        present = {name.lower() for name, _ in headers}
        added = [("x-amz-request-id", REQUEST_ID)]
        if status in SUCCESSES and kind:
            added.append(("ETag", self._etag()))
            if kind in _READS:
                added.append(("Last-Modified", _LAST_MODIFIED))
                if self._ranged:
                    added.append(("Accept-Ranges", "bytes"))
        headers += [(name, value) for name, value in added if name.lower() not in present]
        if length is not None:
            headers.append(("Content-Length", length))
        return headers

    def _etag(self) -> str:
        """Make a tag that is the same for every request of one file or text, and different from most others."""
        seed = self._content if self._file is None else f"{self._file.name} {self._file.size_bytes}".encode()
        return f'"{hashlib.md5(seed, usedforsecurity=False).hexdigest()}-1"'

    def _declared(self, name: str) -> str | None:
        values = [value for key, value in self._response.headers if key.lower() == name]
        return values[-1] if values else None

    def _assemble(
        self,
        status: int,
        headers: Iterable[tuple[str, str]],
        date_line: bytes,
        *,
        body: bytes = b"",
        part: tuple[int, int] | None = None,
    ) -> Reply:
        """Put the reply together; its body is `body` or the `part` (start, end) of the file."""
        tail = b"\r\n" if self._declared("date") is not None else date_line + b"\r\n"
        # Definitions are UTF-8, and so is what they send.
        rendered = render_head(status, ((name, value.encode().decode("latin-1")) for name, value in headers)) + tail
        delay_s = self._response.delay_s
        if self._file is None or part is None or part[0] == part[1]:
            return Reply(status, rendered, body, delay_s=delay_s)
        served = (self._file.name, *part)
        if self._file.content is not None:
            return Reply(status, rendered, self._file.content[slice(*part)], delay_s=delay_s, served=served)
        return Reply(status, rendered, segments=(Segment(self._file, *part),), delay_s=delay_s, served=served)


def _numbered_part(query: str, size_bytes: int) -> ByteRange | None:
    """`partNumber=1` asks for the whole of an object that was not uploaded in parts: 206 unless it is empty."""
    if parse_qs(query).get("partNumber") != ["1"]:
        raise Unsatisfiable
    return ByteRange(start=0, end=size_bytes, size_bytes=size_bytes) if size_bytes else None
