import math
import zlib
from itertools import accumulate, pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped]

from s3bench.stats import signed_rank
from s3bench.stats.signed_rank import SignedRankTest, hodges_lehmann

TIED = st.lists(st.integers(-3, 3).map(float), max_size=14)
SMOOTH = st.lists(st.floats(-1e3, 1e3), max_size=14)
SAMPLES = st.one_of(TIED, SMOOTH)
LEVELS = st.sampled_from([0.5, 0.25, 0.125, 0.1, 0.05, 0.03125, 0.025, 0.01, 0.001])
CENTERS = st.one_of(st.integers(-8, 8).map(lambda twice: twice / 2), st.floats(-1e3, 1e3))


def drawn(name: str, size: int) -> list[float]:
    random = np.random.default_rng(zlib.crc32(f"{name} {size}".encode()))
    return [float(value) for value in random.normal(0.3, 1.0, size)]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13, 25, 50])
def test_p_values_are_those_of_scipy(size: int) -> None:
    values = drawn("p", size)
    for center in (0.0, 0.4, -1.0):
        shifted = [value - center for value in values]
        above = stats.wilcoxon(shifted, alternative="greater", method="exact").pvalue
        below = stats.wilcoxon(shifted, alternative="less", method="exact").pvalue
        assert SignedRankTest(values).p_above(center) == pytest.approx(above, rel=1e-9)
        assert SignedRankTest(values).p_below(center) == pytest.approx(below, rel=1e-9)


def test_the_null_distribution_is_that_of_all_signs_written_out() -> None:
    ranks = range(1, 11)
    sums = [sum(rank for rank, sign in zip(ranks, signs, strict=True) if sign) for signs in product((0, 1), repeat=10)]
    expected = [sum(total >= count for total in sums) / 2**10 for count in range(57)]
    assert signed_rank.exact_tail(10).tolist() == expected


@pytest.mark.parametrize("size", [53, 100, signed_rank.EXACT_VALUES_MAX])
def test_the_null_distribution_keeps_its_digits_for_many_values(size: int) -> None:
    # A polynomial in whole numbers, packed into one: its coefficients are the counts.
    bytes_each = size // 8 + 1
    packed = 1
    for rank in range(1, size + 1):
        packed += packed << rank * bytes_each * 8
    terms = size * (size + 1) // 2 + 1
    digits = packed.to_bytes(terms * bytes_each, "big")
    counts = [int.from_bytes(digits[at : at + bytes_each], "big") for at in range(0, len(digits), bytes_each)]
    expected = [at_least / 2**size for at_least in accumulate(counts)]
    assert signed_rank.exact_tail(size)[-2::-1] == pytest.approx(expected, rel=1e-13, abs=0)


def test_hodges_lehmann_is_the_median_of_the_walsh_averages() -> None:
    values = drawn("estimate", 9)
    averages = [(first + second) / 2 for at, first in enumerate(values) for second in values[at:]]
    assert hodges_lehmann(values) == np.median(averages)
    assert hodges_lehmann([1.0, 5.0]) == 3.0
    assert hodges_lehmann([7.0]) == 7.0


def test_bounds_are_those_of_the_published_table() -> None:
    # Hollander & Wolfe, table A.4: for n = 10 and a tail of 0.0244, 8 is the lower critical value, 47 the upper one.
    values = drawn("table", 10)
    averages = sorted((first + second) / 2 for at, first in enumerate(values) for second in values[at:])
    assert SignedRankTest(values).lower_bound(0.025) == averages[8]
    assert SignedRankTest(values).upper_bound(0.025) == averages[-9]


@given(SAMPLES, CENTERS, LEVELS)
def test_the_test_rejects_exactly_what_the_bound_excludes(values: list[float], center: float, alpha: float) -> None:
    assert (SignedRankTest(values).p_above(center) <= alpha) == (SignedRankTest(values).lower_bound(alpha) > center)
    assert (SignedRankTest(values).p_below(center) <= alpha) == (SignedRankTest(values).upper_bound(alpha) < center)


@given(SAMPLES, LEVELS)
def test_a_bound_itself_is_not_excluded(values: list[float], alpha: float) -> None:
    lower = SignedRankTest(values).lower_bound(alpha)
    if math.isfinite(lower):
        assert SignedRankTest(values).p_above(lower) > alpha
        assert SignedRankTest(values).p_above(math.nextafter(lower, -math.inf)) <= alpha


@pytest.mark.parametrize("size", [signed_rank.EXACT_VALUES_MAX + 1, 700])
def test_the_test_rejects_exactly_what_the_bound_excludes_for_many_values_too(size: int) -> None:
    values = [round(value, 1) for value in drawn("many", size)]
    for alpha in (0.1, 0.025, 0.001):
        lower, upper = SignedRankTest(values).lower_bound(alpha), SignedRankTest(values).upper_bound(alpha)
        for center in (lower, math.nextafter(lower, -math.inf), upper, math.nextafter(upper, math.inf), 0.3):
            assert (SignedRankTest(values).p_above(center) <= alpha) == (lower > center)
            assert (SignedRankTest(values).p_below(center) <= alpha) == (upper < center)


def test_the_normal_approximation_is_near_the_exact_one_and_never_below_it_by_much() -> None:
    size = signed_rank.EXACT_VALUES_MAX
    tail = signed_rank.exact_tail(size)
    deviation = math.sqrt(size * (size + 1) * (2 * size + 1) / 24)
    for alpha, excess in ((0.025, 0.01), (0.01, 0.02), (0.001, 0.06)):
        count = signed_rank.critical_count(size, alpha)
        z = (count - 0.5 - size * (size + 1) / 4) / deviation
        assert 1 <= stats.norm.sf(z) / tail[count] <= 1 + excess
    beyond = drawn("beyond", size + 1)
    expected = stats.wilcoxon(beyond, alternative="greater", method="asymptotic", correction=True).pvalue
    assert SignedRankTest(beyond).p_above(0.0) == pytest.approx(expected, rel=1e-9)


@given(st.lists(st.integers(-50, 50).map(float), min_size=1, max_size=14), st.integers(-64, 64), LEVELS)
def test_shifting_all_values_shifts_estimate_and_bounds(values: list[float], by: int, alpha: float) -> None:
    moved = [value + by for value in values]
    assert hodges_lehmann(moved) == hodges_lehmann(values) + by
    assert SignedRankTest(moved).lower_bound(alpha) == SignedRankTest(values).lower_bound(alpha) + by
    assert SignedRankTest(moved).p_above(by) == SignedRankTest(values).p_above(0.0)


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=14), st.sampled_from([0.25, 2.0, 1024.0]), LEVELS)
def test_scaling_all_values_scales_estimate_and_bounds(values: list[float], by: float, alpha: float) -> None:
    values = [value if abs(value) > 1e-9 else 0.0 for value in values]
    scaled = [value * by for value in values]
    assert hodges_lehmann(scaled) == hodges_lehmann(values) * by
    assert SignedRankTest(scaled).upper_bound(alpha) == SignedRankTest(values).upper_bound(alpha) * by


@given(SAMPLES, CENTERS, LEVELS)
def test_mirrored_values_have_the_mirrored_answers(values: list[float], center: float, alpha: float) -> None:
    mirrored = [-value for value in values]
    assert SignedRankTest(mirrored).upper_bound(alpha) == -SignedRankTest(values).lower_bound(alpha)
    assert SignedRankTest(mirrored).p_below(-center) == SignedRankTest(values).p_above(center)
    if values:
        assert hodges_lehmann(mirrored) == -hodges_lehmann(values)


@given(TIED, st.integers(-2, 2).map(float), st.randoms(use_true_random=False))
def test_ties_and_zeros_are_never_counted_in_favour(values: list[float], center: float, random: object) -> None:
    jitter = np.random.default_rng(random.getrandbits(32)).uniform(-1e-6, 1e-6, len(values))  # type: ignore[attr-defined]
    broken = [value + change for value, change in zip(values, jitter.tolist(), strict=True)]
    assert SignedRankTest(values).p_above(center) >= SignedRankTest(broken).p_above(center)


def test_values_equal_to_the_centre_say_nothing() -> None:
    assert SignedRankTest([0.0] * 20).p_above(0.0) == 1.0
    assert SignedRankTest([0.0] * 20).p_below(0.0) == 1.0
    assert SignedRankTest([0.0] * 20).lower_bound(0.01) == SignedRankTest([0.0] * 20).upper_bound(0.01) == 0.0


def test_too_few_values_bound_nothing() -> None:
    assert (SignedRankTest([]).p_above(0.0), SignedRankTest([]).p_below(0.0)) == (1.0, 1.0)
    assert (SignedRankTest([]).lower_bound(0.3), SignedRankTest([]).upper_bound(0.3)) == (-math.inf, math.inf)
    four = [1.0, 2.0, 3.0, 4.0]
    assert (SignedRankTest(four).lower_bound(0.05), SignedRankTest(four).upper_bound(0.05)) == (-math.inf, math.inf)
    # The chance that all five are above the centre is 1/32: exactly enough.
    assert SignedRankTest([*four, 5.0]).lower_bound(1 / 32) == 1.0
    assert SignedRankTest([7.0]).lower_bound(0.5) == SignedRankTest([7.0]).upper_bound(0.5) == 7.0
    with pytest.raises(AssertionError):
        hodges_lehmann([])


@pytest.mark.parametrize("answer", [hodges_lehmann, lambda values: SignedRankTest(values).lower_bound(0.1)])
def test_what_is_no_number_is_refused(answer: object) -> None:
    with pytest.raises(AssertionError, match="finite"):
        answer([1.0, math.nan])  # type: ignore[operator]
    with pytest.raises(AssertionError, match="probability"):
        SignedRankTest([1.0]).lower_bound(0.0)


@pytest.mark.parametrize("size", [10, 20])
def test_the_interval_covers_the_true_centre_at_least_as_often_as_stated(size: int) -> None:
    random = np.random.default_rng(20)
    trials = 6000
    missed_low = missed_high = 0
    for sample in random.normal(size=(trials, size)).tolist():
        missed_low += SignedRankTest(sample).lower_bound(0.025) > 0
        missed_high += SignedRankTest(sample).upper_bound(0.025) < 0
    # The level that the discrete distribution attains, 2.44 % for 10 and 2.42 % for 20, within 3 deviations of it.
    count = signed_rank.critical_count(size, 0.025)
    attained = float(signed_rank.exact_tail(size)[count])
    assert attained <= 0.025
    for missed in (missed_low, missed_high):
        assert abs(missed / trials - attained) <= 3 * math.sqrt(attained / trials)


def test_a_smaller_level_gives_a_bound_no_tighter() -> None:
    values = drawn("levels", 30)
    bounds = [SignedRankTest(values).lower_bound(alpha) for alpha in (0.2, 0.1, 0.05, 0.01, 0.001)]
    assert all(later <= earlier for earlier, later in pairwise(bounds))
