"""IBM's object store traces, as SNIA's IOTTA repository publishes them (http://iotta.snia.org/traces/key-value/36305).

A line is the time in milliseconds since the trace's start, the request, the object, and where it is known the object's
size and the first and last byte of the range that was read.
"""

from collections.abc import Callable

from s3bench.load.access_log.broken_line import BrokenLine
from s3bench.load.access_log.logged_request import LoggedRequest
from s3bench.load.access_log.whole_number import whole_number
from s3bench.load.operation import OperationKind

EXAMPLE = "1232488 REST.GET.OBJECT 95d363d3fbdc0b03 1168 0 1167"

_KINDS = {
    "REST.GET.OBJECT": OperationKind.GET,
    "REST.HEAD.OBJECT": OperationKind.HEAD,
    "REST.PUT.OBJECT": OperationKind.PUT,
    "REST.DELETE.OBJECT": OperationKind.DELETE,
    "REST.COPY.OBJECT": OperationKind.COPY,
}
_BROKEN = "not a line of an IBM object store trace"
_FIELDS_MIN, _FIELDS_MAX = 3, 6


def parser() -> Callable[[str], LoggedRequest]:
    """The parser of a line, which raises `BrokenLine`."""
    return _parse


def _parse(line: str) -> LoggedRequest:
    fields = line.split()
    if not _FIELDS_MIN <= len(fields) <= _FIELDS_MAX or not fields[1].startswith("REST."):
        raise BrokenLine(_BROKEN)
    time_ms = whole_number(fields[0])
    operation, key = fields[1:3]
    numbers = [number for text in fields[3:] if (number := whole_number(text)) is not None]
    if time_ms is None or len(numbers) != len(fields) - _FIELDS_MIN:
        raise BrokenLine(_BROKEN)
    kind = _KINDS.get(operation)
    size_bytes = numbers[0] if numbers else None
    body_bytes = size_bytes if kind in {OperationKind.GET, OperationKind.PUT} else 0
    range_start = None
    if kind is OperationKind.GET and len(numbers) == 3:  # noqa: PLR2004 (size, first and last byte)
        _, start, last = numbers
        if last < start:
            raise BrokenLine("a range that ends before it starts")
        if start or last + 1 != size_bytes:
            kind, range_start, body_bytes = OperationKind.RANGE, start, last + 1 - start
    return LoggedRequest(
        at_s=time_ms / 1e3,
        kind=kind,
        operation=operation,
        key=key,
        object_bytes=size_bytes,
        body_bytes=body_bytes,
        range_start=range_start,
    )
