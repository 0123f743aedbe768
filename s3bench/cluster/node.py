"""What runs on a node: its workers, driven by a thread, and the answers to what the driver asks.

Owns the node's part of the talk, and the lease: a node that does not hear of its driver while it makes load ends that
load. No engine is known here; every method answers at once. The load itself is made in the workers' processes.
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
from s3bench.load.engine.message import (
    BeginPhase,
    PhasePrepared,
    PhaseReady,
    PreparePhase,
    WorkerFailed,
)
from s3bench.load.session.capacity import capacity_of
from s3bench.load.session.worker_pool import WorkerPool
from s3bench.run.machine import MachineFacts, machine_facts, machine_warnings

LEASE_S = 0.9
"""A driver that was not heard of for so long is gone; with what it takes to end the workers, about a second."""

_WATCH_S = 0.05
_START_S = 60.0
_JOIN_S = 2.0


class WorkerNode:
    """The workers of one machine. Methods may be called by several threads; those that give orders come one by one."""

    def __init__(self, *, lease_s: float = LEASE_S) -> None:
        self._lease_s = lease_s
        self._directory = Path(tempfile.mkdtemp(prefix="s3bench-node-"))
        self._buffer = Buffer()
        self._tasks: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._starts: queue.SimpleQueue[int | None] = queue.SimpleQueue()
        self._turn = 0
        self._crew: WorkerPool | None = None
        self._heard_s = time.monotonic()
        self._is_loading = False
        self._is_stopping = False
        self._is_orphan = False
        self._closed = threading.Event()
        self._threads = [threading.Thread(target=target, daemon=True) for target in (self._work, self._watch)]
        for thread in self._threads:
            thread.start()

    def facts(self) -> dict[str, Any]:
        """What this node is, as `NodeFacts` in plain types: who asks may have another version."""
        self._hear()
        return facts_here()

    def clock(self) -> tuple[int, int]:
        """The monotonic clock, which the load goes by, and the time of day, which signatures carry; nanoseconds."""
        self._hear()
        return time.monotonic_ns(), time.time_ns()

    def prepare(self, orders: bytes, files: Mapping[str, bytes]) -> None:
        """Let the workers, one for each order, get ready; `files` are what the orders name, by path at the driver."""
        self._hear()
        local = {path: str(self._kept(number, data)) for number, (path, data) in enumerate(files.items())}
        prepares = tuple(_localized(order, local) for order in decode_prepares(orders))
        self._tasks.put(lambda: self._prepare(prepares))

    def begin(self, orders: bytes) -> None:
        """Let the workers get ready for a phase; a report says when they are, and `start` lets them go."""
        self._hear()
        begins = decode_begins(orders)
        self._turn, self._is_stopping = begins[0].turn, False
        self._tasks.put(lambda: self._perform(begins))

    def start(self, turn: int, start_ns: int) -> None:
        """Start the phase `turn` at a moment of this node's monotonic clock."""
        self._hear()
        if turn == self._turn:  # engines may hand on late what was given up
            self._starts.put(start_ns)

    def stop(self, turn: int) -> None:
        """Let the workers start nothing any more of the phase `turn`."""
        self._hear()
        if turn == self._turn:
            self._is_stopping = True
            if self._crew is not None and self._is_loading:
                self._crew.stop()

    def reports(self, number: int) -> bytes:
        """What there is to tell from report `number` on (`message.Reports`); the driver has those before it."""
        self._hear()
        return encode(self._buffer.since(number))

    def memory(self) -> int | None:
        """The most memory that each worker has had, added up."""
        self._hear()
        return None if self._crew is None else self._crew.memory_bytes_max()

    def close(self) -> None:
        """End the workers, and remove what they left here."""
        self._closed.set()
        if self._crew is not None:
            self._crew.kill()
        self._starts.put(None)
        self._tasks.put(None)
        for thread in self._threads:
            thread.join(_JOIN_S)
        shutil.rmtree(self._directory, ignore_errors=True)

    def _hear(self) -> None:
        self._heard_s = time.monotonic()

    def _work(self) -> None:
        """Do one order after the other, until there are no more."""
        while (task := self._tasks.get()) is not None:
            try:
                task()
            except S3BenchError as error:
                self._fail(error)
            except Exception as error:  # noqa: BLE001 (told to the driver, which has no other way to know)
                self._fail(MachineError("a node failed", f"{type(error).__name__}: {error}", "report it"))
        if self._crew is not None:
            self._crew.__exit__()

    def _prepare(self, orders: tuple[PreparePhase, ...]) -> None:
        if self._crew is None:
            self._crew = WorkerPool(len(orders), directory=self._directory).__enter__()
        self._crew.prepare(orders)
        self._buffer.add(PhasePrepared(pid=os.getpid()))

    def _perform(self, orders: tuple[BeginPhase, ...]) -> None:
        assert self._crew is not None, "a node is prepared first"
        self._is_loading = True  # here, lest the end of the phase before come behind it
        try:
            for report in self._crew.perform(orders, start_ns=self._started):
                if self._is_stopping:
                    self._crew.stop()  # again: workers that heard of it before they were started have forgotten it
                if report is not None:
                    self._buffer.add(report)
        finally:
            self._is_loading = False

    def _started(self) -> int:
        """Say that all workers are ready, and wait for the moment to start at."""
        self._buffer.add(PhaseReady(worker=0))
        try:
            start_ns = self._starts.get(timeout=_START_S)
        except queue.Empty:
            start_ns = None
        if start_ns is None:
            raise MachineError("no word came when to start")
        return start_ns

    def _fail(self, error: S3BenchError) -> None:
        """Tell that the node cannot go on; workers that could are ended, since their part alone says nothing."""
        if self._crew is not None:
            self._crew.kill()
        if self._is_orphan:
            error = MachineError(f"the driver was not heard of for {self._lease_s:g} s, and its load was ended")
        self._buffer.add(WorkerFailed(what=error.what, why=error.why, fix=error.fix))

    def _watch(self) -> None:
        """End the load of a driver that is gone."""
        while not self._closed.wait(_WATCH_S):
            if self._is_loading and time.monotonic() - self._heard_s > self._lease_s:
                self._is_orphan = True
                if self._crew is not None:
                    self._crew.kill()

    def _kept(self, number: int, data: bytes) -> Path:
        path = self._directory / f"file-{number}"
        path.write_bytes(data)
        return path


def facts_here() -> dict[str, Any]:
    """What this process and its machine are, as `NodeFacts` in plain types; what it starts has its priority."""
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
    told: dict[str, Any] = msgspec.to_builtins(facts)
    return told


def _cores(machine: MachineFacts) -> int:
    """The cores that may be kept busy: a control group may have time on fewer than it may run on."""
    allowed = machine.cores_allowed or machine.cores_logical or 1
    return allowed if machine.cpu_quota_cores is None else max(1, min(allowed, int(machine.cpu_quota_cores)))


def _localized(order: PreparePhase, local: Mapping[str, str]) -> PreparePhase:
    """The order with the files that it names as they are called here."""
    target, data = order.target, order.data
    if target.ca_bundle is not None:
        target = msgspec.structs.replace(target, ca_bundle=local[target.ca_bundle])
    if data.key_file is not None:
        data = msgspec.structs.replace(data, key_file=local[data.key_file])
    return msgspec.structs.replace(order, target=target, data=data)
