"""The indifference zone: relative limits, the absolute floor, and the option that sets them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from s3bench.errors import BadInput
from s3bench.gate.indifference_zone import (
    MEMORY_INDIFFERENCE_ZONE,
    TIME_INDIFFERENCE_ZONE,
    IndifferenceZone,
    default_indifference_zone,
    judged_by_size,
    log_worsening,
    parse_indifference_zone,
    relative_worsening,
    render_indifference_zone,
)
from s3bench.gate.policy import check_gating
from s3bench.results.metrics import METRICS_BY_NAME

ABLE = judged_by_size()
THROUGHPUT_ZONE = IndifferenceZone(d0=0.02, d1=0.06, floor=0, is_drop=True)


def test_the_limits_of_a_large_baseline_are_the_relative_ones() -> None:
    limits = TIME_INDIFFERENCE_ZONE.limits(10.0)
    assert (limits.d0, limits.d1) == (math.log1p(0.02), math.log1p(0.06))


def test_the_floor_lifts_the_limits_of_a_small_baseline() -> None:
    limits = TIME_INDIFFERENCE_ZONE.limits(0.010)  # of which 0.5 ms are 5 %
    assert limits.d0 == pytest.approx(math.log(1.05))
    assert limits.d1 == pytest.approx(math.log(1.15))


@pytest.mark.parametrize("baseline_s", [0.001, 0.010, 0.024, 0.031, 0.5])
def test_the_limits_of_a_short_program_do_not_meet(baseline_s: float) -> None:
    limits = TIME_INDIFFERENCE_ZONE.limits(baseline_s)
    assert math.expm1(limits.d1) == pytest.approx(3 * math.expm1(limits.d0))


@pytest.mark.parametrize("baseline_s", [0.001, 0.010, 0.024, 0.031, 0.1, 0.5])
def test_no_limit_of_time_is_wider_than_with_a_floor_of_2_ms_for_both(baseline_s: float) -> None:
    limits = TIME_INDIFFERENCE_ZONE.limits(baseline_s)
    assert math.expm1(limits.d0) <= max(0.02, 0.002 / baseline_s) + 1e-12
    assert math.expm1(limits.d1) <= max(0.06, 0.002 / baseline_s) + 1e-12


def test_the_floor_of_memory_leaves_room_for_small_changes_too() -> None:
    limits = MEMORY_INDIFFERENCE_ZONE.limits(1024 * 1024.0)
    assert (limits.d0, limits.d1) == (math.log(1.25), math.log(1.75))


def test_a_floor_without_a_relative_d0_keeps_the_distance_between_the_limits() -> None:
    limits = IndifferenceZone(d0=0.0, d1=0.05, floor=0.1).limits(1.0)
    assert (limits.d0, limits.d1) == (math.log1p(0.1), pytest.approx(math.log(1.15)))


@pytest.mark.parametrize("baseline", [0.0, -1.0, math.inf])
def test_no_baseline_to_speak_of_leaves_the_relative_limits(baseline: float) -> None:
    assert TIME_INDIFFERENCE_ZONE.limits(baseline).d0 == math.log1p(0.02)


def test_half_a_zone_is_half_in_every_limit() -> None:
    assert IndifferenceZone(d0=0.02, d1=0.06, floor=0.002).halved() == IndifferenceZone(d0=0.01, d1=0.03, floor=0.001)


def test_times_memory_and_throughput_have_indifference_zones_and_counts_and_neutral_ones_have_not() -> None:
    assert default_indifference_zone(METRICS_BY_NAME["total_time"]) == IndifferenceZone(d0=0.02, d1=0.06, floor=0.0005)
    assert default_indifference_zone(METRICS_BY_NAME["peak_memory"]) == IndifferenceZone(d0=0.01, d1=0.03, floor=262144)
    assert default_indifference_zone(METRICS_BY_NAME["throughput"]) == THROUGHPUT_ZONE
    assert default_indifference_zone(METRICS_BY_NAME["wire.requests"]) is None
    assert default_indifference_zone(METRICS_BY_NAME["wire.bytes_sent"]) is None


def test_an_option_sets_a_zone_and_its_floor() -> None:
    assert parse_indifference_zone("total_time=1%,4.5%,500us") == (
        "total_time",
        IndifferenceZone(d0=0.01, d1=0.045, floor=0.0005),
    )
    assert parse_indifference_zone(" cpu_time = 0%, 5%, 2s") == (
        "cpu_time",
        IndifferenceZone(d0=0.0, d1=0.05, floor=2.0),
    )
    assert parse_indifference_zone("peak_memory=2%,5%,1MiB") == (
        "peak_memory",
        IndifferenceZone(d0=0.02, d1=0.05, floor=1048576.0),
    )


def test_an_option_without_floor_keeps_the_metrics_own() -> None:
    assert parse_indifference_zone("peak_memory=2%,5%")[1].floor == MEMORY_INDIFFERENCE_ZONE.floor


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("total_time=2,6%", "is not a percentage"),
        ("total_time=x%,6%", "could not convert"),
        ("total_time=6%,2%", "below the second"),
        ("total_time=2%,2%", "below the second"),
        ("total_time=-1%,2%", "no value negative"),
        ("total_time=2%,inf%", "infinite"),
        ("total_time=nan%,6%", "below the second"),
        ("total_time=2%,6%,nanms", "not a duration"),
        ("total_time=2%,6%,infs", "not a duration"),
        ("total_time=2%,6%,-1ms", "below 0"),
        ("total_time=2%,6%,5", 'the floor is "5", which is not a duration; write it like 20ms'),
        ("peak_memory=2%,6%,5ms", 'the floor is "5ms", which is not a size'),
        ("total_time=2%", "two limits"),
        ("total_time=2%,3%,4ms,5", "two limits"),
        ("total_time", "two limits"),
    ],
)
def test_a_wrong_zone_is_reported_with_a_right_one(text: str, reported: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_indifference_zone(text)
    assert reported in caught.value.why
    assert "2%,6%" in caught.value.fix or "1%,3%" in caught.value.fix


@pytest.mark.parametrize("name", ["totaltime", "", "wire.requests", "max_cpu", "harness.turnaround_time"])
def test_a_metric_that_cannot_be_judged_by_size_is_reported_with_those_that_can(name: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_indifference_zone(f"{name}=2%,6%")
    assert repr(name) in caught.value.what
    assert "total_time" in caught.value.fix
    assert "harness." not in caught.value.fix


def test_the_metrics_of_an_indifference_zone_are_those_that_may_gate() -> None:
    assert check_gating(ABLE) == ABLE
    assert {"total_time", "load.latency.p99"} < set(ABLE) < set(METRICS_BY_NAME)


@pytest.mark.parametrize("name", ABLE)
def test_every_default_is_read_as_it_is_rendered(name: str) -> None:
    metric = METRICS_BY_NAME[name]
    zone = default_indifference_zone(metric)
    assert zone is not None
    assert parse_indifference_zone(f"{name}={render_indifference_zone(zone, metric)}") == (name, zone)


@given(st.floats(1e-6, 1e12), st.floats(0, 1), st.floats(1e-6, 1), st.just(0.0) | st.floats(1e-9, 1e9))
def test_limits_never_fall_below_the_relative_ones_and_never_cross(
    baseline: float, d0: float, more: float, floor: float
) -> None:
    zone = IndifferenceZone(d0=d0, d1=d0 + more, floor=floor)
    limits = zone.limits(baseline)
    assert math.log1p(d0) <= limits.d0 <= limits.d1
    assert math.expm1(limits.d0) * baseline >= floor * (1 - 1e-9)


def test_a_limit_of_a_decrease_is_reached_when_so_much_of_the_baseline_is_missing() -> None:
    limits = THROUGHPUT_ZONE.limits(1e6)
    assert (limits.d0, limits.d1) == (pytest.approx(-math.log(0.98)), pytest.approx(-math.log(0.94)))
    assert replace(THROUGHPUT_ZONE, is_drop=False).limits(1e6).d1 == math.log1p(0.06)


@given(st.floats(0, 0.99), st.booleans())
def test_a_relative_worsening_comes_back_from_its_log_ratio(relative: float, is_drop: bool) -> None:
    log_ratio = log_worsening(relative, is_drop=is_drop)
    assert relative_worsening(log_ratio, is_drop=is_drop) == pytest.approx(relative)


@pytest.mark.parametrize("floor", [0.0, 2e6])
def test_a_floor_beyond_the_baseline_leaves_a_decrease_that_no_candidate_reaches(floor: float) -> None:
    limits = replace(THROUGHPUT_ZONE, floor=floor, d1=0.9).limits(1e6)
    assert 0 < limits.d0 <= limits.d1 < math.inf
    assert (limits.d0 > 6) is (floor > 0)


@pytest.mark.parametrize("name", ["throughput", "load.operations_rate"])
def test_an_option_sets_decreases_where_higher_is_better(name: str) -> None:
    assert parse_indifference_zone(f"{name}=10%,50%") == (name, replace(THROUGHPUT_ZONE, d0=0.1, d1=0.5))
    with pytest.raises(BadInput) as caught:
        parse_indifference_zone(f"{name}=10%,100%")
    assert caught.value.why == f"the limits of {name} are decreases, and must be below 100%"
    assert not parse_indifference_zone("total_time=10%,100%")[1].is_drop
