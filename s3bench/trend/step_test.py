"""Whether one step in a stretch of a series is more than chance: a scan over all places, with permutations.

Owns the test and its p-value. The null hypothesis is that the values of the stretch came in this order by chance, of
whatever distribution; then each order was as likely (Fisher, 1935; Antoch & Huskova, "Permutation tests in change point
analysis", Statistics & Probability Letters 53, 2001), and the p-value is exact for the stretch, place included.

The statistic is the largest |mean after - mean before|, standardised, over all places that leave two values on each
side (CUSUM; Page 1954). Values count as distances from the stretch's median, none beyond 3 robust standard deviations,
so that an outlier is one value among others. If the series wanders, each place's statistic is divided by how much
more it then varies.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from s3bench.stats.autocorrelation import Autocorrelation
from s3bench.stats.segmentation import NORMAL, OUTLIER

SIDE_MIN = 2
"""A single release on one side is an outlier or not; nobody can tell."""

_CHUNK_CELLS = 40_000  # permutations times values at once: what fits a cache
_ENOUGH = 20  # permutations beyond the observed tell that it is nothing special (Besag & Clifford, Biometrika 78, 1991)
_ROUNDING = 1e-9


class StepTest:
    """The test of one stretch, with so many permutations, which `seed` fixes."""

    def __init__(self, stretch: NDArray[np.float64], *, permutations: int, seed: int) -> None:
        self._scores = _scores(stretch)
        self._permutations = permutations
        self._seed = seed

    def p_value(self, wandering: Autocorrelation | None = None) -> float:
        """The chance of a step as clear as the clearest in the stretch, without any; 1 where it is too short."""
        count = self._scores.size
        if count < 2 * SIDE_MIN or not self._scores.any():
            return 1.0
        observed = float((_scan(self._scores[None])[0] / _inflation(count, wandering)).max()) - _ROUNDING
        random = np.random.default_rng((self._seed, count))
        rows = max(1, _CHUNK_CELLS // count)
        done = beyond = 0
        while done < self._permutations and beyond < _ENOUGH:
            orders = np.broadcast_to(self._scores, (min(rows, self._permutations - done), count))
            maxima = _scan(random.permuted(orders, axis=1)).max(axis=1)
            beyond += int(np.count_nonzero(maxima >= observed))
            done += maxima.size
        return (beyond + 1) / (done + 1)


def _scores(stretch: NDArray[np.float64]) -> NDArray[np.float64]:
    """Distances from the median in robust standard deviations, at most 3 either way, with mean 0."""
    if not stretch.size:
        return stretch
    distances = stretch - np.median(stretch)
    spread = NORMAL * float(np.median(np.abs(distances))) or float(distances.std())
    if spread == 0:
        return np.zeros(stretch.size)
    scores = np.clip(distances / spread, -OUTLIER, OUTLIER)
    centered: NDArray[np.float64] = scores - scores.mean()
    return centered


def _scan(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Per row, the statistic at each place: the row's mean is 0, so the sum before tells both means."""
    count = rows.shape[1]
    places = np.arange(SIDE_MIN, count - SIDE_MIN + 1)
    sums = np.abs(np.cumsum(rows, axis=1)[:, places - 1])
    standardised: NDArray[np.float64] = sums / np.sqrt(places * (count - places) / count)
    return standardised


@lru_cache(maxsize=256)
def _inflation(count: int, wandering: Autocorrelation | None) -> NDArray[np.float64]:
    """How much larger the statistic's standard deviation is at each place when neighbours are alike: 1 if they are not.

    The variance of `S_k - k/m S_m` follows from those of sums of neighbours, A(k) = k + 2 sum (k - j) r_j over lags j,
    since cov(S_k, S_m) = (A(k) + A(m) - A(m - k)) / 2. Smooth sums have fewer places that are really different, so the
    permutations of values without memory ask a little too much.
    """
    places = np.arange(SIDE_MIN, count - SIDE_MIN + 1)
    if wandering is None:
        return np.ones(places.size)
    lags = np.arange(1, count + 1)
    correlations = wandering.share * wandering.persistence**lags
    # A(k+1) - A(k) = 1 + 2 (r_1 + ... + r_k)
    growth = 1 + 2 * np.concatenate(([0.0], np.cumsum(correlations)))[:-1]
    sums = np.concatenate(([0.0], np.cumsum(growth)))
    before, whole, after = sums[places], sums[count], sums[count - places]
    part = places / count
    variances = before + part**2 * whole - part * (before + whole - after)
    inflation: NDArray[np.float64] = np.sqrt(variances / (places * (count - places) / count))
    return np.maximum(inflation, 1.0)
