"""A thread that polls all nodes for their reports, which also renews their leases while the driver is busy.

The queue of reports to be read is bounded. Reports of one node arrive in order.
"""

import queue
import threading
from collections.abc import Iterator
from typing import Self

from s3bench.cluster.node_rpc import NodeRpc
from s3bench.errors import MachineError
from s3bench.load.engine.interval_record import IntervalRecord
from s3bench.load.engine.message import PhaseEnded, WorkerLost
from s3bench.load.session.workers import PhaseReport

BEHIND_S = 30
"""Seconds of interval records that may wait to be read; a driver that falls further behind gives up."""

_TURN_S = 0.25
_JOIN_S = 15.0


class Listener:
    """Polls the phase `turn` of `workers` workers on `nodes` nodes every `poll_s` seconds while the context lasts.

    Iterating gives their reports, and `None` four times a second if there is none, so that the reader can do other
    things.
    """

    def __init__(self, rpc: NodeRpc, *, turn: int, workers: int, nodes: int, poll_s: float) -> None:
        self._rpc = rpc
        self._turn = turn
        self._poll_s = poll_s
        self._open = {node: set(range(node, workers, nodes)) for node in range(nodes)}
        self._queue: queue.Queue[IntervalRecord | PhaseEnded | WorkerLost] = queue.Queue(workers * BEHIND_S)
        self._error: BaseException | None = None
        self._stopped: set[int] = set()
        self._is_stopped = threading.Event()
        self._wake = threading.Event()
        self._is_closed = False
        self._thread = threading.Thread(target=self._listen, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_closed = True
        self._wake.set()
        self._thread.join(_JOIN_S)

    def stop(self) -> None:
        """Make all workers stop starting operations, at once."""
        self._is_stopped.set()
        self._wake.set()

    def __iter__(self) -> Iterator[PhaseReport]:
        while self._thread.is_alive() or not self._queue.empty():
            try:
                yield self._queue.get(timeout=_TURN_S)
            except queue.Empty:
                yield None
        if self._error is not None:
            raise self._error

    def _listen(self) -> None:
        try:
            self._poll()  # at once: a node that was slow to confirm the start has used up much of the others' lease
            while self._open and not self._is_closed:
                self._wake.wait(self._poll_s)
                if self._is_stopped.is_set():
                    self._wake.clear()
                    self._send_stop()
                self._poll()
        except BaseException as error:  # noqa: BLE001 (raised again in the reading thread)
            self._error = error

    def _send_stop(self) -> None:
        """Send the stop to the nodes that have not confirmed it yet."""
        waiting = self._open.keys() - self._stopped - self._rpc.lost.keys()
        self._stopped |= self._rpc.try_send("stop", dict.fromkeys(waiting, (self._turn,)))

    def _poll(self) -> None:
        """Poll once, and pass on the reports."""
        for node, report in self._rpc.poll(self._open):
            assert isinstance(report, IntervalRecord | PhaseEnded), report
            self._pass_on(report)
            if isinstance(report, PhaseEnded):
                self._open[node].discard(report.worker)
        for node in tuple(self._open):
            if node in self._rpc.lost:
                self._pass_on(WorkerLost(node=node, why=self._rpc.lost[node]))
                del self._open[node]
            elif not self._open[node]:
                del self._open[node]

    def _pass_on(self, report: IntervalRecord | PhaseEnded | WorkerLost) -> None:
        try:
            self._queue.put_nowait(report)
        except queue.Full:
            raise MachineError(
                f"this machine is more than {BEHIND_S} s behind the records of its nodes",
                fix="use fewer --workers-per-node, or start s3bench on a faster machine",
            ) from None
