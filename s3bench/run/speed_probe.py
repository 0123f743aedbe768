"""Measures how fast the core is on which the client runs, while it runs.

A thread wakes every few milliseconds, moves to the core of a client's thread that is running, does a fixed piece of
work once to have its own code and data in the core's caches, and once more against the clock. How long that takes
varies with the core's clock rate, with the neighbour that shares its execution units or its memory, and with the
hypervisor, as the client's own work does.

It follows the client instead of having a probe on every core: a probe on an idle core measures its own wake-up, and one
on another core than the client's says nothing about the client (measured: no correlation with its CPU time). So one
thread suffices whatever the number of cores, whether the client is pinned or not, and each moment of the client counts
once. While no thread of the client runs, nothing is measured.

The loop is `speed_probe.c`, compiled when s3bench is installed. Runs inside the spawner, so this imports next to
nothing.
"""

from __future__ import annotations

import ctypes
import os
from _thread import allocate_lock, get_native_id, start_new_thread
from time import clock_gettime_ns

from s3bench.system.portable import IS_PORTABLE

TYPE_CHECKING = False  # `typing` is not imported here: see `spawner`
if TYPE_CHECKING:
    from typing import Any

LIBRARY = os.path.join(os.path.dirname(__file__), "libspeed_probe.so")  # noqa: PTH118, PTH120 (pathlib costs a megabyte)

PROBES_MAX = 4096
"""When a run has more, every second one is dropped and the rest of it is probed half as often."""

_CPU_SHARE_MAX = 0.007
"""The part of the client's core that the probe may take, which decides how far apart probes are."""

_INTERVAL_MIN_NS, _INTERVAL_MAX_NS = 2_000_000, 50_000_000
_COST_GUESSED_NS = 60_000
"""CPU time of one wake-up, until it was measured. Most of it is the kernel's own, with caches filled by the client."""


def missing() -> str:
    """Why the speed cannot be measured here; empty where it can be."""
    if IS_PORTABLE or not hasattr(os, "sched_setaffinity"):
        return "this system does not let a thread follow a client to its core"
    if not os.access(LIBRARY, os.R_OK):
        return "s3bench was installed without a C compiler"
    return ""


class SpeedProbe:
    """Probes while the process `pid` runs, until `stop()`.

    `at_ns` and `work_ns` are then the time of each probe on CLOCK_MONOTONIC and how long its work took, as bytes of
    eight-byte numbers. `cpu_ns` is the CPU time that probing took, and `cost_ns` what one wake-up takes, to be handed
    from run to run.
    """

    def __init__(self, pid: int, *, cost_ns: int) -> None:
        self.at_ns = self.work_ns = b""
        self.cpu_ns = 0
        self.cost_ns = cost_ns or _COST_GUESSED_NS
        numbers = ctypes.c_int64 * PROBES_MAX
        self._at_ns, self._work_ns = numbers(), numbers()
        self._probes, self._wake_ups, self._is_stopping = ctypes.c_long(), ctypes.c_long(), ctypes.c_int()
        self._thread_clock = 0
        self._ended = allocate_lock()
        self._ended.acquire()
        step_ns = min(max(round(self.cost_ns / _CPU_SHARE_MAX), _INTERVAL_MIN_NS), _INTERVAL_MAX_NS)
        start_new_thread(self._run, (_loop(), pid, step_ns))

    def stop(self) -> None:
        """End probing, once. The thread itself ends at its next wake-up: see `wait`."""
        if self._is_stopping.value:
            return
        self._is_stopping.value = 1
        size = self._probes.value * ctypes.sizeof(ctypes.c_int64)
        self.at_ns, self.work_ns = bytes(self._at_ns)[:size], bytes(self._work_ns)[:size]
        self._account()
        if self._wake_ups.value:
            self.cost_ns = (self.cost_ns + self.cpu_ns // self._wake_ups.value) // 2

    def wait(self) -> None:
        """Wait until the thread has ended: a process with threads should not fork."""
        self._ended.acquire()
        self._ended.release()

    def _run(self, loop: Any, pid: int, step_ns: int) -> None:
        self._thread_clock = (~get_native_id() << 3) | 6  # CPUCLOCK_SCHED of a thread, as the C library makes it
        try:
            loop(
                pid,
                step_ns,
                self._at_ns,
                self._work_ns,
                PROBES_MAX,
                ctypes.byref(self._probes),
                ctypes.byref(self._wake_ups),
                ctypes.byref(self._is_stopping),
            )
            self._account()
        finally:
            self._ended.release()

    def _account(self) -> None:
        if self._thread_clock and not self.cpu_ns:
            try:  # noqa: SIM105 (no contextlib in the spawner)
                self.cpu_ns = clock_gettime_ns(self._thread_clock)
            except OSError:  # it has ended, and has accounted for itself
                pass


def _loop() -> Any:
    """The function of the library, which lets other threads of this interpreter run meanwhile."""
    loop = ctypes.CDLL(LIBRARY).s3bench_probe
    numbers, count = ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(ctypes.c_long)
    loop.argtypes = (
        ctypes.c_int,
        ctypes.c_int64,
        numbers,
        numbers,
        ctypes.c_long,
        count,
        count,
        ctypes.POINTER(ctypes.c_int),
    )
    loop.restype = None
    return loop
