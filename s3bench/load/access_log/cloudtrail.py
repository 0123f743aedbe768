"""CloudTrail data events of S3, one event a line, or files as CloudTrail delivers them, `{"Records": [...]}`.

https://docs.aws.amazon.com/awscloudtrail/latest/userguide/cloudtrail-event-reference-record-contents.html. Times are in
whole seconds. Events have no HTTP status: an error code becomes the status that S3 sends with it. Events of other
services, and those of the management of S3, have no `kind`.
"""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import msgspec

from s3bench.load.access_log.broken_line import BrokenLine
from s3bench.load.access_log.http_request import first_of_range
from s3bench.load.access_log.logged_request import DELETE_OF_A_VERSION, LoggedRequest
from s3bench.load.access_log.timestamps import rfc3339_s
from s3bench.load.access_log.whole_number import whole_number
from s3bench.load.operation import SENDING, OperationKind

EXAMPLE = '{"eventTime": "2019-02-01T03:18:19Z", "eventName": "GetObject", "requestParameters": {...}, ...}'

_KINDS = {
    "GetObject": OperationKind.GET,
    "HeadObject": OperationKind.HEAD,
    "PutObject": OperationKind.PUT,
    "PostObject": OperationKind.PUT,
    "DeleteObject": OperationKind.DELETE,
    "ListObjects": OperationKind.LIST,
    "ListObjectsV2": OperationKind.LIST,
    "CopyObject": OperationKind.COPY,
    "CreateMultipartUpload": OperationKind.MULTIPART_CREATE,
    "UploadPart": OperationKind.MULTIPART_PART,
    "CompleteMultipartUpload": OperationKind.MULTIPART_COMPLETE,
    "AbortMultipartUpload": OperationKind.MULTIPART_ABORT,
}
_STATUSES = {
    "NoSuchKey": HTTPStatus.NOT_FOUND,
    "NoSuchBucket": HTTPStatus.NOT_FOUND,
    "NotFound": HTTPStatus.NOT_FOUND,
    "AccessDenied": HTTPStatus.FORBIDDEN,
    "NotModified": HTTPStatus.NOT_MODIFIED,
    "PreconditionFailed": HTTPStatus.PRECONDITION_FAILED,
    "InternalError": HTTPStatus.INTERNAL_SERVER_ERROR,
    "SlowDown": HTTPStatus.SERVICE_UNAVAILABLE,
    "ServiceUnavailable": HTTPStatus.SERVICE_UNAVAILABLE,
}
_SOURCES = frozenset({"s3.amazonaws.com", "s3express.amazonaws.com"})


class _Transfer(msgspec.Struct, frozen=True):
    bytes_in: float | None = msgspec.field(name="bytesTransferredIn", default=None)
    bytes_out: float | None = msgspec.field(name="bytesTransferredOut", default=None)


class _Event(msgspec.Struct, frozen=True):
    time: str = msgspec.field(name="eventTime")
    name: str = msgspec.field(name="eventName")
    source: str = msgspec.field(name="eventSource")
    error: str | None = msgspec.field(name="errorCode", default=None)
    parameters: dict[str, Any] | None = msgspec.field(name="requestParameters", default=None)
    transfer: _Transfer | None = msgspec.field(name="additionalEventData", default=None)


_EVENT = msgspec.json.Decoder(_Event)


def parser() -> Callable[[str], LoggedRequest]:
    """The parser of a line, which raises `BrokenLine`."""
    return _parse


def _parse(line: str) -> LoggedRequest:
    try:
        event = _EVENT.decode(line)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise BrokenLine("not an event of CloudTrail") from error
    if event.source not in _SOURCES:
        return LoggedRequest(at_s=rfc3339_s(event.time), kind=None, operation=f"{event.name} of {event.source}")
    parameters = event.parameters or {}
    transfer = event.transfer or _Transfer()
    kind, operation = _KINDS.get(event.name), event.name
    if kind is OperationKind.DELETE and parameters.get("versionId"):
        kind, operation = None, DELETE_OF_A_VERSION
    range_start = None
    if kind is OperationKind.GET and (asked := parameters.get("Range") or parameters.get("range")):
        kind = OperationKind.RANGE
        range_start = first_of_range(str(asked))
    moved = transfer.bytes_in if kind in SENDING else transfer.bytes_out
    body_bytes = None if moved is None else int(moved)
    is_whole = kind in SENDING or kind is OperationKind.GET
    status = 0 if event.error is None else _STATUSES.get(event.error, HTTPStatus.BAD_REQUEST)
    return LoggedRequest(
        at_s=rfc3339_s(event.time),
        kind=kind,
        operation=operation,
        bucket=str(parameters.get("bucketName", "")),
        key=str(parameters.get("key", "")),
        object_bytes=body_bytes if is_whole else None,
        body_bytes=body_bytes,
        range_start=range_start,
        status=int(status),
        upload_id=str(parameters.get("uploadId", "")),
        part_number=whole_number(str(parameters.get("partNumber", ""))),
    )
