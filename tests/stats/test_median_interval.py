"""Medians and their intervals, against SciPy's binomial."""

import numpy as np
import pytest
from scipy import stats

from s3bench.stats.median_interval import median_interval


@pytest.mark.parametrize("count", [6, 7, 12, 25, 60])
def test_the_interval_of_a_median_is_that_of_the_binomial(count: int) -> None:
    values = [float(value) for value in range(1, count + 1)]
    found, low, high = median_interval(values)
    assert found == np.median(values)
    assert low is not None
    assert high is not None
    assert low + high == count + 1
    # The true median lies below the k-th value with the chance that fewer than k of all lie below it.
    assert stats.binom.cdf(low - 1, count, 0.5) <= 0.025 < stats.binom.cdf(low, count, 0.5)


def test_a_median_of_few_values_has_no_interval() -> None:
    assert median_interval([3.0, 1.0, 2.0]) == (2.0, None, None)
    assert median_interval([1.0] * 5) == (1.0, None, None)
    assert median_interval([float(number) for number in range(3000)])[0] == 1499.5
    assert median_interval([6.0, 2.0, 3.0, 4.0, 5.0, 1.0]) == (3.5, 1.0, 6.0)
