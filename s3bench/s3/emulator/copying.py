"""CopyObject: a new version that shares the bytes of another, and what UploadPartCopy has in common with it."""

import base64
import hashlib
from urllib.parse import unquote_plus, unquote_to_bytes

from s3bench.s3.emulator.call import Call
from s3bench.s3.emulator.conditions import check_read, check_write
from s3bench.s3.emulator.content import pieces_of
from s3bench.s3.emulator.describing import REDIRECT, base64_of, describe, unsupported_algorithm
from s3bench.s3.emulator.documents import document, element, iso_time
from s3bench.s3.emulator.encryption import CUSTOMER_HEADERS, SSE, Encryption, check_key, written_headers
from s3bench.s3.emulator.lookup import current_state, find_bucket, find_source, state_of, version_headers
from s3bench.s3.emulator.object_lock import check_future
from s3bench.s3.emulator.operation import not_implemented
from s3bench.s3.emulator.receiving import CHECKSUM_ALGORITHMS, DEFAULT_ALGORITHM, Intentions
from s3bench.s3.emulator.store import NULL_VERSION, Bucket, Checksum, Description, ObjectStore, Version
from s3bench.s3.emulator.writing import WriteOperations
from s3bench.s3.protocol.checksums import CRC_BYTES, combined, digest_of
from s3bench.s3.protocol.exchange import Reply
from s3bench.s3.protocol.s3_error import S3Error

_COPY_BYTES_MAX = 5 * 1024**3


class CopyOperation:
    """How objects are copied."""

    def __init__(self, store: ObjectStore, intentions: Intentions, writes: WriteOperations) -> None:
        self._store = store
        self._intentions = intentions
        self._writes = writes

    def copy(self, call: Call) -> Reply:
        """CopyObject: the bytes are shared, what is said about them is copied or replaced."""
        bucket = find_bucket(self._store, call.bucket)
        source_bucket, source_key, version_id = copy_source(call.fields["x-amz-copy-source"])
        source = find_source(self._store, source_bucket, source_key, version_id)
        check_key(call.fields, source.description.encryption, of_source=True)
        check_read(call.fields, state_of(source), call.now_s, prefix="x-amz-copy-source-")
        check_write(call.fields, call.key, current_state(bucket, call.key))
        description = _copied_description(call, bucket, source)
        check_future(description.lock, call.now_s)
        if (source_bucket, source_key) == (call.bucket, call.key) and version_id is None:
            _check_changes(call, bucket, source, description)
        assert source.content is not None
        check_copied_size(source.size_bytes)
        checksum = self._copied_checksum(call, source)
        version = self._writes.keep(
            bucket,
            call,
            description=description,
            content=source.content,
            etag=self._copied_etag(source, checksum, description.encryption),
            checksum=checksum,
        )
        headers = [*written_headers(description.encryption), *version_headers(bucket, version)]
        if source.version_id != NULL_VERSION:
            headers.append(("x-amz-copy-source-version-id", source.version_id))
        result = document(
            "CopyObjectResult",
            element("ETag", f'"{version.etag}"'),
            element("LastModified", iso_time(version.modified_s)),
            element(checksum.element, checksum.value),
            element("ChecksumType", checksum.kind),
        )
        return call.reply(200, headers, result)

    def _copied_checksum(self, call: Call, source: Version) -> Checksum:
        """Give the copy's checksum: by the algorithm that is asked for, else by the source's, always of the whole."""
        asked = call.fields.get("x-amz-checksum-algorithm", "").lower()
        if asked and asked not in CHECKSUM_ALGORITHMS:
            raise unsupported_algorithm()
        algorithm = asked or (DEFAULT_ALGORITHM if source.checksum is None else source.checksum.algorithm)
        digest = copied_digest(source, 0, source.size_bytes, algorithm, faithful=self._intentions.faithful)
        return Checksum(algorithm=algorithm, value=base64_of(digest))

    def _copied_etag(self, source: Version, checksum: Checksum, encryption: Encryption | None) -> str:
        """Give the ETag of a copy: one made of parts becomes that of a single piece, an encrypted one its own."""
        if not source.parts and source.description.encryption is None and encryption is None:
            return source.etag
        assert source.content is not None
        known = source.checksum or checksum
        return self._intentions.etag_of(source.content, known.algorithm, known.value.encode(), encryption)


def copy_source(header: str) -> tuple[str, str, str | None]:
    """Take x-amz-copy-source apart: bucket, key, version. Raises `S3Error`.

    The path is URL-encoded as forms are: `+` is a space.
    """
    path, _, query = header.partition("?")
    version_id = None
    if query:
        name, _, value = query.partition("=")
        if name != "versionId" or not value:
            raise _bad_source()
        version_id = unquote_plus(value)
    try:
        source = unquote_to_bytes(path.replace("+", " ").encode("latin-1")).decode()
    except UnicodeDecodeError:
        raise _bad_source() from None
    bucket, _, key = source.removeprefix("/").partition("/")
    if bucket.startswith("arn:"):
        raise not_implemented("access points")
    if not bucket or not key:
        raise _bad_source()
    return bucket, key, version_id


def check_copied_size(size_bytes: int) -> None:
    """Reject a copy of more than 5 GiB at once. Raises `S3Error`.

    The message is S3's: https://github.com/rclone/rclone/issues/2375.
    """
    if size_bytes > _COPY_BYTES_MAX:
        message = (
            f"The specified copy source is larger than the maximum allowable size for a copy source: {_COPY_BYTES_MAX}"
        )
        raise S3Error(status=400, code="InvalidRequest", message=message)


def copied_digest(source: Version, start: int, end: int, algorithm: str, *, faithful: bool) -> bytes:
    """Give the checksum of the bytes `[start, end)` of `source`: a known one if they are all of it, else computed.

    Where bytes are discarded (not `faithful`) it is made up: to compute that of their noise takes as long as moving it.
    """
    assert source.content is not None
    known = _known_digest(source, algorithm) if (start, end) == (0, source.size_bytes) else None
    if known is not None:
        return known
    if faithful:
        return digest_of(algorithm, pieces_of(source.content, start, end))
    seed = f"{source.etag} {start} {end}".encode()
    return hashlib.blake2b(seed, digest_size=len(digest_of(algorithm, ()))).digest()


def _known_digest(source: Version, algorithm: str) -> bytes | None:
    """Give the checksum of all of `source` if that takes no reading: it has it, or its parts have CRCs."""
    checksum, parts = source.checksum, source.parts
    if checksum is not None and checksum.algorithm == algorithm and not checksum.composite:
        return base64.b64decode(checksum.value)
    if parts and algorithm in CRC_BYTES and all(part.checksum.algorithm == algorithm for part in parts):
        return combined(algorithm, ((part.digest, part.content.size_bytes) for part in parts))
    return None


def _bad_source() -> S3Error:
    name, message = "x-amz-copy-source", "Invalid copy source object key"
    details = (("ArgumentName", name), ("ArgumentValue", name))
    return S3Error(status=400, code="InvalidArgument", message=message, details=details)


def _copied_description(call: Call, bucket: Bucket, source: Version) -> Description:
    """Put together what is said about a copy, by its directives."""
    new = describe(call.fields, bucket)
    old = source.description
    metadata_from, tags_from = (_directive(call, f"x-amz-{what}-directive") for what in ("metadata", "tagging"))
    headers = new.headers
    if metadata_from == "COPY":  # the redirect belongs to one object and is never copied
        headers = tuple(header for header in old.headers if header[0] != REDIRECT)
        headers += tuple(header for header in new.headers if header[0] == REDIRECT)
    return Description(
        headers=headers,
        metadata=new.metadata if metadata_from == "REPLACE" else old.metadata,
        tags=new.tags if tags_from == "REPLACE" else old.tags,
        storage_class=new.storage_class,
        encryption=new.encryption,
        lock=new.lock,
    )


def _directive(call: Call, name: str) -> str:
    value = call.fields.get(name, "COPY")
    if value not in {"COPY", "REPLACE"}:
        what = "metadata" if "metadata" in name else "tagging"
        message, details = f"Unknown {what} directive.", (("ArgumentName", name), ("ArgumentValue", value))
        raise S3Error(status=400, code="InvalidArgument", message=message, details=details)
    return value


def _check_changes(call: Call, bucket: Bucket, source: Version, description: Description) -> None:
    """Reject a copy of an object to itself that changes nothing; a chosen default encryption may change its bytes."""
    replaced = _directive(call, "x-amz-metadata-directive") == "REPLACE"
    changed = description.storage_class != source.description.storage_class
    named = {"x-amz-storage-class", REDIRECT, SSE, *CUSTOMER_HEADERS}
    if not replaced and not changed and not bucket.encryption_was_set and named.isdisjoint(call.fields):
        message = (
            "This copy request is illegal because it is trying to copy an object to itself without changing the "
            "object's metadata, storage class, website redirect location or encryption attributes."
        )
        raise S3Error(status=400, code="InvalidRequest", message=message)
