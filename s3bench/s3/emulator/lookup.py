"""Buckets and versions found by the names that requests use, or refused as S3 does.

Owns the errors for what is not there, and the headers that tell which version was found.
"""

import re

from s3bench.s3.emulator.call import Call, http_time
from s3bench.s3.emulator.conditions import State
from s3bench.s3.emulator.store import NULL_VERSION, Bucket, Store, Version
from s3bench.s3.refusal import S3Refusal

_VERSION_ID = re.compile(r"null|[0-9A-Za-z._-]{32}")  # S3's have 32 characters, ours too


def find_bucket(store: Store, name: str) -> Bucket:
    """Give the bucket. Raises `S3Refusal` where it is not there."""
    bucket = store.buckets.get(name)
    if bucket is None:
        message, details = "The specified bucket does not exist", (("BucketName", name),)
        raise S3Refusal(status=404, code="NoSuchBucket", message=message, details=details)
    return bucket


def find_version(store: Store, bucket_name: str, key: str, version_id: str | None) -> Version:
    """Give the version that a read means. Raises `S3Refusal` where there is none, or a delete marker."""
    bucket = find_bucket(store, bucket_name)
    if version_id is None:
        found = bucket.keys.get(key)
        newest = found.versions[0] if found is not None else None
        if newest is None or newest.deleted:
            marked: tuple[tuple[str, str], ...] = () if newest is None else _marker_headers(newest)
            message = "The specified key does not exist."
            raise S3Refusal(status=404, code="NoSuchKey", message=message, details=(("Key", key),), headers=marked)
        return newest
    check_version_id(version_id)
    version = bucket.version(key, version_id)
    if version is None:
        message, details = "The specified version does not exist.", (("Key", key), ("VersionId", version_id))
        raise S3Refusal(status=404, code="NoSuchVersion", message=message, details=details)
    if version.deleted:
        raise S3Refusal(
            status=405,
            code="MethodNotAllowed",
            message="The specified method is not allowed against this resource.",
            details=(("Method", "GET"), ("ResourceType", "DeleteMarker")),
            headers=(
                *_marker_headers(version),
                ("Last-Modified", http_time(version.modified_s)),
                ("Allow", "DELETE"),
            ),
        )
    return version


def find_source(store: Store, bucket_name: str, key: str, version_id: str | None) -> Version:
    """Give the version that a copy reads. Raises `S3Refusal`, for a delete marker that is named with 400.

    https://docs.aws.amazon.com/AmazonS3/latest/API/API_UploadPartCopy.html
    """
    named = None if version_id is None else find_bucket(store, bucket_name).version(key, version_id)
    if named is not None and named.deleted:
        message = "The source of a copy request may not specifically refer to a delete marker by version id."
        raise S3Refusal(status=400, code="InvalidRequest", message=message)
    return find_version(store, bucket_name, key, version_id)


def check_version_id(version_id: str) -> None:
    """Refuse what cannot be the id of a version. Raises `S3Refusal`."""
    if _VERSION_ID.fullmatch(version_id) is None:
        message = "Invalid version id specified" if version_id else "Version id cannot be the empty string"
        details = (("ArgumentName", "versionId"), ("ArgumentValue", version_id))
        raise S3Refusal(status=400, code="InvalidArgument", message=message, details=details)


def state_of(version: Version) -> State:
    """Give what conditions are held against."""
    return State(etag=version.etag, modified_s=version.modified_s)


def current_state(bucket: Bucket, key: str) -> State | None:
    """Give the state of the current object of `key`, if there is one."""
    current = bucket.current(key)
    return None if current is None else state_of(current)


def version_headers(version: Version, call: Call) -> list[tuple[str, str]]:
    """Give the header that tells the version, where there can be several."""
    if version.version_id != NULL_VERSION or "versionId" in call.query:
        return [("x-amz-version-id", version.version_id)]
    return []


def _marker_headers(marker: Version) -> tuple[tuple[str, str], ...]:
    return ("x-amz-delete-marker", "true"), ("x-amz-version-id", marker.version_id)
