"""Runs the phases of a load run on its workers, and writes the objects that they read before.

Everything that takes time is a generator that yields the aggregation every second, for the live view.
"""

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

from s3bench.errors import MachineError, S3BenchError
from s3bench.load.access_log.trace import data_set_phase
from s3bench.load.aggregation.phase_aggregation import PhaseAggregation
from s3bench.load.engine.interval_record import IntervalRecord
from s3bench.load.engine.message import BeginPhase, PhaseEnded, PreparePhase, RequestTarget, WorkerLost
from s3bench.load.engine.trace import part_of
from s3bench.load.operation import OperationKind
from s3bench.load.profile.profile import DataSet, Job, Manner, Phase, Share
from s3bench.load.profile.sizes import Sizes
from s3bench.load.session.inventory import Inventory
from s3bench.load.session.workers import Workers

_PREPARING_THREADS = 16
_PREPARING_TRIES = 3
_PREPARING_RETRIES = 5  # of one object; none of this is measured
_MULTIPART_FROM_BYTES = 1024**3


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRules:
    """The rules of a run: the manner of its requests, its data, and whether the user wants it to end.

    The keys of new objects beside the data set begin with `new_root`, by default with the root of `data`. Random
    choices follow from `seed`. With `trace` each worker writes its attempts to a file of that name, `.` and its number.
    `keeps_rows` is that of `PhaseAggregation`.
    """

    manner: Manner
    data: DataSet
    new_root: str | None = None
    seed: int = 0
    trace: Path | None = None
    is_over: Callable[[], bool] = lambda: False
    keeps_rows: bool = False


class PhaseCutShort(MachineError):
    """A phase that ended early because of `error`; `aggregation` has what was measured until then."""

    def __init__(self, error: S3BenchError, aggregation: PhaseAggregation) -> None:
        super().__init__(error.what, error.why, error.fix)
        self.aggregation = aggregation


class LoadRun:
    """A run on workers that have started: phase after phase, each on the objects that the ones before left."""

    def __init__(self, pool: Workers, target: RequestTarget, rules: RunRules, inventory: Inventory) -> None:
        self._pool = pool
        self._rules = rules
        self._inventory = inventory
        self._turn = 0
        self.unanswered = 0  # attempts to write that had no response, so that their objects may appear later
        pool.prepare(
            tuple(
                PreparePhase(
                    worker=worker,
                    workers=pool.workers,
                    target=target,
                    manner=rules.manner,
                    data=rules.data,
                    new_root=rules.new_root,
                    seed=rules.seed,
                    trace=None if rules.trace is None else str(part_of(rules.trace, worker)),
                )
                for worker in range(pool.workers)
            )
        )

    def missing(self, phase: Phase) -> tuple[tuple[Sizes, int], ...]:
        """The objects that must be written before a phase: sizes, and how many there have to be of each."""
        wanted: dict[Sizes, int] = {}
        for job in phase.jobs:
            if self._inventory.wanted(job) > self._inventory.available(job.sizes):
                wanted[job.sizes] = max(self._inventory.wanted(job), wanted.get(job.sizes, 0))
        return tuple(wanted.items())

    def write_data_set(self, sizes: Sizes, objects: int) -> Generator[PhaseAggregation, None, None]:
        """Write the objects that are missing of `objects`; yields its aggregation every second.

        Raises `S3BenchError` where some cannot be written.
        """
        first = self._inventory.available(sizes)
        kind = OperationKind.MULTIPART if sizes.size_bytes_max > _MULTIPART_FROM_BYTES else OperationKind.PUT
        job = Job(
            name="data set",
            mix=(Share(kind=kind),),
            sizes=sizes,
            threads=max(_PREPARING_THREADS, self._pool.workers),
            operations=objects - first,
            objects=0,
        )
        phase = Phase(name=data_set_phase(objects - first), jobs=(job,))
        for _ in range(_PREPARING_TRIES):
            aggregation = self._aggregation(phase)
            yield from self._write(phase, aggregation, first_number=first)
            if aggregation.losses:
                raise MachineError("the objects to be read could not be written", "; ".join(aggregation.losses))
            if self._rules.is_over():
                return
            if not aggregation.failures:
                self._inventory.set_available(sizes, objects)
                return
            if _is_hopeless(aggregation):
                break
        raise S3BenchError(
            "the objects to be read could not be written",
            _failures_of(aggregation),
            "check what the endpoint rejects, or read existing objects with --list-existing",
        )

    def write_replayed(self, job: Job) -> Generator[PhaseAggregation, None, None]:
        """Write the objects that a replay reads before it writes them; yields its aggregation every second.

        Raises `S3BenchError` where some cannot be written.
        """
        phase = Phase(name=data_set_phase(job.operations or 0), jobs=(job,))
        aggregation = self._aggregation(phase)
        yield from self._write(phase, aggregation, first_number=0)
        if aggregation.losses or (aggregation.failures and not self._rules.is_over()):
            raise S3BenchError(
                "the objects that the log reads could not be written",
                ", ".join(filter(None, (*aggregation.losses, _failures_of(aggregation)))),
                "check what the endpoint rejects, and whether they fit there",
            )

    def settled(self, phase: Phase) -> Phase:
        """The phase with the number of objects that each job reads."""
        return self._inventory.settled(phase)

    def measure(self, phase: Phase, *, fills: bool = True) -> Generator[PhaseAggregation, None, PhaseAggregation]:
        """Run a phase; yields its aggregation every second, and returns it at the end.

        What it writes may become the data set of later phases, unless `fills` is off. Raises `PhaseCutShort` if the
        workers cannot go on.
        """
        settled = self._inventory.settled(phase)
        filling = [fills and self._inventory.fills(job, settled) for job in settled.jobs]
        first_numbers = self._inventory.first_numbers(filling)
        aggregation = self._aggregation(settled)
        try:
            yield from self._perform(settled, aggregation, first_numbers=first_numbers)
        except S3BenchError as error:
            raise PhaseCutShort(error, aggregation) from error
        self._inventory.after(settled, filling, aggregation.ended)
        return aggregation

    def _aggregation(self, phase: Phase) -> PhaseAggregation:
        return PhaseAggregation(
            phase, workers=self._pool.workers, nodes=self._pool.nodes, keeps_rows=self._rules.keeps_rows
        )

    def _write(self, phase: Phase, aggregation: PhaseAggregation, *, first_number: int) -> Iterator[PhaseAggregation]:
        """Write objects that are to be read; none of this is measured, and it ends early where all of them fail."""
        yield from self._perform(
            phase,
            aggregation,
            first_numbers=(first_number,),
            retries_min=_PREPARING_RETRIES,
            is_hopeless=_is_hopeless,
        )

    def _perform(
        self,
        phase: Phase,
        aggregation: PhaseAggregation,
        *,
        first_numbers: tuple[int, ...],
        retries_min: int = 0,
        is_hopeless: Callable[[PhaseAggregation], bool] = lambda _: False,
    ) -> Iterator[PhaseAggregation]:
        self._turn += 1
        order = BeginPhase(phase=phase, first_numbers=first_numbers, turn=self._turn, retries_min=retries_min)
        stopped = False
        for report in self._pool.perform((order,) * self._pool.workers):
            match report:
                case IntervalRecord():
                    if aggregation.add(report):
                        yield aggregation
                case PhaseEnded():
                    self.unanswered += report.unanswered
                    if aggregation.end(report):
                        yield aggregation
                case WorkerLost():
                    if aggregation.lose(report):
                        yield aggregation
            if not stopped and (self._rules.is_over() or aggregation.is_settled or is_hopeless(aggregation)):
                stopped = True
                self._pool.stop()


def _is_hopeless(aggregation: PhaseAggregation) -> bool:
    """Whether no object was written so far, and as many failed for good as there are threads, 16 at least."""
    failed = sum(aggregation.failures.values())
    return not aggregation.operations and failed >= max(_PREPARING_THREADS, aggregation.threads)


def _failures_of(aggregation: PhaseAggregation) -> str:
    """`4 times 503 SlowDown`."""
    failures = ", ".join(f"{count} times {label}" for label, count in aggregation.failures.items())
    count = sum(aggregation.failures.values())
    return failures if aggregation.operations or not count else f"none of the first {count} was written: {failures}"
