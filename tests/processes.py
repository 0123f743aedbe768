"""Waits for processes that are not children of the test."""

import os
import select
from contextlib import ExitStack

LIMIT_S = 60.0


def await_end(*pids: int) -> None:
    """Wait until each of `pids` has ended; a zombie has. A pid that is gone already counts as ended."""
    with ExitStack() as stack:
        for pid in pids:
            try:
                process = os.pidfd_open(pid)
            except ProcessLookupError:
                continue
            stack.callback(os.close, process)
            assert select.select((process,), (), (), LIMIT_S)[0], f"process {pid} still runs"
