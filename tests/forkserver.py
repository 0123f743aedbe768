"""Starts `s3bench` by a fork of a process that has imported it: in milliseconds instead of a third of a second.

A command is a process of its own all the same, with its own arguments, environment, directory and streams. How a
process starts in full is tested elsewhere: in tests/cli/test_startup.py, tests/cli/test_main.py, tests/test_wheel.py.
"""

import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

COMMANDS = ("run", "gate", "compare", "load", "tune", "report", "history", "bisect")
_REQUEST_BYTES_MAX = 1 << 20


class Forked:
    """A command that was started: its pid, and what it writes to its standard streams."""

    def __init__(self, stdout: int, stderr: int, status: socket.socket) -> None:
        self.stdout = os.fdopen(stdout, "rb")
        self.stderr = os.fdopen(stderr, "rb")
        self._status = status.makefile(encoding="ascii")
        self.pid = int(self._status.readline())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for file in (self.stdout, self.stderr, self._status):
            file.close()

    def wait(self) -> int:
        """Wait for its end, and give its exit code. Only once: its pid may be another process's afterwards."""
        return int(self._status.readline())


class ForkServer:
    """The process that commands are forked from, alive while the context lasts. Several threads may use it.

    `environment` is what modules look at when they are imported; `commands` are those whose modules are imported.
    `before` is called in the process before anything else.
    """

    def __init__(
        self,
        environment: Mapping[str, str] | None = None,
        commands: tuple[str, ...] = COMMANDS,
        before: Callable[[], None] | None = None,
    ) -> None:
        self._environment = {**os.environ, **(environment or {})}
        self._commands = commands
        self._before = before

    def __enter__(self) -> Self:
        self._requests, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                (sys.executable, __file__, *self._commands),
                stdin=theirs,
                stdout=subprocess.DEVNULL,
                env=self._environment,
                preexec_fn=self._before,  # noqa: PLW1509 (it takes no lock)
            )
        return self

    def __exit__(self, *_: object) -> None:
        self._requests.close()
        self._process.wait()

    def start(self, arguments: tuple[str, ...], *, cwd: Path, env: Mapping[str, str]) -> Forked:
        """Start `s3bench`, as `subprocess.Popen` would."""
        (out, out_end), (err, err_end), (status, status_end) = os.pipe(), os.pipe(), socket.socketpair()
        request = json.dumps({"arguments": arguments, "cwd": str(cwd), "env": dict(env)}).encode()
        with status, status_end:
            socket.send_fds(self._requests, [request], [out_end, err_end, status_end.fileno()])
            os.close(out_end)
            os.close(err_end)
            status_end.close()
            return Forked(out, err, status)

    def run(
        self, arguments: tuple[str, ...], *, cwd: Path, env: Mapping[str, str], timeout_s: float
    ) -> "subprocess.CompletedProcess[bytes]":
        """Run `s3bench` to its end, as `subprocess.run` with `capture_output` would."""
        with self.start(arguments, cwd=cwd, env=env) as command:
            killer = threading.Timer(timeout_s, os.kill, (command.pid, signal.SIGKILL))
            killer.daemon = True
            killer.start()
            said: list[bytes] = []
            reader = threading.Thread(target=lambda: said.append(command.stderr.read()), daemon=True)
            reader.start()
            printed = command.stdout.read()
            reader.join()
            code = command.wait()
            is_late = not killer.is_alive()
            killer.cancel()
        if is_late:
            raise subprocess.TimeoutExpired(arguments, timeout_s, printed, said[0])
        return subprocess.CompletedProcess(arguments, code, printed, said[0])


def main() -> None:
    """Fork a command for each request, until the other end of the socket closes."""
    sys.path[0] = ""  # as of `python -c`
    for name in sys.argv[1:]:
        importlib.import_module(f"s3bench.cli.{name}.action")
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that wait for commands
    with socket.socket(fileno=os.dup(0)) as requests:
        while True:
            request, descriptors, _, _ = socket.recv_fds(requests, _REQUEST_BYTES_MAX, 3)
            if not request:
                return
            if os.fork() == 0:
                break
            for descriptor in descriptors:
                os.close(descriptor)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    out, err, status = descriptors
    pid = os.fork()
    if pid:
        os.close(out)
        os.close(err)
        os.write(status, b"%d\n" % pid)
        _, how = os.waitpid(pid, 0)
        os.write(status, b"%d\n" % os.waitstatus_to_exitcode(how))
        os._exit(0)
    os.close(status)
    _become(json.loads(request), out, err)


def _become(request: dict[str, Any], out: int, err: int) -> None:
    """Be the command from here on."""
    streams = (os.open(os.devnull, os.O_RDONLY), out, err)
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv = ["-c", *request["arguments"]]
    importlib.import_module("s3bench.cli.main").main()


if __name__ == "__main__":
    main()
