"""The plan of an open loop: every start is counted once, in time that does not depend on how many there are."""

from itertools import chain

import pytest

from s3bench.load.engine.job_state import PlannedStarts
from s3bench.load.engine.schedule import planned_batches
from s3bench.load.profile.profile import Arrivals

S = 1_000_000_000
START_NS = 7 * S


def plan(rate_per_s: float, arrivals: Arrivals = Arrivals.POISSON) -> tuple[PlannedStarts, list[int]]:
    """A plan, and its first starts."""

    def batches() -> chain[int]:
        return chain.from_iterable(planned_batches(rate_per_s, arrivals, seed=3))

    starts = batches()
    first = [START_NS + next(starts) for _ in range(5000)]
    return PlannedStarts(planned_batches(rate_per_s, arrivals, seed=3), batches(), START_NS), first


@pytest.mark.parametrize("arrivals", Arrivals)
def test_what_is_due_is_counted_and_taken_in_order(arrivals: Arrivals) -> None:
    made, starts = plan(1000.0, arrivals)
    assert made.next_ns == starts[0]
    taken: list[int] = []
    for now_ns in range(START_NS, START_NS + 4 * S, S // 7):
        assert made.tick(now_ns)
        assert made.waiting == sum(start <= now_ns for start in starts) - len(taken)
        while made.waiting > 2:
            taken.append(made.take())
    assert taken == starts[: len(taken)]
    assert len(taken) > 3000


def test_a_plan_far_beyond_what_can_be_done_is_counted_in_portions() -> None:
    made, _ = plan(1e9)
    now_ns = START_NS + 5 * S
    assert not made.tick(now_ns)
    assert made.waiting == 102_400
    assert not made.tick(now_ns)
    assert made.waiting == 204_800


def test_a_start_that_never_comes_is_not_due() -> None:
    made, _ = plan(1e-12)
    assert made.tick(START_NS + 86_400 * S)
    assert made.waiting == 0
    assert made.next_ns > START_NS + 10**17
