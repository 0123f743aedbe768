"""What is said of one metric in two groups."""

import math

import pytest
from numpy.random import default_rng

from s3bench.compare.difference import ChangeOutcome, ComparisonRow, compare_metric, with_outcomes
from s3bench.compare.matching import GroupResult, MatchedBenchmark
from s3bench.compare.sample import MetricFigures
from s3bench.results.metrics import METRICS, METRICS_BY_NAME, Direction
from tests.compare.documents import BASE, result, slower

SUBJECT = MatchedBenchmark(
    baseline=GroupResult(dimensions=(), stem="a", result=result()),
    other=GroupResult(dimensions=(), stem="b", result=result()),
)


def figures(*values: float) -> MetricFigures:
    return MetricFigures(values=values, iterations=tuple(range(len(values))))


def held(metric: str, first: tuple[float, ...], second: tuple[float, ...], *, kind: str = "") -> ComparisonRow:
    return with_outcomes(
        [compare_metric(SUBJECT, METRICS_BY_NAME[metric], figures(*first), figures(*second), kind=kind)]
    )[0]


@pytest.mark.parametrize(
    ("metric", "factor", "outcome", "word"),
    [
        ("total_time", 1.5, ChangeOutcome.WORSE, "slower"),
        ("total_time", 0.5, ChangeOutcome.BETTER, "faster"),
        ("milestones.imports_done", 1.5, ChangeOutcome.WORSE, "slower"),
        ("cpu_time", 1.5, ChangeOutcome.WORSE, "more CPU time"),
        ("user_cpu_time", 0.5, ChangeOutcome.BETTER, "less CPU time"),
        ("peak_memory", 1.5, ChangeOutcome.WORSE, "more memory"),
        ("p50_memory", 0.5, ChangeOutcome.BETTER, "less memory"),
        ("throughput", 1.5, ChangeOutcome.BETTER, "more throughput"),
        ("throughput", 0.5, ChangeOutcome.WORSE, "less throughput"),
    ],
)
def test_the_word_is_that_of_the_metric_and_its_direction(
    metric: str, factor: float, outcome: ChangeOutcome, word: str
) -> None:
    row = held(metric, BASE, slower(BASE, factor))
    assert (row.outcome, row.word) == (outcome, word)
    assert row.change == pytest.approx(factor - 1)


def test_the_change_is_a_ratio_with_the_exact_interval_and_p() -> None:
    other = (0.525, 0.535, 0.565, 0.575, 0.585, 0.605)
    row = held("total_time", BASE, other)
    ratios = sorted(after / before for before in BASE for after in other)
    assert row.change == pytest.approx(math.sqrt(ratios[17] * ratios[18]) - 1)
    # Of the C(12, 6) = 924 orders, 1 + 1 + 2 + 3 + 5 + 7 have 5 or fewer of the 36 ratios below 1, as here; that is
    # 2.1 % at one end, and with 6 it would be more than 2.5 %: the interval runs from the 6th ratio to the 6th last.
    assert sum(ratio < 1 for ratio in ratios) == 5
    assert row.p == pytest.approx(2 * 19 / 924)
    assert row.low == pytest.approx(ratios[5] - 1)
    assert row.high == pytest.approx(ratios[-6] - 1)


def test_noise_is_never_called_equal() -> None:
    row = held("total_time", BASE, slower(BASE, 1.001))
    assert row.outcome is ChangeOutcome.NO_DETECTABLE_DIFFERENCE
    assert row.word == "no detectable difference"


def test_equal_figures_are_no_difference_exactly() -> None:
    row = held("total_time", BASE, BASE)
    assert (row.outcome, row.change, row.p) == (ChangeOutcome.NO_DIFFERENCE, 0.0, None)
    assert held("peak_memory", (5.0,) * 4, (5.0,) * 9).outcome is ChangeOutcome.NO_DIFFERENCE
    assert held("total_time", BASE, tuple(reversed(BASE))).outcome is ChangeOutcome.NO_DETECTABLE_DIFFERENCE


@pytest.mark.parametrize(
    ("first", "second", "detail"),
    [
        ((1.0, 1.1), (2.0, 2.1), "n=2; 4 on each side are enough for a 95 % interval"),
        ((1.0, 1.1), (2.0, 2.1, 2.2), "n=2 and 3; 4 on each side are enough for a 95 % interval"),
        ((1.0,), (), "n=1 and 0; nothing to compare with"),
    ],
)
def test_too_few_runs_say_how_many_are_enough(first: tuple[float, ...], second: tuple[float, ...], detail: str) -> None:
    row = held("total_time", first, second)
    assert (row.outcome, row.word, row.detail) == (ChangeOutcome.TOO_FEW, "too few runs", detail)
    assert row.low is row.high is row.p is None


def test_four_runs_on_each_side_are_enough_for_one_row() -> None:
    assert held("total_time", BASE[:4], slower(BASE[:4], 1.5)).outcome is ChangeOutcome.WORSE
    assert held("total_time", BASE[:3], slower(BASE[:4], 1.5)).outcome is ChangeOutcome.TOO_FEW


@pytest.mark.parametrize(("fewer", "more"), [(3, 5), (2, 8)])
def test_fewer_runs_on_one_side_decide_with_more_on_the_other(fewer: int, more: int) -> None:
    runs = tuple(1 + number / 100 for number in range(more))
    assert held("total_time", runs[:fewer], slower(runs, 1.5)).outcome is ChangeOutcome.WORSE
    assert held("total_time", slower(runs, 1.5), runs[:fewer]).outcome is ChangeOutcome.BETTER


def test_among_many_rows_four_runs_are_too_few_and_it_is_reported() -> None:
    metric = METRICS_BY_NAME["total_time"]
    still = [compare_metric(SUBJECT, metric, figures(1.0, 3.0, 2.0, 4.0), figures(1.5, 3.5, 2.5, 0.5))] * 19
    clear = compare_metric(SUBJECT, metric, figures(*BASE[:4]), figures(*slower(BASE[:4], 1.5)))
    row = with_outcomes([*still, clear])[-1]
    assert row.outcome is ChangeOutcome.TOO_FEW
    assert row.detail == "n=4; 6 on each side are enough to decide among 20 rows"
    assert row.p_adjusted == pytest.approx(20 * 2 / math.comb(8, 4))


def test_a_metric_without_a_better_way_is_shown_and_not_judged() -> None:
    row = held("max_cpu", BASE, slower(BASE, 2))
    assert (row.outcome, row.detail) == (ChangeOutcome.NOT_JUDGED, "for this metric neither direction is better")
    assert row.change == pytest.approx(1.0)
    assert row.low is None


def test_errors_where_there_were_none_are_worse_by_percentage_points() -> None:
    row = held("load.error_rate", (0.0,) * 4, (0.29, 0.30, 0.31, 0.32))
    assert (row.outcome, row.word) == (ChangeOutcome.WORSE, "more errors")
    assert (row.change, row.low, row.high) == (None, None, None)
    assert row.difference == pytest.approx(0.305)
    assert (row.difference_low, row.difference_high) == (pytest.approx(0.29), pytest.approx(0.32))
    assert row.p == pytest.approx(2 / math.comb(8, 4))
    back = held("load.error_rate", (0.29, 0.30, 0.31, 0.32), (0.0,) * 4)
    assert (back.outcome, back.word) == (ChangeOutcome.BETTER, "fewer errors")
    assert back.difference == pytest.approx(-0.305)


def test_a_share_is_compared_by_its_difference_also_without_zeros() -> None:
    row = held("load.error_rate", (0.010, 0.011, 0.012, 0.013), (0.050, 0.051, 0.052, 0.053))
    assert (row.outcome, row.change, row.difference) == (ChangeOutcome.WORSE, None, pytest.approx(0.04))


def test_errors_that_come_and_go_on_both_sides_are_no_difference() -> None:
    row = held("load.error_rate", (0.0, 0.02, 0.0, 0.0, 0.01, 0.0), (0.0, 0.0, 0.03, 0.0, 0.0, 0.01))
    assert (row.outcome, row.difference) == (ChangeOutcome.NO_DETECTABLE_DIFFERENCE, 0.0)
    assert held("load.error_rate", (0.0,) * 4, (0.0,) * 5).outcome is ChangeOutcome.NO_DIFFERENCE


def test_a_metric_that_falls_to_zero_is_compared_by_its_difference() -> None:
    row = held("load.operations_rate", (100.0, 101.0, 102.0, 103.0), (0.0,) * 4)
    assert (row.outcome, row.word, row.change) == (ChangeOutcome.WORSE, "fewer operations", -1.0)
    assert row.difference == pytest.approx(-101.5)
    back = held("load.operations_rate", (0.0,) * 4, (100.0, 101.0, 102.0, 103.0))
    assert (back.outcome, back.word, back.change) == (ChangeOutcome.BETTER, "more operations", None)


def test_the_difference_and_not_that_of_the_medians_decides_the_direction() -> None:
    row = held("user_cpu_time", (0.0,) * 15 + (5.0,) * 18, (4.9,) * 18 + (100.0,) * 15)
    assert row.change == pytest.approx(-0.02)
    assert (row.outcome, row.word) == (ChangeOutcome.WORSE, "more CPU time")
    two = held("load.operations_rate", (0.0, 1.0), (2.0, 3.0))
    assert (two.difference, two.outcome) == (2.0, ChangeOutcome.TOO_FEW)
    assert held("harness.sampler_cpu_time", (0.0, 0.1), (0.1, 0.2)).detail.startswith("n=2; 4 on each side are enough")


def test_shares_with_many_zeros_are_seldom_a_difference_by_chance() -> None:
    """The Mann-Whitney test is conditional on the ties, so its level of 5 % holds for any share of zeros."""
    random = default_rng(11)

    def sample(runs: int, zeros: float) -> tuple[float, ...]:
        return tuple(((random.random(runs) >= zeros) * random.beta(0.3, 5, runs)).tolist())

    for zeros in (0.0, 0.5, 0.9):
        rows = [held("load.error_rate", sample(6, zeros), sample(6, zeros)) for _ in range(400)]
        false = sum(row.outcome in {ChangeOutcome.WORSE, ChangeOutcome.BETTER} for row in rows)
        assert false / len(rows) <= 0.05


def test_a_ratio_that_no_number_can_hold_is_not_judged() -> None:
    row = held("total_time", (5e-324,) * 4, (1e308,) * 4)
    assert (row.outcome, row.detail) == (ChangeOutcome.NOT_JUDGED, "the ratio is larger than a number can be")
    assert (row.change, row.p) == (None, None)


def test_counts_are_compared_exactly() -> None:
    assert held("wire.requests", (5.0,) * 6, (5.0,) * 6).outcome is ChangeOutcome.EQUAL
    row = held("wire.requests", (5.0,) * 10, (6.0,) * 10)
    assert (row.outcome, row.word, row.detail, row.p) == (ChangeOutcome.DIFFERS, "differs", "", None)
    assert held("wire.requests", (5.0,) * 3, (6.0,) * 3).detail == "n=3; 10 confirm it"


def test_page_faults_that_read_a_disk_are_a_count_that_may_vary() -> None:
    cold = held("major_faults", (0.0,) * 10, (40.0, 55.0) * 5)
    assert (cold.outcome, cold.detail) == (ChangeOutcome.DIFFERS, "")
    assert held("major_faults", (3.0, 0.0, 0.0), (0.0, 0.0, 1.0)).outcome is ChangeOutcome.VARIES
    assert held("major_faults", (0.0,) * 3, (0.0,) * 3).outcome is ChangeOutcome.EQUAL


def test_only_metrics_without_a_better_direction_are_said_to_have_none() -> None:
    for metric in METRICS:
        row = held(metric.name, BASE, slower(BASE, 2))
        assert (row.outcome is ChangeOutcome.NOT_JUDGED) <= (metric.direction is Direction.NEUTRAL), metric.name


def test_counts_that_vary_over_a_common_range_prove_nothing() -> None:
    assert held("wire.retries", (0.0, 1.0, 0.0), (0.0, 0.0, 2.0)).outcome is ChangeOutcome.VARIES
    assert held("wire.retries", (0.0, 1.0, 0.0), (1.0, 2.0, 2.0)).outcome is ChangeOutcome.VARIES
    assert held("wire.retries", (1.0, 2.0, 2.0), (0.0, 1.0, 0.0)).outcome is ChangeOutcome.VARIES
    assert held("wire.retries", (0.0, 1.0, 0.0), (2.0, 3.0, 2.0)).outcome is ChangeOutcome.DIFFERS
    assert held("wire.retries", (2.0, 3.0, 2.0), (0.0, 1.0, 0.0)).outcome is ChangeOutcome.DIFFERS


def test_large_changes_matter_most_and_halving_as_much_as_doubling() -> None:
    slow, half, double = (held("total_time", BASE, slower(BASE, factor)) for factor in (1.3, 0.5, 2.0))
    assert sorted((half, slow, double), key=lambda row: row.importance) == [double, slow, half]
    assert half.importance[1] == pytest.approx(double.importance[1])


def test_errors_where_there_were_none_matter_more_than_any_ratio() -> None:
    few, many = (0.010, 0.011, 0.012, 0.013), (0.050, 0.051, 0.052, 0.053)
    new, more = held("load.error_rate", (0.0,) * 4, many), held("load.error_rate", few, many)
    slow = held("total_time", BASE, slower(BASE, 1.3))
    assert sorted((slow, more, new), key=lambda row: row.importance) == [new, more, slow]


@pytest.mark.parametrize("runs", [10, 3])
def test_counts_that_rose_from_none_matter_more_than_any_ratio_of_counts(runs: int) -> None:
    retries = held("wire.retries", (0.0,) * runs, (50.0,) * runs)
    requests = held("wire.requests", (2.0,) * runs, (3.0,) * runs)
    assert (retries.outcome, retries.change) == (ChangeOutcome.DIFFERS, None)
    assert sorted((requests, retries), key=lambda row: row.importance) == [retries, requests]
