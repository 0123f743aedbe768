"""Stores small objects whose requests say nothing but a type and a checksum: a shorter way to the same version.

Only what succeeds is done here. Where anything else is asked for, or a checksum is wrong, `PlainWrites.put` gives
`None` and has done nothing: `receiving` and `writing` then do what is asked, or make the error.
"""

import functools
import hashlib

from s3bench.s3.emulator.describing import base64_of, describe
from s3bench.s3.emulator.members import TRANSPORT
from s3bench.s3.emulator.operation import only_signed
from s3bench.s3.emulator.receiving import CHECKSUM_ALGORITHMS, DEFAULT_ALGORITHM, SMALL_BYTES, Intentions
from s3bench.s3.emulator.store import NULL_VERSION, Bucket, Checksum, Version, Versioning
from s3bench.s3.emulator.writing import WriteOperations, put_headers
from s3bench.s3.protocol.checksums import PAYLOAD_HASH_PARAMETER, digest_of
from s3bench.s3.protocol.exchange import Reply
from s3bench.s3.protocol.http import RequestHead, render_head
from s3bench.s3.protocol.s3_error import REQUEST_ID

_SHA256_HEX_DIGITS = 64
_ALGORITHM = "x-amz-sdk-checksum-algorithm"
_CHECKSUM_FIELDS = {f"x-amz-checksum-{algorithm}": algorithm for algorithm in CHECKSUM_ALGORITHMS}
_PLAIN = TRANSPORT - {"expect", "transfer-encoding", "x-amz-decoded-content-length", "x-amz-trailer"} | {
    "content-type", _ALGORITHM,
}  # fmt: skip
_ETAG, _VALUE = "\1", "\2"  # what stands for both in a head that is rendered once


class CollectedBody:
    """The body of a plain write, kept until it is whole; an `exchange.Sink`."""

    __slots__ = ("data",)

    chunk_check = None

    def __init__(self) -> None:
        self.data = b""

    def update(self, piece: memoryview, /) -> None:
        """Keep the next bytes."""
        self.data += piece


def is_plain_write(head: RequestHead) -> bool:
    """Whether a request may be a plain write, as far as its head shows."""
    return (
        head.method == "PUT"
        and head.length <= SMALL_BYTES
        and _checksum_field(tuple(head.fields)) is not None
        and not head.garbled
        and not head.fields.get("x-amz-content-sha256", "").startswith("STREAMING-")
        and (not head.query or (only_signed(head.query) and PAYLOAD_HASH_PARAMETER not in head.query))
    )


@functools.lru_cache(maxsize=256)
def _checksum_field(fields: tuple[str, ...]) -> str | None:
    """Give the field that brings the checksum, empty without one; `None` where the fields of a request ask for more."""
    more = set(fields) - _PLAIN
    if not more:
        return ""
    field = more.pop()
    return field if field in _CHECKSUM_FIELDS and not more else None


@functools.lru_cache(maxsize=len(CHECKSUM_ALGORITHMS))
def _reply_head(algorithm: str) -> str:
    """Give the head of every reply to a plain write, without its Date and with `_ETAG` and `_VALUE` in it."""
    headers = put_headers(_ETAG, Checksum(algorithm=algorithm, value=_VALUE), None)
    return render_head(200, (("x-amz-request-id", REQUEST_ID), *headers, ("Content-Length", "0"))).decode("latin-1")


class PlainWrites:
    """Stores what came as `CollectedBody`."""

    def __init__(self, intentions: Intentions, writes: WriteOperations) -> None:
        self._intentions = intentions
        self._writes = writes

    def put(
        self, head: RequestHead, bucket: Bucket, key: str, data: bytes, *, now_s: float, date_line: bytes
    ) -> Reply | None:
        """Store `data` as the only version of `key`, if that is all that there is to do. Raises `S3Error`."""
        if bucket.versioning is not Versioning.NEVER or bucket.encryption is not None or bucket.is_locking:
            return None
        fields = head.fields
        field = _checksum_field(tuple(fields))
        algorithm = _CHECKSUM_FIELDS[field] if field else DEFAULT_ALGORITHM
        if _ALGORITHM in fields and (not field or fields[_ALGORITHM].lower() != algorithm):
            return None
        digest = digest_of(algorithm, (data,))
        value = base64_of(digest)
        checksums = {}
        if field:
            if fields[field] != value:
                return None
            checksums[algorithm] = True
        payload_hash = fields.get("x-amz-content-sha256", "")
        if len(payload_hash) == _SHA256_HEX_DIGITS:
            if hashlib.sha256(data).hexdigest() != payload_hash:
                return None
            checksums["content-sha256"] = True
        etag = hashlib.md5(data, usedforsecurity=False).hexdigest()
        description = describe(fields, bucket)
        bucket.put(
            Version(
                key=key,
                version_id=NULL_VERSION,
                modified_s=now_s,
                hold=self._writes.hold(key, description),
                content=self._intentions.small_content(data, digest),
                etag=etag,
                checksum=Checksum(algorithm=algorithm, value=value),
                description=description,
            )
        )
        rendered = _reply_head(algorithm).replace(_ETAG, etag).replace(_VALUE, value).encode("latin-1")
        return Reply(200, rendered + date_line + b"\r\n", checksums=checksums)
