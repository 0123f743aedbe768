"""Takes the framing off a body that arrives in any pieces.

Understands Content-Length (RFC 9112 6.2), chunked (RFC 9112 7.1) and aws-chunked bodies, signed or not, with or without
trailers (https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-streaming.html). aws-chunked has the grammar of
chunked, with `;chunk-signature=` as the chunk extension, and lies inside the HTTP framing. Chunk signatures are shown
to a `ChunkCheck` where there is one: the stub knows no secret. Pure.
"""

import re
from collections.abc import Mapping
from typing import Protocol

from s3bench.s3.protocol.decimals import parse_decimal
from s3bench.s3.protocol.http import LENGTH_MAX, BadRequest, RequestHead

LINE_BYTES_MAX = 8 * 1024
TRAILER_BYTES_MAX = 16 * 1024

AWS_CHUNK_BYTES_MIN = 8 * 1024
"""Least size of an aws-chunk that others follow (https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-streaming.html).
The status of the error is that of S3: https://github.com/aws/aws-sdk-cpp/issues/3132."""

_CHUNK_SIZE = re.compile(rb"[0-9A-Fa-f]{1,16}")
_HEX = b"0123456789abcdefABCDEF"
_FIELD = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*([^\r\n\0]*?)[ \t]*")

_SIZE, _CHUNK_END, _TRAILER = range(3)  # what the next line of a chunked body is


class Framing(Protocol):
    """Takes the framing off one body."""

    @property
    def ended(self) -> bool:
        """Whether the body's last byte has been fed."""

    @property
    def trailers(self) -> dict[str, str]:
        """The trailer fields, names in lower case; complete once the body has ended."""

    def feed(self, data: memoryview) -> tuple[list[memoryview], int]:
        """Give the payload pieces in `data` and how many of its bytes belong to this body; raises `BadRequest`."""

    def payload_ahead(self) -> int:
        """How many of the next bytes on the wire are payload for certain, so that they need not be read."""

    def skip(self, count: int) -> None:
        """Count the next `count` bytes as fed, unseen; `count` is at most `payload_ahead()`."""


class ChunkCheck(Protocol):
    """Sees the chunks of one aws-chunked body, in order, and raises `BadRequest` when one is not as it should be."""

    def chunk_begins(self, extension: bytes) -> None:
        """Take what stands behind the chunk's size and the semicolon; the last chunk is empty."""

    def update(self, piece: memoryview) -> None:
        """Take the next payload bytes of the chunk; the memory is reused after the call."""

    def chunk_ends(self) -> None:
        """Judge the chunk, all of which has been seen."""

    def body_ends(self, trailers: Mapping[str, str]) -> None:
        """Judge the trailer fields that followed the last chunk."""


class Sized:
    """A body of exactly `length` bytes."""

    __slots__ = ("_left", "trailers")

    def __init__(self, length: int) -> None:
        self._left = length
        self.trailers: dict[str, str] = {}

    @property
    def ended(self) -> bool:
        """Whether all bytes have been fed."""
        return self._left == 0

    def feed(self, data: memoryview) -> tuple[list[memoryview], int]:
        """All of `data` up to the end of the body is payload."""
        taken = min(self._left, len(data))
        self._left -= taken
        return ([data[:taken]] if taken else []), taken

    def payload_ahead(self) -> int:
        """All that is left."""
        return self._left

    def skip(self, count: int) -> None:
        """Count `count` payload bytes as fed."""
        self._left -= count


class Chunked:
    """A chunked or, with `aws`, an aws-chunked body; `check` sees its chunks, and then none may be skipped.

    Of aws-chunks only the last one with data may be small.
    AWS's pages, and minio-go, end the trailer fields that are signed with LF, and all of them with CRLF. In HTTP's own
    framing a bare LF is refused: others could read it as the end of the trailer, where the next request would begin.
    """

    __slots__ = ("_aws", "_check", "_expects", "_left", "_line", "_small", "_trailer_bytes", "ended", "trailers")

    def __init__(self, check: ChunkCheck | None = None, *, aws: bool = False) -> None:
        self._check = check
        self._aws = aws
        self.ended = False
        self.trailers: dict[str, str] = {}
        self._left = 0  # payload bytes left of the current chunk
        self._small = False  # whether the current chunk must be the last one
        self._line = b""  # the part of the current line that has arrived
        self._expects = _SIZE
        self._trailer_bytes = 0

    def feed(self, data: memoryview) -> tuple[list[memoryview], int]:
        """Payload pieces of `data`, sharing its memory."""
        pieces = []
        position, size = 0, len(data)
        while position < size and not self.ended:
            if self._left:
                taken = min(self._left, size - position)
                pieces.append(data[position : position + taken])
                self._left -= taken
                position += taken
                if self._check is not None:
                    self._check.update(pieces[-1])
                    if not self._left:
                        self._check.chunk_ends()
            else:
                position = self._take_line(data, position)
        return pieces, position

    def payload_ahead(self) -> int:
        """Count what is left of the current chunk; nothing, where every byte is to be seen."""
        return self._left if self._check is None else 0

    def skip(self, count: int) -> None:
        """Count `count` payload bytes of the current chunk as fed."""
        self._left -= count

    def _take_line(self, data: memoryview, position: int) -> int:
        window = bytes(data[position : position + LINE_BYTES_MAX])
        end = window.find(b"\n")
        self._line += window if end < 0 else window[: end + 1]
        if len(self._line) > LINE_BYTES_MAX:
            raise BadRequest("a chunk line is longer than 8 KiB")
        if end < 0:
            # A wrong line is refused at its first byte: waiting for its end could last until a timeout.
            self._check_start()
            return position + len(window)
        line = self._line
        if line.endswith(b"\r\n"):
            self._line = b""
            self._accept(line[:-2])
        elif self._expects != _TRAILER or not self._aws:
            raise BadRequest(f"a chunk line ends without CRLF: {line[:40]!r}")
        return position + end + 1

    def _accept(self, line: bytes) -> None:
        if self._expects == _SIZE:
            self._accept_size(line)
        elif self._expects == _TRAILER:
            self._accept_trailer(line)
        elif line:
            raise BadRequest(f"a chunk is longer than its size: {line[:40]!r}")
        else:
            self._expects = _SIZE

    def _check_start(self) -> None:
        if self._expects == _SIZE and self._line[0] not in _HEX:
            raise BadRequest(f"not a chunk size: {self._line[:40]!r}")
        if self._expects == _CHUNK_END and not b"\r\n".startswith(self._line):
            raise BadRequest(f"a chunk is longer than its size: {self._line[:40]!r}")

    def _accept_size(self, line: bytes) -> None:
        size, _, extension = line.partition(b";")
        digits = size.rstrip(b" \t")
        if _CHUNK_SIZE.fullmatch(digits) is None:
            raise BadRequest(f"not a chunk size: {line[:40]!r}")
        if b"\r" in extension or b"\0" in extension:  # RFC 9112 2.2: others could read a bare CR as a line end
            raise BadRequest(f"a chunk extension holds a bare CR or NUL: {line[:40]!r}")
        self._left = int(digits, 16)
        if self._left > LENGTH_MAX:
            raise BadRequest(f"a chunk size is beyond 2**63 - 1: {line[:40]!r}")
        if self._aws and self._left:
            if self._small:
                why = f"Only the last chunk is allowed to have a size less than {AWS_CHUNK_BYTES_MIN} bytes"
                raise BadRequest(why, status=403, code="InvalidChunkSizeError")
            self._small = self._left < AWS_CHUNK_BYTES_MIN
        self._expects = _CHUNK_END if self._left else _TRAILER
        if self._check is not None:
            self._check.chunk_begins(extension)
            if not self._left:
                self._check.chunk_ends()

    def _accept_trailer(self, line: bytes) -> None:
        if not line:
            self.ended = True
            if self._check is not None:
                self._check.body_ends(self.trailers)
            return
        self._trailer_bytes += len(line)
        for field in line.removesuffix(b"\n").split(b"\n"):
            match = _FIELD.fullmatch(field)
            if match is None or self._trailer_bytes > TRAILER_BYTES_MAX:
                raise BadRequest(f"not a trailer, or too many of them: {field[:40]!r}", code="MalformedTrailerError")
            self.trailers[match[1].decode().lower()] = match[2].decode("latin-1")


class Nested:
    """An aws-chunked body inside its HTTP framing; the payload must have `decoded_length` bytes where declared."""

    __slots__ = ("_decoded_length", "_inner", "_outer", "_payload_bytes")

    def __init__(self, outer: Framing, inner: Framing, *, decoded_length: int | None) -> None:
        self._outer = outer
        self._inner = inner
        self._decoded_length = decoded_length
        self._payload_bytes = 0

    @property
    def ended(self) -> bool:
        """Whether the HTTP framing has ended; the inner one has then ended too."""
        return self._outer.ended

    @property
    def trailers(self) -> dict[str, str]:
        """Trailers of both layers."""
        return self._outer.trailers | self._inner.trailers

    def feed(self, data: memoryview) -> tuple[list[memoryview], int]:
        """Payload of the inner framing, sharing the memory of `data`."""
        outer_pieces, consumed = self._outer.feed(data)
        pieces = []
        for outer_piece in outer_pieces:
            inner_pieces, taken = self._inner.feed(outer_piece)
            if taken < len(outer_piece):
                raise BadRequest("bytes follow the last aws-chunk", code="IncompleteBody")
            pieces += inner_pieces
        self._payload_bytes += sum(map(len, pieces))
        if self._outer.ended:
            self._check_end()
        return pieces, consumed

    def payload_ahead(self) -> int:
        """Count what both layers agree on."""
        return min(self._outer.payload_ahead(), self._inner.payload_ahead())

    def skip(self, count: int) -> None:
        """Count `count` payload bytes as fed in both layers."""
        self._outer.skip(count)
        self._inner.skip(count)
        self._payload_bytes += count
        if self._outer.ended:
            self._check_end()

    def _check_end(self) -> None:
        if not self._inner.ended:
            raise BadRequest("the body ends before the last aws-chunk", code="IncompleteBody")
        if self._decoded_length is not None and self._payload_bytes != self._decoded_length:
            raise BadRequest(
                f"x-amz-decoded-content-length is {self._decoded_length}, the payload has {self._payload_bytes} bytes",
                code="IncompleteBody",
            )


def is_bare(head: RequestHead) -> bool:
    """Whether the body that follows `head` is its payload and nothing else: of a known length, without framing."""
    return not head.chunked and not _is_aws_chunked(head.fields)


def _is_aws_chunked(fields: Mapping[str, str]) -> bool:
    """Whether a body is announced as aws-chunked: by Content-Encoding or by a `STREAMING-` payload hash, or by both."""
    if fields.get("x-amz-content-sha256", "").startswith("STREAMING-"):
        return True
    codings = fields.get("content-encoding")
    return codings is not None and "aws-chunked" in codings.lower().replace(" ", "").split(",")


def framing_of(head: RequestHead, check: ChunkCheck | None = None) -> Framing:
    """Choose the framing of the body that follows `head`; raises `BadRequest`.

    `check` sees the chunks of a body that is aws-chunked.
    """
    outer: Framing = Chunked() if head.chunked else Sized(head.length)
    fields = head.fields
    if not _is_aws_chunked(fields):
        return outer
    decoded_length = None
    if "x-amz-decoded-content-length" in fields:
        decoded = fields["x-amz-decoded-content-length"]
        decoded_length = parse_decimal(decoded)
        if decoded_length is None:
            raise BadRequest(f"x-amz-decoded-content-length is not a number of bytes: {decoded[:40]!r}")
    return Nested(outer, Chunked(check, aws=True), decoded_length=decoded_length)
