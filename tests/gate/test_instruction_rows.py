"""Rows of instructions that a gate counted because time was undecided, and what they do to its verdict."""

import datetime as dt
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from s3bench.gate.conclusion import Conclusion, conclude
from s3bench.gate.evidence import ClientCellEvidence, Inspection
from s3bench.gate.instruction_rows import RUNS, RUNS_MAX, gates_time, runs_wanted, undecided_in_time
from s3bench.gate.multiple_testing import decide_rows
from s3bench.gate.policy import Policy
from s3bench.gate.row import GateRow, RowKind, Verdict
from s3bench.gate.waiver import Waiver
from tests.gate.evidence_maker import only, paired, ratios

TODAY = dt.date(2026, 11, 21)
POLICY = Policy(metrics=("total_time",))
USUAL = 1_000_000
NOISY = paired(ratios(0.04, 0.2), name="noisy")
QUIET = paired(ratios(0.0, 0.01), name="quiet")


def counted(baseline: Sequence[int], candidate: Sequence[int], cell: ClientCellEvidence = NOISY) -> ClientCellEvidence:
    return replace(
        cell,
        baseline_inspections=tuple(Inspection(instructions=count) for count in baseline),
        candidate_inspections=tuple(Inspection(instructions=count) for count in candidate),
    )


def row_of(cell: ClientCellEvidence) -> GateRow:
    return only(decide_rows([cell], POLICY), "instructions", RowKind.INSTRUCTIONS)


def concluded(*cells: ClientCellEvidence, waivers: Sequence[Waiver] = ()) -> Conclusion:
    return conclude(cells, POLICY, waivers=waivers, today=TODAY)


@pytest.mark.parametrize(
    ("candidate", "verdict", "reason"),
    [
        (1_000_100, Verdict.PASS, "CPU work in user space unchanged (+0.01%); time undecided"),
        (970_000, Verdict.PASS, "CPU work in user space lower (-3.00%); time undecided"),
        (1_005_000, Verdict.PASS, "CPU work in user space unchanged (+0.50%); time undecided"),
        (1_012_000, Verdict.SMALL, "+1.20% instructions in user space, above 0.5%, below 2.0%; time undecided"),
        (1_020_000, Verdict.FAIL, "+2.00% instructions in user space, 2.0% or more"),
        (1_031_000, Verdict.FAIL, "+3.10% instructions in user space, 2.0% or more"),
    ],
)
def test_the_size_of_the_change_decides(candidate: int, verdict: Verdict, reason: str) -> None:
    row = row_of(counted([USUAL, USUAL], [candidate, candidate]))
    assert (row.verdict, row.reason, row.pairs) == (verdict, reason, RUNS)
    assert (row.baseline, row.candidate) == (USUAL, candidate)


def test_counts_of_equal_runs_that_leave_the_change_open_are_inconclusive() -> None:
    row = row_of(counted([USUAL, USUAL], [1_000_000, 1_030_000]))
    assert row.verdict is Verdict.INCONCLUSIVE
    assert row.reason == "counts of equal runs differ too much: the change is between +0.00% and +3.00%"


def test_two_runs_that_agree_suffice_and_others_ask_for_five() -> None:
    assert runs_wanted(counted([], [])) == RUNS
    assert runs_wanted(counted([USUAL], [])) == RUNS
    assert runs_wanted(counted([USUAL], [USUAL])) == 1
    assert runs_wanted(counted([USUAL] * 2, [USUAL] * 2)) == 0
    assert runs_wanted(counted([USUAL] * 2, [USUAL, 1_010_000])) == RUNS_MAX - RUNS
    assert runs_wanted(counted([USUAL] * 5, [USUAL, 1_010_000, USUAL, USUAL, 1_010_000])) == 0


def test_of_five_runs_one_that_differs_is_left_out() -> None:
    assert row_of(counted([USUAL] * 5, [USUAL] * 4 + [1_050_000])).verdict is Verdict.PASS
    assert row_of(counted([USUAL] * 5, [USUAL] * 3 + [1_050_000] * 2)).verdict is Verdict.INCONCLUSIVE


def test_a_single_run_of_a_side_decides_nothing() -> None:
    for sides in (([USUAL], [USUAL * 2]), ([USUAL, USUAL], []), ([USUAL, USUAL], [USUAL * 2])):
        assert row_of(counted(*sides)).verdict is Verdict.INCONCLUSIVE


def test_unchanged_instructions_are_told_and_leave_the_gate_undecided() -> None:
    conclusion = concluded(counted([USUAL] * 2, [1_000_100] * 2))
    assert conclusion.verdict is Verdict.INCONCLUSIVE
    assert conclusion.reasons[1:] == (
        "instructions of noisy: CPU work in user space unchanged (+0.01%); time undecided",
    )


def test_more_instructions_fail_the_gate_whose_time_is_undecided() -> None:
    conclusion = concluded(counted([USUAL] * 2, [1_031_000] * 2), QUIET)
    assert conclusion.verdict is Verdict.FAIL
    assert conclusion.reasons == ("instructions of noisy: +3.10% instructions in user space, 2.0% or more",)


def test_instructions_that_disagree_leave_no_gate_open_whose_time_is_decided() -> None:
    assert concluded(counted([USUAL] * 2, [USUAL, 1_030_000], QUIET)).verdict is Verdict.PASS


def test_a_waiver_of_instructions_holds_up_to_its_ceiling() -> None:
    waiver = Waiver(
        benchmark="noisy",
        metric="instructions",
        ceiling="31000",
        reason="hashes",
        link="https://example.org",
        expires=TODAY,
    )
    cell = counted([USUAL] * 2, [1_031_000] * 2)
    assert concluded(cell, waivers=[waiver]).verdict is Verdict.INCONCLUSIVE
    assert concluded(cell, waivers=[replace(waiver, ceiling="30999")]).verdict is Verdict.FAIL


def test_where_instructions_are_an_exact_metric_they_have_one_row() -> None:
    policy = Policy(metrics=("total_time",), exact=("instructions",))
    rows = decide_rows([counted([USUAL] * 2, [USUAL] * 2)], policy).rows
    assert [row.kind for row in rows if row.metric == "instructions"] == [RowKind.EXACT]
    assert not gates_time(policy)


def test_only_benchmarks_with_an_undecided_time_are_counted() -> None:
    memory = paired([1.0 + number * 1e-9 for number in range(40)], ratios(0.02, 0.2), name="memory")
    rows = decide_rows([NOISY, QUIET, memory], Policy(metrics=("total_time", "peak_memory"))).rows
    assert any(row.metric == "peak_memory" and row.verdict is Verdict.INCONCLUSIVE for row in rows)
    assert undecided_in_time(rows) == {"noisy"}


@pytest.mark.parametrize(("metrics", "expected"), [(("peak_memory",), False), (("peak_memory", "cpu_time"), True)])
def test_a_gate_without_times_needs_no_instructions(metrics: tuple[str, ...], *, expected: bool) -> None:
    assert gates_time(Policy(metrics=metrics)) is expected
