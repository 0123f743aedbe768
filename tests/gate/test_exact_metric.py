"""Counts that noise does not touch: what differs is named, what varies by itself proves nothing."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from s3bench.gate.evidence import ClientCellEvidence, Inspection, Side
from s3bench.gate.exact_metric import (
    DEFAULT_EXACT,
    EXACT_BY_NAME,
    CountChange,
    Counts,
    Difference,
    compare_counts,
    counts_of,
)
from s3bench.stats.exact_counts import CONFIRMING_RUNS
from tests.gate.evidence_maker import inspected, pair, run, wired

COUNTS = st.lists(
    st.dictionaries(st.sampled_from("abc"), st.integers(0, 5)),
    min_size=CONFIRMING_RUNS,
    max_size=CONFIRMING_RUNS + 2,
)


def runs(*values: int) -> list[Counts]:
    return [{"PUT": value} for value in values]


def test_a_count_that_is_higher_in_every_run_is_more() -> None:
    (change,) = compare_counts(runs(*[2] * 10), runs(*[3] * 10))
    assert change == CountChange(
        name="PUT", difference=Difference.MORE, baseline=(2, 2), candidate=(3, 3), medians=(2, 3)
    )
    assert (change.increase, change.increase_max) == (1, 1)


def test_a_count_that_is_lower_in_every_run_is_fewer() -> None:
    (change,) = compare_counts(runs(*[5] * 10), runs(*[2, 3] * 5))
    assert change.difference is Difference.FEWER
    assert change.increase == -2


def test_the_same_counts_are_no_change() -> None:
    assert compare_counts(runs(*[2] * 10), runs(*[2] * 10)) == ()


def test_a_count_that_varies_by_itself_proves_nothing_where_the_sides_touch() -> None:
    assert compare_counts(runs(*[2, 3] * 5), runs(*[3, 4] * 5)) == ()


def test_a_count_that_varies_differs_where_the_sides_are_apart() -> None:
    (change,) = compare_counts(runs(*[2, 3] * 5), runs(*[4, 5] * 5))
    assert (change.difference, change.increase, change.increase_max) == (Difference.MORE, 1, 3)
    assert change.medians == (2.5, 4.5)


@pytest.mark.parametrize(("baseline", "candidate"), [(9, 10), (10, 9), (1, 1)])
def test_a_difference_on_few_runs_of_either_side_is_unconfirmed(baseline: int, candidate: int) -> None:
    (change,) = compare_counts(runs(*[2] * baseline), runs(*[3] * candidate))
    assert change.difference is Difference.UNCONFIRMED
    assert change.increase == 1


def test_a_name_that_one_side_never_shows_counts_as_none() -> None:
    changes = compare_counts([{"GET": 1}] * 10, [{"HEAD": 1}] * 10)
    assert [(change.name, change.difference) for change in changes] == [
        ("GET", Difference.FEWER),
        ("HEAD", Difference.MORE),
    ]


def test_a_difference_within_the_tolerance_is_none() -> None:
    assert compare_counts(runs(*[1000] * 10), runs(*[1020] * 10), tolerance=0.02) == ()
    assert compare_counts(runs(*[1020] * 10), runs(*[1000] * 10), tolerance=0.02) == ()
    assert compare_counts(runs(*[1000] * 10), runs(*[1021] * 10), tolerance=0.02) != ()


@pytest.mark.parametrize(("baseline", "candidate"), [([], runs(1)), (runs(1), []), ([], [])])
def test_what_was_observed_on_one_side_alone_cannot_be_compared(
    baseline: list[Counts], candidate: list[Counts]
) -> None:
    assert compare_counts(baseline, candidate) == ()


@settings(max_examples=30)
@given(COUNTS, COUNTS)
def test_swapping_the_sides_turns_more_into_fewer(baseline: list[Counts], candidate: list[Counts]) -> None:
    opposite = {Difference.MORE: Difference.FEWER, Difference.FEWER: Difference.MORE}
    forward = compare_counts(baseline, candidate)
    backward = compare_counts(candidate, baseline)
    assert [(each.name, opposite[each.difference], -each.increase) for each in forward] == [
        (each.name, each.difference, each.increase) for each in backward
    ]


@settings(max_examples=30)
@given(COUNTS, COUNTS)
def test_the_order_of_the_runs_says_nothing(baseline: list[Counts], candidate: list[Counts]) -> None:
    expected = compare_counts(baseline, candidate)
    assert compare_counts(baseline[::-1], candidate[::-1]) == expected


def test_instructions_are_asked_for_and_all_else_is_compared_by_default() -> None:
    assert set(EXACT_BY_NAME) - set(DEFAULT_EXACT) == {"instructions"}


def test_requests_bytes_and_connections_come_from_the_wire() -> None:
    cell = ClientCellEvidence(name="x", pairs=(pair(wired(PUT=3), run()),))
    seen = {name: counts_of(cell, EXACT_BY_NAME[name], Side.BASELINE) for name in ("requests", "bytes", "connections")}
    assert seen == {
        "requests": ({"PUT": 3},),
        "bytes": ({"received": 10, "sent": 20},),
        "connections": ({"connections": 1},),
    }
    assert counts_of(cell, EXACT_BY_NAME["requests"], Side.CANDIDATE) == ()


def test_minor_faults_come_from_every_run_that_tells_them() -> None:
    cell = ClientCellEvidence(name="x", pairs=(pair(run(minor_faults=7), run()), pair(run(), run())))
    assert counts_of(cell, EXACT_BY_NAME["minor_faults"], Side.BASELINE) == ({"minor faults": 7},)


def test_modules_files_calls_and_instructions_come_from_inspections() -> None:
    seen = Inspection(modules=("a", "b"), files=("$WORK/x",), system_calls={"read": 4}, instructions=99)
    cell = inspected([seen, Inspection()], [])
    reported = {
        name: counts_of(cell, metric, Side.BASELINE)
        for name, metric in EXACT_BY_NAME.items()
        if metric.needs_inspection
    }
    assert reported == {
        "modules": ({"a": 1, "b": 1},),
        "files": ({"$WORK/x": 1},),
        "system_calls": ({"read": 4},),
        "instructions": ({"instructions": 99},),
    }
    assert counts_of(cell, EXACT_BY_NAME["modules"], Side.CANDIDATE) == ()


def test_two_runs_confirm_a_difference_of_instructions_beyond_a_thousandth() -> None:
    metric = EXACT_BY_NAME["instructions"]
    assert (metric.tolerance, metric.confirming_runs) == (0.001, 2)
