from array import array

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3bench.stats import pairwise
from s3bench.stats.pairwise import PairwiseSums, finite_sample, sorted_sample

NUMBERS = st.one_of(st.integers(-3, 3).map(float), st.floats(-1e6, 1e6))
SAMPLES = st.lists(NUMBERS, min_size=1, max_size=12)


def walsh_averages(values: list[float]) -> list[float]:
    return sorted(0.5 * first + 0.5 * second for at, first in enumerate(values) for second in values[at:])


def differences(first: list[float], second: list[float]) -> list[float]:
    return sorted(after - before for before in first for after in second)


@pytest.fixture(params=["written out", "searched"])
def _either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small sets of sums too go through the search that large ones need."""
    if request.param == "searched":
        monkeypatch.setattr(pairwise, "_STORED_SUMS_MAX", 4)


@pytest.mark.usefixtures("_either_way")
class TestPairwiseSums:
    @pytest.mark.parametrize("seed", range(40))
    def test_every_order_statistic_median_and_count_is_that_of_the_sums_stored(self, seed: int) -> None:
        random = np.random.default_rng(seed)
        digits = 0 if seed % 2 else 9
        first = sorted_sample(random.normal(size=random.integers(1, 9)).round(digits).tolist())
        second = sorted_sample(random.normal(size=random.integers(1, 9)).round(digits).tolist())
        for sums, written in (
            (PairwiseSums.walsh_averages(first), walsh_averages(first.tolist())),
            (PairwiseSums.differences(first, second), differences(first.tolist(), second.tolist())),
        ):
            assert sums.size == len(written)
            assert [sums.nth(rank) for rank in range(sums.size)] == written
            assert sums.median() == np.median(written)
            for limit in (*written, -9.0, 9.0, 0.1):
                assert sums.count_above(limit) == sum(value > limit for value in written)
                assert sums.count_below(limit) == sum(value < limit for value in written)

    def test_no_values_have_no_sums(self) -> None:
        nothing = sorted_sample([])
        for sums in (PairwiseSums.walsh_averages(nothing), PairwiseSums.differences(nothing, sorted_sample([1.0]))):
            assert (sums.size, sums.count_above(0.0), sums.count_below(0.0)) == (0, 0, 0)
            with pytest.raises(AssertionError):
                sums.median()
            with pytest.raises(AssertionError):
                sums.nth(0)


@given(SAMPLES, SAMPLES, st.data())
def test_selecting_agrees_with_counting_to_the_last_bit(
    first: list[float], second: list[float], data: st.DataObject
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairwise, "_STORED_SUMS_MAX", 3)
        sums = PairwiseSums.differences(sorted_sample(first), sorted_sample(second))
        rank = data.draw(st.integers(0, sums.size - 1))
        value = sums.nth(rank)
        assert sums.count_below(value) <= rank < sums.size - sums.count_above(value)


def test_a_large_set_is_searched_without_being_stored() -> None:
    random = np.random.default_rng(1)
    first, second = (sorted_sample(random.lognormal(size=size).tolist()) for size in (700, 400))
    sums = PairwiseSums.differences(first, second)
    written = np.sort(np.subtract.outer(second, first).ravel())
    for rank in (0, 1, 1000, 139_999, 140_000, 279_998, 279_999):
        assert sums.nth(rank) == written[rank]
    assert sums.median() == np.median(written)
    assert sums._stored is None


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_what_is_no_number_is_refused(value: float) -> None:
    with pytest.raises(AssertionError, match="finite"):
        finite_sample([1.0, value])


def test_a_sample_is_copied_not_sorted_in_place() -> None:
    values = array("d", [2.0, 1.0])  # numpy would share its memory
    assert sorted_sample(values).tolist() == [1.0, 2.0]
    assert values.tolist() == [2.0, 1.0]
