"""Keeps the data of objects in one anonymous file, and counts what it and everything kept about objects take.

Large bodies are extents of the file, which sendfile(2) can read from. Its offsets are endless, and a freed extent gives
its pages back to the machine, so nothing fragments and no descriptor is spent on an object. A few freed extents are
kept for the next body of the same size, since fresh pages cost as much as filling them. Extents that were sent are
never kept: sendfile(2) puts the pages themselves into a socket, and the client reads them later.
"""

import mmap
import os

from s3bench.s3.protocol.s3_error import S3Error
from s3bench.system.files import open_anonymous, punch_hole, trim_heap

PAGE_BYTES = mmap.PAGESIZE

_TRIM_BYTES = 8 * 1024 * 1024
_SPARE_BYTES_MAX = 64 * 1024 * 1024
_RESERVE_BYTES = 64 * 1024 * 1024  # beyond the limit, for documents on their way in: some of them delete objects


class Memory:
    """`limit_bytes` of memory; `held_bytes` of it are taken. Beyond that is an S3 error."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.held_bytes = 0
        self._peak_bytes = 0  # the most that was held since memory was last given back to the machine
        self.descriptor = open_anonymous("s3bench-objects")
        self._next = 0  # offset of the next extent
        self._spare: dict[int, list[int]] = {}  # size to offsets of extents that are free and have their pages
        self._spare_bytes = 0

    def __del__(self) -> None:
        os.close(self.descriptor)

    def hold(self, size_bytes: int, *, reserve: bool = False) -> "Hold":
        """Take `size_bytes` of the account; they come back with the hold's last reference. Raises `S3Error`.

        What is needed to make room may go into the reserve.
        """
        self._take(size_bytes, _RESERVE_BYTES if reserve else 0)
        return Hold(self, size_bytes)

    def extent(self, size_bytes: int) -> "Extent":
        """Take room for `size_bytes` in the file. Raises `S3Error` when that goes beyond the limit."""
        taken_bytes = -(-size_bytes // PAGE_BYTES) * PAGE_BYTES
        spare = self._spare.get(taken_bytes)
        if spare:
            self._spare_bytes -= taken_bytes
            self.held_bytes += taken_bytes  # it was counted before, so it cannot be too much
            return Extent(self, spare.pop(), taken_bytes)
        self._take(taken_bytes)
        offset, self._next = self._next, self._next + taken_bytes
        return Extent(self, offset, taken_bytes)

    def release(self, size_bytes: int) -> None:
        """Give `size_bytes` back to the account; where much was freed, the C library shall not keep it either."""
        self.held_bytes -= size_bytes
        if self.held_bytes < self._peak_bytes - _TRIM_BYTES:
            self._peak_bytes = self.held_bytes
            trim_heap()

    def free(self, offset: int, size_bytes: int, *, was_sent: bool) -> None:
        """Take back an extent: keep it for the next one of its size, or give its pages to the machine."""
        self.held_bytes -= size_bytes
        if was_sent or self._spare_bytes + size_bytes > _SPARE_BYTES_MAX:
            punch_hole(self.descriptor, offset, size_bytes)
            return
        self._spare.setdefault(size_bytes, []).append(offset)
        self._spare_bytes += size_bytes

    def _drop_spare(self) -> None:
        for size_bytes, offsets in self._spare.items():
            for offset in offsets:
                punch_hole(self.descriptor, offset, size_bytes)
        self._spare.clear()
        self._spare_bytes = 0

    def _take(self, size_bytes: int, reserve_bytes: int = 0) -> None:
        if self.held_bytes + self._spare_bytes + size_bytes > self.limit_bytes:
            self._drop_spare()
        if self.held_bytes + size_bytes > self.limit_bytes + reserve_bytes:
            raise S3Error(
                status=507,
                code="InsufficientStorage",
                message=f"The emulator's memory limit of {self.limit_bytes} bytes is reached: {self.held_bytes} bytes "
                f"are held and {size_bytes} more were asked for. Delete objects, or raise --memory-limit.",
            )
        self.held_bytes += size_bytes
        self._peak_bytes = max(self._peak_bytes, self.held_bytes)


def text_memory(text: str) -> int:
    """How many bytes the characters of `text` take in memory (PEP 393)."""
    if text.isascii():
        return len(text)
    widest = max(text)
    return len(text) * (1 if widest <= "\xff" else 2 if widest <= "\uffff" else 4)


class Hold:
    """A share of the account, given back with the last reference."""

    __slots__ = ("_memory", "_size_bytes")

    def __init__(self, memory: Memory, size_bytes: int) -> None:
        self._memory = memory
        self._size_bytes = size_bytes

    def __del__(self) -> None:
        self._memory.release(self._size_bytes)


class Extent:
    """Room in the memory's file, from `offset` on; given back with the last reference. An `exchange.Source`.

    `was_sent` is set when bytes of it are given to be sent.
    """

    __slots__ = ("_memory", "_size_bytes", "descriptor", "offset", "was_sent")

    name = "an object's memory"

    def __init__(self, memory: Memory, offset: int, size_bytes: int) -> None:
        self._memory = memory
        self._size_bytes = size_bytes
        self.descriptor = memory.descriptor
        self.offset = offset
        self.was_sent = False

    def write(self, data: memoryview, at: int) -> None:
        """Write `data` `at` bytes into the extent."""
        while len(data):
            written = os.pwrite(self.descriptor, data, self.offset + at)
            data = data[written:]
            at += written

    def __del__(self) -> None:
        self._memory.free(self.offset, self._size_bytes, was_sent=self.was_sent)
