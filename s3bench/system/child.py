"""Child processes of s3bench: their command, the socket that joins them to this process, and their end."""

import contextlib
import gc
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

import s3bench

_LAST_WORDS_BYTES = 2000
_END_WAIT_S = 1.0


def module_command(module: str, *arguments: str) -> tuple[str, ...]:
    """The command that runs a module of s3bench as `__main__`, isolated from the user's Python settings.

    Isolated mode hides the current directory, so a source tree that is not installed is added, last. The
    garbage collector is off until the module calls `take_control`, which it must do: imports create almost no garbage,
    and looking for it takes a fifth of their time.
    """
    program = (
        "import gc, sys, runpy; gc.disable(); sys.path.append(sys.argv.pop(1)); "
        f"runpy.run_module({module!r}, run_name='__main__')"
    )
    return (sys.executable, "-I", "-c", program, str(Path(s3bench.__file__).parent.parent), *arguments)


class ChildProcess:
    """A process whose standard input is one end of a socket pair; the other end is `control`.

    It has to end by itself when `control` is closed, by `end` or by the death of this process. `stderr` is a file that
    is open for reading and writing. Without `environment` it gets that of this process.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        stderr: IO[bytes],
        environment: Mapping[str, str] | None = None,
        directory: Path | None = None,
    ) -> None:
        self._stderr = stderr
        self.control, theirs = socket.socketpair()
        try:
            with theirs:
                self._process = subprocess.Popen(
                    command,
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=stderr,
                    cwd=directory,
                    env=environment,
                    start_new_session=True,  # Ctrl-C on the terminal is for this process, which ends its children
                )
        except BaseException:
            self.control.close()
            raise
        self.pid = self._process.pid

    @property
    def exit_code(self) -> int | None:
        """Its exit code, negative for the number of a signal; `None` while it runs."""
        return self._process.poll()

    def how_it_ended(self) -> tuple[int | None, str]:
        """The exit code of a process that does not answer, and the end of what it wrote to stderr.

        A process whose end of the channel is closed is given a moment to end.
        """
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_WAIT_S)
        return self.exit_code, self.last_words

    @property
    def last_words(self) -> str:
        """The end of what it wrote to stderr."""
        descriptor = self._stderr.fileno()
        start = max(0, os.fstat(descriptor).st_size - _LAST_WORDS_BYTES)
        return os.pread(descriptor, _LAST_WORDS_BYTES, start).decode("utf-8", "replace").strip()

    def kill(self) -> None:
        """End it at once; may be called from another thread."""
        self._process.kill()

    def stop(self) -> None:
        """Let it end; may be called again."""
        self.control.close()

    def end(self, limit_s: float) -> None:
        """Let it end, and kill it where it has not within `limit_s`."""
        self.stop()
        try:
            self._process.wait(limit_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def take_control() -> socket.socket:
    """In the child: its end of the socket pair. Programs that the child starts do not inherit it.

    Turns the garbage collector on, which `module_command` turned off. What was imported is frozen: it is not scanned.
    """
    gc.freeze()
    gc.enable()
    control = socket.socket(fileno=os.dup(0))
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    return control
