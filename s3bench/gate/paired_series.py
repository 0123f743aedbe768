"""The figures of one metric on both sides of one benchmark, and the tests on them.

Tests work on the worsening: the log-ratio of candidate over baseline, with its sign reversed for metrics where higher
is better, less what the speed of the machine explains of it. Pairs use the signed-rank test, unpaired runs the
Mann-Whitney test.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean

import msgspec

from s3bench.gate.adjustment import KNOWN_SHARE_MIN, AdjustmentFacts, adjustment_of
from s3bench.gate.evidence import CellEvidence, Side
from s3bench.results.measurement import figure
from s3bench.results.metrics import METRICS_BY_NAME, Direction
from s3bench.stats import rank_sum
from s3bench.stats.signed_rank import SignedRankTest

CONFIDENCE = 0.95


@dataclass(frozen=True, kw_only=True)  # without slots, for the cached properties
class PairedSeries:
    """The figures of both sides in the metric's unit, all positive; of equal length and order if `is_paired`.

    `explained` is what covariates explain of each pair's log-ratio; empty if nothing is adjusted. `adjustment` has the
    facts about it. `known_share` is the share of pairs, or of the runs of the side with fewer, that have a figure.
    """

    baseline: tuple[float, ...]
    candidate: tuple[float, ...]
    is_paired: bool
    sign: int = 1
    known_share: float = 1.0
    explained: tuple[float, ...] = ()
    adjustment: AdjustmentFacts | None = None

    @property
    def count(self) -> int:
        """The number of pairs, or the smaller number of runs."""
        return min(len(self.baseline), len(self.candidate))

    @property
    def is_known(self) -> bool:
        """Whether enough of the pairs or runs have a figure: those that have none are no random choice."""
        return self.known_share >= KNOWN_SHARE_MIN

    @cached_property
    def worsenings(self) -> tuple[float, ...]:
        """The adjusted log-ratio of each pair, positive when the candidate is worse."""
        assert self.is_paired
        return tuple(
            self.sign * (math.log(after / before) - explained)
            for before, after, explained in zip(
                self.baseline, self.candidate, self.explained or (0.0,) * self.count, strict=True
            )
        )

    @cached_property
    def _test(self) -> SignedRankTest:
        return SignedRankTest(self.worsenings)

    def p_above(self, center: float) -> float:
        """The p-value of "the worsening is `center` or less" against "more"."""
        if self.is_paired:
            return self._test.p_above(center)
        return rank_sum.p_greater(*self._logs(), center=center)

    def p_two_sided(self) -> float:
        """The p-value of "nothing changed"."""
        if not self.is_paired:
            return rank_sum.p_two_sided(*self._logs())
        return min(1.0, 2 * min(self._test.p_above(0.0), self._test.p_below(0.0)))

    def lower_bound(self, level: float) -> float:
        """The lower confidence bound of the worsening (a log-ratio), one-sided of level `level`."""
        if self.is_paired:
            return self._test.lower_bound(level)
        return rank_sum.shift_bounds(*self._logs(), alpha=level)[0]

    def upper_bound(self, level: float) -> float:
        """The upper confidence bound of the worsening (a log-ratio), one-sided of level `level`."""
        if self.is_paired:
            return self._test.upper_bound(level)
        return rank_sum.shift_bounds(*self._logs(), alpha=level)[1]

    def estimate(self) -> float:
        """The Hodges-Lehmann estimate of the worsening, a log-ratio."""
        return self._test.hodges_lehmann() if self.is_paired else rank_sum.shift(*self._logs())

    def change(self) -> float:
        """The estimate as the relative change of the metric itself: 0.05 is 5 % more."""
        return math.expm1(self.sign * self.estimate())

    def interval(self) -> tuple[float | None, float | None]:
        """The 95 % confidence interval of `change`; `None` for an end that too few values bound."""
        tail = (1 - CONFIDENCE) / 2
        ends = self.lower_bound(tail), self.upper_bound(tail)
        low, high = ends if self.sign > 0 else (-ends[1], -ends[0])
        return (
            math.expm1(low) if math.isfinite(low) else None,
            math.expm1(high) if math.isfinite(high) else None,
        )

    def mirrored(self) -> "PairedSeries":
        """The same with the sides exchanged."""
        return PairedSeries(
            baseline=self.candidate,
            candidate=self.baseline,
            is_paired=self.is_paired,
            sign=self.sign,
            known_share=self.known_share,
            explained=tuple(-each for each in self.explained),
            adjustment=self.adjustment,
        )

    def raw(self) -> "PairedSeries":
        """The same without the adjustment."""
        return replace(self, explained=(), adjustment=None)

    def adjustment_facts(self) -> AdjustmentFacts | None:
        """The facts about the adjustment with the figures as they are without it; `None` if nothing was adjusted."""
        if self.adjustment is None:
            return None
        raw = self.raw()
        low, high = raw.interval()
        return msgspec.structs.replace(
            self.adjustment,
            sigma=self.sigma,
            sigma_raw=raw.sigma,
            change_raw=raw.change(),
            low_raw=low,
            high_raw=high,
        )

    @cached_property
    def sigma(self) -> float | None:
        """The standard deviation of the pairs' log-ratios; `None` for fewer than two pairs or unpaired runs."""
        return _deviation(self.worsenings) if self.is_paired and self.count > 1 else None

    def standard_error(self) -> float:
        """The standard error of the mean worsening."""
        if self.count < 2:  # noqa: PLR2004 (one value has no spread)
            return math.inf
        if self.sigma is not None:
            return self.sigma / math.sqrt(self.count)
        return math.hypot(*(_deviation(logs) / math.sqrt(len(logs)) for logs in self._logs()))

    def _logs(self) -> tuple[list[float], list[float]]:
        first, second = ([self.sign * math.log(value) for value in side] for side in (self.baseline, self.candidate))
        return first, second


def _deviation(values: Sequence[float]) -> float:
    """The standard deviation of a sample; the sums are exact, so that a replay gives the same on every machine."""
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


def series_of(
    cell: CellEvidence, metric: str, *, pairs_max: int | None = None, is_adjusted: bool = True
) -> PairedSeries:
    """The figures of `metric` in the first `pairs_max` pairs. Missing figures and figures of 0 are left out."""
    sign = -1 if METRICS_BY_NAME[metric].direction is Direction.HIGHER else 1
    if not cell.pairs:
        sides = [
            tuple(value for run in cell.runs(side) if (value := figure(run, metric)) is not None and value > 0)
            for side in Side
        ]
        known = [len(side) / max(len(cell.runs(name)), 1) for side, name in zip(sides, Side, strict=True)]
        return PairedSeries(baseline=sides[0], candidate=sides[1], is_paired=False, sign=sign, known_share=min(known))
    pairs = cell.pairs[:pairs_max]
    both = [
        (pair, before, after)
        for pair in pairs
        if (before := figure(pair.baseline, metric) or 0) > 0 and (after := figure(pair.candidate, metric) or 0) > 0
    ]
    baseline, candidate = tuple(before for _, before, _ in both), tuple(after for _, _, after in both)
    known_share = len(both) / max(len(pairs), 1)
    series = PairedSeries(baseline=baseline, candidate=candidate, is_paired=True, sign=sign, known_share=known_share)
    if not is_adjusted:
        return series
    log_ratios = [math.log(after / before) for _, before, after in both]
    adjustment = adjustment_of([pair for pair, _, _ in both], metric, log_ratios)
    if adjustment is None:
        return series
    return replace(series, explained=adjustment.log_ratios, adjustment=adjustment.facts)


def pooled(series: Sequence[PairedSeries]) -> PairedSeries:
    """The geometric mean of several paired series, pair by pair, as long as the shortest of them."""
    sides = [
        tuple(math.exp(fmean(logs)) for logs in zip(*(map(math.log, values) for values in side), strict=False))
        for side in ([each.baseline for each in series], [each.candidate for each in series])
    ]
    explained = tuple(map(fmean, zip(*(each.explained or (0.0,) * each.count for each in series), strict=False)))
    return PairedSeries(
        baseline=sides[0],
        candidate=sides[1],
        is_paired=True,
        sign=series[0].sign,
        known_share=min(each.known_share for each in series),
        explained=explained,
    )
