"""A phase whose operations are known one by one, told as workers tell it, for tests of what is made of it."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from s3bench.load.engine.interval_record import IntervalRecord, Loss, Stream
from s3bench.load.engine.message import PhaseEnded
from s3bench.load.operation import OperationKind
from s3bench.results.histogram import Histogram

NS = 1_000_000_000
SLOT_NS = NS // 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One attempt that is a whole operation; times in ns since the phase's start. `label` says how it failed."""

    start_ns: int
    end_ns: int
    worker: int = 0
    job: int = 0
    kind: OperationKind = OperationKind.GET
    size_bytes: int = 1000
    planned_ns: int | None = None
    label: str = ""
    retried: bool = False
    repeated: bool = False


def records(
    operations: Sequence[Operation], *, end_ns: int, workers: int = 1, clock: float = 1.0
) -> list[IntervalRecord]:
    """What workers tell of a phase of `end_ns`, second by second; `clock` distorts their latencies."""
    seconds = math.ceil(end_ns / NS)
    open_in: dict[tuple[int, int], list[Operation]] = {}
    for each in operations:
        for second in range(each.start_ns // NS, each.end_ns // NS + 1):
            open_in.setdefault((second, each.worker), []).append(each)
    return [
        _record(
            open_in.get((second, worker), []),
            worker=worker,
            second=second,
            until_ns=min((second + 1) * NS, end_ns),
            clock=clock,
        )
        for second in range(seconds)
        for worker in range(workers)
    ]


def endings(operations: Sequence[Operation], *, end_ns: int, workers: int = 1) -> list[PhaseEnded]:
    """How the workers end: what was in flight ends well afterwards."""
    left = [
        [each for each in operations if each.worker == worker and each.start_ns < end_ns <= each.end_ns]
        for worker in range(workers)
    ]
    return [
        PhaseEnded(
            worker=worker,
            elapsed_ns=end_ns,
            unfinished=len(open_at_end),
            late=len(open_at_end),
            open_ns=sum(end_ns - each.start_ns for each in open_at_end),
            oldest_ns=max((end_ns - _planned_ns(each) for each in open_at_end), default=0),
            oldest_attempt_ns=max((end_ns - each.start_ns for each in open_at_end), default=0),
            written=(0,),
        )
        for worker, open_at_end in enumerate(left)
    ]


def _planned_ns(operation: Operation) -> int:
    return operation.start_ns if operation.planned_ns is None else operation.planned_ns


def _record(
    operations: Sequence[Operation], *, worker: int, second: int, until_ns: int, clock: float
) -> IntervalRecord:
    from_ns = second * NS
    spans = [(max(each.start_ns, from_ns), min(each.end_ns, until_ns)) for each in operations]
    ended = [each for each in operations if from_ns <= each.end_ns < until_ns]
    keys = dict.fromkeys((each.job, each.kind) for each in ended)
    return IntervalRecord(
        worker=worker,
        second=second,
        length_ns=until_ns - from_ns,
        streams=tuple(
            _stream(job, kind, [each for each in ended if (each.job, each.kind) == (job, kind)], clock)
            for job, kind in keys
        ),
        in_flight_ns=sum(max(0, end - start) for start, end in spans),
        in_flight_max=sum(end > start for start, end in spans),
        cpu_ns=(until_ns - from_ns) // 4,
        wait_ns=(until_ns - from_ns) // 2,
        connects=1 if second == 0 else 0,
        served=_slots((each.end_ns, each.end_ns + 1) for each in ended if not each.label) >> 10 * second,
        failed=_slots((each.end_ns, each.end_ns + 1) for each in ended if each.label) >> 10 * second,
        wanted=_slots(spans) >> 10 * second,
    )


def _slots(spans: Iterable[tuple[int, int]]) -> int:
    """A bit for each tenth of a second of the phase that one of the spans touches."""
    bits = 0
    for start_ns, end_ns in spans:
        if end_ns > start_ns:
            bits |= (1 << -(-end_ns // SLOT_NS)) - (1 << start_ns // SLOT_NS)
    return bits


def _stream(job: int, kind: OperationKind, ended: Sequence[Operation], clock: float) -> Stream:
    well = [each for each in ended if not each.label]
    service, response = Histogram(), Histogram()
    service.add([round((each.end_ns - each.start_ns) * clock) for each in well])
    starts = [_planned_ns(each) for each in well]
    response.add([round((each.end_ns - start) * clock) for each, start in zip(well, starts, strict=True)])
    labels = dict.fromkeys(each.label for each in ended if each.label)
    return Stream(
        job=job,
        kind=kind,
        operations=len(well),
        repeated=sum(each.repeated for each in well),
        bytes_up=sum(each.size_bytes for each in well if kind is OperationKind.PUT),
        bytes_down=sum(each.size_bytes for each in well if kind is OperationKind.GET),
        service=service.bins(),
        first_byte=service.bins(),
        response=response.bins(),
        losses=tuple(_loss(label, [each for each in ended if each.label == label]) for label in labels),
    )


def _loss(label: str, failed: Sequence[Operation]) -> Loss:
    return Loss(
        label=label,
        count=len(failed),
        retried=sum(each.retried for each in failed),
        lost_ns=sum(each.end_ns - each.start_ns for each in failed),
        body_bytes=sum(each.size_bytes for each in failed),
    )


def closed_loop(
    *,
    length_ns: int,
    end_ns: int,
    threads: int = 4,
    workers: int = 1,
    kind: OperationKind = OperationKind.GET,
    job: int = 0,
) -> list[Operation]:
    """Threads of every worker, each with one operation after the other, beginning one after the other."""
    return [
        Operation(start_ns=start, end_ns=start + length_ns, worker=worker, kind=kind, job=job)
        for worker in range(workers)
        for thread in range(threads)
        for start in range(thread * length_ns // threads, end_ns, length_ns)
    ]
