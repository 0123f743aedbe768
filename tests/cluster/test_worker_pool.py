"""A phase on simulated nodes: shared out, started together, added up exactly, and whole without those that are lost."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from s3bench.cluster.preflight import run_preflight
from s3bench.cluster.worker_pool import ClusterWorkerPool
from s3bench.errors import MachineError
from s3bench.load.aggregation.phase_aggregation import PhaseAggregation
from s3bench.load.aggregation.phase_result import PhaseResult
from s3bench.load.engine.interval_record import IntervalRecord
from s3bench.load.engine.message import PhaseEnded, RequestTarget, WorkerFailed
from s3bench.load.operation import OperationKind
from s3bench.load.profile.profile import DataSet, Job, Manner, Phase, Share
from s3bench.load.profile.sizes import fixed
from s3bench.load.session.inventory import Inventory
from s3bench.load.session.running import LoadRun, RunRules
from s3bench.results.histogram import Histogram
from tests.cluster.node_groups import Clock, SimulatedNode, SimulatedNodeGroup, finished, shared_out
from tests.load.simulated import NS, Operation, endings, records

NODES, A_NODE, SECONDS = 3, 2, 6
WORKERS = NODES * A_NODE
PHASE = Phase(
    name="get",
    jobs=(Job(mix=(Share(kind=OperationKind.GET),), sizes=fixed(1000), objects=10, threads=WORKERS),),
    duration_s=SECONDS,
)
TARGET = RequestTarget(addresses=(("127.0.0.1", 9),), hosts=("127.0.0.1:9",), bucket="data")


def load(seed: int = 1, *, slow: int | None = None) -> list[Operation]:
    """Operations of log-normal lengths, one after the other in each worker; those of node `slow` take five times."""
    generator = np.random.default_rng(seed)
    operations = []
    for worker in range(WORKERS):
        at_ns = 0
        while at_ns < SECONDS * NS:
            scale = 5.0 if worker % NODES == slow else 1.0
            length_ns = int(scale * generator.lognormal(16, 1.0))
            operations.append(Operation(start_ns=at_ns, end_ns=at_ns + length_ns, worker=worker))
            at_ns += length_ns
    return operations


def fleet_of(operations: Sequence[Operation], clock: Clock, **of_second: object) -> SimulatedNodeGroup:
    """Three nodes that did that; the second one is also as told."""
    end_ns = SECONDS * NS
    reports: list[IntervalRecord | PhaseEnded] = [
        *records(operations, end_ns=end_ns, workers=WORKERS),
        *endings(operations, end_ns=end_ns, workers=WORKERS),
    ]
    nodes = [SimulatedNode(reports=part, a_turn=4) for part in shared_out(reports, nodes=NODES)]
    for name, value in of_second.items():
        setattr(nodes[1], name, value)
    return SimulatedNodeGroup(nodes, clock)


def pool_of(
    node_group: SimulatedNodeGroup, clock: Clock, *, is_over: Callable[[], bool] = lambda: False
) -> ClusterWorkerPool:
    def wall_ns() -> int:
        return clock.now_ns

    found = run_preflight(node_group, workers_per_node=A_NODE, threads=64, now_ns=clock, wall_ns=wall_ns)
    return ClusterWorkerPool(node_group, found, is_over=is_over, now_ns=clock, wall_ns=wall_ns, poll_s=0.001)


def run_of(pool: ClusterWorkerPool) -> LoadRun:
    data = DataSet(run="0123456789ab", root="s3bench/0123456789ab/")
    return LoadRun(pool, TARGET, RunRules(manner=Manner(), data=data), Inventory({fixed(1000): 10}))


def run_on(pool: ClusterWorkerPool, phase: Phase = PHASE) -> PhaseAggregation:
    return finished(run_of(pool).measure(phase))


def measured(
    operations: Sequence[Operation], clock: Clock, **of_second: object
) -> tuple[PhaseResult, ClusterWorkerPool]:
    pool = pool_of(fleet_of(operations, clock, **of_second), clock)
    return run_on(pool).measure(), pool


def ended_in_window(operations: Sequence[Operation]) -> list[Operation]:
    return [each for each in operations if each.end_ns < SECONDS * NS]


def test_totals_equal_the_sum_of_the_nodes_and_percentiles_those_of_all_samples_joined() -> None:
    operations = load()
    phase_result, _ = measured(operations, Clock())
    whole, parts = phase_result.whole, [each.load for each in phase_result.nodes]
    ended = ended_in_window(operations)
    assert whole.operations == sum(each.operations for each in parts) == len(ended)
    assert whole.bytes_down == sum(each.bytes_down for each in parts) == 1000 * len(ended)
    joined = Histogram()
    joined.add([each.end_ns - each.start_ns for each in ended])
    assert whole.bins == joined.bins() == Histogram.merged(each.bins for each in parts).bins()
    assert whole.latency.p99 == (joined.percentile_ns(99) or 0) / NS
    assert [each.operations for each in parts] == [
        sum(each.worker % NODES == node for each in ended) for node in range(NODES)
    ]
    assert (phase_result.contradiction, phase_result.losses) == ("", ())


def test_workers_are_numbered_through_all_nodes_in_turn_and_files_go_with_their_orders(tmp_path: Path) -> None:
    clock = Clock()
    node_group = fleet_of(load(), clock)
    pool = pool_of(node_group, clock)
    keys = tmp_path / "keys"
    keys.write_text("a\t1\n", encoding="utf-8")
    data = DataSet(run="0123456789ab", root="s3bench/0123456789ab/", key_file=str(keys))
    LoadRun(pool, TARGET, RunRules(manner=Manner(), data=data), Inventory())
    reported = [[(order.worker, order.workers) for order in node.prepared] for node in node_group.each]
    assert reported == [[(0, 6), (3, 6)], [(1, 6), (4, 6)], [(2, 6), (5, 6)]]
    assert [dict(node.files) for node in node_group.each] == [{str(keys): b"a\t1\n"}] * NODES


def test_all_nodes_start_at_one_moment_each_by_its_own_clock() -> None:
    clock = Clock()
    node_group = fleet_of(load(), clock, offset_ns=-77 * NS, there_ns=30_000, back_ns=900_000)
    run_on(pool := pool_of(node_group, clock))
    starts = [(node.start_ns or 0) - node.offset_ns for node in node_group.each]
    assert max(starts) - min(starts) < 1_000_000
    assert min(starts) > NS, "a moment that is to come when it is told"
    [phase] = msgspec.convert(pool.facts["phases"], list[dict[str, object]])
    assert msgspec.convert(phase["nodes"], list[dict[str, object]])[1]["clock_offset"] == pytest.approx(-77, abs=1e-3)


def test_a_node_that_begins_late_shows_in_the_skew_and_the_overlap() -> None:
    clock = Clock()
    node_group = fleet_of(load(), clock)
    late = node_group.each[2]
    late.reports = [
        msgspec.structs.replace(each, begun_ns=40_000_000) if "begun_ns" in each.__struct_fields__ else each
        for each in late.reports
    ]
    pool = pool_of(node_group, clock)
    run_on(pool)
    [phase] = msgspec.convert(pool.facts["phases"], list[dict[str, object]])
    assert phase["start_skew"] == 0.04
    assert phase["overlap"] == SECONDS - 0.04
    assert phase["span"] == SECONDS


@pytest.mark.parametrize("fate", [{"gone_after": 6}, {"dropped": 5, "a_turn": 6}])
def test_a_node_that_is_lost_in_the_middle_is_an_error_and_the_others_data_are_whole(fate: dict[str, object]) -> None:
    operations = load()
    phase_result, pool = measured(operations, Clock(), **fate)
    [loss] = phase_result.losses
    assert loss.startswith("node-2 was lost: ")
    assert "from second 3 on the figures are without it" in loss
    ended = ended_in_window(operations)
    assert [each.load.operations for each in phase_result.nodes] == [
        sum(each.worker % NODES == 0 for each in ended),
        sum(each.worker % NODES == 1 and each.end_ns < 3 * NS for each in ended),
        sum(each.worker % NODES == 2 for each in ended),
    ]
    assert phase_result.whole.operations == sum(each.load.operations for each in phase_result.nodes)
    with pytest.raises(MachineError, match="node-2 was lost"):
        run_on(pool)


def test_a_node_that_falls_silent_is_lost_after_a_while_and_nothing_hangs() -> None:
    clock = Clock()
    node_group = fleet_of(load(), clock, held=A_NODE)
    pool = pool_of(node_group, clock)
    aggregation = None
    data = DataSet(run="0123456789ab", root="s3bench/0123456789ab/")
    run = LoadRun(pool, TARGET, RunRules(manner=Manner(), data=data), Inventory({fixed(1000): 10}))
    for aggregation in run.measure(PHASE):  # noqa: B007 (the same one, every second)
        node_group.each[1].is_silent = True
    assert aggregation is not None
    assert "it did not respond for 3 s" in aggregation.losses[0]


def test_what_a_node_says_of_its_failure_is_reported() -> None:
    operations = load()
    clock = Clock()
    node_group = fleet_of(operations, clock)
    node_group.each[1].reports = [
        *node_group.each[1].reports[:4],
        WorkerFailed(what="load worker 0 ended with exit code -9", why="why"),
    ]
    phase_result = run_on(pool_of(node_group, clock)).measure()
    assert "load worker 0 ended with exit code -9; why" in phase_result.losses[0]


def test_a_node_that_is_gone_before_the_start_ends_the_run() -> None:
    clock = Clock()
    node_group = fleet_of(load(), clock)
    pool = pool_of(node_group, clock)
    node_group.each[1].is_silent = True
    with pytest.raises(MachineError, match="node-2 was lost"):
        run_on(pool)


@pytest.mark.parametrize(
    ("fate", "why"),
    [
        ({"is_gone": True}, "its process died"),
        ({"is_silent": True}, "it did not respond for 30 s"),
        ({"there_ns": 8_000_000, "back_ns": 8_000_000}, "the clock offset of node-2 is uncertain by 8.0 ms; "),
        ({"wall_offset_ns": 400 * NS}, "the time of day on node-2 differs by +400 s from this machine; "),
    ],
)
def test_a_node_that_is_lost_between_two_phases_is_recorded_and_nothing_starts(
    fate: dict[str, object], why: str
) -> None:
    clock = Clock()
    node_group = fleet_of(load(), clock)
    pool = pool_of(node_group, clock)
    run = run_of(pool)
    assert finished(run.measure(PHASE)).measure().losses == ()
    for name, value in fate.items():
        setattr(node_group.each[1], name, value)
    phase_result = finished(run.measure(PHASE)).measure()
    [loss] = phase_result.losses
    assert loss.startswith(f"node-2 was lost: {why}")
    assert "(before the start)" in loss
    assert phase_result.contradiction == f"nothing was measured: {loss}"
    assert [node.asked.count("start") for node in node_group.each] == [1, 1, 1]
    first, second = msgspec.convert(pool.facts["phases"], list[dict[str, Any]])
    assert [node["lost"] for node in first["nodes"]] == [None] * NODES
    assert why in second["nodes"][1]["lost"]


def test_a_node_that_is_ready_is_polled_until_the_slowest_is_ready_too() -> None:
    clock = Clock()
    node_group = fleet_of(load(), clock, ready_at=5)
    assert run_on(pool_of(node_group, clock)).losses == ()
    early = node_group.each[0].asked
    assert early[early.index("begin") : early.index("start")].count("reports") == 5


def test_the_loss_of_a_node_that_is_ready_is_noticed_before_the_start() -> None:
    clock = Clock()
    node_group = fleet_of(load(), clock, ready_at=3)
    node_group.each[0].dies_ready = True
    [loss] = run_on(pool_of(node_group, clock)).losses
    assert loss.startswith("node-1 was lost: its process died (before the start)")
    assert [node.start_ns for node in node_group.each] == [None] * NODES


def test_a_node_that_does_not_get_ready_is_lost_at_the_time_limit() -> None:
    clock = Clock()
    node_group = fleet_of(load(), clock, ready_at=1_000_000, poll_ns=10 * NS)
    [loss] = run_on(pool_of(node_group, clock)).losses
    assert loss.startswith("node-2 was lost: it was not ready within 150 s")


def test_clocks_are_measured_when_all_nodes_are_ready_since_they_drift_meanwhile() -> None:
    clock = Clock()
    node_group = fleet_of(load(), clock)
    run_on(pool_of(node_group, clock))
    asked = node_group.each[0].asked
    assert list(dict.fromkeys(asked[asked.index("begin") : asked.index("start")])) == ["begin", "reports", "clock"]


def test_a_stop_ends_the_wait_for_a_node_to_be_ready_and_nothing_starts() -> None:
    clock = Clock()
    node_group = fleet_of(load(), clock, ready_at=1_000_000)
    pool = pool_of(node_group, clock, is_over=lambda: node_group.each[1].asked.count("reports") > 3)
    aggregation = run_on(pool)
    assert (aggregation.losses, aggregation.ended) == ((), ())
    assert [node.start_ns for node in node_group.each] == [None] * NODES


def test_a_stop_ends_the_wait_for_nodes_to_be_prepared() -> None:
    clock = Clock()
    pool = pool_of(fleet_of(load(), clock), clock, is_over=lambda: True)
    with pytest.raises(KeyboardInterrupt):
        run_of(pool)


def test_a_stop_reaches_every_node_though_one_is_silent() -> None:
    clock = Clock()
    node_group = fleet_of(load(), clock)
    for node in node_group.each:
        node.held = A_NODE
    pool = pool_of(node_group, clock)
    data = DataSet(run="0123456789ab", root="s3bench/0123456789ab/")
    over = False
    rules = RunRules(manner=Manner(), data=data, is_over=lambda: over)
    for _ in LoadRun(pool, TARGET, rules, Inventory({fixed(1000): 10})).measure(PHASE):
        node_group.each[1].is_silent = over = True
    assert [node.stopped for node in node_group.each] == [True, False, True]


def test_a_node_far_below_the_others_is_reported() -> None:
    phase_result, _ = measured(load(slow=2), Clock())
    assert "far below the median of the 3 nodes: node-3" in phase_result.warnings
