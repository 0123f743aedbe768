"""The distribution function of Poisson variables of many means at once.

Up to 32 it is the sum of its terms; beyond it is the chi-squared distribution in the approximation of Wilson and
Hilferty (PNAS 17, 1931), whose error is below 0.0006 there. The normal distribution function is that of Abramowitz &
Stegun, Handbook of Mathematical Functions, 7.1.26, with an error below 1e-7.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_EXACT_UP_TO = 32
_P = 0.3275911
_COEFFICIENTS = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)


_LOG_FACTORIALS = np.array([math.lgamma(order + 1) for order in range(_EXACT_UP_TO + 1)])


def poisson_cdf(most: int, means: NDArray[np.float64]) -> NDArray[np.float64]:
    """The probabilities that Poisson variables with these `means`, above 0, do not exceed `most`."""
    found: NDArray[np.float64] = poisson_cdfs([most], means)[:, 0]
    return found


def poisson_cdfs(limits: Sequence[int], means: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same for each of `limits`, in ascending order, as columns."""
    assert limits[0] >= 0, limits
    few = [most for most in limits if most <= _EXACT_UP_TO]
    many = np.array(limits[len(few) :], dtype=np.float64) + 1
    spreads = 1 / (9 * many)
    normal = _normal_cdf((1 - spreads - np.cbrt(means[:, None] / many)) / np.sqrt(spreads))
    return np.column_stack((_sums(few, means), normal))


def _sums(limits: Sequence[int], means: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sums of the terms up to each of `limits`; all share the terms."""
    orders = np.arange(max(limits, default=-1) + 1)
    terms = np.exp(orders * np.log(means)[:, None] - _LOG_FACTORIALS[: orders.size] - means[:, None])
    sums = [terms[:, : most + 1].sum(axis=1) for most in limits]
    return np.minimum(np.reshape(sums, (len(limits), means.size)).T, 1.0)


def _normal_cdf(z: NDArray[np.float64]) -> NDArray[np.float64]:
    x = np.abs(z) / math.sqrt(2)
    t = 1 / (1 + _P * x)
    series = np.zeros_like(t)
    for coefficient in reversed(_COEFFICIENTS):
        series = (series + coefficient) * t
    tail = series * np.exp(-x * x) / 2
    return np.where(z < 0, tail, 1 - tail)
