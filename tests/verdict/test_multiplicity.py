import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped]

from s3bench.verdict.multiplicity import benjamini_hochberg, holm

P_VALUES = st.lists(st.floats(0, 1), max_size=12)


def test_holm_multiplies_by_the_number_of_tests_left() -> None:
    assert holm([0.04, 0.01, 0.03, 0.5]) == pytest.approx((0.09, 0.04, 0.09, 0.5))


def test_benjamini_hochberg_multiplies_by_tests_over_rank() -> None:
    assert benjamini_hochberg([0.04, 0.01, 0.03, 0.5]) == pytest.approx((0.16 / 3, 0.04, 0.16 / 3, 0.5))


@given(P_VALUES)
def test_benjamini_hochberg_is_that_of_scipy(p_values: list[float]) -> None:
    expected = stats.false_discovery_control(p_values, method="bh") if p_values else ()
    assert benjamini_hochberg(p_values) == pytest.approx(tuple(expected), rel=1e-12)


@given(P_VALUES, st.floats(0.001, 0.5))
def test_holm_rejects_what_stepping_down_rejects(p_values: list[float], alpha: float) -> None:
    rejected = set()
    for rank, index in enumerate(np.argsort(p_values, kind="stable").tolist()):
        if min(1.0, (len(p_values) - rank) * p_values[index]) > alpha:
            break
        rejected.add(index)
    assert {index for index, adjusted in enumerate(holm(p_values)) if adjusted <= alpha} == rejected


@given(P_VALUES)
def test_adjusted_values_are_probabilities_no_smaller_in_the_same_order(p_values: list[float]) -> None:
    strict, mild = holm(p_values), benjamini_hochberg(p_values)
    for p_value, discovery, familywise in zip(p_values, mild, strict, strict=True):
        assert p_value <= discovery * (1 + 1e-12)
        assert discovery <= familywise * (1 + 1e-12)
        assert familywise <= 1
    for adjusted in (strict, mild):
        ordered = [adjusted[index] for index in np.argsort(p_values, kind="stable")]
        assert ordered == sorted(ordered)


@pytest.mark.parametrize("adjust", [holm, benjamini_hochberg])
def test_no_tests_one_test_and_no_probability(adjust: object) -> None:
    assert adjust([]) == ()  # type: ignore[operator]
    assert adjust([0.2]) == (0.2,)  # type: ignore[operator]
    for wrong in (-0.1, 1.1, float("nan")):
        with pytest.raises(AssertionError, match="probability"):
            adjust([wrong])  # type: ignore[operator]
