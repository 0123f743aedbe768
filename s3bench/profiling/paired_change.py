"""The change of a metric over pairs of runs, one of each side, with its interval."""

import math
from collections.abc import Sequence

from s3bench.profiling.explanation import ChangeInterval
from s3bench.stats.signed_rank import SignedRankTest

_TAIL = 0.025


def paired_change(baseline: Sequence[float], candidate: Sequence[float]) -> tuple[float, ChangeInterval]:
    """Estimate candidate minus baseline (Hodges-Lehmann) with its 95 % interval (signed-rank).

    The runs of both sides at the same place are a pair. One pair is needed, and `PAIRS_MIN` for an interval.
    """
    test = SignedRankTest([after - before for before, after in zip(baseline, candidate, strict=True)])
    low, high = test.lower_bound(_TAIL), test.upper_bound(_TAIL)
    return test.hodges_lehmann(), ChangeInterval(
        low=low if math.isfinite(low) else None, high=high if math.isfinite(high) else None
    )
