"""Appends to objects of directory buckets: PutObject with an offset.

https://docs.aws.amazon.com/AmazonS3/latest/userguide/directory-buckets-objects-append.html. Each append is one more
part of the object; the bytes that were there before are shared with the former version.
"""

import base64
from collections.abc import Mapping

from s3bench.s3.emulator.content import Content, Small, Stretches, pieces_of
from s3bench.s3.emulator.describing import base64_of
from s3bench.s3.emulator.directory_bucket import WRITE_OFFSET
from s3bench.s3.emulator.receiving import SMALL_BYTES, Intentions, Receiver, hold_small
from s3bench.s3.emulator.store import PARTS_MAX, Checksum, StoredPart, Version
from s3bench.s3.protocol.checksums import CRC_BYTES, combined
from s3bench.s3.protocol.decimals import parse_decimal
from s3bench.s3.protocol.s3_error import S3Error

OBJECT_SIZE = "x-amz-object-size"


def write_offset(fields: Mapping[str, str]) -> int | None:
    """Give the offset in bytes that a write asks for; `None` where it replaces the object. Raises `S3Error`."""
    text = fields.get(WRITE_OFFSET)
    if text is None:
        return None
    offset = parse_decimal(text)
    if offset is None:
        details = (("ArgumentName", WRITE_OFFSET), ("ArgumentValue", text))
        raise S3Error(status=400, code="InvalidArgument", message="The write offset is not a number", details=details)
    return offset


def check_append(current: Version | None, offset_bytes: int, received: Receiver) -> None:
    """Reject an append that does not fit to the current object, if there is one. Raises `S3Error`."""
    if offset_bytes != (0 if current is None else current.size_bytes):
        message = "The write offset value that you specified does not match the current object size."
        raise S3Error(status=400, code="InvalidWriteOffset", message=message)
    if current is None:
        return
    if len(current.parts) >= PARTS_MAX:
        message = f"You have attempted to add more parts than the maximum of {PARTS_MAX} that are allowed."
        raise S3Error(status=400, code="TooManyParts", message=message)
    if current.description.encryption != received.description.encryption:
        message = "The existing object was created with a different encryption type."
        raise S3Error(status=400, code="EncryptionTypeMismatch", message=message)
    checksum = current.checksum
    if checksum is None or checksum.composite or checksum.algorithm not in CRC_BYTES:
        message = "Data can be appended only to objects with a full-object CRC checksum."
        raise S3Error(status=400, code="InvalidRequest", message=message)
    if checksum.algorithm != received.algorithm:
        message = f"The checksum algorithm of an append must be that of the object, {checksum.algorithm.upper()}."
        raise S3Error(status=400, code="InvalidRequest", message=message)


def appended_content(current: Version, received: Content, intentions: Intentions) -> Content:
    """Give the bytes of `current` with those received behind them. Raises `S3Error` where there is no room."""
    before = current.content
    assert before is not None
    size_bytes = before.size_bytes + received.size_bytes
    if intentions.faithful and size_bytes <= SMALL_BYTES:
        hold = hold_small(intentions.memory, size_bytes)
        pieces = [*pieces_of(before, 0, before.size_bytes), *pieces_of(received, 0, received.size_bytes)]
        return Small(b"".join(pieces), hold)
    return Stretches([stretch for content in (before, received) for stretch in intentions.stretches_of(content)])


def appended_checksum(current: Version, digest: bytes, size_bytes: int) -> Checksum:
    """Give the checksum of the whole after `size_bytes` with the checksum `digest` were appended."""
    before = current.checksum
    assert before is not None
    pieces = ((base64.b64decode(before.value), current.size_bytes), (digest, size_bytes))
    return Checksum(algorithm=before.algorithm, value=base64_of(combined(before.algorithm, pieces)))


def appended_parts(
    current: Version, received: Receiver, content: Content, intentions: Intentions, now_s: float
) -> tuple[StoredPart, ...]:
    """Give the parts of `current`, which may be in one piece, and what was `received` at `now_s` as the last one.

    Raises `S3Error` where there is no room for them.
    """
    parts = current.parts or (_whole_as_part(current, intentions),)
    last = StoredPart(
        number=len(parts) + 1,
        content=content,
        etag=received.etag(),
        digest=received.digest(),
        checksum=Checksum(algorithm=received.algorithm, value=base64_of(received.digest())),
        modified_s=now_s,
        hold=intentions.hold_part(),
    )
    return (*parts, last)


def _whole_as_part(current: Version, intentions: Intentions) -> StoredPart:
    """Give `current`, which is in one piece, as the first part. Raises `S3Error` where there is no room for it."""
    assert current.content is not None
    assert current.checksum is not None
    return StoredPart(
        number=1,
        content=current.content,
        etag=current.etag,
        digest=base64.b64decode(current.checksum.value),
        checksum=current.checksum,
        modified_s=current.modified_s,
        hold=intentions.hold_part(),
    )
