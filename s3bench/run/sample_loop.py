"""Takes the samples at which nothing has to be decided, from the same files and clocks as `tree`.

The loop is `sample_loop.c`, compiled when s3bench is installed: the interpreter's own code, brought back into cold
caches at every wake-up, costs twice as much as the wake-up and the sample. Runs inside the spawner, so this imports
next to nothing.
"""

from __future__ import annotations

import ctypes
import os
from array import array

from s3bench.system.portable import IS_PORTABLE

TYPE_CHECKING = False  # `typing` is not imported here: see `spawner`
if TYPE_CHECKING:
    from typing import Any

    from s3bench.run.tree import ProcTree

LIBRARY = os.path.join(os.path.dirname(__file__), "libsample_loop.so")  # noqa: PTH118, PTH120 (pathlib costs a megabyte)

_SAMPLES_MAX = 64
_NEWEST_BYTES = 16


class _Process(ctypes.Structure):
    _fields_ = (("statm", ctypes.c_int), ("clock", ctypes.c_int), ("used_ns", ctypes.c_int64))


class _Sampling(ctypes.Structure):
    """`struct sampling` of the loop."""

    _fields_ = (
        ("processes", ctypes.POINTER(_Process)),
        ("process_count", ctypes.c_long),
        ("ended_ns", ctypes.c_int64),
        ("wake", ctypes.c_int),
        ("control", ctypes.c_int),
        ("loadavg", ctypes.c_int),
        ("newest", ctypes.c_char * _NEWEST_BYTES),
        ("step_ns", ctypes.c_int64),
        ("until_ns", ctypes.c_int64),
        ("find_due_ns", ctypes.c_int64),
        ("find_anyway_ns", ctypes.c_int64),
        ("capacity", ctypes.c_long),
        ("at_ns", ctypes.c_int64 * _SAMPLES_MAX),
        ("rss_bytes", ctypes.c_int64 * _SAMPLES_MAX),
        ("cpu_ns", ctypes.c_int64 * _SAMPLES_MAX),
        ("due_ns", ctypes.c_int64),
        ("quiet_ns", ctypes.c_int64),
        ("count", ctypes.c_long),
    )


class SampleLoop:
    """The loop, bound to two descriptors: it returns early when `wake` or `control` is readable."""

    def __init__(self, wake: int, control: int) -> None:
        self._run: Any = ctypes.CDLL(LIBRARY).s3bench_sample
        self._run.argtypes = (ctypes.POINTER(_Sampling),)
        self._run.restype = None
        self._sampling = _Sampling(wake=wake, control=control)

    def run(
        self,
        tree: ProcTree,
        *,
        due_ns: int,
        step_ns: int,
        until_ns: int,
        find_due_ns: int,
        find_anyway_ns: int,
        samples_max: int,
    ) -> LoopSamples:
        """Sample every `step_ns` from `due_ns` on; return when there is something to decide.

        That is: a descriptor is readable, `samples_max` were taken, it is `until_ns`, a process has ended, or after
        `find_due_ns` one was born (after `find_anyway_ns` in any case).
        """
        sampling = self._sampling
        places = tree.places()
        processes = (_Process * len(places))(*(_Process(*place) for place in places))
        sampling.processes, sampling.process_count = processes, len(places)
        sampling.ended_ns, sampling.loadavg = tree.ended_ns, tree.loadavg
        sampling.newest = tree.newest[:_NEWEST_BYTES]
        sampling.step_ns, sampling.until_ns, sampling.due_ns = step_ns, until_ns, due_ns
        sampling.find_due_ns, sampling.find_anyway_ns, sampling.quiet_ns = find_due_ns, find_anyway_ns, 0
        sampling.capacity, sampling.count = min(samples_max, _SAMPLES_MAX), 0
        self._run(ctypes.byref(sampling))
        tree.note_used(tuple(process.used_ns for process in processes))
        count = sampling.count
        return LoopSamples(
            at_ns=array("q", sampling.at_ns[:count]),
            rss_bytes=array("q", sampling.rss_bytes[:count]),
            cpu_ns=array("q", sampling.cpu_ns[:count]),
            due_ns=sampling.due_ns,
            quiet_ns=sampling.quiet_ns,
        )


class LoopSamples:
    """What one turn of the loop took; `quiet_ns` is when it last saw that nothing was born, 0 if it did not look."""

    def __init__(
        self, *, at_ns: array[int], rss_bytes: array[int], cpu_ns: array[int], due_ns: int, quiet_ns: int
    ) -> None:
        self.at_ns, self.rss_bytes, self.cpu_ns = at_ns, rss_bytes, cpu_ns
        self.due_ns, self.quiet_ns = due_ns, quiet_ns


def open_sample_loop(wake: int, control: int) -> SampleLoop | None:
    """Load the loop; `None` where s3bench was installed without a C compiler, or on another system than Linux."""
    return None if IS_PORTABLE or not os.access(LIBRARY, os.R_OK) else SampleLoop(wake, control)
