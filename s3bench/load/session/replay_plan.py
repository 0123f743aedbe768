"""Plans the replay of an access log: files with the operations of each worker, and with the objects to write before.

The log may be in any order and of any length: rows are sorted in files, first by time, then by key, where versions and
sizes of objects follow from each other (`key_history`), then by planned start. Memory does not depend on the length.

Keys and the ids of uploads become numbers by a keyed hash of 62 bits, whose key is random and kept nowhere: two of ten
million keys are the same with a probability of 1e-5. A GET or HEAD that found nothing in the log (404) goes to a key
that never exists.
"""

import hashlib
import secrets
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from http import HTTPStatus
from itertools import chain, groupby
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from s3bench.errors import BadInput
from s3bench.load.access_log.logged_request import LoggedRequest
from s3bench.load.access_log.reading import LogReading
from s3bench.load.access_log.timestamps import check_times
from s3bench.load.engine.objects import slot_of
from s3bench.load.engine.replay_file import KIND_NUMBERS, KINDS, ROW, PlannedOperation, RowFlag, Rows, plan_path
from s3bench.load.operation import OperationKind
from s3bench.load.profile.profile import Job, Phase, Replay, Share
from s3bench.load.profile.sizes import SLOTS, Sizes, fixed
from s3bench.load.session.external_sort import ExternalSort
from s3bench.load.session.key_history import (
    OF_UPLOADS,
    PART_BYTES,
    PARTS_MAX,
    UNKNOWN,
    KeyHistory,
    Outcome,
    initial_sizes,
)

OBJECTS, OPERATIONS = "objects", "operations"
"""The parts of a plan: what is written before, and what is replayed."""

MULTIPART_FROM_BYTES = 1024**3
"""Objects from this size on are written before in parts."""

_BATCH_ROWS = 1 << 16
_SLICE_ROWS = 1 << 13  # rows that are Python objects at a time
_NAMES_MAX = 1000
_NAMES_SHOWN = 10
_KEY_MASK = (1 << 62) - 1
_MISSING_KEY = 1 << 62
_NS = 1_000_000_000
_SAMPLE_MAX = 1 << 16
_FAR_NS = 1 << 62
_LIST = KIND_NUMBERS[OperationKind.LIST]

_REPLAYED = frozenset(
    {
        OperationKind.PUT,
        OperationKind.GET,
        OperationKind.RANGE,
        OperationKind.HEAD,
        OperationKind.DELETE,
        OperationKind.LIST,
        *OF_UPLOADS,
    }
)
_MOVING_ALL = frozenset({OperationKind.PUT, OperationKind.GET, OperationKind.MULTIPART_PART})
_MAY_FIND_NOTHING = frozenset({OperationKind.GET, OperationKind.HEAD})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRules:
    """Which part of a log is replayed, and how fast.

    `from_s` and `to_s` are times of the log, `span_s` is how much of it from `from_s` on, or from the first operation
    that is replayed; with a `speed` of 4 it takes a quarter of its time. `usual_sizes` are those of objects whose size
    the log does not have.
    """

    speed: float = 1.0
    from_s: float | None = None
    to_s: float | None = None
    span_s: float | None = None
    usual_sizes: Sizes


class ReplaySummary(msgspec.Struct, frozen=True, kw_only=True):
    """What is replayed of a log, for the results document. Times are seconds of the log; `operations` are by kind.

    `requests_joined` are those of multipart uploads, each of which is one operation. Of `sizes_unknown` objects the log
    has no size, of `starts_unknown` ranges no start; `resized` reads show another size than the last write.
    """

    log: str
    format: str
    speed: float
    first_s: float
    last_s: float
    duration_s: float
    whole_seconds: bool
    lines: int
    skipped: tuple[str, ...]
    outside: int
    operations: dict[str, int]
    requests_joined: int
    not_replayed: dict[str, int]
    objects_before: int
    bytes_before: int
    body_bytes: int
    sizes_unknown: int
    starts_unknown: int
    resized: int

    @property
    def differences(self) -> tuple[str, ...]:
        """How the replay differs from the log, which its result warns of."""
        lines = [f"skipped, {each}" for each in self.skipped]
        shown = tuple(self.not_replayed.items())[:_NAMES_SHOWN]
        lines += [f"not replayed, {count:,} times: {name}" for name, count in shown]
        if more := len(self.not_replayed) - len(shown):
            lines.append(f"not replayed: {more:,} other kinds, which the results document names")
        for count, what in (
            (self.sizes_unknown, "objects have no size in the log, and get that of --size"),
            (self.starts_unknown, "ranges have no start in the log, and get a random one"),
            (self.resized, "GETs had another size in the log than the object has in the replay"),
        ):
            lines += [f"{count:,} {what}"] * bool(count)
        return tuple(lines)

    @property
    def words(self) -> tuple[str, ...]:
        """What is worth a line on stderr."""
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in self.operations.items())
        lines = [
            f"replay of {self.lines:,} lines ({self.format}): {kinds}, planned over {self.duration_s:,.1f} s",
            f"{self.objects_before:,} objects are read or deleted and not written before in the log",
        ]
        lines += self.differences
        if self.whole_seconds:
            lines.append("times of the log are whole seconds: the operations of a second are spread evenly over it")
        return tuple(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPlan:
    """A plan in files below a directory: its `summary`, and its phases."""

    summary: ReplaySummary
    phase: Phase
    preparing: Job | None


def plan_replay(
    reading: LogReading,
    rules: ReplayRules,
    *,
    directory: Path,
    shares: int,
    threads: int,
    check: Callable[[int], None] = lambda _: None,
) -> ReplayPlan:
    """Plan the replay of a log for `shares` workers. `check` is called with the number of lines now and then.

    Raises `BadInput` for a log that is not understood, or that has nothing to replay.
    """
    return _Planner(reading, rules, directory=directory, shares=shares, check=check).plan(threads)


class _Planner:
    """Turns a log into a plan, pass after pass."""

    def __init__(
        self, reading: LogReading, rules: ReplayRules, *, directory: Path, shares: int, check: Callable[[int], None]
    ) -> None:
        self._reading = reading
        self._rules = rules
        self._directory = directory
        self._shares = shares
        self._check = check
        self._outcome = Outcome()
        self._secret = secrets.token_bytes(16)
        self._outside = 0
        self._whole_seconds = True
        self._times_ns = (0, 0)
        self._end_ns = 0  # the last planned start
        self._objects: list[int] = [0, 0]  # written before: how many, and how many bytes
        self._sample: list[int] = []
        self._stride = 1
        self._sized = 0

    def plan(self, threads: int) -> ReplayPlan:
        """Make the plan."""
        by_time = ExternalSort(self._directory, "by-time", by=("start_ns", "order"))
        self._read_into(by_time)
        by_key = ExternalSort(self._directory, "by-key", by=("key", "order"))
        for rows in self._timed(by_time):
            by_key.add(rows)
        by_time.remove()
        by_start = ExternalSort(self._directory, "by-start", by=("start_ns", "order"))
        self._follow_keys(by_key, by_start)
        by_key.remove()
        self._write(OPERATIONS, by_start.blocks())
        by_start.remove()
        return self._made(threads)

    def _read_into(self, by_time: ExternalSort) -> None:
        """Read the log, and keep what can be replayed."""
        columns = _Columns()
        low, high = self._rules.from_s, self._rules.to_s
        for number, request in enumerate(self._reading):
            if not number:
                check_times((low, high), request.at_s)
            if (low is not None and request.at_s < low) or (high is not None and request.at_s >= high):
                self._outside += 1
                continue
            if self._is_replayed(request):
                self._append(columns, request)
            if columns.is_full:
                by_time.add(columns.take())
                self._check(self._reading.report.lines)
        by_time.add(columns.take())

    def _is_replayed(self, request: LoggedRequest) -> bool:
        kind, status = request.kind, request.status
        if kind not in _REPLAYED:
            self._leave_out(request.operation or str(kind))
            return False
        if status >= HTTPStatus.MULTIPLE_CHOICES:
            if status == HTTPStatus.NOT_FOUND and kind in _MAY_FIND_NOTHING:
                return True
            self._leave_out(f"{request.operation} with status {status}")
            return False
        if kind is not OperationKind.LIST and not request.key:
            self._leave_out(f"{request.operation} without a key")
            return False
        return True

    def _leave_out(self, name: str) -> None:
        names = self._outcome.not_replayed
        names[name if name in names or len(names) < _NAMES_MAX else "others"] += 1

    def _append(self, columns: "_Columns", request: LoggedRequest) -> None:
        at_ns = round(request.at_s * _NS)
        self._whole_seconds = self._whole_seconds and not at_ns % _NS
        kind = request.kind
        assert kind is not None
        key = secrets.randbits(62) if kind is OperationKind.LIST else self._number(f"{request.bucket}/{request.key}")
        flags = 0
        if request.status == HTTPStatus.NOT_FOUND:
            key, flags = key | _MISSING_KEY, RowFlag.MISSING
        size_bytes = request.object_bytes
        if size_bytes is None and kind in _MOVING_ALL:
            size_bytes = request.body_bytes
        first, length_bytes = request.range_start, request.body_bytes
        if kind in OF_UPLOADS:
            first, length_bytes = self._number(request.upload_id) if request.upload_id else None, request.part_number
        columns.append(
            at_ns,
            key,
            UNKNOWN if size_bytes is None else size_bytes,
            UNKNOWN if first is None else first,
            UNKNOWN if length_bytes is None else length_bytes,
            KIND_NUMBERS[kind],
            flags,
        )

    def _number(self, name: str) -> int:
        """The number of a key or of an upload."""
        digest = hashlib.blake2b(name.encode(errors="surrogateescape"), digest_size=8, key=self._secret).digest()
        return int.from_bytes(digest, "little") & _KEY_MASK

    def _timed(self, by_time: ExternalSort) -> Iterator[Rows]:
        """Yield the rows in the order of their times, with their planned starts."""
        zero_ns: int | None = None
        end_ns = _FAR_NS
        rank = 0
        for rows in _whole_groups(by_time.blocks(), "start_ns") if self._whole_seconds else by_time.blocks():
            at_ns = rows["start_ns"].copy()
            if zero_ns is None:
                zero_ns = int(at_ns[0])
                span_s = self._rules.span_s
                begins_ns = zero_ns if self._rules.from_s is None else round(self._rules.from_s * _NS)
                end_ns = _FAR_NS if span_s is None else begins_ns + round(span_s * _NS)
                self._times_ns = zero_ns, zero_ns
            count = int(np.searchsorted(at_ns, end_ns, side="left"))
            self._outside += len(rows) - count
            if not count:
                continue
            self._times_ns = zero_ns, int(at_ns[count - 1])
            since_ns = (at_ns - zero_ns).astype(np.float64)
            if self._whole_seconds:
                since_ns += _spread(at_ns)
            kept = rows[:count].copy()
            kept["start_ns"] = (since_ns[:count] / self._rules.speed).astype(np.int64)
            kept["order"] = np.arange(rank, rank + count)
            rank += count
            self._end_ns = int(kept["start_ns"][-1])
            yield kept
        if not rank:
            left_out = {"outside of --from, --to and --for": self._outside}
            left_out |= dict(self._outcome.not_replayed.most_common(5))
            raise BadInput(
                f"{self._reading.path}: nothing of the log can be replayed",
                "of its requests " + ", ".join(f"{count:,} are {name}" for name, count in left_out.items() if count),
                "select another part of the log, or pass one with operations on objects",
            )

    def _follow_keys(self, by_key: ExternalSort, by_start: ExternalSort) -> None:
        """Find the sizes and versions of objects; add operations to `by_start`, and write the objects to be there."""
        outcome, before, planned = self._outcome, _Writer(self._add_object_rows), _Writer(by_start.add)
        history = KeyHistory(outcome, self._usual_size)
        sizes = initial_sizes(_rows(by_key))
        with ExitStack() as stack:
            self._before = [
                stack.enter_context(plan_path(self._directory, OBJECTS, share).open("wb"))
                for share in range(self._shares)
            ]
            for key, group in groupby(_rows(by_key), lambda row: row.key):
                _, initial_bytes = next(sizes)
                first = next(group)
                of_key = chain((first,), group)  # noqa: B031 (the rest of the same group)
                if first.kind == _LIST or first.flags & RowFlag.MISSING:
                    for row in of_key:
                        outcome.operations[KINDS[row.kind]] += 1
                        planned.add(row._replace(size_bytes=0, version=0))
                    continue
                if initial_bytes is not None:
                    if initial_bytes == UNKNOWN:
                        outcome.sizes_unknown += 1
                        initial_bytes = self._usual_size(key)
                    before.add(self._object(first, initial_bytes))
                for operation in history.operations(key, of_key, initial_bytes):
                    if operation.version:
                        self._note_size(operation.size_bytes)
                    planned.add(operation)
            before.flush()
        planned.flush()

    def _object(self, row: PlannedOperation, size_bytes: int) -> PlannedOperation:
        self._objects[0] += 1
        self._objects[1] += size_bytes
        self._note_size(size_bytes)
        kind = OperationKind.MULTIPART if size_bytes >= MULTIPART_FROM_BYTES else OperationKind.PUT
        part_bytes = max(PART_BYTES, -(-size_bytes // PARTS_MAX))
        return row._replace(
            start_ns=0, size_bytes=size_bytes, version=0, kind=KIND_NUMBERS[kind], length_bytes=part_bytes, flags=0
        )

    def _add_object_rows(self, rows: Rows) -> None:
        for share, file in enumerate(self._before):
            rows[rows["key"] % self._shares == share].tofile(file)

    def _write(self, part: str, blocks: Iterable[Rows]) -> None:
        """Write the file of each share."""
        with ExitStack() as stack:
            files = [
                stack.enter_context(plan_path(self._directory, part, share).open("wb")) for share in range(self._shares)
            ]
            for rows in blocks:
                for share, file in enumerate(files):
                    rows[rows["key"] % self._shares == share].tofile(file)

    def _usual_size(self, key: int) -> int:
        slots = self._rules.usual_sizes.slots
        return slots[slot_of(key) % len(slots)]

    def _note_size(self, size_bytes: int) -> None:
        """Keep every n-th size, so that quantiles can be given."""
        self._sized += 1
        if self._sized % self._stride == 0:
            self._sample.append(size_bytes)
            if len(self._sample) >= _SAMPLE_MAX:
                self._sample = self._sample[::2]
                self._stride *= 2

    def _sizes(self) -> Sizes:
        """Quantiles of the sizes of objects."""
        found = sorted(self._sample) or [0]
        if found[0] == found[-1]:
            return fixed(found[0])
        slots = tuple(found[(2 * slot + 1) * len(found) // (2 * SLOTS)] for slot in range(SLOTS))
        return Sizes(text="as in the log", slots=slots)

    def _made(self, threads: int) -> ReplayPlan:
        outcome, report, rules = self._outcome, self._reading.report, self._rules
        kinds = {kind: outcome.operations[kind] for kind in OperationKind if outcome.operations[kind]}
        first_ns, last_ns = self._times_ns
        summary = ReplaySummary(
            log=self._reading.path.name,
            format=str(self._reading.format),
            speed=rules.speed,
            first_s=first_ns / _NS,
            last_s=last_ns / _NS,
            duration_s=self._end_ns / _NS,
            whole_seconds=self._whole_seconds,
            lines=report.lines,
            skipped=report.words,
            outside=self._outside,
            operations={str(kind): count for kind, count in kinds.items()},
            requests_joined=outcome.joined,
            not_replayed=dict(Counter(outcome.not_replayed).most_common()),
            objects_before=self._objects[0],
            bytes_before=self._objects[1],
            body_bytes=outcome.body_bytes,
            sizes_unknown=outcome.sizes_unknown,
            starts_unknown=outcome.starts_unknown,
            resized=outcome.resized,
        )
        job = Job(
            mix=tuple(Share(kind=kind, weight=float(count)) for kind, count in kinds.items()),
            sizes=self._sizes(),
            threads=threads,
            overwrite=True,
            operations=sum(kinds.values()),
            replay=Replay(directory=str(self._directory), part=OPERATIONS, shares=self._shares),
        )
        preparing = Job(
            name="data set",
            mix=(Share(kind=OperationKind.PUT), Share(kind=OperationKind.MULTIPART)),
            sizes=job.sizes,
            threads=max(threads, self._shares),
            overwrite=True,
            operations=self._objects[0],
            replay=Replay(directory=str(self._directory), part=OBJECTS, shares=self._shares, is_paced=False),
        )
        phase = Phase(name="replay", jobs=(job,))
        return ReplayPlan(summary=summary, phase=phase, preparing=preparing if self._objects[0] else None)


class _Columns:
    """Rows that are being made, column by column."""

    def __init__(self) -> None:
        self._names = ("start_ns", "key", "size_bytes", "first", "length_bytes", "kind", "flags")
        self._columns = [array("q") for _ in self._names]
        self._order = 0

    @property
    def is_full(self) -> bool:
        """Whether there are enough rows to be taken."""
        return len(self._columns[0]) >= _BATCH_ROWS

    def append(self, *values: int) -> None:
        """Add a row."""
        for column, value in zip(self._columns, values, strict=True):
            column.append(value)

    def take(self) -> Rows:
        """Take the rows, numbered in the order in which they came."""
        count = len(self._columns[0])
        rows = np.zeros(count, ROW)
        for name, column in zip(self._names, self._columns, strict=True):
            rows[name] = np.frombuffer(column, np.int64) if count else 0
        rows["order"] = np.arange(self._order, self._order + count)
        self._order += count
        self._columns = [array("q") for _ in self._names]
        return rows


class _Writer:
    """Gathers operations into rows, and passes these on."""

    def __init__(self, write: Callable[[Rows], None]) -> None:
        self._write = write
        self._operations: list[PlannedOperation] = []

    def add(self, operation: PlannedOperation) -> None:
        """Add an operation."""
        self._operations.append(operation)
        if len(self._operations) >= _SLICE_ROWS:
            self.flush()

    def flush(self) -> None:
        """Pass on what is left."""
        self._write(np.array(self._operations, ROW))
        self._operations.clear()


def _rows(sort: ExternalSort) -> Iterator[PlannedOperation]:
    """The sorted rows as operations."""
    for rows in sort.blocks():
        for first in range(0, len(rows), _SLICE_ROWS):
            yield from map(PlannedOperation._make, rows[first : first + _SLICE_ROWS].tolist())


def _whole_groups(blocks: Iterable[Rows], column: str) -> Iterator[Rows]:
    """Yield blocks of sorted rows anew, so that rows of the same value are in one."""
    rest = np.empty(0, ROW)
    for block in blocks:
        rows = np.concatenate((rest, block))
        end = int(np.searchsorted(rows[column], rows[column][-1], side="left"))
        rest = rows[end:].copy()
        if end:
            yield rows[:end]
    if len(rest):
        yield rest


def _spread(at_ns: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """What is to be added to sorted times in whole seconds, so that those of a second are spread evenly over it."""
    firsts = np.searchsorted(at_ns, at_ns, side="left")
    counts = np.searchsorted(at_ns, at_ns, side="right") - firsts
    shares: npt.NDArray[np.float64] = (np.arange(len(at_ns)) - firsts) / counts * _NS
    return shares
