"""A suite on simulated nodes: each unit once, whatever becomes of the nodes."""

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from s3bench.cluster.suite.document import SuiteDocument
from s3bench.cluster.suite.driver import SILENCE_S, SuiteDriver, Task, closing
from s3bench.cluster.suite.message import UnitOutcome
from s3bench.cluster.suite.node import LEASE_S
from s3bench.cluster.suite.preflight import run_suite_preflight
from s3bench.cluster.suite.unit import SuiteUnit
from s3bench.results.document import Document, Status, encode_document
from s3bench.run.machine import machine_facts, machine_warnings
from tests.cluster.suite.suites import SimulatedSuite, SimulatedSuiteNode, document_of, units_of, upload, written

COUNT = 6
TASK = Task(
    arguments=("run", "definitions/0/suite.json", "--num-chunks", "6"),
    files={"definitions/0/suite.json": b"[]"},
    keys={"AWS_SECRET_ACCESS_KEY": "hidden"},
)
CRASHED = UnitOutcome(exit_code=2, document=b"", said="s3bench: cannot work in /tmp")


@pytest.fixture
def units(tmp_path: Path) -> tuple[SuiteUnit, ...]:
    return units_of(written(tmp_path, *(upload("up", size) for size in range(1, COUNT + 1))))


class Performed:
    """A suite that was performed on nodes as told."""

    def __init__(
        self, units: tuple[SuiteUnit, ...], *fates: Mapping[str, Any], stop_at_s: float | None = None, task: Task = TASK
    ) -> None:
        by_chunk = {unit.chunk: unit for unit in units}
        self.node_group = SimulatedSuite(
            *(SimulatedSuiteNode(units=by_chunk, **fate) for fate in fates), stop_at_s=stop_at_s
        )
        self.nodes = self.node_group.each
        node_group = self.node_group
        run_preflight = run_suite_preflight(
            node_group, tuple(dict.fromkeys(cell.client for cell in units[0].cells)), nodes=None
        )
        head = Document(s3bench="", started_at="2026-01-01T00:00:00.000Z", options={"warmup": 0})
        self.suite = SuiteDocument(head, units, run_preflight, task, engine=node_group.facts)
        self.said: list[str] = []
        with closing(node_group):
            self.driver = SuiteDriver(
                node_group,
                run_preflight.nodes,
                task,
                pause=node_group.pause,
                now_s=node_group.clock,
                sleep=node_group.sleep,
            )
            for event in self.driver.perform(units):
                self.said += self.suite.take(event, is_stopped=self.driver.is_stopped)
        self.document = self.suite.document

    @property
    def begun(self) -> list[list[int]]:
        """The units that each node began."""
        return [node.begun for node in self.nodes]

    @property
    def errors(self) -> list[str]:
        return [error.what for result in self.document.results for error in result.errors]

    def cluster(self, key: str) -> Any:
        return self.document.options["cluster"][key]


def test_every_unit_is_done_once_and_a_slow_node_does_fewer(units: tuple[SuiteUnit, ...]) -> None:
    performed = Performed(units, {"turns": 5}, {})
    assert sorted(performed.begun[0] + performed.begun[1]) == list(range(COUNT))
    assert len(performed.begun[0]) < len(performed.begun[1])
    assert performed.errors == []
    assert all(node.closed for node in performed.nodes)


def test_the_results_are_those_of_one_machine_in_the_order_of_the_definitions(units: tuple[SuiteUnit, ...]) -> None:
    performed = Performed(units, {"turns": 5}, {}, {"turns": 2})
    one_machine = [result for unit in units for result in document_of(unit).results]
    assert list(performed.document.results) == one_machine
    assert [client.label for client in performed.document.clients] == ["s5cmd@1.0", "boto3-classic@1.0"]
    assert performed.document.machine["cpu_model"] == "A"
    assert performed.document.options["warmup"] == 0


def test_it_is_kept_which_node_did_what_and_how_it_is_repeated(units: tuple[SuiteUnit, ...]) -> None:
    performed = Performed(units, {"turns": 5}, {})
    did = {unit["chunk_id"]: unit["node"] for unit in performed.cluster("units")}
    assert did == {chunk: f"node-{node + 1}" for node, begun in enumerate(performed.begun) for chunk in begun}
    assert performed.cluster("units")[0]["dimensions"] == [{"FileSize": "1 B"}]
    assert performed.cluster("units")[0]["ended_at"] == "2026-01-01T00:00:09.000Z"
    assert performed.cluster("command") == ("s3bench", *TASK.arguments)
    assert [node["takes_part"] for node in performed.cluster("nodes")] == [True, True]
    [arguments] = [each for each in performed.nodes[1].arguments if each[-1] == "1"]
    assert arguments == (*TASK.arguments, "--chunk-id", "1")
    assert performed.nodes[0].files == TASK.files


def test_keys_reach_the_nodes_and_nothing_else(units: tuple[SuiteUnit, ...]) -> None:
    performed = Performed(units, {})
    assert performed.nodes[0].keys == {"AWS_SECRET_ACCESS_KEY": "hidden"}
    assert b"hidden" not in encode_document(performed.document)
    assert "hidden" not in repr(TASK) + str(performed.said) + str(performed.nodes[0].arguments)


def test_the_unit_of_a_node_that_is_lost_is_an_error_and_the_others_do_the_rest(units: tuple[SuiteUnit, ...]) -> None:
    performed = Performed(units, {}, {"gone_at": 2})
    lost = performed.nodes[1].begun[-1]
    results = performed.document.results
    assert len(results) == 2 * COUNT
    assert [result.errors[0].what for result in results if result.errors] == ["node-2 was lost"] * 2
    assert {failure.iteration for result in results for failure in result.errors} == {None}
    assert [result.identity for result in results] == [
        result.identity for unit in units for result in document_of(unit).results
    ]
    assert [at // 2 for at, result in enumerate(results) if result.errors] == [lost, lost]
    assert performed.driver.lost == {1: "its process died"}
    assert performed.document.warnings == ("node-2 was removed: its process died",)
    assert performed.cluster("nodes")[1]["lost"] == "its process died"


def test_a_node_that_falls_silent_is_lost_after_a_while_and_nothing_hangs(units: tuple[SuiteUnit, ...]) -> None:
    performed = Performed(units, {}, {"silent_at": 1})
    assert performed.errors == ["node-2 was lost"] * 2
    assert SILENCE_S < performed.node_group.now_s < 3 * SILENCE_S
    assert performed.driver.lost == {1: "it did not respond for 15 s"}


def test_no_node_waits_for_a_silent_one_longer_than_its_lease_lasts(units: tuple[SuiteUnit, ...]) -> None:
    performed = Performed(units, {"turns": 40}, {"silent_at": 1}, {"deaf": {"begin": 0}})
    assert set(performed.driver.lost) == {1, 2}
    assert max(later - earlier for earlier, later in pairwise(performed.nodes[0].heard_s)) < LEASE_S
    assert performed.errors == ["node-2 was lost"] * 2 + ["node-3 was lost"] * 2


def test_nor_for_one_silent_node_after_the_other(units: tuple[SuiteUnit, ...]) -> None:
    performed = Performed(units, {"turns": 40}, {"silent_at": 1}, {"deaf": {"begin": 1}})
    assert set(performed.driver.lost) == {1, 2}
    assert max(later - earlier for earlier, later in pairwise(performed.nodes[0].heard_s)) < LEASE_S


@pytest.mark.parametrize("stop_at_s", [None, 1.2])
def test_an_outcome_that_takes_a_second_to_arrive_is_kept(
    units: tuple[SuiteUnit, ...], stop_at_s: float | None
) -> None:
    performed = Performed(units, {"outcome_s": 1.0}, {"outcome_s": 1.0}, stop_at_s=stop_at_s)
    assert performed.driver.lost == {}
    assert performed.errors == []
    done = [result for result in performed.document.results if result.status is Status.COMPLETE]
    assert len(done) == 2 * (COUNT if stop_at_s is None else 2)


def test_without_any_node_left_the_rest_are_errors(units: tuple[SuiteUnit, ...]) -> None:
    performed = Performed(units, {"gone_at": 1}, {"gone_at": 2})
    assert performed.suite.done == COUNT
    assert set(performed.errors) == {"node-1 was lost", "node-2 was lost", "no node was left to run it"}
    assert sum(bool(result.errors) for result in performed.document.results) == 2 * (COUNT - 1)


def test_a_node_on_which_s3bench_itself_fails_gets_no_further_unit(units: tuple[SuiteUnit, ...]) -> None:
    performed = Performed(units, {}, {"outcome": CRASHED})
    assert len(performed.nodes[1].begun) == 1
    assert performed.errors == ["s3bench ended with exit code 2 on node-2"] * 2
    assert {error.why for result in performed.document.results for error in result.errors} == {CRASHED.said}


def test_a_client_that_fails_is_no_fault_of_its_node(units: tuple[SuiteUnit, ...]) -> None:
    failed = document_of(units[0])
    outcome = UnitOutcome(exit_code=4, document=encode_document(failed), said="")
    performed = Performed(units[:1], {"outcome": outcome})
    assert performed.driver.lost == {}


def test_a_unit_that_was_cut_short_on_its_node_keeps_what_it_has_and_tells_why(units: tuple[SuiteUnit, ...]) -> None:
    partial = encode_document(document_of(units[0], ended_at=None, complete=False))
    outcome = UnitOutcome(exit_code=130, document=partial, said="the driver did not call for 10 s")
    performed = Performed(units[:1], {"outcome": outcome})
    assert [result.status for result in performed.document.results] == [Status.FAILED] * 2
    assert performed.errors == ["s3bench ended with exit code 130 on node-1"] * 2
    assert performed.driver.lost == {}, "it can go on"


def test_what_is_no_document_is_an_error(units: tuple[SuiteUnit, ...]) -> None:
    performed = Performed(units[:1], {"outcome": UnitOutcome(exit_code=0, document=b"{", said="")})
    assert "is not JSON" in performed.document.results[0].errors[0].why


def test_warnings_of_units_are_kept_once_with_the_node_but_not_those_about_its_machine(
    units: tuple[SuiteUnit, ...],
) -> None:
    busy = replace(machine_facts(), load_1min=99.0)
    unconfined = "clients can write outside of their workspaces"
    warned = document_of(units[0], machine=busy, warnings=(*machine_warnings(busy), unconfined))
    outcome = UnitOutcome(exit_code=0, document=encode_document(warned), said="")
    performed = Performed(units, {"outcome": outcome, "warnings": ("it is busy",)}, {})
    assert performed.document.warnings == ("node-1: it is busy", f"node-1: {unconfined}")
    assert performed.said.count(f"warning: node-1: {unconfined}") == 1
    assert sum("warning" in line for line in performed.said) == 1


def test_a_stop_reaches_all_that_is_done_is_kept_and_nothing_begins(units: tuple[SuiteUnit, ...]) -> None:
    performed = Performed(units, {}, {"turns": 100}, stop_at_s=1.2)
    assert performed.driver.is_stopped
    assert performed.nodes[1].stopped
    assert performed.errors == []
    assert performed.begun == [[0, 2, 3], [1]]
    statuses = [result.status for result in performed.document.results]
    assert statuses.count(Status.COMPLETE) >= 2
    assert statuses[2] is Status.RUNNING, "one that was under way, and stays so"
    assert performed.driver.lost == {}


def test_a_stop_ends_the_wait_for_nodes_that_store_files(units: tuple[SuiteUnit, ...]) -> None:
    with pytest.raises(KeyboardInterrupt):
        Performed(units, {}, {"deaf": {"prepare": 0}}, stop_at_s=1.0)


def test_a_stop_before_anything_began_begins_nothing(units: tuple[SuiteUnit, ...]) -> None:
    performed = Performed(units, {}, stop_at_s=0.0)
    assert performed.begun == [[]]
    assert performed.document.results == ()


def test_what_nodes_do_is_reported_in_a_few_words(units: tuple[SuiteUnit, ...]) -> None:
    node_group = [{"turns": 9} for _ in range(6)]
    performed = Performed(units, *node_group, stop_at_s=0.4)
    assert performed.suite.doing == ""
    assert performed.said[0].startswith("node-1: up")
