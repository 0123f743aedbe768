"""The self-test's own logic, on gates that are made up: what runs in which order, what both sides have in common."""

import datetime as dt
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

import s3bench.gate.self_test
from s3bench.bench.runner import Bench, Settings
from s3bench.clients.client import FoundClient
from s3bench.gate.evidence import Role, Side
from s3bench.gate.live import GateRules, GateStatus
from s3bench.gate.planted_fault import FaultKind, PlantedFault, faults_for
from s3bench.gate.policy import Policy
from s3bench.gate.row import Verdict
from s3bench.gate.self_test import (
    SelfTestStep,
    _InjectionStub,
    gate_runner,
    injection_of,
    run_self_test,
)
from s3bench.run.inspection import FaultInjection
from s3bench.s3.wirelog import TransferEngine, WireLog, WireRequest
from s3bench.spec.definition import DEFAULT_RESPONSES, ClientKind, Definition
from tests.gate.evidence_maker import paired, ratios

TODAY = dt.date(2026, 11, 21)
POLICY = Policy(exact=("requests", "modules"))
FAULTS, _ = faults_for(POLICY, usual_s=0.1, usual_bytes=1e8)
CELLS = {
    worsening: (
        paired(ratios(worsening, 0.002)),
        paired(ratios(0.0, 0.001), role=Role.NEGATIVE_CONTROL),
        paired(ratios(0.2, 0.001), role=Role.POSITIVE_CONTROL),
    )
    for worsening in (0.0, 0.2)
}


class Gates:
    """Makes up a gate for each fault, of which 20 % more work alone shows. Each takes a second of its clock."""

    def __init__(self) -> None:
        self.ran: list[tuple[PlantedFault, int]] = []
        self.now_s = 0.0
        self.deadline_s = float("inf")

    def now(self) -> float:
        return self.now_s

    def __call__(self, fault: PlantedFault, seed: int) -> Iterator[GateStatus]:
        self.ran.append((fault, seed))
        self.now_s += 1.0
        cells = CELLS[0.2 if fault.share == 0.2 and fault.kind is FaultKind.WORK else 0.0]
        standing = GateStatus(cells=cells, look=1, goal=40, undecided=0, pairs_planned=0, pairs_done=0)
        yield standing
        if self.now_s > self.deadline_s:
            yield GateStatus(
                cells=cells, look=1, goal=40, undecided=1, pairs_planned=9, pairs_done=1, is_out_of_time=True
            )

    def steps(self, *, rounds: int = 2, seed: int = 1) -> Iterator[SelfTestStep]:
        deadline_s = None if self.deadline_s == float("inf") else self.deadline_s
        return run_self_test(
            self, FAULTS, POLICY, rounds=rounds, seed=seed, deadline_s=deadline_s, today=TODAY, now=self.now
        )


def test_each_round_has_every_fault_once() -> None:
    gates = Gates()
    steps = list(gates.steps(rounds=3))
    answered = [step for step in steps if step.answer]
    assert [step.round for step in answered] == sorted([1, 2, 3] * len(FAULTS))
    for number in (1, 2, 3):
        assert {step.fault for step in answered if step.round == number} == set(FAULTS)
    assert [(step.fault, step.round) for step in steps if not step.answer] == [
        (step.fault, step.round) for step in answered
    ]


def test_the_order_and_the_seeds_of_gates_follow_from_the_seed() -> None:
    first, again, other = Gates(), Gates(), Gates()
    for gates, seed in ((first, 1), (again, 1), (other, 2)):
        list(gates.steps(seed=seed))
    assert first.ran == again.ran != other.ran
    assert len({seed for _, seed in first.ran}) == len(first.ran)
    rounds = [[fault for fault, _ in part] for part in (first.ran[: len(FAULTS)], first.ran[len(FAULTS) :])]
    assert rounds[0] != rounds[1]


def test_an_answer_tells_what_the_gate_said_and_how_long_it_took() -> None:
    answers = {step.fault.title: step.answer for step in Gates().steps(rounds=1) if step.answer}
    caught, clean = answers["20% more work"], answers["0% more work"]
    assert (caught.verdict, caught.found_in, caught.is_caught) == (Verdict.FAIL, ("total_time",), True)
    assert (clean.verdict, clean.is_caught, clean.round, clean.elapsed_s) == (Verdict.PASS, False, 1, 1.0)


def test_no_gate_begins_when_the_time_is_over() -> None:
    gates = Gates()
    gates.deadline_s = 4.0
    assert len([step for step in gates.steps() if step.answer]) == 4 == len(gates.ran)


def test_a_gate_that_was_cut_short_is_no_answer() -> None:
    gates = Gates()
    gates.deadline_s = 3.5
    assert len([step for step in gates.steps() if step.answer]) == 3
    assert len(gates.ran) == 4


def test_an_interruption_comes_through_at_once() -> None:
    gates = Gates()

    def interrupted(fault: PlantedFault, seed: int) -> Iterator[GateStatus]:
        yield from gates(fault, seed)
        if len(gates.ran) == 2:
            raise KeyboardInterrupt

    steps = run_self_test(interrupted, FAULTS, POLICY, rounds=9, seed=1, deadline_s=None, today=TODAY, now=gates.now)
    assert [bool(next(steps).answer) for _ in range(3)] == [False, True, False]
    with pytest.raises(KeyboardInterrupt):
        next(steps)


@pytest.mark.parametrize(
    ("fault", "dial"),
    [
        (PlantedFault(kind=FaultKind.WORK, amount=0.005, share=0.06), FaultInjection(spin_s=0.005)),
        (PlantedFault(kind=FaultKind.MEMORY, amount=1000.4, share=0.06), FaultInjection(hold_bytes=1000)),
        (PlantedFault(kind=FaultKind.REQUEST, amount=1), FaultInjection(requests=1)),
        (PlantedFault(kind=FaultKind.IMPORT, amount=1), FaultInjection(imports=1)),
    ],
)
def test_a_fault_is_planted_by_its_dial(fault: PlantedFault, dial: FaultInjection) -> None:
    assert injection_of(fault) == dial


def test_the_fault_is_in_the_candidate_of_the_first_benchmark_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[GateRules] = []

    def fake(*arguments: Any, now: object) -> Iterator[GateStatus]:
        given.append(arguments[3])
        return iter(())

    monkeypatch.setattr(s3bench.gate.self_test, "run_gate", fake)
    first, second = (Definition(name=name, command=("s3",)) for name in ("first", "second"))
    client = FoundClient(kind=ClientKind.CRT_PYTHON, version="1", executable=Path("/python"))
    rules = GateRules(policy=POLICY, settings=Settings(), seed=0)
    bench = cast("Bench", None)
    run = gate_runner(bench, (first, second), dict.fromkeys(Side, client), rules, None, now=lambda: 0.0)
    run(PlantedFault(kind=FaultKind.IMPORT, amount=1), 7)
    run(PlantedFault(kind=FaultKind.WORK, amount=0.0), 8)
    planted, clean = given
    assert planted.seed == 7
    assert list(planted.planted) == [first]
    assert json.loads(planted.planted[first].env["S3BENCH_DIAL"]) == {"imports": 1}
    assert (clean.seed, clean.planted) == (8, clean.sham)
    for rules in given:
        assert json.loads(rules.sham[first].env["S3BENCH_DIAL"]) == {}


class Stub:
    """A stub server that keeps what it is armed with, and has seen one upload and one request of the dial."""

    def __init__(self) -> None:
        self.responses: Any = None

    def arm(self, responses: Any, **_: object) -> None:
        self.responses = responses

    def collect(self, meanwhile: Callable[[], object]) -> WireLog:
        meanwhile()
        requests = tuple(request(path, engine) for path, engine in ASKED)
        return WireLog(
            requests=requests,
            leftover=(),
            connections=2,
            connections_open_max=1,
            requests_in_flight_max=1,
            server_cpu_s=0.0,
            faults=(),
        )


ASKED = (("/s3bench-dial/0", TransferEngine.OTHER), ("/bucket/key", TransferEngine.GO))


def request(path: str, engine: TransferEngine) -> WireRequest:
    return msgspec.convert(
        ["GET", path, "", "", 0, 1, engine, 0, 0, 0, 0, 200, 0, 0, 0, {}, "", 0, 0, True, ""], type=WireRequest
    )


def engines_seen(engine: TransferEngine | None) -> list[TransferEngine]:
    log = _InjectionStub(stub=cast("Any", Stub()), engine=engine).collect(lambda: None)
    assert log
    return [each.engine for each in log.requests]


def test_the_dials_requests_count_as_the_clients_and_all_others_as_they_are() -> None:
    assert engines_seen(TransferEngine.CRT) == [TransferEngine.CRT, TransferEngine.GO]
    assert engines_seen(None) == [TransferEngine.OTHER, TransferEngine.GO]


def test_the_dial_is_answered_before_a_response_that_fits_any_request() -> None:
    stub = Stub()
    _InjectionStub(stub=cast("Any", stub)).arm(DEFAULT_RESPONSES, workspace=Path("/"), verify=True)
    first, *rest = stub.responses
    assert (first.match.method, first.match.path, first.instances) == ("GET", "/s3bench-dial/*", None)
    assert tuple(rest) == DEFAULT_RESPONSES


def test_steps_are_reported_before_and_after_each_gate() -> None:
    steps = Gates().steps(rounds=1)
    before, after = next(steps), next(steps)
    assert (before.answer, after.answer is None, before.fault) == (None, False, after.fault)
