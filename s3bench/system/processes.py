"""Process control and process facts: Linux's own interfaces, psutil elsewhere.

The spawner imports this, so it imports next to nothing itself, and psutil only where it is used: that would weigh down
every client's first moments.
"""

from __future__ import annotations

import os
import sys

from s3bench.system.portable import IS_PORTABLE

TYPE_CHECKING = False  # importing `typing` would add a megabyte to every client's high-water mark
if TYPE_CHECKING:
    from typing import Any

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_MAXRSS_UNIT_BYTES = 1 if sys.platform == "darwin" else 1024


def load_prctl() -> Any:
    """The C library's prctl(2), which does nothing where there is none. Load it before a fork."""
    if IS_PORTABLE:
        return lambda *_: 0
    import ctypes  # noqa: PLC0415 (see above)

    prctl = ctypes.CDLL(None).prctl
    prctl.argtypes = (ctypes.c_int, *(ctypes.c_ulong,) * 4)
    return prctl


def adopt_orphans(prctl: Any) -> None:
    """Become the parent of every process below this one whose own parent ends (Linux alone; see `orphans`)."""
    prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with_parent(prctl: Any, signal_number: int) -> None:
    """Have the kernel send this process a signal when its parent ends (Linux alone)."""
    prctl(_PR_SET_PDEATHSIG, signal_number, 0, 0, 0)


def orphans(session: int) -> list[int]:
    """The processes of a session that this process could not adopt; none where it can."""
    if not IS_PORTABLE:
        return []
    import psutil  # noqa: PLC0415 (see above)

    return [pid for pid in psutil.pids() if pid not in {0, os.getpid()} and _session_of(pid) == session]


def _session_of(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except OSError:  # it is gone, or not ours to ask about
        return None


def own_rss_bytes() -> int:
    """The resident memory of this process."""
    if IS_PORTABLE:
        import psutil  # noqa: PLC0415 (see above)

        return int(psutil.Process().memory_info().rss)
    file = os.open("/proc/self/statm", os.O_RDONLY)
    pages = int(os.read(file, 128).split()[1])
    os.close(file)
    return pages * os.sysconf("SC_PAGE_SIZE")


def maxrss_bytes(usage: Any) -> int:
    """The high-water mark in the account of a process that has ended (getrusage(2)), whose unit differs."""
    return int(usage.ru_maxrss) * _MAXRSS_UNIT_BYTES


def started_at(pid: int) -> str | None:
    """When a process started, as text that is equal for one process only; `None` where there is none."""
    if IS_PORTABLE:
        import psutil  # noqa: PLC0415 (see above)

        try:
            return repr(psutil.Process(pid).create_time())
        except psutil.Error:
            return None
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123 (see above)
            return file.read().rpartition(")")[2].split()[19]  # starttime in ticks since boot (proc_pid_stat(5))
    except OSError:
        return None


def boot_id() -> str:
    """Which boot of the machine this is; empty where the system has no name for it."""
    if IS_PORTABLE:
        return ""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:  # noqa: PTH123 (see above)
        return file.read().strip()


def cores_allowed() -> int | None:
    """The number of logical cores that this process may run on; `None` where the system does not report it."""
    if IS_PORTABLE:
        return None
    return len(os.sched_getaffinity(0))
