"""Per-node status and results of a phase whose workers are on several nodes, and the rule for stragglers.

Worker w of a run is on node w modulo the number of nodes, so that a few virtual users are spread over all nodes. Their
number need not be a multiple of the nodes: nodes are compared by what each thread does.
"""

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from s3bench.load.engine.schedule import first_workers, share_of
from s3bench.load.profile.profile import Phase
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
    """Successful operations of each node in each of the last seconds; `shares` are those of `thread_shares`."""

    shares: Sequence[float]
    _last: deque[list[int]] = field(default_factory=lambda: deque(maxlen=STRAGGLER_S))

    def add(self, operations: Sequence[int]) -> None:
        """Add a second that is complete."""
        self._last.append(list(operations))

    def stragglers(self, without: frozenset[int] = frozenset()) -> frozenset[int]:
        """The nodes that lag behind the others; lost nodes are passed in `without`."""
        sums = [sum(second[node] for second in self._last) for node in range(len(self.shares))]
        return stragglers({node: count for node, count in enumerate(sums) if node not in without}, self.shares)


def stragglers(operations: Mapping[int, int], shares: Sequence[float]) -> frozenset[int]:
    """The nodes whose operations per thread are far below the median of all of them; `shares` has the threads of each.

    Nodes without a thread have nothing to do and are left out. Chance alone must not make a straggler: the count of a
    Poisson process has a standard deviation of its square root.
    """
    busy = {node: count for node, count in operations.items() if shares[node]}
    if len(busy) < _NODES_MIN:
        return frozenset()
    per_thread = median(count / shares[node] for node, count in busy.items())
    return frozenset(node for node, count in busy.items() if count < _bound(per_thread * shares[node]))


def _bound(usual: float) -> float:
    """The fewest operations of a node that is no straggler, if `usual` ones are expected of it."""
    return min(STRAGGLER_SHARE * usual, usual - _DEVIATIONS * math.sqrt(usual))


def thread_shares(phase: Phase, *, workers: int, nodes: int) -> tuple[float, ...]:
    """The threads of each node, over all jobs, as far as they make load.

    A planned rate and a number of operations are shared among the workers that have a thread, whatever number of them
    each has, and the job's threads count by that.
    """
    shares = [0.0] * nodes
    for job, first in zip(phase.jobs, first_workers(phase, workers), strict=True):
        active = min(workers, job.threads)
        for index in range(active):
            is_dealt = job.rate is not None or job.operations is not None
            threads = job.threads / active if is_dealt else share_of(job.threads, index, workers)
            shares[(first + index) % workers % nodes] += threads
    return tuple(shares)
