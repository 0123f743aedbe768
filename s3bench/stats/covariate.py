"""Takes out of paired differences what covariates explain: analysis of covariance for pairs, cross-fitted.

A covariate is something measured during each run that affects the outcome and that the treatment cannot change, such as
the speed of the machine. Removing what it explains leaves the effect of the treatment and lessens the noise (Fisher,
Statistical Methods for Research Workers, 1932; Deng, Xu, Kohavi and Walker, WSDM 2013, for experiments on computers).

The slope for a pair comes from all other pairs (cross-fitting: Guo et al., "Machine learning for variance reduction in
online experiments", NeurIPS 2021). The adjusted difference of a pair is then no smaller because the slope was fitted to
it, and is distributed symmetrically around the effect if the pair's own differences are, whatever the slope: a wrong
slope costs power, and not the level of a test. Few pairs say little about a slope, so that it starts from an expected
one.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from s3bench.stats.segmentation import NORMAL

PRIOR_PAIRS = 3
"""The expected slopes weigh as much as so many pairs."""

_SLOPE_MAX = 2.5
"""Slopes are kept between 0 and so many times the expected ones."""

_ROUNDS = 3
_HUBER = 1.345  # 95 % efficient on normal noise (Huber, Robust Statistics, 1981)


@dataclass(frozen=True, slots=True, kw_only=True)
class Covariate:
    """The difference of a covariate's logarithm in each pair, and the slope expected of it.

    The slope is the change of the outcome's logarithm per change of the covariate's. `noise` is the variance of a
    difference that comes from measuring it.

    A difference that is not known is 0: its pair is not adjusted and says nothing about the slope. Tests keep their
    level as long as an unknown difference does not depend on the effect (Zhao and Ding, "To adjust or not to adjust?
    Estimating the average treatment effect in randomized experiments with missing covariates", 2021).
    """

    differences: tuple[float, ...]
    expected_slope: float
    noise: float = 0.0

    @property
    def known(self) -> tuple[float, ...]:
        """The differences but for those of 0, which are unknown or say nothing."""
        return tuple(each for each in self.differences if each)

    @property
    def prior_slope(self) -> float:
        """The expected slope, attenuated by the noise (Spearman 1904; Fuller, Measurement Error Models, 1987)."""
        known = self.known
        return self.expected_slope * max(0.0, 1 - self.noise / fmean(each * each for each in known)) if known else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """What the covariates explain of each pair's difference, and the mean slope of each covariate."""

    differences: tuple[float, ...]
    slopes: tuple[float, ...]


def explained(outcome: Sequence[float], covariates: Sequence[Covariate]) -> Explained:
    """Explain paired differences of an outcome's logarithm by one or two covariates, of at least four pairs.

    The slopes are fitted by ridge regression towards the expected ones, with Huber's weights against outliers.
    """
    assert len(covariates) in {1, 2}, "the normal equations are solved for one or two"
    centred, columns = _centred(outcome), [_centred(each.differences) for each in covariates]
    prior = [each.prior_slope for each in covariates]
    slopes = [prior] * len(outcome)
    for _ in range(_ROUNDS):
        slopes = _cross_fitted(centred, columns, prior, _weights(_residuals(centred, columns, slopes)))
    limits = [each.expected_slope * _SLOPE_MAX for each in covariates]
    slopes = [[_between(slope, 0.0, limit) for slope, limit in zip(row, limits, strict=True)] for row in slopes]
    differences = zip(*(each.differences for each in covariates), strict=True)
    return Explained(
        differences=tuple(_dot(row, pair) for row, pair in zip(slopes, differences, strict=True)),
        slopes=tuple(fmean(column) for column in zip(*slopes, strict=True)),
    )


def _cross_fitted(
    outcome: Sequence[float], columns: Sequence[Sequence[float]], prior: Sequence[float], weights: Sequence[float]
) -> list[list[float]]:
    """The slopes for each pair from the others: weighted least squares, with `PRIOR_PAIRS` more of the prior slopes."""
    rows = list(zip(outcome, *columns, strict=True))
    size = len(columns)
    ridge = [PRIOR_PAIRS * fmean(each * each for each in column) for column in columns]
    moments = [[weight * a * b for a in row[1:] for b in row] for row, weight in zip(rows, weights, strict=True)]
    totals = [math.fsum(each) for each in zip(*moments, strict=True)]
    slopes = []
    for own in moments:
        left = [total - part for total, part in zip(totals, own, strict=True)]
        equations = [left[number * (size + 1) : (number + 1) * (size + 1)] for number in range(size)]
        right = [line[0] + more * slope for line, more, slope in zip(equations, ridge, prior, strict=True)]
        matrix = [[line[1 + other] for other in range(size)] for line in equations]
        for number, more in enumerate(ridge):
            matrix[number][number] += more
        slopes.append(_solved(matrix, right))
    return slopes


def _solved(matrix: Sequence[Sequence[float]], right: Sequence[float]) -> list[float]:
    """Solve one or two equations by Cramer's rule; 0 for a covariate that never changes."""
    if len(right) == 1:
        return [right[0] / matrix[0][0] if matrix[0][0] > 0 else 0.0]
    (a, b), (c, d) = matrix
    determinant = a * d - b * c
    if determinant <= 0:
        return [value / square if square > 0 else 0.0 for value, square in zip(right, (a, d), strict=True)]
    return [(right[0] * d - right[1] * b) / determinant, (right[1] * a - right[0] * c) / determinant]


def _residuals(
    outcome: Sequence[float], columns: Sequence[Sequence[float]], slopes: Sequence[Sequence[float]]
) -> list[float]:
    rows = zip(outcome, slopes, *columns, strict=True)
    return _centred([value - _dot(own, row) for value, own, *row in rows])


def _weights(residuals: Sequence[float]) -> list[float]:
    """Huber's weights: 1 within 1.345 robust standard deviations, and falling beyond."""
    limit = _HUBER * NORMAL * median(map(abs, residuals))
    return [1.0 if abs(each) <= limit else limit / abs(each) for each in residuals]


def _centred(values: Sequence[float]) -> list[float]:
    middle = median(values)
    return [value - middle for value in values]


def _dot(first: Sequence[float], second: Sequence[float]) -> float:
    return math.fsum(a * b for a, b in zip(first, second, strict=True))


def _between(value: float, one: float, other: float) -> float:
    return min(max(value, min(one, other)), max(one, other))
