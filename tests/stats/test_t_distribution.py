"""Student's t distribution, with scipy's as the oracle."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped]

from s3bench.stats.t_distribution import upper_quantile, upper_tail

FREE = st.floats(0.5, 500)


@given(st.floats(-50, 50), FREE)
def test_tails_are_those_of_scipy(t: float, free: float) -> None:
    assert upper_tail(t, free) == pytest.approx(stats.t.sf(t, free), rel=1e-9, abs=1e-14)


@given(st.floats(1e-6, 1 - 1e-6), FREE)
def test_quantiles_are_those_of_scipy(alpha: float, free: float) -> None:
    assert upper_quantile(alpha, free) == pytest.approx(stats.t.isf(alpha, free), rel=1e-7, abs=1e-9)


def test_quantiles_are_those_of_the_published_table() -> None:
    # Abramowitz & Stegun, table 26.10.
    assert [round(upper_quantile(0.025, free), 3) for free in (1, 3, 10, 120)] == [12.706, 3.182, 2.228, 1.980]


def test_the_ends_are_certain_and_the_middle_is_even() -> None:
    assert (upper_tail(math.inf, 3.0), upper_tail(-math.inf, 3.0), upper_tail(0.0, 3.0)) == (0.0, 1.0, 0.5)


def test_no_degrees_of_freedom_and_a_level_that_is_no_probability_are_refused() -> None:
    with pytest.raises(AssertionError, match="degrees of freedom"):
        upper_tail(1.0, 0.0)
    with pytest.raises(AssertionError, match="probability"):
        upper_quantile(0.0, 3.0)
