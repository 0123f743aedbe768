"""Observed iterations against their unobserved twins."""

import math

import pytest

from s3bench.results.audit import paired_ratio


def test_the_centre_is_the_median_of_the_paired_ratios() -> None:
    assert paired_ratio([(1.1, 1.0), (2.0, 2.0), (3.0, 2.0)]).median == pytest.approx(1.1)


def test_fewer_than_six_pairs_give_no_interval() -> None:
    ratio = paired_ratio([(1.0, 1.0)] * 5)
    assert (ratio.low, ratio.high) == (None, None)


def test_six_pairs_are_bounded_by_their_extremes() -> None:
    ratio = paired_ratio([(math.exp(step), 1.0) for step in range(6)])
    assert (ratio.low, ratio.high) == (pytest.approx(1.0), pytest.approx(math.exp(5)))


def test_the_interval_of_twenty_pairs_follows_the_sign_test() -> None:
    # P(B <= 5) = 0.0207 for B ~ Bin(20, 1/2): the 6th and the 15th of the ordered ratios.
    ratio = paired_ratio([(math.exp(step), 1.0) for step in range(20)])
    assert (ratio.low, ratio.high) == (pytest.approx(math.exp(5)), pytest.approx(math.exp(14)))
