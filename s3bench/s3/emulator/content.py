"""The bytes of one object, in a bytes object, in memory, in a file, or generated; and ranges of them, to be sent.

Contents are immutable and shared by copies.
"""

import functools
import os
import random
import weakref
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Protocol

from s3bench.s3.emulator.memory import Extent, Hold
from s3bench.s3.files.beneath import open_file
from s3bench.s3.files.file_cache import OpenFile
from s3bench.s3.protocol.exchange import Segment
from s3bench.s3.protocol.s3_error import S3Error
from s3bench.system.files import open_anonymous

Sendable = tuple[bytes, tuple[Segment, ...]]
"""Bytes to send, and the segments to send after them."""

NOISE_BYTES = 16 * 1024 * 1024
_COPY_BYTES = 1024 * 1024


class Content(Protocol):
    """The bytes of an object."""

    @property
    def size_bytes(self) -> int:
        """How many there are."""
        ...

    def part(self, start: int, end: int) -> Sendable:
        """Give the bytes of the half-open range `[start, end)`, which lies inside the content."""
        ...


class Small:
    """Content in a bytes object."""

    __slots__ = ("_data", "_hold")

    def __init__(self, data: bytes, hold: Hold) -> None:
        self._data = data
        self._hold = hold

    @property
    def size_bytes(self) -> int:
        """How many bytes there are."""
        return len(self._data)

    def part(self, start: int, end: int) -> Sendable:
        """Give a slice."""
        return (self._data if end - start == len(self._data) else self._data[start:end]), ()


class Stretch(Protocol):
    """One contiguous piece of a content."""

    @property
    def size_bytes(self) -> int:
        """How many bytes it has."""
        ...

    def segments(self, start: int, end: int) -> tuple[Segment, ...]:
        """Give the bytes `[start, end)` of the piece."""
        ...

    def cut(self, start: int, end: int) -> "Stretch":
        """Give the bytes `[start, end)` of the piece as a piece of its own."""
        ...


class Stored:
    """A stretch in memory: `size_bytes` of `extent`, from `at` on."""

    __slots__ = ("_at", "_extent", "size_bytes")

    def __init__(self, extent: Extent, size_bytes: int, at: int = 0) -> None:
        self._extent = extent
        self._at = at
        self.size_bytes = size_bytes

    def segments(self, start: int, end: int) -> tuple[Segment, ...]:
        """Give a range of the memory's file."""
        self._extent.was_sent = True
        begin = self._extent.offset + self._at
        return (Segment(self._extent, begin + start, begin + end),)

    def cut(self, start: int, end: int) -> "Stored":
        """Give a smaller piece of the same extent."""
        return Stored(self._extent, end - start, self._at + start)


class Noise:
    """Bytes that were not kept: the same pseudo-random ones at every reading, from `shift` on in a repeated block."""

    __slots__ = ("_block", "_shift", "size_bytes")

    def __init__(self, block: "NoiseBlock", size_bytes: int, shift: int) -> None:
        self._block = block
        self._shift = shift
        self.size_bytes = size_bytes

    def segments(self, start: int, end: int) -> tuple[Segment, ...]:
        """Give pieces of the block, over and over."""
        pieces = []
        while start < end:
            at = (self._shift + start) % NOISE_BYTES
            count = min(end - start, NOISE_BYTES - at)
            pieces.append(Segment(self._block, at, at + count))
            start += count
        return tuple(pieces)

    def cut(self, start: int, end: int) -> "Noise":
        """Give a smaller piece of the same noise."""
        return Noise(self._block, end - start, (self._shift + start) % NOISE_BYTES)


class NoiseBlock:
    """The block that all `Noise` is read from; an `exchange.Source`."""

    name = "the noise that stands for discarded data"

    def __init__(self, seed: int) -> None:
        self.descriptor = open_anonymous("s3bench-noise")
        weakref.finalize(self, os.close, self.descriptor)
        os.write(self.descriptor, random.Random(seed).randbytes(NOISE_BYTES))  # noqa: S311 (noise, not a secret)


@functools.lru_cache(maxsize=1)
def noise_block(seed: int) -> NoiseBlock:
    """Make the block once for all emulators of a process: that takes a tenth of a second, and nobody writes to it."""
    return NoiseBlock(seed)


class Stretches:
    """Content made of stretches, one after another; a multipart object has one a part, or more."""

    __slots__ = ("_ends", "_stretches", "size_bytes")

    def __init__(self, stretches: Sequence[Stretch]) -> None:
        self._stretches = tuple(stretches)
        self._ends = list(accumulate([stretch.size_bytes for stretch in self._stretches]))
        self.size_bytes = self._ends[-1] if self._ends else 0

    def part(self, start: int, end: int) -> Sendable:
        """Give the bytes of the stretches that the range touches."""
        pieces: list[Segment] = []
        for stretch, begin, stop in self._touched(start, end):
            pieces += stretch.segments(begin, stop)
        return b"", tuple(pieces)

    def cut(self, start: int, end: int) -> tuple[Stretch, ...]:
        """Give the same bytes as stretches of their own, for a copy of a part of the content.

        They refer to memory, never to this content: copies of copies would nest without end.
        """
        if (start, end) == (0, self.size_bytes):
            return self._stretches
        return tuple(stretch.cut(begin, stop) for stretch, begin, stop in self._touched(start, end))

    def _touched(self, start: int, end: int) -> Iterator[tuple[Stretch, int, int]]:
        """Give each stretch that the range touches, with the range of it."""
        index = bisect_right(self._ends, start)
        while start < end:
            stretch = self._stretches[index]
            begin = self._ends[index] - stretch.size_bytes
            stop = min(end, self._ends[index])
            yield stretch, start - begin, stop - begin
            start = stop
            index += 1


class FileContent:
    """Content of the file at `parts` below `root`, opened when it is read without following links below `root`.

    A file that does not have its size and its time of modification (nanoseconds since 1970) any more is not served.
    """

    __slots__ = ("_modified_ns", "_parts", "_root", "size_bytes")

    def __init__(self, root: Path, parts: Sequence[str], size_bytes: int, modified_ns: int) -> None:
        self._modified_ns = modified_ns
        self._root = root
        self._parts = parts
        self.size_bytes = size_bytes

    def part(self, start: int, end: int) -> Sendable:
        """Open the file. Raises `S3Error` where it is gone or has changed."""
        try:
            file = OpenFile(self._parts[-1], open_file(self._root, self._parts))
        except OSError as error:
            raise _gone(f"the file behind this object cannot be read: {error.strerror}") from error
        if (file.size_bytes, file.modified_ns) != (self.size_bytes, self._modified_ns):
            raise _gone("the file behind this object has changed")
        if file.content is not None:
            return file.content[start:end], ()
        return b"", (Segment(file, start, end),)


def pieces_of(content: Content, start: int, end: int) -> Iterator[memoryview]:
    """Give the bytes `[start, end)` in pieces of at most 1 MiB, to be hashed or written elsewhere."""
    data, segments = content.part(start, end)
    if data:
        yield memoryview(data)
    for segment in segments:
        for at in range(segment.start, segment.end, _COPY_BYTES):
            yield memoryview(os.pread(segment.source.descriptor, min(_COPY_BYTES, segment.end - at), at))


def _gone(why: str) -> S3Error:
    return S3Error(status=500, code="InternalError", message=f"We encountered an internal error: {why}.")
