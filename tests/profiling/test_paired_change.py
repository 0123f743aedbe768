"""The change over pairs of runs, and when it may be noise."""

import pytest

from s3bench.profiling.explanation import PAIRS_MIN, ChangeInterval
from s3bench.profiling.paired_change import paired_change


def test_an_interval_needs_enough_pairs() -> None:
    enough = [1.0] * PAIRS_MIN
    assert paired_change(enough, [1.5] * PAIRS_MIN) == (0.5, ChangeInterval(low=0.5, high=0.5))
    assert paired_change(enough[1:], [1.5] * (PAIRS_MIN - 1)) == (0.5, ChangeInterval())


@pytest.mark.parametrize(
    ("interval", "spans_zero"),
    [
        (ChangeInterval(low=-1.0, high=2.0), True),
        (ChangeInterval(low=0.0, high=0.0), True),
        (ChangeInterval(), True),
        (ChangeInterval(low=0.1, high=2.0), False),
        (ChangeInterval(low=-2.0, high=-0.1), False),
    ],
)
def test_a_change_may_be_noise_if_zero_is_in_its_interval(interval: ChangeInterval, *, spans_zero: bool) -> None:
    assert interval.spans_zero is spans_zero


def test_one_slow_run_is_no_change() -> None:
    change, interval = paired_change([1.0] * 8, [1.001, 0.999] * 3 + [1.0, 6.0])
    assert change == pytest.approx(0, abs=0.002)
    assert interval.spans_zero


def test_what_both_runs_of_a_pair_have_in_common_does_not_widen_the_interval() -> None:
    speeds = [1.0, 3.0, 1.5, 2.0, 4.0, 1.0]
    change, interval = paired_change(speeds, [speed + 0.1 for speed in speeds])
    assert (change, interval.low, interval.high) == (pytest.approx(0.1), pytest.approx(0.1), pytest.approx(0.1))
