"""Little's law as a check of a run's figures against each other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3bench.load.aggregation.littles_law import Flow, contradiction

OPERATIONS = st.lists(st.tuples(st.floats(0, 12), st.floats(0.001, 5)), min_size=1, max_size=60)
WINDOW = 2.0, 10.0


def flow_of(operations: list[tuple[float, float]], *, clock: float = 1.0) -> Flow:
    """The flow within `WINDOW` of operations (start, length), by definition; `clock` is what clocks show of them."""
    opened, closed = WINDOW
    spans = [(start, start + length) for start, length in operations]
    ended = [(start, end) for start, end in spans if opened <= end < closed]
    at_end = [(start, end) for start, end in spans if start < closed <= end]
    return Flow(
        window_s=closed - opened,
        integral_s=sum(max(0.0, min(end, closed) - max(start, opened)) for start, end in spans),
        time_s=sum(end - start for start, end in ended) * clock,
        at_start=sum(start < opened <= end for start, end in spans),
        longest_s=max((length for _, length in operations), default=0.0),
        open_s=sum(closed - start for start, _ in at_end),
    )


@given(OPERATIONS)
def test_no_true_aggregation_contradicts_the_law_whatever_is_in_flight_at_the_edges(
    operations: list[tuple[float, float]],
) -> None:
    assert contradiction(flow_of(operations)) == ""


def closed_loop(threads: int, length_s: float) -> list[tuple[float, float]]:
    return [
        (number * length_s + thread * length_s / threads, length_s)
        for thread in range(threads)
        for number in range(int(12 / length_s))
    ]


def test_a_closed_loop_has_all_its_threads_in_flight_by_both_ways_of_counting() -> None:
    flow = flow_of(closed_loop(16, 0.05))
    assert flow.in_flight == pytest.approx(16)
    assert flow.by_law == pytest.approx(16, rel=0.01)


@pytest.mark.parametrize("clock", [0.25, 0.9, 1.1, 3.0])
def test_clocks_that_stop_too_early_or_too_late_contradict_it(clock: float) -> None:
    told = contradiction(flow_of(closed_loop(16, 0.05), clock=clock))
    assert told.startswith("16.00 operations were in flight on average, but rate and latencies give ")


@pytest.mark.parametrize("clock", [0.96, 1.04])
def test_a_twentieth_is_let_pass(clock: float) -> None:
    assert contradiction(flow_of(closed_loop(16, 0.05), clock=clock)) == ""


def test_operations_that_never_ended_excuse_their_own_time_and_no_more() -> None:
    assert contradiction(Flow(window_s=10, integral_s=160, time_s=80, open_s=80)) == ""
    assert contradiction(Flow(window_s=10, integral_s=160, time_s=60, open_s=80))


def test_the_edges_excuse_only_their_own_direction() -> None:
    at_start = Flow(window_s=10, integral_s=10, time_s=20, at_start=5, longest_s=2)
    assert contradiction(at_start) == ""
    assert contradiction(Flow(window_s=10, integral_s=20, time_s=10, at_start=5, longest_s=2))
    assert contradiction(Flow(window_s=10, integral_s=20, time_s=10, open_s=10)) == ""
    assert contradiction(Flow(window_s=10, integral_s=10, time_s=20, open_s=10))


def test_nothing_in_flight_for_no_time_is_no_contradiction() -> None:
    assert contradiction(Flow(window_s=0, integral_s=0, time_s=0)) == ""
    assert contradiction(Flow(window_s=10, integral_s=0, time_s=0)) == ""
