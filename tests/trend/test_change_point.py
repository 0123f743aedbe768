import math
import time
from statistics import median

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.random import Generator, default_rng
from numpy.typing import NDArray
from scipy import stats  # type: ignore[import-untyped]

from s3bench.stats.autocorrelation import Autocorrelation, autocorrelation_of
from s3bench.stats.segmentation import noise_of, proposed_changes, spread_of
from s3bench.trend import change_point
from s3bench.trend.change_point import ChangePoint, find_changes, release_value
from s3bench.trend.step_test import StepTest, _inflation

NOISE = 0.02
Series = NDArray[np.float64]
POSITIVE = st.floats(min_value=1e-300, max_value=1e300, allow_nan=False, allow_infinity=False)


def noisy(random: Generator, *levels: tuple[int, float]) -> Series:
    """So many values around each level, which is given in sigma."""
    steps = np.concatenate([np.full(count, level) for count, level in levels])
    values: Series = np.exp(NOISE * (steps + random.normal(size=steps.size)))
    return values


def remembering(random: Generator, count: int, persistence: float) -> Series:
    noise = random.normal(size=count)
    for position in range(1, count):
        noise[position] = persistence * noise[position - 1] + math.sqrt(1 - persistence**2) * noise[position]
    return noise


def found(values: Series) -> tuple[ChangePoint, ...]:
    return find_changes(values.tolist()).points


def at_confidence(share: float, values: list[float], monkeypatch: pytest.MonkeyPatch) -> tuple[ChangePoint, ...]:
    monkeypatch.setattr(change_point, "CONFIDENCE", share)
    return find_changes(values).points


def places(values: Series) -> list[int]:
    return [point.index for point in found(values)]


class TestFindingChanges:
    def test_a_step_is_found_with_its_place_its_interval_and_its_size(self) -> None:
        (point,) = found(noisy(default_rng(1), (40, 0), (30, 5)))
        assert point.index == 40
        assert point.first <= 40 <= point.last
        assert point.last - point.first <= 2
        assert point.ratio == pytest.approx(math.exp(5 * NOISE), rel=0.02)
        assert point.ratio_low is not None
        assert point.ratio_high is not None
        assert point.ratio_low < math.exp(5 * NOISE) < point.ratio_high
        assert point.p_value <= 0.01
        assert (point.before, point.after, point.confidence) == (40, 30, 0.95)

    def test_a_fall_has_a_ratio_below_one(self) -> None:
        (point,) = found(noisy(default_rng(2), (30, 0), (30, -5)))
        assert point.ratio == pytest.approx(math.exp(-5 * NOISE), rel=0.02)

    def test_the_first_release_after_the_change_is_named_and_not_the_last_before(self) -> None:
        (point,) = found(np.array([1.0, 1.01, 1.02, 1.0, 1.01, 1.02, 1.0, 2.0, 2.01, 2.02, 2.0, 2.01, 2.02, 2.0]))
        assert (point.index, point.first, point.last) == (7, 7, 7)

    def test_a_step_of_three_sigma_is_found_within_one_release_in_nine_of_ten_series(self) -> None:
        random = default_rng(3)
        hits = sum(any(abs(place - 30) <= 1 for place in places(noisy(random, (30, 0), (30, 3)))) for _ in range(40))
        assert hits >= 36

    def test_steady_series_show_at_most_one_point_in_500_releases(self) -> None:
        random = default_rng(4)
        points = sum(len(found(noisy(random, (20, 0)))) for _ in range(75))
        assert points <= 3

    @pytest.mark.parametrize("tail", [1.0, 8.0])
    def test_neither_heavy_tails_nor_outliers_make_changes(self, tail: float) -> None:
        random = default_rng(5)
        points = 0
        for _ in range(20):
            series = random.standard_t(3, size=100) + tail * (random.random(100) < 0.05)
            points += len(found(np.exp(NOISE * series)))
        assert points <= 4

    def test_outliers_beside_a_step_do_not_move_it(self) -> None:
        values = noisy(default_rng(16), (30, 0), (30, 4))
        values[[26, 28, 33]] *= math.exp(10 * NOISE)
        (point,) = found(values)
        assert abs(point.index - 30) <= 1
        assert point.first <= 30 <= point.last

    @pytest.mark.parametrize("position", [0, 15, 39])
    def test_a_single_bad_release_is_no_change_wherever_it_is(self, position: int) -> None:
        values = noisy(default_rng(6), (40, 0))
        values[position] *= 3
        assert places(values) == []

    def test_two_steps_close_together_are_both_found(self) -> None:
        assert places(noisy(default_rng(7), (40, 0), (8, 6), (40, 12))) == [40, 48]

    def test_a_step_and_back_are_both_found(self) -> None:
        up, down = found(noisy(default_rng(8), (40, 0), (8, 6), (40, 0)))
        assert (up.index, down.index) == (40, 48)
        assert up.ratio > 1 > down.ratio
        assert (up.after, down.before) == (8, 8)

    def test_a_small_step_has_a_wider_interval_than_a_clear_one(self) -> None:
        widths = {
            size: [
                point.last - point.first
                for seed in range(5)
                for point in found(noisy(default_rng(seed), (50, 0), (50, size)))
            ]
            for size in (1.5, 8)
        }
        assert median(widths[8]) == 0
        assert median(widths[1.5]) >= 2

    def test_the_interval_holds_the_true_place_about_as_often_as_stated(self) -> None:
        random = default_rng(10)
        points = [found(noisy(random, (30, 0), (30, 3))) for _ in range(40)]
        single = [point[0] for point in points if len(point) == 1]
        assert sum(point.first <= 30 <= point.last for point in single) >= 0.85 * len(single)

    def test_a_higher_confidence_widens_both_intervals(self, monkeypatch: pytest.MonkeyPatch) -> None:
        values = noisy(default_rng(11), (60, 0), (60, 1.2)).tolist()
        (wide,), (narrow,) = (at_confidence(share, values, monkeypatch) for share in (0.99, 0.5))
        assert wide.first <= narrow.first <= narrow.last <= wide.last
        assert (wide.last - wide.first) > (narrow.last - narrow.first)
        assert wide.ratio_low is not None
        assert narrow.ratio_low is not None
        assert wide.ratio_low < narrow.ratio_low

    def test_few_releases_after_the_change_leave_its_size_unbounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        values = noisy(default_rng(12), (30, 0), (3, 12)).tolist()
        (usual,), (strict,) = (at_confidence(share, values, monkeypatch) for share in (0.95, 0.9999))
        assert usual.ratio_low is not None
        assert (strict.ratio_low, strict.ratio_high) == (None, None)

    @pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0], [1.0] * 4 + [9.0] * 5, [3.0] * 50])
    def test_few_or_equal_values_show_no_change(self, values: list[float]) -> None:
        assert find_changes(values).points == ()

    def test_ten_releases_can_show_a_change(self) -> None:
        assert places(np.array([1.0, 1.01, 1.02, 1.005, 1.015, 2.0, 2.01, 2.02, 2.005, 2.015])) == [5]

    def test_a_count_that_jumps_once_is_found_although_most_values_are_equal(self) -> None:
        assert places(np.array([5.0] * 20 + [6.0] * 10)) == [20]

    def test_the_same_values_give_the_same_answer(self) -> None:
        values = noisy(default_rng(13), (30, 0), (30, 2)).tolist()
        assert find_changes(values) == find_changes(values)

    def test_a_thousand_releases_take_well_under_half_a_second(self) -> None:
        values = noisy(default_rng(14), *((100, 4.0 * (number % 2)) for number in range(10)))
        started_s = time.process_time()
        assert len(found(values)) == 9
        assert time.process_time() - started_s < 0.5

    @settings(max_examples=25)
    @example([1e-290] * 6 + [1e300] * 6)
    @given(st.lists(POSITIVE, max_size=30))
    def test_any_positive_values_give_points_inside_the_series(self, values: list[float]) -> None:
        for point in find_changes(values).points:
            assert 1 <= point.first <= point.index <= point.last < len(values)
            assert 0 < point.p_value <= 0.01

    @settings(max_examples=10)
    @given(st.floats(min_value=1e-9, max_value=1e9))
    def test_the_unit_of_the_values_does_not_matter(self, scale: float) -> None:
        values = noisy(default_rng(15), (20, 0), (20, 5))
        (plain,), (scaled,) = found(values), found(values * scale)
        assert (scaled.index, scaled.first, scaled.last) == (plain.index, plain.first, plain.last)
        assert scaled.ratio == pytest.approx(plain.ratio)

    def test_values_that_are_not_positive_are_a_programmers_mistake(self) -> None:
        with pytest.raises(AssertionError, match="positive"):
            find_changes([1.0, 0.0])


class TestPlainValues:
    """Figures that may be 0, such as error rates: nothing has a logarithm."""

    @pytest.mark.parametrize(("before", "after"), [(10, 10), (10, 5), (50, 50)])
    def test_a_step_from_zero_and_one_to_zero_are_found_at_their_place(self, before: int, after: int) -> None:
        hits = 0
        for seed in range(20):
            rates = default_rng(seed).uniform(0.31, 0.32, size=after)
            up = np.concatenate([np.zeros(before), rates])
            for values, place in ((up, before), (up[::-1], after)):
                points = find_changes(values.tolist(), has_ratios=False).points
                hits += [point.index for point in points] == [place]
                assert all(point.first <= place <= point.last <= point.first + 3 for point in points)
                assert all(abs(point.difference or 0.0) == pytest.approx(0.315, abs=0.005) for point in points)
        assert hits >= 36

    @pytest.mark.parametrize("zeros", [0.5, 0.8, 0.95])
    def test_errors_that_come_and_go_seldom_make_a_change(self, zeros: float) -> None:
        random = default_rng(7)
        found_in = 0
        for _ in range(100):
            values = (random.random(50) >= zeros) * random.random(50) * 0.01
            found_in += bool(find_changes(values.tolist(), has_ratios=False).points)
        assert found_in <= 4


class TestAutocorrelation:
    def test_a_series_that_remembers_is_reported_and_shows_fewer_changes(self) -> None:
        random = default_rng(20)
        series = [np.exp(NOISE * remembering(random, 150, 0.8)) for _ in range(4)]
        changes = [find_changes(values.tolist()) for values in series]
        assert all(each.autocorrelation is not None for each in changes)
        assert sum(len(each.points) for each in changes) <= 2
        # Without memory the same series would be full of changes.
        assert sum(len(proposed_changes(np.log(values))) for values in series) >= 20

    def test_a_clear_step_in_a_series_that_remembers_is_still_found(self) -> None:
        noise = remembering(default_rng(21), 160, 0.5)
        noise[80:] += 8
        (point,) = found(np.exp(NOISE * noise))
        assert abs(point.index - 80) <= 1

    def test_values_without_memory_rarely_seem_to_have_one(self) -> None:
        random = default_rng(22)
        reported = [autocorrelation_of(random.normal(size=80), [(0, 40), (40, 80)], seed=0) for _ in range(60)]
        assert sum(each is not None for each in reported) <= 9

    def test_a_step_between_levels_is_not_taken_for_memory(self) -> None:
        series = np.concatenate([default_rng(23).normal(size=40), 50 + default_rng(24).normal(size=40)])
        assert autocorrelation_of(series, [(0, 40), (40, 80)], seed=0) is None
        assert autocorrelation_of(series, [(0, 80)], seed=0) is not None

    def test_the_inflation_is_that_of_the_exact_covariance(self) -> None:
        autocorrelation, count = Autocorrelation(share=0.6, persistence=0.8), 12
        lags = np.abs(np.subtract.outer(np.arange(count), np.arange(count)))
        covariance = np.where(lags == 0, 1.0, 0.6 * 0.8**lags)
        for place, inflation in zip(range(2, 11), _inflation(count, autocorrelation), strict=True):
            weights = np.where(np.arange(count) < place, 1 - place / count, -place / count)
            assert inflation**2 == pytest.approx(weights @ covariance @ weights / (weights @ weights))


class TestOneStep:
    def test_p_values_without_a_step_are_uniform(self) -> None:
        random = default_rng(30)
        p_values = [StepTest(random.standard_t(3, size=15), permutations=199, seed=1).p_value() for _ in range(150)]
        # Counting stops after 20 extremes, so that large p-values are coarse: small ones have to be right.
        assert stats.binomtest(sum(p <= 0.1 for p in p_values), 150, 0.1).pvalue > 0.01
        assert stats.binomtest(sum(p <= 0.3 for p in p_values), 150, 0.3).pvalue > 0.01

    def test_the_p_value_is_the_share_of_orders_with_a_step_as_clear(self) -> None:
        # 4 beside 4 values far apart: 2 of 70 splits are as clear.
        stretch = np.array([0.0, 0.1, 0.2, 0.3, 9.0, 9.1, 9.2, 9.3])
        # The scores are not clipped here, so that the true halves alone reach the maximum: 2 x 4! x 4! of 8! orders.
        expected = 2 / math.comb(8, 4)
        assert StepTest(stretch, permutations=20_000, seed=1).p_value() == pytest.approx(expected, abs=0.006)

    def test_a_short_or_steady_stretch_has_a_p_value_of_one(self) -> None:
        for stretch in (np.array([]), np.array([1.0, 9.0, 9.0]), np.ones(20)):
            assert StepTest(stretch, permutations=99, seed=1).p_value() == 1.0


class TestProposals:
    def test_the_noise_is_that_around_the_levels_and_not_the_step_between(self) -> None:
        series = np.concatenate([default_rng(40).normal(size=500), 30 + default_rng(41).normal(size=500)])
        assert noise_of(series) == pytest.approx(1, abs=0.1)

    @pytest.mark.parametrize("share", [0.3, 0.5, 0.7])
    def test_values_that_are_equal_do_not_hide_the_noise_of_the_others(self, share: float) -> None:
        random = default_rng(43)
        series = np.concatenate([np.zeros(round(share * 1000)), 30 + random.normal(size=round((1 - share) * 1000))])
        assert 0.25 < noise_of(series) < 1.1
        residuals = series - np.where(series > 0, np.median(series[series > 0]), 0.0)
        assert spread_of(residuals, levels=2) == pytest.approx(float(residuals.std()), rel=0.1)
        assert spread_of(np.zeros(9), levels=2) == noise_of(np.zeros(9)) == 0.0

    @pytest.mark.parametrize(("bad", "proposed"), [(1, []), (2, []), (3, [20, 23])])
    def test_a_stretch_that_comes_and_goes_is_proposed_from_three_releases_on(
        self, bad: int, proposed: list[int]
    ) -> None:
        series = default_rng(42).normal(size=40)
        series[20 : 20 + bad] += 30
        assert proposed_changes(series) == proposed

    @pytest.mark.parametrize(("bad", "proposed"), [(1, []), (2, [38])])
    def test_at_the_end_two_bad_releases_are_proposed_and_one_is_not(self, bad: int, proposed: list[int]) -> None:
        series = default_rng(42).normal(size=40)
        series[-bad:] += 30
        assert proposed_changes(series) == proposed


def test_a_release_with_several_runs_counts_with_their_median() -> None:
    runs = [3.0, 1.0, 100.0, 2.0]
    assert release_value(runs) == median(runs) == 2.5
