"""Arrivals over time, and the rates that are fitted to them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3bench.load.fitting import rate_curve
from s3bench.load.fitting.arrival_counts import ArrivalCounts, ArrivalSeries
from s3bench.load.fitting.rate_curve import STRETCHES_MAX, RateCurve, fit_rates

MIDNIGHT_S = 1_772_323_200


def counted(times_s: list[float], *, bins_max: int = 1000) -> ArrivalSeries:
    counts = ArrivalCounts(1, bins_max=bins_max)
    for at_s in times_s:
        counts.add(at_s, 0)
    return counts.series()


def poisson(*rates: tuple[int, float], seed: int = 1, start_s: int = MIDNIGHT_S) -> list[float]:
    """Arrivals in whole seconds: each rate for so many seconds."""
    random = np.random.default_rng(seed)
    per_s = np.concatenate([np.full(length_s, rate) for length_s, rate in rates])
    return np.repeat(start_s + np.arange(len(per_s)), random.poisson(per_s)).astype(float).tolist()


def whole(curve: RateCurve) -> list[float]:
    return [sum(row) for row in curve.per_s]


@given(st.lists(st.integers(0, 5000), min_size=1, max_size=300), st.randoms(use_true_random=False))
def test_the_order_of_the_lines_does_not_matter_and_no_arrival_is_lost(times: list[int], random: object) -> None:
    shuffled = sorted(times, key=lambda _: random.random())  # type: ignore[attr-defined]
    one, other = (counted([float(at) for at in each], bins_max=50) for each in (times, shuffled))
    assert one.counts.sum() == other.counts.sum() == len(times)
    assert one.width_s == other.width_s
    assert one.covered_s.sum() == pytest.approx(max(times) - min(times) + 1)


def test_a_level_rate_is_one_stretch_and_its_counts_are_poisson() -> None:
    curve = fit_rates(counted(poisson((3000, 20.0))))
    assert whole(curve) == [pytest.approx(20, rel=0.02)]
    assert curve.length_s == 3000
    assert curve.dispersion == pytest.approx(1, abs=0.15)


def test_changes_and_pauses_are_found_to_the_second() -> None:
    curve = fit_rates(counted(poisson((600, 30.0), (300, 0.0), (1100, 60.0), (1000, 10.0), seed=2)))
    assert curve.after_s == (0.0, 600.0, 900.0, 2000.0)
    assert whole(curve) == [pytest.approx(rate, rel=0.05, abs=0.01) for rate in (30, 0, 60, 10)]


def test_a_rate_that_rises_slowly_is_followed_within_five_percent() -> None:
    times_s = poisson(*((10, 50 + rate) for rate in range(300)))
    curve = fit_rates(counted(times_s, bins_max=10_000))
    assert len(curve.after_s) <= STRETCHES_MAX
    for window in range(30):
        middle_s = window * 100 + 50
        found = whole(curve)[max(n for n, after_s in enumerate(curve.after_s) if after_s <= middle_s)]
        assert found == pytest.approx(50 + window * 10 + 5, rel=0.1)


def test_bursts_are_no_changes_of_the_rate() -> None:
    random = np.random.default_rng(1)
    times_s = [at_s for at_s in poisson((3000, 10.0)) for _ in range(random.geometric(1 / 5))]
    curve = fit_rates(counted(times_s))
    assert len(curve.after_s) <= 3
    assert curve.dispersion is not None
    assert curve.dispersion == pytest.approx(2 * 5 - 1, rel=0.2)  # of geometric batches of 5 on average


def test_evenly_spaced_arrivals_vary_less_than_those_of_poisson() -> None:
    curve = fit_rates(counted([n / 20 for n in range(20_000)]))
    assert curve.dispersion is not None
    assert curve.dispersion < 0.1


def test_the_stretches_of_a_profile_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_curve, "STRETCHES_MAX", 20)
    random = np.random.default_rng(1)
    rates = [(20, float(rate)) for rate in random.choice([2, 20, 100], size=200)]
    assert 10 < len(fit_rates(counted(poisson(*rates), bins_max=10_000)).after_s) <= 20


def test_a_log_of_days_becomes_one_day() -> None:
    day = ((43_200, 0.5), (43_200, 1.5))
    times_s = poisson(*day, *day)
    counts = ArrivalCounts(1)
    for at_s in times_s:
        counts.add(at_s, 0)
    series = counts.series()
    curve = fit_rates(series)
    assert series.days == pytest.approx(2, rel=0.001)
    assert curve.length_s == 86_400
    assert curve.after_s[0] == 0.0
    assert curve.after_s[1] == pytest.approx(43_200, abs=600)
    assert whole(curve)[0] == pytest.approx(0.5, rel=0.05)
    assert whole(curve)[-1] == pytest.approx(1.5, rel=0.05)


def test_groups_change_at_the_same_times_with_rates_of_their_own() -> None:
    counts = ArrivalCounts(2)
    for at_s in poisson((1000, 20.0)):
        counts.add(at_s, 0)
    for at_s in poisson((500, 5.0), (500, 40.0), seed=2):
        counts.add(at_s, 1)
    curve = fit_rates(counts.series())
    assert curve.after_s == (0.0, pytest.approx(500, abs=2))
    assert [row[1] for row in curve.per_s] == [pytest.approx(5, rel=0.1), pytest.approx(40, rel=0.05)]
    assert [row[0] for row in curve.per_s] == [pytest.approx(20, rel=0.05)] * 2


def test_days_of_a_long_log_are_folded_at_midnight_however_wide_its_bins_are() -> None:
    """A spike at noon of each of 300 days, which need bins of more than the 128 s that divide a day."""
    counts = ArrivalCounts(1, bins_max=300 * 400)
    for day in range(300):
        for at_s in range(0, 86_400, 120):
            counts.add(float(MIDNIGHT_S + day * 86_400 + at_s), 0)
        for at_s in range(3000):
            counts.add(float(MIDNIGHT_S + day * 86_400 + 43_200 + at_s), 0)
    series = counts.series()
    assert series.width_s > 128
    curve = fit_rates(series)
    assert curve.length_s == pytest.approx(86_400)
    assert series.days == pytest.approx(300, rel=0.001)
    for at_s, per_s in ((42_600, 1 / 120), (44_700, 1 + 1 / 120), (46_800, 1 / 120)):
        found = whole(curve)[max(n for n, after_s in enumerate(curve.after_s) if after_s <= at_s)]
        assert found == pytest.approx(per_s, rel=0.02)
    assert series.covered_s.sum() == pytest.approx(300 * 86_400, rel=0.001)
