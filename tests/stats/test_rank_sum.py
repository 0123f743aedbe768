import math
import zlib
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped]

from s3bench.stats import rank_sum
from s3bench.stats.rank_sum import estimate_shift, p_greater, p_two_sided, shift, shift_bounds

TIED = st.lists(st.integers(-3, 3).map(float), max_size=9)
SAMPLES = st.one_of(TIED, st.lists(st.floats(-1e3, 1e3), max_size=9))
LEVELS = st.sampled_from([0.5, 0.25, 0.1, 0.05, 0.025, 0.01, 0.001])
CENTERS = st.one_of(st.integers(-6, 6).map(float), st.floats(-1e3, 1e3))


def drawn(size: int, *, center: float = 0.0, digits: int = 12) -> list[float]:
    random = np.random.default_rng(zlib.crc32(f"{size} {center}".encode()))
    return [round(value, digits) for value in random.normal(center, 1.0, size).tolist()]


@pytest.mark.parametrize(
    ("size", "other"), [(1, 1), (1, 4), (2, 2), (3, 2), (5, 9), (20, 20), (33, 32), (35, 34), (50, 50), (5, 300)]
)
def test_p_values_are_those_of_scipy(size: int, other: int) -> None:
    first, second = drawn(size), drawn(other, center=0.5)
    one_sided = stats.mannwhitneyu(second, first, alternative="greater", method="exact").pvalue
    two_sided = stats.mannwhitneyu(second, first, method="exact").pvalue
    assert p_greater(first, second) == pytest.approx(one_sided, rel=1e-9)
    assert p_two_sided(first, second) == pytest.approx(two_sided, rel=1e-9)
    moved = stats.mannwhitneyu(second, [value + 0.7 for value in first], alternative="greater", method="exact").pvalue
    assert p_greater(first, second, center=0.7) == pytest.approx(moved, rel=1e-9)


@pytest.mark.parametrize(("size", "other"), [(1, 1), (1, 2), (3, 4), (5, 5)])
def test_the_null_distribution_is_that_of_all_arrangements_written_out(size: int, other: int) -> None:
    everywhere = list(combinations(range(size + other), size))
    # Each of `size` chosen places has this many of the others below it.
    counts = [sum(place - rank for rank, place in enumerate(places)) for places in everywhere]
    expected = [sum(count >= least for count in counts) / len(counts) for least in range(size * other + 2)]
    assert rank_sum.exact_tail(size, other) == pytest.approx(expected, rel=1e-15)


def test_p_values_with_ties_are_those_of_all_arrangements_of_the_midranks() -> None:
    random = np.random.default_rng(2)
    for _ in range(40):
        first, second = (random.integers(0, 4, random.integers(1, 6)).astype(float).tolist() for _ in "ab")
        ranks = stats.rankdata(first + second)
        sums = np.array([ranks[list(places)].sum() for places in combinations(range(ranks.size), len(first))])
        seen = ranks[: len(first)].sum()
        expected = min(1.0, 2 * min(np.mean(sums <= seen), np.mean(sums >= seen)))
        assert p_two_sided(first, second) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("size", "other", "digits"), [(60, 55, 12), (60, 55, 0), (26, 26, 1), (10, 26, 0), (400, 7, 1)]
)
def test_p_values_of_many_values_or_ties_are_the_normal_ones_of_scipy(size: int, other: int, digits: int) -> None:
    first, second = drawn(size, digits=digits), drawn(other, center=0.5, digits=digits)
    expected = stats.mannwhitneyu(second, first, method="asymptotic", use_continuity=True).pvalue
    assert p_two_sided(first, second) == pytest.approx(expected, rel=1e-9)


def test_a_clear_difference_of_many_values_is_found_by_the_one_sided_test() -> None:
    first, second = drawn(60), drawn(55, center=0.5)
    expected = stats.mannwhitneyu(second, first, alternative="greater", method="asymptotic", use_continuity=True).pvalue
    assert p_greater(first, second) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("size", [1, 2, 3, 10, 11, 400, 401])
def test_a_sample_against_itself_has_no_shift(size: int) -> None:
    sample = [abs(value) * 0.1 for value in drawn(size)]
    assert shift(sample, sample) == 0.0
    assert p_two_sided(sample, sample) == 1.0
    lower, upper = shift_bounds(sample, sample, alpha=0.025)
    assert lower == -upper <= 0


def test_the_shift_is_the_median_of_the_differences() -> None:
    first, second = drawn(7), drawn(4, center=3.0)
    assert shift(first, second) == np.median([after - before for before in first for after in second])
    assert shift([1.0, 3.0], [10.0]) == 8.0


def test_bounds_are_those_of_the_published_table() -> None:
    # Mann-Whitney's U at 2.5 % one-sided is 23 for ten and ten values: the 24th difference from either end.
    first, second = drawn(10), drawn(10, center=1.0)
    differences = sorted(after - before for before in first for after in second)
    assert shift_bounds(first, second, alpha=0.025) == (differences[23], differences[-24])


@given(SAMPLES, SAMPLES, CENTERS, LEVELS)
def test_the_test_rejects_exactly_what_the_bounds_exclude(
    first: list[float], second: list[float], center: float, alpha: float
) -> None:
    lower, upper = shift_bounds(first, second, alpha=alpha)
    assert (p_greater(first, second, center=center) <= alpha) == (lower > center)
    assert (p_greater(second, first, center=-center) <= alpha) == (upper < center)


@pytest.mark.parametrize("digits", [12, 1, 0])
def test_the_test_rejects_exactly_what_the_bounds_exclude_for_many_values_too(digits: int) -> None:
    first, second = drawn(330, digits=digits), drawn(290, center=0.5, digits=digits)
    for alpha in (0.1, 0.025, 0.001):
        lower, upper = shift_bounds(first, second, alpha=alpha)
        for center in (lower, math.nextafter(lower, -math.inf), upper, math.nextafter(upper, math.inf)):
            assert (p_greater(first, second, center=center) <= alpha) == (lower > center)
            assert (p_greater(second, first, center=-center) <= alpha) == (upper < center)


@given(TIED, TIED, st.integers(-64, 64), LEVELS)
def test_shifting_the_second_sample_shifts_estimate_and_bounds(
    first: list[float], second: list[float], by: int, alpha: float
) -> None:
    moved = [value + by for value in second]
    lower, upper = shift_bounds(first, second, alpha=alpha)
    assert shift_bounds(first, moved, alpha=alpha) == (lower + by, upper + by)
    assert p_greater(first, moved, center=by) == p_greater(first, second)
    if first and second:
        assert shift(first, moved) == shift(first, second) + by


@given(SAMPLES, SAMPLES, st.sampled_from([0.25, 2.0, 1024.0]), LEVELS)
def test_scaling_both_samples_scales_bounds_and_keeps_p_values(
    first: list[float], second: list[float], by: float, alpha: float
) -> None:
    first, second = ([value if abs(value) > 1e-9 else 0.0 for value in sample] for sample in (first, second))
    wide_first, wide_second = [value * by for value in first], [value * by for value in second]
    lower, upper = shift_bounds(first, second, alpha=alpha)
    assert shift_bounds(wide_first, wide_second, alpha=alpha) == (lower * by, upper * by)
    assert p_two_sided(wide_first, wide_second) == p_two_sided(first, second)


@given(SAMPLES, SAMPLES, LEVELS)
def test_exchanging_the_samples_mirrors_the_answers(first: list[float], second: list[float], alpha: float) -> None:
    lower, upper = shift_bounds(first, second, alpha=alpha)
    assert shift_bounds(second, first, alpha=alpha) == (-upper, -lower)
    assert p_two_sided(second, first) == p_two_sided(first, second)
    if first and second:
        assert shift(second, first) == -shift(first, second)


@given(SAMPLES.filter(len), SAMPLES.filter(len), LEVELS)
def test_all_at_once_is_what_each_says(first: list[float], second: list[float], alpha: float) -> None:
    found = estimate_shift(first, second, alpha=alpha)
    assert found.shift == shift(first, second)
    assert (found.low, found.high) == shift_bounds(first, second, alpha=alpha)
    assert found.p == p_two_sided(first, second)


def test_equal_values_on_both_sides_are_no_difference() -> None:
    for size in (1, 5, 26, 300):
        same = [3.0] * size
        assert p_two_sided(same, same) == p_greater(same, same) == 1.0
        assert shift(same, same) == 0.0
    assert shift_bounds([3.0] * 10, [4.0] * 10, alpha=0.01) == (1.0, 1.0)
    assert p_two_sided([3.0] * 10, [4.0] * 10) == pytest.approx(2 / math.comb(20, 10), rel=1e-12)


def test_too_few_values_bound_nothing() -> None:
    for first, second in (([], []), ([], [1.0]), ([1.0], [])):
        assert shift_bounds(first, second, alpha=0.4) == (-math.inf, math.inf)
        assert p_greater(first, second) == p_two_sided(first, second) == 1.0
        with pytest.raises(AssertionError):
            shift(first, second)
    assert shift_bounds([1.0, 2.0], [3.0, 4.0], alpha=0.05) == (-math.inf, math.inf)
    # One arrangement of twenty is the most extreme: three and three values reach 5 % exactly.
    assert shift_bounds([1.0, 2.0, 3.0], [5.0, 6.0, 7.0], alpha=0.05) == (2.0, 6.0)


def test_what_is_no_number_is_refused() -> None:
    for first, second in (([math.nan], [1.0]), ([1.0], [math.inf])):
        for answer in (shift, p_greater, p_two_sided):
            with pytest.raises(AssertionError, match="finite"):
                answer(first, second)
    with pytest.raises(AssertionError, match="probability"):
        shift_bounds([1.0], [2.0], alpha=1.0)


def test_the_interval_covers_the_true_shift_as_often_as_stated() -> None:
    random = np.random.default_rng(3)
    trials, size = 5000, 10
    missed = [0, 0]
    near, far = (random.normal(center, 1, size=(trials, size)).tolist() for center in (0, 2))
    for first, second in zip(near, far, strict=True):
        lower, upper = shift_bounds(first, second, alpha=0.025)
        missed[0] += lower > 2
        missed[1] += upper < 2
    attained = float(rank_sum.exact_tail(size, size)[rank_sum.critical_count(size, size, 0.025)])
    assert attained <= 0.025
    assert all(abs(count / trials - attained) <= 3 * math.sqrt(attained / trials) for count in missed)
