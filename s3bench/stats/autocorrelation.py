"""Detects autocorrelation within the levels of a series and estimates how strong it is.

Releases measured on one machine, one after the other, share its temperature, its neighbours and the age of its disk.
Neighbouring values are then alike, and a stretch of them can lie above or below the rest without any change of the
program.

The model is white noise plus a first-order autoregressive part, so that values k apart have the correlation
`share * persistence^k`. It is fitted to the variogram within the levels (Cressie, Statistics for Spatial Data, 1993,
2.4), where no step can disturb it. Fluctuations much slower than the levels are long cannot be distinguished from
changes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from s3bench.stats.segmentation import OUTLIER, spread_of

_VALUES_MIN = 20
_LAGS_MAX = 10
_PAIRS_MIN = 6
_PERMUTATIONS = 199
_P_VALUE = 0.05
_NEIGHBOURS_Z = NormalDist().inv_cdf(0.95)
_NEIGHBOURS_MOST = 0.9
_PERSISTENCES = (0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98)

Segments = Sequence[tuple[int, int]]
"""The levels of a series: the first position of each, and the position after its last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Autocorrelation:
    """The share of the variance that is autocorrelated, 0 to 1, and the correlation of that part at lag 1."""

    share: float
    persistence: float


def residuals_of(series: NDArray[np.float64], segments: Segments) -> NDArray[np.float64]:
    """Distances from the median of each value's level, clipped at 3 robust standard deviations."""
    residuals = np.concatenate([series[start:stop] - np.median(series[start:stop]) for start, stop in segments])
    spread = spread_of(residuals, levels=len(segments))
    clipped: NDArray[np.float64] = np.clip(residuals, -OUTLIER * spread, OUTLIER * spread)
    return clipped


def autocorrelation_of(series: NDArray[np.float64], segments: Segments, *, seed: int) -> Autocorrelation | None:
    """The autocorrelation around the levels; `None` if it is not significant at 5 % or there are fewer than 20 values.

    The statistic compares the differences of neighbours with those of values further apart (von Neumann, Annals of
    Mathematical Statistics 12, 1941, for several lags); its p-value comes from permutations of each level's values.
    """
    if series.size < _VALUES_MIN:
        return None
    residuals = residuals_of(series, segments)
    if not residuals.any():
        return None
    owners = np.repeat(np.arange(len(segments)), [stop - start for start, stop in segments])
    pairs = {lag: np.flatnonzero(owners[lag:] == owners[:-lag]) for lag in range(1, _LAGS_MAX + 1)}
    pairs = {lag: firsts for lag, firsts in pairs.items() if firsts.size >= _PAIRS_MIN}
    if len(pairs) < 3:  # noqa: PLR2004 (two unknowns)
        return None
    random = np.random.default_rng((seed, series.size))
    permuted = np.concatenate(
        [
            random.permuted(np.broadcast_to(residuals[start:stop], (_PERMUTATIONS, stop - start)), axis=1)
            for start, stop in segments
        ],
        axis=1,
    )
    observed = _variogram(residuals[None], pairs)
    as_extreme = np.count_nonzero(_von_neumann_ratio(_variogram(permuted, pairs)) <= _von_neumann_ratio(observed)[0])
    if (1 + as_extreme) / (1 + _PERMUTATIONS) > _P_VALUE:
        return None
    return _fitted(np.array(list(pairs)), observed[0], np.array([firsts.size for firsts in pairs.values()]))


def _variogram(rows: NDArray[np.float64], pairs: dict[int, NDArray[np.intp]]) -> NDArray[np.float64]:
    """Per row and lag, half the mean square of the differences of values that far apart in one level."""
    columns = [((rows[:, firsts + lag] - rows[:, firsts]) ** 2).mean(axis=1) / 2 for lag, firsts in pairs.items()]
    return np.stack(columns, axis=1)


def _von_neumann_ratio(variogram: NDArray[np.float64]) -> NDArray[np.float64]:
    """The first lag over the mean of the others: about 1 for independent values, less for autocorrelated ones."""
    others: NDArray[np.float64] = np.maximum(variogram[:, 1:].mean(axis=1), np.finfo(np.float64).tiny)
    return variogram[:, 0] / others


def _fitted(lags: NDArray[np.intp], variogram: NDArray[np.float64], counts: NDArray[np.intp]) -> Autocorrelation | None:
    """The least-squares fit of the model, each lag weighted by its number of pairs."""
    found, least = None, np.inf
    for persistence in _PERSISTENCES:
        growth = 1 - persistence**lags
        weights = np.sqrt(counts)
        design = np.stack([np.ones(lags.size), growth], axis=1)
        independent, correlated = np.linalg.lstsq(design * weights[:, None], variogram * weights, rcond=None)[0]
        if independent < 0:
            independent, correlated = 0.0, float((counts * growth * variogram).sum() / (counts * growth**2).sum())
        squares = float((counts * (independent + correlated * growth - variogram) ** 2).sum())
        if correlated > 0 and squares < least:
            share = float(correlated / (independent + correlated))
            found, least = Autocorrelation(share=share, persistence=persistence), squares
    return found


def neighbour_correlation(values: Sequence[float]) -> float:
    """The correlation of neighbours; 0 if it is not significantly positive at 5 %, or of fewer than 20 values.

    The test is the rank version of von Neumann's ratio with its normal approximation (Bartels, JASA 77, 1982), which
    outliers do not disturb and which takes no permutations. The estimate is 0.9 at most.
    """
    size = len(values)
    if size < _VALUES_MIN:
        return 0.0
    ordered = np.sort(values)
    ranks = (np.searchsorted(ordered, values, side="left") + np.searchsorted(ordered, values, side="right")) / 2
    spread = float(((ranks - ranks.mean()) ** 2).sum())
    if spread == 0:
        return 0.0
    ratio = float((np.diff(ranks) ** 2).sum()) / spread
    variance = 4 * (size - 2) * (5 * size**2 - 2 * size - 9) / (5 * size * (size + 1) * (size - 1) ** 2)
    if (2 - ratio) / math.sqrt(variance) <= _NEIGHBOURS_Z:
        return 0.0
    return min(1 - ratio / 2, _NEIGHBOURS_MOST)
