"""Corrects an estimate that is reported because it was large, and its interval, for that selection.

Of all estimates that exceed a threshold, the mean is above the truth (the winner's curse), most where power is low. The
correction takes the distribution of the estimate given that it was selected: a normal one cut off at the threshold
(Zhong and Prentice, Biostatistics 9, 2008; Ghosh, Zou and Wright, American Journal of Human Genetics 82, 2008). The
interval is its inversion: the values with which so large an estimate, or so small a one, is not rare among selected
ones. The estimate is the value for which half of all selected estimates are larger: in simulations its bias is smaller
than that of the conditional maximum likelihood, which a single estimate near the threshold takes far down.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

_CELLS = 400
_REACH = 9.0  # standard errors of the normal distribution that are integrated
_VALUES = 400
_LOWEST, _HIGHEST = -15.0, 4.0  # the values tried, in standard errors from the estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateSelection:
    """An estimate of standard error `error`, from all of the data or the first part of it, was above `threshold`."""

    threshold: float
    error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectedEstimate:
    """The corrected estimate with its interval; -inf for an end that is below every value tried."""

    estimate: float
    low: float
    high: float


def selected_estimate(
    estimate: float, *, error: float, selections: Sequence[EstimateSelection] = (), confidence: float = 0.95
) -> SelectedEstimate:
    """Correct an estimate of standard error `error`, given that it, or earlier ones, were selected.

    `selections` are in the order of the data. Where the last is of all data, the estimate itself is above its
    threshold; what comes after the last selection was not selected and says more (Fithian, Sun and Taylor, Optimal
    Inference After Model Selection, arXiv 1410.2597, 2014: data carving).
    """
    assert error > 0, "an estimate without error needs no correction"
    earlier = [each for each in selections if not math.isclose(each.error, error)]
    of_all = [each.threshold for each in selections if each not in earlier]
    least = max([estimate - _REACH * error, *of_all])
    least = min(least, estimate - error / 100)
    below, above = _middles(least, estimate), _middles(estimate, estimate + _REACH * error)
    values = (estimate + error * np.linspace(_LOWEST, _HIGHEST, _VALUES)).tolist()
    both = np.concatenate([below[0], above[0]])
    log_selected = np.log(np.maximum(_selected(both, error, earlier), np.finfo(np.float64).tiny))

    @cache
    def chance_of(value: float) -> float:
        """The chance of an estimate at least as large, given its selection; rises with the true value."""
        logs = -(((both - value) / error) ** 2) / 2 + log_selected
        mass = np.exp(logs - logs.max())
        under, over = mass[:_CELLS].sum() * below[1], mass[_CELLS:].sum() * above[1]
        return float(over / (under + over))

    def value_at(chance: float) -> float:
        place = bisect_right(values, chance, key=chance_of)
        if place in {0, _VALUES}:
            return -math.inf if place == 0 else values[-1]
        between = values[place - 1 : place + 1]
        return float(np.interp(chance, [chance_of(value) for value in between], between))

    tail = (1 - confidence) / 2
    return SelectedEstimate(estimate=value_at(0.5), low=value_at(tail), high=value_at(1 - tail))


def _middles(low: float, high: float) -> tuple[NDArray[np.float64], float]:
    """The middles of equal cells between two values, and their width."""
    width = (high - low) / _CELLS
    middles = low + width * (np.arange(_CELLS, dtype=np.float64) + 0.5)
    return middles, width


def _selected(later: NDArray[np.float64], error: float, selections: Sequence[EstimateSelection]) -> NDArray[np.float64]:
    """The chance that earlier estimates were selected, given later ones of standard error `error`.

    Given a later estimate, the one before it is normal around it, whatever the true value: the later one is sufficient.
    """
    if not selections:
        return np.ones_like(later)
    *before, last = selections
    spread = math.sqrt(last.error**2 - error**2)
    if not before:
        return np.array([math.erfc((last.threshold - value) / spread / math.sqrt(2)) / 2 for value in later.tolist()])
    most = max(last.threshold, float(later.max())) + _REACH * spread
    middles, width = _middles(max(last.threshold, float(later.min()) - _REACH * spread), most)
    density = np.exp(-(((middles - later[:, np.newaxis]) / spread) ** 2) / 2) / (spread * math.sqrt(2 * math.pi))
    chances: NDArray[np.float64] = density @ _selected(middles, last.error, before) * width
    return chances
