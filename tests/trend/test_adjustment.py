"""Series adjusted for the machine: what it explains goes, what the client changed stays."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from s3bench.results.metrics import METRICS_BY_NAME
from s3bench.trend.adjustment import AdjustedFigures, MachineFigures, adjusted
from s3bench.trend.metric_trend import Trend, TrendPoint, trend_of

CPU_TIME = METRICS_BY_NAME["cpu_time"]


def machine_of(
    slowness: float | None, *, wait: float = 0.0, s3bench: str = "1.0", share: float = 1.0
) -> MachineFigures:
    speed = None if slowness is None else 200_000 * math.exp(-slowness)
    return MachineFigures(speed=speed, cpu_share=share, lengthening=wait, s3bench=s3bench)


def drift(count: int, *, seed: int = 1, size: float = 0.2) -> list[float]:
    """A machine that is slower by `size` in every second stretch of ten releases."""
    random = np.random.default_rng(seed)
    return [size * (release // 10 % 2) + 0.03 * random.normal() for release in range(count)]


def points(slowness: Sequence[float], *, slope: float = 1.2, step: float = 0.0, at: int = 0) -> list[TrendPoint]:
    """Releases whose CPU time follows the machine with 1 % noise, and changes by `step` at the release `at`."""
    random = np.random.default_rng(7)
    return [
        TrendPoint(
            label=f"2.{release}.0",
            value=math.exp(slope * slow + step * (release >= at) + 0.01 * random.normal()),
            beside=machine_of(slow),
        )
        for release, slow in enumerate(slowness)
    ]


def adjustment_of(points: Sequence[TrendPoint], metric: str = "cpu_time") -> AdjustedFigures:
    found = adjusted(metric, [point.value for point in points], [point.beside for point in points])
    assert found is not None
    return found


def places(trend: Trend) -> list[int]:
    return [change.point.index for change in trend.changes]


def test_a_machine_that_becomes_slower_and_faster_again_is_no_change_of_the_client() -> None:
    series = points(drift(60))
    assert places(trend_of(CPU_TIME, series, adjusts=False))
    trend = trend_of(CPU_TIME, series)
    assert places(trend) == []
    assert trend.adjustment is not None
    assert trend.adjustment.speed_slope == pytest.approx(1.2, abs=0.1)
    assert trend.adjustment.noise < trend.adjustment.noise_raw / 2
    assert trend.adjustment.figures_raw == tuple(point.value for point in series)


@pytest.mark.parametrize("step", [0.05, -0.05])
def test_a_change_of_the_client_is_not_absorbed(step: float) -> None:
    trend = trend_of(CPU_TIME, points(drift(60), step=step, at=33))
    assert places(trend) == [33]
    assert trend.changes[0].point.ratio == pytest.approx(math.exp(step), rel=0.01)
    assert trend.changes[0].warnings == ()


def test_a_change_of_the_client_at_the_same_place_as_one_of_a_drifting_machine_keeps_its_size() -> None:
    (change,) = trend_of(CPU_TIME, points(drift(60), step=0.1, at=30)).changes
    assert change.point.index == 30
    assert change.warnings == ()
    assert change.point.ratio == pytest.approx(math.exp(0.1), rel=0.02)


def test_a_change_during_which_a_drifting_machine_was_busier_has_a_warning() -> None:
    random = np.random.default_rng(2)
    slowness = [0.2 * (10 <= release < 22 or release >= 40) + 0.05 * random.normal() for release in range(60)]
    (change,) = trend_of(CPU_TIME, points(slowness, step=0.1, at=40)).changes
    assert change.point.index == 40
    assert change.warnings == (
        "the machine was faster or busier on one side of this change, which may be the cause of a part",
    )


def test_a_machine_that_stays_slower_is_told_and_the_figures_are_not_adjusted_across_it() -> None:
    random = np.random.default_rng(3)
    replaced = [0.2 * (release >= 30) + 0.03 * random.normal() for release in range(60)]
    trend = trend_of(CPU_TIME, points(replaced))
    (change,) = trend.changes
    assert change.point.index == 30
    assert change.point.ratio == pytest.approx(math.exp(1.2 * 0.2), rel=0.03)
    assert change.warnings == ("the machine changed at the same time and may be the cause",)
    (warning,) = trend.warnings
    assert warning.startswith("since 2.30.0 the machine became 2")
    assert warning.endswith("slower: the figures before and after it are not adjusted to each other")


def test_a_client_that_slows_the_core_down_itself_is_not_hidden() -> None:
    random = np.random.default_rng(3)
    moved = [0.04 * (release >= 30) + 0.005 * random.normal() for release in range(60)]
    (change,) = trend_of(CPU_TIME, points(moved, step=0.03, at=30)).changes
    assert change.point.index == 30
    assert change.point.ratio == pytest.approx(math.exp(1.2 * 0.04 + 0.03), rel=0.01)


def test_a_speed_that_changed_with_the_version_of_s3bench_divides_the_series() -> None:
    measured_otherwise = [
        replace(point, beside=machine_of(slow + 0.05 * (release >= 30), s3bench="1" if release < 30 else "2"))
        for release, (slow, point) in enumerate(zip(drift(60, size=0.0), points(drift(60, size=0.0)), strict=True))
    ]
    assert places(trend_of(CPU_TIME, measured_otherwise)) == []


def test_a_change_with_a_new_version_of_s3bench_has_a_warning_where_the_speed_was_used() -> None:
    series = [
        replace(point, beside=replace(point.beside, s3bench="1" if release < 33 else "2"))
        for release, point in enumerate(points(drift(60), step=0.1, at=33))
        if point.beside is not None
    ]
    (change,) = trend_of(CPU_TIME, series).changes
    assert "s3bench, which measures" in change.warnings[0]
    (raw, *_) = trend_of(CPU_TIME, series, adjusts=False).changes
    assert raw.warnings == ()


def test_total_time_is_adjusted_for_waits_and_for_the_speed_only_as_far_as_it_is_cpu_time() -> None:
    random = np.random.default_rng(5)
    waits = random.exponential(0.2, size=60)
    series = [
        replace(
            point,
            value=math.exp(0.6 * slow + wait + 0.01 * random.normal()),
            beside=machine_of(slow, wait=float(wait), share=0.5),
        )
        for point, slow, wait in zip(points([0.0] * 60), drift(60), waits, strict=True)
    ]
    found = adjustment_of(series, "total_time")
    assert found.speed_slope == pytest.approx(0.6, abs=0.1)
    assert found.wait_slope == pytest.approx(1.0, abs=0.05)
    assert found.noise < 0.03 < found.noise_raw


@pytest.mark.parametrize("is_later", [False, True])
def test_waits_that_came_in_some_releases_do_not_divide_a_series_before_or_after_those_that_had_none(
    *, is_later: bool
) -> None:
    waits = [0.5 * (release < 30 and release % 5 > 1) for release in range(60)]
    figures = [math.exp(wait + 0.01 * (release % 3)) for release, wait in enumerate(waits)]
    order = -1 if is_later else 1
    found = adjusted("total_time", figures[::order], [machine_of(None, wait=wait) for wait in waits[::order]])
    assert found is not None
    assert found.machine_changes == ()


def test_releases_without_covariates_keep_their_figures_with_a_warning() -> None:
    old, new = points(drift(60))[:20], points(drift(60))[20:]
    series = [replace(point, beside=None) for point in old] + new
    trend = trend_of(CPU_TIME, series)
    assert trend.figures[:20] == pytest.approx([point.value for point in old])
    assert trend.figures[20:] != pytest.approx([point.value for point in new])
    assert "20 releases without the speed of the machine: cpu_time there is as measured" in trend.warnings


def test_a_history_without_covariates_and_other_metrics_are_as_measured() -> None:
    series = points(drift(60))
    without = [replace(point, beside=None) for point in series]
    for trend in (trend_of(CPU_TIME, without), trend_of(METRICS_BY_NAME["peak_memory"], series)):
        assert trend.adjustment is None
        assert trend.figures == tuple(point.value for point in series)


def test_ratios_to_a_reference_are_not_adjusted() -> None:
    trend = trend_of(CPU_TIME, [replace(point, reference=1.0) for point in points(drift(60))])
    assert trend.is_ratio
    assert trend.adjustment is None


def test_nine_releases_with_covariates_are_too_few() -> None:
    series = points(drift(9))
    assert adjusted("cpu_time", [point.value for point in series], [point.beside for point in series]) is None


def test_the_words_tell_what_was_gained_and_what_the_figures_show_as_measured() -> None:
    trend = trend_of(CPU_TIME, points(drift(60)))
    assert trend.adjustment is not None
    assert trend.adjustment.words.startswith("adjusted for the speed of the machine: noise ")
    assert "; as measured: since 2." in trend.adjustment.words
