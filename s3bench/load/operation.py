"""The kinds of operations that the load generator makes, and the ways in which one can fail."""

from enum import StrEnum


class OperationKind(StrEnum):
    """One kind of work. `MULTIPART` is a whole upload; the requests it consists of have kinds of their own."""

    PUT = "put"
    GET = "get"
    RANGE = "range"
    HEAD = "head"
    DELETE = "delete"
    LIST = "list"
    COPY = "copy"
    MULTIPART = "multipart"
    MULTIPART_CREATE = "multipart.create"
    MULTIPART_PART = "multipart.part"
    MULTIPART_COMPLETE = "multipart.complete"
    MULTIPART_ABORT = "multipart.abort"


MIXABLE = (
    OperationKind.PUT,
    OperationKind.GET,
    OperationKind.RANGE,
    OperationKind.HEAD,
    OperationKind.DELETE,
    OperationKind.LIST,
    OperationKind.COPY,
    OperationKind.MULTIPART,
)
"""What a mix can be made of."""

READING = frozenset({OperationKind.GET, OperationKind.RANGE, OperationKind.HEAD, OperationKind.COPY})
"""What needs objects that are there already."""

SENDING = frozenset({OperationKind.PUT, OperationKind.MULTIPART_PART})
"""Requests that carry object data."""

WRITING = frozenset({OperationKind.PUT, OperationKind.COPY, OperationKind.MULTIPART})
"""What leaves objects behind."""


class AttemptFailure(StrEnum):
    """Why an attempt failed that got no answer of S3's, or a wrong one.

    `SURPLUS`: more bytes followed the answer than its framing allows. `EARLY`: a success was reported before the whole
    request had been sent. `NO_THREAD`: a planned operation waited for a free thread for longer than the time limit, so
    that no request was sent.
    """

    REFUSED = "connection refused"
    UNREACHABLE = "host unreachable"
    TLS = "TLS failed"
    RESET = "connection reset"
    CLOSED = "connection closed"
    TIMEOUT = "timeout"
    TRUNCATED = "body truncated"
    CORRUPT = "body corrupt"
    PROTOCOL = "no HTTP answer"
    SURPLUS = "surplus bytes"
    EARLY = "early success"
    NO_THREAD = "no free thread"
    DESCRIPTORS = "no file descriptor left"
    PORTS = "no local port left"
