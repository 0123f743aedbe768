"""Recognises the operation of a request by its method, its target and its query. Pure.

An operation that S3 has and the emulator lacks becomes NotImplemented, with its name.
"""

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from s3bench.s3.protocol.http import query_pairs
from s3bench.s3.protocol.s3_error import S3Error


class Operation(Enum):
    """The operations of the emulator, by their names in the S3 API."""

    __hash__ = object.__hash__  # members are looked up in tables at every request, and an Enum's hash is a Python call

    LIST_BUCKETS = "ListBuckets"
    LIST_DIRECTORY_BUCKETS = "ListDirectoryBuckets"
    CREATE_BUCKET = "CreateBucket"
    HEAD_BUCKET = "HeadBucket"
    CREATE_SESSION = "CreateSession"
    DELETE_BUCKET = "DeleteBucket"
    GET_BUCKET_LOCATION = "GetBucketLocation"
    GET_BUCKET_VERSIONING = "GetBucketVersioning"
    PUT_BUCKET_VERSIONING = "PutBucketVersioning"
    GET_BUCKET_TAGGING = "GetBucketTagging"
    PUT_BUCKET_TAGGING = "PutBucketTagging"
    DELETE_BUCKET_TAGGING = "DeleteBucketTagging"
    GET_BUCKET_ACL = "GetBucketAcl"
    PUT_BUCKET_ACL = "PutBucketAcl"
    GET_BUCKET_OWNERSHIP_CONTROLS = "GetBucketOwnershipControls"
    GET_PUBLIC_ACCESS_BLOCK = "GetPublicAccessBlock"
    GET_BUCKET_ENCRYPTION = "GetBucketEncryption"
    PUT_BUCKET_ENCRYPTION = "PutBucketEncryption"
    DELETE_BUCKET_ENCRYPTION = "DeleteBucketEncryption"
    GET_BUCKET_POLICY = "GetBucketPolicy"
    GET_BUCKET_CORS = "GetBucketCors"
    PUT_BUCKET_CORS = "PutBucketCors"
    DELETE_BUCKET_CORS = "DeleteBucketCors"
    GET_BUCKET_LIFECYCLE_CONFIGURATION = "GetBucketLifecycleConfiguration"
    GET_BUCKET_WEBSITE = "GetBucketWebsite"
    GET_BUCKET_REPLICATION = "GetBucketReplication"
    GET_OBJECT_LOCK_CONFIGURATION = "GetObjectLockConfiguration"
    PUT_OBJECT_LOCK_CONFIGURATION = "PutObjectLockConfiguration"
    LIST_OBJECTS = "ListObjects"
    LIST_OBJECTS_V2 = "ListObjectsV2"
    LIST_OBJECT_VERSIONS = "ListObjectVersions"
    LIST_MULTIPART_UPLOADS = "ListMultipartUploads"
    DELETE_OBJECTS = "DeleteObjects"
    PUT_OBJECT = "PutObject"
    POST_OBJECT = "PostObject"
    COPY_OBJECT = "CopyObject"
    RENAME_OBJECT = "RenameObject"
    GET_OBJECT = "GetObject"
    HEAD_OBJECT = "HeadObject"
    DELETE_OBJECT = "DeleteObject"
    GET_OBJECT_ATTRIBUTES = "GetObjectAttributes"
    GET_OBJECT_TAGGING = "GetObjectTagging"
    PUT_OBJECT_TAGGING = "PutObjectTagging"
    DELETE_OBJECT_TAGGING = "DeleteObjectTagging"
    GET_OBJECT_ACL = "GetObjectAcl"
    PUT_OBJECT_ACL = "PutObjectAcl"
    GET_OBJECT_RETENTION = "GetObjectRetention"
    PUT_OBJECT_RETENTION = "PutObjectRetention"
    GET_OBJECT_LEGAL_HOLD = "GetObjectLegalHold"
    PUT_OBJECT_LEGAL_HOLD = "PutObjectLegalHold"
    CREATE_MULTIPART_UPLOAD = "CreateMultipartUpload"
    UPLOAD_PART = "UploadPart"
    UPLOAD_PART_COPY = "UploadPartCopy"
    LIST_PARTS = "ListParts"
    COMPLETE_MULTIPART_UPLOAD = "CompleteMultipartUpload"
    ABORT_MULTIPART_UPLOAD = "AbortMultipartUpload"


class RequestedOperation(NamedTuple):
    """An operation and what it is asked of; `bucket` and `key` are empty where the request names none."""

    operation: Operation
    bucket: str
    key: str
    query: Mapping[str, str]


WRITES_DATA = frozenset({Operation.PUT_OBJECT, Operation.UPLOAD_PART})
"""Operations whose body is object data; that of PostObject is a form, and those of all others documents or nothing."""

_BUCKET = {
    ("GET", "location"): Operation.GET_BUCKET_LOCATION,
    ("GET", "versioning"): Operation.GET_BUCKET_VERSIONING,
    ("PUT", "versioning"): Operation.PUT_BUCKET_VERSIONING,
    ("GET", "tagging"): Operation.GET_BUCKET_TAGGING,
    ("PUT", "tagging"): Operation.PUT_BUCKET_TAGGING,
    ("DELETE", "tagging"): Operation.DELETE_BUCKET_TAGGING,
    ("GET", "acl"): Operation.GET_BUCKET_ACL,
    ("PUT", "acl"): Operation.PUT_BUCKET_ACL,
    ("GET", "ownershipControls"): Operation.GET_BUCKET_OWNERSHIP_CONTROLS,
    ("GET", "publicAccessBlock"): Operation.GET_PUBLIC_ACCESS_BLOCK,
    ("GET", "encryption"): Operation.GET_BUCKET_ENCRYPTION,
    ("PUT", "encryption"): Operation.PUT_BUCKET_ENCRYPTION,
    ("DELETE", "encryption"): Operation.DELETE_BUCKET_ENCRYPTION,
    ("GET", "policy"): Operation.GET_BUCKET_POLICY,
    ("GET", "cors"): Operation.GET_BUCKET_CORS,
    ("PUT", "cors"): Operation.PUT_BUCKET_CORS,
    ("DELETE", "cors"): Operation.DELETE_BUCKET_CORS,
    ("GET", "lifecycle"): Operation.GET_BUCKET_LIFECYCLE_CONFIGURATION,
    ("GET", "website"): Operation.GET_BUCKET_WEBSITE,
    ("GET", "replication"): Operation.GET_BUCKET_REPLICATION,
    ("GET", "object-lock"): Operation.GET_OBJECT_LOCK_CONFIGURATION,
    ("PUT", "object-lock"): Operation.PUT_OBJECT_LOCK_CONFIGURATION,
    ("GET", "session"): Operation.CREATE_SESSION,
    ("GET", "versions"): Operation.LIST_OBJECT_VERSIONS,
    ("GET", "uploads"): Operation.LIST_MULTIPART_UPLOADS,
    ("POST", "delete"): Operation.DELETE_OBJECTS,
    ("GET", ""): Operation.LIST_OBJECTS,
    ("HEAD", ""): Operation.HEAD_BUCKET,
    ("PUT", ""): Operation.CREATE_BUCKET,
    ("POST", ""): Operation.POST_OBJECT,
    ("DELETE", ""): Operation.DELETE_BUCKET,
}
_OBJECT = {
    ("GET", "attributes"): Operation.GET_OBJECT_ATTRIBUTES,
    ("GET", "tagging"): Operation.GET_OBJECT_TAGGING,
    ("PUT", "tagging"): Operation.PUT_OBJECT_TAGGING,
    ("DELETE", "tagging"): Operation.DELETE_OBJECT_TAGGING,
    ("GET", "acl"): Operation.GET_OBJECT_ACL,
    ("PUT", "acl"): Operation.PUT_OBJECT_ACL,
    ("GET", "retention"): Operation.GET_OBJECT_RETENTION,
    ("PUT", "retention"): Operation.PUT_OBJECT_RETENTION,
    ("GET", "legal-hold"): Operation.GET_OBJECT_LEGAL_HOLD,
    ("PUT", "legal-hold"): Operation.PUT_OBJECT_LEGAL_HOLD,
    ("PUT", "renameObject"): Operation.RENAME_OBJECT,
    ("POST", "uploads"): Operation.CREATE_MULTIPART_UPLOAD,
    ("PUT", "uploadId"): Operation.UPLOAD_PART,
    ("GET", "uploadId"): Operation.LIST_PARTS,
    ("POST", "uploadId"): Operation.COMPLETE_MULTIPART_UPLOAD,
    ("DELETE", "uploadId"): Operation.ABORT_MULTIPART_UPLOAD,
    ("GET", ""): Operation.GET_OBJECT,
    ("HEAD", ""): Operation.HEAD_OBJECT,
    ("PUT", ""): Operation.PUT_OBJECT,
    ("DELETE", ""): Operation.DELETE_OBJECT,
}

WITHOUT_BODY = frozenset(
    operation
    for table in (_BUCKET, _OBJECT)
    for (method, _), operation in table.items()
    if method in {"GET", "HEAD", "DELETE"}
) | {Operation.LIST_BUCKETS, Operation.LIST_DIRECTORY_BUCKETS, Operation.LIST_OBJECTS_V2}
"""Operations whose requests have no body."""

_BUCKET_ONLY = (
    "abac accelerate analytics cors encryption intelligent-tiering inventory lifecycle logging "
    "metadataAnnotationTable metadataConfiguration metadataInventoryTable metadataJournalTable metadataTable metrics "
    "notification object-lock ownershipControls policy policyStatus publicAccessBlock replication requestPayment "
    "session website"
)
_ELSEWHERE = {
    "bucket": frozenset(f"acl {_BUCKET_ONLY}".split()),
    "object": frozenset(
        ["acl", "annotation", "legal-hold", "restore", "retention", "select", "torrent", "encryption", "renameObject"]
    ),
}
"""Sub-resources that S3 has and the emulator has not, or has for reading alone."""

_SUBRESOURCES = frozenset(name for table in (_BUCKET, _OBJECT) for _, name in table if name).union(*_ELSEWHERE.values())
"""All names of sub-resources: a request with one of them never means the plain operation."""

SIGNATURE_PARAMETERS = frozenset({
    "X-Amz-Algorithm", "X-Amz-Content-Sha256", "X-Amz-Credential", "X-Amz-Date", "X-Amz-Expires",
    "X-Amz-S3session-Token", "X-Amz-Security-Token", "X-Amz-Signature", "X-Amz-SignedHeaders",
})  # fmt: skip
"""The query parameters of a presigned request
(https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html)."""

DIRECTORY_BUCKET_SUFFIX = "--x-s3"

_EXPRESS_SCOPE = "/s3express/aws4_request"
"""In what the directory buckets are asked for: AWS has an endpoint of its own for that, a custom endpoint has not."""

_METHODS = frozenset({"GET", "HEAD", "PUT", "POST", "DELETE", "OPTIONS"})


def only_signed(query: str) -> bool:
    """Whether a raw query says nothing, or nothing but a signature."""
    return not query or SIGNATURE_PARAMETERS.issuperset(pair.partition("=")[0] for pair in query.split("&"))


def parse_query(query: str) -> dict[str, str]:
    """Take a raw query apart; of a repeated name the first value counts. A signature alone is left out.

    Raises `S3Error` where it is not UTF-8: no document could repeat such a value.
    """
    parameters: dict[str, str] = {}
    if only_signed(query):
        return parameters
    try:
        pairs = query_pairs(query)
    except UnicodeDecodeError as error:
        message = "Couldn't parse the specified URI."
        raise S3Error(status=400, code="InvalidURI", message=message, details=(("URI", f"?{query}"),)) from error
    for name, value in pairs:
        parameters.setdefault(name, value)
    return parameters


def operation_of(method: str, bucket: str, key: str, query: Mapping[str, str], fields: Mapping[str, str]) -> Operation:
    """Recognise the operation; `bucket` and `key` are empty where the request names none. Raises `S3Error`."""
    if not bucket:
        if key:  # as in //bucket/key
            raise invalid_bucket_name(bucket)
        if method == "GET":
            if "session" in query:
                return Operation.CREATE_SESSION
            if not _SUBRESOURCES.isdisjoint(query):
                raise _not_allowed(method, "SERVICE")
            express = _EXPRESS_SCOPE in fields.get("authorization", "")
            return Operation.LIST_DIRECTORY_BUCKETS if express else Operation.LIST_BUCKETS
        raise _not_allowed(method, "SERVICE")
    kind, table = ("object", _OBJECT) if key else ("bucket", _BUCKET)
    for name in query:
        if name in _SUBRESOURCES and (method, name) not in table:
            if name in _ELSEWHERE[kind]:
                raise not_implemented(f"?{name} of {kind}s")
            raise _not_allowed(method, kind.upper())
    subresource = next((name for name in query if (method, name) in table), "") if query else ""
    operation = table.get((method, subresource))
    if operation is None:
        raise _not_allowed(method, kind.upper())
    return _by_fields(operation, query, fields)


def _by_fields(operation: Operation, query: Mapping[str, str], fields: Mapping[str, str]) -> Operation:
    """Distinguish what method and sub-resource do not."""
    copying = "x-amz-copy-source" in fields
    if operation is Operation.LIST_OBJECTS and query.get("list-type") == "2":
        return Operation.LIST_OBJECTS_V2
    if operation is Operation.UPLOAD_PART and copying:
        return Operation.UPLOAD_PART_COPY
    if operation is Operation.PUT_OBJECT and "partNumber" in query:
        message, details = "This operation needs the uploadId of the part", (("ArgumentName", "uploadId"),)
        raise S3Error(status=400, code="InvalidArgument", message=message, details=details)
    if operation is Operation.PUT_OBJECT and copying:
        return Operation.COPY_OBJECT
    return operation


def bucket_of_host(host: str, domain: str) -> str:
    """Give the bucket that a virtual-hosted request below `domain`, in lower case, names in its Host header.

    It is empty for a path-style request. `BUCKET.DOMAIN` and `BUCKET.s3.DOMAIN` name a bucket,
    `BUCKET.s3express-ZONE.DOMAIN` a directory bucket; a port is no part of it.
    """
    name = host.rpartition(":")[0] if ":" in host and not host.endswith("]") else host
    name = name.lower()
    for suffix in (f".s3.{domain}", f".{domain}"):
        if name.endswith(suffix):
            bucket = name.removesuffix(suffix)
            if (directory_bucket := bucket.partition(".")[0]).endswith(DIRECTORY_BUCKET_SUFFIX):
                return directory_bucket
            return "" if bucket == "s3" else bucket
    return ""


def invalid_bucket_name(bucket: str) -> S3Error:
    """The error for what cannot be the name of a bucket."""
    message, details = "The specified bucket is not valid.", (("BucketName", bucket),)
    return S3Error(status=400, code="InvalidBucketName", message=message, details=details)


def not_implemented(what: str, *, header: str = "", more: str = "") -> S3Error:
    """How the emulator says that it lacks something S3 has, or S3 itself; `header` is the one that asked for it."""
    message = f"A header or query you provided implies functionality that is not implemented here: {what}"
    if header:
        message = f"A header you provided implies functionality that is not implemented: {what}"
    details = [(name, value) for name, value in (("Header", header), ("additionalMessage", more)) if value]
    return S3Error(status=501, code="NotImplemented", message=message, details=tuple(details))


def _not_allowed(method: str, kind: str) -> S3Error:
    if method not in _METHODS:
        return not_implemented(f"the method {method[:20]}")
    return S3Error(
        status=405,
        code="MethodNotAllowed",
        message="The specified method is not allowed against this resource.",
        details=(("Method", method), ("ResourceType", kind)),
    )
