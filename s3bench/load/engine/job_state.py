"""The state of one worker's part of a job, which its virtual users share: what is left to start, and when.

What to do next comes from `operation_mix` or `replayed_operations`, when from `schedule` or `replay_file`.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from s3bench.load.engine.loop import EngineLoop
from s3bench.load.engine.multipart import MultipartUpload
from s3bench.load.engine.objects import ObjectBody, ObjectSet
from s3bench.load.engine.operation_mix import Operations
from s3bench.load.engine.recorder import IntervalCounter, IntervalRecorder
from s3bench.load.engine.request import Requests
from s3bench.load.engine.trace import Trace
from s3bench.load.engine.verification import ExpectedBody
from s3bench.load.operation import AttemptFailure, OperationKind
from s3bench.load.profile.profile import DataSet, Job, Manner

_KEPT_MAX = 20_000  # requests that are kept of each kind
_BATCHES_A_TICK = 100
_NEW = frozenset({OperationKind.PUT, OperationKind.MULTIPART})

Read = tuple[bytes, int | None, ExpectedBody | None]
"""A whole GET: the request, and size and body that must come back where they are known."""

Write = tuple[bytes, ObjectBody]
"""A PUT: the head of the request, and the body."""


@dataclass(slots=True, kw_only=True, eq=False)
class Retry:
    """An operation of an open loop between two attempts. It holds no virtual user, so that others start as planned.

    `planned_ns` is 0 for the requests of an upload that follow the first one, which have no plan of their own.
    `first_start_ns` is the start of its first attempt. The last one failed at `failed_ns` with `failure`, counted in
    `counter`; the next has the number `attempt`.
    """

    job_state: "JobState"
    kind: OperationKind
    number: int
    target: int
    upload: MultipartUpload | None
    planned_ns: int
    first_start_ns: int
    attempt: int
    failed_ns: int
    failure: str
    counter: IntervalCounter

    @property
    def plan_ns(self) -> int:
        """When the whole operation was to start."""
        return self.planned_ns or (0 if self.upload is None else self.upload.planned_ns)

    def on_time(self, ticket: int) -> None:
        """Wait for a virtual user, now that the next attempt is due."""
        del ticket
        if self in self.job_state.retries:
            self.job_state.ready.append(self)

    def open_ns(self, at_ns: int) -> int:
        """For how long it has been in flight that is not yet counted in latency or lost time."""
        started_ns = self.upload.started_ns if self.upload is not None else 0
        return max(0, at_ns - (started_ns or self.failed_ns))


class Idle(Protocol):
    """A virtual user that can begin an operation, or go on with one."""

    def begin(self) -> bool:
        """Begin the next one; whether there is one."""

    def resume(self, retry: Retry) -> None:
        """Make the next attempt of an operation."""


class PlannedStarts:
    """The planned starts of an open loop: those that are due, and the first that is not begun.

    The same starts are gone through twice, once by the clock and once by virtual users, so that those which wait need
    no memory however many they are.
    """

    __slots__ = ("_ahead", "_batch", "_behind", "_counted", "_start_ns", "next_ns", "waiting")

    def __init__(self, ahead: Iterator[list[int]], behind: Iterator[int], start_ns: int) -> None:
        self._ahead = ahead
        self._behind = behind
        self._start_ns = start_ns
        self._batch = next(ahead)
        self._counted = 0  # starts of the batch that are due
        self.next_ns = start_ns + next(behind)
        self.waiting = 0  # starts that are due and not begun

    def tick(self, now_ns: int) -> bool:
        """Count what is due by now; whether all of it is counted.

        Starts are counted in batches and never one by one. One call counts at most 100,000 of them, which takes
        about 10 ms, so that a plan far beyond what can be done does not hold up anything else.
        """
        due_ns = now_ns - self._start_ns
        for _ in range(_BATCHES_A_TICK):
            due = bisect_right(self._batch, due_ns, self._counted)
            self.waiting += due - self._counted
            self._counted = due
            if due < len(self._batch):
                return True
            self._batch, self._counted = next(self._ahead), 0
        return False

    def take(self) -> int:
        """Begin the first that waits; gives when it was to start."""
        self.waiting -= 1
        planned_ns = self.next_ns
        self.next_ns = self._start_ns + next(self._behind)
        return planned_ns

    def drop(self, before_ns: int, most: int) -> int:
        """Drop the first that wait, `most` of them, if they were to start before `before_ns`; gives how many."""
        dropped = 0
        while dropped < most and self.next_ns < before_ns:
            self.take()
            dropped += 1
        return dropped


class Seen:
    """Which objects of the data set this worker has read; asked once for each read."""

    __slots__ = ("_flags",)

    def __init__(self) -> None:
        self._flags = bytearray()

    def again(self, number: int) -> bool:
        """Whether `number` was seen before; it is from now on."""
        flags = self._flags
        if number >= len(flags):
            flags.extend(bytes(number + 1 - len(flags) + 4096))
        if flags[number]:
            return True
        flags[number] = 1
        return False


class JobState:
    """What the virtual users of one job share. `left` operations may still be started; `None` for any number."""

    __slots__ = (
        "_job_index", "_reads", "_recorder", "_writes", "busy", "data", "first_number", "idle", "job", "late", "left",
        "loop", "lost_first", "manner", "mix", "new_begun", "new_objects", "objects", "over", "patience_ns", "pending",
        "plan", "quick", "ready", "retries", "seen", "trace", "unanswered", "worker", "workers",
    )  # fmt: skip

    def __init__(
        self,
        job: Job,
        *,
        index: int,
        worker: int,
        workers: int,
        left: int | None,
        first_number: int,
        mix: Operations,
        plan: PlannedStarts | None,
        loop: EngineLoop,
        recorder: IntervalRecorder,
        manner: Manner,
        data: DataSet,
        objects: ObjectSet,
        new_objects: ObjectSet,
        seen: Seen,
        trace: Trace | None,
    ) -> None:
        self._job_index = index
        self._recorder = recorder
        self.patience_ns = round(manner.patience_s * 1e9)  # how long an operation may wait for a virtual user
        self._reads: dict[Requests, dict[int, Read]] = {}
        self._writes: dict[Requests, dict[int, Write]] = {}
        self.job = job
        self.worker = worker
        self.workers = workers
        self.loop = loop
        self.manner = manner
        self.data = data
        self.objects = objects  # what is read
        self.new_objects = new_objects  # what is written
        self.seen = seen
        self.trace = trace
        self.first_number = first_number
        self.mix = mix
        self.left = left
        self.plan = plan  # of an open loop
        self.quick = self.plan is None and trace is None
        self.pending: list[tuple[OperationKind, int]] = []  # the next operation is the last of it
        self.over = False  # nothing new starts
        self.busy = 0  # operations that were begun and have not ended
        self.retries: set[Retry] = set()  # those of them that wait for their next attempt
        self.ready: deque[Retry] = deque()  # those of these whose attempt is due: they wait for a virtual user
        self.idle: list[Idle] = []  # virtual users of an open loop that wait for the next planned start
        self.new_begun = 0
        self.lost_first: int | None = None  # the lowest number of a new object that was not written
        self.late = 0
        self.unanswered = 0  # writes that were sent and had no response

    @property
    def is_done(self) -> bool:
        """Whether all that was to be started has ended."""
        return not self.busy and not self.pending and not self.has_more

    @property
    def has_more(self) -> bool:
        """Whether more can be drawn."""
        return not self.over and self.left != 0 and not self.mix.exhausted

    @property
    def is_behind(self) -> bool:
        """Whether planned operations were due at the last turn and have not begun."""
        return self.is_startable

    @property
    def is_startable(self) -> bool:
        """Whether a planned operation is due that may begin."""
        return self.plan is not None and self.plan.waiting > 0 and bool(self.pending or self.has_more)

    @property
    def backlog(self) -> int:
        """How many planned operations were due at the last turn and have not begun; no more than are left."""
        plan = self.plan
        if plan is None or plan.waiting <= 0 or not (self.pending or self.has_more):
            return 0
        return plan.waiting if self.left is None else min(plan.waiting, self.left + len(self.pending))

    def waiting(self, now_ns: int) -> int:
        """How many operations of an open loop should have begun before now and have not."""
        if self.plan is not None and (self.pending or self.has_more):
            while not self.plan.tick(now_ns - 1):
                pass
        return self.backlog

    @property
    def written(self) -> int:
        """How many new objects there are from the first number of this worker on, without a gap."""
        if self.lost_first is None:
            return self.new_begun
        return (self.lost_first - self.first_number - self.worker) // self.workers

    def counter(self, kind: OperationKind) -> IntervalCounter:
        """Where to count operations of `kind`."""
        return self._recorder.lane(self._job_index, kind)

    def reads(self, requests: Requests) -> dict[int, Read]:
        """What is known of whole GETs by these `requests`: filled when one is made, emptied when they get old."""
        return self._reads.setdefault(requests, {})

    def read(self, requests: Requests, number: int) -> Read:
        """Make a whole GET, and keep it for the next time as long as there is room."""
        objects = self.objects
        size_bytes, body = objects.expected(number) if self.manner.verify else (None, None)
        made = requests.get(objects.path(number)), size_bytes, body
        reads = self.reads(requests)
        if len(reads) < _KEPT_MAX:
            reads[number] = made
        return made

    def writes(self, requests: Requests) -> dict[int, Write]:
        """What is known of PUTs by these `requests`; empty unless objects are overwritten."""
        return self._writes.setdefault(requests, {})

    def write(self, requests: Requests, number: int) -> Write:
        """Make a PUT; one that overwrites is kept for the next time as long as there is room."""
        body = self.new_objects.body(number)
        made = requests.put(self.new_objects.path(number), body), body
        if self.job.overwrite:
            writes = self.writes(requests)
            if len(writes) < _KEPT_MAX:
                writes[number] = made
        return made

    def forget(self, requests: Requests) -> None:
        """Forget what these `requests` made: it has become too old."""
        self.reads(requests).clear()
        self.writes(requests).clear()

    def refill(self) -> bool:
        """Draw the next operations; whether there are any."""
        if not self.has_more:
            return False
        batch = self.mix.batch()
        if self.left is not None:
            del batch[self.left :]
            self.left -= len(batch)
        batch.reverse()
        self.pending = batch
        return bool(batch)

    def instead(self, kind: OperationKind) -> tuple[OperationKind, int] | None:
        """What to do for a DELETE of a mix: delete something of our own, or else what comes next, if anything does."""
        while True:
            taken = self.mix.take()
            if taken is not None:
                return kind, taken
            if self.left is not None:
                self.left += 1
            if not self.pending and not self.refill():
                return None
            kind, number = self.pending.pop()
            if number >= 0:
                return kind, number

    def expire(self, now_ns: int) -> None:
        """Count planned operations as failed that waited for a virtual user for longer than a request may last.

        They are not drawn, so that any number of them costs little: only how many of each kind they would have been.
        """
        plan = self.plan
        if plan is None or plan.waiting <= 0 or plan.next_ns >= now_ns - self.patience_ns:
            return
        limit = plan.waiting if self.left is None else min(plan.waiting, self.left + len(self.pending))
        expired = plan.drop(now_ns - self.patience_ns, limit if self.has_more else min(limit, len(self.pending)))
        if self.left is not None:
            rest = max(0, expired - self.left)
            self.left -= expired - rest
            del self.pending[:rest]  # which would have come last
        for kind, count in self.mix.split(expired):
            if count:
                self.counter(kind).lose(AttemptFailure.NO_THREAD, retried=False, lost_ns=0, body_bytes=0, count=count)

    def oldest_ns(self, now_ns: int) -> int:
        """How long the first of the operations has waited that hold no virtual user; 0 without any."""
        planned_ns = [retry.plan_ns for retry in self.retries]
        if self.plan is not None and self.waiting(now_ns):
            planned_ns.append(self.plan.next_ns)
        return now_ns - min(planned_ns, default=now_ns)

    def stop(self) -> None:
        """Start nothing any more."""
        self.over = True
        self.pending = []
        for retry in self.retries:
            self.lost(retry.kind, retry.number)
            self.busy -= 1
            self.loop.leave(self.loop.now_ns)
        self.retries.clear()
        self.ready.clear()

    def lost(self, kind: OperationKind, number: int) -> None:
        """Note that an operation failed; the number of its new object stays unused."""
        if kind in _NEW and number >= self.first_number and not self.job.overwrite:
            self.lost_first = number if self.lost_first is None else min(self.lost_first, number)
