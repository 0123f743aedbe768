"""Parses the Range header of a GET (RFC 9110 14), as S3 takes it.

S3 serves one range per request; a header that is malformed, has
another unit or asks for several ranges is ignored and the whole object sent, which RFC 9110 14.2 allows.
"""

import re
from dataclasses import dataclass

from s3bench.s3.protocol.decimals import parse_decimal

_ONE_RANGE = re.compile(r"bytes=[ \t]*([0-9]*)-([0-9]*)[ \t]*", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class ByteRange:
    """The half-open range `[start, end)` of an object of `size_bytes`; never empty."""

    start: int
    end: int
    size_bytes: int

    @property
    def content_range(self) -> str:
        """The value of Content-Range, whose last position is inclusive."""
        return f"bytes {self.start}-{self.end - 1}/{self.size_bytes}"


class Unsatisfiable(Exception):
    """The range is well-formed but lies outside the object: 416, InvalidRange."""


def parse_range(header: str, size_bytes: int) -> ByteRange | None:
    """Find the range that `header` asks of an object of `size_bytes`, clamped to it; `None` asks for the whole object.

    Raises `Unsatisfiable` when no byte of the object is in the range. RFC 9110 14.1.2 calls a suffix of an empty
    object satisfiable; there is no Content-Range for it, so the whole (empty) object is the response.
    """
    match = _ONE_RANGE.fullmatch(header)
    if match is None:
        return None
    first, last = parse_decimal(match[1]), parse_decimal(match[2])
    if first is None:
        if last == 0:
            raise Unsatisfiable
        if last is None or size_bytes == 0:
            return None
        return ByteRange(start=max(0, size_bytes - last), end=size_bytes, size_bytes=size_bytes)
    if last is not None and last < first:
        return None
    if first >= size_bytes:
        raise Unsatisfiable
    end = size_bytes if last is None else min(last + 1, size_bytes)
    return ByteRange(start=first, end=end, size_bytes=size_bytes)
