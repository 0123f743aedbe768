"""Student's t distribution: its upper tail and the inverse; degrees of freedom need not be whole.

Computed by the continued fraction of the incomplete beta function (Abramowitz & Stegun, Handbook of Mathematical
Functions, 26.5.8 and 26.7.1), evaluated by the modified Lentz method (Thompson & Barnett, Journal of Computational
Physics 64, 1986).
"""

import math
from functools import lru_cache

_TINY = 1e-300
_PRECISION = 1e-15
_TERMS_MAX = 10_000
_DOUBLINGS_MAX = 1000
_STEPS_MAX = 100
_CONVERGED = 1e-12


def upper_tail(t: float, degrees_of_freedom: float) -> float:
    """The probability that a t-distributed variable exceeds `t`, accurate to ten digits."""
    assert degrees_of_freedom > 0, "the t distribution needs degrees of freedom above 0"
    if math.isinf(t):
        return 0.0 if t > 0 else 1.0
    total = degrees_of_freedom + t * t
    tail = 0.5 * _incomplete_beta(degrees_of_freedom / 2, 0.5, degrees_of_freedom / total, t * t / total)
    return tail if t >= 0 else 1 - tail


@lru_cache(maxsize=10_000)
def upper_quantile(alpha: float, degrees_of_freedom: float) -> float:
    """The value that a t-distributed variable exceeds with probability `alpha`.

    By Newton's method on the logarithm of `upper_tail`, which halves the interval instead where a step would leave it
    (Press et al., Numerical Recipes, 3rd edition, 9.4). Cached: tuning asks for few values, often.
    """
    assert 0 < alpha < 1, "a level is a probability"
    if alpha > 0.5:  # noqa: PLR2004 (the distribution is symmetric)
        return -upper_quantile(1 - alpha, degrees_of_freedom)
    low, high = 0.0, 1.0
    for _ in range(_DOUBLINGS_MAX):
        if upper_tail(high, degrees_of_freedom) <= alpha:
            break
        low, high = high, 2 * high
    t = high
    for _ in range(_STEPS_MAX):
        tail, density = upper_tail(t, degrees_of_freedom), _density(t, degrees_of_freedom)
        low, high = (t, high) if tail > alpha else (low, t)
        following = t + math.log(tail / alpha) * tail / density if tail and density else math.inf
        if not low <= following <= high:
            following = (low + high) / 2
        if abs(following - t) <= _CONVERGED * t:
            return following
        t = following
    return t


def _density(t: float, degrees_of_freedom: float) -> float:
    half = degrees_of_freedom / 2
    front = math.lgamma(half + 0.5) - math.lgamma(half) - 0.5 * math.log(math.pi * degrees_of_freedom)
    return math.exp(front - (half + 0.5) * math.log1p(t * t / degrees_of_freedom))


def _incomplete_beta(a: float, b: float, x: float, rest: float) -> float:
    """The regularised incomplete beta function I_x(a, b); `rest` is 1 - x in full precision, also for x near 1."""
    if x <= 0 or rest <= 0:
        return float(rest <= 0)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(rest))
    # The fraction converges fast below the mean of the distribution; above it, the mirrored one does.
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1 - front * _fraction(b, a, rest) / b


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of 26.5.8, by the modified Lentz method."""
    above, below = 1.0, 1 / _away_from_zero(1 - (a + b) * x / (a + 1))
    value = below
    for m in range(1, _TERMS_MAX):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            below = 1 / _away_from_zero(1 + term * below)
            above = _away_from_zero(1 + term / above)
            value *= below * above
        if abs(below * above - 1) < _PRECISION:
            break
    return value


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
