"""Which of many quantities differ between two groups of runs, with one error rate for all of them.

The statistic of a quantity is Welch's, with a constant added to the standard error so that a quantity that hardly
varies does not look certain by chance (SAM: Tusher, Tibshirani and Chu, PNAS 98, 2001). Its limit is a quantile of the
largest statistic of all quantities when the runs are dealt to the two groups at random (Westfall and Young,
Resampling-Based Multiple Testing, 1993): whatever correlations the quantities have, all that exceed it are real with
the probability asked for. Runs are exchangeable where the groups ran in turn.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_DEALS = 1_000
_DEALS_AT_ONCE = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanDifference:
    """Of each quantity: the second group's mean minus the first one's, and its statistic."""

    difference: FloatArray
    statistic: FloatArray


def mean_difference(first: FloatArray, second: FloatArray, *, added_error: float) -> MeanDifference:
    """Compare two groups; a row is a run, a column a quantity. `added_error` is for a difference, above 0."""
    assert min(len(first), len(second)) > 1, "a variance needs two runs"
    assert added_error > 0, "quantities that do not vary need an added error"
    values = np.concatenate([first, second])
    deal = np.concatenate([np.zeros(len(first)), np.ones(len(second))])[None]
    difference, statistic = _compared(deal, values, values**2, added_error)
    return MeanDifference(difference=difference[0], statistic=statistic[0])


def max_statistic_limit(
    first: FloatArray, second: FloatArray, *, added_error: float, error_rate: float, generator: np.random.Generator
) -> float:
    """The limit that the largest absolute statistic exceeds with probability `error_rate` if nothing differs."""
    values = np.concatenate([first, second])
    if not values.shape[1]:
        return float("inf")
    values = _distinct_columns(values, generator)
    values -= values.mean(axis=0)  # keeps the variances exact
    squares = values**2
    largest = []
    for _ in range(_DEALS // _DEALS_AT_ONCE):
        ranks = generator.random((_DEALS_AT_ONCE, len(values))).argsort(axis=1)
        deals = (ranks >= len(first)).astype(float)
        largest.append(np.abs(_compared(deals, values, squares, added_error)[1]).max(axis=1))
    return float(np.quantile(np.concatenate(largest), 1 - error_rate, method="higher"))


def bootstrap_interval(first: FloatArray, second: FloatArray, *, generator: np.random.Generator) -> tuple[float, float]:
    """The 95 % interval of the difference of two means: percentiles of resampled runs (Efron and Tibshirani, 1993).

    Deviations are widened by sqrt(n / (n - 1)), as resampling n runs makes the variance smaller by (n - 1) / n.
    """
    means = [_resampled_means(values, generator) for values in (first, second)]
    low, high = np.quantile(means[1] - means[0], [0.025, 0.975])
    return float(low), float(high)


def _compared(
    deals: FloatArray, values: FloatArray, squares: FloatArray, added_error: float
) -> tuple[FloatArray, FloatArray]:
    """Differences and statistics for each deal, which has 1 for the runs of the second group."""
    count = len(values)
    second = float(deals[0].sum())
    first = count - second
    sums, square_sums = deals @ values, deals @ squares
    rest, rest_squares = values.sum(axis=0) - sums, squares.sum(axis=0) - square_sums
    variance = np.maximum(square_sums / second - (sums / second) ** 2, 0) / (second - 1)
    variance += np.maximum(rest_squares / first - (rest / first) ** 2, 0) / (first - 1)
    difference = sums / second - rest / first
    return difference, difference / (np.sqrt(variance) + added_error)


def _distinct_columns(values: FloatArray, generator: np.random.Generator) -> FloatArray:
    """Equal columns once: the largest statistic is the same."""
    keys = generator.random(len(values)) @ values
    _, kept = np.unique(np.round(keys, 9), return_index=True)
    return values[:, kept]


def _resampled_means(values: FloatArray, generator: np.random.Generator) -> FloatArray:
    count = len(values)
    means = values[generator.integers(count, size=(2_000, count))].mean(axis=1)
    centre = values.mean()
    return np.asarray(centre + (means - centre) * np.sqrt(count / (count - 1)))
