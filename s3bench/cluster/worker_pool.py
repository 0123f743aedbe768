"""The workers of all nodes as one worker pool: started at the same time, polled and stopped together.

Workers are numbered over all nodes; as on one machine, a worker's share of rates, threads and keys depends on its
number alone.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

from s3bench.cluster.clock import ClockError, measure_clocks
from s3bench.cluster.listener import Listener
from s3bench.cluster.message import encode
from s3bench.cluster.node import READY_S
from s3bench.cluster.node_group import NodeGone, NodeGroup
from s3bench.cluster.node_rpc import POLL_S, NodeRpc
from s3bench.cluster.preflight import Preflight
from s3bench.cluster.record import PhaseRecord, cluster_record
from s3bench.load.engine.message import BeginPhase, PhaseEnded, PhasePrepared, PhaseReady, PreparePhase, WorkerLost
from s3bench.load.session.workers import PhaseReport

_AHEAD_NS = 300_000_000  # a busy machine takes a tenth of a second to pass the start to its workers
_AHEAD_NODE_NS = 2_000_000  # to send the start to one more node
_SAMPLES = 4  # of each clock before a phase: quartz drifts by milliseconds within minutes
_START_S = 0.5  # for a node that is slow to confirm; with the poll that follows at once the others keep their lease
_CLOSE_S = 5.0
_MEMORY_S = 5.0


class ClusterWorkerPool:
    """The workers on all nodes of `node_group`; implements `s3bench.load.session.workers.Workers`.

    While they make load they are polled every `poll_s` seconds. Waiting for nodes to be ready ends early if `is_over`.
    """

    def __init__(
        self,
        node_group: NodeGroup,
        preflight: Preflight,
        *,
        is_over: Callable[[], bool] = lambda: False,
        now_ns: Callable[[], int] = time.monotonic_ns,
        wall_ns: Callable[[], int] = time.time_ns,
        poll_s: float = POLL_S,
    ) -> None:
        self.nodes = node_group.nodes
        self.workers = node_group.nodes * preflight.workers_per_node
        self._node_group = node_group
        self._preflight = preflight
        self._clocks = preflight.clocks
        self._is_over = is_over
        self._now_ns = now_ns
        self._wall_ns = wall_ns
        self._poll_s = poll_s
        self._rpc = NodeRpc(node_group, now_ns=now_ns)
        self._listener: Listener | None = None
        self._phases: list[PhaseRecord] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End all workers."""
        self._node_group.call("close", dict.fromkeys(self._remaining, ()), limit_s=_CLOSE_S)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings about the nodes."""
        return self._preflight.warnings

    @property
    def facts(self) -> dict[str, object]:
        """The record of the cluster for the results."""
        return cluster_record(self._node_group.facts, self._preflight, self._phases)

    def prepare(self, orders: tuple[PreparePhase, ...]) -> None:
        """Prepare each worker for its order; the files that the orders name are sent too.

        Raises `MachineError` if a node is lost, and `KeyboardInterrupt` if it is over.
        """
        files = {path: Path(path).read_bytes() for path in _files_of(orders[0])}
        messages = {node: (encode(orders[node :: self.nodes]), files) for node in range(self.nodes)}
        self._rpc.send("prepare", messages)
        if not self._rpc.wait_for(PhasePrepared, limit_s=READY_S, is_over=self._is_over):
            self._rpc.raise_if_lost()
            raise KeyboardInterrupt

    def perform(self, orders: tuple[BeginPhase, ...]) -> Iterator[PhaseReport]:
        """Run a phase on all workers, started at the same time on all nodes; yields their reports.

        A node that is lost during the phase is reported as `WorkerLost`, and the others continue. If one is lost before
        the start, or if it is over by then, no worker starts.
        """
        turn, ended = orders[0].turn, list[PhaseEnded]()
        try:
            if not self._make_ready(orders):
                yield from (
                    WorkerLost(node=node, why=f"{why} (before the start)") for node, why in self._rpc.lost.items()
                )
                return
            self._start(turn)
            with Listener(
                self._rpc, turn=turn, workers=self.workers, nodes=self.nodes, poll_s=self._poll_s
            ) as self._listener:
                for report in self._listener:
                    if isinstance(report, PhaseEnded):
                        ended.append(report)
                    yield report
        finally:
            self._listener = None
            self._phases.append(
                PhaseRecord(
                    phase=orders[0].phase.name, clocks=self._clocks, ended=tuple(ended), lost=dict(self._rpc.lost)
                )
            )

    def stop(self) -> None:
        """Make all workers stop starting operations; their reports still arrive."""
        if self._listener is not None:
            self._listener.stop()

    def memory_bytes_max(self) -> int | None:
        """The sum of the peak memory of the workers on the remaining nodes; `None` if one is unknown."""
        results = self._node_group.call("memory", dict.fromkeys(self._remaining, ()), limit_s=_MEMORY_S)
        highs = [result for result in results.values() if result is not None and not isinstance(result, NodeGone)]
        return sum(highs) if len(highs) == len(self._remaining) else None

    def _make_ready(self, orders: tuple[BeginPhase, ...]) -> bool:
        """Make all nodes ready for a phase; return whether they are, and none is lost."""
        if not self._rpc.lost:
            self._rpc.send("begin", {node: (encode(orders[node :: self.nodes]),) for node in range(self.nodes)})
        return self._rpc.wait_for(PhaseReady, limit_s=READY_S, is_over=self._is_over) and self._measure_clocks()

    def _measure_clocks(self) -> bool:
        """Measure all clocks anew; a node whose clock cannot be used is lost. Return whether none is."""
        try:
            self._clocks = measure_clocks(
                self._node_group, now_ns=self._now_ns, wall_ns=self._wall_ns, samples=_SAMPLES
            )
        except ClockError as error:
            self._rpc.lost[error.node] = "; ".join(filter(None, (error.what, error.why)))
        return not self._rpc.lost

    def _start(self, turn: int) -> None:
        """Send every node the same start time, in its own clock."""
        start_ns = self._now_ns() + _AHEAD_NS + _AHEAD_NODE_NS * self.nodes
        messages = {node: (turn, start_ns + clock.offset_ns) for node, clock in enumerate(self._clocks)}
        self._rpc.try_send("start", messages, limit_s=_START_S)

    @property
    def _remaining(self) -> tuple[int, ...]:
        return tuple(node for node in range(self.nodes) if node not in self._rpc.lost)


def _files_of(order: PreparePhase) -> tuple[str, ...]:
    return tuple(path for path in (order.target.ca_bundle, order.data.key_file) if path is not None)
