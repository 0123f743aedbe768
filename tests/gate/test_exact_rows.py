"""Rows of counts: what differs without any statistics, and how it is told."""

import pytest

from s3bench.gate.evidence import ClientCellEvidence, Inspection
from s3bench.gate.exact_metric import DEFAULT_EXACT
from s3bench.gate.multiple_testing import decide_rows
from s3bench.gate.policy import Policy
from s3bench.gate.row import GateRow, RowKind, Verdict
from tests.gate.evidence_maker import (
    inspected,
    of_pairs,
    only,
    paired,
    ratios,
    run,
    wired,
)


def exact_row(cell: ClientCellEvidence, name: str) -> GateRow:
    return only(decide_rows([cell], Policy(metrics=(), exact=(name,))), name, RowKind.EXACT)


@pytest.mark.parametrize(
    ("count", "runs", "verdict", "reason"),
    [
        (2, 10, Verdict.PASS, "no difference"),
        (3, 10, Verdict.FAIL, "1 more: PUT (2 -> 3)"),
        (1, 10, Verdict.PASS, "1 fewer: PUT (2 -> 1)"),
        (3, 9, Verdict.INCONCLUSIVE, "differs in 9 runs (PUT (2 -> 3)); confirming it takes 10"),
        (1, 9, Verdict.INCONCLUSIVE, "differs in 9 runs (PUT (2 -> 1)); confirming it takes 10"),
    ],
)
def test_counts_are_judged_exactly(count: int, runs: int, verdict: Verdict, reason: str) -> None:
    row = exact_row(of_pairs([(wired(PUT=2), wired(PUT=count))] * runs), "requests")
    assert (row.verdict, row.reason, row.pairs) == (verdict, reason, runs)


def test_a_count_that_varies_by_itself_passes() -> None:
    cell = of_pairs([(wired(PUT=2 + number % 2), wired(PUT=3 + number % 2)) for number in range(10)])
    assert exact_row(cell, "requests").reason == "no difference"


def test_more_of_one_name_fails_though_there_is_less_of_another() -> None:
    row = exact_row(of_pairs([(wired(GET=4, HEAD=1), wired(GET=1, HEAD=2))] * 10), "requests")
    assert (row.verdict, row.reason) == (Verdict.FAIL, "1 more: HEAD (1 -> 2)")
    assert [change.name for change in row.changes] == ["GET", "HEAD"]


def test_of_many_names_five_are_reported_and_the_rest_counted() -> None:
    more = Inspection(modules=tuple("abcdefg"))
    row = exact_row(inspected([Inspection(modules=())] * 10, [more] * 10), "modules")
    assert row.reason.startswith("7 more: a (0 -> 1), b (0 -> 1), ")
    assert row.reason.endswith("e (0 -> 1) and 2 others")


def test_a_count_that_varies_is_reported_with_its_ends() -> None:
    cell = of_pairs([(wired(PUT=1 + number % 2), wired(PUT=5 + number % 3)) for number in range(10)])
    assert exact_row(cell, "requests").reason == "1 more: PUT (1 to 2 -> 5 to 7)"


def test_a_count_observed_on_one_side_alone_is_inconclusive() -> None:
    row = exact_row(of_pairs([(wired(PUT=2), run())] * 10), "requests")
    assert (row.verdict, row.reason) == (Verdict.INCONCLUSIVE, "not observed in the candidate")
    row = exact_row(inspected([], [Inspection(instructions=5)]), "instructions")
    assert (row.verdict, row.reason) == (Verdict.INCONCLUSIVE, "not observed in the baseline")


def test_a_count_that_nobody_observed_has_no_row() -> None:
    assert decide_rows([paired(ratios(0.0, 0.01))], Policy(metrics=(), exact=DEFAULT_EXACT)).rows == ()


def test_minor_faults_differ_beyond_two_percent() -> None:
    def cell(count: int) -> ClientCellEvidence:
        return of_pairs([(run(minor_faults=1000), run(minor_faults=count))] * 10)

    assert exact_row(cell(1020), "minor_faults").verdict is Verdict.PASS
    assert exact_row(cell(1021), "minor_faults").verdict is Verdict.FAIL
