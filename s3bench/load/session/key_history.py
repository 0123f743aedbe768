"""What the operations of a log on one key mean for the object: its versions, its sizes, and what was there before.

Rows come in the order of keys, and on each key in the order of the log. The plan of an operation is a tuple of the
values of a row (`load.engine.replay_file`).
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


@dataclass(slots=True)
class _Upload:
    """A multipart upload that has begun."""

    start_ns: int
    order: int
    sizes: list[int] = field(default_factory=list)
    lines: int = 1
    is_alone: bool = True  # whether nothing else happened to the key meanwhile


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
        size_bytes, version, reads = initial_bytes, 0, 0
        upload: _Upload | None = None
        for row in rows:
            kind = KINDS[row.kind]
            if kind in {OperationKind.MULTIPART_CREATE, OperationKind.MULTIPART_PART}:
                upload = self._upload_after(upload, row, kind)
                continue
            if kind is OperationKind.MULTIPART_ABORT:
                self._give_up(upload, "aborted")
                outcome.not_replayed["multipart upload: aborted in the log"] += 1
                upload = None
                continue
            if upload is not None and kind is not OperationKind.MULTIPART_COMPLETE:
                upload.is_alone = False
            planned: PlannedOperation | None
            if kind is OperationKind.MULTIPART_COMPLETE:
                planned, upload = self._completed(upload, row, version + 1), None
            elif kind is OperationKind.PUT:
                planned = row._replace(size_bytes=self._size(key, row.size_bytes), version=version + 1)
            elif kind is OperationKind.DELETE:
                planned = row._replace(size_bytes=0, version=version)
            else:
                planned = self._read(row, kind, size_bytes, version, again=reads > 0)
                reads += planned is not None and kind is not OperationKind.HEAD
            if planned is None:
                continue
            if kind in _WRITING:
                size_bytes, version = planned.size_bytes, version + 1
            elif kind is OperationKind.DELETE:
                size_bytes = None
            self._count(planned)
            yield planned
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

    def _upload_after(self, upload: _Upload | None, row: PlannedOperation, kind: OperationKind) -> _Upload:
        if kind is OperationKind.MULTIPART_CREATE:
            self._give_up(upload, "not completed")
            return _Upload(row.start_ns, row.order)
        if upload is None:
            upload = _Upload(row.start_ns, row.order, lines=0)
        upload.sizes.append(max(row.size_bytes, 0))
        upload.lines += 1
        return upload

    def _completed(self, upload: _Upload | None, row: PlannedOperation, version: int) -> PlannedOperation | None:
        """The whole upload as one operation, from the moment on at which it began."""
        found = upload or _Upload(row.start_ns, row.order, lines=0)
        size_bytes = sum(found.sizes) if found.sizes else row.size_bytes
        if size_bytes == UNKNOWN:
            self._outcome.not_replayed["multipart upload: no part and no size in the log"] += found.lines + 1
            return None
        self._outcome.joined += found.lines
        begins = found if found.is_alone else row
        return row._replace(
            start_ns=begins.start_ns,
            order=begins.order,
            kind=_MULTIPART,
            size_bytes=size_bytes,
            length_bytes=max(found.sizes, default=0) or PART_BYTES,
            version=version,
        )

    def _give_up(self, upload: _Upload | None, why: str) -> None:
        if upload is not None:
            self._outcome.not_replayed[f"multipart upload: {why} in the log"] += upload.lines
