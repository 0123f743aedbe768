"""Derives the objects of a run, their key, size and contents, from the run ID and the object number alone.

So no table of objects is kept. An object is the window of a pool
(`pool`) that its slot has, and 16 bytes of its own at the end: checksums of the window are calculated once per slot and
only those of the end per object. Objects that are not ours come from a `key_file`.
"""

import binascii
import functools
import hashlib
from collections.abc import Callable, Sequence
from typing import Protocol
from zlib import crc32 as _crc32  # of the stamp; ISA-L is no faster on 16 bytes

import msgspec

from s3bench.errors import BadInput
from s3bench.load.engine.key_file import read_key_file
from s3bench.load.engine.pool import Pool
from s3bench.load.engine.verification import (
    BodyVerifier,
    ComparingVerifier,
    Crc32Body,
    Crc32Verifier,
    ExpectedBody,
    crc32_is_faster,
)
from s3bench.load.profile.profile import DataSet, Layout
from s3bench.load.profile.sizes import SLOTS, Sizes
from s3bench.s3.signing.sigv4 import canonical_path

STAMP_BYTES = 16

FAR = 1 << 40
"""First number of objects that belong to no data set; each job of a phase has as many numbers for itself."""

_DIGITS = 8
JOINED_BYTES_MAX = 64 * 1024
"""Bodies up to this size are sent in one piece with their head: copying them costs less than a second piece does."""

_FIXED_BYTES = 256 * 1024**2  # what all slots of one size hold together, within these limits
_FIXED_SLOTS_MIN = 4
_FIXED_SLOTS_MAX = 64
_PREPARED_BYTES_MAX = 4 * 1024**3  # what is hashed beforehand, smallest first; the rest when it is needed
_WINDOWS_MAX = 16 * 1024
_STAMP_BITS = 8 * STAMP_BYTES
_STAMP_MASK = (1 << _STAMP_BITS) - 1
_GOLDEN = 0x9E3779B97F4A7C15  # 2**64 by the golden ratio: its multiples never come near each other (Knuth, TAOCP 6.4)

_SHUFFLED = tuple(sorted(range(SLOTS), key=lambda slot: hashlib.sha256(bytes((slot,))).digest()))


def slot_of(number: int) -> int:
    """The slot of an object, below `SLOTS`: in each 256 numbers from a multiple of 256 on, every slot occurs once.

    So weights of sizes are kept exactly, not only on the average, and yet no pattern repeats: each 256 are shuffled
    by another rotation and inversion of bits.
    """
    block = (number >> 8) * _GOLDEN >> 40
    return _SHUFFLED[(number + block) & 255] ^ (block >> 8 & 255)


def numbered_key(root: str, number: int) -> str:
    """The key, or path, of an object below `root`."""
    return root + str(number).zfill(_DIGITS)


class Stamps:
    """The bytes that each object of a run has at its end, and no other: below 2**128 every number has its own."""

    def __init__(self, seed: str) -> None:
        digest = hashlib.sha256(seed.encode()).digest()
        self._multiplier = int.from_bytes(digest[:STAMP_BYTES], "big") | 1
        self._increment = int.from_bytes(digest[STAMP_BYTES:], "big")

    def of(self, number: int) -> bytes:
        """The stamp of an object: an odd factor modulo a power of two is a bijection."""
        return (number * self._multiplier + self._increment & _STAMP_MASK).to_bytes(STAMP_BYTES, "big")


class ContentWindow:
    """A range of a slot's objects, without what it has of the stamp: its checksums, calculated once.

    `own` is where in the stamp its last bytes are, after `prefix_bytes` of the pool. `part` gives the window of a part
    of a whole object. `joined` is the prefix of a small one where it was prepared. `is_verified_by_crc32`: whether that
    takes less time than comparing.
    """

    __slots__ = (
        "_crc32", "_pool", "_sha256", "_start", "is_verified_by_crc32", "joined", "own", "part", "prefix_bytes",
        "size_bytes",
    )  # fmt: skip

    def __init__(
        self,
        pool: Pool,
        offset: int,
        size_bytes: int,
        start: int,
        end: int,
        part: Callable[[int, int], "ContentWindow"],
    ) -> None:
        plain_bytes = max(0, size_bytes - STAMP_BYTES)
        self.size_bytes = end - start
        self.own = slice(max(0, start - plain_bytes), max(0, end - plain_bytes))
        self.part = part
        self._pool = pool
        self._start = offset + start
        self.prefix_bytes = max(0, min(end, plain_bytes) - start)
        self._crc32: int | None = None
        self._sha256: hashlib._Hash | None = None
        self.joined: bytes | None = None
        self.is_verified_by_crc32 = False

    def pieces(self) -> tuple[memoryview, ...]:
        """The prefix, not copied."""
        return self._pool.pieces(self._start, self._start + self.prefix_bytes)

    def is_equal_at(self, at: int, piece: memoryview) -> bool:
        """Whether `piece` is what stands from `at` on; it does not reach beyond the prefix."""
        return self._pool.is_equal_at(self._start + at, piece)

    def prepare(self, *, signs_payload: bool, checksum: bool) -> None:
        """Calculate what a whole object needs: the SHA-256 where it is signed, the CRC-32 where it is used."""
        self.is_verified_by_crc32 = crc32_is_faster()
        if checksum or self.is_verified_by_crc32:
            self.crc32()
        if self.size_bytes <= JOINED_BYTES_MAX:
            self.joined = b"".join(self.pieces())
        if signs_payload:
            self.sha256()

    def sha256(self) -> "hashlib._Hash":
        """The state after the prefix, to be copied."""
        if self._sha256 is None:
            self._sha256 = hashlib.sha256()
            for piece in self.pieces():
                self._sha256.update(piece)
        return self._sha256

    def crc32(self) -> int:
        """The CRC-32 of the prefix."""
        if self._crc32 is None:
            self._crc32 = self._pool.crc32(self._start, self._start + self.prefix_bytes)
        return self._crc32


class ObjectBody(msgspec.Struct, frozen=True, gc=False):
    """Contents of one object, or of a part of it: a window of the pool, and the last bytes, which no other has."""

    _window: ContentWindow
    _own: bytes

    @property
    def size_bytes(self) -> int:
        """How long it is."""
        return self._window.size_bytes

    @property
    def pieces(self) -> tuple[memoryview, ...]:
        """All of it, in order: one piece of small ones, views without copies of large ones; no empty piece."""
        window = self._window
        if window.size_bytes > JOINED_BYTES_MAX:
            return (*window.pieces(), memoryview(self._own)) if self._own else window.pieces()
        return (memoryview(self.joined_to(b"")),) if window.size_bytes else ()

    def joined_to(self, head: bytes) -> bytes:
        """Give `head` and all of a small body, copied once."""
        window = self._window
        if window.joined is None:
            return b"".join((head, *window.pieces(), self._own))
        return b"".join((head, window.joined, self._own))

    def sha256(self) -> str:
        """The SHA-256 in hexadecimal digits, as x-amz-content-sha256 has it."""
        state = self._window.sha256().copy()
        state.update(self._own)
        return state.hexdigest()

    def crc32(self) -> int:
        """The CRC-32."""
        return _crc32(self._own, self._window.crc32())

    def base64_crc32(self) -> str:
        """The CRC-32 as x-amz-checksum-crc32 has it."""
        return binascii.b2a_base64(self.crc32().to_bytes(4, "big"), newline=False).decode("ascii")

    def part(self, start: int, end: int) -> "ObjectBody":
        """The range from `start` to before `end`, or to the end, of a whole object, such as a part of an upload."""
        window = self._window.part(start, min(end, self._window.size_bytes))
        return ObjectBody(window, self._own[window.own])

    def is_equal(self, data: bytes, at: int) -> bool:
        """Whether the bytes of `data` from `at` on, which are as many as it has, are these."""
        joined = self._window.joined
        if joined is None:
            return self._is_equal_at(0, memoryview(data)[at:])
        return data.startswith(joined, at) and data.endswith(self._own)

    def verifier(self) -> BodyVerifier:
        """Make what verifies that a body which comes in pieces is this one."""
        return (
            Crc32Verifier(self.crc32()) if self._window.is_verified_by_crc32 else ComparingVerifier(self._is_equal_at)
        )

    def _is_equal_at(self, at: int, piece: memoryview) -> bool:
        prefix_bytes = max(0, self._window.prefix_bytes - at)
        if len(piece) <= prefix_bytes:
            return self._window.is_equal_at(at, piece)
        if prefix_bytes and not self._window.is_equal_at(at, piece[:prefix_bytes]):
            return False
        own = self._own[max(0, at - self._window.prefix_bytes) :]
        return own.startswith(piece[prefix_bytes:])


class ObjectSet(Protocol):
    """The objects that operations name by numbers."""

    @property
    def listed(self) -> int | None:
        """How many objects a key file names; `None` where objects are ours."""

    def key(self, number: int) -> str:
        """The whole key of an object."""

    def path(self, number: int) -> str:
        """The key as a path, canonical as SigV4 wants it, with a leading slash and without the bucket."""

    def copy_source(self, number: int) -> str:
        """The object as x-amz-copy-source names it: bucket and key, encoded."""

    def size_bytes(self, number: int) -> int:
        """The size of an object of ours."""

    def body(self, number: int) -> ObjectBody:
        """The contents of an object of ours."""

    def expected(self, number: int) -> tuple[int | None, ExpectedBody | None]:
        """Size and contents of an object as a read must bring them; `None` where they are unknown."""


class Objects:
    """All objects of one data set, of certain sizes, and the new ones beside it, numbered from `FAR` on.

    Their keys begin with `new_root`, by default with the root of the data set. Making it prepares contents and
    checksums, which may take a second: SHA-256 only where `signs_payload`, CRC-32 only where `checksum`. Raises
    `BadInput` for a key file that cannot be read.
    """

    def __init__(
        self,
        data: DataSet,
        sizes: Sizes,
        *,
        bucket: str,
        workers: int,
        signs_payload: bool,
        checksum: bool,
        new_root: str | None = None,
    ) -> None:
        new_root = data.root if new_root is None else new_root
        self._bucket = bucket
        self._workers = workers
        self._in_directories = data.layout is Layout.WORKER
        self._root = data.root
        self._encoded_root = canonical_path("/" + data.root)
        self._new_root = new_root
        self._encoded_new_root = canonical_path("/" + new_root)
        self._listed = read_key_file(data.key_file) if data.key_file is not None else None
        self._paths = tuple(canonical_path("/" + listed.key) for listed in self._listed or ())
        self._slots = _sizes_of_slots(sizes)
        self._mask = len(self._slots) - 1
        seed = f"{data.run}\n{data.root}"
        self._stamp = Stamps(seed).of
        self._new_stamp = Stamps(f"{data.run}\n{new_root}").of
        if data.payload.compressible < 1:
            raise BadInput(
                f"the payload cannot be compressible by {data.payload.compressible:g}",
                "that is the factor by which it shrinks",
                "write 1 for data that does not shrink, or more",
            )
        total_bytes = sum(self._slots) if self._listed is None else 0
        self._pool = Pool(seed, data.payload, count=len(self._slots), total_bytes=total_bytes)
        self._part = functools.lru_cache(maxsize=_WINDOWS_MAX)(self._window)
        self._whole = tuple(self._window(slot, 0, size_bytes) for slot, size_bytes in enumerate(self._slots))
        if self._listed is None:
            self._prepare(signs_payload=signs_payload, checksum=checksum)

    def key(self, number: int) -> str:
        """The whole key of an object."""
        if self._listed is not None:
            return self._listed[number].key
        root = self._root if number < FAR else self._new_root
        if self._in_directories:
            return f"{root}w{number % self._workers}/{str(number).zfill(_DIGITS)}"
        return numbered_key(root, number)

    def path(self, number: int) -> str:
        """The key as a path, canonical as SigV4 wants it, with a leading slash and without the bucket."""
        if self._listed is not None:
            return self._paths[number]
        root = self._encoded_root if number < FAR else self._encoded_new_root
        if self._in_directories:
            return f"{root}w{number % self._workers}/{str(number).zfill(_DIGITS)}"
        return numbered_key(root, number)

    def copy_source(self, number: int) -> str:
        """The object as x-amz-copy-source names it: bucket and key, encoded."""
        return f"{self._bucket}{self.path(number)}"

    def size_bytes(self, number: int) -> int:
        """The size of an object of ours."""
        assert self._listed is None, "the sizes of others' objects are expected ones"
        return self._slots[slot_of(number) & self._mask]

    def body(self, number: int) -> ObjectBody:
        """The contents of an object of ours."""
        assert self._listed is None, "the contents of others' objects are unknown"
        window = self._whole[slot_of(number) & self._mask]
        stamp = self._stamp if number < FAR else self._new_stamp
        return ObjectBody(window, stamp(number)[window.own])

    def expected(self, number: int) -> tuple[int | None, ExpectedBody | None]:
        """Size and contents of an object; of others' what their key file says, `None` where it says nothing."""
        if self._listed is not None:
            listed = self._listed[number]
            return listed.size_bytes, None if listed.crc32 is None else Crc32Body(listed.crc32)
        body = self.body(number)
        return body.size_bytes, body

    @property
    def listed(self) -> int | None:
        """How many objects the key file names; `None` where objects are ours."""
        return None if self._listed is None else len(self._listed)

    def _window(self, slot: int, start: int, end: int) -> ContentWindow:
        assert 0 <= start <= end, (start, end)
        part = functools.partial(self._part, slot)
        return ContentWindow(self._pool, self._pool.offset(slot), self._slots[slot], start, end, part)

    def _prepare(self, *, signs_payload: bool, checksum: bool) -> None:
        """Calculate all that is needed of whole objects, smallest first, within bounds."""
        prepared_bytes = 0
        for window in sorted(self._whole, key=lambda window: window.size_bytes):
            prepared_bytes += window.size_bytes
            if prepared_bytes > _PREPARED_BYTES_MAX:
                break
            window.prepare(signs_payload=signs_payload, checksum=checksum)


def _sizes_of_slots(sizes: Sizes) -> Sequence[int]:
    """The size of each slot; a power of two of them, at most `SLOTS`."""
    if len(sizes.slots) != 1:
        assert len(sizes.slots) == SLOTS, len(sizes.slots)
        return sizes.slots
    count = min(max(_FIXED_BYTES // max(sizes.slots[0], 1), _FIXED_SLOTS_MIN), _FIXED_SLOTS_MAX)
    return sizes.slots * (1 << count.bit_length() - 1)
