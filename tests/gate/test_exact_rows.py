"""Rows of counts: what differs without any statistics, and how it is told."""

import pytest

from s3bench.gate.evidence import ClientCellEvidence, Inspection, LoadCellEvidence
from s3bench.gate.exact_metric import DEFAULT_EXACT
from s3bench.gate.exact_rows import exact_rows
from s3bench.gate.indifference_zone import IndifferenceZone
from s3bench.gate.multiple_testing import decide_rows
from s3bench.gate.policy import Policy
from s3bench.gate.row import GateRow, RowKind, Verdict
from s3bench.results.load import Failures, LoadMeasurement
from tests.gate.evidence_maker import inspected, of_pairs, only, paired, ratios, run, wired
from tests.report.loads import load, loop


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


SEEN = Inspection(modules=("os",))
NOT_MEASURED = ClientCellEvidence(name="x")


@pytest.mark.parametrize(
    ("cell", "exact", "rows"),
    [
        (NOT_MEASURED, ("requests",), [("requests", "not measured")]),
        (NOT_MEASURED, DEFAULT_EXACT, [("requests", "not measured")]),
        (NOT_MEASURED, ("modules",), [("modules", "not measured")]),
        (
            ClientCellEvidence(name="x", baseline_inspections=(SEEN,), candidate_inspections=(SEEN,)),
            ("modules", "requests", "bytes"),
            [("modules", "no difference"), ("requests", "not measured")],
        ),
        (ClientCellEvidence(name="x", baseline=(run(),)), ("requests",), [("requests", "not measured")]),
        (
            ClientCellEvidence(name="x", baseline=(wired(PUT=2),)),
            ("requests", "failed_operations"),
            [("requests", "not observed in the candidate")],
        ),
    ],
)
def test_what_was_not_measured_is_no_pass_where_counts_alone_decide(
    cell: ClientCellEvidence, exact: tuple[str, ...], rows: list[tuple[str, str]]
) -> None:
    found = list(exact_rows(cell, Policy(metrics=(), exact=exact)))
    assert [(row.metric, row.reason) for row in found] == rows
    assert found[-1].verdict is Verdict.INCONCLUSIVE


def test_beside_metrics_that_are_judged_by_size_their_rows_say_what_was_not_measured() -> None:
    rows = decide_rows([NOT_MEASURED], Policy(metrics=("total_time",), exact=("requests",))).rows
    assert [(row.metric, row.verdict) for row in rows] == [("total_time", Verdict.INCONCLUSIVE)]


MIB = 1024 * 1024


def faulting(count: int, *, memory: int = 10 * MIB) -> ClientCellEvidence:
    """Ten pairs with so many faults of the candidate, the baseline's being 10,000 and both using as much memory."""
    return of_pairs(
        [
            (run(minor_faults=10_000, peak_memory=memory), run(minor_faults=count + number, peak_memory=memory))
            for number in range(10)
        ]
    )


@pytest.mark.parametrize(
    ("count", "verdict", "reason"),
    [
        (10_050, Verdict.PASS, "no difference"),
        (10_101, Verdict.SMALL, "1 more: minor faults (10000 -> 10101 to 10110): real, and below 3.0%"),
        (10_290, Verdict.SMALL, "1 more: minor faults (10000 -> 10290 to 10299): real, and below 3.0%"),
        (10_301, Verdict.FAIL, "1 more: minor faults (10000 -> 10301 to 10310)"),
    ],
)
def test_minor_faults_have_the_limits_of_peak_memory(count: int, verdict: Verdict, reason: str) -> None:
    row = exact_row(faulting(count), "minor_faults")
    assert (row.verdict, row.reason) == (verdict, reason)
    assert (row.d0, row.d1) == (pytest.approx(0.01), pytest.approx(0.03))


@pytest.mark.parametrize(("more", "verdict"), [(63, Verdict.PASS), (70, Verdict.SMALL), (193, Verdict.FAIL)])
def test_a_short_program_may_have_64_more_faults_as_it_may_have_256_kib_more_memory(
    more: int, verdict: Verdict
) -> None:
    cell = of_pairs([(run(minor_faults=500, peak_memory=MIB), run(minor_faults=500 + more, peak_memory=MIB))] * 10)
    assert exact_row(cell, "minor_faults").verdict is verdict


def test_memory_that_is_small_does_not_fail_by_its_faults() -> None:
    memory = 80 * MIB  # 20,480 pages, most of them mapped around a fault
    cell = of_pairs(
        [
            (
                run(minor_faults=8_000, peak_memory=memory + number),
                run(minor_faults=8_400, peak_memory=round(memory * 1.02) + number),
            )
            for number in range(40)
        ]
    )
    rows = decide_rows([cell], Policy(metrics=("peak_memory",), exact=("minor_faults",))).rows
    assert [(row.metric, row.verdict) for row in rows] == [
        ("peak_memory", Verdict.SMALL),
        ("minor_faults", Verdict.SMALL),
    ]


def test_a_declared_zone_of_memory_is_that_of_faults_too() -> None:
    zone = IndifferenceZone(d0=0.05, d1=0.10, floor=0.0)
    policy = Policy(metrics=(), exact=("minor_faults",), zones={"peak_memory": zone})
    row = only(decide_rows([faulting(10_400)], policy), "minor_faults", RowKind.EXACT)
    assert row.verdict is Verdict.PASS


def test_operations_that_failed_in_every_loop_fail_a_load() -> None:
    """In a million, so that a quicker endpoint may fail more often in the same time."""
    slow_down = Failures(label="503 SlowDown", count=30, retried=10, time_lost=0.0, body_bytes=0)
    quiet = [loop(load("get", operations=1000, failed=0)) for _ in range(10)]
    failing = [loop(load("get", operations=980, failed=20, failures=(slow_down,))) for _ in range(10)]
    policy = Policy(metrics=(), exact=("failed_operations",))

    def row_of(baseline: list[LoadMeasurement], candidate: list[LoadMeasurement]) -> GateRow:
        cell = LoadCellEvidence(name="get", baseline=tuple(baseline), candidate=tuple(candidate))
        (row,) = exact_rows(cell, policy)
        return row

    row = row_of(quiet, failing)
    assert (row.verdict, row.reason) == (Verdict.FAIL, "1 more: 503 SlowDown per million operations (0 -> 20000)")
    assert row_of(quiet, quiet).verdict is Verdict.PASS
    assert row_of(failing, quiet).verdict is Verdict.PASS
    assert row_of(quiet[:3], failing[:3]).verdict is Verdict.INCONCLUSIVE
