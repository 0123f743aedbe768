"""A logged request: what one line of an access log says of one S3 operation."""

from http import HTTPStatus

import msgspec

from s3bench.load.operation import OperationKind

DELETE_OF_A_VERSION = "delete of a version"
"""The `operation` of a DELETE with a version id, which has no kind: the object is not deleted by it, or comes back."""


class LoggedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One operation of a log.

    `at_s` is when it started, in seconds since the epoch, or since the start of a trace that has no dates; lines of a
    log need not be in its order. `kind` is `None` for operations that the load generator does not make; `operation` is
    the log's own name of it. `object_bytes` is the size of the whole object: written by a PUT, or read from by a GET or
    a RANGE where the log has it. `body_bytes` is what was transferred. `range_start` is the first byte of a RANGE, or
    `None` where the log does not have it; its length is `body_bytes`. `status` is the HTTP status, 0 where the log has
    none. `elapsed_s` is how long the server took, where the log has it. `upload_id` and `part_number` are those of a
    request of a multipart upload, where the log has them.
    """

    at_s: float
    kind: OperationKind | None
    operation: str
    bucket: str = ""
    key: str = ""
    object_bytes: int | None = None
    body_bytes: int | None = None
    range_start: int | None = None
    status: int = 0
    elapsed_s: float | None = None
    upload_id: str = ""
    part_number: int | None = None

    @property
    def succeeded(self) -> bool:
        """Whether the server did what was asked, as far as the log says; a redirect or a 304 is no success."""
        return self.status < HTTPStatus.MULTIPLE_CHOICES
