"""Computes the smallest worsening that a test detects: by simulation of whole gates on normal noise.

A sequential test FAILs only if a look's lower bound is above d0 and no look's upper bound is below d1, so neither the
power of one look nor d0 alone says what it detects. Both bounds and the estimate move with the data, so that gates are
drawn once for a standard deviation of 1, and every worsening and every sigma shifts and scales the same draws.
"""

import math
from collections.abc import Callable
from functools import cache, lru_cache
from statistics import NormalDist

import msgspec
import numpy as np
from numpy.typing import NDArray

from s3bench.gate.indifference_zone import Limits, log_worsening, relative_worsening
from s3bench.gate.looks import Looks
from s3bench.gate.policy import Policy
from s3bench.gate.row import GateRow
from s3bench.stats.signed_rank import PAIRS_OF_T_TEST, critical_count

_Outcomes = NDArray[np.bool_]

POWER = 0.95
_GATES = 1000
_EXACT_PAIRS_MAX = 100  # 5,050 Walsh averages a gate; beyond, bounds are those of normal noise
_STEPS = 12  # to a part in 4,096 of the interval searched
_SIGMA_MIN = 1e-9  # for pairs that are all equal
_SEED = 1
_RANK_LOSS = math.sqrt(PAIRS_OF_T_TEST)


class Detectable(msgspec.Struct, frozen=True, kw_only=True):
    """Worsenings as log-ratios, infinite if none is detected.

    `failing` is the smallest that 95 of 100 gates FAIL, `shown` the smallest that 95 of 100 show as SMALL or FAIL.
    """

    failing: float
    shown: float

    def in_row(self, row: GateRow) -> GateRow:
        """The row with these, as relative changes."""
        failing, shown = (
            relative_worsening(each, is_drop=row.is_drop) if math.isfinite(each) else None
            for each in (self.failing, self.shown)
        )
        return msgspec.structs.replace(row, detectable=failing, detectable_small=shown)


def with_detectable(row: GateRow, policy: Policy) -> GateRow:
    """Add to a row of pairs what its test detects; other rows stay as they are.

    Takes some milliseconds, so that it is done once a row, for the conclusion.
    """
    if row.sigma is None or row.d0 is None or row.d1 is None or row.level is None:
        return row
    d0, d1 = (log_worsening(each, is_drop=row.is_drop) for each in (row.d0, row.d1))
    limits = Limits(d0=d0, d1=d1)
    alarms = tuple(row.level * share for share in row.alarm_shares)
    found = detectable(sigma=row.sigma, looks=policy.looks, limits=limits, alarms=alarms, miss=policy.miss)
    return found.in_row(row)


def detectable(*, sigma: float, looks: Looks, limits: Limits, alarms: tuple[float, ...], miss: float) -> Detectable:
    """What a test detects with all looks of these levels, if the pairs' log-ratios have the deviation `sigma`."""
    lowers, uppers, estimate = _gates(looks, alarms, miss) * max(sigma, _SIGMA_MIN)
    lower: NDArray[np.float64] = np.maximum.accumulate(lowers)
    upper: NDArray[np.float64] = np.minimum.accumulate(uppers)
    columns = np.arange(lower.shape[1])

    @cache
    def bounds_at_end(worsening: float) -> tuple[_Outcomes, _Outcomes]:
        """Whether each gate showed the worsening to be above d0, and below d1, when it was settled."""
        above, below = lower > limits.d0 - worsening, upper < limits.d1 - worsening
        settled = above & (below | (estimate >= limits.d1 - worsening)) | below & (estimate <= limits.d0 - worsening)
        settled[-1] = True
        last = settled.argmax(axis=0), columns
        return above[last], below[last]

    def is_failed(worsening: float) -> _Outcomes:
        above, below = bounds_at_end(worsening)
        return above & ~below

    def is_shown(worsening: float) -> _Outcomes:
        return bounds_at_end(worsening)[0]

    highest = limits.d1 + 20 * sigma
    return Detectable(
        failing=_least(is_failed, limits.d0, highest),
        shown=_least(is_shown, limits.d0, highest),
    )


def detectable_unpaired(*, error: float, limits: Limits, level: float, miss: float) -> Detectable:
    """The same for one look at unpaired runs whose mean worsening has the standard error `error`."""
    z = NormalDist().inv_cdf
    lost = error * _RANK_LOSS
    # -z(level), not z(1 - level): 1 less a tiny level is 1, of which the quantile is infinite.
    shown = limits.d0 + (z(POWER) - z(level)) * lost
    return Detectable(failing=max(shown, limits.d1 + (z(POWER) + z(miss)) * lost), shown=shown)


def _least(happens: Callable[[float], _Outcomes], low: float, high: float) -> float:
    """The least worsening with which it happens in a share `POWER` of the gates, by bisection."""
    enough = POWER * _GATES
    if np.count_nonzero(happens(high)) < enough:
        return math.inf
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if np.count_nonzero(happens(middle)) < enough:
            low = middle
        else:
            high = middle
    return high


@lru_cache(maxsize=64)
def _gates(looks: Looks, alarms: tuple[float, ...], miss: float) -> NDArray[np.float64]:
    """Lower bound, upper bound and estimate of each look (rows) of each gate (columns), for a deviation of 1."""
    bounds = [_look(looks, number, alarm, miss) for number, alarm in enumerate(alarms)]
    return np.array(bounds).swapaxes(0, 1)


def _look(looks: Looks, number: int, alarm: float, miss: float) -> NDArray[np.float64]:
    pairs, missed = looks.pairs[number], miss * looks.miss_shares[number]
    if pairs > _EXACT_PAIRS_MAX:
        z = NormalDist().inv_cdf
        error = _RANK_LOSS / math.sqrt(pairs)
        estimate = _draws(looks.cap)[:, :pairs].mean(axis=1)
        lowest = estimate + z(alarm) * error if alarm else np.full(_GATES, -math.inf)
        return np.array([lowest, estimate - z(missed) * error, estimate])
    averages = _walsh_averages(looks.cap, pairs)
    size = averages.shape[1]
    above, below = critical_count(pairs, alarm) if alarm else size + 1, critical_count(pairs, missed)
    unbounded = np.full(_GATES, math.inf)
    return np.array(
        [
            averages[:, size - above] if above <= size else -unbounded,
            averages[:, below - 1] if below <= size else unbounded,
            (averages[:, (size - 1) // 2] + averages[:, size // 2]) / 2,
        ]
    )


@lru_cache(maxsize=8)
def _walsh_averages(cap: int, pairs: int) -> NDArray[np.float64]:
    """The Walsh averages of each gate's first `pairs`, in order; the median of them is the Hodges-Lehmann estimate."""
    values = _draws(cap)[:, :pairs]
    first, second = np.triu_indices(pairs)
    return np.sort((values[:, first] + values[:, second]) / 2, axis=1)


@lru_cache(maxsize=8)
def _draws(cap: int) -> NDArray[np.float64]:
    return np.random.default_rng(_SEED).standard_normal((_GATES, cap))
