"""The node of a load run: its worker pool, and the methods that the driver calls.

Every method returns at once. A lease protects against a lost driver: a node that is not called while it makes load ends
that load. The load itself is made in the workers' processes.
"""

import os
import platform
import queue
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

import s3bench
from s3bench.cluster.buffer import Buffer
from s3bench.cluster.message import PROTOCOL, NodeFacts, decode_begins, decode_prepares, encode
from s3bench.cluster.priority import lower_niceness
from s3bench.errors import MachineError, S3BenchError
from s3bench.load.engine.message import BeginPhase, PhasePrepared, PhaseReady, PreparePhase, WorkerFailed
from s3bench.load.session.capacity import capacity_of
from s3bench.load.session.worker_pool import WorkerPool
from s3bench.run.machine import MachineFacts, machine_facts, machine_warnings

LEASE_S = 0.9
"""A driver that has not called for so long is lost; ending the workers makes it about a second."""

READY_S = 150.0
"""How long the slowest node may take to be ready: random data and checksums of large objects are made before a phase.

Until the start nothing is loaded, so a node that is ready earlier waits without a lease.
"""

_WATCH_S = 0.05
_START_S = READY_S + 600.0  # the driver gives up first, however hard nodes are to reach and their clocks to measure
_JOIN_S = 2.0


class WorkerNode:
    """The workers of one machine. Methods may be called by several threads, but orders one at a time."""

    def __init__(self, *, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._directory = Path(tempfile.mkdtemp(prefix="s3bench-node-"))
        self._buffer = Buffer()
        self._tasks: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._starts: queue.SimpleQueue[int | None] = queue.SimpleQueue()
        self._turn = 0
        self._pool: WorkerPool | None = None
        self._called_s = now_s()
        self._is_loading = False
        self._is_stopping = False
        self._is_orphan = False
        self._closed = threading.Event()
        self._threads = [threading.Thread(target=target, daemon=True) for target in (self._work, self._watch)]
        for thread in self._threads:
            thread.start()

    def ping(self) -> None:
        """Answer as soon as this process has started."""
        self._renew_lease()

    def facts(self) -> dict[str, Any]:
        """The `NodeFacts` in plain types, since the driver may have another version."""
        self._renew_lease()
        return facts_here()

    def clock(self) -> tuple[int, int]:
        """The monotonic clock, for the load, and the time of day, for signatures; in nanoseconds."""
        self._renew_lease()
        return time.monotonic_ns(), time.time_ns()

    def prepare(self, orders: bytes, files: Mapping[str, bytes]) -> None:
        """Prepare the workers, one for each order; `files` are those that the orders name, by path at the driver."""
        self._renew_lease()
        local = {path: str(self._kept(number, data)) for number, (path, data) in enumerate(files.items())}
        prepares = tuple(_localized(order, local) for order in decode_prepares(orders))
        self._tasks.put(lambda: self._prepare(prepares))

    def begin(self, orders: bytes) -> None:
        """Make the workers ready for a phase; a report follows when they are, and then `start` starts it."""
        self._renew_lease()
        begins = decode_begins(orders)
        self._turn, self._is_stopping = begins[0].turn, False
        self._tasks.put(lambda: self._perform(begins))

    def start(self, turn: int, start_ns: int) -> None:
        """Start the phase `turn` at a time of this node's monotonic clock."""
        self._renew_lease()
        if turn == self._turn:  # an engine may deliver a call late
            self._starts.put(start_ns)

    def stop(self, turn: int) -> None:
        """Make the workers stop starting operations of the phase `turn`."""
        self._renew_lease()
        if turn == self._turn:
            self._is_stopping = True
            if self._pool is not None and self._is_loading:
                self._pool.stop()

    def reports(self, number: int) -> bytes:
        """The encoded `Reports` from `number` on; the driver has those before it."""
        self._renew_lease()
        return encode(self._buffer.since(number))

    def memory(self) -> int | None:
        """The sum of the workers' peak memory."""
        self._renew_lease()
        return None if self._pool is None else self._pool.memory_bytes_max()

    def close(self) -> None:
        """End the workers and remove their files."""
        self._closed.set()
        if self._pool is not None:
            self._pool.kill()
        self._starts.put(None)
        self._tasks.put(None)
        for thread in self._threads:
            thread.join(_JOIN_S)
        shutil.rmtree(self._directory, ignore_errors=True)

    def _renew_lease(self) -> None:
        self._called_s = self._now_s()

    def _work(self) -> None:
        """Execute one order after the other, until the node closes."""
        while (task := self._tasks.get()) is not None:
            try:
                task()
            except S3BenchError as error:
                self._fail(error)
            except Exception as error:  # noqa: BLE001 (reported to the driver, which has no other way to know)
                self._fail(
                    MachineError("a node failed", f"{type(error).__name__}: {error}", "report this as a bug of s3bench")
                )
        if self._pool is not None:
            self._pool.__exit__()

    def _prepare(self, orders: tuple[PreparePhase, ...]) -> None:
        if self._pool is None:
            self._pool = WorkerPool(len(orders), directory=self._directory).__enter__()
        self._pool.prepare(orders)
        self._buffer.add(PhasePrepared(pid=os.getpid()))

    def _perform(self, orders: tuple[BeginPhase, ...]) -> None:
        assert self._pool is not None, "a node is prepared first"
        try:
            for report in self._pool.perform(orders, start_ns=self._started):
                if self._is_stopping:
                    self._pool.stop()  # again: a stop before the start has no effect
                if report is not None:
                    self._buffer.add(report)
        finally:
            self._is_loading = False

    def _started(self) -> int:
        """Report that all workers are ready, and wait for the start time."""
        self._buffer.add(PhaseReady(worker=0))
        try:
            start_ns = self._starts.get(timeout=_START_S)
        except queue.Empty:
            start_ns = None
        if start_ns is None:
            raise MachineError("the driver sent no start time")
        self._is_loading = True  # by this thread, so that the end of the phase before does not reset it
        return start_ns

    def _fail(self, error: S3BenchError) -> None:
        """Report that the node failed, and end all its workers, since a part of the load would be useless."""
        if self._pool is not None:
            self._pool.kill()
        if self._is_orphan:
            error = MachineError(f"the driver did not call for {LEASE_S:g} s, so the load was ended")
        self._buffer.add(WorkerFailed(what=error.what, why=error.why, fix=error.fix))

    def _watch(self) -> None:
        """End the load of a lost driver."""
        while not self._closed.wait(_WATCH_S):
            if self._is_loading and self._now_s() - self._called_s > LEASE_S:
                self._is_orphan = True
                if self._pool is not None:
                    self._pool.kill()

    def _kept(self, number: int, data: bytes) -> Path:
        path = self._directory / f"file-{number}"
        path.write_bytes(data)
        return path


def facts_here() -> dict[str, Any]:
    """The `NodeFacts` of this machine in plain types. Resets the niceness, which started processes inherit."""
    machine = machine_facts()
    facts = NodeFacts(
        protocol=PROTOCOL,
        s3bench=s3bench.__version__,
        python=platform.python_version(),
        cores=_cores(machine),
        machine=msgspec.to_builtins(machine),
        capacity=capacity_of(machine),
        niceness=lower_niceness(),
        warnings=machine_warnings(machine),
    )
    plain: dict[str, Any] = msgspec.to_builtins(facts)
    return plain


def _cores(machine: MachineFacts) -> int:
    """The number of usable cores: a control group may limit CPU time to less than the allowed cores."""
    allowed = machine.cores_allowed or machine.cores_logical or 1
    return allowed if machine.cpu_quota_cores is None else max(1, min(allowed, int(machine.cpu_quota_cores)))


def _localized(order: PreparePhase, local: Mapping[str, str]) -> PreparePhase:
    """The order with the paths of its files on this machine."""
    target, data = order.target, order.data
    if target.ca_bundle is not None:
        target = msgspec.structs.replace(target, ca_bundle=local[target.ca_bundle])
    if data.key_file is not None:
        data = msgspec.structs.replace(data, key_file=local[data.key_file])
    return msgspec.structs.replace(order, target=target, data=data)
