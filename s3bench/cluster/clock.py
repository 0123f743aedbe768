"""Measures the offset of each node's clock from the driver's, by round trips.

Of several samples the one with the shortest round trip is the best, and the offset is uncertain by half of that round
trip (RFC 5905, sections 8 and 10: the clock filter of NTP).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from s3bench.cluster.node_group import NodeGone, NodeGroup
from s3bench.errors import MachineError
from s3bench.load.aggregation.nodes import node_name

UNCERTAINTY_NS_MAX = 5_000_000
"""A start is planned in each node's own clock: with an uncertainty of 5 ms, two nodes start within 10 ms."""

WALL_OFFSET_S_MAX = 300.0
"""S3 rejects requests signed with a time more than 15 minutes off (RequestTimeTooSkewed); this is a third of that."""

SAMPLES = 8
SAMPLES_MAX = 64
"""Samples per node: taken at first, and at most while its clock is too uncertain."""

_LIMIT_S = 5.0


class ClockError(MachineError):
    """The clock of `node` cannot be used for a common start or for signatures."""

    def __init__(self, node: int, what: str, why: str, fix: str = "") -> None:
        super().__init__(what, why, fix)
        self.node = node


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockSample:
    """One round trip: when it started and ended by the driver's clock, and the node's clock in between."""

    sent_ns: int
    received_ns: int
    node_ns: int
    node_wall_ns: int = 0
    wall_ns: int = 0

    @property
    def round_trip_ns(self) -> int:
        """The duration of the round trip."""
        return self.received_ns - self.sent_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockOffset:
    """What to add to the driver's clock to get the node's, uncertain by `uncertainty_ns` either way.

    `wall_offset_s` is how far the node's time of day is ahead of the driver's.
    """

    offset_ns: int
    uncertainty_ns: int
    wall_offset_s: float


def offset_of(samples: Iterable[ClockSample]) -> ClockOffset:
    """The offset from the sample with the shortest round trip."""
    best = min(samples, key=lambda sample: sample.round_trip_ns)
    return ClockOffset(
        offset_ns=best.node_ns - (best.sent_ns + best.received_ns) // 2,
        uncertainty_ns=(best.round_trip_ns + 1) // 2,
        wall_offset_s=(best.node_wall_ns - best.wall_ns) / 1e9,
    )


def measure_clocks(
    node_group: NodeGroup, *, now_ns: Callable[[], int], wall_ns: Callable[[], int], samples: int = SAMPLES
) -> tuple[ClockOffset, ...]:
    """Measure the clock of every node, one after the other so that none delays another.

    Raises `ClockError` for a clock that is not reported, is too uncertain or has the wrong time of day.
    """
    return tuple(_measured(node_group, node, samples, now_ns, wall_ns) for node in range(node_group.nodes))


def _measured(
    node_group: NodeGroup, node: int, samples: int, now_ns: Callable[[], int], wall_ns: Callable[[], int]
) -> ClockOffset:
    samples_taken: list[ClockSample] = []
    while True:
        samples_taken += [_sample(node_group, node, now_ns, wall_ns) for _ in range(samples)]
        offset = offset_of(samples_taken)
        if offset.uncertainty_ns <= UNCERTAINTY_NS_MAX or len(samples_taken) >= SAMPLES_MAX:
            break
    if offset.uncertainty_ns > UNCERTAINTY_NS_MAX:
        raise ClockError(
            node,
            f"the clock offset of {node_name(node)} is uncertain by {offset.uncertainty_ns / 1e6:.1f} ms",
            f"the shortest of {len(samples_taken)} round trips took twice as long; "
            f"a common start needs {UNCERTAINTY_NS_MAX / 1e6:g} ms",
            "start s3bench on a machine nearer to the nodes, or stop other programs on them",
        )
    if abs(offset.wall_offset_s) > WALL_OFFSET_S_MAX:
        raise ClockError(
            node,
            f"the time of day on {node_name(node)} differs by {offset.wall_offset_s:+,.0f} s from this machine",
            "S3 rejects requests that are signed with a wrong time",
            "synchronise the clocks of all machines, for example with chrony",
        )
    return offset


def _sample(node_group: NodeGroup, node: int, now_ns: Callable[[], int], wall_ns: Callable[[], int]) -> ClockSample:
    sent_ns = now_ns()
    result = node_group.call("clock", {node: ()}, limit_s=_LIMIT_S).get(
        node, NodeGone(f"no response for {_LIMIT_S:g} s")
    )
    received_ns, at_ns = now_ns(), wall_ns()
    if isinstance(result, NodeGone):
        raise ClockError(node, f"{node_name(node)} did not report its clock", result.why)
    node_ns, node_wall_ns = result
    return ClockSample(
        sent_ns=sent_ns, received_ns=received_ns, node_ns=node_ns, node_wall_ns=node_wall_ns, wall_ns=at_ns
    )
