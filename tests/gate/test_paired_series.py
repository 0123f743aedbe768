"""One metric on both sides: which figures enter, in which direction, and which test they get."""

import math

import pytest
from scipy import stats  # type: ignore[import-untyped]

from s3bench.gate.evidence import ClientCellEvidence
from s3bench.gate.paired_series import PairedSeries, pooled, series_of
from tests.gate.evidence_maker import pair, paired, ratios, run, unpaired


def test_the_worsening_of_a_pair_is_the_log_of_candidate_over_baseline() -> None:
    series = series_of(paired([1.1, 0.9]), "total_time")
    assert series.worsenings == pytest.approx([math.log(1.1), math.log(0.9)])
    assert (series.count, series.is_paired) == (2, True)


def test_more_throughput_is_no_worsening() -> None:
    cell = ClientCellEvidence(name="x", pairs=(pair(run(throughput=100.0), run(throughput=110.0)),))
    assert series_of(cell, "throughput").worsenings == pytest.approx([-math.log(1.1)])


def test_a_pair_with_a_figure_missing_or_zero_on_either_side_is_left_out_whole() -> None:
    figures = ((1.0, 2.0), (None, 2.0), (1.0, None), (0.0, 2.0), (1.0, 0.0), (-1.0, 2.0), (3.0, 4.0))
    cell = ClientCellEvidence(
        name="x", pairs=tuple(pair(run(cpu_time=before), run(cpu_time=after)) for before, after in figures)
    )
    series = series_of(cell, "cpu_time")
    assert (series.baseline, series.candidate) == ((1.0, 3.0), (2.0, 4.0))


def test_the_first_pairs_alone_are_seen_when_asked_for() -> None:
    assert series_of(paired([1.1, 1.2, 1.3]), "total_time", pairs_max=2).candidate == (1.1, 1.2)


def test_runs_of_documents_are_not_paired_and_may_differ_in_number() -> None:
    series = series_of(unpaired([1.0, 2.0, 0.0], [3.0]), "total_time")
    assert (series.baseline, series.candidate, series.is_paired, series.count) == ((1.0, 2.0), (3.0,), False, 1)


def test_pairs_get_the_signed_rank_test() -> None:
    series = series_of(paired(ratios(0.03, 0.05, 20)), "total_time")
    shifted = [worsening - 0.01 for worsening in series.worsenings]
    expected = stats.wilcoxon(shifted, alternative="greater", method="exact")
    assert series.p_above(0.01) == pytest.approx(expected.pvalue)
    assert series.p_two_sided() == pytest.approx(stats.wilcoxon(series.worsenings, method="exact").pvalue)


def test_runs_that_were_not_paired_get_the_mann_whitney_test() -> None:
    baseline, candidate = [1.0, 1.1, 1.2, 1.3, 1.45], [1.15, 1.25, 1.36, 1.51, 1.6, 1.7]
    series = series_of(unpaired(baseline, candidate), "total_time")
    expected = stats.mannwhitneyu(candidate, baseline, alternative="greater", method="exact")
    assert series.p_above(0.0) == pytest.approx(expected.pvalue)


@pytest.mark.parametrize(
    "cell", [paired(ratios(0.03, 0.05, 20)), unpaired([1.0, 1.1, 1.2, 1.3], [1.15, 1.25, 1.36, 1.51])]
)
def test_bounds_agree_with_the_p_value(cell: ClientCellEvidence) -> None:
    series = series_of(cell, "total_time")
    for level in (0.03, 0.1, 0.3):
        bound = series.lower_bound(level)
        assert series.p_above(bound - 1e-9) <= level < series.p_above(bound + 1e-9)
    assert series.lower_bound(0.1) < series.estimate() < series.upper_bound(0.1)


def test_sigma_is_the_standard_deviation_of_the_pairs() -> None:
    series = series_of(paired([1.1, 0.9, 1.0]), "total_time")
    assert series.sigma == pytest.approx(stats.tstd(series.worsenings))
    assert series.standard_error() == pytest.approx(stats.sem(series.worsenings))


def test_one_pair_has_no_spread_and_unpaired_runs_have_none_of_pairs() -> None:
    assert series_of(paired([1.1]), "total_time").sigma is None
    assert series_of(paired([1.1]), "total_time").standard_error() == math.inf
    both = series_of(unpaired([1.0, 1.1], [1.2, 1.5]), "total_time")
    assert both.sigma is None
    assert both.standard_error() == pytest.approx(math.hypot(math.log(1.1) / 2, math.log(1.25) / 2))


def test_no_figures_reject_nothing_and_bound_nothing() -> None:
    for is_paired in (True, False):
        nothing = PairedSeries(baseline=(), candidate=(), is_paired=is_paired)
        assert nothing.p_above(0.0) == 1.0
        assert (nothing.lower_bound(0.1), nothing.upper_bound(0.1)) == (-math.inf, math.inf)


def test_series_pool_to_their_geometric_mean_pair_by_pair() -> None:
    first = PairedSeries(baseline=(1.0, 1.0, 1.0), candidate=(4.0, 9.0, 5.0), is_paired=True)
    second = PairedSeries(baseline=(4.0, 1.0), candidate=(16.0, 1.0), is_paired=True)
    mean = pooled([first, second])
    assert mean.baseline == pytest.approx((2.0, 1.0))
    assert mean.candidate == pytest.approx((8.0, 3.0))
    assert mean.worsenings == pytest.approx((math.log(4), math.log(3)))


def test_a_pooled_series_keeps_the_direction() -> None:
    one = PairedSeries(baseline=(1.0,), candidate=(2.0,), is_paired=True, sign=-1)
    assert pooled([one, one]).worsenings == pytest.approx((-math.log(2),))
