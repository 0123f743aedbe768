"""Checksums that a request declares for its body, and whether the body matches them.

Owns the algorithms (Content-MD5, x-amz-content-sha256 and the five of `x-amz-checksum-*`, as header or trailer,
https://docs.aws.amazon.com/AmazonS3/latest/userguide/checking-object-integrity-upload.html) and which of them a
request claims. Pure; the pieces arrive from `framing`.
"""

import binascii
import functools
import hashlib
import importlib
import zlib
from collections.abc import Callable, Iterable
from typing import Protocol

from s3bench.s3.protocol.http import RequestHead

_HEADER = "x-amz-checksum-"
_NO_CHECKSUMS = frozenset({"algorithm", "mode", "type"})  # x-amz-checksum-mode and the like declare no value
_SHA256_HEX_DIGITS = 64


class Hasher(Protocol):
    """One running checksum."""

    def update(self, data: memoryview, /) -> None:
        """Add the next piece of the body."""

    def digest(self) -> bytes:
        """Give the checksum of all pieces, big-endian as S3 encodes it."""


class _Crc:
    __slots__ = ("_function", "_size_bytes", "_value")

    def __init__(self, function: Callable[[memoryview, int], int], size_bytes: int) -> None:
        self._function = function
        self._size_bytes = size_bytes
        self._value = 0

    def update(self, data: memoryview, /) -> None:
        self._value = self._function(data, self._value)

    def digest(self) -> bytes:
        return self._value.to_bytes(self._size_bytes, "big")


@functools.cache
def _from_awscrt(name: str) -> Callable[..., int]:
    """Give awscrt's function `name`; imported on first use, since most scripts never verify."""
    function: Callable[..., int] = getattr(importlib.import_module("awscrt.checksums"), name)
    return function


@functools.cache
def _crc32() -> Callable[[memoryview, int], int]:
    """Give CRC-32: ISA-L's, fifteen times faster than zlib's, where the machine has it."""
    try:
        function: Callable[[memoryview, int], int] = importlib.import_module("isal.isal_zlib").crc32
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


def digest_of(algorithm: str, pieces: Iterable[memoryview]) -> bytes:
    """Give the checksum of `pieces` by one of the algorithms, big-endian as S3 encodes it."""
    hasher = _ALGORITHMS[algorithm]()
    for piece in pieces:
        hasher.update(piece)
    return hasher.digest()


def combined(algorithm: str, digests: Iterable[tuple[bytes, int]]) -> bytes:
    """Give the CRC of a whole from the CRCs of its parts, each with the part's size in bytes, in order.

    Only CRCs can be combined (the sizes suffice since a CRC is linear, as zlib's crc32_combine shows); the others S3
    has only of parts.
    """
    combine = _from_awscrt(f"combine_{algorithm}")
    whole = 0
    for digest, size_bytes in digests:
        whole = combine(whole, int.from_bytes(digest, "big"), size_bytes)
    return whole.to_bytes(CRC_BYTES[algorithm], "big")


class _Claim:
    """One checksum that the request declares: where, by which algorithm, and its value unless a trailer brings it."""

    __slots__ = ("algorithm", "field", "name", "value")

    def __init__(self, name: str, algorithm: str, field: str, value: str | None) -> None:
        self.name = name
        self.algorithm = algorithm
        self.field = field
        self.value = value


class Verifier:
    """Hashes one body by every algorithm that its request names, and those asked for `also`; compares at the end."""

    __slots__ = ("_claims", "_hashers")

    chunk_check = None  # the stub knows no secret

    def __init__(self, claims: tuple[_Claim, ...], also: Iterable[str] = ()) -> None:
        self._claims = claims
        self._hashers = {claim.algorithm: _ALGORITHMS[claim.algorithm]() for claim in claims}
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

    @property
    def declared(self) -> tuple[str, ...]:
        """The names of the checksums that the request declares, as in `wirelog.WireRequest.checksums`."""
        return tuple(claim.name for claim in self._claims)

    def absent(self, trailers: dict[str, str]) -> str | None:
        """Give the first announced trailer that did not come."""
        return next(
            (claim.field for claim in self._claims if claim.value is None and claim.field not in trailers), None
        )

    def outcome(self, trailers: dict[str, str]) -> tuple[dict[str, bool], str]:
        """Whether each checksum was right, and what was wrong in words (empty when all were right)."""
        results: dict[str, bool] = {}
        wrong = []
        for claim in self._claims:
            value = trailers.get(claim.field) if claim.value is None else claim.value
            digest = self._hashers[claim.algorithm].digest()
            right = value is not None and _decode(claim, value) == digest
            results[claim.name] = right and results.get(claim.name, True)
            if value is None:
                wrong.append(f"the announced trailer {claim.field} did not come")
            elif not right:
                wrong.append(f"{claim.field} is {value[:100]!r} but the body's is {_encode(claim, digest)!r}")
        return results, "; ".join(wrong)


def verifier_for(head: RequestHead) -> Verifier | None:
    """Make what verifies the body of `head`, or give `None` when the request declares no checksum of it."""
    claims = _claims(head)
    return Verifier(tuple(claims)) if claims else None


def hashing_verifier(head: RequestHead, also: Iterable[str], *, default: str | None = None) -> Verifier:
    """Make what verifies the body of `head` and hashes it by the algorithms in `also` besides.

    A body without a checksum of the `x-amz-checksum-` kind is hashed by `default`.
    """
    claims = tuple(_claims(head))
    if default is not None and all(claim.algorithm != claim.name or claim.name == "md5" for claim in claims):
        also = (*also, default)
    return Verifier(claims, also)


def _claims(head: RequestHead) -> list[_Claim]:
    fields = head.fields
    claims = []
    if "content-md5" in fields:
        claims.append(_Claim("md5", "md5", "content-md5", fields["content-md5"]))
    payload_hash = fields.get("x-amz-content-sha256", "")
    if len(payload_hash) == _SHA256_HEX_DIGITS:  # else UNSIGNED-PAYLOAD or STREAMING-...: no hash of the body
        claims.append(_Claim("content-sha256", "sha256", "x-amz-content-sha256", payload_hash))
    if head.method == "POST" and "uploadId=" in head.query:
        return claims  # CompleteMultipartUpload carries the checksum of the object there, not of its own body
    for field, value in fields.items():
        name = field.removeprefix(_HEADER)
        if name != field and name not in _NO_CHECKSUMS and name in _ALGORITHMS:
            claims.append(_Claim(name, name, field, value))
    for announced in fields.get("x-amz-trailer", "").lower().split(","):
        field = announced.strip()
        name = field.removeprefix(_HEADER)
        if name != field and name in _ALGORITHMS:
            claims.append(_Claim(name, name, field, None))
    return claims


def _decode(claim: _Claim, value: str) -> bytes | None:
    try:
        if claim.name == "content-sha256":
            return bytes.fromhex(value)
        return binascii.a2b_base64(value, strict_mode=True)
    except ValueError:  # binascii.Error is one
        return None


def _encode(claim: _Claim, digest: bytes) -> str:
    if claim.name == "content-sha256":
        return digest.hex()
    return binascii.b2a_base64(digest, newline=False).decode()
