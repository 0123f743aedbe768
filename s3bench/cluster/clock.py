"""How far a node's clock is from the driver's, by messages there and back.

Owns the rule: of several samples the one with the shortest way there and back tells most, and the offset is known to
half of that way (RFC 5905, sections 8 and 10: the clock filter of NTP). Pure, but for who is asked.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from s3bench.cluster.node_group import NodeGone, NodeGroup
from s3bench.errors import BadInput
from s3bench.load.aggregation.nodes import node_name

UNCERTAINTY_NS_MAX = 5_000_000
"""A start is planned in each node's own clock: two nodes that are known to 5 ms begin within 10 ms of each other."""

WALL_OFFSET_S_MAX = 300.0
"""S3 refuses requests that are signed more than 15 minutes off (RequestTimeTooSkewed); clocks so far off are wrong."""

SAMPLES = 8
SAMPLES_MAX = 64
"""Taken of each node, at first and as long as its clock is not known well enough."""

_ANSWER_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockSample:
    """One message there and back: when it left and came back by the driver's clock, and the node's clock meanwhile."""

    sent_ns: int
    received_ns: int
    node_ns: int
    node_wall_ns: int = 0
    wall_ns: int = 0

    @property
    def way_ns(self) -> int:
        """The way there and back."""
        return self.received_ns - self.sent_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockOffset:
    """What to add to the driver's clock to get the node's, known to `uncertainty_ns` either way.

    `wall_offset_s` is by how much the node's time of day is ahead of the driver's.
    """

    offset_ns: int
    uncertainty_ns: int
    wall_offset_s: float


def offset_of(samples: Iterable[ClockSample]) -> ClockOffset:
    """The offset that the best of the samples tells."""
    best = min(samples, key=lambda sample: sample.way_ns)
    return ClockOffset(
        offset_ns=best.node_ns - (best.sent_ns + best.received_ns) // 2,
        uncertainty_ns=(best.way_ns + 1) // 2,
        wall_offset_s=(best.node_wall_ns - best.wall_ns) / 1e9,
    )


def measure_clocks(
    fleet: NodeGroup, *, now_ns: Callable[[], int], wall_ns: Callable[[], int], samples: int = SAMPLES
) -> tuple[ClockOffset, ...]:
    """Measure the clock of every node, one after the other so that none waits for another's answer.

    Raises `BadInput` for a clock that cannot be known well enough, or that tells the wrong time of day.
    """
    return tuple(_measured(fleet, node, samples, now_ns, wall_ns) for node in range(fleet.nodes))


def _measured(
    fleet: NodeGroup, node: int, samples: int, now_ns: Callable[[], int], wall_ns: Callable[[], int]
) -> ClockOffset:
    taken: list[ClockSample] = []
    while True:
        taken += [_sample(fleet, node, now_ns, wall_ns) for _ in range(samples)]
        offset = offset_of(taken)
        if offset.uncertainty_ns <= UNCERTAINTY_NS_MAX or len(taken) >= SAMPLES_MAX:
            break
    if offset.uncertainty_ns > UNCERTAINTY_NS_MAX:
        raise BadInput(
            f"the clock of {node_name(node)} is known to {offset.uncertainty_ns / 1e6:.1f} ms only",
            f"the shortest of {len(taken)} ways to it and back took twice as long; "
            f"a common start needs {UNCERTAINTY_NS_MAX / 1e6:g} ms",
            "start s3bench on a machine nearer to the nodes, or free theirs",
        )
    if abs(offset.wall_offset_s) > WALL_OFFSET_S_MAX:
        raise BadInput(
            f"the time of day on {node_name(node)} is {offset.wall_offset_s:+,.0f} s off this machine's",
            "requests that are signed with the wrong time are refused",
            "synchronise the clocks (chrony, NTP)",
        )
    return offset


def _sample(fleet: NodeGroup, node: int, now_ns: Callable[[], int], wall_ns: Callable[[], int]) -> ClockSample:
    sent_ns = now_ns()
    answer = fleet.ask("clock", {node: ()}, limit_s=_ANSWER_S).get(node, NodeGone(f"no answer for {_ANSWER_S:g} s"))
    received_ns, at_ns = now_ns(), wall_ns()
    if isinstance(answer, NodeGone):
        raise BadInput(f"{node_name(node)} does not tell its clock", answer.why)
    node_ns, node_wall_ns = answer
    return ClockSample(
        sent_ns=sent_ns, received_ns=received_ns, node_ns=node_ns, node_wall_ns=node_wall_ns, wall_ns=at_ns
    )
