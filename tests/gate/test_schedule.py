"""Where a gate with a time limit spends its pairs, and what it says a longer one would settle."""

import math

from s3bench.gate.schedule import Identity, OpenTest, by_decisiveness, fitting, longer_gate
from tests.gate.evidence_maker import paired, ratios

LOOKS = (10, 20, 40)


def cell(name: str) -> Identity:
    return ("benchmark", name)


def open_test(*names: str, expected: float = 20.0, is_suspect: bool = False, is_control: bool = False) -> OpenTest:
    return OpenTest(
        cells=tuple(map(cell, names)), pairs_expected=expected, is_suspect=is_suspect, is_control=is_control
    )


def order(*tests: OpenTest, pair_s: dict[str, float] | None = None, pairs: dict[str, int] | None = None) -> list[str]:
    identities = {each for test in tests for each in test.cells}
    found = by_decisiveness(
        tests,
        {each: (pairs or {}).get(str(each[1]), 10) for each in identities},
        {each: (pair_s or {}).get(str(each[1]), 1.0) for each in identities},
        looks=LOOKS,
    )
    return [str(each[1]) for each in found]


def test_controls_come_first_then_suspects_and_the_mean_over_all_last() -> None:
    tests = [
        open_test("a", "b", "mean"),
        open_test("near", expected=12),
        open_test("suspect", expected=38, is_suspect=True),
        open_test("control", is_control=True),
    ]
    assert order(*tests)[:3] == ["control", "suspect", "near"]
    assert set(order(*tests)[3:]) == {"a", "b", "mean"}


def test_what_is_decided_in_the_shortest_time_comes_before_what_takes_longer() -> None:
    tests = [open_test("late", expected=30), open_test("slow", expected=12), open_test("quick", expected=12)]
    assert order(*tests, pair_s={"slow": 2.0, "late": 1.0, "quick": 1.5}) == ["quick", "slow", "late"]


def test_what_no_look_is_expected_to_decide_waits_for_its_like() -> None:
    tests = [
        open_test("hopeless", expected=math.inf, is_suspect=True),
        open_test("clear", expected=30, is_suspect=True),
        open_test("unchanged", expected=12),
    ]
    assert order(*tests, pair_s={"hopeless": 0.1}) == ["clear", "hopeless", "unchanged"]


def test_a_benchmark_counts_by_its_most_decisive_test() -> None:
    tests = [open_test("a", expected=39), open_test("b", expected=19), open_test("a", expected=19, is_suspect=True)]
    assert order(*tests) == ["a", "b"]


def test_pairs_are_missing_up_to_the_look_that_decides() -> None:
    assert [open_test("a", expected=count).pairs_missing(10, LOOKS) for count in (5, 20, 21, 99)] == [10, 10, 30, 30]
    assert open_test("a", expected=12).pairs_missing(20, LOOKS) == 20


def test_the_shortest_first_looks_are_chosen_where_not_all_fit() -> None:
    assert fitting([3.0, 1.0, 2.0], 6.0) == (0, 1, 2)
    assert fitting([3.0, 1.0, 2.0], 5.9) == (1, 2)
    assert fitting([3.0], 1.0) == ()


def test_a_longer_gate_is_told_in_minutes_with_the_rows_it_would_settle() -> None:
    cells = [paired(ratios(0.0, 0.1, 10), name=name, baseline_s=6.0) for name in ("a", "b")]
    tests = [
        OpenTest(cells=(cells[0].identity,), pairs_expected=15),
        OpenTest(cells=(cells[1].identity,), pairs_expected=math.inf),
        OpenTest(cells=tuple(each.identity for each in cells), pairs_expected=15),
        OpenTest(cells=(cells[1].identity,), pairs_expected=15, is_control=True),
    ]
    told = longer_gate(tests, cells, looks=LOOKS)
    assert told == "3 more minutes would be expected to settle 1 of 2 open rows"
    assert longer_gate(tests[1:2], cells, looks=LOOKS) == "40 pairs are not expected to settle any of 1 open row"
    assert longer_gate(tests[2:], cells, looks=LOOKS) == ""


def test_nothing_is_told_of_what_was_not_measured() -> None:
    cells = [paired(ratios(0.0, 0.1, 10), name="a"), paired((), name="b")]
    tests = [OpenTest(cells=(each.identity,), pairs_expected=15) for each in cells]
    assert longer_gate(tests, cells, looks=LOOKS).endswith("settle 1 of 2 open rows")
    assert longer_gate(tests[1:], cells, looks=LOOKS) == ""
