"""The worker pool of one machine: starts worker processes, sends them orders, receives their reports, and ends them."""

import contextlib
import math
import os
import selectors
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

from s3bench.errors import MachineError, S3BenchError
from s3bench.load.engine.channel import coordinator_channel
from s3bench.load.engine.interval_record import IntervalRecord
from s3bench.load.engine.message import (
    BeginPhase,
    Order,
    PhaseEnded,
    PhasePrepared,
    PhaseReady,
    PreparePhase,
    Report,
    StartPhase,
    StopPhase,
    WorkerFailed,
)
from s3bench.system.channel import Channel, ChannelClosed
from s3bench.system.child import ChildProcess, module_command
from s3bench.system.portable import IS_PORTABLE

_START_S = 120.0  # random data and checksums of large objects are made before a phase starts
_AHEAD_NS = 20_000_000
_STOP_S = 5.0
_TALK_S = 30.0
_LAST_RECORDS_S = 15.0  # of workers that are stopped because another one failed: more than the engine's LATE_S_MAX
_KIB = 1024


def _soon_ns() -> int:
    return time.monotonic_ns() + _AHEAD_NS


@contextlib.contextmanager
def _without_preempting() -> Iterator[None]:
    """Have this thread wait for a core when a record wakes it, and not take that of a worker for some milliseconds.

    Linux schedules so what has the policy SCHED_BATCH (https://man7.org/linux/man-pages/man7/sched.7.html). A thread
    that the user has given another policy keeps it, and so does one in a sandbox that forbids the change.
    """
    if IS_PORTABLE or os.sched_getscheduler(0) != os.SCHED_OTHER:
        yield
        return
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


class WorkerPool:
    """`workers` processes on this machine, alive while the context lasts; `directory` is private to them.

    What they write to stderr goes there. They end with the context, and by themselves when this process dies.
    """

    nodes = 1

    def __init__(self, workers: int, *, directory: Path) -> None:
        self.workers = workers
        self._directory = directory
        self._stack = contextlib.ExitStack()
        self._channels: list[Channel[Order, Report]] = []
        self._processes: list[ChildProcess] = []

    def __enter__(self) -> Self:
        try:
            for worker in range(self.workers):
                self._start(worker)
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def prepare(self, orders: tuple[PreparePhase, ...]) -> None:
        """Let each worker get ready for its order, all at the same time."""
        for channel, order in zip(self._channels, orders, strict=True):
            self._send(channel, order)
        for worker, channel in enumerate(self._channels):
            report = self._receive(worker, channel, limit_s=_START_S)
            assert isinstance(report, PhasePrepared), report

    def perform(
        self, orders: tuple[BeginPhase, ...], *, start_ns: Callable[[], int] = _soon_ns
    ) -> Iterator[IntervalRecord | PhaseEnded | None]:
        """Let each worker do its part, all from the same moment on; yields their records, and how each ended.

        `start_ns` is asked for that moment, of the monotonic clock, when all are ready. Gives `None` about once a
        second when nothing came, so that who listens can look after other things. When one fails, the others are
        stopped, and `S3BenchError` is raised after their last records, or if these do not come in time.
        """
        self._start_phase(orders, start_ns)
        failure: S3BenchError | None = None
        until_s = math.inf
        with _without_preempting(), selectors.DefaultSelector() as selector:
            for worker, channel in enumerate(self._channels):
                selector.register(channel, selectors.EVENT_READ, worker)
            while selector.get_map() and time.monotonic() < until_s:
                ready = selector.select(1.0)
                if not ready:
                    yield None
                for key, _ in ready:
                    worker = key.data
                    try:
                        report = self._receive(worker, self._channels[worker], limit_s=_TALK_S)
                    except MachineError as error:
                        selector.unregister(key.fileobj)
                        if failure is None:
                            failure, until_s = error, time.monotonic() + _LAST_RECORDS_S
                        self.stop()
                        continue
                    assert isinstance(report, IntervalRecord | PhaseEnded), report
                    if isinstance(report, PhaseEnded):
                        selector.unregister(key.fileobj)
                    yield report
        if failure is not None:
            raise failure

    def stop(self) -> None:
        """Let all workers start no more operations; their reports still come, except of one that is gone."""
        for channel in self._channels:
            with contextlib.suppress(ChannelClosed):
                channel.send(StopPhase(), limit_s=_TALK_S)

    def kill(self) -> None:
        """Kill all workers at once; may be called while another thread receives their reports."""
        for process in self._processes:
            process.kill()

    def memory_bytes_max(self) -> int | None:
        """The peak memory of each worker, added up; `None` if the kernel does not report it."""
        highs = [_high_water_bytes(process.pid) for process in self._processes]
        return None if None in highs else sum(high for high in highs if high is not None)

    def _start(self, worker: int) -> None:
        stderr = self._stack.enter_context((self._directory / f"worker-{worker}-stderr.txt").open("w+b"))
        process = ChildProcess(
            module_command("s3bench.load.engine.worker"),
            stderr=stderr,
            environment={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # numpy counts bins, and needs no threads for that
        )
        self._stack.callback(process.end, _STOP_S)
        self._processes.append(process)
        self._channels.append(coordinator_channel(process.control))

    def _start_phase(self, orders: tuple[BeginPhase, ...], start_ns: Callable[[], int]) -> None:
        for channel, order in zip(self._channels, orders, strict=True):
            self._send(channel, order)
        for worker, channel in enumerate(self._channels):
            report = self._receive(worker, channel, limit_s=_START_S)
            assert isinstance(report, PhaseReady), report
        start = StartPhase(start_ns=start_ns())
        for channel in self._channels:
            self._send(channel, start)

    def _send(self, channel: Channel[Order, Report], order: Order) -> None:
        try:
            channel.send(order, limit_s=_TALK_S)
        except ChannelClosed as closed:
            raise self._gone(self._channels.index(channel)) from closed

    def _receive(self, worker: int, channel: Channel[Order, Report], *, limit_s: float) -> Report:
        try:
            report = channel.receive(limit_s=limit_s)
        except ChannelClosed as closed:
            raise self._gone(worker) from closed
        if isinstance(report, WorkerFailed):
            raise MachineError(report.what, report.why, report.fix)
        return report

    def _gone(self, worker: int) -> MachineError:
        code, last_words = self._processes[worker].how_it_ended()
        what = f"load worker {worker} " + ("does not answer" if code is None else f"ended with exit code {code}")
        return MachineError(
            what, last_words or "it wrote nothing to stderr", "run again; if it happens again, report it with the above"
        )


def _high_water_bytes(pid: int) -> int | None:
    """VmHWM of a process (proc_pid_status(5)), which begins anew at exec."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    for line in status.splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * _KIB
    return None
