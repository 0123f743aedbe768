"""The audit of a run: how much sampling and probes changed the iterations, from pairs with and without them.

The estimate is the median of the paired ratios; its interval is that of the sign test, from order statistics (Conover,
Practical Nonparametric Statistics, 3rd edition, section 3.2).
"""

import math
from collections.abc import Mapping, Sequence
from statistics import median

import msgspec

from s3bench.results.measurement import Measurement

CONFIDENCE = 0.95


class Ratio(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The median ratio of observed to unobserved iterations, and its 95 % interval, null for fewer than 6 pairs."""

    median: float
    low: float | None
    high: float | None


class Audit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The effect of sampling and probes, from `pairs` pairs of neighbouring iterations."""

    pairs: int
    total_time: Ratio
    cpu_time: Ratio | None


def compare_observed(observed: Sequence[Measurement], unobserved: Mapping[int, Measurement]) -> Audit | None:
    """The audit of iterations paired by number; `None` without a pair."""
    pairs = [(each, unobserved[each.iteration]) for each in observed if each.iteration in unobserved]
    if not pairs:
        return None
    times = [(one.total_time, other.total_time) for one, other in pairs]
    cpu = [(one.cpu_time, other.cpu_time) for one, other in pairs if one.cpu_time and other.cpu_time]
    return Audit(pairs=len(pairs), total_time=paired_ratio(times), cpu_time=paired_ratio(cpu) if cpu else None)


def paired_ratio(pairs: Sequence[tuple[float, float]]) -> Ratio:
    """The median ratio of the first to the second of each pair, with its interval."""
    logs = sorted(math.log(first / second) for first, second in pairs)
    rank = _sign_test_rank(len(logs))
    low, high = (None, None) if rank is None else (math.exp(logs[rank]), math.exp(logs[-1 - rank]))
    return Ratio(median=math.exp(median(logs)), low=low, high=high)


def _sign_test_rank(count: int) -> int | None:
    """The largest rank (from 0) whose order statistics bound the median with at least `CONFIDENCE`."""
    tail = 0.0
    for rank in range(count // 2):
        tail += math.comb(count, rank) / 2**count
        if 2 * tail > 1 - CONFIDENCE:
            return rank - 1 if rank else None
    return None
