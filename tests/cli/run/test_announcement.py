"""What a run says of itself: what it runs, and how long that takes."""

from pathlib import Path

import pytest

from s3bench.bench.run_time import RunSize
from s3bench.bench.runner import Settings
from s3bench.bench.suite import ReadyCell, run_suite
from s3bench.cli.run.announcement import ClusterTimeEstimate, TimeEstimate, introduction, rough_time, runs_of_cell
from s3bench.clients.client import ClientSpec
from s3bench.clients.plan import Cell, Plan
from s3bench.errors import ClientNotFound
from s3bench.results.document import Document
from s3bench.spec.definition import Definition, Environment, FixtureDir
from tests.bench.scripted_bench import Run, ScriptedBench, client, measured

SMALL = tuple(Definition(name=f"small {number}", command=("s3", "ls")) for number in range(9))
MANY = Definition(
    name="many",
    command=("s3", "ls"),
    environment=Environment(file_dirs=(FixtureDir(name="d", file_count=5000, file_size_bytes=1),)),
)


def plan_of(*definitions: Definition, clients: tuple[str, ...] = ("s5cmd",), iterations: int = 2) -> Plan:
    cells = tuple(
        Cell(definition=each, client=ClientSpec(kind=kind, version="1")) for each in definitions for kind in clients
    )
    return Plan(cells=cells, iterations=iterations, warmup=0, skipped=())


def said(root: Path, plan: Plan, *, many_s: float = 20.0, missing: str = "") -> list[tuple[float, str]]:
    """What is said during a suite of small runs of a second each, and when."""
    bench = ScriptedBench(root=root, script=lambda run: measured(many_s if run.definition is MANY else _small_s(run)))
    cells = tuple(
        ReadyCell(
            cell=cell,
            client=ClientNotFound("not here") if cell.client.kind == missing else client(root, kind=cell.client.kind),
        )
        for cell in plan.cells
    )
    estimate = TimeEstimate(cells, runs_of_cell(plan, audit=False), now=bench.now)
    statuses = run_suite(bench, cells, Settings(), plan, Document(s3bench="0", started_at=""), audit=False)
    return [(bench.now_s, line) for status in statuses if (line := estimate.after(status)) is not None]


def _small_s(run: Run) -> float:
    return 3.0 if run.client.kind == "rclone" else 1.0


def test_a_run_says_at_its_start_what_it_runs() -> None:
    plan = plan_of(*SMALL, clients=("s5cmd", "rclone"), iterations=3)
    assert introduction(plan.cells, plan, audit=False) == "9 benchmarks on 2 clients, 3 iterations each: 54 runs"
    one = Plan(cells=plan.cells[:1], iterations=1, warmup=1, skipped=())
    assert introduction(one.cells, one, audit=True) == (
        "1 benchmark on 1 client, 1 warm-up and 1 iteration (twice with --audit) each: 3 runs"
    )


def test_the_estimate_comes_when_each_client_of_the_first_benchmark_was_timed(tmp_path: Path) -> None:
    assert said(tmp_path, plan_of(*SMALL, clients=("s5cmd", "rclone"))) == [
        (8.0, "about 60 s left, estimated from the first 4 runs")
    ]


def test_many_files_to_come_are_expected_before_the_first_of_them_ran(tmp_path: Path) -> None:
    assert said(tmp_path, plan_of(*SMALL[:1], MANY)) == [(2.0, "about 40 s left, estimated from the first 2 runs")]


def test_an_estimate_that_was_far_from_true_is_corrected(tmp_path: Path) -> None:
    assert said(tmp_path, plan_of(*SMALL[:1], MANY, iterations=4), many_s=60.0) == [
        (4.0, "about 80 s left, estimated from the first 4 runs"),
        (64.0, "about 3 min left, estimated from the first 5 runs"),
    ]


def test_a_long_first_benchmark_is_not_waited_for(tmp_path: Path) -> None:
    (first, *_) = said(tmp_path, plan_of(MANY, clients=("s5cmd", "rclone"), iterations=3))
    assert first[0] == 20.0


def test_of_a_rest_of_some_seconds_and_of_clients_that_are_not_here_nothing_is_said(tmp_path: Path) -> None:
    assert said(tmp_path, plan_of(*SMALL[:4])) == []
    assert said(tmp_path, plan_of(*SMALL, clients=("rclone",)), missing="rclone") == []
    assert said(tmp_path, plan_of(*SMALL[:4], clients=("s5cmd", "rclone")), missing="rclone") == []


@pytest.mark.parametrize(
    ("seconds", "text"), [(3, "10 s"), (44, "40 s"), (90, "2 min"), (430, "7 min"), (9000, "2.5 h")]
)
def test_a_time_is_as_exact_as_an_estimate(seconds: float, text: str) -> None:
    assert rough_time(seconds) == text


def test_an_estimate_that_was_off_by_some_seconds_is_not_corrected(tmp_path: Path) -> None:
    assert said(tmp_path, plan_of(*SMALL[:1], MANY), many_s=34.0) == [
        (2.0, "about 40 s left, estimated from the first 2 runs")
    ]


def small_units(count: int) -> dict[int, tuple[int, RunSize]]:
    return {unit: (10, RunSize(client="", files=0, size_bytes=0)) for unit in range(count)}


def test_a_cluster_says_how_long_the_rest_takes_when_a_benchmark_has_ended() -> None:
    clock = [0.0]
    estimate = ClusterTimeEstimate(small_units(8), now=lambda: clock[0])
    estimate.begun(0)
    estimate.begun(1)
    clock[0] = 60.0
    # Unit 1 is about to end; six more of a minute each are shared by two nodes.
    assert estimate.ended(0, nodes=2) == "about 3 min left, estimated from the first benchmark"
    assert estimate.ended(1, nodes=2) is None


def test_a_cluster_corrects_an_estimate_that_was_far_off_and_counts_the_nodes_that_are_left() -> None:
    clock = [0.0]
    estimate = ClusterTimeEstimate(small_units(8), now=lambda: clock[0])
    estimate.begun(0)
    estimate.begun(1)
    clock[0] = 60.0
    assert estimate.ended(0, nodes=2) is not None
    estimate.abandoned(1)
    estimate.begun(2)
    clock[0] = 120.0
    assert estimate.ended(2, nodes=1) == "about 5 min left, estimated from the first 2 benchmarks"
