"""Fits rates that are constant between changes to arrivals over time.

Where the rates change is found by optimal partitioning (Jackson et al., IEEE Signal Processing Letters 12, 2005) with
the Poisson likelihood of all groups. A change costs as much as the Bayesian information criterion has it (Schwarz,
Annals of Statistics 6, 1978), times the dispersion of the counts, since bursts are not changes of the rate; more where
there would be more than `STRETCHES_MAX` stretches.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from s3bench.load.fitting.arrival_counts import ArrivalSeries

STRETCHES_MAX = 96
"""The most stretches: a quarter of an hour each, if they are equally long and the log has a day."""

_BINS = 512  # between which changes are looked for
_DEARER = 1.5

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class RateCurve:
    """Rates by time: `per_s` has a row for each stretch and a column for each group; `after_s` is when each begins.

    `dispersion` is the variance of the counts in `window_s` over their mean, around the fitted rates: 1 of a Poisson
    process, more if arrivals come in bursts, less if they are evenly spaced. It is `None` with too few counts.
    """

    after_s: tuple[float, ...]
    per_s: tuple[tuple[float, ...], ...]
    length_s: float
    dispersion: float | None
    window_s: float


def fit_rates(series: ArrivalSeries) -> RateCurve:
    """Fit the rates of all groups, which change at the same times."""
    length = series.counts.shape[1]
    size = math.ceil(length / _BINS)
    starts = np.arange(0, length, size)
    counts = np.add.reduceat(series.counts, starts, axis=1)
    covered_s = np.add.reduceat(series.covered_s, starts)
    penalty = (1 + counts.shape[0] / 2) * math.log(max(2, len(starts))) * max(1.0, _dispersion_of_steps(counts))
    changes = _changes(counts, covered_s, penalty)
    while len(changes) >= STRETCHES_MAX:
        penalty *= _DEARER
        changes = _changes(counts, covered_s, penalty)
    bounds = [0, *(int(starts[change]) for change in changes), length]
    sums = np.add.reduceat(series.counts, bounds[:-1], axis=1)
    lengths_s = np.add.reduceat(series.covered_s, bounds[:-1])
    per_s = sums / lengths_s
    steps_s = series.covered_s if series.days <= 1 else np.full(length, series.width_s)
    offset_s = np.concatenate(([0.0], np.cumsum(steps_s)))
    levels = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    return RateCurve(
        after_s=tuple(float(offset_s[bound]) for bound in bounds[:-1]),
        per_s=tuple(tuple(row) for row in per_s.T.tolist()),
        length_s=float(offset_s[-1]),
        dispersion=_dispersion(series, per_s.sum(axis=0)[levels], len(bounds) - 1),
        window_s=series.width_s,
    )


def _dispersion(series: ArrivalSeries, per_s: Floats, stretches: int) -> float | None:
    expected = per_s * series.covered_s
    is_known = expected > 0
    freedom = int(is_known.sum()) - stretches
    if freedom < 1:
        return None
    residuals = series.counts.sum(axis=0)[is_known] - expected[is_known]
    return float((residuals**2 / expected[is_known]).sum() / freedom)


def _dispersion_of_steps(counts: Floats) -> float:
    """The variance of neighbouring counts over their mean, from their differences (von Neumann, 1941)."""
    whole = counts.sum(axis=0)
    sums = whole[1:] + whole[:-1]
    is_known = sums > 0
    return float((np.diff(whole)[is_known] ** 2 / sums[is_known]).mean()) if is_known.any() else 1.0


def _changes(counts: Floats, covered_s: Floats, penalty: float) -> list[int]:
    """The first bin of every stretch but the first, ascending."""
    ends = np.concatenate((np.zeros((len(counts), 1)), np.cumsum(counts, axis=1)), axis=1)
    ends_s = np.concatenate(([0.0], np.cumsum(covered_s)))
    best = np.zeros(len(ends_s))
    last = np.zeros(len(ends_s), dtype=np.int64)
    for end in range(1, len(ends_s)):
        sums = ends[:, end, None] - ends[:, :end]
        lengths_s = ends_s[end] - ends_s[:end]
        logarithms = np.log(np.where(sums > 0, sums / lengths_s, 1.0))
        costs = best[:end] - (sums * logarithms).sum(axis=0) + penalty * (np.arange(end) > 0)
        last[end] = int(costs.argmin())
        best[end] = costs[last[end]]
    changes = []
    place = int(last[-1])
    while place > 0:
        changes.append(place)
        place = int(last[place])
    return changes[::-1]
