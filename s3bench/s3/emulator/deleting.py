"""Operations that delete objects: DeleteObject and DeleteObjects.

What they do under versioning: https://docs.aws.amazon.com/AmazonS3/latest/userguide/DeletingObjectVersions.html.
"""

from s3bench.s3.emulator.call import Call
from s3bench.s3.emulator.conditions import ObjectState, check_delete
from s3bench.s3.emulator.documents import document, element, group, malformed
from s3bench.s3.emulator.lookup import (
    check_key_length,
    check_version_id,
    current_state,
    find_bucket,
    no_such_version,
    state_of,
)
from s3bench.s3.emulator.members import parse_known
from s3bench.s3.emulator.object_lock import bypasses, protected
from s3bench.s3.emulator.store import NULL_VERSION, Bucket, Description, ObjectStore, Version, Versioning
from s3bench.s3.emulator.writing import WriteOperations
from s3bench.s3.protocol.exchange import Reply
from s3bench.s3.protocol.s3_error import S3Error

_DELETES_MAX = 1000


class DeleteOperations:
    """How objects are deleted."""

    def __init__(self, store: ObjectStore, writes: WriteOperations) -> None:
        self._store = store
        self._writes = writes

    def delete(self, call: Call) -> Reply:
        """Delete an object, or one version for good; what is not there is deleted already."""
        bucket = find_bucket(self._store, call.bucket)
        if "versionId" in call.query:
            check_version_id(bucket, call.query["versionId"])
        if "if-match" in call.fields:
            check_delete(call.fields["if-match"], call.key, current_state(bucket, call.key))
        bypass = bypasses(call.fields, is_locking=bucket.is_locking)
        _check_lock(bucket, call.key, call.query.get("versionId"), call.now_s, bypass=bypass)
        gone, marker = self._delete(bucket, call.key, call.query.get("versionId"), call.now_s)
        headers = []
        shown_version = marker or gone
        if shown_version is not None:
            if shown_version.deleted:
                headers.append(("x-amz-delete-marker", "true"))
            if bucket.versioning is not Versioning.NEVER or shown_version.version_id != NULL_VERSION:
                headers.append(("x-amz-version-id", shown_version.version_id))
        elif "versionId" in call.query:
            headers.append(("x-amz-version-id", call.query["versionId"]))
        return call.reply(204, headers)

    def delete_many(self, call: Call) -> Reply:
        """DeleteObjects: up to a thousand keys or versions, each with its own outcome."""
        bucket = find_bucket(self._store, call.bucket)
        if not set(call.checksums or ()) - {"content-sha256"}:  # the payload's hash is part of the signature
            message = "Missing required header for this request: Content-MD5 OR x-amz-checksum-*"
            raise S3Error(status=400, code="InvalidRequest", message=message)
        node = parse_known(call.body, "Delete")
        items = [(item.need("Key"), item.text("VersionId"), item.text("ETag")) for item in node.all("Object")]
        if not 0 < len(items) <= _DELETES_MAX or any(not key for key, _, _ in items):
            raise malformed(f"it names {len(items)} objects; 1 to {_DELETES_MAX} are possible, each with a key")
        bypass = bypasses(call.fields, is_locking=bucket.is_locking)
        quiet = (node.text("Quiet") or "").lower() == "true"
        outcomes = []
        for key, version_id, etag in items:
            outcome = self._delete_one(bucket, key, version_id or None, etag, call.now_s, bypass=bypass)
            if not quiet or outcome.startswith("<Error>"):
                outcomes.append(outcome)
        return call.reply(200, (), document("DeleteResult", *outcomes))

    def _delete_one(
        self, bucket: Bucket, key: str, version_id: str | None, etag: str | None, now_s: float, *, bypass: bool
    ) -> str:
        current = bucket.current(key) if version_id is None else bucket.version(key, version_id)
        named = () if version_id is None else (element("VersionId", version_id),)
        try:
            _check_one(bucket, key, version_id, etag, None if current is None else state_of(current))
            _check_lock(bucket, key, version_id, now_s, bypass=bypass)
        except S3Error as error:
            said = element("Code", error.code), element("Message", error.message)
            return group("Error", element("Key", key), *named, *said)
        gone, marker = self._delete(bucket, key, version_id, now_s)
        children = [element("Key", key), *named]
        marked = marker or (gone if gone is not None and gone.deleted else None)
        if marked is not None:
            children += [element("DeleteMarker", "true"), element("DeleteMarkerVersionId", marked.version_id)]
        return group("Deleted", *children)

    def _delete(
        self, bucket: Bucket, key: str, version_id: str | None, now_s: float
    ) -> tuple[Version | None, Version | None]:
        """Delete; the version that is gone for good, and the delete marker that was made."""
        if version_id is not None:
            return bucket.remove(key, version_id), None
        if bucket.versioning is Versioning.NEVER:
            return bucket.remove(key, NULL_VERSION), None
        marker = Version(
            key=key,
            version_id=bucket.next_version_id(key),
            modified_s=now_s,
            hold=self._writes.hold(key, Description(), readable=False),
        )
        bucket.put(marker)
        return None, marker


def _check_lock(bucket: Bucket, key: str, version_id: str | None, now_s: float, *, bypass: bool) -> None:
    """Reject deleting a version that is locked; a delete marker before it is always possible. Raises `S3Error`."""
    if version_id is None or not bucket.is_locking:
        return
    version = bucket.version(key, version_id)
    if version is not None and version.lock is not None and version.lock.keeps(now_s, bypass=bypass):
        raise protected()


def _check_one(bucket: Bucket, key: str, version_id: str | None, etag: str | None, state: ObjectState | None) -> None:
    """The error for one of many, which does not stop the others. Raises `S3Error`."""
    check_key_length(key)
    if version_id is not None and not bucket.could_have(version_id):
        raise no_such_version(key, version_id)
    if etag is not None:
        check_delete(etag, key, state)
