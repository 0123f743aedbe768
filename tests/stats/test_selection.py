"""The correction of an estimate for its selection, held against simulated selections and the exact normal formulas."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from s3bench.stats.selection import EstimateSelection, SelectedEstimate, selected_estimate


def test_an_estimate_far_above_the_threshold_keeps_its_interval() -> None:
    found = selected_estimate(10.0, error=1.0, selections=[EstimateSelection(threshold=0.0, error=1.0)])
    assert (found.estimate, found.low, found.high) == pytest.approx((10.0, 8.04, 11.96), abs=0.02)


def test_without_a_selection_the_interval_is_the_normal_one() -> None:
    found = selected_estimate(0.0, error=2.0, confidence=0.9)
    assert (found.estimate, found.low, found.high) == pytest.approx((0.0, -3.29, 3.29), abs=0.03)


@pytest.mark.parametrize("estimate", [2.2, 3.0, 4.0])
def test_the_ends_invert_the_truncated_normal_distribution(estimate: float) -> None:
    found = selected_estimate(estimate, error=1.0, selections=[EstimateSelection(threshold=2.0, error=1.0)])
    for value, chance in ((found.low, 0.025), (found.estimate, 0.5), (found.high, 0.975)):
        if math.isfinite(value):
            exceeding = stats.norm.sf(estimate - value) / stats.norm.sf(2.0 - value)
            assert exceeding == pytest.approx(chance, abs=0.01)


def test_an_estimate_at_the_threshold_says_little() -> None:
    found = selected_estimate(2.01, error=1.0, selections=[EstimateSelection(threshold=2.0, error=1.0)])
    assert found.low == -math.inf
    assert found.estimate < 0


SELECTIONS = {
    "all of the data": (EstimateSelection(threshold=2.0, error=1.0),),
    "the first half": (EstimateSelection(threshold=2.0, error=math.sqrt(2)),),
    "a quarter, then half": (
        EstimateSelection(threshold=1.0, error=2.0),
        EstimateSelection(threshold=2.0, error=math.sqrt(2)),
    ),
    "a quarter, then all": (EstimateSelection(threshold=2.5, error=2.0), EstimateSelection(threshold=2.0, error=1.0)),
}


def selected(truth: float, selections: Sequence[EstimateSelection]) -> list[SelectedEstimate]:
    """Estimates of error 1, from four values of error 2, that were selected."""
    rng = np.random.default_rng(7)
    found = []
    while len(found) < 400:
        values = truth + 2 * rng.standard_normal(4)
        estimates = {each: values[: round(4 / each.error**2)].mean() for each in selections}
        if all(estimates[each] > each.threshold for each in selections):
            found.append(selected_estimate(float(values.mean()), error=1.0, selections=selections))
    return found


@pytest.mark.parametrize("data", SELECTIONS)
@pytest.mark.parametrize("truth", [pytest.param(1.0, marks=pytest.mark.campaign), 2.0, 3.0])
def test_intervals_of_selected_estimates_cover_the_truth_and_half_of_the_estimates_lie_above(
    truth: float, data: str
) -> None:
    found = selected(truth, SELECTIONS[data])
    covered = sum(each.low <= truth <= each.high for each in found)
    assert covered >= stats.binom.ppf(1e-3, len(found), 0.95)
    above = sum(each.estimate > truth for each in found)
    assert stats.binom.ppf(1e-3, len(found), 0.5) <= above <= stats.binom.isf(1e-3, len(found), 0.5)


def test_fresh_data_narrow_the_interval_of_a_selected_estimate() -> None:
    alone = selected_estimate(2.1, error=1.0, selections=[EstimateSelection(threshold=2.0, error=1.0)])
    fresh = selected_estimate(2.1, error=math.sqrt(1 / 2), selections=[EstimateSelection(threshold=2.0, error=1.0)])
    assert alone.low == -math.inf
    assert fresh.high - fresh.low < 2 * 1.96  # the fresh half alone has 2 * 1.96
    assert fresh.estimate < 2.1
