"""Segmentation of a series into constant levels: proposes where the level may have changed.

It proposes generously; each proposal must then be tested (`s3bench.trend.step_test`).

Optimal partitioning (Jackson et al., IEEE Signal Processing Letters 12, 2005) with the biweight loss of Fearnhead &
Rigaill, "Changepoint Detection in the Presence of Outliers", JASA 114, 2019: the cost of a value is its squared
distance from the level in units of the noise, at most K^2, and each change costs a penalty. As the penalty is a little
above K^2, a single bad release never causes a change, not even at the end; two at the end do, and three in the middle
cause two changes. All changes are placed at once, so that two close steps, or a step and back, do not hide one another.
"""

import math

import numpy as np
from numpy.typing import NDArray

OUTLIER = 3.0
"""Distances are clipped at so many standard deviations of the noise (Fearnhead & Rigaill, 2019, section 6)."""

NORMAL = 1.4826
"""The standard deviation of normal values in units of their median absolute deviation."""

_PENALTY = OUTLIER**2 + 1
_SPACING = 0.25
_LEVELS_MAX = 400


def noise_of(series: NDArray[np.float64]) -> float:
    """The standard deviation of a value around its level, from the steps between neighbours; 0 if all are equal.

    The median absolute step over sqrt(2): the few changes of level among the steps hardly affect it. Steps of 0, as
    between releases without errors, say nothing about the noise of the other values: if there are any, the median is of
    the other steps, and at most what the mean size of all of them gives.
    """
    steps = np.abs(np.diff(series))
    moved = steps[steps > 0]
    if not moved.size:
        return 0.0
    noise = NORMAL * float(np.median(moved)) / math.sqrt(2)
    of_mean = math.sqrt(math.pi) / 2 * float(steps.mean())
    return noise if moved.size == steps.size else min(noise, of_mean)


def spread_of(residuals: NDArray[np.float64], *, levels: int) -> float:
    """The robust standard deviation of distances from the medians of so many `levels`; 0 if all distances are 0.

    A median leaves one distance of 0 at its level. More of them, as where releases have no errors, say nothing about
    the noise of the other values: then the median is of the other distances, and at most the standard deviation of all.
    """
    sizes = np.abs(residuals)
    apart = sizes[sizes > 0]
    if sizes.size - apart.size <= levels:
        return NORMAL * float(np.median(sizes)) or float(residuals.std())
    return min(NORMAL * float(np.median(apart)), float(residuals.std())) if apart.size else 0.0


def proposed_changes(series: NDArray[np.float64]) -> list[int]:
    """The first position of every level but the first, in ascending order; none if all values are equal."""
    noise = noise_of(series)
    if noise == 0:
        return []
    levels = _levels(series, noise)
    losses = np.minimum(((series[:, None] - levels) / noise) ** 2, OUTLIER**2)
    costs = losses[0]
    is_change = np.zeros(losses.shape, dtype=np.bool_)
    previous_level = np.zeros(series.size, dtype=np.intp)
    for position in range(1, series.size):
        cheapest = int(costs.argmin())
        after_change = costs[cheapest] + _PENALTY
        is_change[position], previous_level[position] = costs > after_change, cheapest
        costs = np.minimum(costs, after_change) + losses[position]
    changes, level = [], int(costs.argmin())
    for position in range(series.size - 1, 0, -1):
        if is_change[position, level]:
            changes.append(position)
            level = int(previous_level[position])
    return changes[::-1]


def _levels(series: NDArray[np.float64], noise: float) -> NDArray[np.float64]:
    """A grid a quarter of the noise apart, over the range of the medians of three neighbours; at most 400 levels."""
    padded = np.pad(series, 1, mode="edge")
    smooth = np.median(np.lib.stride_tricks.sliding_window_view(padded, 3), axis=1)
    low, high = float(smooth.min()), float(smooth.max())
    count = min(_LEVELS_MAX, 1 + math.ceil((high - low) / (_SPACING * noise)))
    return np.linspace(low, high, max(2, count))
