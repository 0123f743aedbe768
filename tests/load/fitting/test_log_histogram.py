"""Histograms of sizes: quantiles within a bin, exact means, and sizes of a profile that keep them."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped]

from s3bench.load.fitting.log_histogram import LogHistogram, ks_distance
from s3bench.load.profile.sizes import SLOTS, parse_sizes

NUMBERS = st.lists(st.integers(0, 5 * 1024**4), min_size=1, max_size=200)


def histogram(numbers: list[int]) -> LogHistogram:
    made = LogHistogram()
    for number in numbers:
        made.add(number)
    return made


def lognormal(count: int, *, median: float = 64 * 1024, sigma: float = 1.5) -> list[int]:
    shares = (np.arange(count) + 0.5) / count
    sizes: list[int] = (median * np.exp(sigma * stats.norm.ppf(shares))).round().astype(int).tolist()
    return sizes


@given(NUMBERS, st.floats(0.01, 1))
def test_a_quantile_is_within_a_bin_of_the_exact_one(numbers: list[int], share: float) -> None:
    exact = int(np.quantile(numbers, share, method="inverted_cdf"))
    assert histogram(numbers).quantiles([share])[0] == pytest.approx(exact, rel=1 / 128, abs=0)


@given(NUMBERS)
def test_the_mean_is_exact(numbers: list[int]) -> None:
    assert histogram(numbers).mean == pytest.approx(sum(numbers) / len(numbers))


@given(NUMBERS)
def test_the_sizes_of_a_profile_are_read_from_their_text(numbers: list[int]) -> None:
    sizes = histogram(numbers).sizes()
    assert parse_sizes(sizes.text) == sizes


def test_the_sizes_of_a_profile_keep_quantiles_and_mean() -> None:
    found = histogram(lognormal(20_000))
    slots = found.sizes().slots
    for share in (0.5, 0.9, 0.99):
        assert slots[int(share * SLOTS)] == pytest.approx(found.quantiles([share])[0], rel=0.03)
    assert np.mean(slots) == pytest.approx(found.mean, rel=0.02)


def test_a_few_sizes_keep_their_weights_and_nothing_lies_between_them() -> None:
    sizes = histogram([4096] * 70 + [1024**2] * 30).sizes()
    assert sizes.text == "4KiB:179, 1MiB:77"


def test_one_size_needs_no_weight() -> None:
    assert histogram([5000] * 9).sizes().text == "5000B"


def test_no_size_is_above_the_largest_that_is_allowed() -> None:
    assert histogram([10, 10**9]).sizes(largest=1000).size_bytes_max == 1000


@given(st.lists(st.integers(0, 255), min_size=1), st.lists(st.integers(0, 255), min_size=1))
def test_the_distance_of_two_histograms_is_that_of_scipy(first: list[int], second: list[int]) -> None:
    found = ks_distance(histogram([*first, 256]), histogram([*second, 256]))
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):  # of its p-values
        expected = stats.ks_2samp([*first, 256], [*second, 256], method="exact").statistic
    assert found == pytest.approx(expected, abs=1e-12)
