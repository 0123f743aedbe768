"""When a gate looks, and how its error budget is shared among the looks."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3bench.errors import BadInput
from s3bench.gate.looks import PAIRS_MAX, Looks, Spending, check_looks, parse_looks


def test_the_default_looks_are_at_ten_twenty_and_forty_pairs() -> None:
    assert Looks().pairs == (10, 20, 40)
    assert Looks().cap == 40


def test_each_look_spends_by_the_pairs_that_it_adds() -> None:
    assert [Looks().share(look) for look in range(3)] == [0.25, 0.25, 0.5]
    assert Looks(pairs=(8,)).share(0) == 1.0


@given(st.sets(st.integers(1, PAIRS_MAX // 2), min_size=1, max_size=8))
def test_the_looks_spend_the_whole_budget_and_each_a_part(halves: set[int]) -> None:
    looks = parse_looks(",".join(str(2 * half) for half in sorted(halves)))
    shares = [looks.share(number) for number in range(len(looks.pairs))]
    assert all(share > 0 for share in shares)
    assert sum(shares) == pytest.approx(1.0)
    assert looks.cap == 2 * max(halves)


def test_an_option_sets_the_looks() -> None:
    assert parse_looks("6, 12").pairs == (6, 12)
    assert parse_looks(str(PAIRS_MAX)).pairs == (PAIRS_MAX,)


@pytest.mark.parametrize("text", ["", "ten", "10,", "0", "-2,2", "11", "10,10", "20,10", "1002", "10;20", "2.0"])
def test_looks_that_cannot_be_held_are_reported_as_typed(text: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_looks(text)
    assert f"--pairs {text}" in caught.value.what
    assert "--pairs 10,20,40" in caught.value.fix


def test_looks_from_a_file_are_held_to_the_same() -> None:
    with pytest.raises(BadInput, match=r"\$\.looks"):
        check_looks(Looks(pairs=(3,)), "$.looks")
    assert check_looks(Looks(pairs=(4,))).cap == 4


def test_a_look_that_can_reject_nothing_leaves_its_share_to_the_last_one() -> None:
    looks = Looks(spending=Spending.BY_USE)
    assert looks.alarm_shares(0.01) == (0.25, 0.25, 0.5)
    assert looks.alarm_shares(0.01 / 42) == (0.0, 0.25, 0.75)
    assert Looks().alarm_shares(0.01 / 42) == (0.25, 0.25, 0.5)


def test_half_of_the_misses_are_spent_at_the_first_look_by_use_and_a_quarter_by_pairs() -> None:
    assert Looks(spending=Spending.BY_USE).miss_shares[0] == 0.5
    assert Looks().miss_shares == (0.25, 0.25, 0.5)


@given(st.sets(st.integers(1, PAIRS_MAX // 2), min_size=1, max_size=8), st.floats(1e-9, 0.1))
def test_shares_by_use_sum_to_one_too(halves: set[int], level: float) -> None:
    looks = parse_looks(",".join(str(2 * half) for half in sorted(halves)), spending=Spending.BY_USE)
    assert sum(looks.alarm_shares(level)) == pytest.approx(1.0)
    assert sum(looks.miss_shares) == pytest.approx(1.0)


def test_what_is_left_is_what_later_looks_would_spend() -> None:
    looks = Looks()
    assert [looks.left(looks.alarm_shares(0.01), pairs) for pairs in (9, 10, 14, 20, 40)] == [1.0, 0.75, 0.75, 0.5, 0]


def test_a_record_without_spending_is_judged_as_it_was() -> None:
    assert msgspec.json.decode(b'{"pairs":[10,20,40]}', type=Looks).spending is Spending.BY_PAIRS
