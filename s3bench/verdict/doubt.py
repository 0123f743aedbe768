"""What a reader should know about a sample before believing a comparison: drift, two modes, outliers.

Owns the criteria. Each function takes the values in the order in which they were measured and returns what it found,
or None; nothing is ever removed from a sample. Each asks for significance and for a size that matters, so that a quiet
machine is not accused of trifles. The report finds the words.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import quantiles

import numpy as np
from numpy.typing import NDArray

from s3bench.verdict.pairwise import finite_sample, upper_triangle

_DRIFT_VALUES_MIN = 8
_DRIFT_P_VALUE = 0.01
_DRIFT_CHANGE_MIN = 0.01
# A trend over more values than this is looked for in the medians of so many consecutive blocks.
_DRIFT_BLOCKS = 500
_EXACT_TREND_VALUES_MAX = 50

_MODES_VALUES_MIN = 10
_MODE_SHARE_MIN = 0.2
_MODE_DISTANCE_MIN = 0.02

_OUTLIER_VALUES_MIN = 5  # four values cannot reach beyond fences that they draw themselves
_OUTER_FENCE = 3.0
_OUTLIER_DISTANCE_MIN = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """The values rise or fall with time: `change` from first to last, relative to the median (0.1: up by 10 %)."""

    change: float
    p_value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoModes:
    """The values fall into two clusters: the median of each, and the share of all values in the higher one."""

    low: float
    high: float
    high_share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Outliers:
    """Values far from all others: their positions in the sample, from 0, and the values themselves."""

    positions: tuple[int, ...]
    values: tuple[float, ...]


def drift(values: Sequence[float]) -> Drift | None:
    """A trend over the run: a Mann-Kendall test at 1 % and a change of more than 1 % of the median.

    The change is the Theil-Sen slope (Sen, JASA 63, 1968) from the first value to the last. Needs 8 values; of more
    than 500, the medians of 500 consecutive blocks are looked at.
    """
    sample = finite_sample(values)
    if sample.size < _DRIFT_VALUES_MIN:
        return None
    times, levels = _blocks(sample)
    earlier, later = upper_triangle(levels.size, above=1)
    steps = levels[later] - levels[earlier]
    p_value = _trend_p_value(levels, steps)
    if p_value >= _DRIFT_P_VALUE:
        return None
    rise = float(np.median(steps / (times[later] - times[earlier]))) * (sample.size - 1)
    median = abs(float(np.median(sample)))
    if median == 0 or abs(rise) <= _DRIFT_CHANGE_MIN * median:
        return None
    return Drift(change=rise / median, p_value=p_value)


def two_modes(values: Sequence[float]) -> TwoModes | None:
    """Two clusters, such as a machine that switches between two speeds; needs 10 values.

    Of the splits that leave each side a fifth of the values, the one with the least variance within (Otsu, 1979)
    must separate the sides by an Ashman's D (Ashman, Bird & Zepf, Astronomical Journal 108, 1994) above
    `_separation_min`, and their means must differ by more than 2 % of the median. Equal modes 6 standard deviations
    apart are seen in 95 % of samples of 40 values, in half of those of 20, in a seventh of those of 10.
    """
    sample = np.sort(finite_sample(values))
    count = sample.size
    if count < _MODES_VALUES_MIN:
        return None
    centered = sample - float(sample.sum()) / count
    share_min = math.ceil(_MODE_SHARE_MIN * count)
    sizes = np.arange(share_min, count - share_min + 1)
    # The total variance is fixed, so the least within is the most between; the sums of both sides cancel.
    low_sums = np.cumsum(centered)[sizes - 1]
    split = int(sizes[np.argmax(low_sums**2 / (sizes * (count - sizes)))])
    low, high = sample[:split], sample[split:]
    # Sums rather than mean() and var(), which cost more than all the rest on ten values.
    low_mean, high_mean = float(low.sum()) / split, float(high.sum()) / (count - split)
    low_variance = float(((low - low_mean) ** 2).sum()) / (split - 1)
    high_variance = float(((high - high_mean) ** 2).sum()) / (count - split - 1)
    distance = high_mean - low_mean
    spread = math.sqrt((low_variance + high_variance) / 2)
    if distance <= _separation_min(count) * spread or distance <= _MODE_DISTANCE_MIN * abs(float(np.median(sample))):
        return None
    return TwoModes(low=float(np.median(low)), high=float(np.median(high)), high_share=high.size / count)


def outliers(values: Sequence[float]) -> Outliers | None:
    """Values beyond the outer fences, 3 interquartile ranges outside the quartiles, and more than 2 % off the median.

    The fences are Tukey's (Exploratory Data Analysis, 1977). Needs 5 values.
    """
    sample = finite_sample(values)
    if sample.size < _OUTLIER_VALUES_MIN:
        return None
    low, median, high = quantiles(sample.tolist(), n=4, method="inclusive")
    fence = _OUTER_FENCE * (high - low)
    outside = (sample < low - fence) | (sample > high + fence)
    positions = np.flatnonzero(outside & (np.abs(sample - median) > _OUTLIER_DISTANCE_MIN * abs(median)))
    if not positions.size:
        return None
    return Outliers(positions=tuple(positions.tolist()), values=tuple(sample[positions].tolist()))


def _blocks(sample: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """When and what: the values themselves, or the middles and the medians of consecutive blocks of many values."""
    positions = np.arange(sample.size, dtype=np.float64)
    if sample.size <= _DRIFT_BLOCKS:
        return positions, sample
    times = [float(block.mean()) for block in np.array_split(positions, _DRIFT_BLOCKS)]
    levels = [float(np.median(block)) for block in np.array_split(sample, _DRIFT_BLOCKS)]
    return np.array(times), np.array(levels)


def _separation_min(count: int) -> float:
    """The Ashman's D that fewer than 1 % of samples of one mode reach, for `count` values.

    Halves of a uniform distribution lie sqrt(12) = 3.46 apart, more than those of a normal, lognormal or t4 one; the
    further terms, for small samples, were fitted to what 0.6 % of simulated uniform samples of 10 to 100 values reach.
    """
    return 3.5 + 6.2 / math.sqrt(count) + 100 / (count * math.sqrt(count))


def _trend_p_value(values: NDArray[np.float64], steps: NDArray[np.float64]) -> float:
    """The two-sided p-value of the rising less the falling `steps`, each later value less each earlier one.

    The test of Mann (Econometrica 13, 1945): exact for up to 50 different values, else normal with tie and continuity
    correction (Kendall, Rank Correlation Methods, 1975).
    """
    count = values.size
    rising, falling = int(np.count_nonzero(steps > 0)), int(np.count_nonzero(steps < 0))
    if rising + falling == steps.size and count <= _EXACT_TREND_VALUES_MAX:
        return min(1.0, 2 * float(_inversions_at_most(count)[min(rising, falling)]))
    ties = np.unique(values, return_counts=True)[1]
    variance = (count * (count - 1) * (2 * count + 5) - int((ties * (ties - 1) * (2 * ties + 5)).sum())) / 18
    if variance == 0:
        return 1.0
    return math.erfc(max(0, abs(rising - falling) - 1) / math.sqrt(2 * variance))


@lru_cache(maxsize=_EXACT_TREND_VALUES_MAX)
def _inversions_at_most(count: int) -> NDArray[np.float64]:
    """P(at most k falling pairs in a random order of `count` different values), for each k."""
    chances = np.ones(1)
    for size in range(2, count + 1):
        chances = np.convolve(chances, np.full(size, 1 / size))
    return chances.cumsum()
