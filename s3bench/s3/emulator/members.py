"""The members of requests that each operation reads; others are rejected, never ignored.

The table names headers, query parameters and XML elements as they are on the wire. A header of S3's (`x-amz-...`) that
the operation does not read is rejected, so one that S3 adds tomorrow is rejected as well. `NO_EFFECT` is what S3 itself
would take without acting on it here, each with the reason. Pure.
"""

import re
from collections.abc import Mapping

from s3bench.s3.emulator.directory_bucket import (
    CLIENT_TOKEN,
    RENAME_CONDITIONS,
    RENAME_SOURCE,
    SESSION_MODE,
    WRITE_OFFSET,
)
from s3bench.s3.emulator.documents import XmlElement, checked_tags, malformed, parse
from s3bench.s3.emulator.encryption import ACCOUNT_ID, CUSTOMER_HEADERS, SOURCE_HEADERS, WRITE_HEADERS
from s3bench.s3.emulator.object_lock import BYPASS, LOCK_HEADERS
from s3bench.s3.emulator.operation import SIGNATURE_PARAMETERS, WITHOUT_BODY, Operation, not_implemented
from s3bench.s3.protocol.s3_error import S3Error

TRANSPORT = frozenset({
    "accept", "accept-encoding", "accept-language", "amz-sdk-invocation-id", "amz-sdk-request", "authorization",
    "connection", "content-length", "date", "expect", "host", "te", "transfer-encoding", "user-agent",
    "x-amz-api-version", "x-amz-content-sha256", "x-amz-date", "x-amz-decoded-content-length", "x-amz-s3session-token",
    "x-amz-security-token", "x-amz-te", "x-amz-trailer", "x-amz-user-agent",
})  # fmt: skip
"""Headers of the connection, the signature and the framing: they ask nothing of an operation.

AWS's SDKs for C++ and .NET send x-amz-api-version with every request; S3 has only one. x-amz-te, of the SDK for Java,
offers to read an MD5 behind the body, which a server may leave out (https://github.com/gaul/s3proxy/issues/327).
"""

NO_EFFECT: Mapping[str, str] = {
    "x-amz-mfa": "MFA delete cannot be enabled here, and S3 reads the code only where it is",
    "x-amz-object-annotation-directive": "no object here has annotations, so there are none to copy or leave out",
    "x-amz-optional-object-attributes": "asks for RestoreStatus, which S3 gives of objects under restoration only",
    "x-amz-request-payer": "no bucket here is requester-pays, and S3 charges and reports nothing on others",
    "x-amz-meta-": "S3 keeps metadata with an object that is made, and reads it nowhere else",
    "x-amz-checksum-algorithm": "S3 reads it where a checksum is yet to be chosen: CopyObject, CreateMultipartUpload",
    "x-amz-checksum-type": "S3 reads it of multipart uploads only: the checksum of another object covers all of it",
    "x-amz-sdk-checksum-algorithm": "names the checksum that comes with it, so there is none to check without a body",
}
"""Members that S3 takes and that change nothing here, with the reason."""

_CHECKSUMS = ("crc32", "crc32c", "crc64nvme", "sha1", "sha256")
_CHECKSUM_HEADERS = frozenset(f"x-amz-checksum-{name}" for name in _CHECKSUMS)
_OTHER_CHECKSUMS = ("md5", "sha512", "xxhash128", "xxhash3", "xxhash64")
_OWNER = frozenset({"x-amz-expected-bucket-owner"})
_BODY_CHECKS = _CHECKSUM_HEADERS | {"content-md5", "x-amz-sdk-checksum-algorithm"}
_DESCRIPTION = frozenset({
    "cache-control", "content-disposition", "content-encoding", "content-language", "content-type", "expires",
    "x-amz-acl", "x-amz-grant-full-control", "x-amz-grant-read", "x-amz-grant-read-acp", "x-amz-grant-write-acp",
    "x-amz-meta-", "x-amz-storage-class", "x-amz-tagging", "x-amz-website-redirect-location",
}) | WRITE_HEADERS | LOCK_HEADERS  # fmt: skip
_FORM = frozenset({
    "acl", "content-md5", "key", "policy", "redirect", "success_action_redirect", "success_action_status", "tagging",
}) | {name for name in _DESCRIPTION if not name.startswith(("x-amz-acl", "x-amz-grant-", "x-amz-tagging"))}  # fmt: skip
_LISTS = frozenset({
    "x-amz-acl", "x-amz-grant-full-control", "x-amz-grant-read", "x-amz-grant-read-acp", "x-amz-grant-write",
    "x-amz-grant-write-acp",
})  # fmt: skip
_READ_CONDITIONS = frozenset({"if-match", "if-modified-since", "if-none-match", "if-unmodified-since"})
_WRITE_CONDITIONS = frozenset({"if-match", "if-none-match"})
_COPY_SOURCE = frozenset({
    "x-amz-copy-source", "x-amz-copy-source-if-match", "x-amz-copy-source-if-modified-since",
    "x-amz-copy-source-if-none-match", "x-amz-copy-source-if-unmodified-since", "x-amz-source-expected-bucket-owner",
}) | SOURCE_HEADERS  # fmt: skip
_READ = _OWNER | _READ_CONDITIONS | CUSTOMER_HEADERS | {
    "range", "x-amz-checksum-mode", "partNumber", "versionId", "response-cache-control",
    "response-content-disposition", "response-content-encoding", "response-content-language", "response-content-type",
    "response-expires",
}  # fmt: skip
_LIST = _OWNER | {"delimiter", "encoding-type", "prefix"}
_PART = _OWNER | CUSTOMER_HEADERS | {"partNumber", "uploadId"}

HONOURED: Mapping[Operation, frozenset[str]] = {
    Operation.LIST_BUCKETS: frozenset({"bucket-region", "continuation-token", "max-buckets", "prefix"}),
    Operation.LIST_DIRECTORY_BUCKETS: frozenset({"continuation-token", "max-directory-buckets"}),
    Operation.CREATE_SESSION: WRITE_HEADERS - CUSTOMER_HEADERS | {SESSION_MODE},
    Operation.CREATE_BUCKET: frozenset({
        "x-amz-acl", "x-amz-bucket-object-lock-enabled", "x-amz-grant-full-control", "x-amz-grant-read",
        "x-amz-grant-read-acp", "x-amz-grant-write", "x-amz-grant-write-acp", "x-amz-object-ownership",
    }),
    Operation.HEAD_BUCKET: _OWNER,
    Operation.DELETE_BUCKET: _OWNER,
    Operation.GET_BUCKET_LOCATION: _OWNER,
    Operation.GET_BUCKET_VERSIONING: _OWNER,
    Operation.PUT_BUCKET_VERSIONING: _OWNER | _BODY_CHECKS,
    Operation.GET_BUCKET_TAGGING: _OWNER,
    Operation.PUT_BUCKET_TAGGING: _OWNER | _BODY_CHECKS,
    Operation.DELETE_BUCKET_TAGGING: _OWNER,
    Operation.GET_BUCKET_ACL: _OWNER,
    Operation.PUT_BUCKET_ACL: _OWNER | _BODY_CHECKS | _LISTS,
    Operation.GET_BUCKET_OWNERSHIP_CONTROLS: _OWNER,
    Operation.GET_PUBLIC_ACCESS_BLOCK: _OWNER,
    Operation.GET_BUCKET_ENCRYPTION: _OWNER,
    Operation.PUT_BUCKET_ENCRYPTION: _OWNER | _BODY_CHECKS,
    Operation.DELETE_BUCKET_ENCRYPTION: _OWNER,
    Operation.GET_BUCKET_POLICY: _OWNER,
    Operation.GET_BUCKET_CORS: _OWNER,
    Operation.PUT_BUCKET_CORS: _OWNER | _BODY_CHECKS,
    Operation.DELETE_BUCKET_CORS: _OWNER,
    Operation.GET_BUCKET_LIFECYCLE_CONFIGURATION: _OWNER,
    Operation.GET_BUCKET_WEBSITE: _OWNER,
    Operation.GET_BUCKET_REPLICATION: _OWNER,
    Operation.GET_OBJECT_LOCK_CONFIGURATION: _OWNER,
    Operation.PUT_OBJECT_LOCK_CONFIGURATION: _OWNER | _BODY_CHECKS,
    Operation.LIST_OBJECTS: _LIST | {"marker", "max-keys"},
    Operation.LIST_OBJECTS_V2: _LIST | {"continuation-token", "fetch-owner", "max-keys", "start-after"},
    Operation.LIST_OBJECT_VERSIONS: _LIST | {"key-marker", "max-keys", "version-id-marker"},
    Operation.LIST_MULTIPART_UPLOADS: _LIST | {"key-marker", "max-uploads", "upload-id-marker"},
    Operation.DELETE_OBJECTS: _OWNER | _BODY_CHECKS | {BYPASS},
    Operation.PUT_OBJECT: _OWNER | {"content-length"} | _BODY_CHECKS | _DESCRIPTION | _WRITE_CONDITIONS | {
        WRITE_OFFSET,
    },
    Operation.POST_OBJECT: _CHECKSUM_HEADERS | _FORM,
    Operation.RENAME_OBJECT: frozenset(
        [
            RENAME_SOURCE, CLIENT_TOKEN, *RENAME_CONDITIONS,
            *(f"{RENAME_SOURCE}-{name}" for name in RENAME_CONDITIONS),
        ]
    ),
    Operation.COPY_OBJECT: _OWNER | _COPY_SOURCE | _DESCRIPTION | _WRITE_CONDITIONS | {
        "x-amz-checksum-algorithm", "x-amz-metadata-directive", "x-amz-tagging-directive",
    },
    Operation.GET_OBJECT: _READ,
    Operation.HEAD_OBJECT: _READ,
    Operation.DELETE_OBJECT: _OWNER | {BYPASS, "if-match", "versionId"},
    Operation.GET_OBJECT_ATTRIBUTES: _OWNER | CUSTOMER_HEADERS | {
        "versionId", "x-amz-max-parts", "x-amz-object-attributes", "x-amz-part-number-marker",
    },
    Operation.GET_OBJECT_TAGGING: _OWNER | {"versionId"},
    Operation.PUT_OBJECT_TAGGING: _OWNER | _BODY_CHECKS | {"versionId"},
    Operation.DELETE_OBJECT_TAGGING: _OWNER | {"versionId"},
    Operation.GET_OBJECT_ACL: _OWNER | {"versionId"},
    Operation.PUT_OBJECT_ACL: _OWNER | _BODY_CHECKS | _LISTS | {"versionId"},
    Operation.GET_OBJECT_RETENTION: _OWNER | {"versionId"},
    Operation.PUT_OBJECT_RETENTION: _OWNER | _BODY_CHECKS | {BYPASS, "versionId"},
    Operation.GET_OBJECT_LEGAL_HOLD: _OWNER | {"versionId"},
    Operation.PUT_OBJECT_LEGAL_HOLD: _OWNER | _BODY_CHECKS | {"versionId"},
    Operation.CREATE_MULTIPART_UPLOAD: _OWNER | _DESCRIPTION | {"x-amz-checksum-algorithm", "x-amz-checksum-type"},
    Operation.UPLOAD_PART: _PART | _BODY_CHECKS | {"content-length"},
    Operation.UPLOAD_PART_COPY: _PART | _COPY_SOURCE | {"x-amz-copy-source-range"},
    Operation.LIST_PARTS: _OWNER | CUSTOMER_HEADERS | {"max-parts", "part-number-marker", "uploadId"},
    Operation.COMPLETE_MULTIPART_UPLOAD: _OWNER | CUSTOMER_HEADERS | _CHECKSUM_HEADERS | _WRITE_CONDITIONS | {
        "uploadId", "x-amz-checksum-type", "x-amz-mp-object-size",
    },
    Operation.ABORT_MULTIPART_UPLOAD: _OWNER | {"uploadId"},
}  # fmt: skip
"""The headers and query parameters that an operation reads: it does what they ask for, or rejects the value as S3 does.
Headers are in lower case; `x-amz-meta-` stands for all user metadata. PostObject has the fields of its form."""

_TAG = ("Tag", "Tag/Key", "Tag/Value")
_PART_CHECKSUMS = tuple(f"Part/Checksum{name.upper()}" for name in _CHECKSUMS)
ELEMENTS: Mapping[str, frozenset[str]] = {
    "CreateBucketConfiguration": frozenset({
        "Bucket", "Bucket/DataRedundancy", "Bucket/Type", "Location", "Location/Name", "Location/Type",
        "LocationConstraint", "Tags", *(f"Tags/{name}" for name in _TAG),
    }),
    "CORSConfiguration": frozenset({
        "CORSRule", "CORSRule/AllowedHeader", "CORSRule/AllowedMethod", "CORSRule/AllowedOrigin",
        "CORSRule/ExposeHeader", "CORSRule/ID", "CORSRule/MaxAgeSeconds",
    }),
    "VersioningConfiguration": frozenset({"MfaDelete", "Status"}),
    "ServerSideEncryptionConfiguration": frozenset({
        "Rule", "Rule/ApplyServerSideEncryptionByDefault", "Rule/BucketKeyEnabled",
        "Rule/ApplyServerSideEncryptionByDefault/KMSMasterKeyID",
        "Rule/ApplyServerSideEncryptionByDefault/SSEAlgorithm",
    }),
    "ObjectLockConfiguration": frozenset({
        "ObjectLockEnabled", "Rule", "Rule/DefaultRetention", "Rule/DefaultRetention/Days",
        "Rule/DefaultRetention/Mode", "Rule/DefaultRetention/Years",
    }),
    "Retention": frozenset({"Mode", "RetainUntilDate"}),
    "LegalHold": frozenset({"Status"}),
    "Tagging": frozenset({"TagSet", *(f"TagSet/{name}" for name in _TAG)}),
    "Delete": frozenset({"Object", "Object/ETag", "Object/Key", "Object/VersionId", "Quiet"}),
    "CompleteMultipartUpload": frozenset({"Part", "Part/ETag", "Part/PartNumber", *_PART_CHECKSUMS}),
}  # fmt: skip
"""The elements that are read of each document, by its root."""

_UNSUPPORTED_ELEMENTS = frozenset({
    "Object/LastModifiedTime", "Object/Size", "Rule/BlockedEncryptionTypes",
    "EventHold", "EventHoldDuration", "Rule/DefaultRetention/DefaultEventHold",
}) | {
    f"Part/Checksum{name.upper()}" for name in _OTHER_CHECKSUMS
}  # fmt: skip

_CHECKSUMS_OF_NO_BODY = frozenset(f"x-amz-checksum-{name}" for name in (*_CHECKSUMS, *_OTHER_CHECKSUMS))
"""Accepted where no body comes that they could be wrong about; what S3 does with them there is not recorded."""

_ACCEPTED = {
    operation: TRANSPORT
    | members
    | NO_EFFECT.keys()
    | _OWNER
    | (_CHECKSUMS_OF_NO_BODY if operation in WITHOUT_BODY else frozenset())
    for operation, members in HONOURED.items()
}
_IN_QUERY = frozenset({"x-amz-checksum-mode"})  # reads take it from there too: presigned URLs of AWS's SDK have it
_ACCOUNT = re.compile(r"[0-9]{12}")


def check_members(operation: Operation, fields: Mapping[str, str], query: Mapping[str, str]) -> None:
    """Reject headers and query parameters that ask for what `operation` does not do. Raises `S3Error`."""
    if not TRANSPORT.issuperset(fields):
        accepted = _ACCEPTED[operation]
        unread = [
            name
            for name in fields
            if name.startswith("x-amz-") and name not in accepted and not name.startswith("x-amz-meta-")
        ]
        if unread:
            raise _not_implemented(min(unread))
        for name in ("x-amz-expected-bucket-owner", "x-amz-source-expected-bucket-owner"):
            if name in fields:
                _check_owner(fields[name])
    for name in query:
        # S3 takes its headers from the query of a presigned request as well.
        lower = name.lower()
        if lower.startswith("x-amz-") and name not in SIGNATURE_PARAMETERS | _IN_QUERY and lower not in NO_EFFECT:
            raise not_implemented(f"{name} in the query")


def parse_known(data: bytes, root: str) -> XmlElement:
    """Read a document whose root is `root`. Raises `S3Error` for elements that are not read."""
    document = parse(data, root)
    _check_elements(document, "", ELEMENTS[root])
    return document


def parse_tagging(data: bytes, owner: str) -> tuple[tuple[str, str], ...]:
    """Read a Tagging document for an `object` or a `bucket`; it may name none. Raises `S3Error`."""
    tags = [tag for tags in parse_known(data, "Tagging").all("TagSet") for tag in tags.all("Tag")]
    return checked_tags([(tag.need("Key"), tag.need("Value")) for tag in tags], owner)


def _check_elements(node: XmlElement, above: str, known: frozenset[str]) -> None:
    for name, child in node.children():
        path = f"{above}{name}"
        if path in _UNSUPPORTED_ELEMENTS:
            raise not_implemented(f"the element {path}")
        if path not in known:
            raise malformed(f"<{path[:100]}> is not known")
        _check_elements(child, f"{path}/", known)


def _check_owner(account: str) -> None:
    if _ACCOUNT.fullmatch(account) is None:
        message = f"The value of the expected bucket owner parameter must be an AWS Account ID... [{account}]"
        raise S3Error(status=400, code="InvalidBucketOwnerAWSAccountID", message=message)
    if account != ACCOUNT_ID:
        raise S3Error(status=403, code="AccessDenied", message="Access Denied")


def _not_implemented(name: str) -> S3Error:
    """The error for a header; where S3 has no other, NotImplemented."""
    algorithm = name.removeprefix("x-amz-checksum-")
    if algorithm not in {name, "mode", *_CHECKSUMS, *_OTHER_CHECKSUMS}:
        message = "The algorithm type you specified in x-amz-checksum- header is invalid."
        return S3Error(status=400, code="InvalidRequest", message=message)
    if name == "x-amz-server-side-encryption":
        message = f"{name} header is not supported for this operation."
    else:
        return not_implemented(name, header=name)
    return S3Error(status=400, code="InvalidArgument", message=message, details=(("ArgumentName", name),))
