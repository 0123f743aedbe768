"""The process of one unit on a node: `s3bench run`, which ends when its parent process does."""

import os
import signal
import threading
import time
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from s3bench.cluster.priority import lower_kill_score, lower_niceness
from s3bench.system.child import ChildProcess, module_command, take_control

END_S = 15.0
"""From the request to end until SIGKILL: clients end at once, but removing objects from a live endpoint takes time."""


class Child(ChildProcess):
    """`s3bench ARGUMENTS` in `directory` with exactly `environment`; `name` is that of its output file.

    It ends as at Ctrl-C: its clients end at once, and what it has measured is kept.
    """

    def __init__(self, *arguments: str, directory: Path, name: str, environment: Mapping[str, str]) -> None:
        self._file = (directory / f"{name}-stderr.txt").open("w+b")
        super().__init__(
            module_command("s3bench.cluster.suite.child", *arguments),
            stderr=self._file,
            environment=environment,
            directory=directory,
        )

    def end(self, limit_s: float) -> None:
        """Make it end, and kill it if it has not ended within `limit_s`."""
        super().end(limit_s)
        self._file.close()


def begin() -> None:
    """Reset the priority of Ray's workers, and end when `ChildProcess.control` is closed."""
    lower_niceness()
    lower_kill_score()
    threading.Thread(target=_end_with_control, daemon=True).start()


def _end_with_control() -> None:
    with take_control() as control:
        while control.recv(1):
            pass
    # Not SIGINT, which a process may have inherited as ignored; the command line handles both alike.
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(END_S)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    begin()
    import_module("s3bench.cli.main").main()
