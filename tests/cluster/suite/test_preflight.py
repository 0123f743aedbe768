"""Which nodes share a suite: equal machines with the same clients, or none."""

from typing import Any

import pytest

from s3bench.clients.plan import parse_client_spec
from s3bench.cluster.node_group import NodeGone
from s3bench.cluster.suite.message import MissingHere
from s3bench.cluster.suite.preflight import SuitePreflight, run_suite_preflight
from s3bench.errors import BadInput
from tests.cluster.suite.suites import MACHINE, SimulatedSuite, SimulatedSuiteNode, found

SPECS = (parse_client_spec("s5cmd"), parse_client_spec("cli-crt@2.38.5"))
SMALL = {**MACHINE, "cores_allowed": 2, "memory_total": 4 << 30, "cpu_model": None}


def mustered(*nodes: SimulatedSuiteNode, asked: int | None = None) -> SuitePreflight:
    return run_suite_preflight(SimulatedSuite(*nodes), SPECS, nodes=asked)


def on(machine: dict[str, Any], **rest: Any) -> SimulatedSuiteNode:
    return SimulatedSuiteNode(facts={"machine": machine}, **rest)


def test_the_largest_group_of_equal_machines_is_taken_and_the_others_are_named_with_what_differs() -> None:
    busier = {**MACHINE, "load_1min": 7.5, "kernel": "Linux 6.1.99", "memory_total": (8 << 30) - 4096}
    run_preflight = mustered(on(SMALL), on(MACHINE), on(busier))
    assert run_preflight.nodes == (1, 2), "load and a kernel's patch make no other machine"
    [warning] = run_preflight.warnings
    assert warning == (
        "node-1 is left out: its machine differs from node-2: "
        "cpu_model unknown, not A, cores 2, not 4, memory_gib 4, not 8"
    )


def test_of_groups_of_one_size_that_of_the_first_node_is_taken() -> None:
    assert mustered(on(SMALL), on(MACHINE)).nodes == (0,)


def test_so_many_equal_nodes_as_were_asked_for_are_taken() -> None:
    assert mustered(on(SMALL), on(MACHINE), on(MACHINE), on(MACHINE), asked=2).nodes == (1, 2)
    with pytest.raises(BadInput, match="--nodes 3 is too many: the cluster has at most 2") as raised:
        mustered(on(SMALL), on(MACHINE), on(MACHINE), asked=3)
    assert "cores 2, not 4" in raised.value.why


@pytest.mark.parametrize("other", [{"s3bench": "0.0.1"}, {"protocol": 99}, {"python": "3.14.0"}])
def test_another_program_on_a_node_is_refused(other: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match=r"node-2 has s3bench|different versions of Python"):
        mustered(SimulatedSuiteNode(), SimulatedSuiteNode(facts=other))


def test_a_stop_ends_the_wait_for_the_processes_of_nodes() -> None:
    suite = SimulatedSuite(SimulatedSuiteNode(), SimulatedSuiteNode(deaf={"ping": 0}))
    with pytest.raises(KeyboardInterrupt):
        run_suite_preflight(suite, SPECS, nodes=None, is_over=lambda: suite.now_s > 2)
    assert suite.now_s <= 3


def test_a_stop_ends_the_wait_for_nodes_that_look_up_their_clients() -> None:
    suite = SimulatedSuite(SimulatedSuiteNode(), SimulatedSuiteNode(deaf={"look": 0}))
    with pytest.raises(KeyboardInterrupt):
        run_suite_preflight(suite, SPECS, nodes=None, is_over=lambda: suite.now_s > 2)
    assert suite.now_s <= 3


def test_a_client_that_is_missing_on_a_node_is_refused() -> None:
    missing = {"s5cmd": MissingHere(spec="s5cmd", why="s5cmd is not installed")}
    with pytest.raises(BadInput, match="`s5cmd` is not on node-2") as raised:
        mustered(SimulatedSuiteNode(), SimulatedSuiteNode(look=missing))
    assert raised.value.why == "node-2: s5cmd is not installed"


@pytest.mark.parametrize(
    "change", [{"version": "2.0", "label": "s5cmd@2.0"}, {"detail": "Python 3.12"}, {"digest": "f"}]
)
def test_a_client_that_is_not_the_same_on_all_nodes_is_refused(change: dict[str, str]) -> None:
    with pytest.raises(BadInput, match="`s5cmd` is not the same on all nodes") as raised:
        mustered(SimulatedSuiteNode(), SimulatedSuiteNode(look={"s5cmd": found("s5cmd", **change)}))
    assert next(iter(change.values())) in raised.value.why


def test_a_machine_that_is_left_out_need_not_have_the_clients() -> None:
    missing = {"s5cmd": MissingHere(spec="s5cmd", why="s5cmd is not installed")}
    run_preflight = mustered(on(SMALL, look=missing), on(MACHINE), on(MACHINE))
    assert [client.label for client in run_preflight.clients.values()] == ["s5cmd@1.0", "cli-crt@2.38.5"]


def test_warnings_about_a_node_travel_up_with_its_name() -> None:
    run_preflight = mustered(SimulatedSuiteNode(warnings=("the machine is busy",)), SimulatedSuiteNode(niceness=15))
    busy, nice = run_preflight.warnings
    assert busy == "node-1: the machine is busy"
    assert nice.startswith("node-2: processes there run with niceness 15")
    assert "RAY_worker_niceness=0" in nice


def test_a_node_that_cannot_look_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = SimulatedSuiteNode.answer
    monkeypatch.setattr(
        SimulatedSuiteNode,
        "answer",
        lambda node, method, words: NodeGone("killed") if method == "look" else usual(node, method, words),
    )
    with pytest.raises(BadInput, match="node-1 did not report its clients"):
        mustered(SimulatedSuiteNode())
