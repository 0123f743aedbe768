"""Histograms of latencies: percentiles near the exact ones, exact merging, and the rule for what a count can carry."""

import math
from array import array
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom  # type: ignore[import-untyped]

from s3bench.errors import BadInput
from s3bench.results.bins import PERCENTS, Bins, samples_needed, suffices_for
from s3bench.results.histogram import Histogram

SAMPLES = st.lists(st.integers(1, 40_000_000_000), min_size=1, max_size=200)
MILLISECOND = 1_000_000


def histogram(samples: npt.NDArray[np.int64] | list[int]) -> Histogram:
    made = Histogram()
    made.add(samples)
    return made


def exact_ns(samples: npt.NDArray[np.int64], percent: float) -> int:
    """The smallest value that `percent` of the samples do not exceed; numpy's own rank may slip by one."""
    rank = max(1, math.ceil(Fraction(str(percent)) * len(samples) / 100))
    return int(np.sort(samples)[rank - 1])


def drawn(name: str) -> npt.NDArray[np.int64]:
    random = np.random.default_rng(20261121)
    count = 20_000
    draws = {
        "exponential": random.exponential(3 * MILLISECOND, count),
        "lognormal": random.lognormal(15, 1.5, count),
        "pareto": (1 + random.pareto(1.1, count)) * MILLISECOND,
        "uniform": random.uniform(1, 2**30, count),
        "two modes": np.where(random.random(count) < 0.02, 2e9, 1e6) + random.normal(0, 1000, count),
        "nearly constant": 5 * MILLISECOND + random.integers(0, 100, count),
        "few nanoseconds": random.integers(1, 600, count),
        "stalls": np.concatenate([random.exponential(MILLISECOND, count), np.linspace(1, 2e9, 4000)]),
    }
    samples: npt.NDArray[np.int64] = np.maximum(draws[name], 1).astype(np.int64)
    return samples


@pytest.mark.parametrize(
    "name",
    ["exponential", "lognormal", "pareto", "uniform", "two modes", "nearly constant", "few nanoseconds", "stalls"],
)
def test_percentiles_are_within_half_a_percent_of_the_exact_ones(name: str) -> None:
    samples = drawn(name)
    made = histogram(samples)
    for percent in PERCENTS:
        assert made.percentile_ns(percent) == pytest.approx(exact_ns(samples, percent), rel=0.002)
    assert made.mean_ns == pytest.approx(samples.mean())
    assert (made.min_ns, made.max_ns, made.count) == (samples.min(), samples.max(), len(samples))


@given(SAMPLES, st.sampled_from(PERCENTS))
def test_any_samples_have_percentiles_within_half_a_percent(samples: list[int], percent: float) -> None:
    found = histogram(samples).percentile_ns(percent)
    if suffices_for(len(samples), percent):
        assert found == pytest.approx(exact_ns(np.array(samples), percent), rel=0.005)
    else:
        assert found is None


@given(SAMPLES, SAMPLES)
def test_two_workers_merged_are_the_histogram_of_the_joined_samples(first: list[int], second: list[int]) -> None:
    merged = Histogram.merged((histogram(first).bins(), histogram(second).bins()))
    assert merged.bins() == histogram(first + second).bins()
    assert merged.count == len(first) + len(second)


@given(st.lists(SAMPLES, max_size=4))
def test_nodes_joined_are_the_histogram_of_the_joined_samples(of_nodes: list[list[int]]) -> None:
    whole = Histogram()
    for samples in of_nodes:
        node = Histogram()
        for second in (samples[::2], samples[1::2]):
            node.merge(histogram(second).bins())
        whole.join(node)
        node.add([1])  # what a node counts later is its own
    every = [sample for samples in of_nodes for sample in samples]
    assert whole.bins() == histogram(every).bins()
    assert (whole.count, whole.mean_ns) == (len(every), histogram(every).mean_ns)


@given(SAMPLES)
def test_bins_at_rest_give_the_same_percentiles(samples: list[int]) -> None:
    made = histogram(samples)
    again = Histogram.merged((made.bins(),))
    assert [again.percentile_ns(percent) for percent in PERCENTS] == [made.percentile_ns(p) for p in PERCENTS]


def test_samples_come_in_many_batches_and_as_an_array_of_the_recorder() -> None:
    made = Histogram()
    for batch in ([5, 7], [], [6_000_000_000], [1]):
        made.add(array("q", batch))
    assert made.bins() == histogram([1, 5, 7, 6_000_000_000]).bins()
    assert (made.min_ns, made.max_ns, made.sum_ns, made.count) == (1, 6_000_000_000, 6_000_000_013, 4)


def test_nothing_has_no_percentile_and_no_mean() -> None:
    empty = Histogram()
    empty.add([])
    empty.merge(Bins())
    assert empty.bins() == Bins()
    assert empty.percentile_ns(50) is None
    assert empty.mean_ns is None


def test_a_percentile_never_lies_beyond_the_samples() -> None:
    made = histogram([1_000_003] * 1000)
    assert made.percentile_ns(99) == 1_000_003


def test_what_is_longer_than_the_last_bin_counts_as_that_and_keeps_its_true_extremes() -> None:
    day_ns = 86_400_000_000_000
    made = histogram([day_ns] * 10)
    assert made.max_ns == day_ns
    assert made.percentile_ns(50) == day_ns


def test_a_rank_does_not_slip_because_a_percent_is_no_exact_number() -> None:
    for count in range(4000, 40_000, 1000):
        samples = np.arange(1, count + 1) ** 2
        exact = int(samples[-(-count * 999 // 1000) - 1])
        assert histogram(samples).percentile_ns(99.9) == pytest.approx(exact, rel=0.002)


@pytest.mark.parametrize("percent", PERCENTS)
def test_a_count_carries_a_percentile_when_its_interval_ends_among_the_samples(percent: float) -> None:
    """The largest sample is above the quantile unless all are below: a binomial with all trials successes."""
    for count in (*range(1, 50), 367, 368, 3687, 3688, 10_000):
        all_below = float(binom.pmf(count, count, percent / 100))
        assert suffices_for(count, percent) == (all_below <= 0.025)


@pytest.mark.parametrize(("percent", "needed"), [(25, 3), (50, 6), (90, 36), (99, 368), (99.9, 3688)])
def test_the_samples_needed_are_the_fewest_that_carry(percent: float, needed: int) -> None:
    assert samples_needed(percent) == needed
    assert suffices_for(needed, percent)
    assert not suffices_for(needed - 1, percent)


def test_no_samples_carry_nothing() -> None:
    assert not any(suffices_for(0, percent) for percent in PERCENTS)


@pytest.mark.parametrize("indexes", [(5, 3), (3, 3), (3, 10**9), (-1, 4), (3,)])
def test_bins_that_were_changed_by_hand_are_refused(indexes: tuple[int, ...]) -> None:
    with pytest.raises(BadInput, match="a histogram is invalid"):
        Histogram.merged([Bins(indexes, (1, 1), 1, 10, 11)])


@pytest.mark.parametrize("counts", [(2**63, 1), (2**53, 1), (-1, 1), (10**30, 1)])
def test_counts_that_nobody_could_reach_are_refused(counts: tuple[int, ...]) -> None:
    with pytest.raises(BadInput, match="a histogram is invalid"):
        Histogram.merged([Bins((3, 4), counts, 1, 10, 11)])


def test_counts_that_only_together_are_too_many_are_refused() -> None:
    part = Bins((3,), (2**52,), 1, 10, 11)
    assert Histogram.merged([part, part]).count == 2**53
    with pytest.raises(BadInput, match="a histogram is invalid"):
        Histogram.merged([part, part, part])
