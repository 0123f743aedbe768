import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped]

from s3bench.stats.multiplicity import benjamini_hochberg

P_VALUES = st.lists(st.floats(0, 1), max_size=12)


def test_benjamini_hochberg_multiplies_by_tests_over_rank() -> None:
    assert benjamini_hochberg([0.04, 0.01, 0.03, 0.5]) == pytest.approx((0.16 / 3, 0.04, 0.16 / 3, 0.5))


@given(P_VALUES)
def test_benjamini_hochberg_is_that_of_scipy(p_values: list[float]) -> None:
    expected = stats.false_discovery_control(p_values, method="bh") if p_values else ()
    assert benjamini_hochberg(p_values) == pytest.approx(tuple(expected), rel=1e-12)


@given(P_VALUES)
def test_adjusted_values_are_probabilities_no_smaller_in_the_same_order(p_values: list[float]) -> None:
    adjusted = benjamini_hochberg(p_values)
    for p_value, discovery in zip(p_values, adjusted, strict=True):
        assert p_value <= discovery * (1 + 1e-12)
        assert discovery <= 1
    ordered = [adjusted[index] for index in np.argsort(p_values, kind="stable")]
    assert ordered == sorted(ordered)


def test_no_tests_one_test_and_no_probability() -> None:
    assert benjamini_hochberg([]) == ()
    assert benjamini_hochberg([0.2]) == (0.2,)
    for wrong in (-0.1, 1.1, float("nan")):
        with pytest.raises(AssertionError, match="probability"):
            benjamini_hochberg([wrong])
