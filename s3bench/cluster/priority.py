"""Resets the low priority of processes that Ray starts.

Ray runs its workers with niceness 15 and makes the kernel kill them first when memory runs short. Both are inherited,
and a load generator or client that gives way to all other processes would measure that.
"""

import contextlib
import os
from pathlib import Path


def lower_niceness() -> int:
    """Reset the niceness to 0 if that is permitted; return the resulting niceness."""
    if os.getpriority(os.PRIO_PROCESS, 0) > 0:
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, 0)
    return os.getpriority(os.PRIO_PROCESS, 0)


def lower_kill_score() -> None:
    """Reset the score by which the kernel kills processes when memory runs short, if that is permitted."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("0", encoding="ascii")
