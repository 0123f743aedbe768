"""MinIO's audit log, and `mc admin trace --json`: a JSON object a line.

https://min.io/docs/minio/linux/operations/monitoring/minio-logging.html; the fields are those of `audit.Entry`
(github.com/minio/pkg, logger/message/audit) and of `shortTraceMsg` and `traceMessage` (github.com/minio/mc,
cmd/admin-trace.go). An audit entry is dated at the end of its request, a trace at its start. Where headers are logged
sizes are theirs; the counts of MinIO include what is around a body.
"""

import re
from collections.abc import Callable, Mapping

import msgspec

from s3bench.load.access_log.broken_line import BrokenLine
from s3bench.load.access_log.http_request import first_of_range, has_version, upload_and_part, whole_of_range
from s3bench.load.access_log.logged_request import DELETE_OF_A_VERSION, LoggedRequest
from s3bench.load.access_log.timestamps import rfc3339_s, started_s
from s3bench.load.access_log.whole_number import whole_number
from s3bench.load.operation import SENDING, OperationKind

EXAMPLE = '{"version": "1", "time": "2024-05-01T10:00:00Z", "api": {"name": "GetObject", "bucket": ..., ...}, ...}'

_KINDS = {
    "GetObject": OperationKind.GET,
    "HeadObject": OperationKind.HEAD,
    "PutObject": OperationKind.PUT,
    "DeleteObject": OperationKind.DELETE,
    "ListObjectsV1": OperationKind.LIST,
    "ListObjectsV2": OperationKind.LIST,
    "CopyObject": OperationKind.COPY,
    "NewMultipartUpload": OperationKind.MULTIPART_CREATE,
    "PutObjectPart": OperationKind.MULTIPART_PART,
    "CompleteMultipartUpload": OperationKind.MULTIPART_COMPLETE,
    "AbortMultipartUpload": OperationKind.MULTIPART_ABORT,
}
_PARTIAL = 206
_DURATION_PART = re.compile(r"([0-9.]+)(ns|us|µs|μs|ms|s|m|h)")
_UNITS_S = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


class _Api(msgspec.Struct, frozen=True):
    name: str = ""
    bucket: str = ""
    object: str = ""
    status_code: int = msgspec.field(name="statusCode", default=0)
    rx: int = 0
    tx: int = 0
    tx_headers: int = msgspec.field(name="txHeaders", default=0)
    time_to_response: str = msgspec.field(name="timeToResponse", default="")
    time_to_response_ns: str = msgspec.field(name="timeToResponseInNS", default="")


class _Stats(msgspec.Struct, frozen=True):
    rx: int = 0
    tx: int = 0
    duration: int | str = 0


class _Headers(msgspec.Struct, frozen=True):
    headers: dict[str, str] = {}
    query: str = msgspec.field(name="rawQuery", default="")
    status_code: int = msgspec.field(name="statusCode", default=0)


class _Entry(msgspec.Struct, frozen=True):
    """An audit entry, where `api` is an object, or a trace, where it is a name."""

    time: str
    api: _Api | str
    path: str = ""
    query: str = ""
    queries: dict[str, str] = msgspec.field(name="requestQuery", default_factory=dict)
    status_code: int = msgspec.field(name="statusCode", default=0)
    stats: _Stats | None = msgspec.field(name="callStats", default=None)
    request_headers: dict[str, str] = msgspec.field(name="requestHeader", default_factory=dict)
    response_headers: dict[str, str] = msgspec.field(name="responseHeader", default_factory=dict)
    request: _Headers | None = None
    response: _Headers | None = None


_ENTRY = msgspec.json.Decoder(_Entry)


def parser() -> Callable[[str], LoggedRequest]:
    """The parser of a line, which raises `BrokenLine`."""
    return _parse


def _parse(line: str) -> LoggedRequest:
    try:
        entry = _ENTRY.decode(line)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise BrokenLine("not an entry of a MinIO log") from error
    return _of_audit(entry, entry.api) if isinstance(entry.api, _Api) else _of_trace(entry, entry.api)


def _of_audit(entry: _Entry, api: _Api) -> LoggedRequest:
    elapsed_s = _whole(api.time_to_response_ns, 1e-9)
    if elapsed_s is None:
        elapsed_s = _duration_s(api.time_to_response)
    return _request(
        at_s=started_s(entry.time, rfc3339_s(entry.time), elapsed_s),
        operation=api.name,
        bucket=api.bucket,
        key=api.object,
        status=api.status_code,
        elapsed_s=elapsed_s,
        asked=_lower(entry.request_headers),
        answered=_lower(entry.response_headers),
        received=api.rx,
        sent=max(0, api.tx - api.tx_headers),
        names_version=bool(entry.queries.get("versionId")),
        upload_id=entry.queries.get("uploadId", ""),
        part_number=whole_number(entry.queries.get("partNumber", "")),
    )


def _of_trace(entry: _Entry, api: str) -> LoggedRequest:
    stats = entry.stats or _Stats()
    bucket, _, key = entry.path.lstrip("/").partition("/")
    duration = stats.duration
    query = entry.query or (entry.request.query if entry.request else "")
    upload_id, part_number = upload_and_part(query)
    return _request(
        at_s=rfc3339_s(entry.time),
        operation=api.removeprefix("s3."),
        bucket=bucket,
        key=key,
        status=entry.status_code or (entry.response.status_code if entry.response else 0),
        elapsed_s=_duration_s(duration) if isinstance(duration, str) else duration / 1e9 or None,
        asked=_lower(entry.request.headers if entry.request else {}),
        answered=_lower(entry.response.headers if entry.response else {}),
        received=stats.rx,
        sent=stats.tx,
        names_version=has_version(query),
        upload_id=upload_id,
        part_number=part_number,
    )


def _request(
    *,
    at_s: float,
    operation: str,
    bucket: str,
    key: str,
    status: int,
    elapsed_s: float | None,
    asked: Mapping[str, str],
    answered: Mapping[str, str],
    received: int,
    sent: int,
    names_version: bool,
    upload_id: str,
    part_number: int | None,
) -> LoggedRequest:
    kind = _KINDS.get(operation)
    if kind is OperationKind.DELETE and names_version:
        kind, operation = None, DELETE_OF_A_VERSION
    got = _whole(answered.get("content-length", ""))
    range_start = object_bytes = None
    if kind in SENDING:
        length = _whole(asked.get("x-amz-decoded-content-length") or asked.get("content-length", ""))
        object_bytes = body_bytes = received if length is None else int(length)
    else:
        body_bytes = sent if got is None or kind is OperationKind.HEAD else int(got)
        if kind is OperationKind.HEAD and got is not None:
            object_bytes, body_bytes = int(got), 0
    if kind is OperationKind.GET:
        object_bytes = body_bytes
        field = answered.get("content-range") or asked.get("range", "")
        if status == _PARTIAL or field:
            kind, range_start, object_bytes = OperationKind.RANGE, first_of_range(field), whole_of_range(field)
    return LoggedRequest(
        at_s=at_s,
        kind=kind,
        operation=operation,
        bucket=bucket,
        key=key,
        object_bytes=object_bytes,
        body_bytes=body_bytes,
        range_start=range_start,
        status=status,
        elapsed_s=elapsed_s,
        upload_id=upload_id,
        part_number=part_number,
    )


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _whole(text: str, scale: float = 1.0) -> float | None:
    number = whole_number(text.strip())
    return None if number is None else number * scale


def _duration_s(text: str) -> float | None:
    """A duration of Go, such as `1m2.5s` or `512993ns`; `None` where there is none."""
    parts = _DURATION_PART.findall(text)
    try:
        return sum(float(number) * _UNITS_S[unit] for number, unit in parts) if parts else None
    except ValueError as error:
        raise BrokenLine("a duration that cannot be read") from error
