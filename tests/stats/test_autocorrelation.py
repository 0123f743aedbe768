"""The correlation of neighbours, held against its definition and its level."""

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from s3bench.stats.autocorrelation import neighbour_correlation


def series(correlation: float, count: int, seed: int) -> list[float]:
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal(count + 50)
    values = [float(noise[0])]
    for each in noise[1:]:
        values.append(correlation * values[-1] + float(each))
    return values[50:]


def test_a_trend_is_correlated_most() -> None:
    assert neighbour_correlation([float(number) for number in range(40)]) == 0.9


@pytest.mark.parametrize("values", [[1.0] * 40, [0.0, 1.0] * 20, [float(number) for number in range(19)]])
def test_equal_values_and_values_in_turn_and_few_values_are_not_correlated(values: list[float]) -> None:
    assert neighbour_correlation(values) == 0


def test_it_depends_on_ranks_alone() -> None:
    values = series(0.7, 40, 3)
    assert neighbour_correlation(values) == neighbour_correlation([value**3 for value in values]) > 0.3


@pytest.mark.parametrize("count", [20, 40])
def test_independent_values_are_found_correlated_in_five_of_a_hundred_samples(count: int) -> None:
    found = sum(neighbour_correlation(series(0.0, count, seed)) > 0 for seed in range(1000))
    assert stats.binom.ppf(1e-3, 1000, 0.05) <= found <= stats.binom.isf(1e-3, 1000, 0.05)


def test_a_correlation_of_0_7_is_found_and_its_size_is_about_right() -> None:
    found = [neighbour_correlation(series(0.7, 40, seed)) for seed in range(200)]
    assert sum(each > 0 for each in found) >= 190
    assert np.median(found) == pytest.approx(0.65, abs=0.1)
