"""Sample diagnostics: tests for drift, bimodality and outliers.

Each function takes the values in the order in which they were measured and returns what it found, or None; it never
removes a value. A finding must be significant and also large enough to matter, so that tiny effects on a quiet machine
are not reported.

A comparison checks thousands of samples of ten values each, for which lists are faster than arrays; arrays are used
only where the work grows with the square of the sample's size.
"""

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from statistics import median, quantiles

import numpy as np
from numpy.typing import NDArray

from s3bench.stats.pairwise import upper_triangle

_DRIFT_VALUES_MIN = 8
_DRIFT_P_VALUE = 0.01
_DRIFT_CHANGE_MIN = 0.01
_DRIFT_BLOCKS = 500  # larger samples are reduced to the medians of so many consecutive blocks
_EXACT_TREND_VALUES_MAX = 50

_MODES_VALUES_MIN = 10
_MODE_SHARE_MIN = 0.2
_MODE_DISTANCE_MIN = 0.02

_OUTLIER_VALUES_MIN = 5  # of four values, none can lie outside the fences computed from them
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

    The change is the Theil-Sen slope (Sen, JASA 63, 1968) times the length of the sample. Needs 8 values; more than 500
    are reduced to the medians of 500 consecutive blocks.
    """
    _assert_finite(values)
    if len(values) < _DRIFT_VALUES_MIN:
        return None
    times, levels = _blocks(values)
    p_value = trend_p_value(levels)
    if p_value >= _DRIFT_P_VALUE:
        return None
    rise = _slope(times, levels) * (len(values) - 1)
    middle = abs(median(values))
    if middle == 0 or abs(rise) <= _DRIFT_CHANGE_MIN * middle:
        return None
    return Drift(change=rise / middle, p_value=p_value)


def two_modes(values: Sequence[float]) -> TwoModes | None:
    """Two clusters, such as a machine that switches between two speeds; needs 10 values.

    Of the splits that leave each side a fifth of the values, the one with the least variance within (Otsu, 1979)
    must separate the sides by an Ashman's D (Ashman, Bird & Zepf, Astronomical Journal 108, 1994) above
    `_separation_min`, and their means must differ by more than 2 % of the median. Two equally frequent modes, 6
    standard deviations apart, are detected in 95 % of samples of 40 values, half of those of 20, a seventh of those of
    10.
    """
    _assert_finite(values)
    ordered, count = sorted(values), len(values)
    if count < _MODES_VALUES_MIN:
        return None
    mean = math.fsum(ordered) / count
    share_min = math.ceil(_MODE_SHARE_MIN * count)
    # The total variance is fixed, so the least variance within the sides is the most between them.
    low_sums = list(accumulate(value - mean for value in ordered))
    between = [low_sums[size - 1] ** 2 / (size * (count - size)) for size in range(share_min, count - share_min + 1)]
    split = share_min + between.index(max(between))
    low, high = ordered[:split], ordered[split:]
    low_mean, high_mean = math.fsum(low) / split, math.fsum(high) / (count - split)
    low_variance = math.fsum([(value - low_mean) ** 2 for value in low]) / (split - 1)
    high_variance = math.fsum([(value - high_mean) ** 2 for value in high]) / (count - split - 1)
    distance = high_mean - low_mean
    spread = math.sqrt((low_variance + high_variance) / 2)
    if distance <= _separation_min(count) * spread or distance <= _MODE_DISTANCE_MIN * abs(median(ordered)):
        return None
    return TwoModes(low=median(low), high=median(high), high_share=len(high) / count)


def outliers(values: Sequence[float]) -> Outliers | None:
    """Values beyond the outer fences, 3 interquartile ranges outside the quartiles, and more than 2 % off the median.

    The fences are Tukey's (Exploratory Data Analysis, 1977). Needs 5 values.
    """
    _assert_finite(values)
    if len(values) < _OUTLIER_VALUES_MIN:
        return None
    low, middle, high = quantiles(values, n=4, method="inclusive")
    fence, distance_min = _OUTER_FENCE * (high - low), _OUTLIER_DISTANCE_MIN * abs(middle)
    found = {
        position: value
        for position, value in enumerate(values)
        if not low - fence <= value <= high + fence and abs(value - middle) > distance_min
    }
    return Outliers(positions=tuple(found), values=tuple(found.values())) if found else None


def _assert_finite(values: Sequence[float]) -> None:
    assert all(map(math.isfinite, values)), "every value of a sample is finite: a failed run has no value"


def _blocks(values: Sequence[float]) -> tuple[Sequence[float], Sequence[float]]:
    """Positions and values: the sample itself, or, of a large one, the middles and medians of consecutive blocks."""
    count = len(values)
    if count <= _DRIFT_BLOCKS:
        return range(count), values
    bounds = list(pairwise(block * count // _DRIFT_BLOCKS for block in range(_DRIFT_BLOCKS + 1)))
    return [(start + end - 1) / 2 for start, end in bounds], [median(values[start:end]) for start, end in bounds]


def _slope(times: Sequence[float], levels: Sequence[float]) -> float:
    """The Theil-Sen slope (Theil 1950, Sen 1968), per unit of time."""
    earlier, later = upper_triangle(len(levels), above=1)
    at, level = np.array(times, dtype=np.float64), np.array(levels, dtype=np.float64)
    return float(np.median((level[later] - level[earlier]) / (at[later] - at[earlier])))


def _separation_min(count: int) -> float:
    """The Ashman's D that fewer than 1 % of unimodal samples of `count` values reach.

    The halves of a uniform distribution have D = sqrt(12) = 3.46, more than those of a normal, lognormal or t4 one. The
    terms for small samples were fitted to the D that 0.6 % of simulated uniform samples of 10 to 100 values reach.
    """
    return 3.5 + 6.2 / math.sqrt(count) + 100 / (count * math.sqrt(count))


def trend_p_value(values: Sequence[float]) -> float:
    """The two-sided p-value of the Mann-Kendall test (Mann, Econometrica 13, 1945).

    The statistic is the number of pairs that rise with time less the number that fall. Exact for up to 50 distinct
    values, else normal with tie and continuity correction (Kendall, Rank Correlation Methods, 1975).
    """
    count = len(values)
    rising = falling = 0
    earlier: list[float] = []
    for place, value in enumerate(values):
        below, upto = bisect_left(earlier, value), bisect_right(earlier, value)
        rising, falling = rising + below, falling + place - upto
        earlier.insert(upto, value)
    if rising + falling == math.comb(count, 2) and count <= _EXACT_TREND_VALUES_MAX:
        return min(1.0, 2 * float(inversions_at_most(count)[min(rising, falling)]))
    ties = sum(size * (size - 1) * (2 * size + 5) for size in Counter(values).values())
    variance = (count * (count - 1) * (2 * count + 5) - ties) / 18
    if variance == 0:
        return 1.0
    return math.erfc(max(0, abs(rising - falling) - 1) / math.sqrt(2 * variance))


@lru_cache(maxsize=_EXACT_TREND_VALUES_MAX)
def inversions_at_most(count: int) -> NDArray[np.float64]:
    """P(at most k falling pairs in a random order of `count` different values), for each k."""
    chances = np.ones(1)
    for size in range(2, count + 1):
        chances = np.convolve(chances, np.full(size, 1 / size))
    return chances.cumsum()
