"""The parts of a phase that single nodes did, where its workers are on several; and which of them lag behind.

Owns the nouns, the nodes' names and the rule for stragglers. Worker w of a run is on node w modulo the number of
nodes, so that few threads are spread over all of them.
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
"""The seconds over which rates are held against each other."""

START_SKEW_S_MAX = 0.1
"""Nodes that began further apart than this did not make their load together."""

_NODES_MIN = 3  # of two nobody can tell which one is unlike the others
_DEVIATIONS = 3.0


def node_name(node: int) -> str:
    """What a node, numbered from 0, is called in results and on the screen; hosts' names stay out of results."""
    return f"node-{node + 1}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStatus:
    """A node in the last second: operations that ended well and their bytes, both ways, over its true length."""

    node: int
    rate: float
    bytes_rate: float
    is_straggler: bool = False
    is_lost: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeResult:
    """What one node did in the measured window; `cpu_s` is the CPU time of its workers."""

    node: int
    load: Load
    cpu_s: float


@dataclass(slots=True)
class Pace:
    """Operations that ended well on each of `nodes` nodes, second by second, over the last seconds."""

    nodes: int
    _last: deque[list[int]] = field(default_factory=lambda: deque(maxlen=STRAGGLER_S))

    def add(self, operations: Sequence[int]) -> None:
        """Add a second that is complete."""
        self._last.append(list(operations))

    def stragglers(self, without: frozenset[int] = frozenset()) -> frozenset[int]:
        """The nodes that lag behind the others, `without` those that are lost."""
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
