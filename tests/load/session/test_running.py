"""A run on its workers: what is written before a phase, what a phase leaves, and how it is stopped."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import cast

import msgspec
import pytest

from s3bench.errors import S3BenchError
from s3bench.load.engine.message import BeginPhase, RequestTarget
from s3bench.load.operation import OperationKind
from s3bench.load.profile.profile import DataSet, Job, Manner, Phase, Share
from s3bench.load.profile.sizes import fixed
from s3bench.load.session.inventory import FAR, Inventory
from s3bench.load.session.running import LoadRun, RunRules
from s3bench.load.session.worker_pool import WorkerPool
from tests.load.fakepool import FakePool, Told, doing
from tests.load.simulated import NS, closed_loop, endings, records

RUN = "0123456789ab"
TARGET = RequestTarget(addresses=(("127.0.0.1", 9),), hosts=("127.0.0.1:9",), bucket="data")
SIZES, LARGE, HUGE = fixed(1000), fixed(2000), fixed(2 * 1024**3)


def job(kind: OperationKind, **more: object) -> Job:
    return msgspec.structs.replace(Job(mix=(Share(kind=kind),), sizes=SIZES, operations=10), **more)


def run_on(
    pool: FakePool,
    *,
    inventory: Inventory | None = None,
    trace: Path | None = None,
    is_over: Callable[[], bool] = lambda: False,
    keeps_rows: bool = False,
) -> LoadRun:
    data = DataSet(run=RUN, root=f"s3bench/{RUN}/")
    rules = RunRules(manner=Manner(), data=data, trace=trace, is_over=is_over, keeps_rows=keeps_rows)
    return LoadRun(cast("WorkerPool", pool), TARGET, rules, inventory or Inventory())


def answering(pool: FakePool, answer: Callable[[BeginPhase], Iterable[Told]]) -> FakePool:
    pool.answer = answer
    return pool


def test_every_worker_is_told_who_it_is_and_has_a_trace_of_its_own() -> None:
    pool = FakePool(3)
    run_on(pool, trace=Path("trace.csv"))
    assert [(each.worker, each.workers, each.trace) for each in pool.prepared] == [
        (0, 3, "trace.csv.0"),
        (1, 3, "trace.csv.1"),
        (2, 3, "trace.csv.2"),
    ]
    run_on(pool)
    assert [each.trace for each in pool.prepared] == [None] * 3


def test_what_is_missing_is_the_largest_data_set_of_each_choice_of_sizes() -> None:
    run = run_on(FakePool(), inventory=Inventory({LARGE: 50}))
    phase = Phase(
        jobs=(
            job(OperationKind.GET, objects=20),
            job(OperationKind.HEAD, objects=70),
            job(OperationKind.GET, sizes=LARGE, objects=50),
            job(OperationKind.PUT),
        )
    )
    assert run.missing(phase) == ((SIZES, 70),)


def test_only_what_is_missing_of_a_data_set_is_written() -> None:
    pool, inventory = FakePool(), Inventory({SIZES: 30})
    aggregations = list(run_on(pool, inventory=inventory).write_data_set(SIZES, 40))
    assert aggregations != []
    [order] = pool.begun
    [written] = order.phase.jobs
    assert (written.kinds, written.operations, order.first_numbers) == ((OperationKind.PUT,), 10, (30,))
    assert order.retries_min > 0, "what is not measured need not succeed at once"
    assert inventory.available(SIZES) == 40


def test_objects_too_large_for_one_put_are_uploaded_in_parts() -> None:
    pool = FakePool()
    list(run_on(pool).write_data_set(HUGE, 2))
    assert pool.begun[0].phase.jobs[0].kinds == (OperationKind.MULTIPART,)


def test_a_data_set_of_which_some_failed_is_written_again_and_given_up_after_three_times() -> None:
    tries: list[BeginPhase] = []

    def failing_once(order: BeginPhase) -> Iterable[Told]:
        tries.append(order)
        return doing(order, failing=1 if len(tries) == 1 else 0)

    inventory = Inventory()
    list(run_on(answering(FakePool(), failing_once), inventory=inventory).write_data_set(SIZES, 10))
    assert len(tries) == 2
    assert inventory.available(SIZES) == 10

    never = answering(FakePool(), lambda order: doing(order, failing=4))
    with pytest.raises(S3BenchError, match="could not be written") as raised:
        list(run_on(never, inventory=(left := Inventory())).write_data_set(SIZES, 10))
    assert len(never.begun) == 3
    assert "4 times 503 SlowDown" in str(raised.value.why)
    assert left.available(SIZES) == 0


def test_a_data_set_that_was_interrupted_is_none() -> None:
    inventory = Inventory()
    pool = FakePool()
    list(run_on(pool, inventory=inventory, is_over=lambda: True).write_data_set(SIZES, 10))
    assert inventory.available(SIZES) == 0
    assert pool.stops == 1


def test_what_a_phase_puts_is_what_the_next_one_reads() -> None:
    pool = FakePool()
    run = run_on(pool)
    list(run.measure(Phase(name="put", jobs=(job(OperationKind.PUT),))))
    reading = Phase(name="get", jobs=(job(OperationKind.GET),))
    assert run.missing(reading) == ()
    list(run.measure(reading))
    put, get = pool.begun
    assert put.first_numbers == (0,)
    assert get.phase.jobs[0].objects == 10
    assert get.first_numbers[0] >= FAR
    assert put.turn != get.turn, "no phase draws as another one did"


def test_an_aggregation_comes_once_for_every_second() -> None:
    pool = answering(FakePool(), lambda order: doing(order, seconds=2.5))
    aggregations = [
        aggregation.status().second for aggregation in run_on(pool).measure(Phase(jobs=(job(OperationKind.PUT),)))
    ]
    assert aggregations == [1, 2, 3]


def test_the_last_part_of_a_second_comes_although_only_one_of_the_workers_had_it() -> None:
    def answer(order: BeginPhase) -> Iterable[Told]:
        del order
        loop = closed_loop(length_ns=NS // 10, end_ns=5 * NS // 2, workers=2, kind=OperationKind.PUT)
        told = records(loop, end_ns=5 * NS // 2, workers=2)
        first, second = endings(loop, end_ns=5 * NS // 2, workers=2)
        yield from told[:-1]  # the other one ended with its second
        yield from (first, second)

    kept: list[int] = []
    for aggregation in run_on(answering(FakePool(2), answer), keeps_rows=True).measure(
        Phase(jobs=(job(OperationKind.PUT, threads=2),))
    ):
        kept.extend(second.second for _, second in aggregation.take_rows())
    assert kept == [0, 1, 2]


def test_workers_are_told_once_that_it_is_over() -> None:
    pool = answering(FakePool(), lambda order: doing(order, seconds=5))
    over = iter([False, True, True, True, True, True, True])
    [aggregation, *_] = run_on(pool, is_over=lambda: next(over)).measure(Phase(jobs=(job(OperationKind.PUT),)))
    assert pool.stops == 1
    assert aggregation.measure().whole.operations == 10


def test_a_phase_that_may_is_stopped_when_its_throughput_has_settled() -> None:
    steady = job(OperationKind.PUT, operations=400)

    def seconds_of(phase: Phase) -> int:
        pool = answering(FakePool(), lambda order: doing(order, seconds=20))
        list(run_on(pool).measure(phase))
        return pool.stops

    assert seconds_of(Phase(jobs=(steady,), duration_s=20.0, stable=True)) == 1
    assert seconds_of(Phase(jobs=(steady,), duration_s=20.0)) == 0


def failing_for_ever(order: BeginPhase) -> Iterable[Told]:
    return doing(order, seconds=20, failing=order.phase.jobs[0].operations or 0)


@pytest.mark.parametrize(("workers", "threads"), [(1, 16), (40, 40)])
def test_a_data_set_of_which_nothing_can_be_written_is_given_up_after_a_failure_for_each_thread(
    workers: int, threads: int
) -> None:
    pool = answering(FakePool(workers), failing_for_ever)
    seconds: list[int] = []
    with pytest.raises(S3BenchError, match="could not be written") as raised:
        seconds.extend(each.status().second for each in run_on(pool).write_data_set(SIZES, 200))
    assert pool.begun[0].phase.jobs[0].threads == threads
    assert (len(pool.begun), pool.stops) == (1, 1)
    assert "none of the first" in raised.value.why
    assert "503 SlowDown" in raised.value.why


def test_a_data_set_of_which_something_was_written_is_not_given_up() -> None:
    pool = answering(FakePool(), lambda order: doing(order, seconds=20, failing=15))
    with pytest.raises(S3BenchError):
        list(run_on(pool).write_data_set(SIZES, 200))
    assert (len(pool.begun), pool.stops) == (3, 0)


def test_objects_of_a_replay_of_which_none_can_be_written_are_given_up() -> None:
    pool = answering(FakePool(), failing_for_ever)
    with pytest.raises(S3BenchError, match="that the log reads could not be written") as raised:
        list(run_on(pool).write_replayed(job(OperationKind.PUT, operations=200, threads=4)))
    assert pool.stops == 1
    assert "none of the first" in raised.value.why
