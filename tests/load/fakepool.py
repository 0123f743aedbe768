"""A pool without processes: it says what a test says, and remembers what it was told.

Keeps the promises of `WorkerPool`; real workers run the same phases in `test_worker_pool`.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Self

from s3bench.load.engine.interval_record import IntervalRecord
from s3bench.load.engine.message import BeginPhase, PhaseEnded, PreparePhase, WorkerLost
from s3bench.load.operation import OperationKind
from tests.load.simulated import NS, Operation, endings, records

Told = IntervalRecord | PhaseEnded | WorkerLost | None


def doing(order: BeginPhase, *, seconds: float | None = None, failing: int = 0) -> Iterator[Told]:
    """What one worker tells of a phase: its first job's operations, one after the other, the first ones `failing`.

    It takes as long as the phase wants, or else a second.
    """
    [job, *_] = order.phase.jobs
    kind = job.kinds[0] if job.kinds[0] is not OperationKind.MULTIPART else OperationKind.PUT
    count = job.operations or 10
    end_ns = round((seconds or order.phase.duration_s or 1.0) * NS)
    operations = [
        Operation(
            start_ns=end_ns * number // count,
            end_ns=end_ns * (number + 1) // count - 1,
            kind=kind,
            label="503 SlowDown" if number < failing else "",
        )
        for number in range(count)
    ]
    yield from records(operations, end_ns=end_ns)
    [ended] = endings(operations, end_ns=end_ns)
    yield PhaseEnded(
        worker=0,
        elapsed_ns=ended.elapsed_ns,
        unfinished=ended.unfinished,
        late=ended.late,
        open_ns=ended.open_ns,
        written=tuple(job.operations or 10 for job in order.phase.jobs),
    )


class FakePool:
    """One worker that answers each `BeginPhase` as `answer` says."""

    answer: Callable[[BeginPhase], Iterable[Told]] = staticmethod(doing)

    def __init__(self, workers: int = 1, *, directory: Path | None = None) -> None:
        self.workers = workers
        self.nodes = 1
        self.directory = directory
        self.prepared: tuple[PreparePhase, ...] = ()
        self.begun: list[BeginPhase] = []
        self.stops = 0
        self.is_open = False

    def __enter__(self) -> Self:
        self.is_open = True
        return self

    def __exit__(self, *_: object) -> None:
        self.is_open = False

    def prepare(self, orders: tuple[PreparePhase, ...]) -> None:
        self.prepared = orders

    def perform(self, orders: tuple[BeginPhase, ...]) -> Iterator[Told]:
        assert len(orders) == self.workers
        self.begun.append(orders[0])
        yield from self.answer(orders[0])

    def stop(self) -> None:
        self.stops += 1

    def memory_bytes_max(self) -> int | None:
        return 1000

    @property
    def names(self) -> list[str]:
        """The phases that were begun."""
        return [order.phase.name for order in self.begun]


class Named:
    """Anything that has the attributes given."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)
