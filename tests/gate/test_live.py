"""A live gate on a scripted bench: order of runs, looks, failures, controls, deadlines and Ctrl-C."""

import datetime as dt
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from s3bench.bench.runner import Conditions, Settings
from s3bench.clients.client import FoundClient
from s3bench.gate.conclusion import conclude
from s3bench.gate.evidence import ClientCellEvidence, Role, Side
from s3bench.gate.exact_rows import exact_rows
from s3bench.gate.indifference_zone import IndifferenceZone
from s3bench.gate.inspection import Inspector
from s3bench.gate.live import INSPECTIONS, GateRules, GateStatus, recorded, run_gate, stage_sides
from s3bench.gate.live_cell import CONTROL_DELAY
from s3bench.gate.looks import Looks
from s3bench.gate.policy import Policy
from s3bench.gate.record import GateRecord, ProgramIdentity, encode_record, parse_record
from s3bench.gate.row import Verdict
from s3bench.results.measurement import Measurement
from s3bench.spec.definition import Definition
from s3bench.stats.exact_counts import CONFIRMING_RUNS
from tests.bench.scripted_bench import STACK, Run, ScriptedBench, client, failed, measured, until_stopped
from tests.gate.evidence_maker import wired

LOOKS = Looks(pairs=(10, 20, 40))
ZONE = IndifferenceZone(d0=0.02, d1=0.06, floor=0.0)
POLICY = Policy(metrics=("total_time",), looks=LOOKS, zones={"total_time": ZONE})
ONE, TWO, THREE = (Definition(name=name, command=("s3", "ls")) for name in ("one", "two", "three"))
SPREAD = (0.0, 0.004, -0.003, 0.001, -0.001, 0.002, -0.004, 0.003)
"""So that no two pairs are equal: the tests of the gate are about ranks."""


@pytest.fixture
def bench(tmp_path: Path) -> ScriptedBench:
    return ScriptedBench(root=tmp_path, script=quiet())


@pytest.fixture
def clients(tmp_path: Path) -> dict[Side, FoundClient]:
    return {side: client(tmp_path, side.value) for side in Side}


def is_candidate(run: Run) -> bool:
    return run.client.version == Side.CANDIDATE


def quiet(times: Mapping[str, float] | None = None, *, worsening: float = 0.0) -> Callable[[Run], Measurement]:
    """Runs of a quiet machine; the candidate takes longer by `worsening`. `times` are those of benchmarks by name."""
    numbers: Counter[str] = Counter()

    def script(run: Run) -> Measurement:
        numbers[run.definition.name] += 1
        number = numbers[run.definition.name]
        usual_s = (times or {}).get(run.definition.name, 1.0)
        noise = SPREAD[number % len(SPREAD)] + number * 1e-6
        return measured(usual_s * (1 + noise + (worsening if is_candidate(run) else 0.0)))

    return script


def doubtful(worsening: float = 0.04, *, share: float = 1.0) -> Callable[[Run], Measurement]:
    """Noise in which a change within the zone cannot be decided; `share` makes less of it."""
    numbers: Counter[str] = Counter()

    def script(run: Run) -> Measurement:
        numbers[run.client.version] += 1
        wave = 0.25 * share * SPREAD[(numbers[run.client.version] * 3 + is_candidate(run)) % len(SPREAD)] / 0.004
        return measured(1.0 + wave + (worsening if is_candidate(run) else 0.0))

    return script


def rules(**changes: Any) -> GateRules:
    return replace(GateRules(policy=POLICY, settings=Settings(interval_s=None), seed=1, has_controls=False), **changes)


Gate = Callable[..., list[GateStatus]]


@pytest.fixture
def gate(bench: ScriptedBench, clients: dict[Side, FoundClient]) -> Gate:
    def run(*definitions: Definition, inspector: Inspector | None = None, **changes: Any) -> list[GateStatus]:
        return list(run_gate(bench, definitions, clients, rules(**changes), inspector, now=bench.now))

    return run


def measured_runs(bench: ScriptedBench, definitions: int = 1) -> list[Run]:
    """The runs after the warm-ups."""
    return bench.runs[2 * definitions :]


def order_of(runs: list[Run]) -> str:
    return "".join("B" if is_candidate(run) else "A" for run in runs)


def cell(statuses: list[GateStatus], role: Role = Role.BENCHMARK, name: str = "one") -> ClientCellEvidence:
    (found,) = (each for each in statuses[-1].cells if each.role is role and each.name == name)
    return found


class TestOrder:
    def test_each_side_is_warmed_once_and_its_runs_are_not_measured(self, bench: ScriptedBench, gate: Gate) -> None:
        statuses = gate(ONE, TWO)
        warm = bench.runs[:4]
        assert [(run.definition.name, run.client.version) for run in warm] == [
            (name, side.value) for name in ("one", "two") for side in Side
        ]
        assert len(cell(statuses).pairs) * 2 == len([run for run in bench.runs[4:] if run.definition is ONE])
        assert (statuses[0].look, statuses[0].undecided) == (0, 0)

    def test_pairs_run_in_quads_abba_or_baab_of_both_kinds(self, bench: ScriptedBench, gate: Gate) -> None:
        bench.script = doubtful()
        statuses = gate(ONE)
        runs = measured_runs(bench)
        assert len(runs) == 2 * LOOKS.cap
        quads = [order_of(runs[start : start + 4]) for start in range(0, len(runs), 4)]
        assert set(quads) == {"ABBA", "BAAB"}
        assert [pair.order for pair in cell(statuses).pairs] == [
            order for quad in quads for order in (quad[:2], quad[2:])
        ]

    def test_a_pair_is_made_of_its_two_runs_and_has_one_hash_seed(self, bench: ScriptedBench, gate: Gate) -> None:
        bench.script = lambda _: measured(1.0 + len(bench.runs) * 1e-6)
        (found,) = (each for each in gate(ONE)[-1].cells)
        runs = measured_runs(bench)
        for pair, first, second in zip(found.pairs, runs[::2], runs[1::2], strict=True):
            assert first.hash_seed == second.hash_seed == str(pair.hash_seed)
            sides = (pair.candidate, pair.baseline) if is_candidate(first) else (pair.baseline, pair.candidate)
            assert sides[0].total_time < sides[1].total_time
        assert len({pair.hash_seed for pair in found.pairs}) == len(found.pairs)
        assert {len(run.hash_seed) for run in bench.runs} == {10}

    def test_benchmarks_are_shuffled_anew_in_every_round(self, bench: ScriptedBench, gate: Gate) -> None:
        gate(ONE, TWO, THREE)
        quads = [run.definition.name for run in measured_runs(bench, 3)[::4]]
        rounds = {tuple(quads[start : start + 3]) for start in range(0, len(quads), 3)}
        assert all(sorted(each) == ["one", "three", "two"] for each in rounds)
        assert len(rounds) > 1

    def test_the_order_follows_from_the_seed(self, tmp_path: Path, clients: dict[Side, FoundClient]) -> None:
        def runs(seed: int) -> list[tuple[str, str, str]]:
            bench = ScriptedBench(root=tmp_path, script=quiet())
            list(run_gate(bench, (ONE, TWO), clients, rules(seed=seed), None, now=bench.now))
            return [(run.definition.name, run.client.version, run.hash_seed) for run in bench.runs]

        assert runs(1) == runs(1) != runs(2)

    def test_a_pair_knows_when_its_quad_began_on_the_gates_clock(self, bench: ScriptedBench, gate: Gate) -> None:
        found = cell(gate(ONE))
        starts = [run.at_s - bench.runs[2].at_s for run in measured_runs(bench)[::4]]
        assert [pair.started_s for pair in found.pairs[::2]] == [round(start, 3) for start in starts]


class TestConditions:
    def test_both_programs_are_read_anew_before_the_first_run(
        self, bench: ScriptedBench, gate: Gate, clients: dict[Side, FoundClient]
    ) -> None:
        gate(ONE)
        assert bench.reloaded == [(each, 0) for each in clients.values()]

    def test_both_sides_share_a_workspace_and_one_size_of_the_stack(self, bench: ScriptedBench, gate: Gate) -> None:
        gate(ONE, TWO)
        for definition in (ONE, TWO):
            runs = [run for run in bench.runs if run.definition is definition]
            assert len({run.workspace.root for run in runs}) == 1
            (size,) = {run.conditions.stack for run in runs}
            assert size is not None
            assert size.size_bytes > STACK.size_bytes
            assert size.size_bytes % 4096 == 0
            assert size.entries > STACK.entries
        assert bench.workspaces_open == 0

    def test_a_fault_is_on_the_candidate_of_its_benchmark_alone_and_the_sham_on_its_baseline(
        self, bench: ScriptedBench, gate: Gate
    ) -> None:
        planted, sham = Conditions(env={"FAULT": "1"}), Conditions(env={"FAULT": "0"})
        gate(ONE, TWO, planted={ONE: planted}, sham={ONE: sham})
        faults = {(run.definition.name, is_candidate(run)): run.conditions.env.get("FAULT") for run in bench.runs}
        assert faults == {("one", False): "0", ("one", True): "1", ("two", False): None, ("two", True): None}
        (stack,) = {run.conditions.stack for run in bench.runs if run.definition is ONE}
        assert stack is not None


class TestLooks:
    def test_a_clear_answer_stops_at_the_first_look(self, bench: ScriptedBench, gate: Gate) -> None:
        for worsening in (0.0, 0.3):
            bench.script = quiet(worsening=worsening)
            statuses = gate(ONE)
            assert len(cell(statuses).pairs) == LOOKS.pairs[0]
            assert (statuses[-1].look, statuses[-1].goal, statuses[-1].undecided) == (3, 40, 0)

    def test_what_is_undecided_goes_on_to_the_last_look(self, bench: ScriptedBench, gate: Gate) -> None:
        bench.script = doubtful()
        statuses = gate(ONE)
        assert len(cell(statuses).pairs) == LOOKS.cap
        progress = [(each.look, each.goal, each.pairs_planned) for each in statuses if each.undecided]
        assert list(dict.fromkeys(progress)) == [(1, 10, 10), (2, 20, 10), (3, 40, 20)]
        assert [each.pairs_done for each in statuses if each.look == 2] == [2, 4, 6, 8, 10]

    def test_only_the_undecided_benchmark_gets_more_pairs(self, bench: ScriptedBench, gate: Gate) -> None:
        clear, unclear = quiet(), doubtful(0.0, share=0.3)
        bench.script = lambda run: unclear(run) if run.definition is TWO else clear(run)
        statuses = gate(ONE, TWO, THREE)
        assert [len(each.pairs) for each in statuses[-1].cells] == [10, 40, 10]
        assert {each.undecided for each in statuses if each.look == 2} == {1}

    def test_the_status_comes_after_every_quad(self, gate: Gate) -> None:
        statuses = gate(ONE)
        assert [len(each.cells[0].pairs) for each in statuses] == [0, 0, 2, 4, 6, 8, 10, 10]


class TestSize:
    def test_what_was_shown_is_measured_again_in_fresh_pairs_and_the_rest_is_not(
        self, bench: ScriptedBench, gate: Gate
    ) -> None:
        slow, usual = quiet(worsening=0.3), quiet()
        bench.script = lambda run: slow(run) if run.definition is TWO else usual(run)
        statuses = gate(ONE, TWO, sizing_pairs=12)
        assert [(len(each.pairs), len(each.sizing)) for each in statuses[-1].cells] == [(20, 0), (20, 12)]
        assert {run.definition.name for run in bench.runs[-24:]} == {"two"}
        two = cell(statuses, name="two")
        assert two.sizing[0].started_s > two.pairs[-1].started_s
        assert not statuses[-1].is_out_of_time

    def test_the_size_comes_from_all_pairs_and_the_verdict_from_those_that_were_not_fresh(
        self, bench: ScriptedBench, gate: Gate
    ) -> None:
        slower, slow = quiet(worsening=0.3), quiet(worsening=0.28)
        bench.script = lambda run: slower(run) if len(bench.runs) <= 22 else slow(run)
        (found,) = gate(ONE, sizing_pairs=12)[-1].cells
        (row,) = new_record(cells=(found,)).concluded().conclusion.rows  # type: ignore[union-attr]
        assert (row.verdict, row.pairs, row.fresh_pairs) == (Verdict.FAIL, 10, 12)
        assert row.change == pytest.approx(0.29, abs=0.005)
        assert row.at_least is not None
        assert row.at_least > 0.29

    def test_nothing_is_measured_again_when_the_time_is_over(self, bench: ScriptedBench, gate: Gate) -> None:
        bench.script = quiet(worsening=0.3)
        statuses = gate(ONE, sizing_pairs=12, deadline_s=2 * 1.15 + 4 * 1.15 * 7)
        assert len(cell(statuses).pairs) == 10
        assert 0 < len(cell(statuses).sizing) < 12
        assert not statuses[-1].is_out_of_time


class TestFailures:
    @pytest.mark.parametrize("side", Side)
    def test_a_failed_warm_up_takes_its_benchmark_out(self, bench: ScriptedBench, gate: Gate, side: Side) -> None:
        usual = quiet()
        bench.script = lambda run: (
            failed("exited 7") if run.definition is ONE and run.client.version == side else usual(run)
        )
        statuses = gate(ONE, TWO, has_controls=True)
        lost = cell(statuses)
        assert [(each.side, each.failure.what) for each in lost.failures] == [(side, "exited 7")]
        assert (lost.pairs, len(cell(statuses, name="two").pairs)) == ((), 10)
        assert cell(statuses, Role.NEGATIVE_CONTROL, "two").pairs

    def test_a_failure_in_the_middle_keeps_whole_pairs_and_ends_its_benchmark(
        self, bench: ScriptedBench, gate: Gate
    ) -> None:
        usual = quiet()
        bench.script = lambda run: failed("exited 7") if len(bench.runs) == 2 + 4 + 2 + 1 else usual(run)
        statuses = gate(ONE)
        found = cell(statuses)
        assert (len(found.pairs), len(found.failures), len(bench.runs)) == (3, 1, 10)

    def test_one_benchmark_that_fails_does_not_stop_the_others(self, bench: ScriptedBench, gate: Gate) -> None:
        usual = quiet()
        bench.script = lambda run: failed() if run.definition is ONE and len(bench.runs) > 10 else usual(run)
        statuses = gate(ONE, TWO)
        assert len(cell(statuses, name="two").pairs) == 10
        assert len(cell(statuses).pairs) < 10

    def test_without_a_benchmark_that_runs_there_are_no_controls(self, bench: ScriptedBench, gate: Gate) -> None:
        bench.script = lambda _: failed()
        statuses = gate(ONE, TWO, has_controls=True)
        assert [each.role for each in statuses[-1].cells] == [Role.BENCHMARK] * 2
        assert len(bench.runs) == 2


class TestControls:
    def test_they_run_the_baseline_on_the_quickest_benchmark_on_both_sides(
        self, bench: ScriptedBench, gate: Gate
    ) -> None:
        bench.script = quiet({"one": 3.0, "two": 1.0, "three": 2.0}, worsening=0.01)
        statuses = gate(ONE, TWO, THREE, has_controls=True)
        positive = cell(statuses, Role.POSITIVE_CONTROL, "two")
        negative = cell(statuses, Role.NEGATIVE_CONTROL, "two")
        assert positive.planted_s == pytest.approx(CONTROL_DELAY * ZONE.d1 * 1.0, rel=0.02)
        assert negative.planted_s == 0
        assert all(pair.candidate.total_time > pair.baseline.total_time + 0.1 for pair in positive.pairs)
        delayed = [run for run in bench.runs if run.delay_s]
        assert {(run.definition.name, is_candidate(run)) for run in delayed} == {("two", False)}
        assert len(delayed) == len(positive.pairs)

    def test_the_delay_is_not_smaller_than_what_the_floor_makes_of_d1(self, gate: Gate) -> None:
        zone = IndifferenceZone(d0=0.02, d1=0.06, floor=0.5)
        statuses = gate(ONE, has_controls=True, policy=replace_policy(zones={"total_time": zone}))
        assert cell(statuses, Role.POSITIVE_CONTROL).planted_s == pytest.approx(CONTROL_DELAY * 1.5)

    def test_no_delay_is_planted_where_no_metric_that_decides_would_show_it(
        self, bench: ScriptedBench, gate: Gate
    ) -> None:
        bench.script = lambda _: measured(peak_memory=100_000_000 + len(bench.runs))
        statuses = gate(ONE, has_controls=True, policy=Policy(metrics=("peak_memory",), looks=LOOKS))
        assert [each.role for each in statuses[-1].cells] == [Role.BENCHMARK, Role.NEGATIVE_CONTROL]

    def test_the_verdict_of_a_gate_with_controls_is_a_pass_or_a_fail(self, bench: ScriptedBench, gate: Gate) -> None:
        for worsening, verdict in ((0.0, Verdict.PASS), (0.2, Verdict.FAIL)):
            bench.script = quiet(worsening=worsening)
            record = new_record(cells=gate(ONE, has_controls=True)[-1].cells).concluded()
            assert record.conclusion is not None
            assert record.conclusion.verdict is verdict


class TestTime:
    def test_it_ends_between_two_quads_when_the_time_is_over(self, bench: ScriptedBench, gate: Gate) -> None:
        statuses = gate(ONE, deadline_s=2.0 + 4 * 2.5)
        assert len(bench.runs) == 2 + 3 * 4
        assert [each.is_out_of_time for each in statuses[-2:]] == [False, True]
        assert len(cell(statuses).pairs) == 6

    def test_it_ends_while_warming_up_too(self, bench: ScriptedBench, gate: Gate) -> None:
        statuses = gate(ONE, TWO, deadline_s=1.5)
        assert [run.definition.name for run in bench.runs] == ["one", "one"]
        assert (statuses[-1].is_out_of_time, statuses[-1].look) == (True, 0)

    def test_nothing_more_is_inspected_then(self, bench: ScriptedBench, gate: Gate, inspector: Inspector) -> None:
        bench.modules = lambda run: ("os", "new") if is_candidate(run) else ("os",)
        exact = replace_policy(exact=("modules",))
        found = cell(gate(ONE, inspector=inspector, policy=exact, deadline_s=26.0))
        assert len(found.baseline_inspections) == INSPECTIONS

    def test_controls_have_their_first_look_before_any_benchmark(self, gate: Gate) -> None:
        statuses = gate(ONE, TWO, has_controls=True, deadline_s=1000.0)
        first = next(each for each in statuses if any(cell.pairs for cell in each.cells[:2]))
        assert [len(each.pairs) for each in first.cells[2:]] == [10, 10]
        assert sum(len(each.pairs) for each in first.cells[:2]) == 2

    def test_all_benchmarks_have_the_first_look_before_any_goes_on(self, bench: ScriptedBench, gate: Gate) -> None:
        unclear = doubtful(0.0, share=0.3)
        bench.script = lambda run: unclear(run) if run.definition is not THREE else quiet()(run)
        statuses = gate(ONE, TWO, THREE, deadline_s=1000.0)
        beyond = next(each for each in statuses if any(len(cell.pairs) > 10 for cell in each.cells))
        assert min(len(each.pairs) for each in beyond.cells) == 10
        assert [len(each.pairs) for each in statuses[-1].cells] == [40, 40, 10]

    def test_one_benchmark_at_a_time_goes_on_and_a_suspect_before_the_others(
        self, bench: ScriptedBench, gate: Gate
    ) -> None:
        scripts = {ONE: doubtful(0.0, share=0.3), TWO: doubtful(0.08, share=0.4)}
        bench.script = lambda run: scripts[run.definition](run)
        statuses = gate(ONE, TWO, deadline_s=1000.0)
        alone = [each for each in statuses if each.alone]
        assert alone[0].alone == "two"
        assert (alone[0].look, alone[0].goal, alone[0].undecided) == (2, 20, 2)

    def test_the_shortest_come_first_where_not_all_first_looks_fit(self, bench: ScriptedBench, gate: Gate) -> None:
        bench.script = quiet({"one": 4.0, "two": 1.0, "three": 2.0})
        statuses = gate(ONE, TWO, THREE, deadline_s=14.0 + 62.0)
        assert statuses[-1].late == 1
        assert [len(each.pairs) for each in statuses[-1].cells] == [2, 10, 10]
        assert statuses[-1].is_out_of_time

    def test_what_is_late_is_not_inspected_before_its_turn(
        self, bench: ScriptedBench, gate: Gate, inspector: Inspector
    ) -> None:
        bench.script = quiet({"one": 4.0, "two": 1.0})
        statuses = gate(ONE, TWO, inspector=inspector, deadline_s=10.0 + 30.0)
        assert cell(statuses, name="two").baseline_inspections
        late = [run.debug_name for run in bench.runs if run.definition is ONE][2:]
        assert late[: 2 * INSPECTIONS] == ["inspection"] * 2 * INSPECTIONS

    def test_the_most_that_it_takes_is_known_when_all_are_warm_and_falls(self, gate: Gate) -> None:
        statuses = gate(ONE, TWO)
        assert [each.at_most_s for each in statuses[:2]] == [None, None]
        assert statuses[2].at_most_s == pytest.approx(2 * 40 * 2.0, rel=0.01)
        known = [each.at_most_s for each in statuses[2:] if each.at_most_s is not None]
        assert known == sorted(known, reverse=True)
        assert known[-1] == pytest.approx(0, abs=121)

    def test_a_replay_of_a_gate_that_the_clock_ended_gives_the_same_rows(
        self, bench: ScriptedBench, clients: dict[Side, FoundClient]
    ) -> None:
        bench.script = doubtful(0.0, share=0.3)
        statuses = run_gate(bench, (ONE,), clients, rules(deadline_s=2.0 + 4 * 6.5), None, now=bench.now)
        *_, (record, _) = recorded(new_record(), statuses, out_of_time="no time")
        concluded = record.concluded()
        assert concluded.conclusion is not None
        assert [row.pairs for row in concluded.conclusion.rows] == [14]
        replayed = parse_record(encode_record(concluded), source="x").concluded()
        assert replayed.conclusion is not None
        assert replayed.conclusion == concluded.conclusion

    def test_ctrl_c_leaves_all_whole_pairs_in_the_last_status(
        self, bench: ScriptedBench, clients: dict[Side, FoundClient]
    ) -> None:
        usual = quiet()

        def script(run: Run) -> Measurement:
            if len(bench.runs) == 2 + 4 + 3:
                raise KeyboardInterrupt
            return usual(run)

        bench.script = script
        seen = until_stopped(run_gate(bench, (ONE,), clients, rules(), None, now=bench.now))
        assert len(cell(seen).pairs) == 2
        assert bench.workspaces_open == 0


class TestInspections:
    @pytest.fixture
    def clients(self, tmp_path: Path) -> dict[Side, FoundClient]:
        return {side: client(tmp_path, side.value, "boto3-classic") for side in Side}

    def test_each_side_is_inspected_before_its_pairs_and_apart_from_them(
        self, bench: ScriptedBench, gate: Gate, inspector: Inspector
    ) -> None:
        bench.modules = lambda run: ("os", run.client.version)
        found = cell(gate(ONE, inspector=inspector))
        inspections = [run for run in bench.runs if run.debug_name == "inspection"]
        assert inspections == bench.runs[2 : 2 + 2 * INSPECTIONS]
        assert order_of(inspections) == "AB" * INSPECTIONS
        for side in Side:
            assert [each.modules for each in found.inspections(side)] == [
                tuple(sorted(("os", side.value)))
            ] * INSPECTIONS
        assert len(found.pairs) == 10

    def test_where_the_sides_differ_they_are_inspected_again_at_once(
        self, bench: ScriptedBench, gate: Gate, inspector: Inspector
    ) -> None:
        bench.modules = lambda run: ("os", "new") if is_candidate(run) and run.definition is TWO else ("os",)
        statuses = gate(ONE, TWO, inspector=inspector, policy=replace_policy(exact=("modules",)))
        counts = {each.name: len(each.candidate_inspections) for each in statuses[-1].cells}
        assert counts == {"one": INSPECTIONS, "two": CONFIRMING_RUNS}
        names = [run.debug_name for run in bench.runs]
        inspections = 2 * (INSPECTIONS + CONFIRMING_RUNS)
        assert names[4 : 4 + inspections] == ["inspection"] * inspections
        assert "inspection" not in names[4 + inspections :]

    def test_counts_that_differ_in_the_first_two_pairs_are_confirmed_at_once_in_untimed_runs(
        self, bench: ScriptedBench, gate: Gate
    ) -> None:
        bench.script = lambda run: measured_with_requests(3 if is_candidate(run) else 2)
        found = cell(gate(ONE, policy=replace_policy(exact=("requests",))))
        assert len(found.candidate_counted) == len(found.baseline_counted) == CONFIRMING_RUNS - 2
        order = order_of(measured_runs(bench))
        assert order[4 : 4 + 2 * (CONFIRMING_RUNS - 2)] == "AB" * (CONFIRMING_RUNS - 2)
        assert [row.verdict for row in exact_rows(found, replace_policy(exact=("requests",)))] == [Verdict.FAIL]

    def test_counts_that_vary_by_themselves_are_run_on_only_until_they_overlap(
        self, bench: ScriptedBench, gate: Gate
    ) -> None:
        bench.script = lambda run: measured_with_requests(3 if is_candidate(run) and len(bench.runs) < 8 else 2)
        found = cell(gate(ONE, policy=replace_policy(exact=("requests",))))
        assert len(found.candidate_counted) == 1

    def test_what_is_counted_no_more_is_not_run_on_for_ever(self, bench: ScriptedBench, gate: Gate) -> None:
        bench.script = lambda run: measured_with_requests(2 + is_candidate(run)) if len(bench.runs) <= 6 else measured()
        found = cell(gate(ONE, policy=replace_policy(exact=("requests",))))
        assert len(found.candidate_counted) == CONFIRMING_RUNS

    def test_a_gate_on_counts_alone_takes_two_pairs(self, bench: ScriptedBench, gate: Gate) -> None:
        counts_alone = Policy(metrics=(), exact=("requests",))
        for more, runs in ((0, 6), (1, 6 + 2 * (CONFIRMING_RUNS - 2))):
            bench.runs.clear()
            bench.script = lambda run, more=more: measured_with_requests(2 + more * is_candidate(run))  # type: ignore[misc]
            statuses = gate(ONE, policy=counts_alone, has_controls=True)
            found = cell(statuses)
            assert (len(found.pairs), len(bench.runs), len(statuses[-1].cells)) == (2, runs, 1)
            verdict = conclude([found], counts_alone, today=dt.date(2026, 11, 24)).verdict
            assert verdict is (Verdict.FAIL if more else Verdict.PASS)

    @pytest.mark.parametrize(("deadline_s", "late"), [(1000.0, 0), (30.0, 1), (22.0, 1), (10.5, 2)])
    def test_what_is_late_in_a_gate_on_inspections_alone_is_inspected_at_its_end_or_the_time_is_over(
        self, bench: ScriptedBench, gate: Gate, inspector: Inspector, deadline_s: float, late: int
    ) -> None:
        bench.script = quiet({"one": 4.0, "two": 1.0})
        modules_alone = Policy(metrics=(), exact=("modules",))
        statuses = gate(ONE, TWO, inspector=inspector, policy=modules_alone, deadline_s=deadline_s)
        assert statuses[-1].late == late
        missing = [each.name for each in statuses[-1].cells if not each.baseline_inspections]
        assert bool(missing) is statuses[-1].is_out_of_time is (deadline_s < 14.0)
        conclusion = conclude(statuses[-1].cells, modules_alone, today=dt.date(2026, 11, 24))
        assert conclusion.verdict is (Verdict.INCONCLUSIVE if missing else Verdict.PASS)
        assert [row.benchmark for row in conclusion.rows if row.reason == "not measured"] == missing

    def test_an_inspection_that_fails_takes_its_benchmark_out(
        self, bench: ScriptedBench, gate: Gate, inspector: Inspector
    ) -> None:
        bench.script = lambda run: failed("no strace") if run.debug_name == "inspection" else measured()
        found = cell(gate(ONE, inspector=inspector))
        assert [each.failure.what for each in found.failures] == ["no strace"]
        assert found.pairs == ()

    def test_what_failed_to_warm_up_is_not_inspected(
        self, bench: ScriptedBench, gate: Gate, inspector: Inspector
    ) -> None:
        bench.script = lambda _: failed()
        assert cell(gate(ONE, inspector=inspector)).baseline_inspections == ()
        assert len(bench.runs) == 1


def measured_with_requests(count: int) -> Measurement:
    return wired(GET=count)


def replace_policy(**changes: Any) -> Policy:
    return msgspec.structs.replace(POLICY, **changes)


@pytest.fixture
def inspector(tmp_path: Path) -> Inspector:
    directory = tmp_path / "inspection"
    directory.mkdir()
    return Inspector(directory=directory)


def new_record(**changes: Any) -> GateRecord:
    program = ProgramIdentity(label="s5cmd@1", name="s5cmd", version="1")
    record = GateRecord(
        s3bench="0",
        started_at="",
        policy=POLICY,
        baseline=program,
        candidate=program,
        today=dt.date(2026, 11, 24),
    )
    return msgspec.structs.replace(record, **changes)


class TestRecord:
    def test_it_grows_with_the_gate_and_says_why_it_was_stopped(
        self, bench: ScriptedBench, clients: dict[Side, FoundClient]
    ) -> None:
        statuses = run_gate(bench, (ONE,), clients, rules(deadline_s=12.0), None, now=bench.now)
        records = [record for record, _ in recorded(new_record(), statuses, out_of_time="no time")]
        assert [len(record.cells[0].pairs) for record in records] == [0, 2, 4, 6, 6]
        assert [record.stopped for record in records] == ["", "", "", "", "no time"]
        assert records[-1].concluded().conclusion is not None

    def test_a_gate_that_was_not_stopped_says_nothing_of_it(
        self, bench: ScriptedBench, clients: dict[Side, FoundClient]
    ) -> None:
        statuses = run_gate(bench, (ONE,), clients, rules(), None, now=bench.now)
        *_, (record, status) = recorded(new_record(), statuses, out_of_time="no time")
        assert (record.stopped, record.cells) == ("", status.cells)


class TestStaging:
    def test_both_sides_run_from_paths_of_equal_length(self, tmp_path: Path, clients: dict[Side, FoundClient]) -> None:
        staged, warnings = stage_sides(clients, tmp_path)
        assert {len(str(found.executable)) for found in staged.values()} == {len(str(tmp_path / "stage/a/program"))}
        assert {staged[side].executable.read_text() for side in Side} == {
            clients[side].executable.read_text() for side in Side
        }
        assert warnings == ()

    def test_a_client_that_cannot_be_moved_is_a_warning_unless_both_are_the_same(self, tmp_path: Path) -> None:
        old, new = (client(tmp_path, version, "boto3-classic") for version in ("1", "22"))
        staged, warnings = stage_sides({Side.BASELINE: old, Side.CANDIDATE: new}, tmp_path)
        assert staged == {Side.BASELINE: old, Side.CANDIDATE: new}
        assert [warning.partition(" runs from where it is")[0] for warning in warnings] == [old.label, new.label]
        (tmp_path / "stage").rmdir()
        assert stage_sides(dict.fromkeys(Side, old), tmp_path)[1] == ()
