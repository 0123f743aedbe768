"""The contents of objects: windows of one pool of bytes.

Memory is bounded however large objects are: a window that is larger than the pool reads it over and over.
"""

import hashlib

import numpy as np

from s3bench.load.profile.profile import Payload, PayloadKind
from s3bench.s3.protocol import checksums

POOL_BYTES_MAX = 32 * 1024**2
BLOCK_BYTES = 4096
"""What storage commonly compresses and deduplicates by; each block shrinks by the same factor."""

_POOL_BYTES_MIN = 256 * 1024
_WORD_BYTES = 8


class Pool:
    """The bytes, the same in every process for the same `seed`, good for `count` windows of together `total_bytes`.

    A window begins at an odd place of its own within a block, so that aligned blocks of different windows never are
    the same random bytes. The pool's size is such that windows which begin again at its start do so at places that no
    other uses: their own blocks repeat only after as many rounds as there are such places.
    """

    __slots__ = ("_bytes", "_count", "_crc32_of_round", "_size_bytes", "_view")

    def __init__(self, seed: str, payload: Payload, *, count: int, total_bytes: int) -> None:
        assert 0 < count <= BLOCK_BYTES // 2, count
        blocks = min(max(total_bytes, _POOL_BYTES_MIN), POOL_BYTES_MAX) // BLOCK_BYTES
        self._count = count
        self._size_bytes = blocks * BLOCK_BYTES + 2 * count
        self._bytes = bytes(_contents(seed, payload, blocks + 1)[: self._size_bytes])
        self._view = memoryview(self._bytes)
        self._crc32_of_round: int | None = None

    def offset(self, index: int) -> int:
        """The place where window `index` begins: spread evenly, then shifted."""
        blocks = self._size_bytes // BLOCK_BYTES
        return index * blocks // self._count * BLOCK_BYTES + 2 * index + 1

    def pieces(self, start: int, end: int) -> tuple[memoryview, ...]:
        """The bytes from `start` to `end` of a pool that is repeated without end; nothing is copied."""
        size_bytes = self._size_bytes
        rounds, first = divmod(start, size_bytes)
        last = end - rounds * size_bytes
        if last <= size_bytes:
            return (self._view[first:last],) if end > start else ()
        whole, rest = divmod(last - size_bytes, size_bytes)
        pieces = (self._view[first:], *((self._view,) * whole))
        return (*pieces, self._view[:rest]) if rest else pieces

    def is_equal_at(self, start: int, piece: memoryview) -> bool:
        """Whether `piece` is what stands from `start` on in a pool that is repeated without end."""
        first = start % self._size_bytes
        rest_bytes = self._size_bytes - first
        if len(piece) <= rest_bytes:
            return self._bytes.startswith(piece, first)
        return self._bytes.startswith(piece[:rest_bytes], first) and self.is_equal_at(0, piece[rest_bytes:])

    def crc32(self, start: int, end: int) -> int:
        """The CRC-32 of these bytes, in time bounded by two rounds: whole rounds are combined, not read."""
        pieces = self.pieces(start, end)
        if len(pieces) <= 2:  # noqa: PLR2004 (two pieces hold no round that is there twice)
            return int.from_bytes(checksums.digest_of("crc32", pieces), "big")
        if self._crc32_of_round is None:
            self._crc32_of_round = int.from_bytes(checksums.digest_of("crc32", (self._view,)), "big")
        of_round = self._crc32_of_round.to_bytes(4, "big")
        digests = (
            (of_round if piece is self._view else checksums.digest_of("crc32", (piece,)), len(piece))
            for piece in pieces
        )
        return int.from_bytes(checksums.combined("crc32", digests), "big")


def _contents(seed: str, payload: Payload, blocks: int) -> memoryview:
    """Blocks of which the first part, one by the factor of compression, is random, and the rest zero."""
    if payload.kind is PayloadKind.ZERO:
        return memoryview(bytes(blocks * BLOCK_BYTES))
    # The raw stream of a bit generator stays the same over versions of numpy (NEP 19), those of distributions may not.
    key = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:16], "big")
    words = np.random.Philox(key=key).random_raw(blocks * BLOCK_BYTES // _WORD_BYTES).astype("<u8", copy=False)
    contents = words.view(np.uint8).reshape(blocks, BLOCK_BYTES)
    contents[:, round(BLOCK_BYTES / payload.compressible) :] = 0
    return contents.reshape(-1).data.toreadonly()
