"""Accounts of phases whose operations are known one by one."""

from collections.abc import Iterable, Sequence

from s3bench.load.aggregation.phase_aggregation import PhaseAggregation
from s3bench.load.aggregation.phase_result import PhaseResult
from s3bench.load.engine.interval_record import IntervalRecord
from s3bench.load.engine.message import PhaseEnded
from s3bench.load.operation import OperationKind
from s3bench.load.profile.profile import Job, Phase, Rate, Share
from s3bench.load.profile.sizes import fixed
from s3bench.results.bins import Bins
from s3bench.results.histogram import Histogram
from tests.load.simulated import Operation, endings, records

MS = 1_000_000


def job(
    *kinds: OperationKind, threads: int = 4, name: str = "", rate: float | None = None, operations: int | None = None
) -> Job:
    return Job(
        name=name,
        mix=tuple(Share(kind=kind) for kind in kinds or (OperationKind.GET,)),
        sizes=fixed(1000),
        threads=threads,
        rate=Rate(per_s=rate) if rate else None,
        operations=operations,
    )


def phase(*jobs: Job, warmup_s: float = 0.0, stable: bool = False, duration_s: float | None = 5.0) -> Phase:
    return Phase(name="one", jobs=jobs or (job(),), warmup_s=warmup_s, stable=stable, duration_s=duration_s)


def aggregation(
    operations: Sequence[Operation], of: Phase, *, end_ns: int, workers: int = 1, clock: float = 1.0
) -> PhaseAggregation:
    made = PhaseAggregation(of, workers=workers)
    for record in records(operations, end_ns=end_ns, workers=workers, clock=clock):
        made.add(record)
    for ended in endings(operations, end_ns=end_ns, workers=workers):
        made.end(ended)
    return made


def told(of: Phase, given: Iterable[IntervalRecord], *ended: PhaseEnded, workers: int = 1) -> PhaseResult:
    made = PhaseAggregation(of, workers=workers)
    for record in given:
        made.add(record)
    for each in ended:
        made.end(each)
    return made.measure()


def ended(worker: int = 0, *, unfinished: int = 0, late: int = 0, open_ns: int = 0) -> PhaseEnded:
    return PhaseEnded(worker=worker, elapsed_ns=0, unfinished=unfinished, late=late, open_ns=open_ns, written=(0,))


def bins(*samples_ns: int) -> Bins:
    histogram = Histogram()
    histogram.add(samples_ns)
    return histogram.bins()
