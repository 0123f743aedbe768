"""A thread that asks all nodes for their reports, and so keeps their leases, whatever the driver is busy with.

Owns the thread and the bound of what waits to be read. Who reads gets reports in each node's own order.
"""

import queue
import threading
from collections.abc import Iterator
from typing import Self

from s3bench.cluster.node_rpc import NodeRpc
from s3bench.errors import MachineError
from s3bench.load.engine.interval_record import IntervalRecord
from s3bench.load.engine.message import PhaseEnded, WorkerLost
from s3bench.load.session.workers import Told

BEHIND_S = 30
"""Seconds of tallies that may wait to be read; a driver that falls further behind gives up."""

_TURN_S = 0.25
_JOIN_S = 15.0


class Listener:
    """Listens to the phase `turn` of `workers` workers on `nodes` nodes while the context lasts, asking every `poll_s`.

    Iterating gives what they tell, and `None` four times a second when nothing comes, so that who reads can look after
    other things.
    """

    def __init__(self, conversation: NodeRpc, *, turn: int, workers: int, nodes: int, poll_s: float) -> None:
        self._talk = conversation
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
        """Let all workers start nothing any more, at once."""
        self._is_stopped.set()
        self._wake.set()

    def __iter__(self) -> Iterator[Told]:
        while self._thread.is_alive() or not self._queue.empty():
            if self._error is not None:
                break
            try:
                yield self._queue.get(timeout=_TURN_S)
            except queue.Empty:
                yield None
        if self._error is not None:
            raise self._error

    def _listen(self) -> None:
        try:
            while self._open and not self._is_closed:
                self._wake.wait(self._poll_s)
                if self._is_stopped.is_set():
                    self._wake.clear()
                    self._tell_to_stop()
                self._ask()
        except BaseException as error:  # noqa: BLE001 (raised again by who reads)
            self._error = error

    def _tell_to_stop(self) -> None:
        """Tell the nodes that have not taken it yet."""
        waiting = self._open.keys() - self._stopped - self._talk.lost.keys()
        self._stopped |= self._talk.try_to_tell("stop", dict.fromkeys(waiting, (self._turn,)))

    def _ask(self) -> None:
        """Ask once, and pass on what comes."""
        for node, report in self._talk.poll(self._open):
            assert isinstance(report, IntervalRecord | PhaseEnded), report
            self._pass_on(report)
            if isinstance(report, PhaseEnded):
                self._open[node].discard(report.worker)
        for node in tuple(self._open):
            if node in self._talk.lost:
                self._pass_on(WorkerLost(node=node, why=self._talk.lost[node]))
                del self._open[node]
            elif not self._open[node]:
                del self._open[node]

    def _pass_on(self, told: IntervalRecord | PhaseEnded | WorkerLost) -> None:
        try:
            self._queue.put_nowait(told)
        except queue.Full:
            raise MachineError(
                f"this machine is more than {BEHIND_S} s behind the tallies of its nodes",
                fix="run with fewer workers a node (--workers-per-node), or on a faster machine",
            ) from None
