"""Checks the body of a request against the checksums that the request declares.

These are Content-MD5, x-amz-content-sha256 and the five of `x-amz-checksum-*`, as header or trailer
(https://docs.aws.amazon.com/AmazonS3/latest/userguide/checking-object-integrity-upload.html). Pure; the pieces arrive
from `framing`.
"""

import binascii
import functools
import hashlib
import importlib
import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol
from urllib.parse import unquote

import msgspec

from s3bench.s3.protocol.http import RequestHead

PAYLOAD_HASH_PARAMETER = "X-Amz-Content-Sha256="
"""How the hash of a body begins in the query of a presigned request."""

_HEADER = "x-amz-checksum-"
_PAYLOAD_HASH = "x-amz-content-sha256"
_SHA256_HEX_DIGITS = 64


class Hasher(Protocol):
    """One running checksum."""

    def update(self, data: bytes | memoryview, /) -> None:
        """Add the next piece of the body."""

    def digest(self) -> bytes:
        """Give the checksum of all pieces, big-endian as S3 encodes it."""


class _Crc:
    __slots__ = ("_function", "_size_bytes", "_value")

    def __init__(self, function: Callable[[bytes | memoryview, int], int], size_bytes: int) -> None:
        self._function = function
        self._size_bytes = size_bytes
        self._value = 0

    def update(self, data: bytes | memoryview, /) -> None:
        self._value = self._function(data, self._value)

    def digest(self) -> bytes:
        return self._value.to_bytes(self._size_bytes, "big")


@functools.cache
def _from_awscrt(name: str) -> Callable[..., int]:
    """Give awscrt's function `name`; imported on first use, since most scripts never verify."""
    function: Callable[..., int] = getattr(importlib.import_module("awscrt.checksums"), name)
    return function


@functools.cache
def _crc32() -> Callable[[bytes | memoryview, int], int]:
    """Give CRC-32: ISA-L's, fifteen times faster than zlib's, where the machine has it."""
    try:
        function: Callable[[bytes | memoryview, int], int] = importlib.import_module("isal.isal_zlib").crc32
    except ImportError:
        return zlib.crc32
    return function


CRC_BYTES = {"crc32": 4, "crc32c": 4, "crc64nvme": 8}
"""The CRCs, with their size: the checksums that a multipart object can have of the whole."""

_ALGORITHMS: dict[str, Callable[[], Hasher]] = {
    "md5": lambda: hashlib.md5(usedforsecurity=False),
    "sha1": lambda: hashlib.sha1(usedforsecurity=False),
    "sha256": hashlib.sha256,
    "crc32": lambda: _Crc(_crc32(), 4),
    "crc32c": lambda: _Crc(_from_awscrt("crc32c"), 4),
    "crc64nvme": lambda: _Crc(_from_awscrt("crc64nvme"), 8),
}


def load_algorithms() -> None:
    """Import what hashing needs, so that no request pays for it."""
    for start in _ALGORITHMS.values():
        start()


def digest_of(algorithm: str, pieces: Iterable[bytes | memoryview]) -> bytes:
    """Give the checksum of `pieces` by one of the algorithms, big-endian as S3 encodes it."""
    hasher = _ALGORITHMS[algorithm]()
    for piece in pieces:
        hasher.update(piece)
    return hasher.digest()


def combined(algorithm: str, digests: Iterable[tuple[bytes, int]]) -> bytes:
    """Give the CRC of a whole from the CRCs of its parts, checksum with the part's size in bytes, in order.

    Only CRCs can be combined (the sizes suffice since a CRC is linear, as zlib's crc32_combine shows); the others S3
    has only of parts.
    """
    combine = _from_awscrt(f"combine_{algorithm}")
    whole = 0
    for digest, size_bytes in digests:
        whole = combine(whole, int.from_bytes(digest, "big"), size_bytes)
    return whole.to_bytes(CRC_BYTES[algorithm], "big")


class DeclaredChecksum(msgspec.Struct, frozen=True, gc=False):
    """One checksum that the request declares: where, by which algorithm, and its value unless a trailer brings it.

    `name` is that in `wirelog.WireRequest.checksums`; it is the algorithm but for `content-sha256`.
    """

    name: str
    algorithm: str
    field: str
    value: str | None


class Verifier:
    """Hashes one body by every algorithm that its request names, and those asked for `also`; compares at the end."""

    __slots__ = ("_declared", "_hashers")

    chunk_check = None  # the stub knows no secret

    def __init__(self, declared: Sequence[DeclaredChecksum], also: Iterable[str] = ()) -> None:
        self._declared = declared
        self._hashers = {checksum.algorithm: _ALGORITHMS[checksum.algorithm]() for checksum in declared}
        for algorithm in also:
            if algorithm not in self._hashers:
                self._hashers[algorithm] = _ALGORITHMS[algorithm]()

    def update(self, piece: memoryview, /) -> None:
        """Add the next payload bytes."""
        for hasher in self._hashers.values():
            hasher.update(piece)

    def digest(self, algorithm: str) -> bytes:
        """Give the body's checksum by an algorithm that was declared or asked for."""
        return self._hashers[algorithm].digest()

    def absent(self, trailers: dict[str, str]) -> str | None:
        """Give the first announced trailer that did not come."""
        return next(
            (
                checksum.field
                for checksum in self._declared
                if checksum.value is None and checksum.field not in trailers
            ),
            None,
        )

    def outcome(self, trailers: dict[str, str]) -> tuple[dict[str, bool], str]:
        """Whether each declared checksum was right, and what was wrong in words (empty when all were right)."""
        results: dict[str, bool] = {}
        wrong = []
        for checksum in self._declared:
            value = trailers.get(checksum.field) if checksum.value is None else checksum.value
            digest = self._hashers[checksum.algorithm].digest()
            right = value is not None and _decode(checksum, value) == digest
            results[checksum.name] = right and results.get(checksum.name, True)
            if value is None:
                wrong.append(f"the announced trailer {checksum.field} did not come")
            elif not right:
                wrong.append(f"{checksum.field} is {value[:100]!r} but the body's is {_encode(checksum, digest)!r}")
        return results, "; ".join(wrong)


def verifier_for(head: RequestHead) -> Verifier | None:
    """Make what verifies the body of `head`, or give `None` when the request declares no checksum of it."""
    declared = declared_checksums(head)
    return Verifier(declared) if declared else None


def declared_checksums(head: RequestHead) -> list[DeclaredChecksum]:
    """Give the checksums of its body that a request declares."""
    fields = head.fields
    declared = []
    for name, algorithm, field in _checksum_fields(tuple(fields)):
        value = fields[field]
        if name != "content-sha256" or len(value) == _SHA256_HEX_DIGITS:  # or UNSIGNED-PAYLOAD, STREAMING-...
            declared.append(DeclaredChecksum(name, algorithm, field, value))
    if PAYLOAD_HASH_PARAMETER in head.query and _PAYLOAD_HASH not in fields:
        value = _parameter(head.query, PAYLOAD_HASH_PARAMETER)
        if len(value) == _SHA256_HEX_DIGITS:
            declared.append(DeclaredChecksum("content-sha256", "sha256", _PAYLOAD_HASH, value))
    if not _cover_body(head):
        return [checksum for checksum in declared if not checksum.field.startswith(_HEADER)]
    if "x-amz-trailer" in fields:
        for announced in fields["x-amz-trailer"].lower().split(","):
            field = announced.strip()
            name = field.removeprefix(_HEADER)
            if name != field and name in _ALGORITHMS:
                declared.append(DeclaredChecksum(name, name, field, None))
    return declared


def _parameter(query: str, beginning: str) -> str:
    """Give the value of the first parameter in a raw query that begins with a name and its `=`; else nothing."""
    pairs = (pair for pair in query.split("&") if pair.startswith(beginning))
    return unquote(next(pairs, "").removeprefix(beginning))


def _cover_body(head: RequestHead) -> bool:
    """Whether x-amz-checksum- headers are of the body.

    CompleteMultipartUpload has the checksum of the object, and reads and deletes mostly have no body.
    """
    if head.method == "POST":
        return "uploadId=" not in head.query
    return head.method == "PUT" or head.has_body


class _ChecksumField(NamedTuple):
    """A header field that brings a checksum; `name` and `algorithm` as in `DeclaredChecksum`."""

    name: str
    algorithm: str
    field: str


@functools.lru_cache(maxsize=256)
def _checksum_fields(fields: tuple[str, ...]) -> tuple[_ChecksumField, ...]:
    """Give those of the header fields of a request that bring checksums; clients send the same fields over and over."""
    found = [
        _ChecksumField(name, algorithm, field)
        for name, algorithm, field in (
            ("md5", "md5", "content-md5"),
            ("content-sha256", "sha256", _PAYLOAD_HASH),
        )
        if field in fields
    ]
    for field in fields:
        name = field.removeprefix(_HEADER)
        if name != field and name in _ALGORITHMS:
            found.append(_ChecksumField(name, name, field))
    return tuple(found)


def _decode(checksum: DeclaredChecksum, value: str) -> bytes | None:
    try:
        if checksum.name == "content-sha256":
            return bytes.fromhex(value)
        return binascii.a2b_base64(value, strict_mode=True)
    except ValueError:  # binascii.Error is one
        return None


def _encode(checksum: DeclaredChecksum, digest: bytes) -> str:
    if checksum.name == "content-sha256":
        return digest.hex()
    return binascii.b2a_base64(digest, newline=False).decode()
