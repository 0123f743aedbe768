"""The Poisson distribution function, against SciPy's."""

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from s3bench.stats.poisson import poisson_cdf

MEANS = np.concatenate((np.geomspace(1e-9, 1e6, 400), np.arange(1, 200) / 2))


@pytest.mark.parametrize("most", [0, 1, 7, 32])
def test_the_probabilities_of_small_counts_are_those_of_scipy(most: int) -> None:
    assert poisson_cdf(most, MEANS) == pytest.approx(stats.poisson.cdf(most, MEANS), abs=1e-12)


@pytest.mark.parametrize("most", [33, 50, 1000, 10**6])
def test_the_probabilities_of_large_counts_are_near_those_of_scipy(most: int) -> None:
    means = np.concatenate((MEANS, np.linspace(0.5 * most, 1.5 * most, 200)))
    assert np.abs(poisson_cdf(most, means) - stats.poisson.cdf(most, means)).max() < 6e-4
