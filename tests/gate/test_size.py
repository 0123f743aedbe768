"""The size of a change that a gate has shown: from all pairs, corrected for the selection of those that showed it."""

import datetime as dt
import math
import random

import pytest
from msgspec.structs import replace

from s3bench.gate.conclusion import conclude
from s3bench.gate.evidence import ClientCellEvidence
from s3bench.gate.indifference_zone import IndifferenceZone
from s3bench.gate.multiple_testing import decide_rows, pairs_needed
from s3bench.gate.pair_autocorrelation import widened
from s3bench.gate.paired_series import series_of
from s3bench.gate.policy import Policy
from s3bench.gate.row import GateRow, RowKind, Verdict
from s3bench.gate.size import cells_to_size
from tests.gate.evidence_maker import of_pairs, paired, ratios, run, unpaired
from tests.gate.simulated_gate import ZONES, SizePolicy

TIME_ALONE = SizePolicy(metrics=("total_time",), zones={"total_time": ZONES["total_time"]}, false_alarm=0.01 / 8)
TODAY = dt.date(2026, 11, 25)


def row_of(cell: ClientCellEvidence, policy: Policy = TIME_ALONE) -> GateRow:
    (row,) = conclude([cell], policy, today=TODAY).rows
    return row


def with_fresh(cell: ClientCellEvidence, *times: float) -> ClientCellEvidence:
    return replace(cell, sizing=paired(times).pairs)


def test_fresh_pairs_are_joined_to_those_of_the_verdict_which_they_do_not_change() -> None:
    cell = paired(ratios(0.2, 0.02))
    row = row_of(with_fresh(cell, *ratios(0.2, 0.02, 12, turn=3)))
    plain = row_of(cell)
    assert (row.verdict, row.at_least, row.p, row.pairs) == (plain.verdict, plain.at_least, plain.p, plain.pairs)
    assert (row.fresh_pairs, row.is_corrected) == (12, False)
    assert row.change == pytest.approx(0.2, abs=0.005)
    assert row.candidate == pytest.approx(1.2, abs=0.01)
    assert row.reason.endswith("worse, above 2.0%; size from 32 pairs, 12 of them fresh")


def test_fresh_pairs_show_the_size_more_closely_than_alone_and_than_those_of_the_verdict() -> None:
    cell = paired(ratios(0.085, 0.1))
    fresh = paired(ratios(0.06, 0.1, 12))
    alone = series_of(fresh, "total_time")
    row, corrected = row_of(replace(cell, sizing=fresh.pairs)), row_of(cell)
    assert row.is_corrected
    assert row.change is not None
    assert 0.04 < row.change < 0.085
    assert width(row.low, row.high) < min(width(*alone.interval()), width(corrected.low, corrected.high))
    assert row.reason.endswith("size from 52 pairs, 12 of them fresh, corrected for its selection")


def width(low: float | None, high: float | None) -> float:
    assert high is not None
    return high - (-1.0 if low is None else low)


def test_fresh_pairs_change_nothing_of_a_row_that_passes() -> None:
    cell = paired(ratios(0.0, 0.01))
    assert row_of(with_fresh(cell, *ratios(0.3, 0.01, 12))) == row_of(cell)


def test_as_many_fresh_pairs_are_used_as_there_was_time_for() -> None:
    cell = paired(ratios(0.2, 0.02))
    assert row_of(with_fresh(cell, *ratios(0.1, 0.01, 5))).fresh_pairs == 5


def test_a_change_far_above_its_limit_is_not_corrected() -> None:
    cell = paired(ratios(0.3, 0.01))
    (plain,) = decide_rows([cell], TIME_ALONE).rows
    row = row_of(cell)
    assert not row.is_corrected
    assert (row.change, row.low, row.high) == (plain.change, plain.low, plain.high)


def test_a_change_that_was_shown_by_a_little_is_corrected_downwards_and_never_below_its_bound() -> None:
    cell = paired(ratios(0.085, 0.1))
    (plain,) = decide_rows([cell], TIME_ALONE).rows
    row = row_of(cell)
    assert plain.verdict is row.verdict is Verdict.FAIL
    assert row.is_corrected
    assert row.change is not None
    assert plain.change is not None
    assert row.at_least is not None
    assert row.at_least <= row.change < plain.change
    assert row.reason.endswith("size corrected for its selection")


def test_two_documents_are_corrected_too() -> None:
    source = random.Random(1)
    sides = [[base * math.exp(source.gauss(0, 0.1)) for _ in range(30)] for base in (1.0, 1.14)]
    policy = replace(TIME_ALONE, false_alarm=0.05)
    (plain,) = decide_rows([unpaired(*sides)], policy).rows
    row = row_of(unpaired(*sides), policy)
    assert plain.verdict is Verdict.FAIL
    assert row.is_corrected
    assert row.change is not None
    assert plain.change is not None
    assert row.change < plain.change


def test_a_mean_over_all_benchmarks_takes_fresh_pairs_of_all_of_them() -> None:
    cells = [paired(ratios(0.2, 0.02, turn=turn), name=f"{turn}") for turn in range(2)]
    sized = [with_fresh(cell, *ratios(0.1, 0.01, 12)) for cell in cells]
    for given, count in ((sized, 12), ([sized[0], cells[1]], 0)):
        rows = conclude(given, TIME_ALONE, today=TODAY).rows
        assert [row.fresh_pairs for row in rows if row.kind is RowKind.CREEP] == [count]


def test_only_benchmarks_with_a_change_by_size_are_measured_again() -> None:
    slow, quiet = paired(ratios(0.2, 0.02), name="slow"), paired(ratios(0.0, 0.005), name="quiet")
    assert cells_to_size([slow, quiet], TIME_ALONE) == {slow.identity}


def failed_cells(truth: float, sigma: float, count: int) -> list[ClientCellEvidence]:
    """The cells of so many gates that FAIL, a sequence of looks each."""
    source = random.Random(f"{truth} {sigma}")
    found: list[ClientCellEvidence] = []
    while len(found) < count:
        whole = paired([math.exp(source.gauss(math.log1p(truth), sigma)) for _ in range(40)])
        cell = whole
        for pairs in TIME_ALONE.looks.pairs:
            cell = replace(whole, pairs=whole.pairs[:pairs])
            if not pairs_needed([cell], TIME_ALONE).undecided:
                break
        if decide_rows([cell], TIME_ALONE).rows[0].verdict is Verdict.FAIL:
            found.append(cell)
    return found


@pytest.mark.parametrize(("truth", "sigma"), [(0.05, 0.02), (0.05, 0.05), (0.07, 0.10)])
def test_the_size_of_gates_that_fail_is_right_on_average_and_its_interval_covers_the_truth(
    truth: float, sigma: float
) -> None:
    source, cells = random.Random(f"{truth} {sigma} fresh"), failed_cells(truth, sigma, 60)
    fresh = ([math.exp(source.gauss(math.log1p(truth), sigma)) for _ in range(12)] for _ in cells)
    sized = [with_fresh(cell, *times) for cell, times in zip(cells, fresh, strict=True)]
    for rows in ([row_of(cell) for cell in cells], [row_of(cell) for cell in sized]):
        mean = sum(row.change or 0.0 for row in rows) / len(rows)
        assert abs(mean - truth) <= truth / 4
        covered = sum((-1 if row.low is None else row.low) <= truth <= (row.high or math.inf) for row in rows)
        assert covered >= 51  # of 60; fewer happen once in a thousand times if 95 % cover


def test_a_step_from_selected_pairs_to_fresh_ones_does_not_pass_for_neighbours_that_are_alike() -> None:
    source = random.Random(1)
    shown, fresh = ([math.exp(source.gauss(mean, 0.02)) for _ in range(20)] for mean in (0.2, 0.15))
    cell = paired(shown)
    row = row_of(with_fresh(cell, *fresh[:12]))
    assert widened(series_of(paired([*shown, *fresh[:12]]), "total_time")).factor > 1.5
    assert widened(series_of(cell, "total_time")).factor == 1
    plain = series_of(paired([*shown, *fresh[:12]]), "total_time").interval()
    assert (row.low, row.high) == plain


def test_pairs_that_a_row_did_not_use_do_not_change_its_size() -> None:
    """They were run for another metric of the same benchmark."""
    used = paired(ratios(0.065, 0.03, 20))
    more = replace(used, pairs=(*used.pairs, *paired(ratios(0.0, 0.05, 20)).pairs))
    row, other = row_of(used), row_of(more)
    assert (row.pairs, row.verdict, row.is_corrected) == (20, Verdict.FAIL, True)
    assert (row.change, row.low, row.high) == (other.change, other.low, other.high)


def test_what_is_shown_and_detected_does_not_depend_on_how_a_limit_is_written() -> None:
    """94.3 % of the baseline are 5.7 % less, or a baseline of 6 % more."""
    ratio = IndifferenceZone(d0=0.02, d1=0.06, floor=0)
    drop = IndifferenceZone(d0=1 - 1 / 1.02, d1=1 - 1 / 1.06, floor=0, is_drop=True)
    cell = of_pairs([(run(throughput=1e6), run(throughput=1e6 / each)) for each in ratios(0.085, 0.1)])
    one, other = (
        row_of(cell, replace(TIME_ALONE, metrics=("throughput",), zones={"throughput": zone})) for zone in (ratio, drop)
    )
    assert one.verdict is other.verdict is Verdict.FAIL
    assert one.is_corrected
    assert [one.change, one.low, one.high] == pytest.approx([other.change, other.low, other.high])
    for former, now in (
        (one.at_least, other.at_least),
        (one.detectable, other.detectable),
        (one.detectable_small, other.detectable_small),
    ):
        assert former is not None
        assert now == pytest.approx(former / (1 + former), rel=1e-3)
