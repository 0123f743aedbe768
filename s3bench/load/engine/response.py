"""One HTTP response as it comes in, piece by piece (RFC 9112): its status, where its body ends, and what matters in it.

`quick_length` recognises the usual response at once; `ResponseParser` reads any. Pure: bytes arrive as arguments.
"""

import re
from enum import IntEnum

HEAD_END = b"\r\n\r\n"
HEAD_END_BYTES = len(HEAD_END)
HEAD_BYTES_MAX = 64 * 1024
"""Heads of S3 take less than 1 KiB; user metadata adds at most 2 KB, and there are proxies."""

_LINE_BYTES_MAX = 16 * 1024
_TEXT_BYTES_MAX = 64 * 1024
_BODY_BYTES_MAX = 1 << 62
_STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9]{2})(?: .*)?")
_DECIMAL = re.compile(rb"[0-9]{1,19}")
_CHUNK_LINE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?")
_CODE = re.compile(rb"<Code>\s*([A-Za-z0-9.]{1,64})\s*</Code>")
_UPLOAD = re.compile(rb"<UploadId>\s*([^<\s]{1,2048})\s*</UploadId>")
_INFORMATION_END = 200
_NO_CONTENT = 204
_NOT_MODIFIED = 304


class BadResponse(Exception):
    """What came is no HTTP response."""


def quick_length(data: bytes, end: int, start: bytes) -> int:
    """The length of the body of a usual response; -1 for one that only `ResponseParser` can read.

    The head in `data` ends before `end`. Usual is what begins with `start` (version and status), has one Content-Length
    and nothing about another framing or the end of the connection.
    """
    if not data.startswith(start):
        return -1
    head = data[: end + 2].lower()
    at = head.find(b"\r\ncontent-length:")
    if at < 0 or head.find(b"\r\ntransfer-encoding:") >= 0:
        return -1
    connection = head.find(b"\r\nconnection:")
    if connection >= 0 and (
        not head.startswith(b" keep-alive\r\n", connection + 13) or head.find(b"\r\nconnection:", connection + 13) >= 0
    ):
        return -1
    at += 17
    stop = head.find(b"\r\n", at)
    value = head[at:stop].strip(b" ")
    if not value.isdigit() or len(value) > 18 or head.find(b"\r\ncontent-length:", stop) >= 0:  # noqa: PLR2004 (digits of 2**62)
        return -1
    return int(value)


class _Part(IntEnum):
    """What comes next."""

    HEAD = 0
    BODY = 1  # of a known length, or a chunk
    CHUNK_LINE = 2
    CHUNK_END = 3
    TRAILER = 4
    TO_CLOSE = 5
    END = 6


class ResponseParser:
    """One response being read; `begin` makes it ready for the next.

    `status` is 0 until the head is complete. `closing` means that the connection cannot be used again, `length` is the
    Content-Length, `body_bytes` how many bytes of the body came. `surplus` means that more bytes came than belong
    to it. Of the body `text` keeps the beginning where `wants_text`, or where the status is none of success.
    """

    __slots__ = (
        "_chunked", "_head_only", "_held", "_part", "_rest_bytes", "_text", "_wants_text", "begun", "body_bytes",
        "closing", "etag", "length", "status", "surplus",
    )  # fmt: skip

    def __init__(self) -> None:
        self.begin()

    def begin(self, *, head_only: bool = False, wants_text: bool = False) -> None:
        """Get ready for the next response; `head_only` for one to HEAD, which has no body."""
        self._head_only = head_only
        self._wants_text = wants_text
        self._part = _Part.HEAD
        self._held = b""
        self._chunked = False
        self._rest_bytes = 0
        self._text = b""
        self.begun = False
        self.status = 0
        self.closing = False
        self.surplus = False
        self.length: int | None = None
        self.etag = ""
        self.body_bytes = 0

    @property
    def ended(self) -> bool:
        """Whether all of it is there."""
        return self._part is _Part.END

    @property
    def text(self) -> bytes:
        """The beginning of the body, where it is kept."""
        return self._text

    @property
    def direct_bytes(self) -> int:
        """How many bytes of the body come next with nothing between; the caller may read them and call `skip`."""
        return self._rest_bytes if self._part is _Part.BODY and not self._keeps_text else 0

    @property
    def direct_beyond(self) -> int:
        """How many bytes beyond `direct_bytes` the caller may read to see surplus: none where a chunk's end follows."""
        return 0 if self._chunked else 1

    def skip(self, size_bytes: int) -> None:
        """Take note of as many bytes that the caller has read itself: `direct_bytes` and `direct_beyond` at most."""
        if size_bytes > self._rest_bytes:
            self.surplus = self.closing = True
            size_bytes = self._rest_bytes
        self.body_bytes += size_bytes
        self._rest_bytes -= size_bytes
        if not self._rest_bytes:
            self._part = _Part.CHUNK_END if self._chunked else _Part.END

    def feed(self, data: bytes) -> list[memoryview]:
        """Take the next bytes; gives what of them belongs to the body. Raises `BadResponse`."""
        pieces: list[memoryview] = []
        self.begun = self.begun or bool(data)
        if self._held:
            data, self._held = self._held + data, b""
        at = 0
        while at < len(data) and self._part is not _Part.END:
            part = self._part
            if part is _Part.BODY or part is _Part.TO_CLOSE:
                stop = len(data) if part is _Part.TO_CLOSE else min(len(data), at + self._rest_bytes)
                piece = memoryview(data)[at:stop]
                if self._keeps_text:
                    self._text += bytes(piece[: max(0, _TEXT_BYTES_MAX - len(self._text))])
                pieces.append(piece)
                if part is _Part.BODY:
                    self.skip(stop - at)
                else:
                    self.body_bytes += stop - at
                at = stop
                continue
            stop = self._take_head(data, at) if part is _Part.HEAD else self._take_line(data, at)
            if stop < 0:
                self._held = data[at:]
                return pieces
            at = stop
        if at < len(data):
            self.surplus = self.closing = True  # no other request was sent: it cannot belong to another response
        return pieces

    def close(self) -> bool:
        """Take note that the other side closed; whether the response is complete all the same."""
        self.closing = True
        if self._part is _Part.TO_CLOSE:
            self._part = _Part.END
        return self._part is _Part.END

    @property
    def _keeps_text(self) -> bool:
        return self._wants_text or self.status >= 300  # noqa: PLR2004 (success ends there)

    def _take_head(self, data: bytes, at: int) -> int:
        end = data.find(HEAD_END, at)
        if not 0 <= end - at <= HEAD_BYTES_MAX:
            if len(data) - at > HEAD_BYTES_MAX + HEAD_END_BYTES:
                raise BadResponse(f"the head is longer than {HEAD_BYTES_MAX} bytes")
            if not data.startswith((b"HTTP/1."[: len(data) - at]), at):
                raise BadResponse("no HTTP response")
            return -1
        lines = data[at:end].split(b"\r\n")
        match = _STATUS_LINE.fullmatch(lines[0])
        if match is None:
            raise BadResponse("no status line")
        status = int(match[2])
        if status >= _INFORMATION_END:  # 1xx go before the response (RFC 9110 15.2)
            self.status = status
            self.closing = match[1] == b"0"
            self._frame(lines[1:])
        return end + HEAD_END_BYTES

    def _frame(self, lines: list[bytes]) -> None:
        """Find out where the body ends (RFC 9112 6.3)."""
        codings = self._take_fields(lines)
        if self._head_only or self.status in {_NO_CONTENT, _NOT_MODIFIED}:
            self._part = _Part.END
        elif codings:
            self._chunked = codings.rpartition(b",")[2].strip() == b"chunked"
            self._part = _Part.CHUNK_LINE if self._chunked else _Part.TO_CLOSE
            if self.length is not None:
                self.closing = True  # RFC 9112 6.1: it might be smuggled
        elif self.length is None:
            self._part = _Part.TO_CLOSE
        else:
            self._rest_bytes = self.length
            self._part = _Part.BODY if self.length else _Part.END

    def _take_fields(self, lines: list[bytes]) -> bytes:
        """Keep what matters of the fields; gives the transfer codings, which are needed at once."""
        codings = b""
        options = set[bytes]()
        for line in lines:
            name, colon, value = line.partition(b":")
            if not colon:
                raise BadResponse("a header line without a colon")
            name, value = name.lower(), value.strip(b" \t")
            if name == b"content-length":
                self._take_length(value)
            elif name == b"transfer-encoding":
                codings += b"," + value.lower()
            elif name == b"connection":
                options.update(option.strip() for option in value.lower().split(b","))
            elif name == b"etag":
                self.etag = value.decode("latin-1")
        self.closing = (self.closing and b"keep-alive" not in options) or b"close" in options
        return codings

    def _take_length(self, value: bytes) -> None:
        if not _DECIMAL.fullmatch(value) or int(value) > _BODY_BYTES_MAX:
            raise BadResponse("Content-Length is not a number")
        if self.length not in {None, int(value)}:
            raise BadResponse("two different Content-Length")
        self.length = int(value)

    def _take_line(self, data: bytes, at: int) -> int:
        """Take a line of the chunked framing (RFC 9112 7.1)."""
        end = data.find(b"\r\n", at)
        if not 0 <= end - at <= _LINE_BYTES_MAX:
            if len(data) - at > _LINE_BYTES_MAX + 2:
                raise BadResponse(f"a line longer than {_LINE_BYTES_MAX} bytes")
            return -1
        line = data[at:end]
        if self._part is _Part.CHUNK_END:
            if line:
                raise BadResponse("a chunk longer than announced")
            self._part = _Part.CHUNK_LINE
        elif self._part is _Part.TRAILER:
            self._part = _Part.TRAILER if line else _Part.END
        else:
            match = _CHUNK_LINE.fullmatch(line)
            if match is None:
                raise BadResponse("no chunk size")
            self._rest_bytes = int(match[1], 16)
            self._part = _Part.BODY if self._rest_bytes else _Part.TRAILER
        return end + 2


def error_code(text: bytes) -> str:
    """S3's code in the XML of an error, such as `SlowDown`; nothing where there is none."""
    match = _CODE.search(text)
    return match[1].decode() if match else ""


def is_error(text: bytes) -> bool:
    """Whether the body of a success reports an error after all, as CopyObject and CompleteMultipartUpload may.

    https://docs.aws.amazon.com/AmazonS3/latest/API/API_CompleteMultipartUpload.html: a 200 OK may come before it.
    """
    return b"<Error>" in text


def upload_id(text: bytes) -> str:
    """The id in the response to CreateMultipartUpload; nothing where there is none."""
    match = _UPLOAD.search(text)
    return match[1].decode("latin-1") if match else ""
