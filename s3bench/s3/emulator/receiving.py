"""Receives request bodies: hashes them while they arrive, and keeps them where their kind belongs.

S3 computes CRC64NVME of every
object whose request brings no other checksum
(https://docs.aws.amazon.com/AmazonS3/latest/userguide/checking-object-integrity-upload.html). Its ETag is the MD5 of
the body for plain objects, and no MD5 for encrypted ones; MD5 runs at half a gigabyte a second, a hundredth of what the
CRCs do, so of large bodies it is only computed where the request or the settings ask for it. The other ETags have the
form of a multipart ETag, which no client takes for an MD5.
"""

import hashlib
from collections.abc import Iterable
from typing import Protocol

from s3bench.s3.emulator.content import Content, Noise, NoiseBlock, Small, Stored, Stretch, Stretches, pieces_of
from s3bench.s3.emulator.encryption import Encryption, hidden_etag
from s3bench.s3.emulator.memory import Extent, Hold, Memory
from s3bench.s3.emulator.operation import RequestedOperation
from s3bench.s3.emulator.store import Description
from s3bench.s3.protocol.checksums import Verifier, declared_checksums, digest_of
from s3bench.s3.protocol.framing import ChunkCheck
from s3bench.s3.protocol.http import RequestHead
from s3bench.s3.protocol.s3_error import S3Error

SMALL_BYTES = 32 * 1024
"""Bodies up to this size are kept as bytes: sending those costs less than a file's range."""

REPLY_KEPT_BYTES_MAX = 8 * 1024
"""The reply to a plain read is kept for contents up to this size, where rendering it costs more than sending it, and
for those that are not kept as bytes."""

MD5_BYTES_MAX = 1024 * 1024
"""Bodies up to this size always have their MD5 as ETag."""

_PART_BYTES = 768  # what is kept about a part beside its bytes, about

_DOCUMENT_BYTES_MAX = 4 * 1024 * 1024  # DeleteObjects and CompleteMultipartUpload stay below 3 MiB

CHECKSUM_ALGORITHMS = ("crc32", "crc32c", "crc64nvme", "sha1", "sha256")
DEFAULT_ALGORITHM = "crc64nvme"


class _Target(Protocol):
    """Where data goes."""

    def write(self, piece: memoryview) -> None:
        """Take the next bytes."""

    def content(self, digest: bytes) -> Content:
        """Give what was written; `digest` is some checksum of it."""


class _SmallTarget:
    __slots__ = ("_data", "_hold")

    def __init__(self, memory: Memory, size_bytes: int) -> None:
        self._hold = hold_small(memory, size_bytes)
        self._data = bytearray()

    def write(self, piece: memoryview) -> None:
        self._data += piece

    def content(self, digest: bytes) -> Content:
        del digest
        return Small(bytes(self._data), self._hold)


class _ExtentTarget:
    __slots__ = ("_at", "_extent")

    def __init__(self, extent: Extent) -> None:
        self._extent = extent
        self._at = 0

    def write(self, piece: memoryview) -> None:
        self._extent.write(piece, self._at)
        self._at += len(piece)

    def content(self, digest: bytes) -> Content:
        del digest
        return Stretches((Stored(self._extent, self._at),) if self._at else ())


class _NoTarget:
    __slots__ = ("_noise", "_size_bytes")

    def __init__(self, noise: NoiseBlock) -> None:
        self._noise = noise
        self._size_bytes = 0

    def write(self, piece: memoryview) -> None:
        self._size_bytes += len(piece)

    def content(self, digest: bytes) -> Content:
        return _noise_content(self._noise, self._size_bytes, digest)


class Intentions:
    """How object data is received: into which memory, or thrown away, and with which ETag."""

    def __init__(self, memory: Memory, *, noise: NoiseBlock | None, md5_always: bool) -> None:
        self.memory = memory
        self.noise = noise
        self._md5_always = md5_always

    @property
    def faithful(self) -> bool:
        """Whether reads give the bytes that were written, so that their checksums may be reported."""
        return self.noise is None

    def receive(
        self,
        head: RequestHead,
        asked: RequestedOperation,
        size_bytes: int,
        *,
        algorithm: str | None,
        description: Description,
        in_parts: bool,
        chunk_check: ChunkCheck | None,
    ) -> "Receiver":
        """Make ready for `size_bytes` of object data, `in_parts` when they will be part of a larger object.

        `description` is that of the object; if it is encrypted with a key, its ETag is no MD5, and none is computed.

        `algorithm` is the checksum that the object is to have, `None` when the request may choose; `chunk_check` sees
        the chunks of a signed body. Raises `S3Error` when there is no room.
        """
        declared = declared_checksums(head)
        if algorithm is None:
            algorithm = DEFAULT_ALGORITHM
            for checksum in declared:
                if checksum.name in CHECKSUM_ALGORITHMS:
                    algorithm = checksum.name
                    break
        with_md5 = "content-md5" in head.fields
        if description.encryption is None:
            with_md5 = with_md5 or self._md5_always or size_bytes <= MD5_BYTES_MAX
        verifier = Verifier(declared, (algorithm, "md5") if with_md5 else (algorithm,))
        target = self._target(size_bytes, in_parts=in_parts)
        return Receiver(
            asked,
            verifier,
            target,
            size_bytes,
            algorithm,
            description=description,
            with_md5=with_md5,
            chunk_check=chunk_check,
        )

    def written(self, pieces: Iterable[memoryview], size_bytes: int) -> tuple[Stored, ...]:
        """Write `pieces` of `size_bytes` in all into memory."""
        extent, at = self.memory.extent(size_bytes), 0
        for piece in pieces:
            extent.write(piece, at)
            at += len(piece)
        return (Stored(extent, size_bytes),)

    def small_content(self, data: bytes, digest: bytes) -> Content:
        """Give a small body as content; `digest` is some checksum of it. Raises `S3Error` when there is no room."""
        if self.noise is not None:
            return _noise_content(self.noise, len(data), digest)
        return Small(data, hold_small(self.memory, len(data)))

    def copied(self, content: Content) -> Content:
        """Give the same bytes in memory."""
        size_bytes = content.size_bytes
        if size_bytes <= SMALL_BYTES:
            hold = hold_small(self.memory, size_bytes)
            return Small(b"".join(pieces_of(content, 0, size_bytes)), hold)
        return Stretches(self.written(pieces_of(content, 0, size_bytes), size_bytes))

    def stretches_of(self, content: Content) -> tuple[Stretch, ...]:
        """Give all of `content` as stretches: shared where it lies in memory, else written there."""
        if isinstance(content, Stretches):
            return content.cut(0, content.size_bytes)
        return self.written(pieces_of(content, 0, content.size_bytes), content.size_bytes) if content.size_bytes else ()

    def hold_part(self) -> Hold:
        """Charge what is kept about a part beside its bytes. Raises `S3Error` beyond the memory limit."""
        return self.memory.hold(_PART_BYTES)

    def etag_of(self, content: Content, algorithm: str, digest: bytes, encryption: Encryption | None = None) -> str:
        """Give the ETag of a content whose checksum is known, as if it had been put in one piece.

        The MD5 of discarded bytes is made up of their checksum.
        """
        if encryption is not None:
            return hidden_etag(encryption, algorithm.encode() + digest)
        if self._md5_always or content.size_bytes <= MD5_BYTES_MAX:
            pieces = pieces_of(content, 0, content.size_bytes) if self.faithful else (algorithm.encode() + digest,)
            return digest_of("md5", pieces).hex()
        return opaque_etag(algorithm.encode() + digest)

    def _target(self, size_bytes: int, *, in_parts: bool) -> _Target:
        if self.noise is not None:
            return _NoTarget(self.noise)
        if size_bytes <= SMALL_BYTES and not in_parts:
            return _SmallTarget(self.memory, size_bytes)
        return _ExtentTarget(self.memory.extent(size_bytes))


class Receiver:
    """Takes the data of one object or part; an `exchange.Sink`."""

    __slots__ = (
        "_missing_bytes",
        "_target",
        "_verifier",
        "_with_md5",
        "algorithm",
        "asked",
        "chunk_check",
        "description",
    )

    def __init__(
        self,
        asked: RequestedOperation,
        verifier: Verifier,
        target: _Target,
        size_bytes: int,
        algorithm: str,
        *,
        description: Description,
        with_md5: bool,
        chunk_check: ChunkCheck | None,
    ) -> None:
        self.asked = asked
        self.description = description
        self._verifier = verifier
        self._target = target
        self._missing_bytes = size_bytes
        self._with_md5 = with_md5
        self.algorithm = algorithm
        self.chunk_check = chunk_check

    def update(self, piece: memoryview, /) -> None:
        """Hash and keep the next bytes; there is no room for more than were announced."""
        self._verifier.update(piece)
        self._missing_bytes -= len(piece)
        if self._missing_bytes >= 0:
            self._target.write(piece)

    def end(self) -> None:
        """Take what came for all of the data, where there was room for more."""
        self._missing_bytes = min(self._missing_bytes, 0)

    def outcome(self, trailers: dict[str, str]) -> tuple[dict[str, bool], S3Error | None]:
        """Which declared checksums were right, and the error if one was not."""
        if self._missing_bytes:
            message = (
                "You did not provide the number of bytes specified by the x-amz-decoded-content-length HTTP header."
            )
            return {}, S3Error(status=400, code="IncompleteBody", message=message)
        return judged(self._verifier, trailers)

    def content(self) -> Content:
        """Give the data as content."""
        return self._target.content(self.digest())

    def digest(self, algorithm: str = "") -> bytes:
        """Give the checksum that the object has, or the one by an `algorithm` that the request declared."""
        return self._verifier.digest(algorithm or self.algorithm)

    def etag(self) -> str:
        """Give the ETag, without quotes."""
        encryption = self.description.encryption
        if encryption is not None:
            return hidden_etag(encryption, self.algorithm.encode() + self.digest())
        if self._with_md5:
            return self._verifier.digest("md5").hex()
        return opaque_etag(self.algorithm.encode() + self.digest())


class XmlDocument:
    """Takes an XML document of a request, within a bound; an `exchange.Sink`. Raises `S3Error` beyond the reserve."""

    __slots__ = ("_data", "_hold", "_verifier", "asked")

    chunk_check = None

    def __init__(self, head: RequestHead, asked: RequestedOperation, memory: Memory) -> None:
        self.asked = asked
        if head.has_body:
            size_bytes = _DOCUMENT_BYTES_MAX if head.chunked else min(head.length, _DOCUMENT_BYTES_MAX)
            self._hold = memory.hold(size_bytes, reserve=True)
        self._verifier = Verifier(declared_checksums(head))
        self._data = bytearray()

    def update(self, piece: memoryview, /) -> None:
        """Keep the next bytes, as far as the bound goes."""
        self._verifier.update(piece)
        if len(self._data) <= _DOCUMENT_BYTES_MAX:
            self._data += piece

    def outcome(self, trailers: dict[str, str]) -> tuple[dict[str, bool], S3Error | None]:
        """Which declared checksums were right, and the error if one was not."""
        if len(self._data) > _DOCUMENT_BYTES_MAX:
            return {}, too_big()
        return judged(self._verifier, trailers)

    @property
    def data(self) -> bytes:
        """The document."""
        return bytes(self._data)


def too_big() -> S3Error:
    """The error for a document that is too large."""
    return S3Error(status=400, code="MaxMessageLengthExceeded", message="Your request was too big.")


def _noise_content(noise: NoiseBlock, size_bytes: int, digest: bytes) -> Content:
    """Give what stands for discarded bytes with a checksum of `digest`."""
    if not size_bytes:
        return Stretches(())
    return Stretches((Noise(noise, size_bytes, int.from_bytes(digest[:8], "big")),))


def hold_small(memory: Memory, size_bytes: int) -> Hold:
    """Charge content that is kept as bytes: twice where the reply to a plain read is kept as well."""
    return memory.hold(size_bytes * 2 if size_bytes <= REPLY_KEPT_BYTES_MAX else size_bytes)


def judged(verifier: Verifier, trailers: dict[str, str]) -> tuple[dict[str, bool], S3Error | None]:
    """Which declared checksums were right, and the error for the first that was not."""
    results, wrong = verifier.outcome(trailers)
    if not wrong:
        return results, None
    absent = verifier.absent(trailers)
    if absent is not None:
        message = f"The request contained trailing data that was not well-formed: {absent} did not come."
        return results, S3Error(status=400, code="MalformedTrailerError", message=message)
    name = next(name for name, right in results.items() if not right)
    if name == "content-sha256":
        message = f"The provided 'x-amz-content-sha256' header does not match what was computed: {wrong}."
        return results, S3Error(status=400, code="XAmzContentSHA256Mismatch", message=message)
    if name == "md5":
        message = f"The Content-MD5 you specified did not match what we received: {wrong}."
    else:
        message = f"The {name.upper()} you specified did not match the calculated checksum: {wrong}."
    return results, S3Error(status=400, code="BadDigest", message=message)


def opaque_etag(seed: bytes) -> str:
    """Make an ETag that is the same for the same `seed` and that no client takes for an MD5 of the body."""
    return f"{hashlib.md5(seed, usedforsecurity=False).hexdigest()}-1"
