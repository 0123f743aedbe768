"""Milestones of the client's process: lines `NAME NANOSECONDS` (CLOCK_MONOTONIC), appended to $S3BENCH_PROBE_FILE.

Each is one write to a file opened for appending, so that what is written survives a crash and never interleaves.
"""

from __future__ import annotations

import os
import time


class MilestoneLog:
    """Marks each milestone the first time it is passed; does nothing when no probe file is asked for."""

    def __init__(self) -> None:
        path = os.environ.get("S3BENCH_PROBE_FILE")
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600) if path else -1
        self._passed: set[str] = set()

    def mark(self, name: str, at_ns: int | None = None) -> None:
        """Note that `name` is passed now, or was at `at_ns`."""
        if self._file < 0 or name in self._passed:
            return
        self._passed.add(name)
        at_ns = at_ns or time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        os.write(self._file, b"%s %d\n" % (name.encode("ascii"), at_ns))
