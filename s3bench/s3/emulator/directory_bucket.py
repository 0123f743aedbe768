"""Directory buckets, the buckets of S3 Express One Zone: their names, and what they reject. Pure.

What they support: https://docs.aws.amazon.com/AmazonS3/latest/userguide/s3-express-differences.html and
https://docs.aws.amazon.com/AmazonS3/latest/userguide/s3-express-APIs.html. The documentation gives no code for most of
what it calls not supported; docs/s3-express.md says where each code and message comes from.
"""

import re
from collections.abc import Mapping

from s3bench.s3.emulator.encryption import CUSTOMER_HEADERS, SOURCE_HEADERS, SSE, Encryption
from s3bench.s3.emulator.object_lock import BYPASS, LOCK_HEADERS
from s3bench.s3.emulator.operation import DIRECTORY_BUCKET_SUFFIX, Operation, not_implemented
from s3bench.s3.protocol.s3_error import S3Error

STORAGE_CLASS = "EXPRESS_ONEZONE"
WRITE_OFFSET = "x-amz-write-offset-bytes"
SESSION_TOKEN = "x-amz-s3session-token"  # noqa: S105 (the name of a header)
SESSION_MODE = "x-amz-create-session-mode"
RENAME_SOURCE = "x-amz-rename-source"
RENAME_CONDITIONS = ("if-match", "if-modified-since", "if-none-match", "if-unmodified-since")
CLIENT_TOKEN = "x-amz-client-token"  # noqa: S105 (the name of a header)

_NAME_CHARACTERS_MAX = 63
_NAME = re.compile(r"(?!xn--|sthree-)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?--([a-z0-9]+(?:-[a-z0-9]+)+)--x-s3")
_CONFIGURATIONS = {
    Operation.PUT_BUCKET_CORS: "CORSConfiguration",
    Operation.PUT_BUCKET_TAGGING: "Tagging",
    Operation.PUT_BUCKET_VERSIONING: "VersioningConfiguration",
}
_SUPPORTED = frozenset({
    Operation.ABORT_MULTIPART_UPLOAD, Operation.COMPLETE_MULTIPART_UPLOAD, Operation.COPY_OBJECT,
    Operation.CREATE_BUCKET, Operation.CREATE_MULTIPART_UPLOAD, Operation.CREATE_SESSION, Operation.DELETE_BUCKET,
    Operation.DELETE_BUCKET_ENCRYPTION, Operation.DELETE_OBJECT, Operation.DELETE_OBJECTS,
    Operation.GET_BUCKET_ENCRYPTION, Operation.GET_BUCKET_LIFECYCLE_CONFIGURATION, Operation.GET_BUCKET_POLICY,
    Operation.GET_OBJECT, Operation.GET_OBJECT_ATTRIBUTES, Operation.HEAD_BUCKET, Operation.HEAD_OBJECT,
    Operation.LIST_MULTIPART_UPLOADS, Operation.LIST_OBJECTS_V2, Operation.LIST_PARTS, Operation.PUT_BUCKET_ENCRYPTION,
    Operation.PUT_OBJECT, Operation.RENAME_OBJECT, Operation.UPLOAD_PART, Operation.UPLOAD_PART_COPY,
})  # fmt: skip
_REFUSED_HEADERS = frozenset({
    "x-amz-acl", "x-amz-bucket-object-lock-enabled", "x-amz-mfa", "x-amz-optional-object-attributes",
    "x-amz-website-redirect-location", BYPASS,
}) | LOCK_HEADERS | CUSTOMER_HEADERS | SOURCE_HEADERS  # fmt: skip
_REFUSED_PARAMETERS = ("start-after", "upload-id-marker")
_LISTS = frozenset({Operation.LIST_OBJECTS_V2, Operation.LIST_MULTIPART_UPLOADS})
_TAKES_DEFAULT_ENCRYPTION = frozenset({
    Operation.CREATE_MULTIPART_UPLOAD, Operation.CREATE_SESSION, Operation.PUT_OBJECT,
})  # fmt: skip


def is_directory_bucket(name: str) -> bool:
    """Whether a bucket of that name is a directory bucket."""
    return name.endswith(DIRECTORY_BUCKET_SUFFIX)


def zone_of(name: str) -> str | None:
    """Give the id of the zone that a directory bucket names; `None` where S3 does not take the name.

    https://docs.aws.amazon.com/AmazonS3/latest/userguide/directory-bucket-naming-rules.html
    """
    found = _NAME.fullmatch(name)
    return None if found is None or len(name) > _NAME_CHARACTERS_MAX else found[1]


def check_general_purpose(operation: Operation, fields: Mapping[str, str]) -> None:
    """Reject what only directory buckets have. Raises `S3Error`."""
    if operation in {Operation.CREATE_SESSION, Operation.RENAME_OBJECT}:
        raise not_implemented(f"{operation.value} of general purpose buckets")
    if WRITE_OFFSET in fields:
        raise not_implemented(WRITE_OFFSET, header=WRITE_OFFSET)


def check_supported(
    operation: Operation, fields: Mapping[str, str], query: Mapping[str, str], default: Encryption | None
) -> None:
    """Reject what directory buckets do not support; `default` is the bucket's encryption. Raises `S3Error`."""
    if operation in _CONFIGURATIONS:
        message = f"{_CONFIGURATIONS[operation]} is not valid, expected CreateBucketConfiguration"
        raise S3Error(status=400, code="InvalidArgument", message=message)
    if operation is Operation.LIST_OBJECTS:
        message = "This bucket does not support ListObjects. Use ListObjectsV2."
        raise S3Error(status=400, code="NotSupported", message=message)
    if operation not in _SUPPORTED:
        raise not_implemented(f"{operation.value} of directory buckets")
    if "content-md5" in fields:
        raise _invalid("This bucket does not support Content Md5 header.")
    for name in fields:
        if name in _REFUSED_HEADERS or name.startswith("x-amz-grant-"):
            raise not_implemented(name, header=name)
    if fields.get("x-amz-tagging"):
        raise not_implemented("x-amz-tagging", header="x-amz-tagging")
    if operation in _LISTS:
        _check_list(query)
    if operation in _TAKES_DEFAULT_ENCRYPTION and SSE in fields:
        _check_encryption(fields[SSE], default)


def _check_list(query: Mapping[str, str]) -> None:
    for name in _REFUSED_PARAMETERS:
        if query.get(name):
            raise not_implemented(f"{name} for directory buckets")
    if query.get("delimiter", "") not in {"", "/"}:
        raise _invalid("This bucket does not support a delimiter other than '/'.")
    prefix = query.get("prefix", "")
    if prefix and not prefix.endswith("/"):
        raise _invalid(
            "This bucket does not support a prefix that does not end in a delimiter. Specify a prefix path ending "
            "with a delimiter and try again."
        )


def _check_encryption(method: str, default: Encryption | None) -> None:
    """Reject a write or a session that asks for another encryption than its bucket has. Raises `S3Error`.

    https://docs.aws.amazon.com/AmazonS3/latest/userguide/s3-express-specifying-kms-encryption.html
    """
    expected = "AES256" if default is None else default.method
    if method != expected:
        raise _invalid(f"The encryption {method[:50]} differs from that of the bucket, which is {expected}.")


def _invalid(message: str) -> S3Error:
    return S3Error(status=400, code="InvalidRequest", message=message)
