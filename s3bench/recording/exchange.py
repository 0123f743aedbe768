"""One request of a recorded command with its response, and what kind of S3 request it is. Pure.

Paths are decoded and path-style, `/bucket/key`; queries are raw. Sizes are bytes, without framing.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import parse_qsl

from s3bench.s3.protocol.http import SUCCESSES
from s3bench.s3.wirelog import TransferEngine

BODY_KEPT_BYTES_MAX = 8 << 20
"""Longest response body that is kept. A page of 1,000 keys of the longest names, all escaped, is below 8 MiB."""

_SCOPE = re.compile(r"Credential=[^,/ ]+/[0-9]{8}/([^,/ ]+)/([^,/ ]+)/aws4_request")
_TOTAL = re.compile(r"bytes [0-9]+-[0-9]+/([0-9]+)")
_SIGNING = re.compile(
    r"X-Amz-(?:Algorithm|Credential|Date|Expires|SignedHeaders|Signature|Security-Token)", re.IGNORECASE
)
_SUBRESOURCES = frozenset({
    "acl", "attributes", "legal-hold", "restore", "retention", "select", "tagging", "torrent", "uploads", "uploadId",
    "partNumber", "annotation",
})  # fmt: skip


class Kind(StrEnum):
    """What a request is, as far as its response needs it.

    `OTHER` is every request whose response is kept as it was: of other services, of buckets, and of sub-resources.
    """

    READ = "read"
    HEAD = "head"
    LIST = "list"
    PUT = "put"
    COPY = "copy"
    START_UPLOAD = "start upload"
    PUT_PART = "put part"
    COPY_PART = "copy part"
    FINISH_UPLOAD = "finish upload"
    ABORT_UPLOAD = "abort upload"
    DELETE = "delete"
    DELETE_MANY = "delete many"
    OTHER = "other"


_WRITES: dict[tuple[str, frozenset[str]], Kind] = {
    ("PUT", frozenset()): Kind.PUT,
    ("PUT", frozenset({"partNumber", "uploadId"})): Kind.PUT_PART,
    ("POST", frozenset({"uploads"})): Kind.START_UPLOAD,
    ("POST", frozenset({"uploadId"})): Kind.FINISH_UPLOAD,
    ("DELETE", frozenset({"uploadId"})): Kind.ABORT_UPLOAD,
    ("DELETE", frozenset()): Kind.DELETE,
}
_COPIES: dict[tuple[str, frozenset[str]], Kind] = {
    ("PUT", frozenset()): Kind.COPY,
    ("PUT", frozenset({"partNumber", "uploadId"})): Kind.COPY_PART,
}
"""Requests to objects by their method and the sub-resources that they name, without and with a copy source."""


def signed_scope(fields: Mapping[str, str]) -> tuple[str, str]:
    """The region and the service that a request was signed for; both empty if it was not signed."""
    found = _SCOPE.search(fields.get("authorization", ""))
    return (found[1], found[2]) if found else ("", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedExchange:
    """One request and its response.

    `service` is that of the request's signature, empty for an unsigned one. `request_bytes` is the size of the
    payload, `copy_source` the decoded path of the object that it copies, or empty. `response_bytes` is the size of the
    response's body and `body` the body itself; it is `None` if it was not kept: an object's content, or one that is too
    long.
    """

    method: str
    path: str
    query: str
    service: str
    engine: TransferEngine
    request_bytes: int
    copy_source: str
    status: int
    headers: tuple[tuple[str, str], ...]
    response_bytes: int
    body: bytes | None

    @property
    def bucket(self) -> str:
        """The bucket, of an S3 request."""
        return self.path.lstrip("/").partition("/")[0]

    @property
    def key(self) -> str:
        """The object's key, of an S3 request; empty for a request to a bucket."""
        return self.path.removeprefix("/").partition("/")[2]

    @property
    def parameters(self) -> dict[str, str]:
        """The query's parameters, those of a signature left out."""
        pairs = parse_qsl(self.query, keep_blank_values=True)
        return {name: value for name, value in pairs if not _SIGNING.fullmatch(name)}

    @property
    def is_success(self) -> bool:
        """Whether the status is 2xx."""
        return self.status in SUCCESSES

    @property
    def kind(self) -> Kind:
        """What it is; failures are `OTHER`, since their responses are kept."""
        if not self.is_success or self.service not in {"s3", "s3express", ""}:
            return Kind.OTHER
        return kind_of(self.method, self.path, self.parameters, is_copy=bool(self.copy_source))

    def header(self, name: str) -> str:
        """The value of a response header; empty if there is none."""
        return next((value for field, value in self.headers if field.lower() == name), "")

    @property
    def object_bytes(self) -> int | None:
        """The size of the object that a successful `READ` or `HEAD` was about; `None` if the response has none."""
        total = _TOTAL.fullmatch(self.header("content-range"))
        if total:
            return int(total[1])
        length = self.header("content-length")
        if length.isascii() and length.isdigit():
            return int(length)
        return self.response_bytes if self.method == "GET" else None


def kind_of(method: str, path: str, parameters: Mapping[str, str], *, is_copy: bool = False) -> Kind:
    """What an S3 request is, by its method, path and query."""
    bucket, _, key = path.removeprefix("/").partition("/")
    if not bucket:
        return Kind.OTHER
    if not key:
        return _kind_of_bucket(method, parameters)
    named = frozenset(_SUBRESOURCES & parameters.keys())
    if method in {"GET", "HEAD"} and named <= {"partNumber"}:
        return Kind.READ if method == "GET" else Kind.HEAD
    if is_copy:
        return _COPIES.get((method, named), Kind.OTHER)
    return _WRITES.get((method, named), Kind.OTHER)


def _kind_of_bucket(method: str, parameters: Mapping[str, str]) -> Kind:
    if method == "POST" and "delete" in parameters:
        return Kind.DELETE_MANY
    if method == "GET" and parameters.get("list-type") == "2":
        return Kind.LIST
    return Kind.OTHER
