"""Per-node status and results of a phase whose workers are on several nodes, and the rule for stragglers.

Worker w of a run is on node w modulo the number of nodes, so that a few virtual users are spread over all nodes.
"""

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from s3bench.results.load import Load

STRAGGLER_SHARE = 0.5
"""A node with a lower rate than this share of the nodes' median is a straggler."""

STRAGGLER_S = 5
"""The seconds over which the rates of nodes are compared."""

START_SKEW_S_MAX = 0.1
"""Nodes that started further apart than this give a warning."""

_NODES_MIN = 3  # of two, either could be the straggler
_DEVIATIONS = 3.0


def node_name(node: int) -> str:
    """The name of a node, numbered from 0, in results and on the screen; host names stay out of results."""
    return f"node-{node + 1}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStatus:
    """The live status of a node: successful operations per second and their bytes, both ways, in the last second."""

    node: int
    rate: float
    bytes_rate: float
    is_straggler: bool = False
    is_lost: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeResult:
    """The figures of one node in the measured window; `cpu_s` is the CPU time of its workers."""

    node: int
    load: Load
    cpu_s: float


@dataclass(slots=True)
class Pace:
    """Successful operations of each of `nodes` nodes in each of the last seconds."""

    nodes: int
    _last: deque[list[int]] = field(default_factory=lambda: deque(maxlen=STRAGGLER_S))

    def add(self, operations: Sequence[int]) -> None:
        """Add a second that is complete."""
        self._last.append(list(operations))

    def stragglers(self, without: frozenset[int] = frozenset()) -> frozenset[int]:
        """The nodes that lag behind the others; lost nodes are passed in `without`."""
        sums = [sum(second[node] for second in self._last) for node in range(self.nodes)]
        return stragglers({node: count for node, count in enumerate(sums) if node not in without})


def stragglers(operations: dict[int, int]) -> frozenset[int]:
    """The nodes whose operations are far below the median of all of them.

    Chance alone must not make one: the count of a Poisson process has a standard deviation of its square root.
    """
    if len(operations) < _NODES_MIN:
        return frozenset()
    usual = median(operations.values())
    bound = min(STRAGGLER_SHARE * usual, usual - _DEVIATIONS * math.sqrt(usual))
    return frozenset(node for node, count in operations.items() if count < bound)
