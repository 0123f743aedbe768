"""The search for the highest rate that keeps a promise."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3bench.load.aggregation.slo import SloOutcome, SloVerdict
from s3bench.load.session.slo_search import LONGER_MAX, PRECISION, SloSearch

HOLDS = SloVerdict(outcome=SloOutcome.HOLDS)
BROKEN = SloVerdict(outcome=SloOutcome.BROKEN, words="p99 was 2 s")
NO_EVIDENCE = SloVerdict(outcome=SloOutcome.NO_EVIDENCE, words="the load generator itself was the bottleneck")
UNRESOLVED = SloVerdict(outcome=SloOutcome.UNRESOLVED, words="p99 needs 368 operations")


def searched(search: SloSearch, limit: float, *, beyond: SloVerdict = BROKEN) -> SloSearch:
    while (step := search.proposal) is not None:
        search = search.after(HOLDS if step.rate_per_s <= limit else beyond)
    return search


def proposed(search: SloSearch) -> tuple[float, int]:
    step = search.proposal
    assert step is not None
    return step.rate_per_s, step.longer


@given(st.floats(0.5, 1e6), st.floats(1, 10_000))
def test_the_limit_is_found_to_a_twentieth_in_few_runs(limit: float, start: float) -> None:
    if limit < start / 1000:
        return
    search = searched(SloSearch(start_per_s=start), limit)
    found = search.found.rate_per_s
    assert found is not None
    assert found <= limit <= found * (1 + PRECISION) * (1 + 1e-9)
    assert search.found.is_limit
    assert len(search.trials) <= abs(math.log2(limit / start)) + 8


def test_rates_double_and_are_then_bisected() -> None:
    rates = [trial.step.rate_per_s for trial in searched(SloSearch(start_per_s=100), 500).trials]
    assert rates[:4] == [100, 200, 400, 800]
    assert rates[4] == pytest.approx(math.sqrt(400 * 800))
    assert {trial.step.longer for trial in searched(SloSearch(start_per_s=100), 500).trials} == {1}


def test_a_start_that_is_too_high_is_halved_until_one_holds() -> None:
    rates = [trial.step.rate_per_s for trial in searched(SloSearch(start_per_s=100), 30).trials]
    assert rates[:3] == [100, 50, 25]


def test_a_promise_that_nothing_keeps_ends_the_search() -> None:
    search = searched(SloSearch(start_per_s=100), 0)
    assert (search.found.rate_per_s, search.found.is_limit) == (None, False)
    assert "no rate held" in search.found.words
    assert len(search.trials) == 11


def test_the_search_goes_no_higher_than_it_may() -> None:
    search = searched(SloSearch(start_per_s=100, rate_max_per_s=300), 1e9)
    assert [trial.step.rate_per_s for trial in search.trials] == [100, 200, 300]
    assert (search.found.rate_per_s, search.found.is_limit) == (300, False)
    assert "at least 300.0/s held; nothing higher was tried" in search.found.words


def test_a_run_that_was_too_short_is_repeated_for_as_long_as_it_takes() -> None:
    search = SloSearch(start_per_s=100)
    assert proposed(search) == (100, 1)
    assert proposed(search.after(replace(UNRESOLVED, longer=1.1))) == (100, 2)
    search = search.after(replace(UNRESOLVED, longer=3.0))
    assert proposed(search) == (100, 4)
    search = search.after(replace(UNRESOLVED, longer=1.1))
    assert proposed(search) == (100, LONGER_MAX)


@pytest.mark.parametrize("verdicts", [(8.5,), (2.0, 5.0), (8.0, 1.1)])
def test_a_rate_with_too_few_operations_for_any_run_is_followed_by_a_higher_one(verdicts: tuple[float, ...]) -> None:
    search = SloSearch(start_per_s=100)
    for longer in verdicts:
        search = search.after(replace(UNRESOLVED, longer=longer))
    assert proposed(search) == (200, 1)


@given(st.floats(0.5, 1e4), st.floats(0.01, 1e5), st.floats(1, 1e4))
def test_no_rate_is_below_one_that_had_too_few_operations(limit: float, enough: float, start: float) -> None:
    """A server that carries `limit`, and limits that need `enough` operations a second in a run of the usual length."""
    search = SloSearch(start_per_s=start, rate_max_per_s=1e5)
    unresolved = 0.0
    while (step := search.proposal) is not None:
        assert step.rate_per_s >= unresolved
        if step.rate_per_s > limit:
            search = search.after(BROKEN)
        elif step.rate_per_s * step.longer < enough:
            unresolved = max(unresolved, step.rate_per_s)
            search = search.after(replace(UNRESOLVED, longer=enough / (step.rate_per_s * step.longer)))
        else:
            search = search.after(HOLDS)
    found = search.found
    if enough / LONGER_MAX > limit:
        assert found.rate_per_s is None
    if found.rate_per_s is not None:
        assert found.rate_per_s <= limit
    assert found.is_undecided is (found.rate_per_s is None and unresolved > 0)


def test_a_search_that_could_decide_no_rate_is_undecided_and_tells_what_helps() -> None:
    search = SloSearch(start_per_s=100).after(replace(UNRESOLVED, longer=60.0)).after(NO_EVIDENCE)
    assert search.proposal is None, "no rate between 100 and 200 has enough operations either"
    assert (search.found.rate_per_s, search.found.is_limit, search.found.is_undecided) == (None, False, True)
    assert search.found.words == (
        "undecided: at 100.0/s p99 needs 368 operations; at 200.0/s the load generator itself was the bottleneck; "
        "use a longer -d, a looser errors limit, or a lower percentile"
    )


def test_the_gap_above_an_undecided_rate_is_searched_where_a_rate_in_it_may_have_enough_operations() -> None:
    search = SloSearch(start_per_s=100).after(replace(UNRESOLVED, longer=9.0)).after(BROKEN)
    assert proposed(search) == (math.sqrt(100 * 200), 1)
    assert search.after(HOLDS).found.rate_per_s == math.sqrt(100 * 200)


def test_a_rate_that_was_decided_by_a_longer_run_is_not_undecided() -> None:
    search = SloSearch(start_per_s=100).after(replace(UNRESOLVED, longer=2.0)).after(BROKEN)
    assert proposed(search) == (50, 1)
    assert not search.found.is_undecided
    assert "no rate held: at 100.0/s p99 was 2 s" in search.found.words


def test_a_search_that_was_stopped_before_any_rate_was_decided_is_undecided() -> None:
    assert SloSearch(start_per_s=100).found.is_undecided
    assert SloSearch(start_per_s=100).after(replace(UNRESOLVED, longer=2.0)).found.is_undecided


def test_a_longer_run_that_resolves_goes_on() -> None:
    search = SloSearch(start_per_s=100).after(replace(UNRESOLVED, longer=2.0)).after(HOLDS)
    step = search.proposal
    assert step is not None
    assert (step.rate_per_s, step.longer) == (200, 1)
    assert search.found.rate_per_s == 100


def test_where_the_generator_gave_out_nothing_is_said_of_the_server() -> None:
    found = searched(SloSearch(start_per_s=100), 500, beyond=NO_EVIDENCE).found
    assert found.rate_per_s == pytest.approx(500, rel=0.05)
    assert not found.is_limit
    assert "at least" in found.words
    assert "the load generator itself was the bottleneck" in found.words
    assert "the server's own limit is not known" in found.words


def test_a_limit_is_told_with_what_broke_above_it() -> None:
    assert "p99 was 2 s" in searched(SloSearch(start_per_s=100), 500).found.words


def test_a_search_that_was_stopped_tells_what_it_knows() -> None:
    search = SloSearch(start_per_s=100).after(HOLDS).after(BROKEN)
    assert (search.found.rate_per_s, search.found.is_limit) == (100, False)
