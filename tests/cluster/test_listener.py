"""A driver that does not read what it is told gives up in words, and what waits is bounded."""

import pytest

from s3bench.cluster.listener import BEHIND_S, Listener
from s3bench.cluster.node_rpc import NodeRpc
from s3bench.errors import MachineError
from s3bench.load.engine.interval_record import IntervalRecord
from s3bench.load.engine.message import PhaseEnded
from tests.cluster.node_groups import Clock, SimulatedNode, SimulatedNodeGroup
from tests.load.simulated import NS, endings, records


def listener(seconds: int) -> Listener:
    """To a node of one worker that has told of so many seconds, and of its end."""
    end_ns = seconds * NS
    clock = Clock()
    node = SimulatedNode(reports=[*records([], end_ns=end_ns), *endings([], end_ns=end_ns)], start_ns=0)
    node._told += [PhaseEnded(worker=0, elapsed_ns=0, unfinished=0, late=0, open_ns=0, written=())] * 2
    rpc = NodeRpc(SimulatedNodeGroup([node], clock), now_ns=clock)
    rpc._received = [2]  # that it was prepared and ready
    return Listener(rpc, turn=1, workers=1, nodes=1, poll_s=0.001)


def test_what_is_reported_before_anybody_reads_waits() -> None:
    with listener(BEHIND_S - 1) as listening:
        listening._thread.join()
        reported = list(listening)
    assert [each.second for each in reported if isinstance(each, IntervalRecord)] == list(range(BEHIND_S - 1))
    assert isinstance(reported[-1], PhaseEnded)


def test_a_driver_that_is_too_far_behind_gives_up_however_late_it_reads_on() -> None:
    with listener(BEHIND_S + 1) as listening:
        listening._thread.join()
        with pytest.raises(MachineError, match="more than 30 s behind the records of its nodes"):
            list(listening)
