"""A driver that does not read what it is told gives up in words, and what waits is bounded."""

import pytest

from s3bench.cluster.listener import BEHIND_S, Listener
from s3bench.cluster.node_rpc import NodeRpc
from s3bench.errors import MachineError
from s3bench.load.engine.interval_record import IntervalRecord
from s3bench.load.engine.message import PhaseEnded
from tests.cluster.node_groups import Clock, SimulatedNode, SimulatedNodeGroup
from tests.load.simulated import NS, endings, records


def unread(seconds: int) -> Listener:
    """To a node of one worker that has told of so many seconds and of its end, and that is not there any more."""
    end_ns = seconds * NS
    clock = Clock()
    node = SimulatedNode(reports=[*records([], end_ns=end_ns), *endings([], end_ns=end_ns)], start_ns=0)
    rpc = NodeRpc(SimulatedNodeGroup([node], clock), now_ns=clock)
    with Listener(rpc, turn=1, workers=1, nodes=1, poll_s=0.001) as listener:
        assert node.was_read.wait(60)
    return listener


def test_nodes_are_polled_at_once_since_the_start_has_used_up_some_of_their_lease() -> None:
    clock = Clock()
    node = SimulatedNode(reports=[*records([], end_ns=NS), *endings([], end_ns=NS)], start_ns=0)
    rpc = NodeRpc(SimulatedNodeGroup([node], clock), now_ns=clock)
    with Listener(rpc, turn=1, workers=1, nodes=1, poll_s=3600) as listener:
        assert [type(each) for each in listener if each is not None] == [IntervalRecord, PhaseEnded]


def test_what_is_reported_before_anybody_reads_waits() -> None:
    reported = list(unread(BEHIND_S - 1))
    assert [each.second for each in reported if isinstance(each, IntervalRecord)] == list(range(BEHIND_S - 1))
    assert isinstance(reported[-1], PhaseEnded)


def test_a_driver_that_is_too_far_behind_gives_up_however_late_it_reads_on() -> None:
    reported: list[object] = []
    with pytest.raises(MachineError, match="more than 30 s behind the records of its nodes"):
        reported.extend(unread(BEHIND_S + 1))
    assert len([each for each in reported if isinstance(each, IntervalRecord)]) >= BEHIND_S - 1
