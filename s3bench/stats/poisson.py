"""The distribution function of Poisson variables of many means at once.

Up to 32 it is the sum of its terms; beyond it is the chi-squared distribution in the approximation of Wilson and
Hilferty (PNAS 17, 1931), whose error is below 0.0006 there. The normal distribution function is that of Abramowitz &
Stegun, Handbook of Mathematical Functions, 7.1.26, with an error below 1e-7.
"""

import math

import numpy as np
from numpy.typing import NDArray

_EXACT_UP_TO = 32
_P = 0.3275911
_COEFFICIENTS = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)


def poisson_cdf(most: int, means: NDArray[np.float64]) -> NDArray[np.float64]:
    """The probabilities that Poisson variables with these `means`, above 0, do not exceed `most`."""
    assert most >= 0, most
    if most <= _EXACT_UP_TO:
        orders = np.arange(most + 1)
        logarithms = np.array([math.lgamma(order + 1) for order in orders])
        terms = np.exp(orders * np.log(means)[:, None] - logarithms - means[:, None])
        found: NDArray[np.float64] = np.minimum(terms.sum(axis=1), 1.0)
        return found
    spread = 1 / (9 * (most + 1))
    return _normal_cdf((1 - spread - np.cbrt(means / (most + 1))) / math.sqrt(spread))


def _normal_cdf(z: NDArray[np.float64]) -> NDArray[np.float64]:
    x = np.abs(z) / math.sqrt(2)
    t = 1 / (1 + _P * x)
    series = np.zeros_like(t)
    for coefficient in reversed(_COEFFICIENTS):
        series = (series + coefficient) * t
    tail = series * np.exp(-x * x) / 2
    return np.where(z < 0, tail, 1 - tail)
