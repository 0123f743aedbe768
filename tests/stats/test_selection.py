"""The correction of an estimate for its selection, held against simulated selections and the exact normal formulas."""

import math

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from s3bench.stats.selection import EarlierSelection, SelectedEstimate, selected_estimate


def test_an_estimate_far_above_the_threshold_keeps_its_interval() -> None:
    found = selected_estimate(10.0, error=1.0, threshold=0.0)
    assert (found.estimate, found.low, found.high) == pytest.approx((10.0, 8.04, 11.96), abs=0.02)


def test_without_a_selection_the_interval_is_the_normal_one() -> None:
    found = selected_estimate(0.0, error=2.0, confidence=0.9)
    assert (found.estimate, found.low, found.high) == pytest.approx((0.0, -3.29, 3.29), abs=0.03)


@pytest.mark.parametrize("estimate", [2.2, 3.0, 4.0])
def test_the_ends_invert_the_truncated_normal_distribution(estimate: float) -> None:
    found = selected_estimate(estimate, error=1.0, threshold=2.0)
    for value, chance in ((found.low, 0.025), (found.estimate, 0.5), (found.high, 0.975)):
        if math.isfinite(value):
            exceeding = stats.norm.sf(estimate - value) / stats.norm.sf(2.0 - value)
            assert exceeding == pytest.approx(chance, abs=0.01)


def test_an_estimate_at_the_threshold_says_little() -> None:
    found = selected_estimate(2.01, error=1.0, threshold=2.0)
    assert found.low == -math.inf
    assert found.estimate < 0


def selected(truth: float, *, earlier: bool) -> list[SelectedEstimate]:
    """Estimates of error 1 that were selected above 2, or whose first half was."""
    rng = np.random.default_rng(7)
    found = []
    while len(found) < 400:
        first, second = truth + math.sqrt(2) * rng.standard_normal(2)
        whole = (first + second) / 2
        if earlier and first > 2:
            half = EarlierSelection(threshold=2.0, error=math.sqrt(2))
            found.append(selected_estimate(float(whole), error=1.0, earlier=half))
        if not earlier and whole > 2:
            found.append(selected_estimate(float(whole), error=1.0, threshold=2.0))
    return found


@pytest.mark.parametrize(
    ("truth", "earlier"),
    [
        (1.0, True),
        (2.0, False),
        (3.0, True),
        *(pytest.param(*case, marks=pytest.mark.campaign) for case in ((1.0, False), (2.0, True), (3.0, False))),
    ],
)
def test_intervals_of_selected_estimates_cover_the_truth_and_half_of_the_estimates_lie_above(
    truth: float, *, earlier: bool
) -> None:
    found = selected(truth, earlier=earlier)
    covered = sum(each.low <= truth <= each.high for each in found)
    assert covered >= stats.binom.ppf(1e-3, len(found), 0.95)
    above = sum(each.estimate > truth for each in found)
    assert stats.binom.ppf(1e-3, len(found), 0.5) <= above <= stats.binom.isf(1e-3, len(found), 0.5)
