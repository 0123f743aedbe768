"""Finds the change points of a series of benchmark figures, with the size and the uncertainty of each.

A series has one value per release (version, date or commit). The sample is the release and not the run, because all
runs of a release share the speed of the machine at that hour. Changes are reported as ratios, so everything is computed
on logarithms; of figures that may be 0 they are differences, computed on the plain values. The tests assume only that
the order of the values is random, so that their level is the same on both scales.

`s3bench.stats.segmentation` proposes all changes at once; `s3bench.trend.step_test` tests each proposal between its
neighbours. The least significant one is dropped and its neighbours are tested again, until all that remain are
significant. A stretch of m out of n releases has n/m possible places, so its p-value is multiplied by n/m (Bonferroni).

benchmarks/trend_truth.py measures the error rates; docs/trend.md has the figures.
"""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median

import numpy as np
from numpy.typing import NDArray

from s3bench.stats import rank_sum
from s3bench.stats.autocorrelation import Autocorrelation, autocorrelation_of
from s3bench.stats.pairwise import finite_sample
from s3bench.stats.segmentation import OUTLIER, proposed_changes, spread_of
from s3bench.trend.step_test import SIDE_MIN, StepTest

CONFIDENCE = 0.95
RELEASES_MIN = 10
"""With fewer no order of the values is significant: 5 and 5 values can be arranged in only 252 ways."""

_LEVEL = 0.01
"""The intended probability of any change point in a series without change.

Measured: 0 to 3 %, and 6 % in 500 very skewed values.
"""
_SEED = 0  # of all permutations: the same values give the same result
_LOGARITHM_MAX = math.log(sys.float_info.max)
_BOOTSTRAPS = 399
_CELLS = 100_000  # permutations times values: about 5 ms
_RESOLUTION = 2  # enough permutations for p-values down to half of the level
_ROUNDS_MAX = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePoint:
    """One change of the level.

    `index` (from 0) is the most likely first release after the change; `first` to `last` is its confidence interval.
    `ratio` is the level after over the level before, with the interval `ratio_low` to `ratio_high`; `None` where there
    are too few releases for a bound. Of figures that may be 0 these are `None`, and `difference` is the level after
    less the level before, with its interval. `is_increase` is the direction, also where so many values are equal that
    the difference is 0: it is then that of the means. `p_value` is corrected for all places of the series. `before` and
    `after` are the numbers of releases since the previous change and until the next.
    """

    index: int
    first: int
    last: int
    confidence: float = CONFIDENCE
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    difference: float | None
    difference_low: float | None
    difference_high: float | None
    is_increase: bool
    p_value: float
    before: int
    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """The change points of a series in order, and its autocorrelation between them (`None`: none detected)."""

    points: tuple[ChangePoint, ...]
    autocorrelation: Autocorrelation | None


def release_value(runs: Sequence[float]) -> float:
    """The value of a release with several runs: their median, which a single outlier hardly moves."""
    assert runs, "a release without runs has no value"
    return median(runs)


def find_changes(values: Sequence[float], *, has_ratios: bool = True) -> Changes:
    """The change points in `values`, one figure per release in order, which are positive if the series `has_ratios`.

    `_LEVEL` bounds the probability of a false point in each stretch between neighbours, given the proposals. Measured:
    0.0 to 0.7 points in 500 independent values without change; a step of three sigma is found within one release in
    94.7 % of series of 50 and 50 (142 of 150).
    """
    assert not has_ratios or all(value > 0 for value in values), "figures on a logarithmic scale are positive"
    series = np.log(finite_sample(values)) if has_ratios else finite_sample(values)
    search = _Search(series)
    search.prune(proposed_changes(series) if series.size >= RELEASES_MIN else [])
    points = tuple(_described(series, *found, has_ratios=has_ratios) for found in search.found())
    return Changes(points=points, autocorrelation=search.autocorrelation)


@dataclass(frozen=True, slots=True)
class _Stretch:
    """The two levels around a change: from the previous change (or the start) to the next (or the end)."""

    start: int
    index: int
    stop: int


class _Search:
    """Selects the significant ones among the proposed changes."""

    def __init__(self, series: NDArray[np.float64]) -> None:
        self._series = series
        self._changes: list[int] = []
        self._known: dict[tuple[int, int, Autocorrelation | None], float] = {}
        self.autocorrelation: Autocorrelation | None = None

    def prune(self, proposed: list[int]) -> None:
        """Keep the changes that are significant for independent values, then those that are so with autocorrelation.

        Fewer changes leave longer levels, in which more autocorrelation shows; repeated until none is dropped.
        """
        self._changes = list(proposed)
        self._drop_weakest()
        for _ in range(_ROUNDS_MAX):
            self.autocorrelation = self._autocorrelation()
            count = len(self._changes)
            self._drop_weakest()
            if len(self._changes) == count:
                return

    def found(self) -> list[tuple[_Stretch, float]]:
        """The significant changes with their p-values, in order."""
        return [(stretch, self._p_value(stretch)) for stretch in self._stretches()]

    def _autocorrelation(self) -> Autocorrelation | None:
        edges = [0, *self._changes, self._series.size]
        return autocorrelation_of(self._series, list(pairwise(edges)), seed=_SEED)

    def _drop_weakest(self) -> None:
        while self._changes:
            p_values = [self._p_value(stretch) for stretch in self._stretches()]
            weakest = int(np.argmax(p_values))
            if p_values[weakest] <= _LEVEL:
                return
            del self._changes[weakest]

    def _stretches(self) -> list[_Stretch]:
        edges = [0, *self._changes, self._series.size]
        return [_Stretch(*edges_of_stretch) for edges_of_stretch in zip(edges, edges[1:], edges[2:], strict=False)]

    def _p_value(self, stretch: _Stretch) -> float:
        if min(stretch.index - stretch.start, stretch.stop - stretch.index) < SIDE_MIN:
            return 1.0
        key = stretch.start, stretch.stop, self.autocorrelation
        if key not in self._known:
            places = self._series.size / (stretch.stop - stretch.start)
            p_value = self._test(stretch.start, stretch.stop).p_value(self.autocorrelation)
            self._known[key] = min(1.0, places * p_value)
        return self._known[key]

    def _test(self, start: int, stop: int) -> StepTest:
        needed = math.ceil(_RESOLUTION * self._series.size / (stop - start) / _LEVEL)
        permutations = max(needed, _CELLS // (stop - start))
        return StepTest(self._series[start:stop], permutations=permutations, seed=_SEED)


def _exp(logarithm: float) -> float:
    """The ratio with this logarithm, at most the largest number that there is."""
    return math.exp(min(logarithm, _LOGARITHM_MAX))


def _described(series: NDArray[np.float64], stretch: _Stretch, p_value: float, *, has_ratios: bool) -> ChangePoint:
    before, after = series[stretch.start : stretch.index].tolist(), series[stretch.index : stretch.stop].tolist()
    shift = rank_sum.shift(before, after)
    bounds = rank_sum.shift_bounds(before, after, alpha=(1 - CONFIDENCE) / 2)
    low, high = (bound if math.isfinite(bound) else None for bound in bounds)
    first, last = _confidence_set(series, stretch)
    return ChangePoint(
        index=stretch.index,
        first=first,
        last=last,
        ratio=_exp(shift) if has_ratios else None,
        ratio_low=_exp(low) if has_ratios and low is not None else None,
        ratio_high=_exp(high) if has_ratios and high is not None else None,
        difference=None if has_ratios else shift,
        difference_low=None if has_ratios else low,
        difference_high=None if has_ratios else high,
        is_increase=shift > 0 if shift else fmean(after) > fmean(before),
        p_value=p_value,
        before=len(before),
        after=len(after),
    )


def _confidence_set(series: NDArray[np.float64], stretch: _Stretch) -> tuple[int, int]:
    """The first and the last place of the confidence set of a change.

    The set contains the places whose loss exceeds the least loss by no more than that of the true place does in a share
    `CONFIDENCE` of bootstrapped stretches (Siegmund, "Confidence Sets in Change-Point Problems", 1988; residuals
    resampled as in Huskova & Kirch, "Bootstrapping Confidence Intervals for the Change-Point of Time Series", 2008).
    The loss is that of `s3bench.stats.segmentation`.
    """
    values, split = series[stretch.start : stretch.stop], stretch.index - stretch.start
    before, after = float(np.median(values[:split])), float(np.median(values[split:]))
    levels = np.repeat([before, after], [split, values.size - split])
    residuals = values - levels
    spread = spread_of(residuals, levels=2) or 1.0

    def losses(rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Per row and size of the first part, the loss up to a constant."""
        apart = [np.minimum(((rows - level) / spread) ** 2, OUTLIER**2) for level in (before, after)]
        summed: NDArray[np.float64] = np.cumsum(apart[0] - apart[1], axis=1)[:, :-1]
        return summed

    random = np.random.default_rng((_SEED, stretch.index, values.size))
    widened = math.sqrt(values.size / (values.size - 2))  # two fitted levels make the residuals a little too small
    simulated = losses(levels + widened * random.choice(residuals, size=(_BOOTSTRAPS, values.size)))
    allowed = np.quantile(simulated[:, split - 1] - simulated.min(axis=1), CONFIDENCE, method="higher")
    observed = losses(values[None])[0]
    possible = 1 + np.flatnonzero(observed <= observed.min() + allowed)
    return stretch.start + min(split, int(possible[0])), stretch.start + max(split, int(possible[-1]))
