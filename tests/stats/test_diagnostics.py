import math
from collections.abc import Callable
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import stats  # type: ignore[import-untyped]

from s3bench.stats import diagnostics
from s3bench.stats.diagnostics import Outliers, TwoModes, drift, outliers, two_modes

SAMPLES = st.lists(st.integers(-1000, 1000).map(float), max_size=30)
Shape = Callable[[Generator, int], NDArray[np.float64]]


class TestDrift:
    def test_a_rise_is_reported_with_its_size(self) -> None:
        # The last value lies 19 steps of 1 % of the median above the first.
        values = [100 + step - 9.5 for step in range(20)]
        found = drift(values)
        assert found is not None
        assert found.change == pytest.approx(0.19)
        assert found.p_value == pytest.approx(2 / math.factorial(20))

    def test_a_fall_is_negative(self) -> None:
        found = drift([200.0 - step for step in range(10)])
        assert found is not None
        assert found.change == pytest.approx(-9 / 195.5)

    def test_the_size_of_a_negative_median_counts(self) -> None:
        found = drift([-200.0 + step for step in range(10)])
        assert found is not None
        assert found.change == pytest.approx(9 / 195.5)

    def test_a_sample_of_many_values_is_seen_in_blocks(self) -> None:
        random = np.random.default_rng(1)
        steady = 100 + random.normal(0, 5, 3001)
        found = drift((steady + np.linspace(0, 6, 3001)).tolist())
        assert found is not None
        assert found.change == pytest.approx(0.06, abs=0.01)
        assert drift(steady.tolist()) is None

    def test_a_change_of_less_than_one_percent_does_not_matter(self) -> None:
        assert drift([1000 + step for step in range(10)]) is None
        assert drift([1000 + 1.2 * step for step in range(10)]) is not None

    def test_what_could_well_be_chance_is_not_reported(self) -> None:
        rising = [10.0, 11, 12, 13, 14, 15, 16, 17]
        assert drift(rising) is not None
        # Six falling pairs of 28: p is 0.031.
        assert drift([12.0, 11, 10, 13, 16, 15, 14, 17]) is None

    @pytest.mark.parametrize("values", [[], [1.0], [1.0, 2, 3, 4, 5, 6, 7], [5.0] * 30, [*range(-10, 11)]])
    def test_few_or_equal_values_and_a_median_of_zero_show_none(self, values: list[float]) -> None:
        assert drift(values) is None

    @pytest.mark.parametrize(("size", "method"), [(8, "exact"), (20, "exact"), (50, "exact")])
    def test_the_p_value_is_that_of_kendall(self, size: int, method: str) -> None:
        random = np.random.default_rng(size)
        for slope in (0.0, 0.05, 0.2):
            values = random.normal(size=size) + slope * np.arange(size)
            expected = stats.kendalltau(np.arange(size), values, method=method).pvalue
            assert p_value_of(values) == pytest.approx(expected, rel=1e-9)

    @pytest.mark.parametrize(("size", "digits"), [(51, 9), (200, 1), (12, 0)])
    def test_the_p_value_of_many_values_or_ties_is_the_corrected_normal_one(self, size: int, digits: int) -> None:
        values = np.random.default_rng(size).normal(size=size).round(digits)
        score = sum(int(np.sign(values[at:] - value).sum()) for at, value in enumerate(values))
        ties = np.unique(values, return_counts=True)[1]
        variance = (size * (size - 1) * (2 * size + 5) - sum(t * (t - 1) * (2 * t + 5) for t in ties)) / 18
        expected = 2 * stats.norm.sf((abs(score) - 1) / variance**0.5)
        assert p_value_of(values) == pytest.approx(min(1.0, expected), rel=1e-9)

    def test_the_null_distribution_is_that_of_all_orders_written_out(self) -> None:
        falls = [sum(a > b for at, a in enumerate(order) for b in order[at:]) for order in permutations(range(6))]
        expected = [sum(count <= most for count in falls) / 720 for most in range(16)]
        assert diagnostics.inversions_at_most(6) == pytest.approx(expected, rel=1e-12)

    def test_a_steady_machine_is_rarely_flagged(self) -> None:
        random = np.random.default_rng(7)
        assert sum(drift(random.normal(10, 1, 12).tolist()) is not None for _ in range(4000)) <= 0.01 * 4000 + 3 * 6.3

    @given(SAMPLES)
    def test_the_reverse_order_has_the_opposite_drift(self, values: list[float]) -> None:
        found, reverse = drift(values), drift(values[::-1])
        assert (found is None) == (reverse is None)
        if found and reverse:
            assert reverse.change == pytest.approx(-found.change)


def p_value_of(values: NDArray[np.float64]) -> float:
    return diagnostics.trend_p_value(values.tolist())


class TestTwoModes:
    def test_both_modes_and_the_share_of_the_higher_are_reported(self) -> None:
        slow, fast = [20.0, 20.1, 20.2], [10.0, 10.1, 10.2, 10.3, 10.1, 10.2, 10.0]
        assert two_modes([*fast[:4], *slow, *fast[4:]]) == TwoModes(low=10.1, high=20.1, high_share=0.3)

    @pytest.mark.parametrize(
        "shape",
        [
            pytest.param(lambda random, size: random.normal(size=size), id="normal"),
            pytest.param(lambda random, size: random.lognormal(0, 0.3, size), id="lognormal"),
            pytest.param(lambda random, size: random.standard_t(4, size), id="t4"),
            pytest.param(lambda random, size: random.uniform(size=size), id="uniform"),
        ],
    )
    @pytest.mark.parametrize("size", [10, 20, 40])
    def test_one_mode_is_taken_for_two_in_less_than_one_percent(self, shape: Shape, size: int) -> None:
        random = np.random.default_rng(size)
        assert sum(two_modes(shape(random, size).tolist()) is not None for _ in range(2000)) < 0.01 * 2000

    @pytest.mark.parametrize(("size", "distance"), [(40, 6), (20, 8), (10, 14)])
    def test_two_modes_far_enough_apart_are_caught_in_95_percent(self, size: int, distance: float) -> None:
        # Six deviations are too few for ten values to look unlike a uniform sample: the best of several statistics,
        # each set to 1 % of false alarms there, caught a third.
        random = np.random.default_rng(size)
        halves = distance * (np.arange(size) % 2)
        caught = sum(two_modes((100 + halves + random.normal(size=size)).tolist()) is not None for _ in range(1000))
        assert caught >= 950

    def test_modes_nearer_than_two_percent_do_not_matter(self) -> None:
        assert two_modes([100.0] * 6 + [101.9] * 6) is None
        assert two_modes([100.0] * 6 + [102.1] * 6) == TwoModes(low=100.0, high=102.1, high_share=0.5)

    def test_fewer_than_a_fifth_of_the_values_are_outliers_rather_than_a_mode(self) -> None:
        assert two_modes([*range(100, 117), 300, 301, 302]) is None
        assert two_modes([*range(100, 116), 300, 301, 302, 303]) is not None

    @pytest.mark.parametrize("values", [[], [1.0], [1.0] * 4 + [9.0] * 5, [5.0] * 40])
    def test_few_or_equal_values_show_none(self, values: list[float]) -> None:
        assert two_modes(values) is None

    @given(SAMPLES)
    def test_neither_order_nor_scale_matters(self, values: list[float]) -> None:
        found, scaled = two_modes(values), two_modes([4 * value for value in reversed(values)])
        assert scaled == (found and TwoModes(low=4 * found.low, high=4 * found.high, high_share=found.high_share))


class TestOutliers:
    def test_values_beyond_the_outer_fences_are_named_by_position(self) -> None:
        values = [10.0, 11.0, 50.0, 10.5, 9.5, 10.2, 10.8, 1.0]
        assert outliers(values) == Outliers(positions=(2, 7), values=(50.0, 1.0))

    def test_the_fence_stands_three_interquartile_ranges_outside(self) -> None:
        # Nine values: the quartiles are the third and the seventh, 2 and 6; the fence is at 18.
        assert outliers([0.0, 1, 2, 3, 4, 5, 6, 7, 18.0]) is None
        assert outliers([0.0, 1, 2, 3, 4, 5, 6, 7, 18.1]) == Outliers(positions=(8,), values=(18.1,))

    def test_a_distance_of_two_percent_does_not_matter(self) -> None:
        assert outliers([100.0] * 9 + [102.0]) is None
        assert outliers([100.0] * 9 + [102.1]) == Outliers(positions=(9,), values=(102.1,))
        assert outliers([100.0] * 9 + [97.9]) == Outliers(positions=(9,), values=(97.9,))

    @pytest.mark.parametrize("values", [[], [1.0], [1.0, 1.0, 1.0, 9.0], [5.0] * 30, [0.0] * 30])
    def test_few_or_equal_values_show_none(self, values: list[float]) -> None:
        assert outliers(values) is None

    @given(SAMPLES)
    def test_they_are_found_where_they_stand(self, values: list[float]) -> None:
        found = outliers(values)
        if found:
            assert found.values == tuple(values[position] for position in found.positions)
            assert len(found.positions) < len(values) / 2


@pytest.mark.parametrize("look", [drift, two_modes, outliers])
def test_what_is_no_number_is_refused(look: Callable[[list[float]], object]) -> None:
    with pytest.raises(AssertionError, match="finite"):
        look([1.0, float("nan"), 2.0])
