"""When requests began that a log dates at their ends."""

import math

from hypothesis import given
from hypothesis import strategies as st

from s3bench.load.access_log.timestamps import started_s

ELAPSED_MS = st.integers(0, 10_000)


def whole_second_start_s(began_ms: int, elapsed_ms: int) -> float:
    """By a log that dates the end of a request in whole seconds."""
    ended_s = (began_ms + elapsed_ms) // 1000
    return started_s(str(ended_s), ended_s, elapsed_ms / 1000)


def test_an_exact_end_gives_an_exact_start() -> None:
    assert started_s("10.250", 10.25, 0.5) == 9.75
    assert started_s("10.250", 10.25, None) == 10.25


@given(began_ms=st.integers(0, 100_000), elapsed_ms=ELAPSED_MS)
def test_an_end_in_whole_seconds_gives_a_start_in_whole_seconds_less_than_a_second_off(
    began_ms: int, elapsed_ms: int
) -> None:
    start_s = whole_second_start_s(began_ms, elapsed_ms)
    assert start_s == math.floor(start_s)
    assert abs(start_s - began_ms / 1000) < 1


@given(began_ms=st.integers(0, 100_000), elapsed_ms=ELAPSED_MS, pause_ms=ELAPSED_MS, next_elapsed_ms=ELAPSED_MS)
def test_a_request_that_ended_before_another_began_does_not_start_after_it(
    began_ms: int, elapsed_ms: int, pause_ms: int, next_elapsed_ms: int
) -> None:
    next_began_ms = began_ms + elapsed_ms + pause_ms
    assert whole_second_start_s(began_ms, elapsed_ms) <= whole_second_start_s(next_began_ms, next_elapsed_ms)
