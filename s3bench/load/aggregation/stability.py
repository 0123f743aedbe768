"""Decides whether a throughput has settled, so that a phase may end early.

The last half of the seconds, ten at least, are put into ten batches, whose means are nearly independent
where seconds are not (Schmeiser, "Batch Size Effects in the Analysis of Simulation Output", Operations Research 30,
1982: ten to thirty batches suffice). It has settled when the 95 % interval of their mean is narrower than 2 % to either
side, and the batches show no trend (Mann, "Nonparametric Tests Against Trend", Econometrica 13, 1945).

A check every second stops a little earlier than a single one would at 95 %: the interval is a reason to stop, not the
precision of the result.
"""

import math
from collections.abc import Sequence
from itertools import combinations
from statistics import fmean, stdev

SECONDS_MIN = 10
HALF_WIDTH = 0.02

_BATCHES = 10
_T_QUANTILE = 2.262  # 97.5 % of Student's t with nine degrees of freedom
_TREND = 23  # Mann's S of ten values reaches it, either way, in 4.7 % of all orders


def is_settled(throughputs: Sequence[float]) -> bool:
    """Whether the throughput of consecutive seconds, all of them whole and after the warm-up, has settled."""
    batches = _batches(throughputs)
    if not batches:
        return False
    mean = fmean(batches)
    half_width = _T_QUANTILE * stdev(batches) / math.sqrt(_BATCHES)
    return mean > 0 and half_width < HALF_WIDTH * mean and abs(trend(batches)) < _TREND


def trend(values: Sequence[float]) -> int:
    """Mann's S: how many pairs rise more than fall."""
    return sum((later > earlier) - (later < earlier) for earlier, later in combinations(values, 2))


def _batches(throughputs: Sequence[float]) -> list[float]:
    """The means of ten batches of equal length from the last half; none of fewer than ten seconds."""
    if len(throughputs) < SECONDS_MIN:
        return []
    size = max(SECONDS_MIN, len(throughputs) // 2) // _BATCHES
    last = throughputs[-size * _BATCHES :]
    return [fmean(last[start : start + size]) for start in range(0, len(last), size)]
