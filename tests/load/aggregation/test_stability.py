"""When a throughput has settled."""

import numpy as np
import pytest
from scipy.stats import kendalltau, t  # type: ignore[import-untyped]

from s3bench.load.aggregation.stability import _T_QUANTILE, _TREND, SECONDS_MIN, is_settled, trend


def noisy(mean: float, share: float, count: int, *, seed: int = 1) -> list[float]:
    return list(mean * (1 + share * np.random.default_rng(seed).standard_normal(count)))


def test_ten_even_seconds_suffice_and_nine_do_not() -> None:
    assert is_settled([100.0] * SECONDS_MIN)
    assert not is_settled([100.0] * (SECONDS_MIN - 1))


def test_nothing_that_flows_evenly_has_not_settled() -> None:
    assert not is_settled([0.0] * 30)


def test_little_noise_settles_and_much_does_not() -> None:
    assert is_settled(noisy(1e9, 0.01, 20))
    assert not is_settled(noisy(1e9, 0.2, 20))


def test_much_noise_settles_when_it_has_lasted() -> None:
    assert is_settled(noisy(1e9, 0.05, 300))


def test_a_slow_rise_has_not_settled_however_narrow_the_interval() -> None:
    assert not is_settled([1000.0 + second for second in range(20)])
    assert not is_settled([1000.0 - second for second in range(20)])


def test_a_beginning_that_was_other_is_forgotten() -> None:
    assert is_settled([10.0, 500.0, 900.0, *[1000.0] * 13])


def test_a_stall_in_the_last_seconds_has_not_settled() -> None:
    assert not is_settled([1000.0] * 12 + [0.0])


def test_batches_are_longer_when_there_are_more_seconds() -> None:
    waves = [1000.0 + (100 if second % 2 else -100) for second in range(40)]
    assert not is_settled(waves[:10])
    assert is_settled(waves)


def test_the_interval_is_students() -> None:
    assert pytest.approx(t.ppf(0.975, 9), abs=1e-3) == _T_QUANTILE


def test_a_trend_is_manns_at_five_percent() -> None:
    """Of ten values in random order |S| reaches the limit in at most 5 %, and the next lower S in more."""
    values = [3.0, 1.0, 2.0, 5.0, 4.0, 7.0, 6.0, 9.0, 8.0, 10.0]
    pairs = 45
    found = kendalltau(range(10), values, method="exact")
    assert trend(values) == pytest.approx(found.statistic * pairs)
    chances = {s: _chance(s) for s in (_TREND - 2, _TREND)}
    assert chances[_TREND] < 0.05 < chances[_TREND - 2]
    assert chances[_TREND] == pytest.approx(0.047, abs=0.0005)


def _chance(limit: int) -> float:
    """The share of all orders of ten values with an |S| of `limit` at least: Kendall's recursion over inversions."""
    counts = [1]
    for size in range(2, 11):
        counts = [
            sum(counts[inversions - shift] for shift in range(size) if 0 <= inversions - shift < len(counts))
            for inversions in range(len(counts) + size - 1)
        ]
    far = sum(count for inversions, count in enumerate(counts) if abs(45 - 2 * inversions) >= limit)
    return far / sum(counts)


def test_ties_are_no_trend() -> None:
    assert trend([1.0, 1.0, 1.0]) == 0
    assert (trend([1.0, 2.0, 3.0]), trend([3.0, 2.0, 1.0]), trend([1.0, 2.0, 1.0])) == (3, -3, 0)
