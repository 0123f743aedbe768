"""One unit on a node: `s3bench run` in a process of its own, which ends when whoever started it does.

Owns the start and both ways to the end. A pipe holds the two together: the child reads its stdin, where nothing is ever
written; that it is closed, on purpose or by a death, is its order to end. What it measures is the
command's.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import s3bench
from s3bench.cluster.priority import lower_kill_score, lower_niceness

END_S = 15.0
"""From the order to end to SIGKILL: clients are ended at once, but what a live endpoint holds takes time to remove."""

_SAID_BYTES = 2000

# Isolated mode hides the current directory, so a source tree that is not installed is added, last.
_START = (
    "import sys; sys.path.append(sys.argv.pop(1)); "
    "from s3bench.cluster.suite.child import begin; begin(); "
    "from s3bench.cli.main import main; main()"
)


class Child:
    """`s3bench ARGUMENTS` in `directory`, with `environment` and nothing else; `name` is that of its output file."""

    def __init__(self, *arguments: str, directory: Path, name: str, environment: Mapping[str, str]) -> None:
        self._stderr = directory / f"{name}-stderr.txt"
        root = str(Path(s3bench.__file__).parent.parent)
        with self._stderr.open("wb") as stderr:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", _START, root, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                cwd=directory,
                env=environment,
                start_new_session=True,
            )

    @property
    def exit_code(self) -> int | None:
        """Its exit code, negative for a signal's number; `None` while it runs."""
        return self._process.poll()

    @property
    def said(self) -> str:
        """The end of what it wrote to stderr."""
        return self._stderr.read_bytes()[-_SAID_BYTES:].decode("utf-8", "replace").strip()

    def stop(self) -> None:
        """Let it end as Ctrl-C does: its clients at once, and what it has measured is kept. May be called again."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()

    def end(self, limit_s: float) -> None:
        """Let it end, and kill it where it has not within `limit_s`."""
        self.stop()
        try:
            self._process.wait(limit_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def begin() -> None:
    """Run as a program that a user starts, not as a worker of Ray's; and end when stdin does. For the child itself."""
    lower_niceness()
    lower_kill_score()
    threading.Thread(target=_end_with_stdin, daemon=True).start()


def _end_with_stdin() -> None:
    while os.read(0, 1):
        pass
    # Not SIGINT, which a process may have inherited as ignored; the command line takes both alike.
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(END_S)
    os.kill(os.getpid(), signal.SIGKILL)
