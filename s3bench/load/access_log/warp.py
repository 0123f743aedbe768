"""The operations that warp records (https://github.com/minio/warp, `Operations.CSV` in pkg/bench/ops.go).

They are values separated by tabs under a header; lines that begin with `#` are comments. What warp writes is
compressed: `zstd -d FILE.csv.zst` first. The start of a range is not recorded.
"""

from collections.abc import Callable

from s3bench.load.access_log.broken_line import BrokenLine
from s3bench.load.access_log.logged_request import LoggedRequest
from s3bench.load.access_log.timestamps import rfc3339_s
from s3bench.load.access_log.whole_number import whole_number
from s3bench.load.operation import OperationKind

COLUMNS = (
    "idx", "thread", "op", "client_id", "n_objects", "bytes", "endpoint", "file", "error", "start", "first_byte", "end",
    "duration_ns",
)  # fmt: skip
"""The first columns; later versions add more."""

EXAMPLE = "\t".join(COLUMNS)

_KINDS = {
    "GET": OperationKind.GET,
    "PUT": OperationKind.PUT,
    "STAT": OperationKind.HEAD,
    "DELETE": OperationKind.DELETE,
    "LIST": OperationKind.LIST,
    "PUTPART": OperationKind.MULTIPART_PART,
}
_BROKEN = "not an operation that warp recorded"
_FAILED = 500  # warp has the words of an error, and no status


def parser() -> Callable[[str], LoggedRequest | None]:
    """The parser of a line, which raises `BrokenLine`; a header or a comment is no request."""
    return _parse


def _parse(line: str) -> LoggedRequest | None:
    if line.startswith(("#", EXAMPLE)):
        return None
    fields = line.split("\t")
    if len(fields) < len(COLUMNS):
        raise BrokenLine(_BROKEN)
    _, _, operation, _, objects, size, _, key, error, start, _, _, duration_ns = fields[: len(COLUMNS)]
    size_bytes, elapsed_ns = whole_number(size), whole_number(duration_ns)
    if size_bytes is None or elapsed_ns is None:
        raise BrokenLine(_BROKEN)
    kind = _KINDS.get(operation)
    if kind is OperationKind.DELETE and objects != "1":  # a DeleteObjects whose keys are not recorded
        kind, operation = None, "DELETE of several objects"
    moves = kind in {OperationKind.GET, OperationKind.PUT, OperationKind.MULTIPART_PART}
    return LoggedRequest(
        at_s=rfc3339_s(start),
        kind=kind,
        operation=operation,
        key=key,
        object_bytes=size_bytes if moves else None,
        body_bytes=size_bytes if moves else 0,
        status=_FAILED if error.strip('"') else 0,
        elapsed_s=elapsed_ns / 1e9,
    )
