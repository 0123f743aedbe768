"""The state of one worker's part of a replay: as of any job, and the order of the operations on each key."""

from collections import deque
from typing import Any

from s3bench.load.engine.job_state import JobState, Read, Seen, Write
from s3bench.load.engine.key_order import KeyOrder
from s3bench.load.engine.replay_file import WRITERS, PlannedOperation, RowFlag
from s3bench.load.engine.replayed_objects import ReplayedContents, ReplayedObjects
from s3bench.load.engine.replayed_operations import ReplayedOperations
from s3bench.load.engine.request import Requests
from s3bench.load.operation import AttemptFailure, OperationKind

_DROPPED_MAX = 10_000
_AGAIN, _MISSING = RowFlag.AGAIN.value, RowFlag.MISSING.value  # masking with a flag makes a new one each time

_Begun = tuple[OperationKind, int, int]
"""Kind, number and planned start of an operation."""


class _SeenInPlan(Seen):
    """Which reads are of an object that was read before, as the plan has it."""

    __slots__ = ("_operations",)

    def __init__(self, operations: ReplayedOperations) -> None:
        super().__init__()
        self._operations = operations

    def again(self, number: int) -> bool:
        """Whether the object of an operation was read by an earlier one."""
        return bool(self._operations.operation(number).flags & _AGAIN)


class ReplayState(JobState):
    """What the virtual users of a replay share.

    An operation that is due while one before it on its key is on waits for that, and holds no virtual user; the wait
    is part of its response time. It is given up as others are that wait for longer than a request may last.
    """

    __slots__ = ("_doubtful", "_freed", "_order", "operations")

    def __init__(self, operations: ReplayedOperations, contents: ReplayedContents, **more: Any) -> None:
        self._doubtful: set[int] = set()
        objects = ReplayedObjects(contents, operations, self._doubtful)
        seen = _SeenInPlan(operations)
        super().__init__(**more, mix=operations, objects=objects, new_objects=objects, seen=seen)
        self.operations = operations
        self._order: KeyOrder[_Begun] = KeyOrder()
        self._freed: deque[_Begun] = deque()  # what waited for its key, and may begin

    def next_operation(self, now_ns: int) -> _Begun | None:
        """Begin the next operation that is due and whose key is free."""
        self.expire(now_ns)
        if self._freed:
            return self._freed.popleft()
        plan = self.plan
        while plan is None or plan.waiting > 0:
            if not self.pending and not self.refill():
                return None
            planned_ns = 0 if plan is None else plan.take()
            kind, number = self.pending.pop()
            begun = kind, number, planned_ns
            if self._order.enter(self.operations.operation(number).key, begun, writes=kind in WRITERS):
                return begun
        return None

    def ended(self, kind: OperationKind, number: int, *, well: bool) -> None:
        """Take note that an operation has ended, and free those that waited for it."""
        key = self.operations.operation(number).key
        writes = kind in WRITERS
        if writes:
            (self._doubtful.discard if well else self._doubtful.add)(key)
        self.operations.forget(number)
        if not self.over:
            self._freed.extend(self._order.leave(key, writes=writes))

    def is_missing(self, number: int) -> bool:
        """Whether an operation must find no object."""
        return bool(self.operations.operation(number).flags & _MISSING)

    def planned(self, number: int) -> PlannedOperation:
        """What is planned of an operation that is on."""
        return self.operations.operation(number)

    def is_verified(self, operation: PlannedOperation) -> bool:
        """Whether what is read of its object is known."""
        return self.manner.verify and operation.key not in self._doubtful

    @property
    def is_done(self) -> bool:
        """Whether all that was to be started has ended."""
        return super().is_done and not self._freed and not self._order

    @property
    def is_startable(self) -> bool:
        """Whether an operation is due that may begin."""
        return bool(self._freed) or super().is_startable

    @property
    def is_behind(self) -> bool:
        """Whether planned operations were due at the last turn and have not begun."""
        return bool(self._freed or self._order) or super().is_behind

    @property
    def backlog(self) -> int:
        """How many planned operations are due and have not begun."""
        return super().backlog + len(self._freed) + len(self._order)

    def oldest_ns(self, now_ns: int) -> int:
        """How long the first of the operations has waited that hold no virtual user; 0 without any."""
        starts_ns = [planned_ns for _, _, planned_ns in (*self._freed, *self._order.waiting())]
        return max(super().oldest_ns(now_ns), now_ns - min(starts_ns, default=now_ns))

    def read(self, requests: Requests, number: int) -> Read:
        """Make a whole GET; none is made twice."""
        size_bytes, body = self.objects.expected(number) if self.manner.verify else (None, None)
        return requests.get(self.objects.path(number)), size_bytes, body

    def write(self, requests: Requests, number: int) -> Write:
        """Make a PUT; none is made twice."""
        body = self.new_objects.body(number)
        return requests.put(self.new_objects.path(number), body), body

    def expire(self, now_ns: int) -> None:
        """Count planned operations as failed that waited for longer than a request may last."""
        plan = self.plan
        if plan is None:
            return
        before_ns = now_ns - self.patience_ns
        while self._freed and self._freed[0][2] < before_ns:
            kind, number, _ = self._freed.popleft()
            self._lose(kind)
            self.ended(kind, number, well=False)
        for _ in range(_DROPPED_MAX):
            if plan.waiting <= 0 or plan.next_ns >= before_ns or not (self.pending or self.refill()):
                return
            plan.take()
            kind, number = self.pending.pop()
            self._lose(kind)
            if kind in WRITERS:
                self._doubtful.add(self.operations.operation(number).key)
            self.operations.forget(number)

    def stop(self) -> None:
        """Start nothing any more."""
        super().stop()
        self._freed.clear()
        self._order.clear()

    def _lose(self, kind: OperationKind) -> None:
        self.counter(kind).lose(AttemptFailure.NO_THREAD, retried=False, lost_ns=0, body_bytes=0)
