"""An S3 operation as HTTP shows it: method, path and query, for logs that name no operation."""

from collections.abc import Set as AbstractSet
from urllib.parse import unquote

from s3bench.load.access_log.whole_number import whole_number
from s3bench.load.operation import OperationKind

_OF_AN_OBJECT = {
    "GET": OperationKind.GET,
    "HEAD": OperationKind.HEAD,
    "PUT": OperationKind.PUT,
    "DELETE": OperationKind.DELETE,
}
_OF_AN_UPLOAD = {
    "PUT": OperationKind.MULTIPART_PART,
    "POST": OperationKind.MULTIPART_COMPLETE,
    "DELETE": OperationKind.MULTIPART_ABORT,
}
_SUBRESOURCES = frozenset({
    *("accelerate", "acl", "analytics", "attributes", "cors", "delete", "encryption", "intelligent-tiering"),
    *("inventory", "legal-hold", "lifecycle", "location", "logging", "metrics", "notification", "object-lock"),
    *("ownershipControls", "policy", "policyStatus", "publicAccessBlock", "replication", "requestPayment", "restore"),
    *("retention", "select", "session", "tagging", "torrent", "uploads", "versioning", "versions", "website"),
})  # fmt: skip
"""Parameters that make another operation of a request (Amazon S3 API Reference)."""


def split_target(target: str) -> tuple[str, str, frozenset[str]]:
    """Bucket, key and the names in the query of a path-style request target, `/BUCKET/KEY?QUERY`."""
    path, _, query = target.partition("?")
    bucket, _, key = path.lstrip("/").partition("/")
    names = frozenset(part.partition("=")[0] for part in query.split("&")) if query else frozenset()
    return bucket, unquote(key, errors="surrogateescape") if "%" in key else key, names


def kind_of(method: str, key: str, names: AbstractSet[str], *, is_copy: bool = False) -> OperationKind | None:
    """The kind of a request on `key`, which is empty for a bucket; `None` for what the load generator does not make."""
    if not key:
        return OperationKind.LIST if method == "GET" and not names & _SUBRESOURCES else None
    if method == "POST" and "uploads" in names:
        return OperationKind.MULTIPART_CREATE
    if names & _SUBRESOURCES:
        return None
    if "uploadId" in names:
        return None if is_copy else _OF_AN_UPLOAD.get(method)
    if method == "PUT" and is_copy:
        return OperationKind.COPY
    return _OF_AN_OBJECT.get(method)


def upload_and_part(query: str) -> tuple[str, int | None]:
    """Upload id and part number by the query of a request, such as `partNumber=1&uploadId=A`; "" and `None` without."""
    upload_id, part_number = "", None
    for parameter in query.split("&"):
        name, _, value = parameter.partition("=")
        if name == "uploadId":
            upload_id = unquote(value, errors="surrogateescape")
        elif name == "partNumber":
            part_number = whole_number(value)
    return upload_id, part_number


def has_version(query: str) -> bool:
    """Whether the query of a request, such as `versionId=A`, names a version of the object."""
    return any(name == "versionId" and value for name, _, value in (each.partition("=") for each in query.split("&")))


def first_of_range(field: str) -> int | None:
    """The first byte of a Range field such as `bytes=0-99` or of a Content-Range such as `bytes 0-99/200`."""
    numbers = field.strip().removeprefix("bytes").lstrip("= ")
    start, dash, _ = numbers.partition("-")
    return whole_number(start) if dash and "," not in numbers else None


def whole_of_range(field: str) -> int | None:
    """The size of the whole object by a Content-Range such as `bytes 0-99/200`."""
    return whole_number(field.partition("/")[2])
