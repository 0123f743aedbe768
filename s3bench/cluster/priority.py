"""How a process that Ray has started gives up the place that Ray's workers have among the machine's processes.

Ray runs them at niceness 15 and has the kernel kill them first when memory runs short; both are inherited, and a
generator or a client that waits for everything else that runs there measures that. Owns the ways out of it.
"""

import contextlib
import os
from pathlib import Path


def lower_niceness() -> int:
    """Give up the niceness of Ray's workers, if we may; what it is then."""
    if os.getpriority(os.PRIO_PROCESS, 0) > 0:
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, 0)
    return os.getpriority(os.PRIO_PROCESS, 0)


def lower_kill_score() -> None:
    """Be killed no sooner than others when memory runs short, if we may."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("0", encoding="ascii")
