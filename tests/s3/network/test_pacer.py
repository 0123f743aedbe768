"""The arithmetic of rates."""

import heapq

from hypothesis import given
from hypothesis import strategies as st

from s3bench.s3.network.link import Link, fair_share
from s3bench.s3.network.model import NetworkModel
from s3bench.s3.network.pacer import Pacer, reserve


def test_bytes_take_their_time() -> None:
    assert reserve(Pacer(1e6), Pacer(None), 1000, ready_ns=5e9) == 5e9 + 1e6


def test_a_late_caller_that_says_since_when_it_was_ready_loses_nothing() -> None:
    own, shared = Pacer(1e6), Pacer(None)
    due_ns = [reserve(own, shared, 1000, ready_ns=0) for _ in range(3)]
    assert due_ns == [1e6, 2e6, 3e6]
    assert reserve(own, shared, 1000, ready_ns=2.5e6) == 4e6


def test_an_idle_lane_saves_up_nothing() -> None:
    own, shared = Pacer(1e6), Pacer(1e6)
    reserve(own, shared, 1000, ready_ns=0)
    assert reserve(own, shared, 1000, ready_ns=9e9) == 9e9 + 1e6


def test_a_connection_does_not_hurry_after_it_had_to_wait_for_others() -> None:
    shared = Pacer(1e6)
    first, second = Pacer(1e6), Pacer(1e6)
    reserve(first, shared, 10_000, ready_ns=0)
    assert reserve(second, shared, 1000, ready_ns=0) == 11e6
    assert reserve(second, shared, 1000, ready_ns=0) == 12e6


def test_nothing_waits_where_there_is_no_limit() -> None:
    assert reserve(Pacer(None), Pacer(None), 10**12, ready_ns=7.0) == 7.0


@given(
    sizes=st.lists(st.integers(1, 300_000), min_size=1, max_size=8),
    own=st.floats(1e6, 1e9),
    nic=st.floats(1e6, 1e9),
)
def test_connections_that_begin_together_end_when_the_paper_says(sizes: list[int], own: float, nic: float) -> None:
    quantum, shared = 4096, Pacer(nic)
    pacers = [Pacer(own) for _ in sizes]
    left, ended_ns = list(sizes), [0.0] * len(sizes)
    queue = [(0.0, index) for index in range(len(sizes))]
    while queue:
        ready_ns, index = heapq.heappop(queue)
        size = min(quantum, left[index])
        left[index] -= size
        ended_ns[index] = reserve(pacers[index], shared, size, ready_ns)
        if left[index]:
            heapq.heappush(queue, (ended_ns[index], index))
    least_ns = max(sum(sizes) / nic, max(sizes) / own) * 1e9
    round_ns = quantum * (len(sizes) / nic + 1 / own) * 1e9
    assert max(ended_ns) >= least_ns * (1 - 1e-9)
    assert all(end >= size / min(own, nic) * 1e9 * (1 - 1e-9) for end, size in zip(ended_ns, sizes, strict=True))
    fair_ns = fluid_end_s(sizes, own, nic) * 1e9
    assert max(ended_ns) <= fair_ns * 1.001 + 3 * round_ns * len(sizes)


def fluid_end_s(sizes: list[int], own: float, nic: float) -> float:
    """When the last of `sizes` ends if each gets an equal share all the time."""
    now_s, sent = 0.0, 0.0
    for index, size in enumerate(sorted(sizes)):
        now_s += (size - sent) / fair_share(len(sizes) - index, own, nic)
        sent = size
    return now_s


def test_the_share_of_a_connection_is_its_rate_or_its_part_of_the_nic() -> None:
    assert fair_share(2, 93e6, 109e6) == 54.5e6
    assert fair_share(1, 93e6, 109e6) == 93e6
    assert fair_share(9, 93e6, None) == 93e6
    assert fair_share(9, None, 90e6) == 10e6
    assert fair_share(9, None, None) == float("inf")


def test_a_quantum_is_about_two_milliseconds_and_longer_where_many_send() -> None:
    direction = Link(NetworkModel(connection_bytes_per_s=10e6, nic_down_bytes_per_s=500e6)).down
    assert direction.quantum_bytes() == 20_000
    direction.active = 64
    assert direction.quantum_bytes() == round(500e6 / 64 * 64 / 4000)
    assert Link(NetworkModel(connection_bytes_per_s=1e4)).down.quantum_bytes() == 4096
    assert Link(NetworkModel(connection_bytes_per_s=1e10)).down.quantum_bytes() == 262_144


def test_up_and_down_are_limited_apart() -> None:
    link = Link(NetworkModel(nic_up_bytes_per_s=1e6))
    assert (link.up.limited, link.down.limited) == (True, False)
