"""Confidence interval of a proportion, such as the share of planted faults that a gate caught."""

import math
from statistics import NormalDist


def wilson(successes: int, trials: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """The two-sided Wilson score interval of a proportion, low and high (Wilson, JASA 22, 1927).

    Without successes `low` is exactly 0, without failures `high` is exactly 1; without trials the interval is (0, 1).
    """
    assert 0 <= successes <= trials, f"{successes} successes in {trials} trials"
    assert 0 < confidence < 1, "a confidence is a probability"
    if trials == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    share = successes / trials
    scale = 1 + z * z / trials
    center = (share + z * z / (2 * trials)) / scale
    half_width = z / scale * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    low = 0.0 if successes == 0 else max(0.0, center - half_width)
    high = 1.0 if successes == trials else min(1.0, center + half_width)
    return low, high
