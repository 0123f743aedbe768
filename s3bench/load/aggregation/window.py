"""Sums over the measured window of a phase: each kind on each node, each worker, and all together.

The measured window goes from the first whole second after the warm-up to the end of the last interval record. Only
operations that ended in it are counted.
"""

import math
from dataclasses import dataclass

from s3bench.load.aggregation.second import NS, is_operation
from s3bench.load.aggregation.total import Total
from s3bench.load.engine.interval_record import IntervalRecord
from s3bench.load.operation import OperationKind
from s3bench.load.profile.profile import Phase

Totals = dict[tuple[int, OperationKind], Total]
"""By job, as its number, and kind."""


@dataclass(slots=True, kw_only=True)
class WorkerSums:
    """The sums of one worker. `in_flight_max` is that of its last interval record, in the warm-up too."""

    length_ns: int = 0
    cpu_ns: int = 0
    wait_ns: int = 0
    in_flight_max: int = 0


class Window:
    """The sums of `workers` workers, which are on `nodes` machines in turn.

    `by_node` has the totals of each node; `at_start` operations were in flight when the window began.
    """

    def __init__(self, phase: Phase, *, workers: int, nodes: int) -> None:
        self.first_second = math.ceil(phase.warmup_s)
        self.workers = {worker: WorkerSums() for worker in range(workers)}
        self.by_node: tuple[Totals, ...] = tuple({key: Total() for key in declared(phase)} for _ in range(nodes))
        self.in_flight_ns = 0
        self.paused_ns = 0
        self.connects = 0
        self.waiting_max = 0
        self.at_start = 0
        self._end_ns = 0

    @property
    def nodes(self) -> int:
        """How many machines there are."""
        return len(self.by_node)

    @property
    def length_s(self) -> float:
        """How long it is so far."""
        return max(0, self._end_ns - self.first_second * NS) / NS

    def node_of(self, worker: int) -> int:
        """The machine that a worker is on."""
        return worker % self.nodes

    def workers_of(self, node: int) -> range:
        """The workers on a machine."""
        return range(node, len(self.workers), self.nodes)

    def has(self, second: int) -> bool:
        """Whether a second belongs to it."""
        return second >= self.first_second

    def add(self, record: IntervalRecord) -> None:
        """Add an interval record; most of it only if it is in the window."""
        worker = self.workers[record.worker]
        worker.in_flight_max = record.in_flight_max
        if not self.has(record.second):
            return
        worker.length_ns += record.length_ns
        worker.cpu_ns += record.cpu_ns
        worker.wait_ns += record.wait_ns
        self._end_ns = max(self._end_ns, record.second * NS + record.length_ns)
        self.in_flight_ns += record.in_flight_ns
        self.paused_ns += record.paused_ns
        self.connects += record.connects
        if record.second == self.first_second and self.first_second:
            self.at_start += record.in_flight_max
        totals = self.by_node[self.node_of(record.worker)]
        for stream in record.streams:
            totals.setdefault((stream.job, stream.kind), Total()).add(stream)

    def joined(self) -> Totals:
        """The totals of all nodes together."""
        if self.nodes == 1:
            return self.by_node[0]
        keys = dict.fromkeys(key for totals in self.by_node for key in totals)
        return {key: Total.joined(totals[key] for totals in self.by_node if key in totals) for key in keys}

    def node_operations(self) -> list[int]:
        """The successful operations of each node."""
        return [
            sum(total.operations for (_, kind), total in totals.items() if is_operation(kind))
            for totals in self.by_node
        ]


def operations_of(totals: Totals) -> Total:
    """All whole operations together."""
    return Total.joined(total for (_, kind), total in totals.items() if is_operation(kind))


def declared(phase: Phase) -> list[tuple[int, OperationKind]]:
    """The kinds of all jobs, in the order of the profile."""
    return [(index, kind) for index, job in enumerate(phase.jobs) for kind in dict.fromkeys(job.kinds)]
