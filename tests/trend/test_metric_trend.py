import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from s3bench.results.metrics import METRICS_BY_NAME
from s3bench.trend.metric_trend import Trend, TrendPoint, _size, trend_of

TIME = METRICS_BY_NAME["total_time"]
MEMORY = METRICS_BY_NAME["max_memory"]
ERRORS = METRICS_BY_NAME["load.error_rate"]
RETRIES = METRICS_BY_NAME["wire.retries"]


def points(*levels: tuple[int, float], seed: int = 1) -> list[TrendPoint]:
    """Releases 2.0.0, 2.1.0 and so on, so many at each level, with 1 % noise."""
    random = np.random.default_rng(seed)
    values = [level * math.exp(0.01 * random.normal()) for count, level in levels for _ in range(count)]
    return [TrendPoint(label=f"2.{number}.0", value=value) for number, value in enumerate(values)]


def valued(values: Sequence[float]) -> list[TrendPoint]:
    return [TrendPoint(label=f"2.{number}.0", value=value) for number, value in enumerate(values)]


def only_words(trend: Trend) -> str:
    (change,) = trend.changes
    return change.words


class TestWords:
    def test_a_change_names_its_release_and_its_size_with_the_interval(self) -> None:
        trend = trend_of(TIME, points((20, 1.0), (20, 1.2)))
        (change,) = trend.changes
        assert change.words.startswith("since 2.20.0: ")
        assert "% slower (" in change.words
        assert change.words.endswith(" %)")
        assert change.releases == ("2.20.0",)
        assert change.last_before == "2.19.0"
        assert change.is_worse is True
        assert trend.words == change.words

    def test_several_releases_are_named_where_it_may_have_been_any_of_them(self) -> None:
        found = [
            change
            for seed in range(12)
            for change in trend_of(TIME, points((30, 1.0), (30, 1.02), seed=seed)).changes
            if len(change.releases) > 1
        ]
        assert any(f"since {each.releases[0]} or {each.releases[1]}:" in each.words for each in found)
        assert any(
            len(each.releases) > 2 and f"since {each.releases[0]} to {each.releases[-1]}:" in each.words
            for each in found
        )

    def test_less_time_is_faster_and_better_with_the_larger_gain_last(self) -> None:
        (change,) = trend_of(TIME, points((20, 1.0), (20, 0.8))).changes
        assert "% faster (" in change.words
        assert change.is_worse is False
        low, high = change.words.split("(")[1].removesuffix(" %)").split(" to ")
        assert 15 < float(low) <= float(high) < 25

    def test_memory_is_more_and_not_slower(self) -> None:
        assert "% more (" in only_words(trend_of(MEMORY, points((20, 1e8), (20, 1.2e8))))

    def test_a_small_change_keeps_a_decimal(self) -> None:
        assert "% slower (" in only_words(trend_of(TIME, points((40, 1.0), (40, 1.03))))
        assert "." in only_words(trend_of(TIME, points((40, 1.0), (40, 1.03)))).split(": ")[1]

    def test_no_change_and_too_few_releases_are_different_words(self) -> None:
        assert trend_of(TIME, points((30, 1.0))).words == "no change found in 30 releases"
        few = trend_of(TIME, points((5, 1.0), (4, 3.0)))
        assert few.words == "too few to find a change: 9 releases"
        assert not few.is_tested
        assert few.warnings == ("9 releases: finding a change needs at least 10",)

    def test_without_any_point_there_is_nothing_to_tell(self) -> None:
        assert trend_of(TIME, []).words == "too few to find a change: 0 releases"

    def test_hostile_labels_do_no_harm(self) -> None:
        hostile = points((20, 1.0), (20, 1.3))
        hostile[20] = replace(hostile[20], label="\x1b[2J\n\u202e" + "x" * 1_000_000)
        words = only_words(trend_of(TIME, hostile))
        assert words.isprintable()
        assert len(words) < 200


class TestFiguresOfZero:
    """A healthy release has no errors and no retries: 0 is a figure, and changes are differences."""

    def test_errors_where_there_were_none_are_found_and_are_worse(self) -> None:
        rates = [0.0] * 10 + [0.31, 0.315, 0.312, 0.318, 0.32, 0.311, 0.319, 0.313, 0.317, 0.314]
        trend = trend_of(ERRORS, valued(rates))
        (change,) = trend.changes
        assert change.words == "since 2.10.0: 31.4 points more (31.2 to 31.8 points)"
        assert (change.is_worse, change.point.ratio, trend.warnings) == (True, None, ())
        assert len(trend.points) == 20

    def test_errors_that_are_gone_are_better(self) -> None:
        (change,) = trend_of(ERRORS, valued([0.3] * 12 + [0.0] * 12)).changes
        assert change.words == "since 2.12.0: 30 points less (30 to 30 points)"
        assert change.is_worse is False

    def test_a_share_has_points_also_without_a_zero(self) -> None:
        noise = np.random.default_rng(3).normal(size=40) * 1e-4
        rates = np.where(np.arange(40) < 20, 0.01, 0.02) + noise
        assert only_words(trend_of(ERRORS, valued(rates.tolist()))).startswith("since 2.20.0: 1 point more (")

    def test_a_count_has_a_difference_if_one_is_zero_and_else_a_ratio(self) -> None:
        assert only_words(trend_of(RETRIES, valued([0.0] * 12 + [3.0] * 12))) == "since 2.12.0: 3 more (3 to 3)"
        assert only_words(trend_of(RETRIES, valued([1.0, 2.0] * 12 + [8.0, 9.0] * 12))).endswith(" %)")

    def test_where_most_values_are_equal_the_direction_is_that_of_the_means(self) -> None:
        rates = [0.0] * 50 + [0.0, 0.0, 0.05] * 17
        words = only_words(trend_of(ERRORS, valued(rates)))
        assert ": more on average (0 to " in words

    def test_a_decrease_bounded_by_0_has_no_sign(self) -> None:
        (change,) = trend_of(RETRIES, valued([3.0] * 12 + [0.0] * 12)).changes
        assert _size(RETRIES, replace(change.point, difference=-1.0, difference_low=-1.0, difference_high=0.0)) == (
            "1 less (0 to 1)"
        )

    def test_no_releases_with_errors_is_no_change(self) -> None:
        assert trend_of(ERRORS, valued([0.0] * 30)).words == "no change found in 30 releases"
        assert trend_of(ERRORS, valued([-1.0, math.nan])).warnings[0] == (
            "2 releases left out: without a figure, or with one below 0"
        )

    def test_a_reference_is_not_used_and_that_is_said(self) -> None:
        beside = [replace(point, reference=1.0) for point in valued([0.0] * 10 + [0.3] * 10)]
        trend = trend_of(ERRORS, beside)
        assert not trend.is_ratio
        assert "the reference release is not used: a share, or a count of 0, has no ratio to it" in trend.warnings


class TestReferences:
    def test_a_machine_that_slows_down_does_not_change_the_ratios(self) -> None:
        beside = [replace(point, reference=point.value) for point in points((20, 1.0), (20, 1.5))]
        trend = trend_of(TIME, beside)
        assert trend.is_ratio
        assert trend.figures == (1.0,) * 40
        assert trend.changes == ()

    def test_a_change_of_the_ratio_is_found_although_the_value_stays(self) -> None:
        steady = points((40, 1.0))
        beside = [replace(point, reference=1.0 if number < 20 else 0.8) for number, point in enumerate(steady)]
        assert only_words(trend_of(TIME, beside)).startswith("since 2.20.0: 2")

    def test_releases_without_a_reference_are_left_out_where_most_have_one(self) -> None:
        some = [replace(point, reference=1.0 if number % 3 else None) for number, point in enumerate(points((30, 1.0)))]
        trend = trend_of(TIME, some)
        assert trend.is_ratio
        assert len(trend.points) == 20
        assert "10 releases left out: no reference release was measured with it" in trend.warnings

    def test_few_references_are_not_used(self) -> None:
        few = [replace(point, reference=1.0 if number < 5 else None) for number, point in enumerate(points((30, 1.0)))]
        trend = trend_of(TIME, few)
        assert not trend.is_ratio
        assert len(trend.points) == 30


class TestDoubts:
    @pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
    def test_figures_without_a_logarithm_are_left_out_and_said(self, bad: float) -> None:
        some = points((20, 1.0))
        some[3] = replace(some[3], value=bad)
        trend = trend_of(TIME, some)
        assert len(trend.points) == 19
        assert trend.warnings == ("1 release left out: without a figure, or with one of 0",)

    def test_a_series_that_goes_up_and_down_has_a_warning(self) -> None:
        trend = trend_of(TIME, points((15, 1.0), (15, 1.2), (15, 1.0), (15, 1.2)))
        assert len(trend.changes) == 3
        assert any("go up and down" in warning for warning in trend.warnings)

    def test_a_series_that_is_autocorrelated_has_a_warning(self) -> None:
        random = np.random.default_rng(3)
        noise = random.normal(size=100)
        for number in range(1, 100):
            noise[number] += 0.8 * noise[number - 1]
        drifting = [TrendPoint(label=str(number), value=math.exp(0.01 * each)) for number, each in enumerate(noise)]
        assert any("neighbouring releases are alike" in warning for warning in trend_of(TIME, drifting).warnings)
