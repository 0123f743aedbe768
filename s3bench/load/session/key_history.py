"""What the operations of a log on one key mean for the object: its versions, its sizes, and what was there before.

Rows come in the order of keys, and on each key in the order of the log. The plan of an operation is a tuple of the
values of a row (`load.engine.replay_file`). Of a request of a multipart upload `first` is the number of the upload's
id, and `length_bytes` the part number, or `UNKNOWN` where the log does not have them.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby

from s3bench.load.engine.replay_file import KIND_NUMBERS, KINDS, PlannedOperation, RowFlag
from s3bench.load.operation import READING, OperationKind

UNKNOWN = -1
"""A size or the start of a range that the log does not have."""

PART_BYTES = 8 * 1024**2
"""Size of the parts of an upload of which the log has no part."""

PARTS_MAX = 10_000
"""The most parts of an upload."""

OF_UPLOADS = frozenset(
    {
        OperationKind.MULTIPART_CREATE,
        OperationKind.MULTIPART_PART,
        OperationKind.MULTIPART_COMPLETE,
        OperationKind.MULTIPART_ABORT,
    }
)
"""The requests of a multipart upload."""

_NO_ID = UNKNOWN - 1  # the largest number of an upload whose id is not known
_UPLOADS_MAX = 64  # open ones of a key: with more, the oldest counts as not completed
_WRITING = frozenset({OperationKind.PUT, OperationKind.MULTIPART_COMPLETE})
_MULTIPART = KIND_NUMBERS[OperationKind.MULTIPART]
_GOLDEN = 0x9E3779B97F4A7C15  # scatters the starts of ranges that the log does not have


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What became of the rows: operations of the plan by kind, what is not replayed and why, and what else to tell."""

    operations: Counter[OperationKind] = field(default_factory=Counter)
    not_replayed: Counter[str] = field(default_factory=Counter)
    joined: int = 0
    sizes_unknown: int = 0
    starts_unknown: int = 0
    resized: int = 0
    body_bytes: int = 0


@dataclass(slots=True, kw_only=True)
class _Upload:
    """A multipart upload that has begun after so many `others`, operations on its key that are no part of an upload.

    Of parts with a number the last of each counts, as in S3; of the others all do.
    """

    number: int
    start_ns: int
    order: int
    others: int
    lines: int = 0
    sizes: dict[int, int] = field(default_factory=dict)
    unnumbered_bytes: int = 0
    part_bytes: int = UNKNOWN  # of the largest part

    @property
    def size_bytes(self) -> int:
        """The size of all parts; `UNKNOWN` without one."""
        return UNKNOWN if self.part_bytes == UNKNOWN else self.unnumbered_bytes + sum(self.sizes.values())

    def add_part(self, number: int, size_bytes: int) -> None:
        """Take in a part."""
        if number == UNKNOWN:
            self.unnumbered_bytes += size_bytes
        else:
            self.sizes[number] = size_bytes
        self.part_bytes = max(self.part_bytes, size_bytes)


class _OpenUploads:
    """The uploads of one key that have begun and not ended, the one with the latest line last.

    The line that creates an upload has no id: the first line of a new id belongs to the upload that was created last.
    A line without an id belongs to the upload with the latest line. The number of an upload without an id is negative.
    """

    def __init__(self) -> None:
        self._uploads: dict[int, _Upload] = {}
        self.completed = UNKNOWN  # the number of the last id

    def open(self, upload: _Upload) -> None:
        """Open an upload, or leave it open that was taken."""
        self._uploads[upload.number] = upload

    def take(self, number: int) -> _Upload | None:
        """Take out the upload that a line belongs to; `None` where the log has no line of it before."""
        if number not in self._uploads:
            fitting = (each for each in reversed(self._uploads) if number == UNKNOWN or each < UNKNOWN)
            number = next(fitting, UNKNOWN)
        return self._uploads.pop(number, None)

    def take_surplus(self) -> Iterator[_Upload]:
        """Take out the oldest of too many."""
        while len(self._uploads) > _UPLOADS_MAX:
            yield self._uploads.pop(next(iter(self._uploads)))

    def take_all(self) -> Iterator[_Upload]:
        """Take out all."""
        while self._uploads:
            yield self._uploads.popitem()[1]


def initial_sizes(rows: Iterable[PlannedOperation]) -> Iterator[tuple[int, int | None]]:
    """Yield each key, and the size of the object that must be there before; `None` where none must.

    That is the largest that the log shows before the object is written or deleted, or `UNKNOWN`.
    """
    for key, of_key in groupby(rows, lambda row: row.key):
        size_bytes: int | None = None
        is_open = True
        for row in of_key:
            if not is_open:
                continue
            kind = KINDS[row.kind]
            if kind in READING or kind is OperationKind.DELETE:
                shown = row.first + row.length_bytes if kind is OperationKind.RANGE and row.first != UNKNOWN else 0
                if kind is OperationKind.RANGE:
                    shown = max(shown, row.length_bytes)
                size_bytes = max(UNKNOWN if size_bytes is None else size_bytes, row.size_bytes, shown or UNKNOWN)
            is_open = kind not in _WRITING and kind is not OperationKind.DELETE
        yield key, size_bytes


class KeyHistory:
    """Turns the rows of one key after the other into operations of the plan."""

    def __init__(self, outcome: Outcome, usual_size: Callable[[int], int]) -> None:
        self._outcome = outcome
        self._usual_size = usual_size

    def operations(  # noqa: C901 (one branch for each kind of operation)
        self, key: int, rows: Iterable[PlannedOperation], initial_bytes: int | None
    ) -> Iterator[PlannedOperation]:
        """Yield the operations on `key`, whose object has `initial_bytes` at first, or is not there."""
        outcome = self._outcome
        size_bytes, version, reads, others = initial_bytes, 0, 0, 0
        uploads = _OpenUploads()
        for row in rows:
            kind = KINDS[row.kind]
            if kind in OF_UPLOADS and row.first != UNKNOWN and row.first == uploads.completed:
                outcome.joined += 1  # a repeated request, or one of the same second
                continue
            if kind in OF_UPLOADS and kind is not OperationKind.MULTIPART_COMPLETE:
                self._follow(uploads, row, kind, others)
                continue
            planned: PlannedOperation | None
            if kind is OperationKind.MULTIPART_COMPLETE:
                planned = self._completed(uploads, row, version + 1, others)
            elif kind is OperationKind.PUT:
                planned = row._replace(size_bytes=self._size(key, row.size_bytes), version=version + 1)
            elif kind is OperationKind.DELETE:
                planned = row._replace(size_bytes=0, version=version)
            else:
                planned = self._read(row, kind, size_bytes, version, again=reads > 0)
                reads += planned is not None and kind is not OperationKind.HEAD
            others += 1
            if planned is None:
                continue
            if kind in _WRITING:
                size_bytes, version = planned.size_bytes, version + 1
            elif kind is OperationKind.DELETE:
                size_bytes = None
            self._count(planned)
            yield planned
        for upload in uploads.take_all():
            self._give_up(upload, "not completed")

    def _count(self, planned: PlannedOperation) -> None:
        kind = KINDS[planned.kind]
        self._outcome.operations[kind] += 1
        if kind is OperationKind.RANGE:
            self._outcome.body_bytes += planned.length_bytes
        elif kind in {OperationKind.GET, OperationKind.PUT, OperationKind.MULTIPART}:
            self._outcome.body_bytes += planned.size_bytes

    def _size(self, key: int, logged_bytes: int) -> int:
        if logged_bytes != UNKNOWN:
            return logged_bytes
        self._outcome.sizes_unknown += 1
        return self._usual_size(key)

    def _read(
        self, row: PlannedOperation, kind: OperationKind, size_bytes: int | None, version: int, *, again: bool
    ) -> PlannedOperation | None:
        """A read of the object as it is now; `None` where there is none, or nothing to read."""
        outcome = self._outcome
        if size_bytes is None:
            outcome.not_replayed[f"{kind} of an object that the log has deleted before"] += 1
            return None
        outcome.resized += kind is OperationKind.GET and row.size_bytes not in {UNKNOWN, size_bytes}
        flags = row.flags | (RowFlag.AGAIN if again else 0)
        planned = row._replace(size_bytes=size_bytes, version=version, flags=flags)
        if kind is not OperationKind.RANGE:
            return planned
        length_bytes = min(max(row.length_bytes, 0), size_bytes)
        if not length_bytes:
            outcome.not_replayed["range of no bytes"] += 1
            return None
        room_bytes = size_bytes - length_bytes
        if row.first == UNKNOWN:
            outcome.starts_unknown += 1
            first = (row.order * _GOLDEN >> 16) % (room_bytes + 1)
        else:
            first = min(row.first, room_bytes)
        return planned._replace(first=first, length_bytes=length_bytes)

    def _follow(self, uploads: _OpenUploads, row: PlannedOperation, kind: OperationKind, others: int) -> None:
        """Take in a request of an upload that does not complete it."""
        if kind is OperationKind.MULTIPART_ABORT:
            aborted = uploads.take(row.first)
            if aborted is not None:
                self._give_up(aborted, "aborted")
            self._outcome.not_replayed["multipart upload: aborted in the log"] += 1
            return
        upload = uploads.take(row.first) if kind is OperationKind.MULTIPART_PART else None
        if upload is None:
            upload = _begun(row, others)
        if kind is OperationKind.MULTIPART_PART:
            upload.add_part(row.length_bytes, max(row.size_bytes, 0))
        if row.first != UNKNOWN:
            upload.number = row.first
        upload.lines += 1
        uploads.open(upload)
        for surplus in uploads.take_surplus():
            self._give_up(surplus, "not completed")

    def _completed(
        self, uploads: _OpenUploads, row: PlannedOperation, version: int, others: int
    ) -> PlannedOperation | None:
        """The whole upload as one operation, from the moment on at which it began if nothing happened meanwhile."""
        upload = uploads.take(row.first) or _begun(row, others)
        size_bytes = upload.size_bytes if row.size_bytes == UNKNOWN else row.size_bytes
        if size_bytes == UNKNOWN:
            self._outcome.not_replayed["multipart upload: no part and no size in the log"] += upload.lines + 1
            return None
        uploads.completed = row.first
        self._outcome.joined += upload.lines
        begins = upload if upload.others == others else row
        return row._replace(
            start_ns=begins.start_ns,
            order=begins.order,
            kind=_MULTIPART,
            size_bytes=size_bytes,
            first=UNKNOWN,
            length_bytes=_part_bytes(upload, size_bytes),
            version=version,
        )

    def _give_up(self, upload: _Upload, why: str) -> None:
        self._outcome.not_replayed[f"multipart upload: {why} in the log"] += upload.lines


def _begun(row: PlannedOperation, others: int) -> _Upload:
    """An upload that begins with this row."""
    number = _NO_ID - row.order if row.first == UNKNOWN else row.first
    return _Upload(number=number, start_ns=row.start_ns, order=row.order, others=others)


def _part_bytes(upload: _Upload, size_bytes: int) -> int:
    """The size of the parts in which an upload is made: that of its largest part, if the log has all parts."""
    part_bytes = max(upload.part_bytes, 0)
    if not part_bytes or upload.size_bytes < size_bytes:
        part_bytes = max(part_bytes, PART_BYTES)
    return max(part_bytes, -(-size_bytes // PARTS_MAX))
