"""Real nodes without an engine: what they did is what the server saw, and load without a driver ends."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import UnionType

import psutil
import pytest

from s3bench.clients.environment import FAKE_CREDENTIALS
from s3bench.cluster.message import decode_reports, encode
from s3bench.cluster.node import LEASE_S, WorkerNode
from s3bench.cluster.preflight import run_preflight
from s3bench.cluster.worker_pool import ClusterWorkerPool
from s3bench.load.engine.interval_record import IntervalRecord
from s3bench.load.engine.message import (
    BeginPhase,
    PhaseEnded,
    PhasePrepared,
    PhaseReady,
    PreparePhase,
    RequestTarget,
    WorkerFailed,
)
from s3bench.load.operation import OperationKind
from s3bench.load.profile.profile import DataSet, Job, Manner, Phase, Rate, Share
from s3bench.load.profile.sizes import fixed
from s3bench.load.session.bucket import new_run, root_of
from s3bench.load.session.inventory import Inventory
from s3bench.load.session.running import LoadRun, RunRules
from s3bench.load.session.target import find_target
from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.endpoint import EmulatorEndpoint
from tests.cluster.clock import Clock
from tests.cluster.node_groups import LocalNodeGroup, finished

Start = Callable[..., WorkerNode]

BUCKET = "data"
SIZE_BYTES = 4096
WAIT_S = 60.0


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatorEndpoint]:
    with EmulatorEndpoint(directory=tmp_path_factory.mktemp("emulator")) as emulator:
        yield emulator


@pytest.fixture
def server(emulator: EmulatorEndpoint) -> EmulatorEndpoint:
    emulator.arm(EmulatorSettings(buckets=(BUCKET,)))
    return emulator


@pytest.fixture
def start() -> Iterator[Start]:
    with ExitStack() as stack:

        def started(**options: Callable[[], float]) -> WorkerNode:
            node = WorkerNode(**options)
            stack.callback(node.close)
            return node

        yield started


def target_of(server: EmulatorEndpoint) -> RequestTarget:
    return find_target((server.url,), bucket=BUCKET, credentials=FAKE_CREDENTIALS)


def job(*kinds: OperationKind, operations: int | None, objects: int = 50) -> Job:
    """A job; without a number of operations it makes 50 a second."""
    return Job(
        mix=tuple(Share(kind=kind) for kind in kinds),
        sizes=fixed(SIZE_BYTES),
        threads=8,
        objects=objects,
        operations=operations,
        rate=None if operations else Rate(per_s=50),
    )


def test_totals_are_those_of_the_servers_own_log_to_the_byte_and_the_operation(
    server: EmulatorEndpoint, start: Start
) -> None:
    node_group = LocalNodeGroup([start(), start()])
    run = new_run()
    with ClusterWorkerPool(node_group, run_preflight(node_group, workers_per_node=2, threads=8)) as pool:
        rules = RunRules(manner=Manner(), data=DataSet(run=run, root=root_of(run)))
        load = LoadRun(pool, target_of(server), rules, Inventory())
        phase = Phase(name="mixed", jobs=(job(OperationKind.GET, OperationKind.PUT, operations=1001),))
        for sizes, objects in load.missing(phase):
            list(load.write_data_set(sizes, objects))
        written = server.drain(requests_max=1000)
        aggregation = finished(load.measure(phase))
        assert (pool.memory_bytes_max() or 0) > 0
    assert len(written.requests) == 50
    phase_result, requests = aggregation.measure(), server.collect().requests
    for method, kind in (("GET", OperationKind.GET), ("PUT", OperationKind.PUT)):
        seen = [each for each in requests if each.method == method]
        [part] = [part for part in phase_result.parts if part.kind == kind]
        assert part.operations == len(seen) > 100
        assert part.bytes_down == sum(each.response_bytes for each in seen)
        assert part.bytes_up == sum(each.body_bytes for each in seen)
    assert phase_result.whole.operations == sum(node.load.operations for node in phase_result.nodes) == 1001
    assert all(node.load.operations > 200 for node in phase_result.nodes)
    keys = [each.path for each in requests if each.method == "PUT"]
    assert len(keys) == len(set(keys)), "no key is written by two nodes"


def loading(node: WorkerNode, target: RequestTarget) -> list[psutil.Process]:
    """Let a node of one worker put objects for a minute; its processes."""
    before = set(psutil.Process().children())
    make_ready(node, target)
    node.start(0, node.clock()[0])
    return [each for each in psutil.Process().children() if each not in before]


def make_ready(node: WorkerNode, target: RequestTarget) -> None:
    """Let a node of one worker be ready to put objects for a minute."""
    run = new_run()
    prepare = PreparePhase(
        worker=0, workers=1, target=target, manner=Manner(), data=DataSet(run=run, root=root_of(run))
    )
    node.prepare(encode((prepare,)), {})
    heard(node, 0, PhasePrepared)
    phase = Phase(name="put", jobs=(job(OperationKind.PUT, operations=None),), duration_s=60.0)
    node.begin(encode((BeginPhase(phase=phase, first_numbers=(0,)),)))
    heard(node, 1, PhaseReady)


def heard(node: WorkerNode, number: int, kind: type | UnionType) -> object:
    """Wait for a node's next report."""
    until_s = time.monotonic() + WAIT_S
    while time.monotonic() < until_s:
        reports = decode_reports(node.reports(number)).reports
        if reports:
            assert isinstance(reports[0], kind), reports
            return reports[0]
        time.sleep(0.01)
    raise AssertionError(f"no report {number} came")


def test_the_load_of_a_driver_that_is_gone_ends_within_about_a_second(server: EmulatorEndpoint, start: Start) -> None:
    clock = Clock()
    node = start(now_s=clock)
    workers = loading(node, target_of(server))
    assert len(workers) == 1
    heard(node, 2, IntervalRecord)
    lost_ns = time.monotonic_ns()
    clock.s += 1.01 * LEASE_S
    _, alive = psutil.wait_procs(workers, timeout=WAIT_S)
    assert alive == []
    begun_ns = [each.started_ns for each in server.collect().requests]
    assert min(begun_ns) < lost_ns, "it made load"
    assert max(begun_ns) - lost_ns < 1.5e9, "no load a second later"
    number = 3
    while not isinstance(report := heard(node, number, object), WorkerFailed):
        number += 1
    assert "the driver did not call for 0.9 s" in report.what


def test_a_node_that_is_ready_waits_for_the_slowest_without_a_lease(server: EmulatorEndpoint, start: Start) -> None:
    clock = Clock()
    early = start(now_s=clock)
    make_ready(early, target_of(server))
    clock.s += 100 * LEASE_S
    slow = start(now_s=clock)
    make_ready(slow, target_of(server))  # meanwhile nobody calls the other one
    for node in (early, slow):
        node.start(0, node.clock()[0])
    for node in (early, slow):
        heard(node, 2, IntervalRecord)


def test_a_driver_that_asks_now_and_then_keeps_the_load_going(server: EmulatorEndpoint, start: Start) -> None:
    clock = Clock()
    node = start(now_s=clock)
    [worker] = loading(node, target_of(server))
    clock.s += 0.9 * LEASE_S
    node.reports(2)
    clock.s += 0.9 * LEASE_S
    heard(node, 2, IntervalRecord)
    node.stop(0)
    number = 3
    while not isinstance(heard(node, number, IntervalRecord | PhaseEnded), PhaseEnded):
        number += 1
    assert worker.status() != psutil.STATUS_ZOMBIE, "it ended its phase, not itself"


def test_a_stop_that_comes_before_the_start_is_obeyed_all_the_same(server: EmulatorEndpoint, start: Start) -> None:
    node = start()
    make_ready(node, target_of(server))
    node.stop(0)
    node.start(0, node.clock()[0])
    number = 2
    while not isinstance(report := heard(node, number, IntervalRecord | PhaseEnded), PhaseEnded):
        number += 1
    assert report.elapsed_ns < 10e9, "of a minute"


def test_what_is_meant_for_another_phase_is_not_obeyed(server: EmulatorEndpoint, start: Start) -> None:
    node = start()
    make_ready(node, target_of(server))
    node.start(1, node.clock()[0] - 3600 * 10**9)
    node.stop(1)
    node.start(0, node.clock()[0])
    for second in range(2):
        record = heard(node, 2 + second, IntervalRecord)
        assert isinstance(record, IntervalRecord)
        assert record.second == second


def test_a_worker_that_dies_ends_the_nodes_load_and_is_reported(server: EmulatorEndpoint, start: Start) -> None:
    node = start()
    [worker] = loading(node, target_of(server))
    worker.kill()
    number = 2
    while not isinstance(report := heard(node, number, object), WorkerFailed):
        number += 1
    assert "load worker 0 ended with exit code -9" in report.what


def test_files_that_orders_name_are_there_under_names_of_the_nodes_own(
    server: EmulatorEndpoint, start: Start, tmp_path: Path
) -> None:
    node_group = LocalNodeGroup([start(), start()])
    keys = tmp_path / "keys"
    keys.write_text("nowhere\t1\n", encoding="utf-8")
    run = new_run()
    with ClusterWorkerPool(node_group, run_preflight(node_group, workers_per_node=1, threads=8)) as pool:
        data = DataSet(run=run, root=root_of(run), key_file=str(keys))
        load = LoadRun(pool, target_of(server), RunRules(manner=Manner(), data=data), Inventory({fixed(SIZE_BYTES): 1}))
        keys.unlink()
        aggregation = finished(
            load.measure(Phase(name="get", jobs=(job(OperationKind.GET, operations=20, objects=1),)))
        )
    assert (aggregation.losses, aggregation.failures) == ((), {"404 NoSuchKey": 20})
