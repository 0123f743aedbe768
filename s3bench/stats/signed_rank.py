"""Wilcoxon's signed-rank test of paired differences, with the Hodges-Lehmann estimate and confidence bounds.

The caller forms the differences; for a gate they are log-ratios, one per pair.

The statistic at a centre c is the number of Walsh averages `(x_i + x_j) / 2`, i <= j, above c, which without ties is
the sum of the ranks of the values above c (Tukey, "The Simplest Signed-Rank Tests", 1949; Hollander & Wolfe,
Nonparametric Statistical Methods, 3.1-3.3). Averages equal to c count neither as above nor as below: breaking such
ties at random could only raise either count, so that p-values are never too small nor bounds too tight where values
repeat, or equal the centre. The test assumes only that the values are distributed symmetrically around their centre.
"""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from s3bench.stats.pairwise import PairwiseSums, sorted_sample

PAIRS_OF_T_TEST = math.pi / 3
"""Pairs of the signed-rank test for one of the t test on normal noise (Hollander & Wolfe, section 3.11)."""

EXACT_VALUES_MAX = 200
"""Up to so many values the null distribution is exact.

The normal approximation with continuity correction, used beyond, is conservative: its tail is too large by 1 % of
itself at 1 %, by 5 % at 0.1 %.
"""


class SignedRankTest:
    """The test of one sample, whose Walsh averages are formed once for all that is asked."""

    def __init__(self, values: Sequence[float]) -> None:
        self._size = len(values)
        self._averages = PairwiseSums.walsh_averages(sorted_sample(values))

    def hodges_lehmann(self) -> float:
        """The median of all Walsh averages, i <= j (Hodges & Lehmann, Annals of Mathematical Statistics 34, 1963).

        Needs at least one value.
        """
        return self._averages.median()

    def lower_bound(self, alpha: float) -> float:
        """The lower confidence bound of level `alpha`: the centre lies below it with at most that probability.

        It is the order statistic of the Walsh averages that inverts the signed-rank test against "greater" (Tukey
        1949); -inf for too few values to reach `alpha`. Exact up to `EXACT_VALUES_MAX` values, then the normal
        approximation with continuity correction.
        """
        count = critical_count(self._size, alpha)
        return self._averages.nth(self._averages.size - count) if count <= self._averages.size else -math.inf

    def upper_bound(self, alpha: float) -> float:
        """The upper confidence bound of level `alpha`, as `lower_bound`; +inf for too few values."""
        count = critical_count(self._size, alpha)
        return self._averages.nth(count - 1) if count <= self._averages.size else math.inf

    def p_above(self, center: float) -> float:
        """The one-sided p-value of "the centre is `center` or less" against "greater"; 1 where there are no values.

        It is at most alpha exactly when `lower_bound(alpha) > center`, ties and zeros included.
        """
        return _tail(self._size, self._averages.count_above(center))

    def p_below(self, center: float) -> float:
        """The one-sided p-value of "the centre is `center` or more" against "less"; 1 where there are no values.

        It is at most alpha exactly when `upper_bound(alpha) < center`, ties and zeros included.
        """
        return _tail(self._size, self._averages.count_below(center))


def hodges_lehmann(values: Sequence[float]) -> float:
    """`SignedRankTest.hodges_lehmann` of `values`."""
    return SignedRankTest(values).hodges_lehmann()


def _tail(size: int, count: int) -> float:
    """The null probability that `count` or more of the Walsh averages of `size` values lie above the centre."""
    if count <= 0:
        return 1.0
    if size <= EXACT_VALUES_MAX:
        return float(exact_tail(size)[count])
    mean = size * (size + 1) / 4
    deviation = math.sqrt(size * (size + 1) * (2 * size + 1) / 24)
    return 0.5 * math.erfc((count - 0.5 - mean) / deviation / math.sqrt(2))


@lru_cache(maxsize=128)
def exact_tail(size: int) -> NDArray[np.float64]:
    """P(at least k) for k from 0 to n(n+1)/2 + 1: each rank 1..n joins the sum with probability one half.

    All terms are positive multiples of 2^-n: exact in doubles up to n = 53, and within 1e-13 of themselves beyond.
    """
    chances = np.zeros(size * (size + 1) // 2 + 1)
    chances[0] = 1.0
    for rank in range(1, size + 1):
        chances[rank:] += chances[:-rank].copy()
        chances *= 0.5
    # The distribution is symmetric; summing from the small end keeps the precision of a small tail.
    at_most = np.minimum(np.cumsum(chances), 1.0)
    return np.append(at_most[::-1], 0.0)


@lru_cache(maxsize=1024)
def critical_count(size: int, alpha: float) -> int:
    """The smallest count whose tail is at most `alpha`; the number of averages plus one if there is none."""
    assert 0 < alpha < 1, "a level is a probability"
    low, high = 1, size * (size + 1) // 2 + 1
    while low < high:
        middle = (low + high) // 2
        if _tail(size, middle) <= alpha:
            high = middle
        else:
            low = middle + 1
    return low
