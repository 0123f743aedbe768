"""A phase as it goes on: which seconds are complete, how it stands, and when it has settled."""

import pytest

from s3bench.load.aggregation.phase_aggregation import PhaseAggregation
from s3bench.load.engine.interval_record import IntervalRecord
from s3bench.load.engine.message import WorkerLost
from s3bench.load.operation import OperationKind
from tests.load.aggregations import MS, aggregation, ended, job, phase
from tests.load.simulated import NS, Operation, closed_loop, endings, records


def test_a_second_is_complete_when_the_last_worker_has_told_of_it() -> None:
    made = PhaseAggregation(phase(), workers=2)
    assert [
        made.add(record)
        for record in (
            IntervalRecord(0, 0, NS),
            IntervalRecord(0, 1, NS),
            IntervalRecord(1, 0, NS),
            IntervalRecord(1, 1, NS),
        )
    ] == [
        False,
        False,
        True,
        True,
    ]


def test_a_worker_that_is_through_is_not_waited_for() -> None:
    made = PhaseAggregation(phase(), workers=2)
    made.add(IntervalRecord(0, 0, NS))
    made.add(IntervalRecord(1, 0, NS))
    made.end(ended(1))
    assert made.add(IntervalRecord(0, 1, NS))
    assert [each.worker for each in made.ended] == [1]


def test_the_standing_is_that_of_the_last_second_over_all_workers() -> None:
    of = phase(job(OperationKind.GET, operations=5000), warmup_s=2)
    made = PhaseAggregation(of, workers=2)
    loop = closed_loop(length_ns=4 * MS, end_ns=3 * NS, workers=2)
    loop += [Operation(start_ns=1_500 * MS, end_ns=1_600 * MS, label="503 SlowDown")]
    given = records(loop, end_ns=3 * NS, workers=2)
    for record in given[:4]:
        made.add(record)
    now = made.status()
    (kind,) = now.kinds
    assert (now.phase, now.second, now.is_warmup, now.duration_s, now.operations_total) == ("one", 2, True, 5.0, 5000)
    assert (kind.kind, kind.rate, kind.bytes_rate, kind.failures) == ("get", 2000.0, 2_000_000.0, 1)
    assert (kind.p50_s, kind.p99_s) == pytest.approx((0.004, 0.004), rel=0.005)
    assert now.failures == (("503 SlowDown", 1),)
    assert now.in_flight == pytest.approx(8.1, abs=0.01)
    assert now.client_cpu_share == 0.25
    assert now.history == (now.history[0], 2_000_000.0)
    assert now.history_is_bytes
    for record in given[4:]:
        made.add(record)
    assert not made.status().is_warmup
    assert made.status().failures == ()


def test_before_the_first_second_there_is_nothing_to_stand_on() -> None:
    now = PhaseAggregation(phase(duration_s=None), workers=1).status()
    assert (now.second, now.kinds, now.history, now.operations, now.operations_total) == (0, (), (), 0, None)


def test_a_history_without_bytes_is_of_operations() -> None:
    loop = closed_loop(length_ns=10 * MS, end_ns=2 * NS, kind=OperationKind.HEAD)
    now = aggregation(loop, phase(job(OperationKind.HEAD)), end_ns=2 * NS).status()
    assert (now.history_is_bytes, now.history[1]) == (False, 400.0)


def test_a_phase_settles_only_if_it_may_and_not_by_its_warm_up() -> None:
    loop = closed_loop(length_ns=10 * MS, end_ns=12 * NS)
    assert aggregation(loop, phase(stable=True), end_ns=12 * NS).is_settled
    assert not aggregation(loop, phase(stable=False), end_ns=12 * NS).is_settled
    assert not aggregation(loop, phase(stable=True, warmup_s=3.0), end_ns=12 * NS).is_settled


def test_measuring_twice_gives_the_same() -> None:
    made = aggregation(closed_loop(length_ns=10 * MS, end_ns=2 * NS), phase(), end_ns=2 * NS)
    assert made.measure() == made.measure()


def test_a_node_that_was_given_no_thread_is_not_slow() -> None:
    made = PhaseAggregation(phase(job(threads=2)), workers=3, nodes=3)
    loop = closed_loop(length_ns=4 * MS, end_ns=3 * NS, workers=2)
    for record in records(loop, end_ns=3 * NS, workers=3):
        made.add(record)
    assert [each.is_straggler for each in made.status().nodes] == [False, False, False]
    assert not [each for each in made.measure().warnings if "far below the median" in each]


def test_the_loss_of_a_node_before_the_start_is_why_nothing_was_measured() -> None:
    made = PhaseAggregation(phase(), workers=2, nodes=2)
    made.lose(WorkerLost(node=1, why="its process died"))
    result = made.measure()
    assert result.contradiction == f"nothing was measured: {result.losses[0]}"
    assert result.losses[0].startswith("node-2 was lost: its process died")


def test_no_second_waits_for_the_workers_of_a_lost_node() -> None:
    made = PhaseAggregation(phase(), workers=4, nodes=2)
    for worker in range(4):
        made.add(IntervalRecord(worker, 0, NS))
    assert not [worker for worker in (0, 2) if made.add(IntervalRecord(worker, 1, NS))]
    assert made.lose(WorkerLost(node=1, why="its process died"))
    assert made.status().second == 2


def test_workers_of_a_lost_node_are_told_once_by_its_loss() -> None:
    made = PhaseAggregation(phase(), workers=4, nodes=2)
    loop = closed_loop(length_ns=10 * MS, end_ns=2 * NS, workers=4)
    for record in records(loop, end_ns=2 * NS, workers=4):
        made.add(record)
    for each in endings(loop, end_ns=2 * NS, workers=4)[::2]:
        made.end(each)
    silent = made.measure()
    assert [each for each in silent.warnings if "did not report" in each] == [
        "2 of 4 workers did not report their end: their operations are missing"
    ]
    made.lose(WorkerLost(node=1, why="its process died"))
    lost = made.measure()
    assert not [each for each in lost.warnings if "did not report" in each]
    assert lost.losses == ("node-2 was lost: its process died; from second 2 on the figures are without it",)


def test_rows_of_a_phase_of_several_kinds_are_of_all_and_of_each_and_are_taken_once() -> None:
    of = phase(job(OperationKind.GET, OperationKind.PUT))
    made = PhaseAggregation(of, workers=1, keeps_rows=True)
    loop = closed_loop(length_ns=10 * MS, end_ns=2 * NS) + closed_loop(
        length_ns=20 * MS, end_ns=2 * NS, kind=OperationKind.PUT
    )
    for record in records(loop, end_ns=2 * NS):
        made.add(record)
    rows = made.take_rows()
    assert [(kind, row.second) for kind, row in rows] == [
        (kind, second) for second in (0, 1) for kind in ("all", "put", "get")
    ]
    whole, puts, gets = (row for _, row in rows[3:])
    assert (whole.operations, gets.operations, puts.operations) == (600, 400, 200)
    assert made.take_rows() == ()
