"""Finds buckets and versions by the names that requests use, or raises the S3 error for what is not there."""

from s3bench.s3.emulator.call import http_time
from s3bench.s3.emulator.conditions import ObjectState
from s3bench.s3.emulator.store import KEY_BYTES_MAX, Bucket, ObjectStore, Version, Versioning
from s3bench.s3.protocol.s3_error import S3Error

_ARCHIVES = frozenset({"GLACIER", "DEEP_ARCHIVE"})


def find_bucket(store: ObjectStore, name: str) -> Bucket:
    """Give the bucket. Raises `S3Error` where it is not there."""
    bucket = store.buckets.get(name)
    if bucket is None:
        message, details = "The specified bucket does not exist", (("BucketName", name),)
        raise S3Error(status=404, code="NoSuchBucket", message=message, details=details)
    return bucket


def check_key_length(key: str) -> None:
    """Reject a key that is too long. Raises `S3Error`."""
    size_bytes = len(key.encode("utf-8", "surrogatepass"))
    if size_bytes > KEY_BYTES_MAX:
        details = (("Size", str(size_bytes)), ("MaxSizeAllowed", str(KEY_BYTES_MAX)))
        raise S3Error(status=400, code="KeyTooLongError", message="Your key is too long", details=details)


def find_version(bucket: Bucket, key: str, version_id: str | None, *, method: str = "GET") -> Version:
    """Give the version that a read by `method` means. Raises `S3Error` where there is none, or a delete marker."""
    if version_id is None:
        found = bucket.keys.get(key)
        newest = found.versions[0] if found is not None else None
        if newest is None or newest.deleted:
            marked: tuple[tuple[str, str], ...] = () if newest is None else _marker_headers(newest)
            message = "The specified key does not exist."
            raise S3Error(status=404, code="NoSuchKey", message=message, details=(("Key", key),), headers=marked)
        return newest
    check_version_id(bucket, version_id)
    version = bucket.version(key, version_id)
    if version is None:
        raise no_such_version(key, version_id)
    if version.deleted:
        raise delete_marker_error(version, method)
    return version


def find_source(store: ObjectStore, bucket_name: str, key: str, version_id: str | None) -> Version:
    """Give the version that a copy reads. Raises `S3Error`, for a delete marker that is named with 400.

    https://docs.aws.amazon.com/AmazonS3/latest/API/API_UploadPartCopy.html
    """
    bucket = find_bucket(store, bucket_name)
    named = None if version_id is None else bucket.version(key, version_id)
    if named is not None and named.deleted:
        message = "The source of a copy request may not specifically refer to a delete marker by version id."
        raise S3Error(status=400, code="InvalidRequest", message=message)
    version = find_version(bucket, key, version_id)
    check_restored(version)
    return version


def check_restored(version: Version) -> None:
    """Reject reading a version that an archive class keeps. Raises `S3Error`.

    https://docs.aws.amazon.com/AmazonS3/latest/userguide/restoring-objects.html
    """
    storage_class = version.description.storage_class
    if storage_class in _ARCHIVES:
        message = "The operation is not valid for the object's storage class"
        details = (("StorageClass", storage_class),)
        raise S3Error(status=403, code="InvalidObjectState", message=message, details=details)


def no_such_version(key: str, version_id: str) -> S3Error:
    """The error for a version that is not there."""
    message, details = "The specified version does not exist.", (("Key", key), ("VersionId", version_id))
    return S3Error(status=404, code="NoSuchVersion", message=message, details=details)


def check_version_id(bucket: Bucket, version_id: str) -> None:
    """Reject what cannot be the id of a version in `bucket`. Raises `S3Error`."""
    if not bucket.could_have(version_id):
        message = "Invalid version id specified" if version_id else "Version id cannot be the empty string"
        details = (("ArgumentName", "versionId"), ("ArgumentValue", version_id))
        raise S3Error(status=400, code="InvalidArgument", message=message, details=details)


def state_of(version: Version) -> ObjectState:
    """Return what conditions are compared with."""
    return ObjectState(etag=version.etag, modified_s=version.modified_s)


def current_state(bucket: Bucket, key: str) -> ObjectState | None:
    """Give the state of the current object of `key`, if there is one."""
    current = bucket.current(key)
    return None if current is None else state_of(current)


def version_headers(bucket: Bucket, version: Version) -> list[tuple[str, str]]:
    """Give the header that names the version; none in a bucket that never had versioning."""
    return [] if bucket.versioning is Versioning.NEVER else [("x-amz-version-id", version.version_id)]


def delete_marker_error(marker: Version, method: str) -> S3Error:
    """The error for `method` on a delete marker that is named, or whose tags are asked for."""
    return S3Error(
        status=405,
        code="MethodNotAllowed",
        message="The specified method is not allowed against this resource.",
        details=(("Method", method), ("ResourceType", "DeleteMarker")),
        headers=(*_marker_headers(marker), ("Last-Modified", http_time(marker.modified_s)), ("Allow", "DELETE")),
    )


def _marker_headers(marker: Version) -> tuple[tuple[str, str], ...]:
    return ("x-amz-delete-marker", "true"), ("x-amz-version-id", marker.version_id)
