"""Reads the processes below this one: which there are, their memory and their CPU time.

From /proc and the kernel's process clocks on Linux, through psutil elsewhere. Runs inside the spawner, so it imports
next to nothing.

Resident memory counts a page once for every process that maps it, as ps and psutil do.
"""

from __future__ import annotations

import os
from time import clock_gettime_ns

from s3bench.system.portable import IS_PORTABLE

TYPE_CHECKING = False  # `typing` is not imported here: see `spawner`
if TYPE_CHECKING:
    from collections.abc import Iterable

    import psutil

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_READ_BYTES = 1 << 16


def descendants(pid: int) -> list[int]:
    """Every process below `pid`, parents before children; zombies too.

    Asks all threads of each process for their children (`/proc/PID/task/TID/children`, see proc_pid_children(5)): a
    child belongs to the thread that forked it. Where there is no such file, psutil answers.
    """
    if not _HAS_CHILDREN_FILE:
        return [child.pid for child in _psutil_children(pid)]
    found: list[int] = []
    parents = [pid]
    while parents:
        children = _children(parents.pop())
        found += children
        parents += children
    return found


def _children(pid: int) -> list[int]:
    children: list[int] = []
    try:
        threads = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 (pathlib costs the spawner a megabyte)
    except OSError:  # the process is gone
        return children
    for thread in threads:
        try:
            children += _read_children(f"/proc/{pid}/task/{thread}/children")
        except OSError:  # the thread is gone
            continue
    return children


def _read_children(path: str) -> list[int]:
    file = os.open(path, os.O_RDONLY)
    try:
        text = b""
        while chunk := os.pread(file, _READ_BYTES, len(text)):
            text += chunk
    finally:
        os.close(file)
    return [int(word) for word in text.split()]


class ProcTree:
    """The processes below this one, by /proc and the process clocks; exact to the nanosecond and the page.

    Each process is read through a file that stays open and a clock id, so that a sample costs about two microseconds a
    process. `has_grown()` looks for births with one read: the kernel shows the last process id that it gave away.
    `newest` is the last one that the caller knows.
    """

    def __init__(self, newest: int | None = None) -> None:
        self._known: dict[int, tuple[int, int]] = {}  # pid: (open statm, clock id)
        self._used_ns: dict[int, int] = {}  # pid: CPU time when last read
        self._ended_ns = 0
        self._newest = b"" if newest is None else b"%d\n" % newest
        self._loadavg = os.open("/proc/loadavg", os.O_RDONLY)
        self.process_count = 0

    @property
    def loadavg(self) -> int:
        """The descriptor of the file whose last word is the process id that the kernel gave away last."""
        return self._loadavg

    @property
    def newest(self) -> bytes:
        """That word, as of the last `unknown()`."""
        return self._newest

    @property
    def ended_ns(self) -> int:
        """CPU time of the processes that are gone."""
        return self._ended_ns

    def places(self) -> tuple[tuple[int, int, int], ...]:
        """Where each known process is read: its open statm and its clock; and its CPU time when last read."""
        return tuple((*place, self._used_ns[pid]) for pid, place in self._known.items())

    def note_used(self, used_ns: Iterable[int]) -> None:
        """Note the CPU times that were read elsewhere, in the order of `places`."""
        self._used_ns.update(zip(self._known, used_ns, strict=True))

    def has_grown(self) -> bool:
        """Whether a process or thread was born anywhere on this machine since the last `unknown()`."""
        return os.pread(self._loadavg, 80, 0).rsplit(b" ", 1)[-1] != self._newest

    def unknown(self) -> list[int]:
        """Every process below this one that was not adopted yet."""
        self._newest = os.pread(self._loadavg, 80, 0).rsplit(b" ", 1)[-1]
        return [pid for pid in descendants(os.getpid()) if pid not in self._known]

    def adopt(self, pid: int) -> int:
        """Read this process from now on; return the CPU time that it has used already, in ns."""
        clock = (~pid << 3) | 2  # CPUCLOCK_SCHED of all its threads, as clock_getcpuclockid(3) makes it
        try:
            used_ns = clock_gettime_ns(clock)
            self._known[pid] = (os.open(f"/proc/{pid}/statm", os.O_RDONLY), clock)
        except OSError:  # it has ended
            return 0
        self._used_ns[pid] = used_ns
        self.process_count += 1
        return used_ns

    def read(self) -> tuple[int, int]:
        """Resident bytes of all known processes now, and the CPU nanoseconds they and those before them used."""
        pages = 0
        cpu_ns = self._ended_ns
        used_ns = self._used_ns
        gone = None
        for pid, (statm, clock) in self._known.items():
            try:
                pages += int(os.pread(statm, 64, 0).split(b" ", 2)[1])
                used_ns[pid] = now_ns = clock_gettime_ns(clock)
            except OSError:  # reaped: its clock is gone, what it had used by the last sample stays
                now_ns = used_ns[pid]
                gone = [*(gone or ()), pid]
            cpu_ns += now_ns
        if gone:
            for pid in gone:
                os.close(self._known.pop(pid)[0])
                self._ended_ns += used_ns.pop(pid)
        return pages * _PAGE_BYTES, cpu_ns

    def close(self) -> None:
        """Close all files."""
        for statm, _ in self._known.values():
            os.close(statm)
        self._known.clear()
        os.close(self._loadavg)


class PsutilTree:
    """The same by psutil, for systems without /proc: dearer, and only as fine as that system's CPU times."""

    def __init__(self) -> None:
        import psutil  # noqa: PLC0415 (never loaded on Linux, where it would weigh down every client's first moments)

        self._gone: tuple[type[Exception], ...] = (psutil.Error,)
        self._known: dict[int, psutil.Process] = {}
        self._used_ns: dict[int, int] = {}
        self._ended_ns = 0
        self.process_count = 0

    def has_grown(self) -> bool:
        """Say yes: only a search would show."""
        return True

    def unknown(self) -> list[int]:
        """Every process below this one that was not adopted yet."""
        return [child.pid for child in _psutil_children(os.getpid()) if child.pid not in self._known]

    def adopt(self, pid: int) -> int:
        """Read this process from now on; return the CPU time that it has used already, in ns."""
        import psutil  # noqa: PLC0415 (see the constructor)

        try:
            process = psutil.Process(pid)
            used_ns = self._used(process)
        except psutil.Error:  # it has ended
            return 0
        self._known[pid] = process
        self.process_count += 1
        return used_ns

    def _used(self, process: psutil.Process) -> int:
        times = process.cpu_times()
        self._used_ns[process.pid] = round((times.user + times.system) * 1e9)
        return self._used_ns[process.pid]

    def read(self) -> tuple[int, int]:
        """Resident bytes of all known processes now, and the CPU nanoseconds they and those before them used."""
        rss_bytes, cpu_ns = 0, self._ended_ns
        for pid, process in tuple(self._known.items()):
            try:
                rss_bytes += process.memory_info().rss
                cpu_ns += self._used(process)
            except self._gone:
                cpu_ns += self._used_ns[pid]
                self._ended_ns += self._used_ns.pop(pid)
                del self._known[pid]
        return rss_bytes, cpu_ns

    def close(self) -> None:
        """Nothing is open."""


def _psutil_children(pid: int) -> list[psutil.Process]:
    import psutil  # noqa: PLC0415 (see PsutilTree)

    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


_HAS_CHILDREN_FILE = not IS_PORTABLE and os.path.exists(  # noqa: PTH110 (as PTH208 above)
    f"/proc/self/task/{os.getpid()}/children"
)


def open_births(pid: int) -> ProcTree | None:
    """Look for births after that of `pid`; `None` where that would be dear."""
    return ProcTree(pid) if _HAS_CHILDREN_FILE else None


def open_tree() -> ProcTree | PsutilTree:
    """Choose the cheapest source that this system has."""
    return ProcTree() if _HAS_CHILDREN_FILE else PsutilTree()
