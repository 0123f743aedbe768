"""Permutation test for one step in a stretch of a series, scanned over all places.

Under the null hypothesis every order of the values is equally likely, whatever their distribution (Fisher, 1935; Antoch
& Huskova, "Permutation tests in change point analysis", Statistics & Probability Letters 53, 2001), so the p-value is
exact for the stretch and includes the choice of the place.

The statistic is the largest standardised |mean after - mean before| over all places with two values on each side
(CUSUM; Page 1954). Values are distances from the stretch's median, clipped at 3 robust standard deviations, so that an
outlier has little weight. With autocorrelation the statistic at each place is divided by its inflated standard
deviation.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from s3bench.stats.autocorrelation import Autocorrelation
from s3bench.stats.segmentation import NORMAL, OUTLIER

SIDE_MIN = 2
"""Releases needed on each side of a step: a single one could be an outlier."""

_CHUNK_CELLS = 40_000  # permutations times values at once: fits into a cache
_ENOUGH = 20  # stop after so many permutations beyond the observed one (Besag & Clifford, Biometrika 78, 1991)
_ROUNDING = 1e-9


class StepTest:
    """The test of one stretch with a number of permutations, which `seed` makes reproducible."""

    def __init__(self, stretch: NDArray[np.float64], *, permutations: int, seed: int) -> None:
        self._scores = _scores(stretch)
        self._permutations = permutations
        self._seed = seed

    def p_value(self, autocorrelation: Autocorrelation | None = None) -> float:
        """The probability of a step as large as the largest in the stretch by chance; 1 if the stretch is too short."""
        count = self._scores.size
        if count < 2 * SIDE_MIN or not self._scores.any():
            return 1.0
        observed = float((_scan(self._scores[None])[0] / _inflation(count, autocorrelation)).max()) - _ROUNDING
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
    """Per row, the statistic at each place: as the row's mean is 0, the sum before the place gives both means."""
    count = rows.shape[1]
    places = np.arange(SIDE_MIN, count - SIDE_MIN + 1)
    sums = np.abs(np.cumsum(rows, axis=1)[:, places - 1])
    standardised: NDArray[np.float64] = sums / np.sqrt(places * (count - places) / count)
    return standardised


@lru_cache(maxsize=256)
def _inflation(count: int, autocorrelation: Autocorrelation | None) -> NDArray[np.float64]:
    """The factor by which autocorrelation inflates the statistic's standard deviation at each place; 1 without it.

    The variance of `S_k - k/m S_m` follows from those of sums of neighbours, A(k) = k + 2 sum (k - j) r_j over lags j,
    since cov(S_k, S_m) = (A(k) + A(m) - A(m - k)) / 2. Autocorrelated sums have fewer effectively different places, so
    comparing them with permutations, which are independent, is a little conservative.
    """
    places = np.arange(SIDE_MIN, count - SIDE_MIN + 1)
    if autocorrelation is None:
        return np.ones(places.size)
    lags = np.arange(1, count + 1)
    correlations = autocorrelation.share * autocorrelation.persistence**lags
    # A(k+1) - A(k) = 1 + 2 (r_1 + ... + r_k)
    growth = 1 + 2 * np.concatenate(([0.0], np.cumsum(correlations)))[:-1]
    sums = np.concatenate(([0.0], np.cumsum(growth)))
    before, whole, after = sums[places], sums[count], sums[count - places]
    part = places / count
    variances = before + part**2 * whole - part * (before + whole - after)
    inflation: NDArray[np.float64] = np.sqrt(variances / (places * (count - places) / count))
    return np.maximum(inflation, 1.0)
