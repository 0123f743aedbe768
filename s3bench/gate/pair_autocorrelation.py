"""Widens the bounds of pairs that resemble their neighbours, which carry less information than independent ones.

A signed-rank test takes pairs as independent. With a correlation r of neighbouring pairs, the variance of their mean is
(1 + r) / (1 - r) times as large (of a first-order autoregressive series), so the distance of each pair from the
estimate is multiplied by the square root of that. Test, bounds and interval then hold together, and the estimate stays.
Means of blocks of pairs were the alternative: 40 pairs in blocks of 4 leave 10 values, which can FAIL nothing among
many tests. `benchmarks/gate_size.py --autocorrelation` compares both.
"""

import math
from dataclasses import dataclass
from statistics import median

from s3bench.gate.paired_series import PairedSeries
from s3bench.stats.autocorrelation import neighbour_correlation


@dataclass(frozen=True, slots=True, kw_only=True)
class WidenedSeries:
    """Pairs as they are tested: widened by `factor`, which is 1 if neighbours have no `correlation`."""

    series: PairedSeries
    correlation: float
    factor: float

    @property
    def warning(self) -> str:
        """What was found, empty if nothing was."""
        if not self.correlation:
            return ""
        return (
            f"neighbouring pairs are alike (correlation {self.correlation:.2f}): "
            f"the bounds are {self.factor:.1f} times as wide"
        )


def widened(series: PairedSeries) -> WidenedSeries:
    """The series as it is to be tested."""
    correlation = neighbour_correlation(series.worsenings) if series.is_paired else 0.0
    if not correlation:
        return WidenedSeries(series=series, correlation=0.0, factor=1.0)
    factor = math.sqrt((1 + correlation) / (1 - correlation))
    return WidenedSeries(series=stretched(series, factor), correlation=correlation, factor=factor)


def stretched(series: PairedSeries, factor: float) -> PairedSeries:
    """The series with the distance of each pair from the estimate multiplied by `factor`."""
    if factor == 1:
        return series
    center = series.estimate()
    base = median(series.baseline)
    worsenings = [center + factor * (value - center) for value in series.worsenings]
    return PairedSeries(
        baseline=(base,) * len(worsenings),
        candidate=tuple(base * math.exp(series.sign * value) for value in worsenings),
        is_paired=True,
        sign=series.sign,
    )
