"""Where a series of benchmark figures changed, by how much, and how sure that is.

Owns the change point and how it is found. A series has one value per release (version, date or commit): the release is
what is repeated, not the run, since all runs of a release share the machine's mood of that hour. Ratios are what is
told, so everything happens on logarithms.

`levels` proposes, all places at once; `steps` tests each proposal between its neighbours; the weakest goes and its
neighbours are tested again, until every one that is left is below the level. A stretch of m of n releases could have
been looked for in n/m places, and its p-value counts so many times (Bonferroni).

How often it is right is measured by benchmarks/trend_truth.py; docs/trend.md has the figures.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

import numpy as np
from numpy.typing import NDArray

from s3bench.stats import rank_sum
from s3bench.stats.autocorrelation import Autocorrelation, wandering_of
from s3bench.stats.pairwise import finite_sample
from s3bench.stats.segmentation import NORMAL, OUTLIER, proposed_changes
from s3bench.trend.step_test import SIDE_MIN, StepTest

LEVEL = 0.01
"""The chance that a series without change shows any; measured, 0 to 3 %, and 6 % of 500 very skewed values."""
CONFIDENCE = 0.95
RELEASES_MIN = 10
"""With fewer, no order of the values is unlikely enough: 5 beside 5 can be split in 252 ways."""

_BOOTSTRAPS = 399
_CELLS = 100_000  # permutations times values: about 5 ms
_RESOLUTION = 2  # but always so many permutations that half of the level can be reached
_ROUNDS_MAX = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePoint:
    """One change of the level, and what is known of it.

    `index` counts from 0 and is the first release after the change, as far as the values tell best; with the stated
    confidence the first release after it is one of `first` to `last`. `ratio` is the level after over the level before,
    `ratio_low` and `ratio_high` bound it; `None` where so few releases do not bound it. `p_value` counts all places of
    the whole series. `before` and `after` are the numbers of releases from the previous change and to the next.
    """

    index: int
    first: int
    last: int
    confidence: float
    ratio: float
    ratio_low: float | None
    ratio_high: float | None
    p_value: float
    before: int
    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """The change points of a series in order, and how it wanders between them (`None`: not detectably)."""

    points: tuple[ChangePoint, ...]
    wandering: Autocorrelation | None


def release_value(runs: Sequence[float]) -> float:
    """What stands for a release with several runs: their median, which one run that failed to be normal cannot move."""
    assert runs, "a release without runs has no value"
    return median(runs)


def find_changes(
    values: Sequence[float], *, level: float = LEVEL, confidence: float = CONFIDENCE, seed: int = 0
) -> Changes:
    """The changes in `values`, one positive figure per release in order.

    `level` bounds the chance of a false point in each stretch between neighbours, proposals aside; by measurement 0.0
    to 0.7 points in 500 independent values without change, and a step of three sigma found within one release in
    94.7 % of series of 50 and 50 (142 of 150). `seed` fixes the permutations: the same values and seed give the same
    answer.
    """
    assert all(value > 0 for value in values), "figures on a log scale are positive"
    series = np.log(finite_sample(values))
    search = _Search(series, level=level, seed=seed)
    search.prune(proposed_changes(series) if series.size >= RELEASES_MIN else [])
    points = tuple(
        _described(series, stretch, p_value, confidence=confidence, seed=seed) for stretch, p_value in search.found()
    )
    return Changes(points=points, wandering=search.wandering)


@dataclass(frozen=True, slots=True)
class _Stretch:
    """The two levels around a change: from the previous change (or the start) to the next (or the end)."""

    start: int
    index: int
    stop: int


class _Search:
    """Which of the proposed changes stand."""

    def __init__(self, series: NDArray[np.float64], *, level: float, seed: int) -> None:
        self._series = series
        self._level = level
        self._seed = seed
        self._changes: list[int] = []
        self._known: dict[tuple[int, int, Autocorrelation | None], float] = {}
        self.wandering: Autocorrelation | None = None

    def prune(self, proposed: list[int]) -> None:
        """Keep what stands if values have no memory, then what stands beside the memory that these leave over.

        Fewer changes leave longer levels, in which more of it shows: until nothing more falls.
        """
        self._changes = list(proposed)
        self._drop_weakest()
        for _ in range(_ROUNDS_MAX):
            self.wandering = self._wandering()
            count = len(self._changes)
            self._drop_weakest()
            if len(self._changes) == count:
                return

    def found(self) -> list[tuple[_Stretch, float]]:
        """The changes that stand with their p-values, in order."""
        return [(stretch, self._p_value(stretch)) for stretch in self._stretches()]

    def _wandering(self) -> Autocorrelation | None:
        edges = [0, *self._changes, self._series.size]
        return wandering_of(self._series, list(pairwise(edges)), seed=self._seed)

    def _drop_weakest(self) -> None:
        while self._changes:
            p_values = [self._p_value(stretch) for stretch in self._stretches()]
            weakest = int(np.argmax(p_values))
            if p_values[weakest] <= self._level:
                return
            del self._changes[weakest]

    def _stretches(self) -> list[_Stretch]:
        edges = [0, *self._changes, self._series.size]
        return [_Stretch(*three) for three in zip(edges, edges[1:], edges[2:], strict=False)]

    def _p_value(self, stretch: _Stretch) -> float:
        if min(stretch.index - stretch.start, stretch.stop - stretch.index) < SIDE_MIN:
            return 1.0
        key = stretch.start, stretch.stop, self.wandering
        if key not in self._known:
            places = self._series.size / (stretch.stop - stretch.start)
            p_value = self._test(stretch.start, stretch.stop).p_value(self.wandering)
            self._known[key] = min(1.0, places * p_value)
        return self._known[key]

    def _test(self, start: int, stop: int) -> StepTest:
        needed = math.ceil(_RESOLUTION * self._series.size / (stop - start) / self._level)
        permutations = max(needed, _CELLS // (stop - start))
        return StepTest(self._series[start:stop], permutations=permutations, seed=self._seed)


def _described(
    series: NDArray[np.float64], stretch: _Stretch, p_value: float, *, confidence: float, seed: int
) -> ChangePoint:
    before, after = series[stretch.start : stretch.index].tolist(), series[stretch.index : stretch.stop].tolist()
    low, high = rank_sum.shift_bounds(before, after, alpha=(1 - confidence) / 2)
    first, last = _whereabouts(series, stretch, confidence=confidence, seed=seed)
    return ChangePoint(
        index=stretch.index,
        first=first,
        last=last,
        confidence=confidence,
        ratio=math.exp(rank_sum.shift(before, after)),
        ratio_low=math.exp(low) if math.isfinite(low) else None,
        ratio_high=math.exp(high) if math.isfinite(high) else None,
        p_value=p_value,
        before=len(before),
        after=len(after),
    )


def _whereabouts(series: NDArray[np.float64], stretch: _Stretch, *, confidence: float, seed: int) -> tuple[int, int]:
    """The earliest and the latest place that fit about as well as the best one.

    The places whose loss exceeds the least by no more than the true place's does in `confidence` of bootstrapped
    stretches (the confidence set of Siegmund, "Confidence Sets in Change-Point Problems", 1988, with the residuals
    resampled as Huskova and Kirch do, "Bootstrapping Confidence Intervals for the Change-Point of Time Series", 2008).
    The loss is that of `levels`.
    """
    values, split = series[stretch.start : stretch.stop], stretch.index - stretch.start
    before, after = float(np.median(values[:split])), float(np.median(values[split:]))
    levels = np.repeat([before, after], [split, values.size - split])
    residuals = values - levels
    spread = NORMAL * float(np.median(np.abs(residuals))) or float(residuals.std()) or 1.0

    def losses(rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Per row and size of the first part, the loss but for a constant."""
        apart = [np.minimum(((rows - level) / spread) ** 2, OUTLIER**2) for level in (before, after)]
        summed: NDArray[np.float64] = np.cumsum(apart[0] - apart[1], axis=1)[:, :-1]
        return summed

    random = np.random.default_rng((seed, stretch.index, values.size))
    widened = math.sqrt(values.size / (values.size - 2))  # residuals from two fitted levels are a little too small
    simulated = losses(levels + widened * random.choice(residuals, size=(_BOOTSTRAPS, values.size)))
    allowed = np.quantile(simulated[:, split - 1] - simulated.min(axis=1), confidence, method="higher")
    observed = losses(values[None])[0]
    possible = 1 + np.flatnonzero(observed <= observed.min() + allowed)
    return stretch.start + min(split, int(possible[0])), stretch.start + max(split, int(possible[-1]))
