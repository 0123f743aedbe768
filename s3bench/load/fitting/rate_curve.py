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
_TINY = 1e-9

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
    parameters = 1 + int(counts.any(axis=1).sum())  # of a change: where it is, and a rate of each group
    penalty = parameters / 2 * math.log(max(2, len(starts))) * max(1.0, _dispersion_of_steps(counts))
    changes = _changes(counts, covered_s, penalty)
    while len(changes) >= STRETCHES_MAX:
        penalty *= _DEARER
        changes = _changes(counts, covered_s, penalty)
    bounds = _refined(series, [0, *(int(starts[change]) for change in changes), length], size)
    bounds = _pruned(series, bounds, penalty)
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


def _refined(series: ArrivalSeries, bounds: list[int], size: int) -> list[int]:
    """Each change where the counts next to it are most likely, at most `size` bins before or after where it was."""
    refined = [0]
    for before, at, after in zip(bounds, bounds[1:], bounds[2:], strict=False):
        rates = [
            series.counts[:, low:high].sum(axis=1) / series.covered_s[low:high].sum()
            for low, high in ((before, at), (at, after))
        ]
        low, high = max(refined[-1] + 1, at - size), min(after - 1, at + size)
        gains = _log_likelihoods(series, low, high, rates[0]) - _log_likelihoods(series, low, high, rates[1])
        sums = np.concatenate(([0.0], np.cumsum(gains)))
        refined.append(low + int(sums.argmax()))
    return [*refined, bounds[-1]]


def _pruned(series: ArrivalSeries, bounds: list[int], penalty: float) -> list[int]:
    """Without the changes that are not worth their cost where they are now, such as both ends of a former bin."""

    def likelihood(low: int, high: int) -> float:
        sums = series.counts[:, low:high].sum(axis=1)
        return float((sums * np.log(np.maximum(sums / series.covered_s[low:high].sum(), _TINY))).sum())

    while len(bounds) > 2:  # noqa: PLR2004 (the two ends)
        gains = [
            likelihood(before, at) + likelihood(at, after) - likelihood(before, after)
            for before, at, after in zip(bounds, bounds[1:], bounds[2:], strict=False)
        ]
        weakest = int(np.argmin(gains))
        if gains[weakest] >= penalty:
            break
        del bounds[weakest + 1]
    return bounds


def _log_likelihoods(series: ArrivalSeries, low: int, high: int, per_s: Floats) -> Floats:
    """The logarithm of the likelihood of each bin, but for a part that does not depend on the rates."""
    counts, covered_s = series.counts[:, low:high], series.covered_s[low:high]
    found: Floats = (counts * np.log(np.maximum(per_s, _TINY))[:, None] - per_s[:, None] * covered_s).sum(axis=0)
    return found


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
