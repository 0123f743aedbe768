"""Rows of a gate: each verdict in each way it can come about, and who gets more pairs."""

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from s3bench.gate.detectable import with_detectable
from s3bench.gate.evidence import ClientCellEvidence, LoadCellEvidence, Role
from s3bench.gate.exact_metric import DEFAULT_EXACT
from s3bench.gate.indifference_zone import IndifferenceZone
from s3bench.gate.looks import Looks, Spending
from s3bench.gate.multiple_testing import PairNeeds, RowDecisions, decide_rows
from s3bench.gate.policy import Policy
from s3bench.gate.row import GateRow, RowKind, Verdict
from s3bench.results.measurement import Measurement
from tests.gate.evidence_maker import of_pairs, only, paired, ratios, run, unpaired
from tests.gate.simulated_gate import SizePolicy
from tests.report.loads import load, loop

TIME_ALONE = Policy(metrics=("total_time",))
ONE_LOOK = Looks(pairs=(40,))
SHARPER = Policy(metrics=("total_time",), false_alarm=0.05)


def test_a_large_slowdown_fails_at_the_first_look() -> None:
    row = only(decide_rows([paired(ratios(0.10, 0.01, 10))], TIME_ALONE))
    assert (row.verdict, row.pairs) == (Verdict.FAIL, 10)
    assert row.at_least is not None
    assert row.at_least > 0.02
    assert row.reason.startswith("at least +")


def test_no_change_on_a_quiet_machine_passes_at_the_first_look() -> None:
    row = only(decide_rows([paired(ratios(0.0, 0.01, 10))], TIME_ALONE))
    assert (row.verdict, row.pairs) == (Verdict.PASS, 10)
    assert row.reason.startswith("at most +")


def test_an_improvement_passes() -> None:
    assert only(decide_rows([paired(ratios(-0.3, 0.05, 10))], TIME_ALONE)).verdict is Verdict.PASS


def test_a_change_within_the_zone_that_is_sure_is_small() -> None:
    row = only(decide_rows([paired(ratios(0.04, 0.005, 10))], TIME_ALONE))
    assert row.verdict is Verdict.SMALL
    assert "real, and below 6.0%" in row.reason


def test_a_change_that_cannot_be_reported_is_inconclusive() -> None:
    row = only(decide_rows([paired(ratios(0.04, 0.10))], TIME_ALONE))
    assert (row.verdict, row.is_capped) == (Verdict.INCONCLUSIVE, True)
    assert "not certainly above 2.0% nor certainly below 6.0%" in row.reason
    assert "next look" not in row.reason


def test_pairs_that_are_all_equal_pass() -> None:
    assert only(decide_rows([paired([1.0] * 10)], TIME_ALONE)).verdict is Verdict.PASS


@pytest.mark.parametrize("worsening", [-0.3, 0.0, 0.5])
def test_fewer_pairs_than_the_first_look_takes_decide_nothing(worsening: float) -> None:
    row = only(decide_rows([paired(ratios(worsening, 0.001, 9))], TIME_ALONE))
    assert row.verdict is Verdict.INCONCLUSIVE
    assert row.reason == "9 pairs; the first look needs 10"


def test_pairs_are_judged_at_looks_and_never_between() -> None:
    early = decide_rows([paired(ratios(0.04, 0.05, 20))], TIME_ALONE)
    between = decide_rows([paired((*ratios(0.04, 0.05, 20), *ratios(0.5, 0.001, 18)))], TIME_ALONE)
    assert only(early).verdict is only(between).verdict is Verdict.INCONCLUSIVE
    assert only(between).at_least == only(early).at_least
    assert only(between).reason.endswith("; 38 pairs, the next look needs 40")


@pytest.mark.parametrize("verdict", [Verdict.PASS, Verdict.FAIL])
def test_what_a_look_has_decided_later_pairs_do_not_change(verdict: Verdict) -> None:
    first, later = (0.0, 0.5) if verdict is Verdict.PASS else (0.5, 0.0)
    row = only(decide_rows([paired((*ratios(first, 0.01, 10), *ratios(later, 0.01, 30)))], TIME_ALONE))
    assert (row.verdict, row.pairs) == (verdict, 10)


@pytest.mark.parametrize(("first", "verdict"), [(0.05, Verdict.FAIL), (0.03, Verdict.PASS)])
def test_what_is_near_the_other_limit_goes_on_and_becomes_small(first: float, verdict: Verdict) -> None:
    early = decide_rows([paired(ratios(first, 0.016, 10))], SHARPER)
    assert (only(early).verdict, len(early.needs.undecided)) == (verdict, 1)
    late = decide_rows([paired((*ratios(first, 0.016, 10), *ratios(0.04, 0.005, 10)))], SHARPER)
    assert (only(late).verdict, only(late).pairs, late.needs.undecided) == (Verdict.SMALL, 20, frozenset())


@pytest.mark.parametrize(("worsening", "verdict"), [(0.09, Verdict.FAIL), (0.0, Verdict.PASS), (0.04, Verdict.SMALL)])
def test_what_is_decided_and_far_from_the_other_limit_asks_for_no_pairs(worsening: float, verdict: Verdict) -> None:
    decisions = decide_rows([paired(ratios(worsening, 0.005, 10))], TIME_ALONE)
    assert (only(decisions).verdict, decisions.needs.undecided) == (verdict, frozenset())


def test_the_narrowest_bounds_of_all_looks_are_kept() -> None:
    quiet, wild = ratios(0.04, 0.02, 10), ratios(0.04, 0.4, 10)
    early, late = (only(decide_rows([paired(times)], TIME_ALONE)) for times in (quiet, (*quiet, *wild)))
    assert (early.pairs, late.pairs) == (10, 20)
    assert (late.at_least, late.at_most) == (early.at_least, early.at_most)


def test_the_zone_is_that_of_the_first_look() -> None:
    short = [(run(0.01), run(0.01 * ratio)) for ratio in ratios(0.1, 0.5, 10)]
    long = [(run(1.0), run(ratio)) for ratio in ratios(0.1, 0.5, 30)]
    for pairs, d0 in (((*short, *long), 0.05), ((*long, *short), 0.02)):
        row = only(decide_rows([of_pairs(pairs)], TIME_ALONE))
        assert row.pairs == 40
        assert row.d0 == pytest.approx(d0)


def test_no_cells_give_no_rows() -> None:
    assert decide_rows([], Policy(exact=DEFAULT_EXACT)) == RowDecisions(rows=(), needs=PairNeeds(undecided=frozenset()))


@pytest.mark.parametrize(
    ("baseline", "candidate", "reason"),
    [
        ([], [1.0] * 10, "no figures of the baseline"),
        ([1.0] * 10, [], "no figures of the candidate"),
        ([], [], "no figures of the baseline and the candidate"),
    ],
)
def test_a_side_that_is_missing_is_inconclusive(baseline: list[float], candidate: list[float], reason: str) -> None:
    row = only(decide_rows([unpaired(baseline, candidate)], TIME_ALONE))
    assert (row.verdict, row.reason, row.pairs) == (Verdict.INCONCLUSIVE, reason, 0)


def test_a_metric_that_was_not_measured_is_inconclusive() -> None:
    cell = of_pairs([(run(peak_memory=None), run(peak_memory=None))] * 40)
    row = only(decide_rows([cell], Policy()), "peak_memory")
    assert (row.verdict, row.reason, row.pairs) == (Verdict.INCONCLUSIVE, "no peak_memory in any run", 0)


def test_figures_missing_in_most_pairs_leave_too_few() -> None:
    cell = of_pairs([(run(), run(peak_memory=10**8 if number < 4 else None)) for number in range(40)])
    row = only(decide_rows([cell], Policy()), "peak_memory")
    assert (row.verdict, row.reason) == (Verdict.INCONCLUSIVE, "90% of the pairs have no peak_memory above 0")


@pytest.mark.parametrize("count", [10, 40])
def test_a_metric_that_more_than_one_pair_in_twenty_lacks_is_inconclusive(count: int) -> None:
    lacking = count // 20 + 1
    cell = of_pairs([(run(), run(peak_memory=None if number < lacking else 10**8)) for number in range(count)])
    assert only(decide_rows([cell], Policy()), "peak_memory").verdict is Verdict.INCONCLUSIVE


def test_a_single_pair_in_twenty_without_a_figure_is_left_out_and_reported() -> None:
    quiet = [run(peak_memory=round(10**8 * each)) for each in ratios(0.0, 0.001)]
    cell = of_pairs([(run(), each) for each in [run(peak_memory=None), *quiet[:39]]])
    row = only(decide_rows([cell], Policy()), "peak_memory")
    assert (row.verdict, row.pairs) == (Verdict.PASS, 19)
    assert "5% of the pairs have no figure above 0 and are left out" in row.warnings


def test_runs_of_a_document_in_which_nothing_succeeded_are_not_left_out_quietly() -> None:
    loops = [loop(load("get")) for _ in range(15)]
    stalled = [loop(load("get", operations=0)) for _ in range(4)]
    policy = Policy(metrics=("load.operations_rate",), exact=())
    for candidate, verdict in ((loops, Verdict.PASS), (loops[:11] + stalled, Verdict.INCONCLUSIVE)):
        cell = LoadCellEvidence(name="get", baseline=tuple(loops), candidate=tuple(candidate))
        row = only(decide_rows([cell], policy), "load.operations_rate")
        assert row.verdict is verdict
    assert row.reason == "27% of the runs of a side have no load.operations_rate above 0"


@pytest.mark.parametrize(
    ("worsening", "verdict"), [(0.0, Verdict.PASS), (0.04, Verdict.SMALL), (0.2, Verdict.FAIL), (-0.2, Verdict.PASS)]
)
def test_runs_that_were_not_paired_are_judged_all_at_once(worsening: float, verdict: Verdict) -> None:
    baseline, candidate = ratios(0.0, 0.005, 15), ratios(worsening, 0.005, 12)
    row = only(decide_rows([unpaired(baseline, candidate)], TIME_ALONE))
    assert (row.verdict, row.pairs, row.level, row.sigma) == (verdict, 12, 0.01, None)


def test_few_runs_that_were_not_paired_are_inconclusive() -> None:
    for few, many in (([1.0, 1.1], [2.0, 2.1]), (ratios(0.0, 0.01, 9), ratios(0.5, 0.01, 30))):
        row = only(decide_rows([unpaired(few, many)], TIME_ALONE))
        assert (row.verdict, row.at_least, row.at_most) == (Verdict.INCONCLUSIVE, None, None)
        assert row.reason == f"{len(few)} runs of each side; a verdict needs 10"


def test_a_slowdown_below_the_floor_passes_however_large_it_is_relatively() -> None:
    milliseconds = paired(ratios(0.15, 0.01, 10), baseline_s=0.002)
    row = only(decide_rows([milliseconds], TIME_ALONE))
    assert row.verdict is Verdict.PASS
    assert (row.d0, row.d1) == (pytest.approx(0.25), pytest.approx(0.75))
    no_floor = replace(TIME_ALONE, zones={"total_time": IndifferenceZone(d0=0.02, d1=0.06, floor=0.0)})
    assert only(decide_rows([milliseconds], no_floor)).verdict is Verdict.FAIL


def test_a_change_of_a_short_program_can_be_small() -> None:
    row = only(decide_rows([paired(ratios(0.045, 0.002, 40), baseline_s=0.024)], TIME_ALONE))
    assert row.verdict is Verdict.SMALL
    assert (row.d0, row.d1) == (pytest.approx(0.0005 / 0.024), pytest.approx(0.0015 / 0.024))


def test_memory_has_its_own_zone_and_floor() -> None:
    large = paired([1.0] * 10, ratios(0.05, 0.001, 10))
    assert only(decide_rows([large], Policy(metrics=("peak_memory",))), "peak_memory").verdict is Verdict.FAIL
    small = of_pairs([(run(peak_memory=2**20), run(peak_memory=2**20 * 6 // 5 + number)) for number in range(10)])
    assert only(decide_rows([small], Policy(metrics=("peak_memory",))), "peak_memory").verdict is Verdict.PASS


@pytest.mark.parametrize(("ratio", "verdict"), [(0.8, Verdict.FAIL), (1.25, Verdict.PASS)])
def test_throughput_is_worse_when_it_falls(ratio: float, verdict: Verdict) -> None:
    cell = of_pairs([(run(throughput=1e6), run(throughput=1e6 * ratio + number)) for number in range(10)])
    row = only(decide_rows([cell], Policy(metrics=("throughput",))), "throughput")
    assert row.verdict is verdict
    assert row.change == pytest.approx(ratio - 1, abs=1e-4)
    assert row.low is not None
    assert row.high is not None
    assert row.change is not None
    assert row.low < row.change < row.high


def test_the_plain_interval_is_the_exact_one_of_95_percent() -> None:
    row = only(decide_rows([paired(ratios(0.0, 0.05))], replace(TIME_ALONE, looks=ONE_LOOK, miss=0.025)))
    assert row.high == row.at_most  # which has half of 5 % too
    assert row.low is not None
    assert row.change is not None
    assert row.high is not None
    assert row.low < row.change < row.high


def test_a_row_that_fails_alone_does_not_among_many() -> None:
    bad = paired(ratios(0.10, 0.01, 10), name="bad")
    quiet = [paired(ratios(0.0, 0.01, 10), name=f"quiet-{number}") for number in range(9)]
    assert only(decide_rows([bad], TIME_ALONE)).verdict is Verdict.FAIL
    rows = decide_rows([bad, *quiet], TIME_ALONE).rows
    assert [row.verdict for row in rows if row.benchmark == "bad"] == [Verdict.INCONCLUSIVE]


def test_a_second_rejection_is_easier_than_the_first() -> None:
    worse, bad, quiet = (
        paired(ratios(worsening, 0.05), name=name)
        for name, worsening in (("worse", 0.2), ("bad", 0.05), ("quiet", 0.0))
    )
    p = only(decide_rows([bad], replace(TIME_ALONE, looks=ONE_LOOK))).p
    assert p is not None
    assert 0 < p < 0.01
    # Four tests, creep being one: `bad` alone has to reach a quarter of the level, and half after `worse` and creep.
    policy = replace(
        TIME_ALONE, looks=ONE_LOOK, false_alarm=3.5 * p, zones={"total_time": IndifferenceZone(d0=0.02, d1=9, floor=0)}
    )
    after = {row.benchmark: row for row in decide_rows([worse, bad, quiet], policy).rows if row.kind is RowKind.SIZE}
    alone = {row.benchmark: row for row in decide_rows([quiet, bad, quiet], policy).rows if row.kind is RowKind.SIZE}
    assert (after["worse"].level, after["bad"].level) == (policy.false_alarm / 4, policy.false_alarm / 2)
    assert after["bad"].verdict is Verdict.SMALL
    assert alone["bad"].verdict is Verdict.PASS  # not rejected, and d1 is far away here


def test_what_was_rejected_at_an_earlier_look_is_out_of_the_count() -> None:
    bad, open_one = paired(ratios(0.5, 0.01, 10), name="bad"), paired(ratios(0.04, 0.2, 40), name="open")
    policy = replace(TIME_ALONE, false_alarm=0.05)
    rows = {row.benchmark: row for row in decide_rows([bad, open_one], policy).rows if row.kind is RowKind.SIZE}
    assert rows["bad"].verdict is Verdict.FAIL
    assert rows["bad"].level == 0.05 / 3  # three tests with creep, at the first look
    assert rows["open"].level == 0.05  # the mean was above with `bad`, which leaves one test


def test_what_an_early_look_saw_counts_when_others_are_rejected_later() -> None:
    short, long = paired(ratios(0.1, 0.01, 10), name="short"), paired(ratios(0.5, 0.3, 40), name="long")
    policy = replace(TIME_ALONE, looks=Looks(spending=Spending.BY_PAIRS))
    alone = {row.benchmark: row for row in decide_rows([short, paired(ratios(0.0, 0.01), name="quiet")], policy).rows}
    rows = {row.benchmark: row for row in decide_rows([short, long], policy).rows if row.kind is RowKind.SIZE}
    assert alone["short"].verdict is Verdict.INCONCLUSIVE
    assert (alone["short"].p, alone["short"].level) == (0.5**10 / 0.25, 0.01 / 3)
    assert (rows["short"].verdict, rows["short"].pairs) == (Verdict.FAIL, 10)
    assert (rows["short"].p, rows["short"].level) == (0.5**10 / 0.25, 0.01 / 2)


def test_a_suite_that_is_slower_all_over_fails_though_no_benchmark_does() -> None:
    cells = [paired(ratios(0.035, 0.03, 20, turn=number), name=f"b{number}") for number in range(4)]
    decisions = decide_rows(cells, TIME_ALONE)
    creep = only(decisions, kind=RowKind.CREEP)
    assert (creep.verdict, creep.benchmark) == (Verdict.FAIL, "")
    assert creep.d0 == pytest.approx(0.01)
    assert creep.d1 == pytest.approx(0.03)
    assert Verdict.FAIL not in {row.verdict for row in decisions.rows if row.kind is RowKind.SIZE}


@pytest.mark.parametrize("count", [0, 1])
def test_creep_takes_two_benchmarks(count: int) -> None:
    decisions = decide_rows([paired(ratios(0.0, 0.01), name=f"b{number}") for number in range(count)], TIME_ALONE)
    assert RowKind.CREEP not in {row.kind for row in decisions.rows}


def test_creep_takes_pairs_of_every_benchmark() -> None:
    cells = [paired(ratios(0.0, 0.01), name="a"), paired(ratios(0.0, 0.01), name="b"), unpaired([1.0], [1.0])]
    assert RowKind.CREEP not in {row.kind for row in decide_rows(cells, TIME_ALONE).rows}


def test_creep_asks_for_pairs_of_all_while_it_shows() -> None:
    slower = [paired(ratios(0.035, 0.01, 10), name=f"b{number}") for number in range(4)]
    decisions = decide_rows(slower, TIME_ALONE)
    assert only(decisions, kind=RowKind.CREEP).verdict is Verdict.INCONCLUSIVE
    assert {row.verdict for row in decisions.rows if row.kind is RowKind.SIZE} == {Verdict.PASS}
    assert decisions.needs.undecided == {cell.identity for cell in slower}


def test_creep_that_fails_and_may_be_small_asks_for_pairs() -> None:
    policy = replace(TIME_ALONE, false_alarm=0.5, miss=0.001)
    short = [paired(ratios(0.019, 0.014, 20), name=f"b{number}") for number in range(4)]
    decisions = decide_rows(short, policy)
    assert {row.verdict for row in decisions.rows if row.kind is RowKind.SIZE} == {Verdict.PASS}
    assert only(decisions, kind=RowKind.CREEP).verdict is Verdict.FAIL
    assert decisions.needs.undecided == {cell.identity for cell in short}
    long = [paired((*ratios(0.019, 0.014, 20), *ratios(0.019, 0.002, 20)), name=f"b{number}") for number in range(4)]
    assert only(decide_rows(long, policy), kind=RowKind.CREEP).verdict is Verdict.SMALL


def test_creep_that_does_not_show_asks_for_no_pairs() -> None:
    # All slow in the same pairs: the mean varies as much as each, and its zone is half as wide.
    cells = [paired(ratios(0.0, 0.05, 10), name=f"b{number}") for number in range(4)]
    decisions = decide_rows(cells, TIME_ALONE)
    assert only(decisions, kind=RowKind.CREEP).verdict is Verdict.INCONCLUSIVE
    assert decisions.needs.undecided == frozenset()


def test_the_undecided_with_pairs_left_are_named() -> None:
    cells = [
        paired(ratios(0.0, 0.01, 10), name="quiet"),
        paired(ratios(0.0, 0.2, 20), name="noisy"),
        paired(ratios(0.04, 0.2, 40), name="capped"),
        paired((), name="untouched"),
        paired(ratios(0.0, 0.2, 10), name="noisy", role=Role.NEGATIVE_CONTROL),
    ]
    undecided = decide_rows(cells, TIME_ALONE).needs.undecided
    assert undecided == {cells[1].identity, cells[3].identity, cells[4].identity}


def test_a_cell_with_one_metric_undecided_is_undecided() -> None:
    cell = paired(ratios(0.0, 0.2, 10), ratios(0.0, 0.001, 10))
    decisions = decide_rows([cell], Policy())
    assert only(decisions, "peak_memory").verdict is Verdict.PASS
    assert decisions.needs.undecided == {cell.identity}


@pytest.mark.parametrize(("pairs", "wants_more"), [(0, True), (1, True), (2, False)])
def test_what_is_counted_in_pairs_takes_two_of_them_by_itself(pairs: int, *, wants_more: bool) -> None:
    cell = paired(ratios(0.0, 0.5, pairs))
    assert bool(decide_rows([cell], Policy(metrics=(), exact=("requests",))).needs.undecided) is wants_more


def test_a_gate_that_the_clock_ended_judges_all_pairs_that_are_there() -> None:
    cell = paired((*ratios(0.0, 0.09, 10), *ratios(0.0, 0.001, 8)))
    assert only(decide_rows([cell], TIME_ALONE)).verdict is Verdict.INCONCLUSIVE
    row = only(decide_rows([cell], TIME_ALONE, is_over=True))
    assert (row.verdict, row.pairs) == (Verdict.PASS, 18)


def test_the_last_look_spends_what_the_looks_before_it_left() -> None:
    cell = paired((*ratios(0.04, 0.1, 10), *ratios(0.3, 0.01, 8)))
    policy = replace(TIME_ALONE, looks=Looks(spending=Spending.BY_PAIRS))
    p = only(decide_rows([cell], replace(policy, looks=Looks(pairs=(18,))))).p
    assert only(decide_rows([cell], policy, is_over=True)).p == pytest.approx((p or 0) / 0.75)


@pytest.mark.parametrize("pairs", [8, 10, 20, 40])
def test_without_pairs_since_the_last_look_or_before_the_first_there_is_nothing_to_judge(pairs: int) -> None:
    cell = paired(ratios(0.04, 0.1, pairs))
    assert decide_rows([cell], TIME_ALONE, is_over=True) == decide_rows([cell], TIME_ALONE)


def test_a_test_that_was_settled_has_no_last_look() -> None:
    cell = paired((*ratios(0.0, 0.01, 10), *ratios(0.5, 0.01, 8)))
    row = only(decide_rows([cell], TIME_ALONE, is_over=True))
    assert (row.verdict, row.pairs) == (Verdict.PASS, 10)


def test_an_open_test_tells_whether_it_is_a_suspect_and_when_it_is_expected_to_be_decided() -> None:
    (unchanged,) = decide_rows([paired(ratios(0.0, 0.1, 10))], TIME_ALONE).needs.open_tests
    (worse,) = decide_rows([paired(ratios(0.08, 0.1, 10))], TIME_ALONE).needs.open_tests
    (between,) = decide_rows([paired(ratios(0.04, 0.2, 10))], TIME_ALONE).needs.open_tests
    assert (unchanged.is_suspect, worse.is_suspect, between.is_suspect) == (False, True, True)
    assert 10 < unchanged.pairs_expected < 40
    assert 10 < worse.pairs_expected < 40
    assert between.pairs_expected > 40


def test_what_is_counted_under_observation_alone_takes_no_pairs() -> None:
    assert not decide_rows([paired([])], Policy(metrics=(), exact=("instructions", "modules"))).needs.undecided


def test_controls_are_judged_for_themselves_and_cost_the_benchmarks_nothing() -> None:
    benchmark = paired(ratios(0.03, 0.05))
    negative = paired(ratios(0.0, 0.01), role=Role.NEGATIVE_CONTROL)
    positive = paired(ratios(0.2, 0.01), role=Role.POSITIVE_CONTROL)
    policy = Policy(exact=DEFAULT_EXACT)
    rows = decide_rows([benchmark, negative, positive], policy).rows
    assert [row for row in rows if row.role is Role.BENCHMARK] == list(decide_rows([benchmark], policy).rows)
    controls = {(row.role, row.metric): row.verdict for row in rows if row.role is not Role.BENCHMARK}
    assert controls == {
        (Role.NEGATIVE_CONTROL, "total_time"): Verdict.PASS,
        (Role.NEGATIVE_CONTROL, "peak_memory"): Verdict.PASS,
        (Role.POSITIVE_CONTROL, "total_time"): Verdict.FAIL,
    }


def control_rows(worsening: float, pairs: int) -> tuple[list[GateRow], RowDecisions]:
    cell = paired(ratios(worsening, 0.01, pairs), name="control", role=Role.NEGATIVE_CONTROL)
    decisions = decide_rows([cell], Policy(alarm_weights={}))
    return [row for row in decisions.rows if row.metric == "total_time"], decisions


def test_a_control_whose_other_side_is_faster_shows_that_in_a_row_of_its_own() -> None:
    (plain, mirrored), _ = control_rows(-0.1, 20)
    assert (plain.verdict, mirrored.verdict) == (Verdict.PASS, Verdict.FAIL)
    assert mirrored.reason.startswith("at least +")
    assert mirrored.reason.endswith("% better, above 2.0%")
    assert mirrored.is_mirrored
    assert not plain.is_mirrored
    assert mirrored.better_by is not None
    assert plain.better_by is None
    assert 0.08 < mirrored.better_by < 0.1  # of the baseline, as is the change
    assert mirrored.change == pytest.approx(-0.1, abs=1e-3)
    assert mirrored.baseline == 1.0
    assert mirrored.candidate == pytest.approx(0.9, abs=1e-2)
    assert mirrored.low is not None
    assert mirrored.high is not None
    assert mirrored.low < -0.1 < mirrored.high


@pytest.mark.parametrize("worsening", [-0.1, 0.1])
def test_a_control_that_shows_a_difference_asks_for_pairs_until_it_is_sure(worsening: float) -> None:
    rows, decisions = control_rows(worsening, 10)  # too few to FAIL on, two metrics being held both ways
    assert Verdict.FAIL not in {row.verdict for row in rows}
    assert len(decisions.needs.undecided) == 1
    rows, decisions = control_rows(worsening, 20)
    assert Verdict.FAIL in {row.verdict for row in rows}
    assert decisions.needs.undecided == frozenset()


def test_a_sound_control_has_one_row_for_each_metric_and_wants_no_more_pairs() -> None:
    rows, decisions = control_rows(0.0, 10)
    assert [row.verdict for row in rows] == [Verdict.PASS]
    assert decisions.needs.undecided == frozenset()


@pytest.mark.parametrize("role", [Role.BENCHMARK, Role.POSITIVE_CONTROL])
def test_only_the_negative_control_is_held_both_ways(role: Role) -> None:
    rows = decide_rows([paired(ratios(-0.1, 0.01, 20), role=role)], TIME_ALONE).rows
    assert [row.verdict for row in rows] == [Verdict.PASS]


def test_what_the_pairs_look_like_is_reported() -> None:
    drifting = paired([math.exp(0.01 * number) for number in range(10)])
    modes = paired([1.0 + 0.2 * (number * 7 % 10 < 5) + number * 1e-4 for number in range(20)])
    stray = paired([*ratios(0.0, 0.001, 9), 3.0])
    reported = [only(decide_rows([cell], TIME_ALONE)).warnings for cell in (drifting, modes, stray)]
    assert any("drifts" in words for words in reported[0])
    assert any("two modes" in words for words in reported[1])
    assert reported[2] == ("1 of 10 pairs are outliers, which are included",)


CELLS = st.lists(
    st.sampled_from((10, 14, 20, 40)).flatmap(
        lambda count: st.tuples(
            st.sampled_from((-0.05, 0.0, 0.03, 0.08)),
            st.lists(st.floats(-0.1, 0.1), min_size=count, max_size=count),
        )
    ),
    min_size=1,
    max_size=3,
)
NO_FLOORS = SizePolicy(
    metrics=("total_time",),
    zones={"total_time": IndifferenceZone(d0=0.02, d1=0.06, floor=0.0)},
    false_alarm=0.1,
    miss=0.1,
)


def made(drawn: Sequence[tuple[float, Sequence[float]]]) -> list[ClientCellEvidence]:
    return [
        paired([math.exp(shift + value) for value in values], name=f"b{number}")
        for number, (shift, values) in enumerate(drawn)
    ]


def swapped(cell: ClientCellEvidence) -> ClientCellEvidence:
    return replace(cell, pairs=tuple(replace(p, baseline=p.candidate, candidate=p.baseline) for p in cell.pairs))


def scaled(cell: ClientCellEvidence, factor: float) -> ClientCellEvidence:
    def times(measurement: Measurement) -> Measurement:
        return replace(measurement, total_time=measurement.total_time * factor)

    pairs = (replace(p, baseline=times(p.baseline), candidate=times(p.candidate)) for p in cell.pairs)
    return replace(cell, pairs=tuple(pairs))


@given(CELLS)
def test_what_fails_does_not_fail_with_the_sides_swapped(drawn: list[tuple[float, list[float]]]) -> None:
    cells = made(drawn)
    forward = decide_rows(cells, NO_FLOORS).rows
    backward = decide_rows([swapped(cell) for cell in cells], NO_FLOORS).rows
    above = {Verdict.FAIL, Verdict.SMALL}
    assert not any(
        one.verdict in above and other.verdict in above for one, other in zip(forward, backward, strict=True)
    )


@given(CELLS, st.integers(-12, 12))
def test_a_faster_clock_changes_no_verdict(drawn: list[tuple[float, list[float]]], power: int) -> None:
    cells = made(drawn)
    plain = decide_rows(cells, NO_FLOORS)
    other = decide_rows([scaled(cell, 2.0**power) for cell in cells], NO_FLOORS)
    assert [(row.verdict, row.change) for row in plain.rows if row.kind is RowKind.SIZE] == [
        (row.verdict, row.change) for row in other.rows if row.kind is RowKind.SIZE
    ]
    assert [row.verdict for row in plain.rows] == [row.verdict for row in other.rows]
    assert plain.needs.undecided == other.needs.undecided


@given(CELLS)
def test_the_bounds_shown_say_the_same_as_the_verdict(drawn: list[tuple[float, list[float]]]) -> None:
    for row in decide_rows(made(drawn), NO_FLOORS).rows:
        assert row.d0 is not None
        assert row.d1 is not None
        is_above = row.at_least is not None and row.at_least > row.d0
        is_below = row.at_most is not None and row.at_most < row.d1
        expected = {
            (True, True): Verdict.SMALL,
            (True, False): Verdict.FAIL,
            (False, True): Verdict.PASS,
            (False, False): Verdict.INCONCLUSIVE,
        }[is_above, is_below]
        assert row.verdict is expected
        assert row.p is not None
        assert row.level is not None
        assert (row.p <= row.level) is is_above


MAY_BECOME = {
    Verdict.INCONCLUSIVE: set(Verdict) - {Verdict.INVALID},
    Verdict.PASS: {Verdict.PASS, Verdict.SMALL},
    Verdict.FAIL: {Verdict.FAIL, Verdict.SMALL},
    Verdict.SMALL: {Verdict.SMALL},
}
LONG_CELLS = st.lists(
    st.tuples(
        st.sampled_from((0.0, 0.03, 0.04, 0.05, 0.08)),
        st.sampled_from((0.1, 0.3, 1.0)).flatmap(
            lambda scale: st.lists(st.floats(-0.1 * scale, 0.1 * scale), min_size=40, max_size=40)
        ),
    ),
    min_size=1,
    max_size=3,
)


@given(LONG_CELLS, st.floats(-0.06, 0.06))
def test_what_is_shown_stays_shown_as_pairs_come_in(drawn: list[tuple[float, list[float]]], later: float) -> None:
    cells = made([(shift, [*values[:10], *(value + later for value in values[10:])]) for shift, values in drawn])
    reported: dict[tuple[str, RowKind], Verdict] = {}
    for pairs in (10, 14, 20, 40):
        rows = decide_rows([replace(cell, pairs=cell.pairs[:pairs]) for cell in cells], NO_FLOORS).rows
        for row in rows:
            assert row.verdict is not None
            assert row.verdict in MAY_BECOME[reported.get((row.benchmark, row.kind), Verdict.INCONCLUSIVE)]
            reported[row.benchmark, row.kind] = row.verdict


def test_rows_say_how_their_looks_shared_the_level_of_their_family() -> None:
    """By that level before Holm's procedure: a row that is tested last has the largest level, and the same shares."""
    policy = Policy(metrics=("total_time",), looks=Looks(spending=Spending.BY_USE))
    alone = decide_rows([paired(ratios(0.2, 0.02))], policy).rows[0]
    family = decide_rows([paired(ratios(0.2, 0.02, turn=turn), name=f"{turn}") for turn in range(5)], policy).rows
    assert alone.alarm_shares == (0.25, 0.25, 0.5)
    assert {row.alarm_shares for row in family if row.kind is RowKind.SIZE} == {(0.0, 0.25, 0.75)}
    assert max(row.level or 0.0 for row in family) == policy.false_alarm


BY_THROUGHPUT = Policy(metrics=("throughput",))


def falling(ratio: float, count: int = 40, sigma: float = 0.0005) -> ClientCellEvidence:
    """Pairs whose throughput changes by this ratio."""
    around = ratios(0.0, sigma, count)
    return of_pairs([(run(throughput=1e6), run(throughput=1e6 * ratio / each)) for each in around])


def test_a_benchmark_without_a_metric_asks_for_no_pairs_beyond_the_first_look_and_does_not_pass() -> None:
    bare = of_pairs([(run(), run())] * 10, name="bare")
    decisions = decide_rows([bare], BY_THROUGHPUT)
    row = only(decisions, "throughput")
    assert (row.verdict, row.reason) == (Verdict.INCONCLUSIVE, "no throughput in any run")
    assert decisions.needs.undecided == frozenset()
    assert decisions.needs.open_tests == ()
    before_the_first_look = replace(bare, pairs=bare.pairs[:8])
    assert decide_rows([before_the_first_look], BY_THROUGHPUT).needs.undecided == {bare.identity}


def test_which_side_lacks_a_metric_is_said() -> None:
    one_side = of_pairs([(run(throughput=1e6), run())] * 10)
    in_turn = of_pairs([(run(throughput=1e6), run()), (run(), run(throughput=1e6))] * 5)
    reasons = [only(decide_rows([cell], BY_THROUGHPUT), "throughput").reason for cell in (one_side, in_turn)]
    assert reasons == ["no throughput in any run of the candidate", "no pair has throughput on both sides"]
    rows = decide_rows([falling(1.0, 10), replace(one_side, name="bare")], BY_THROUGHPUT)
    assert only(rows, "throughput", RowKind.CREEP).reason == "no throughput in any run of the candidate of bare"


def test_too_many_pairs_without_a_figure_are_not_expected_to_be_decided() -> None:
    half = of_pairs([(run(throughput=1e6), run(throughput=1e6 * (1 + n / 9) if n % 2 else None)) for n in range(10)])
    (test,) = decide_rows([half], BY_THROUGHPUT).needs.open_tests
    assert test.pairs_expected == math.inf


@pytest.mark.parametrize(
    ("ratio", "verdict"),
    [(0.985, Verdict.PASS), (0.9425, Verdict.SMALL), (0.937, Verdict.FAIL), (1.1, Verdict.PASS)],
)
def test_limits_of_a_throughput_are_decreases(ratio: float, verdict: Verdict) -> None:
    row = only(decide_rows([falling(ratio)], BY_THROUGHPUT), "throughput")
    assert (row.verdict, row.is_drop) == (verdict, True)
    assert (row.d0, row.d1) == (pytest.approx(0.02), pytest.approx(0.06))


def test_the_bound_of_a_throughput_is_the_decrease_that_was_shown() -> None:
    zone = IndifferenceZone(d0=0.1, d1=0.5, floor=0, is_drop=True)
    policy = replace(BY_THROUGHPUT, zones={"throughput": zone})
    row = only(decide_rows([falling(0.66)], policy), "throughput")
    assert row.verdict is Verdict.SMALL
    assert row.at_least == pytest.approx(0.34, abs=0.001)
    assert row.reason == "at least 34.0% and at most 34.0% lower: real, and below 50.0%"
    former = replace(policy, zones={"throughput": replace(zone, is_drop=False)})
    assert only(decide_rows([falling(0.66)], former), "throughput").verdict is Verdict.FAIL


@pytest.mark.parametrize("false_alarm", [1e-17, 1e-200])
def test_a_level_that_is_next_to_nothing_decides_nothing_and_is_no_error(false_alarm: float) -> None:
    policy = replace(TIME_ALONE, false_alarm=false_alarm, miss=false_alarm, looks=Looks(pairs=(10, 20, 400)))
    (row,) = (with_detectable(row, policy) for row in decide_rows([paired(ratios(0.2, 0.05, 12))], policy).rows)
    assert row.verdict is Verdict.INCONCLUSIVE
    documents = unpaired(ratios(0.0, 0.03, 12), ratios(0.3, 0.03, 12))
    assert only(decide_rows([documents], policy)).verdict is Verdict.INCONCLUSIVE
