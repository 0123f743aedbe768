"""The self-test's own logic, on gates that are made up: what runs in which order, what both sides have in common."""

import datetime as dt
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from s3bench.bench.runner import Settings
from s3bench.clients.client import FoundClient
from s3bench.errors import BadInput, S3BenchError
from s3bench.gate.evidence import Role, Side
from s3bench.gate.inspection import Inspector
from s3bench.gate.live import GateRules, GateStatus
from s3bench.gate.looks import Looks
from s3bench.gate.planted_fault import FaultKind, PlantedFault, SelfTest, faults_for
from s3bench.gate.policy import Policy
from s3bench.gate.record import ProgramIdentity
from s3bench.gate.row import Verdict
from s3bench.gate.self_test import (
    InjectionStub,
    SelfTestStep,
    Usual,
    calibrate,
    gate_runner,
    injection_of,
    recorded,
    run_self_test,
)
from s3bench.results.measurement import Measurement
from s3bench.run.inspection import FaultInjection
from s3bench.s3.wirelog import TransferEngine, WireLog, WireRequest
from s3bench.spec.definition import DEFAULT_RESPONSES, Definition
from tests.bench.scripted_bench import TURN_S, Run, ScriptedBench, client, failed, measured, until_stopped
from tests.gate.evidence_maker import paired, ratios, wired
from tests.gate.simulated_gate import SizePolicy

TODAY = dt.date(2026, 11, 21)
POLICY = SizePolicy(exact=("requests", "modules"))
FAULTS, _ = faults_for(POLICY, usual_s=0.1, usual_bytes=1e8)
USUAL = Usual(total_s=0.1, peak_bytes=1e8, turns=2_000)
CELLS = {
    worsening: (
        paired(ratios(worsening, 0.002, 20)),
        paired(ratios(0.0, 0.001, 20), role=Role.NEGATIVE_CONTROL),
        paired(ratios(0.2, 0.001, 20), role=Role.POSITIVE_CONTROL),
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
    ("fault", "injection"),
    [
        (PlantedFault(kind=FaultKind.WORK, amount=0.005, share=0.06), FaultInjection(turns=120)),
        (PlantedFault(kind=FaultKind.MEMORY, amount=1000.4, share=0.06), FaultInjection(hold_bytes=1000)),
        (PlantedFault(kind=FaultKind.REQUEST, amount=1), FaultInjection(requests=1)),
        (PlantedFault(kind=FaultKind.IMPORT, amount=1), FaultInjection(imports=1)),
    ],
)
def test_a_fault_is_planted_by_its_injection(fault: PlantedFault, injection: FaultInjection) -> None:
    assert injection_of(fault, USUAL) == injection


FIRST, SECOND = (Definition(name=name, command=("s3",)) for name in ("first", "second"))
SETTINGS = Settings(interval_s=None)
QUICK = Policy(metrics=("total_time", "peak_memory"), exact=("requests", "modules"), looks=Looks(pairs=(10, 20)))


@pytest.fixture
def bench(tmp_path: Path) -> ScriptedBench:
    """A machine with a little noise, on which a run takes 100 ms and 100 MB."""
    bench = ScriptedBench(root=tmp_path)
    usual = msgspec.structs.asdict(wired(PUT=1))
    del usual["total_time"], usual["peak_memory"]
    bench.script = lambda _: measured(
        0.1 + 1e-5 * (len(bench.runs) * 7 % 11), peak_memory=10**8 + len(bench.runs) % 7, **usual
    )
    return bench


@pytest.fixture
def clients(tmp_path: Path) -> dict[Side, FoundClient]:
    return {side: client(tmp_path, side.value, "crt-python") for side in Side}


def test_the_fault_is_in_the_candidate_of_the_first_benchmark_alone(
    bench: ScriptedBench, clients: dict[Side, FoundClient]
) -> None:
    rules = GateRules(policy=QUICK, settings=SETTINGS, seed=0)
    run = gate_runner(bench, (FIRST, SECOND), clients, rules, None, USUAL, now=bench.now)
    list(run(PlantedFault(kind=FaultKind.IMPORT, amount=1), 7))
    faults = {
        (each.definition.name, each.client.version): each.conditions.env.get("S3BENCH_FAULT_INJECTION")
        for each in bench.runs
    }
    assert faults == {
        ("first", "baseline"): "{}",
        ("first", "candidate"): '{"imports": 1}',
        ("second", "baseline"): None,
        ("second", "candidate"): None,
    }


def test_every_kind_of_fault_is_caught_by_a_real_gate(
    bench: ScriptedBench, clients: dict[Side, FoundClient], tmp_path: Path
) -> None:
    (tmp_path / "inspection").mkdir()
    inspector = Inspector(directory=tmp_path / "inspection")
    faults, left_out = faults_for(QUICK, usual_s=0.1, usual_bytes=1e8)
    assert left_out == ()
    rules = GateRules(policy=QUICK, settings=SETTINGS, seed=0)
    steps = run_self_test(
        gate_runner(bench, (FIRST,), clients, rules, inspector, USUAL, now=bench.now),
        faults,
        QUICK,
        rounds=1,
        seed=1,
        deadline_s=None,
        today=TODAY,
        now=bench.now,
    )
    answers = {step.fault.title: step.answer for step in steps if step.answer}
    assert {title: answer.found_in for title, answer in answers.items() if answer.is_caught} == {
        "6% more work": ("total_time",),
        "10% more work": ("total_time",),
        "20% more work": ("total_time",),
        "3% more memory": ("peak_memory",),
        "5% more memory": ("peak_memory",),
        "10% more memory": ("peak_memory",),
        "1 more request": ("requests",),
        "1 more import": ("modules",),
    }
    assert len(answers) == len(faults)
    assert all(answer.elapsed_s > 0 for answer in answers.values())


class TestCalibration:
    def test_the_usual_is_the_median_of_runs_that_carry_an_idle_injection(
        self, bench: ScriptedBench, clients: dict[Side, FoundClient]
    ) -> None:
        times = iter([0.09, 0.01, 0.05, 0.02, 0.03, 0.04])
        bench.script = lambda run: measured(0.2 if run.fault else next(times), peak_memory=100 + len(bench.runs))
        usual = calibrate(bench, FIRST, clients[Side.BASELINE], SETTINGS, runs=5)
        assert usual.total_s == 0.03  # the first run was the one that showed the probe
        assert usual.peak_bytes == 108
        assert bench.workspaces_open == 0

    def test_the_planted_work_takes_its_share_whatever_the_speed_of_the_machine(
        self, bench: ScriptedBench, clients: dict[Side, FoundClient]
    ) -> None:
        def run_while_the_machine_slows_down(run: Run) -> Measurement:
            slowness = 1 + len(bench.runs) / 100
            own_s, extra_s = 0.3 * slowness, TURN_S * run.fault.get("turns", 0)
            return measured(own_s + extra_s * (slowness - 1))  # the bench adds what the turns take at full speed

        bench.script = run_while_the_machine_slows_down
        usual = calibrate(bench, FIRST, clients[Side.BASELINE], SETTINGS, runs=6)
        assert usual.turns == pytest.approx(0.3 / TURN_S, rel=0.01)

    def test_work_that_does_not_show_is_not_planted(
        self, bench: ScriptedBench, clients: dict[Side, FoundClient]
    ) -> None:
        bench.script = lambda run: measured(1000.0 - TURN_S * run.fault.get("turns", 0))
        with pytest.raises(S3BenchError, match="planted work did not slow down crt-python@baseline running first"):
            calibrate(bench, FIRST, clients[Side.BASELINE], replace(SETTINGS, timeout_s=2000), runs=3)

    def test_a_peak_that_is_not_known_stays_so(self, bench: ScriptedBench, clients: dict[Side, FoundClient]) -> None:
        bench.script = lambda _: measured()
        assert calibrate(bench, FIRST, clients[Side.BASELINE], SETTINGS, runs=1).peak_bytes is None

    def test_a_client_without_our_probe_is_refused(self, bench: ScriptedBench, tmp_path: Path) -> None:
        with pytest.raises(BadInput, match="no fault can be planted into s5cmd@1 running first"):
            calibrate(bench, FIRST, client(tmp_path), SETTINGS)
        assert len(bench.runs) == 1

    def test_a_client_that_fails_without_a_fault_is_told_so(
        self, bench: ScriptedBench, clients: dict[Side, FoundClient]
    ) -> None:
        bench.script = lambda _: failed("exited 7", why="no network") if len(bench.runs) == 3 else measured()
        with pytest.raises(S3BenchError, match="exited 7") as caught:
            calibrate(bench, FIRST, clients[Side.BASELINE], SETTINGS)
        assert (caught.value.why, len(bench.runs)) == ("no network", 3)


def new_test(rounds: int) -> SelfTest:
    return SelfTest(
        s3bench="0",
        started_at="",
        policy=POLICY,
        client=ProgramIdentity(label="", name="", version=""),
        benchmarks=("first",),
        calibrating_runs=1,
        usual_s=0.1,
        usual_bytes=None,
        rounds=rounds,
    )


class TestRecord:
    def test_it_counts_every_answer_and_has_a_line_for_every_fault_from_the_start(self) -> None:
        grown = list(recorded(new_test(2), FAULTS, Gates().steps(rounds=2), out_of_time="no time"))
        assert [sum(each.gates for each in test.tallies) for test, step in grown if step and step.answer] == list(
            range(1, 2 * len(FAULTS) + 1)
        )
        assert all([each.fault for each in test.tallies] == list(FAULTS) for test, _ in grown)
        last, step = grown[-1]
        assert (step, last.stopped, {each.gates for each in last.tallies}) == (None, "", {2})

    def test_one_that_ran_out_of_time_says_after_how_many(self) -> None:
        gates = Gates()
        gates.deadline_s = 4.0
        *_, (last, _) = recorded(new_test(2), FAULTS, gates.steps(rounds=2), out_of_time="no time")
        assert last.stopped == f"no time after 4 of {2 * len(FAULTS)} gates"

    def test_ctrl_c_leaves_all_answers_by_then(self) -> None:
        def steps() -> Iterator[SelfTestStep]:
            for step in Gates().steps(rounds=1):
                if step.round == 1 and step.answer is None and step.fault == last_fault:
                    raise KeyboardInterrupt
                yield step

        last_fault = [step.fault for step in Gates().steps(rounds=1) if step.answer][2]
        seen = until_stopped(recorded(new_test(1), FAULTS, steps()))
        assert sum(each.gates for each in seen[-1][0].tallies) == 2


class Stub:
    """A stub server that keeps what it is armed with, and has seen one upload and one request of the injection."""

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


ASKED = (("/s3bench-fault/0", TransferEngine.OTHER), ("/bucket/key", TransferEngine.GO))


def request(path: str, engine: TransferEngine) -> WireRequest:
    return msgspec.convert(
        ["GET", path, "", "", 0, 1, engine, 0, 0, 0, 0, 200, 0, 0, 0, {}, "", 0, 0, True, ""], type=WireRequest
    )


def engines_seen(engine: TransferEngine | None) -> list[TransferEngine]:
    log = InjectionStub(stub=cast("Any", Stub()), engine=engine).collect(lambda: None)
    assert log
    return [each.engine for each in log.requests]


def test_the_dials_requests_count_as_the_clients_and_all_others_as_they_are() -> None:
    assert engines_seen(TransferEngine.CRT) == [TransferEngine.CRT, TransferEngine.GO]
    assert engines_seen(None) == [TransferEngine.OTHER, TransferEngine.GO]


def test_the_dial_is_answered_before_a_response_that_fits_any_request() -> None:
    stub = Stub()
    InjectionStub(stub=cast("Any", stub)).arm(DEFAULT_RESPONSES, workspace=Path("/"), verify=True)
    first, *rest = stub.responses
    assert (first.match.method, first.match.path, first.instances) == ("GET", "/s3bench-fault/*", None)
    assert tuple(rest) == DEFAULT_RESPONSES


def test_steps_are_reported_before_and_after_each_gate() -> None:
    steps = Gates().steps(rounds=1)
    before, after = next(steps), next(steps)
    assert (before.answer, after.answer is None, before.fault) == (None, False, after.fault)
