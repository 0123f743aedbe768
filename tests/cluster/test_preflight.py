"""What nodes must have in common before anything starts."""

from typing import Any

import pytest

from s3bench.cluster.message import PROTOCOL
from s3bench.cluster.node_group import NodeGone
from s3bench.cluster.preflight import START_S, Preflight, run_preflight
from s3bench.errors import BadInput
from tests.cluster.node_groups import Clock, SimulatedNode, SimulatedNodeGroup


def mustered(*facts: dict[str, Any], workers_per_node: int | None = None, threads: int = 64) -> Preflight:
    clock = Clock()
    node_group = SimulatedNodeGroup([SimulatedNode(facts=each) for each in facts], clock)
    return run_preflight(
        node_group, workers_per_node=workers_per_node, threads=threads, now_ns=clock, wall_ns=lambda: clock.now_ns
    )


@pytest.mark.parametrize(
    ("threads", "asked", "expected"), [(64, None, 3), (64, 7, 7), (4, None, 2), (1, None, 1), (3, None, 2)]
)
def test_each_node_gets_a_worker_for_each_core_and_none_without_a_thread(
    threads: int, asked: int | None, expected: int
) -> None:
    assert mustered({"cores": 8}, {"cores": 3}, workers_per_node=asked, threads=threads).workers_per_node == expected


def test_warnings_about_a_node_travel_up_with_its_name() -> None:
    busy, nice = mustered({"warnings": ("the machine is busy",)}, {"niceness": 15}).warnings
    assert busy == "node-1: the machine is busy"
    assert nice.startswith("node-2: processes there run with niceness 15")
    assert "RAY_worker_niceness=0" in nice


@pytest.mark.parametrize(
    "other", [{"s3bench": "0.0.1"}, {"protocol": PROTOCOL + 1}, {"protocol": None, "s3bench": None}]
)
def test_another_version_on_a_node_is_refused(other: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="node-2 has s3bench") as raised:
        mustered({}, other)
    assert "same version" in raised.value.fix


def test_interpreters_of_different_versions_are_refused_and_patches_are_not() -> None:
    assert len(mustered({"python": "3.11.7"}, {"python": "3.11.9"}).nodes) == 2
    with pytest.raises(BadInput, match=r"different versions of Python: 3\.11, 3\.14"):
        mustered({"python": "3.11.7"}, {"python": "3.14.0"})


def test_a_node_whose_process_did_not_start_is_reported_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SimulatedNode, "answer", lambda *_: NodeGone("No module named 's3bench'"))
    with pytest.raises(BadInput, match="node-1 could not start") as raised:
        mustered({})
    assert "No module named 's3bench'" in raised.value.why


def test_a_clock_that_cannot_be_used_is_bad_input() -> None:
    clock = Clock()
    far = SimulatedNodeGroup([SimulatedNode(), SimulatedNode(there_ns=8_000_000, back_ns=8_000_000)], clock)
    with pytest.raises(BadInput, match="the clock offset of node-2 is uncertain") as raised:
        run_preflight(far, workers_per_node=None, threads=1, now_ns=clock, wall_ns=lambda: clock.now_ns)
    assert "nearer to the nodes" in raised.value.fix


def test_a_node_whose_process_never_starts_is_named() -> None:
    clock = Clock()
    node_group = SimulatedNodeGroup([SimulatedNode(), SimulatedNode(is_silent=True)], clock)
    since_ns = clock.now_ns
    with pytest.raises(BadInput, match="node-2 did not start within 120 s"):
        run_preflight(node_group, workers_per_node=None, threads=1)
    assert clock.now_ns - since_ns >= START_S * 1e9
    assert node_group.each[0].asked == ["ping"]


def test_a_stop_ends_the_wait_for_the_processes_of_nodes() -> None:
    clock = Clock()
    node_group = SimulatedNodeGroup([SimulatedNode(), SimulatedNode(is_silent=True)], clock)
    since_ns = clock.now_ns
    with pytest.raises(KeyboardInterrupt):
        run_preflight(
            node_group, workers_per_node=None, threads=1, is_over=lambda: clock.now_ns - since_ns > 2_500_000_000
        )
    assert clock.now_ns - since_ns < 4_000_000_000


def test_what_a_node_can_carry_is_known_before_anything_runs() -> None:
    few = {"descriptors": 64, "ports": None, "memory_bytes": None}
    first, second = mustered({}, {"capacity": few}).nodes
    assert (first.capacity.descriptors, second.capacity.descriptors) == (20_000, 64)
