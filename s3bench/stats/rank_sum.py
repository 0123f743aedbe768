"""Compares two unpaired samples: Mann-Whitney test, Hodges-Lehmann shift, confidence bounds.

The null distributions are exact for small samples, with and without ties. Paired measurements have more power with
`signed_rank`.

The shift is how far `second` lies above `first`. Its test at c counts the differences `second_j - first_i` above c
(Mann & Whitney, Annals of Mathematical Statistics 18, 1947; Hollander & Wolfe, Nonparametric Statistical Methods,
4.1-4.3). Differences equal to c count neither as above nor as below: breaking such ties at random could only raise
either count, so that with repeated values `p_greater` is never too small and the bounds are never too tight.
`p_two_sided` uses midranks for ties and their exact distribution, and may therefore be smaller.
"""

import math
from collections.abc import Sequence, Sized
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from s3bench.stats.pairwise import PairwiseSums, sorted_sample

# The null distribution is exact while (smaller size)^2 * larger size is at most this: 50 and 50 values, 10 and 1,250,
# 5 and 5,000. It costs about 10 ms at most, once per pair of sizes.
_EXACT_WORK_MAX = 50 * 50 * 50
# With ties each pattern of them has its own distribution (about 1 ms for 25 and 25 values).
_EXACT_TIED_SIZE_MAX = 25


def shift(first: Sequence[float], second: Sequence[float]) -> float:
    """The median of all differences `second_j - first_i` (Hodges & Lehmann 1963); 0 for a sample against itself.

    Needs at least one value on each side.
    """
    return PairwiseSums.differences(sorted_sample(first), sorted_sample(second)).median()


def shift_bounds(first: Sequence[float], second: Sequence[float], *, alpha: float) -> tuple[float, float]:
    """The lower and the upper confidence bound of the shift, each one-sided of level `alpha`.

    Order statistics of the differences that invert the Mann-Whitney test; (-inf, inf) for too few values to reach
    `alpha`. Exact up to 50 values per side (more if the other side has fewer), then the normal approximation with
    continuity correction.
    """
    return _bounds(PairwiseSums.differences(sorted_sample(first), sorted_sample(second)), first, second, alpha)


class ShiftEstimate(NamedTuple):
    """The results of `shift`, `shift_bounds` (`low`, `high`) and `p_two_sided` (`p`) for the same two samples."""

    shift: float
    low: float
    high: float
    p: float


def estimate_shift(first: Sequence[float], second: Sequence[float], *, alpha: float) -> ShiftEstimate:
    """Shift, bounds and p-value together, from differences computed once. Needs at least one value on each side."""
    ordered = sorted_sample(first), sorted_sample(second)
    sums = PairwiseSums.differences(*ordered)
    low, high = _bounds(sums, first, second, alpha)
    return ShiftEstimate(shift=sums.median(), low=low, high=high, p=_p_two_sided(*ordered))


def _bounds(sums: PairwiseSums, first: Sequence[float], second: Sequence[float], alpha: float) -> tuple[float, float]:
    count = critical_count(*_sizes(first, second), alpha)
    if count > sums.size:
        return -math.inf, math.inf
    return sums.nth(sums.size - count), sums.nth(count - 1)


def p_greater(first: Sequence[float], second: Sequence[float], *, center: float = 0.0) -> float:
    """The one-sided p-value of "the shift is `center` or less" against "greater"; 1 where a side has no values.

    It is at most alpha exactly when the lower of `shift_bounds(first, second, alpha=alpha)` is above `center`.
    """
    sums = PairwiseSums.differences(sorted_sample(first), sorted_sample(second))
    return _tail(*_sizes(first, second), sums.count_above(center))


def p_two_sided(first: Sequence[float], second: Sequence[float]) -> float:
    """The p-value of "both come from one distribution": twice the smaller tail, at most 1; 1 where a side is empty.

    Exact up to 50 values per side, or 25 with ties (the permutation distribution of the midranks: Lehmann,
    Nonparametrics, 1975, 1.4); then the normal approximation with tie and continuity correction.
    """
    low, high = sorted_sample(first), sorted_sample(second)
    return _p_two_sided(low, high) if low.size and high.size else 1.0


def _p_two_sided(low: NDArray[np.float64], high: NDArray[np.float64]) -> float:
    """`p_two_sided` of samples in ascending order."""
    total, pairs = low.size + high.size, low.size * high.size
    pooled = np.sort(np.concatenate((low, high)))
    if (pooled[1:] > pooled[:-1]).all():
        above = int(low.searchsorted(high).sum())
        return min(1.0, 2 * _tail(*_sizes(low, high), max(above, pairs - above)))
    lefts, rights = pooled.searchsorted(pooled, "left"), pooled.searchsorted(pooled, "right")
    midranks_doubled = lefts + rights + 1
    rank_sum_doubled = int((pooled.searchsorted(low, "left") + pooled.searchsorted(low, "right") + 1).sum())
    if max(low.size, high.size) <= _EXACT_TIED_SIZE_MAX:
        at_most, at_least = _tied_tails(tuple(midranks_doubled.tolist()), low.size)
        above_least = rank_sum_doubled - low.size * int(midranks_doubled[0])
        return min(1.0, 2 * min(float(at_most[above_least]), float(at_least[above_least])))
    ties = rights - lefts
    variance = pairs / 12 * (total + 1 - float((ties**2 - 1.0).sum()) / (total * (total - 1)))
    distance = abs(rank_sum_doubled / 2 - low.size * (total + 1) / 2)
    return _two_sided_normal(distance, variance)


def _two_sided_normal(distance: float, variance: float) -> float:
    if variance <= 0:
        return 1.0  # all values are equal
    return min(1.0, math.erfc(max(0.0, distance - 0.5) / math.sqrt(2 * variance)))


def _sizes(first: Sized, second: Sized) -> tuple[int, int]:
    """The smaller size and the larger one: the null distribution is the same either way round."""
    return min(len(first), len(second)), max(len(first), len(second))


def _tail(smaller: int, larger: int, count: int) -> float:
    """The null probability that `count` or more of the differences lie above the shift."""
    if count <= 0:
        return 1.0
    if smaller * smaller * larger <= _EXACT_WORK_MAX:
        return float(exact_tail(smaller, larger)[count])
    mean = smaller * larger / 2
    deviation = math.sqrt(smaller * larger * (smaller + larger + 1) / 12)
    return 0.5 * math.erfc((count - 0.5 - mean) / deviation / math.sqrt(2))


@lru_cache(maxsize=256)
def exact_tail(smaller: int, larger: int) -> NDArray[np.float64]:
    """P(at least k) for k from 0 to m n + 1, without ties.

    The counts are the coefficients of the Gaussian binomial, the product of (1 - q^(n+i)) / (1 - q^i) for i = 1..m
    (Mann & Whitney 1947), in whole numbers; the upper half mirrors the lower.
    """
    pairs = smaller * larger
    arrangements = math.comb(smaller + larger, smaller)
    counts = np.zeros(pairs // 2 + 1, dtype=np.int64 if arrangements < 2**62 else object)
    counts[0] = 1
    for step in range(1, smaller + 1):
        if larger + step < counts.size:
            counts[larger + step :] = counts[larger + step :] - counts[: -larger - step]
        padded = np.append(counts, np.zeros(-counts.size % step, dtype=counts.dtype))
        counts = padded.reshape(-1, step).cumsum(axis=0).ravel()[: counts.size]
    at_most = [int(count) / arrangements for count in np.cumsum(counts)]
    upper = [1.0 - chance for chance in at_most]
    return np.array([1.0, *upper[: pairs - pairs // 2 - 1], *at_most[::-1], 0.0])


@lru_cache(maxsize=1024)
def critical_count(smaller: int, larger: int, alpha: float) -> int:
    """The smallest count whose tail is at most `alpha`; the number of differences plus one if there is none."""
    assert 0 < alpha < 1, "a level is a probability"
    low, high = 1, smaller * larger + 1
    while low < high:
        middle = (low + high) // 2
        if _tail(smaller, larger, middle) <= alpha:
            high = middle
        else:
            low = middle + 1
    return low


@lru_cache(maxsize=256)
def _tied_tails(midranks_doubled: tuple[int, ...], size: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """P(at most s) and P(at least s) of s, the sum of `size` of the doubled midranks, each less the smallest.

    They are drawn without replacement. `ways[k * width + s]` counts the subsets of k with sum s, whole numbers below
    2^53; in this flat order one shift adds a further midrank to all subsets.
    """
    weights = [rank - midranks_doubled[0] for rank in midranks_doubled]
    width = sum(weights[-size:]) + 1
    ways = np.zeros((size + 1) * width)
    ways[0] = 1.0
    for weight in weights:
        ways[width + weight :] += ways[: -width - weight]
    of_size, subsets = ways[size * width :], math.comb(len(weights), size)
    return of_size.cumsum() / subsets, of_size[::-1].cumsum()[::-1] / subsets
