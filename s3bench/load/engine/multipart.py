"""A multipart upload: its requests in order, and what has to be remembered between them."""

from s3bench.load.engine.objects import ObjectBody
from s3bench.load.operation import OperationKind

PARTS_MAX = 10_000
"""S3's limit (https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html); parts become larger to keep it."""


class MultipartUpload:
    """One upload of `body` in parts of `part_bytes`, the last one smaller; an empty body is one empty part."""

    __slots__ = (
        "_body", "_part_bytes", "_start", "failure", "first_ns", "id", "parts", "planned_ns", "started_ns", "step",
    )  # fmt: skip

    def __init__(self, body: ObjectBody, part_bytes: int) -> None:
        self._body = body
        self._part_bytes = max(part_bytes, -(-body.size_bytes // PARTS_MAX))
        self._start = 0
        self.step = OperationKind.MULTIPART_CREATE
        self.id = ""
        self.parts: list[tuple[str, str]] = []  # ETag and CRC-32 of those that are there
        self.failure = ""  # what went wrong, for which it is aborted
        self.planned_ns = 0  # in open loop, once it has started
        self.started_ns = 0
        self.first_ns = 0  # the first byte of the first response

    @property
    def size_bytes(self) -> int:
        """The size of the whole object."""
        return self._body.size_bytes

    @property
    def part_number(self) -> int:
        """The number of the part that comes next, from 1."""
        return len(self.parts) + 1

    def part(self) -> ObjectBody:
        """The part that comes next."""
        return self._body.part(self._start, min(self._start + self._part_bytes, self._body.size_bytes))

    def created(self, upload_id: str) -> None:
        """Take note that the upload has begun."""
        self.id = upload_id
        self.step = OperationKind.MULTIPART_PART

    def stored(self, etag: str, crc32: str) -> None:
        """Take note that the part is there."""
        self.parts.append((etag, crc32))
        self._start += self._part_bytes
        if self._start >= self._body.size_bytes:
            self.step = OperationKind.MULTIPART_COMPLETE

    def fail(self, failure: str) -> bool:
        """Take note that a request failed for good; whether there is an upload that must be aborted."""
        self.failure = self.failure or failure
        if not self.id or self.step is OperationKind.MULTIPART_ABORT:
            return False
        self.step = OperationKind.MULTIPART_ABORT
        return True
