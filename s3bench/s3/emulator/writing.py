"""Writes new versions of objects: PutObject, and what all writes share."""

from dataclasses import replace

from s3bench.s3.emulator.appending import (
    OBJECT_SIZE,
    appended_checksum,
    appended_content,
    appended_parts,
    check_append,
    write_offset,
)
from s3bench.s3.emulator.call import Call
from s3bench.s3.emulator.conditions import check_write
from s3bench.s3.emulator.content import Content
from s3bench.s3.emulator.describing import base64_of, checksum_headers
from s3bench.s3.emulator.encryption import Encryption, written_headers
from s3bench.s3.emulator.lookup import current_state, find_bucket, version_headers
from s3bench.s3.emulator.memory import Hold, text_memory
from s3bench.s3.emulator.object_lock import Lock, check_future
from s3bench.s3.emulator.receiving import Intentions
from s3bench.s3.emulator.store import NULL_VERSION, Bucket, Checksum, Description, ObjectStore, StoredPart, Version
from s3bench.s3.protocol.exchange import Reply
from s3bench.s3.protocol.s3_error import S3Error

_VERSION_BYTES = 832
"""What is kept about a version or an upload beside its bytes and what its client says about it, about."""

_REPLY_BYTES = 704  # of a kept reply, beside its body and what it shows of the description, about
_ENCRYPTION_BYTES = 640  # of a description, its headers in a kept reply included, about


class WriteOperations:
    """What can be written as an object."""

    def __init__(self, store: ObjectStore, intentions: Intentions) -> None:
        self._store = store
        self._intentions = intentions

    def put(self, call: Call) -> Reply:
        """Store an object, or append to one."""
        offset_bytes = write_offset(call.fields)
        if offset_bytes is not None:
            return self._append(call, offset_bytes)
        bucket, version = self.store_received(call)
        assert version.checksum is not None
        headers = put_headers(version.etag, version.checksum, version.description.encryption)
        return call.reply(200, headers + made_version_headers(bucket, version))

    def store_received(self, call: Call) -> tuple[Bucket, Version]:
        """Store the object data that came; gives its bucket and the new version."""
        bucket = find_bucket(self._store, call.bucket)
        received = call.received
        check_write(call.fields, call.key, current_state(bucket, call.key))
        checksum = Checksum(algorithm=received.algorithm, value=base64_of(received.digest()))
        description = received.description
        if bucket.is_locking:
            check_future(description.lock, call.now_s)
            _check_has_checksum(call, bucket, description)
        version = self.keep(
            bucket,
            call,
            description=description,
            content=received.content(),
            etag=received.etag(),
            checksum=checksum,
        )
        return bucket, version

    def _append(self, call: Call, offset_bytes: int) -> Reply:
        """Write behind the bytes of the current object, or make one."""
        bucket = find_bucket(self._store, call.bucket)
        check_write(call.fields, call.key, current_state(bucket, call.key))
        received, current = call.received, bucket.current(call.key)
        check_append(current, offset_bytes, received)
        content, description = received.content(), received.description
        parts: tuple[StoredPart, ...] = ()
        checksum = Checksum(algorithm=received.algorithm, value=base64_of(received.digest()))
        if current is not None:
            parts = appended_parts(current, received, content, self._intentions, call.now_s)
            checksum = appended_checksum(current, received.digest(), content.size_bytes)
            content, description = appended_content(current, content, self._intentions), current.description
        version = self.keep(
            bucket,
            call,
            description=description,
            content=content,
            etag=received.etag(),
            checksum=checksum,
            parts=parts,
        )
        headers = put_headers(version.etag, checksum, description.encryption)
        return call.reply(200, [*headers, (OBJECT_SIZE, str(version.size_bytes))])

    def keep(
        self,
        bucket: Bucket,
        call: Call,
        *,
        description: Description,
        content: Content,
        etag: str,
        checksum: Checksum | None,
        parts: tuple[StoredPart, ...] = (),
        upload_id: str = "",
    ) -> Version:
        """Make a new current version of the key that `call` names."""
        version = Version(
            key=call.key,
            version_id=bucket.next_version_id(call.key),
            modified_s=call.now_s,
            hold=self.hold(call.key, description),
            content=content,
            etag=bucket.etag_of_new(call.key, etag),
            checksum=checksum,
            description=description,
            parts=parts,
            upload_id=upload_id,
        )
        if bucket.is_locking:
            version.lock = _lock_of_new(bucket, description, call.now_s)
        bucket.put(version)
        self._store.note_encryption(call.fields, description)
        return version

    def hold(self, key: str, description: Description, *, readable: bool = True, reserve: bool = False) -> Hold:
        """Charge what is kept about a version or an upload of `key`, with the reply to reads where it is `readable`.

        Raises `S3Error` beyond the memory limit.
        """
        size_bytes = _VERSION_BYTES + text_memory(key) + description.memory_bytes
        if readable:
            size_bytes += _REPLY_BYTES + description.shown_bytes
        if description.encryption is not None:
            size_bytes += _ENCRYPTION_BYTES + len(description.encryption.context)
        return self._intentions.memory.hold(size_bytes, reserve=reserve)


def put_headers(etag: str, checksum: Checksum, encryption: Encryption | None) -> list[tuple[str, str]]:
    """Give the headers of the response to PutObject, but for that of the version."""
    return [("ETag", f'"{etag}"'), *written_headers(encryption), *checksum_headers(checksum)]


def _check_has_checksum(call: Call, bucket: Bucket, description: Description) -> None:
    """Reject an object with a lock whose data came without a checksum. Raises `S3Error`.

    https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutObject.html
    """
    locked = description.lock is not None or bucket.default_retention is not None
    if locked and not set(call.checksums or ()) - {"content-sha256"}:  # the payload's hash is part of the signature
        message = (
            "Content-MD5 OR x-amz-checksum- HTTP header is required for Put Object requests with Object Lock parameters"
        )
        raise S3Error(status=400, code="InvalidRequest", message=message)


def _lock_of_new(bucket: Bucket, description: Description, now_s: float) -> Lock | None:
    """Give the lock of a new version: what its write asked for, else the default retention of its bucket."""
    lock, default = description.lock, bucket.default_retention
    if default is None or (lock is not None and lock.retention is not None):
        return lock
    return replace(lock or Lock(), retention=default.from_now(now_s))


def made_version_headers(bucket: Bucket, version: Version) -> list[tuple[str, str]]:
    """Return the header of the version just made: none for a null version, unlike the response to a copy."""
    return [] if version.version_id == NULL_VERSION else version_headers(bucket, version)
