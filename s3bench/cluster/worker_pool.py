"""The workers of all nodes as one crew: numbered through, started at one moment, listened to, stopped together.

Owns the driver's part of a phase. What is shared out follows from workers' numbers alone, as among those of one
machine: rates, threads, key ranges and draws.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

from s3bench.cluster.clock import ClockOffset, measure_clocks
from s3bench.cluster.listener import Listener
from s3bench.cluster.message import encode
from s3bench.cluster.node_group import NodeGone, NodeGroup
from s3bench.cluster.node_rpc import POLL_S, NodeRpc
from s3bench.cluster.preflight import Preflight
from s3bench.cluster.record import PhaseRecord, recorded
from s3bench.load.engine.message import (
    BeginPhase,
    PhaseEnded,
    PhasePrepared,
    PhaseReady,
    PreparePhase,
)
from s3bench.load.session.workers import Told

_READY_S = 150.0  # random data and checksums of large objects are made before a phase starts
_AHEAD_NS = 300_000_000  # a busy machine takes a tenth of a second to hand the start to its workers
_AHEAD_NODE_NS = 2_000_000  # what it takes to tell one more node
_SAMPLES = 4  # of each clock before a phase: quartz drifts by milliseconds within minutes
_START_S = 0.5
_CLOSE_S = 5.0
_MEMORY_S = 5.0


class ClusterWorkerPool:
    """The workers on all nodes of `fleet`, as `muster` found them; see `s3bench.load.session.workers.Workers`.

    While they make load they are asked every `poll_s`.
    """

    def __init__(
        self,
        fleet: NodeGroup,
        muster: Preflight,
        *,
        now_ns: Callable[[], int] = time.monotonic_ns,
        wall_ns: Callable[[], int] = time.time_ns,
        poll_s: float = POLL_S,
    ) -> None:
        self.nodes = fleet.nodes
        self.workers = fleet.nodes * muster.workers_per_node
        self._fleet = fleet
        self._muster = muster
        self._now_ns = now_ns
        self._wall_ns = wall_ns
        self._poll_s = poll_s
        self._conversation = NodeRpc(fleet, now_ns=now_ns)
        self._listener: Listener | None = None
        self._phases: list[PhaseRecord] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End all workers."""
        self._fleet.ask("close", dict.fromkeys(self._there, ()), limit_s=_CLOSE_S)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Doubts about the nodes, as the results keep them."""
        return self._muster.warnings

    @property
    def facts(self) -> dict[str, object]:
        """The nodes, their clocks and how each phase began, as the results keep them."""
        return recorded(self._fleet.facts, self._muster, self._phases)

    def prepare(self, orders: tuple[PreparePhase, ...]) -> None:
        """Let each worker get ready for its order; the files that orders name go with them."""
        files = {path: Path(path).read_bytes() for path in _files_of(orders[0])}
        told = {node: (encode(orders[node :: self.nodes]), files) for node in range(self.nodes)}
        self._conversation.tell("prepare", told)
        self._conversation.wait_for(PhasePrepared, limit_s=_READY_S)

    def perform(self, orders: tuple[BeginPhase, ...]) -> Iterator[Told]:
        """Let each worker do its part, on all nodes from the same moment on; gives what they tell.

        A node that is lost in the middle is told as `Lost`, and the others go on. Raises `MachineError` when one is
        lost before the start.
        """
        talk = self._conversation
        talk.refuse_losses()
        clocks = measure_clocks(self._fleet, now_ns=self._now_ns, wall_ns=self._wall_ns, samples=_SAMPLES)
        talk.tell("begin", {node: (encode(orders[node :: self.nodes]),) for node in range(self.nodes)})
        talk.wait_for(PhaseReady, limit_s=_READY_S)
        turn = orders[0].turn
        self._start(turn, clocks)
        ended: list[PhaseEnded] = []
        try:
            with Listener(
                talk, turn=turn, workers=self.workers, nodes=self.nodes, poll_s=self._poll_s
            ) as self._listener:
                for told in self._listener:
                    if isinstance(told, PhaseEnded):
                        ended.append(told)
                    yield told
        finally:
            self._listener = None
            phase = orders[0].phase.name
            self._phases.append(PhaseRecord(phase=phase, clocks=clocks, ended=tuple(ended), lost=dict(talk.lost)))

    def stop(self) -> None:
        """Let all workers start nothing any more; their reports still come."""
        if self._listener is not None:
            self._listener.stop()

    def memory_bytes_max(self) -> int | None:
        """The most memory that each worker on the nodes that are left has had, added up."""
        answers = self._fleet.ask("memory", dict.fromkeys(self._there, ()), limit_s=_MEMORY_S)
        highs = [answer for answer in answers.values() if answer is not None and not isinstance(answer, NodeGone)]
        return sum(highs) if len(highs) == len(self._there) else None

    def _start(self, turn: int, clocks: tuple[ClockOffset, ...]) -> None:
        """Tell every node the same moment, by its own clock."""
        start_ns = self._now_ns() + _AHEAD_NS + _AHEAD_NODE_NS * self.nodes
        told = {node: (turn, start_ns + clock.offset_ns) for node, clock in enumerate(clocks)}
        self._conversation.try_to_tell("start", told, limit_s=_START_S)

    @property
    def _there(self) -> tuple[int, ...]:
        return tuple(node for node in range(self.nodes) if node not in self._conversation.lost)


def _files_of(order: PreparePhase) -> tuple[str, ...]:
    return tuple(path for path in (order.target.ca_bundle, order.data.key_file) if path is not None)
