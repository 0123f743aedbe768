"""Histograms and percentile curves: counts and values as the document's bins have them, and no further."""

import numpy as np
import pytest

from s3bench.report.load.cells import LoadPhase, load_phases, load_rows
from s3bench.report.page.load.distribution import distributions, histogram_figure, percentile_figure
from s3bench.results.bins import Bins
from s3bench.results.histogram import Histogram
from s3bench.results.load import Load
from tests.report.loads import document, load, result
from tests.report.page.chart_reader import assert_is_drawn, labels, values


def bins(count: int, *, median_ns: float = 1e6, seed: int = 7) -> Bins:
    """The bins of so many latencies around a median."""
    histogram = Histogram()
    drawn = np.random.default_rng(seed).lognormal(np.log(median_ns), 0.5, count)
    histogram.add(drawn.astype(np.int64))
    return histogram.bins()


def phase(*loads: Load) -> LoadPhase:
    """A phase of these kinds, one loop each."""
    (found,) = load_phases(load_rows(document(*(result(f"load.{each.kind}", each) for each in loads))))
    return found


def test_bars_count_every_operation_once() -> None:
    shown = distributions(phase(load(bins=bins(10_000), first_byte_bins=bins(10_000, median_ns=4e5))))
    made = histogram_figure(shown)
    drawn = values(made.chart, "rect")
    assert [each.name for each in shown] == ["first byte", "last byte"]
    assert sum(each["count"] for each in drawn) == 20_000
    assert all(each["low"] < each["high"] for each in drawn)
    assert_is_drawn(made)


def test_no_sample_is_on_the_wrong_side_of_an_edge() -> None:
    histogram = Histogram()
    samples = np.random.default_rng(1).integers(1_000, 9_000_000, 5_000)
    histogram.add(samples)
    (shown,) = distributions(phase(load(bins=histogram.bins(), first_byte_bins=histogram.bins())))
    for low_s, high_s, count in shown.bars(8):
        inside = ((samples >= round(low_s * 1e9, 3)) & (samples < round(high_s * 1e9, 3))).sum()
        assert inside == count


def test_percentiles_are_those_of_the_bins_to_the_last_that_is_carried() -> None:
    part = bins(1000)
    (shown,) = distributions(phase(load(bins=part, first_byte_bins=part)))
    whole = Histogram.merged([part])
    made = percentile_figure((shown,))
    assert [percent for percent, _ in shown.percentiles] == [50, 75, 90, 95, 99, 99.5]
    assert [value_s for _, value_s in shown.percentiles] == [
        pytest.approx((whole.percentile_ns(percent) or 0) / 1e9) for percent, _ in shown.percentiles
    ]
    assert labels(made.chart)[0].startswith("last byte: p50 ")
    assert made.table is not None
    assert [column.heading for column in made.table.columns][-1] == "p99.5"
    assert_is_drawn(made)


def test_loops_are_put_together() -> None:
    loops = [load(bins=bins(100, seed=seed), first_byte_bins=bins(100, seed=seed)) for seed in (1, 2, 3)]
    (found,) = load_phases(load_rows(document(result("load.get", *loops))))
    (shown,) = distributions(found)
    assert shown.histogram.count == 300


def test_of_several_kinds_each_has_one_distribution() -> None:
    both = load("all", bins=bins(200))
    shown = distributions(phase(both, load(bins=bins(150)), load("put", bins=bins(50))))
    assert [each.name for each in shown] == ["get", "put"]


def test_the_planned_start_counts_where_there_was_a_plan() -> None:
    one = distributions(phase(load(bins=bins(50), first_byte_bins=bins(50, seed=1), response_bins=bins(50, seed=2))))
    assert [each.name for each in one] == ["first byte", "last byte", "from the planned start"]


@pytest.mark.parametrize("count", [1, 5, 6])
def test_few_operations_are_drawn_without_what_they_do_not_carry(count: int) -> None:
    part = bins(count)
    (shown,) = distributions(phase(load(bins=part, first_byte_bins=part)))
    assert len(shown.percentiles) == (count >= 6)
    assert_is_drawn(histogram_figure((shown,)))
    assert_is_drawn(percentile_figure((shown,)))


def test_a_load_without_bins_has_no_distribution() -> None:
    assert distributions(phase(load())) == ()
