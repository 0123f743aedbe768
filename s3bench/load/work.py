"""One worker's part of a job: what is left to start, when, and what is known of the objects it is done on.

Owns what all threads of a job share. What to do next comes from `draws`, when from `schedule`; doing it is `thread`'s.
"""

from bisect import bisect_right
from collections.abc import Iterator
from itertools import chain
from typing import Protocol

from s3bench.load.draws import Draws
from s3bench.load.loop import Loop
from s3bench.load.objects import Objects
from s3bench.load.operation import Kind
from s3bench.load.profile import DataSet, Job, Manner
from s3bench.load.recorder import Lane, Recorder
from s3bench.load.request import Requests
from s3bench.load.schedule import planned_batches
from s3bench.load.trace import Trace

_READS_MAX = 20_000
_BATCHES_A_TICK = 100
_NEW = frozenset({Kind.PUT, Kind.MULTIPART})

Read = tuple[bytes, int | None, int | None]
"""A whole GET: the request, and size and CRC-32 that must come back where they are known."""


class Idle(Protocol):
    """Whoever can begin an operation."""

    def begin(self) -> bool:
        """Begin the next one; whether there is one."""


class Plan:
    """The planned starts of an open loop: those that are due, and the first that is not begun.

    The same starts are gone through twice, once by the clock and once by the threads, so that those which wait need no
    memory however many they are.
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


class Work:
    """What threads of one job share. `left` operations may still be started; `None` for any number."""

    __slots__ = (
        "_job_index", "_reads", "_recorder", "busy", "data", "draws", "first_number", "idle", "job", "late",
        "left", "loop", "lost_first", "manner", "new_begun", "new_objects", "objects", "over", "pending", "plan",
        "quick", "seen", "threads", "trace", "worker", "workers",
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
        seed: int,
        start_ns: int,
        ramp_s: float,
        loop: Loop,
        recorder: Recorder,
        manner: Manner,
        data: DataSet,
        objects: Objects,
        new_objects: Objects,
        seen: Seen,
        trace: Trace | None,
    ) -> None:
        self._job_index = index
        self._recorder = recorder
        self._reads: dict[Requests, dict[int, Read]] = {}
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
        count = job.objects if job.objects is not None else objects.listed or 0
        self.draws = Draws(job, worker=worker, workers=workers, objects=count, first_number=first_number, seed=seed)
        self.left = left
        self.plan: Plan | None = None
        if job.rate is not None:
            rate = job.rate

            def batches() -> Iterator[list[int]]:
                return planned_batches(
                    rate.per_s, rate.arrivals, seed=seed, worker=worker, workers=workers, ramp_s=ramp_s
                )

            self.plan = Plan(batches(), chain.from_iterable(batches()), start_ns)
        self.quick = self.plan is None and trace is None
        self.pending: list[tuple[Kind, int]] = []  # the next operation is the last of it
        self.over = False  # nothing new starts
        self.busy = 0  # threads with an operation
        self.idle: list[Idle] = []  # threads of an open loop that wait for the next planned start
        self.new_begun = 0
        self.lost_first: int | None = None  # the lowest number of a new object that was not written
        self.late = 0

    @property
    def is_done(self) -> bool:
        """Whether all that was to be started has ended."""
        return not self.busy and not self.pending and not self.has_more

    @property
    def has_more(self) -> bool:
        """Whether more can be drawn."""
        return not self.over and self.left != 0 and not self.draws.exhausted

    def waiting(self, now_ns: int) -> int:
        """How many operations of an open loop should have begun before now and have not."""
        if self.plan is None or not (self.pending or self.has_more):
            return 0
        while not self.plan.tick(now_ns - 1):
            pass
        waiting = max(0, self.plan.waiting)
        return waiting if self.left is None else min(waiting, self.left + len(self.pending))

    @property
    def written(self) -> int:
        """How many new objects there are from the first number of this worker on, without a gap."""
        if self.lost_first is None:
            return self.new_begun
        return (self.lost_first - self.first_number - self.worker) // self.workers

    def lane(self, kind: Kind) -> Lane:
        """Where to count operations of `kind`."""
        return self._recorder.lane(self._job_index, kind)

    def reads(self, requests: Requests) -> dict[int, Read]:
        """What is known of whole GETs by these `requests`: filled by whoever makes one, emptied when they get old."""
        return self._reads.setdefault(requests, {})

    def read(self, requests: Requests, number: int) -> Read:
        """Make a whole GET, and keep it for the next time as long as there is room."""
        objects = self.objects
        size_bytes, crc32 = objects.expected(number) if self.manner.verify else (None, None)
        made = requests.get(objects.path(number)), size_bytes, crc32
        reads = self.reads(requests)
        if len(reads) < _READS_MAX:
            reads[number] = made
        return made

    def forget(self, requests: Requests) -> None:
        """Forget what these `requests` made: it has become too old."""
        self.reads(requests).clear()

    def refill(self) -> bool:
        """Draw the next operations; whether there are any."""
        if not self.has_more:
            return False
        batch = self.draws.batch()
        if self.left is not None:
            del batch[self.left :]
            self.left -= len(batch)
        batch.reverse()
        self.pending = batch
        return bool(batch)

    def instead(self, kind: Kind) -> tuple[Kind, int] | None:
        """What to do for a DELETE of a mix: delete something of our own, or else what comes next, if anything does."""
        while True:
            taken = self.draws.take()
            if taken is not None:
                return kind, taken
            if self.left is not None:
                self.left += 1
            if not self.pending and not self.refill():
                return None
            kind, number = self.pending.pop()
            if number >= 0:
                return kind, number

    def stop(self) -> None:
        """Start nothing any more."""
        self.over = True
        self.pending = []

    def lost(self, kind: Kind, number: int) -> None:
        """Take note that an operation came to nothing; of a new object it means a gap."""
        if kind in _NEW and number >= self.first_number and not self.job.overwrite:
            self.lost_first = number if self.lost_first is None else min(self.lost_first, number)
