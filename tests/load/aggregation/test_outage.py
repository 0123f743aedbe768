"""Time without service: what counts as an outage, tenth of a second by tenth of a second, and what does not."""

import pytest

from s3bench.load.aggregation.outage import outages
from s3bench.load.aggregation.second import ClosedSecond
from s3bench.results.load import Second
from tests.load.aggregations import MS, aggregation, job, phase
from tests.load.simulated import NS, Operation, closed_loop

USUAL_S = 0.005
SUCCESS, FAILURE, WAIT, IDLE = "sfw."


def seconds(slots: str) -> tuple[ClosedSecond, ...]:
    """Seconds of these tenths: a success, nothing but failures, nothing although something was wanted, or nothing."""
    return tuple(second(number, slots[number * 10 : number * 10 + 10]) for number in range(-(-len(slots) // 10)))


def second(number: int, slots: str) -> ClosedSecond:
    figures = Second(
        second=number, operations=0, failures=0, bytes=0, p50=None, p99=None, max=None, in_flight=0.0, stalled=False
    )
    bits = {each: sum(1 << at for at, slot in enumerate(slots) if slot == each) for each in "sfw"}
    return ClosedSecond(
        figures=figures,
        length_ns=len(slots) * NS // 10,
        served=bits[SUCCESS],
        failed=bits[FAILURE],
        wanted=bits[WAIT] | bits[SUCCESS] | bits[FAILURE],
    )


def found(slots: str, usual_s: float = USUAL_S) -> list[tuple[int, int]]:
    return [(each.first, each.end) for each in outages(seconds(slots), usual_s)]


def test_from_the_first_failure_to_the_last_nothing_was_served() -> None:
    assert found(SUCCESS * 30 + FAILURE * 30 + SUCCESS * 40) == [(30, 60)]


def test_failures_beside_successes_are_no_outage() -> None:
    assert found(SUCCESS * 10 + (FAILURE * 4 + SUCCESS) * 18) == []


def test_time_between_two_failures_counts_though_nothing_was_wanted() -> None:
    """As at a low rate, where each attempt is refused at once."""
    assert found(SUCCESS * 10 + (FAILURE + IDLE * 4) * 6 + SUCCESS * 10) == [(10, 36)]


@pytest.mark.parametrize(("usual_s", "expected"), [(0.005, [(10, 40)]), (0.3, [(10, 40)]), (0.31, [])])
def test_silence_is_an_outage_from_ten_times_the_usual_on(usual_s: float, expected: list[tuple[int, int]]) -> None:
    assert found(SUCCESS * 10 + WAIT * 30 + SUCCESS * 10, usual_s) == expected


def test_idle_time_is_no_outage() -> None:
    assert found(SUCCESS * 10 + IDLE * 30 + SUCCESS * 10) == []
    assert found(SUCCESS * 10 + IDLE * 20 + WAIT * 10 + SUCCESS * 10) == [(30, 40)], "what was idle before is left out"


def test_silence_before_timeouts_belongs_to_the_outage() -> None:
    slots = SUCCESS * 20 + WAIT * 10 + FAILURE * 10 + WAIT * 3 + SUCCESS * 7
    assert found(slots) == [(20, 43)]
    assert found(slots, usual_s=0.09) == [(20, 40)], "three tenths are usual then"


def test_a_slow_server_with_a_failure_now_and_then_has_no_outage() -> None:
    """One thread, three seconds an operation, and one that failed."""
    assert found((WAIT * 29 + SUCCESS) * 2 + WAIT * 29 + FAILURE + (WAIT * 29 + SUCCESS) * 2, usual_s=3.0) == []


def test_a_server_that_never_answers_was_never_there() -> None:
    assert found(WAIT * 25, usual_s=0.0) == [(0, 25)]
    assert found(FAILURE * 25, usual_s=0.0) == [(0, 25)]


def test_what_is_shorter_than_half_a_second_is_left_out() -> None:
    assert found(SUCCESS * 10 + FAILURE * 4 + SUCCESS * 6) == []
    assert found(SUCCESS * 10 + FAILURE * 5 + SUCCESS * 5) == [(10, 15)]


def test_only_the_measured_window_counts_and_whole_seconds_are_stalled() -> None:
    """The server refuses from 0.5 s to 3.25 s; the first second is the warm-up."""
    loop = [
        *(each for each in closed_loop(length_ns=5 * MS, end_ns=NS // 2) if each.end_ns < NS // 2),
        *(Operation(start_ns=at, end_ns=at, label="connection refused") for at in range(NS // 2, 3250 * MS, 50 * MS)),
        *(
            Operation(start_ns=each.start_ns + 3250 * MS, end_ns=each.end_ns + 3250 * MS)
            for each in closed_loop(length_ns=5 * MS, end_ns=750 * MS)
        ),
    ]
    found = aggregation(loop, phase(job(), warmup_s=1.0), end_ns=4 * NS).measure()
    assert found.whole.without_service == pytest.approx(2.2)
    assert found.whole.stalls == (1, 2)
    assert [each.second for each in found.whole.seconds if each.stalled] == [1, 2]
    assert "no operation succeeded for 2.2 s of 3.0 s, although operations were wanted" in found.warnings


def test_a_phase_without_an_outage_says_so() -> None:
    found = aggregation(closed_loop(length_ns=5 * MS, end_ns=2 * NS), phase(), end_ns=2 * NS).measure()
    assert (found.whole.without_service, found.warnings) == (0.0, ())
