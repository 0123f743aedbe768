import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from s3bench.stats.max_statistic import bootstrap_interval, max_statistic_limit, mean_difference

TINY = 1e-12


def groups(seed: int, *, runs: int = 12, columns: int = 30) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    return generator.normal(size=(runs, columns)), generator.normal(size=(runs + 3, columns))


def test_without_added_error_the_statistic_is_that_of_welch() -> None:
    first, second = groups(1)
    compared = mean_difference(first, second, added_error=TINY)
    expected = stats.ttest_ind(second, first, equal_var=False).statistic
    assert compared.statistic == pytest.approx(expected, rel=1e-6)
    assert compared.difference == pytest.approx(second.mean(axis=0) - first.mean(axis=0))


def test_a_quantity_that_does_not_vary_has_the_added_error() -> None:
    compared = mean_difference(np.zeros((5, 1)), np.ones((5, 1)), added_error=0.25)
    assert compared.statistic[0] == pytest.approx(4.0)


def test_the_limit_for_one_quantity_is_that_of_its_permutations() -> None:
    first, second = groups(2, columns=1)
    limits = [
        max_statistic_limit(first, second, added_error=TINY, error_rate=0.05, generator=np.random.default_rng(seed))
        for seed in range(8)
    ]
    expected = stats.permutation_test(
        (second[:, 0], first[:, 0]),
        lambda x, y, axis: np.abs(stats.ttest_ind(x, y, axis=axis, equal_var=False).statistic),
        vectorized=True,
        n_resamples=8_000,
        rng=np.random.default_rng(1),
    ).null_distribution
    assert np.mean(limits) == pytest.approx(np.quantile(expected, 0.95), rel=0.05)


def test_where_nothing_differs_one_of_many_exceeds_the_limit_in_one_of_twenty() -> None:
    exceeded = 0
    for seed in range(200):
        first, second = groups(seed, runs=8, columns=12)
        limit = max_statistic_limit(
            first, second, added_error=0.1, error_rate=0.05, generator=np.random.default_rng(seed)
        )
        exceeded += np.abs(mean_difference(first, second, added_error=0.1).statistic).max() > limit
    assert exceeded <= 20  # 10 expected; 21 or more have a probability of 0.1 %


def test_no_quantity_exceeds_the_limit_of_none() -> None:
    nothing = np.zeros((5, 0))
    limit = max_statistic_limit(nothing, nothing, added_error=1.0, error_rate=0.05, generator=np.random.default_rng(0))
    assert limit == float("inf")


def test_the_bootstrap_interval_is_near_that_of_the_t_distribution() -> None:
    first, second = groups(3, runs=40, columns=1)
    low, high = bootstrap_interval(first[:, 0], second[:, 0], generator=np.random.default_rng(0))
    expected = stats.ttest_ind(second[:, 0], first[:, 0], equal_var=False).confidence_interval()
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=0.05)
