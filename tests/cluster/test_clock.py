"""Clocks of nodes: measured from the best of several messages, refused where that is not good enough."""

import pytest

from s3bench.cluster.clock import ClockError, ClockSample, measure_clocks, offset_of
from tests.cluster.node_groups import Clock, SimulatedNode, SimulatedNodeGroup

MS = 1_000_000


def test_the_shortest_way_there_and_back_tells_the_offset_and_half_of_it_the_uncertainty() -> None:
    slow = ClockSample(sent_ns=0, received_ns=10 * MS, node_ns=109 * MS)
    quick = ClockSample(sent_ns=20 * MS, received_ns=21 * MS, node_ns=120_600_000)
    offset = offset_of((slow, quick))
    assert offset.offset_ns == 100_100_000
    assert offset.uncertainty_ns == 500_000


@pytest.mark.parametrize(("there_ns", "back_ns"), [(100_000, 100_000), (1, 900_000), (900_000, 1)])
def test_the_true_offset_lies_within_the_uncertainty_however_uneven_the_ways_are(there_ns: int, back_ns: int) -> None:
    clock = Clock()
    node = SimulatedNode(offset_ns=-7_123_456_789, there_ns=there_ns, back_ns=back_ns, wall_offset_ns=3 * 10**9)
    [offset] = measure_clocks(SimulatedNodeGroup([node], clock), now_ns=clock, wall_ns=lambda: clock.now_ns)
    assert abs(offset.offset_ns - node.offset_ns) <= offset.uncertainty_ns < MS
    assert offset.wall_offset_s == pytest.approx(3.0, abs=0.01)


def test_a_clock_that_is_too_far_away_to_be_read_is_refused() -> None:
    clock = Clock()
    near, far = SimulatedNode(), SimulatedNode(there_ns=8 * MS, back_ns=8 * MS)
    with pytest.raises(ClockError, match=r"the clock offset of node-2 is uncertain by 8\.0 ms") as raised:
        measure_clocks(SimulatedNodeGroup([near, far], clock), now_ns=clock, wall_ns=clock)
    assert "needs 5 ms" in raised.value.why
    assert raised.value.node == 1
    assert far.asked.count("clock") == 64, "it got every chance"


def test_a_wrong_time_of_day_is_refused_since_signatures_would_be() -> None:
    clock = Clock()
    node = SimulatedNode(wall_offset_ns=-400 * 10**9)
    with pytest.raises(ClockError, match="time of day on node-1 differs by -400 s"):
        measure_clocks(SimulatedNodeGroup([node], clock), now_ns=clock, wall_ns=lambda: clock.now_ns)


def test_a_node_that_does_not_answer_is_named() -> None:
    clock = Clock()
    with pytest.raises(ClockError, match="node-1 did not report its clock"):
        measure_clocks(SimulatedNodeGroup([SimulatedNode(is_silent=True)], clock), now_ns=clock, wall_ns=clock)
