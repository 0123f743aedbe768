"""Pairs that resemble their neighbours: found, reported, and tested with wider bounds."""

import math
import random

import pytest

from s3bench.gate.multiple_testing import decide_rows
from s3bench.gate.pair_autocorrelation import widened
from s3bench.gate.paired_series import PairedSeries
from s3bench.gate.row import GateRow, Verdict
from tests.gate.evidence_maker import only, paired
from tests.gate.simulated_gate import ZONES, SizePolicy

TIME_ALONE = SizePolicy(metrics=("total_time",), zones={"total_time": ZONES["total_time"]})
_GATES = 400


def ratios_of(correlation: float, worsening: float, seed: int, *, sigma: float = 0.05, count: int = 40) -> list[float]:
    """Candidate over baseline of pairs whose logs are a first-order autoregressive series."""
    source = random.Random(seed)
    value, found = source.gauss(), []
    for _ in range(count):
        found.append(math.exp(math.log1p(worsening) + sigma * value))
        value = correlation * value + math.sqrt(1 - correlation**2) * source.gauss()
    return found


def rows_of(correlation: float, worsening: float) -> list[GateRow]:
    return [only(decide_rows([paired(ratios_of(correlation, worsening, seed))], TIME_ALONE)) for seed in range(_GATES)]


def share_of(rows: list[GateRow], verdict: Verdict) -> float:
    return sum(row.verdict is verdict for row in rows) / len(rows)


def of_ratios(values: list[float]) -> PairedSeries:
    return PairedSeries(baseline=(1.0,) * len(values), candidate=tuple(values), is_paired=True)


def test_neighbours_that_are_alike_widen_the_bounds_around_the_same_estimate() -> None:
    series = of_ratios(ratios_of(0.8, 0.05, 1))
    found = widened(series)
    assert found.correlation > 0.5
    assert found.factor == pytest.approx(math.sqrt((1 + found.correlation) / (1 - found.correlation)))
    assert found.series.estimate() == pytest.approx(series.estimate())
    assert found.series.lower_bound(0.01) - series.estimate() == pytest.approx(
        found.factor * (series.lower_bound(0.01) - series.estimate())
    )


@pytest.mark.parametrize("count", [10, 19])
def test_fewer_than_twenty_pairs_are_not_checked(count: int) -> None:
    assert widened(of_ratios(ratios_of(0.95, 0.0, 1, count=count))).factor == 1


def test_pairs_in_turn_above_and_below_are_not_widened() -> None:
    assert widened(of_ratios([1.0 + 0.01 * (-1) ** number + number * 1e-6 for number in range(40)])).factor == 1


def test_a_metric_that_is_better_when_higher_is_widened_too() -> None:
    values = ratios_of(0.8, -0.1, 2)
    series = PairedSeries(baseline=(1.0,) * 40, candidate=tuple(values), is_paired=True, sign=-1)
    assert widened(series).series.change() == pytest.approx(series.change())


def test_the_row_warns_and_its_interval_is_wider() -> None:
    cell = paired(ratios_of(0.85, 0.02, 3))
    row = only(decide_rows([cell], TIME_ALONE))
    plain_low, plain_high = of_ratios(ratios_of(0.85, 0.02, 3)).interval()
    assert any(each.startswith("neighbouring pairs are alike (correlation 0.") for each in row.warnings)
    assert row.low is not None
    assert row.high is not None
    assert plain_low is not None
    assert plain_high is not None
    assert row.low < plain_low < plain_high < row.high


def test_with_a_correlation_of_0_4_a_change_of_d0_fails_less_often_than_the_plain_test_would() -> None:
    rows = rows_of(0.4, ZONES["total_time"].d0)
    assert share_of(rows, Verdict.FAIL) + share_of(rows, Verdict.SMALL) <= 0.04  # 5.3 % without the check


def test_without_correlation_a_slowdown_of_6_percent_is_still_found() -> None:
    rows = rows_of(0.0, 0.06)
    assert share_of(rows, Verdict.FAIL) >= 0.9
