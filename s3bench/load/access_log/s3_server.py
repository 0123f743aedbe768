"""S3 server access logs (https://docs.aws.amazon.com/AmazonS3/latest/userguide/AccessLogFormat.html).

Times are those at which requests were received, in whole seconds; lines are in no particular order. Keys stay encoded
as they are in the log. The log has no ranges: of a GET with status 206 only the number of bytes is known. Upload ids,
part numbers and version ids are in the request URI; a DeleteObjects has the version id of each key in a field.
"""

import re
from collections.abc import Callable
from http import HTTPStatus

from s3bench.load.access_log.broken_line import BrokenLine
from s3bench.load.access_log.http_request import has_version, upload_and_part
from s3bench.load.access_log.logged_request import DELETE_OF_A_VERSION, LoggedRequest
from s3bench.load.access_log.timestamps import common_log_s
from s3bench.load.operation import SENDING, OperationKind

EXAMPLE = 'OWNER BUCKET [06/Feb/2019:00:00:38 +0000] IP REQUESTER ID REST.GET.OBJECT KEY "GET /KEY HTTP/1.1" 200 ...'

_LINE = re.compile(
    r'\S+ (\S+) \[([^\]]+)\] \S+ \S+ \S+ (\S+) (\S+) ("[^"]*"|-) (\d{3}|-) \S+ '
    r"(\d{1,18}|-) (\d{1,18}|-) (\d{1,18}|-)(?: |$)",
    re.ASCII,
)
_KINDS = {
    "REST.GET.OBJECT": OperationKind.GET,
    "WEBSITE.GET.OBJECT": OperationKind.GET,
    "REST.HEAD.OBJECT": OperationKind.HEAD,
    "WEBSITE.HEAD.OBJECT": OperationKind.HEAD,
    "REST.PUT.OBJECT": OperationKind.PUT,
    "REST.POST.OBJECT": OperationKind.PUT,  # a form upload
    "REST.DELETE.OBJECT": OperationKind.DELETE,
    "BATCH.DELETE.OBJECT": OperationKind.DELETE,  # one line for each key of a DeleteObjects
    "REST.GET.BUCKET": OperationKind.LIST,
    "REST.COPY.OBJECT": OperationKind.COPY,
    "REST.POST.UPLOADS": OperationKind.MULTIPART_CREATE,
    "REST.PUT.PART": OperationKind.MULTIPART_PART,
    "REST.POST.UPLOAD": OperationKind.MULTIPART_COMPLETE,
    "REST.DELETE.UPLOAD": OperationKind.MULTIPART_ABORT,
}
_VERSION = re.compile(r'\S+ (?:"[^"]*"|-) (?:".*"|-) (\S+)')
"""What follows the total time: turn-around time, referrer, user agent and version id."""

_PARTIAL = "206"


def parser() -> Callable[[str], LoggedRequest]:
    """The parser of a line, which raises `BrokenLine`."""
    return _parse


def _parse(line: str) -> LoggedRequest:
    match = _LINE.match(line)
    if match is None:
        raise BrokenLine("not a line of an S3 server access log")
    bucket, time, operation, key, request, status, sent, size, total_ms = match.groups()
    kind = _KINDS.get(operation)
    if kind is OperationKind.GET and status == _PARTIAL:
        kind = OperationKind.RANGE
    elif kind is OperationKind.DELETE and _is_of_a_version(request, line[match.end() :]):
        kind, operation = None, DELETE_OF_A_VERSION
    upload_id, part_number = _upload_and_part(request) if "uploadId=" in request else ("", None)
    object_bytes = None if size == "-" else int(size)
    return LoggedRequest(
        at_s=common_log_s(time),
        kind=kind,
        operation=operation,
        bucket=bucket,
        key="" if key == "-" else key,
        object_bytes=object_bytes,
        body_bytes=object_bytes if kind in SENDING else 0 if sent == "-" else int(sent),
        status=int(HTTPStatus.OK) if status == "-" else int(status),
        elapsed_s=None if total_ms == "-" else int(total_ms) / 1e3,
        upload_id=upload_id,
        part_number=part_number,
    )


def _upload_and_part(request: str) -> tuple[str, int | None]:
    """Those of a request such as `"PUT /KEY?partNumber=1&uploadId=A HTTP/1.1"`."""
    return upload_and_part(_query_of(request))


def _is_of_a_version(request: str, rest: str) -> bool:
    """Whether a DELETE names a version: in its request, or, of a DeleteObjects, in the `rest` of its line."""
    if request != "-":
        return "versionId=" in request and has_version(_query_of(request))
    version = _VERSION.match(rest)
    return version is not None and version[1] != "-"


def _query_of(request: str) -> str:
    return request.rpartition(" ")[0].partition("?")[2]
