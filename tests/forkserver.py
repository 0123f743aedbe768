"""Starts `s3bench` by a fork of a process that has imported it: in milliseconds instead of a third of a second.

A command is still a process of its own, with its own arguments, environment, directory and streams. The servers and
load workers that it starts are forked from it in turn. How they start without a fork is tested in
tests/cli/test_startup.py, tests/cli/test_main.py and tests/test_wheel.py (commands), and in tests/s3/test_endpoint.py
and tests/system/test_child.py (servers and workers).
"""

import gc
import importlib
import inspect
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NoReturn, Self
from unittest import mock

COMMANDS = ("run", "gate", "compare", "load", "tune", "report", "history", "bisect", "record", "profile")
_SERVER, _WORKER = "s3bench.s3.server.host", "s3bench.load.engine.worker"
_LATER = (
    "boto3",
    "s3bench.cli.main",
    "s3bench.clients.aws_cli",
    "s3bench.clients.boto3",
    "s3bench.clients.crt_python",
    "s3bench.clients.obstore",
    "s3bench.clients.rclone",
    "s3bench.clients.s5cmd",
    "s3bench.s3.server.emulation",
    "s3bench.s3.server.tls",
    "trustme",
)
"""What commands and servers import when they need it: forks shall have it already."""
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

    def wait(self, limit_s: float | None = None) -> int:
        """Wait for its end, and give its exit code. Only once: its pid may be another process's afterwards.

        Raises `subprocess.TimeoutExpired` where it has not ended within `limit_s`.
        """
        if not select.select([self._status], [], [], limit_s)[0]:
            raise subprocess.TimeoutExpired(str(self.pid), limit_s or 0)
        return int(self._status.readline())


class ForkServer:
    """The process that commands are forked from, alive while the context lasts. Several threads may use it.

    `environment` is what modules look at when they are imported; `commands` are those whose modules are imported.
    """

    def __init__(self, environment: Mapping[str, str] | None = None, commands: tuple[str, ...] = COMMANDS) -> None:
        self._environment = {**os.environ, **(environment or {})}
        self._commands = commands

    def __enter__(self) -> Self:
        self._requests, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                (sys.executable, __file__, *self._commands),
                stdin=theirs,
                stdout=subprocess.DEVNULL,
                env=self._environment,
            )
        return self

    def __exit__(self, *_: object) -> None:
        self._requests.close()
        self._process.wait()

    def start(
        self,
        arguments: tuple[str, ...],
        *,
        cwd: Path,
        env: Mapping[str, str],
        terminal: int | None = None,
        start_new_session: bool = False,
        before: Callable[[], None] | None = None,
    ) -> Forked:
        """Start `s3bench`, as `subprocess.Popen` would.

        `terminal` is a descriptor that it writes to instead of pipes. `before` is called in its process, before its
        directory and environment are set: a function of a file that can be run by itself, as `runpy.run_path` does.
        """
        (out, out_end), (err, err_end), (status, status_end) = os.pipe(), os.pipe(), socket.socketpair()
        request = json.dumps(
            {
                "arguments": arguments,
                "cwd": str(cwd),
                "env": dict(env),
                "start_new_session": start_new_session,
                "before": before and (inspect.getfile(before), before.__name__),
            }
        ).encode()
        with status, status_end:
            streams = [out_end, err_end] if terminal is None else [terminal, terminal]
            socket.send_fds(self._requests, [request], [*streams, status_end.fileno()])
            os.close(out_end)
            os.close(err_end)
            status_end.close()
            return Forked(out, err, status)

    def run(
        self,
        arguments: tuple[str, ...],
        *,
        cwd: Path,
        env: Mapping[str, str],
        timeout_s: float,
        before: Callable[[], None] | None = None,
    ) -> "subprocess.CompletedProcess[bytes]":
        """Run `s3bench` to its end, as `subprocess.run` with `capture_output` would."""
        with self.start(arguments, cwd=cwd, env=env, before=before) as command:
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
    for name in (_SERVER, *_LATER, *([_WORKER] if "load" in sys.argv else [])):  # a worker takes long to import
        importlib.import_module(name)
    importlib.import_module("s3bench.s3.protocol.checksums").load_algorithms()
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
    if request["start_new_session"]:
        os.setsid()
    if request["before"]:
        file, name = request["before"]
        runpy.run_path(file)[name]()
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv = ["-c", *request["arguments"]]
    with mock.patch("s3bench.system.child.subprocess.Popen", _popen):
        importlib.import_module("s3bench.cli.main").main()


_RealPopen = subprocess.Popen


def _popen(command: Sequence[str], **options: Any) -> "_ForkedChild | subprocess.Popen[bytes]":
    """Start a child of s3bench: servers and load workers by a fork, others as `subprocess.Popen` does."""
    is_forked = command[:3] == (sys.executable, "-I", "-c") and any(
        repr(name) in command[3] for name in (_SERVER, _WORKER)
    )
    return _ForkedChild(command, **options) if is_forked else _RealPopen(command, **options)


class _ForkedChild:
    """A forked child, with as much of the interface of `subprocess.Popen` as `ChildProcess` uses."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        stdin: int,
        stderr: IO[bytes],
        env: Mapping[str, str] | None,
        **_: object,
    ) -> None:
        self._lock = threading.Lock()
        self._code: int | None = None
        self._end, theirs = os.pipe()  # closed on the other side when the child ends
        self.pid = os.fork()
        if self.pid == 0:
            _be_child(command, stdin, stderr.fileno(), theirs, env)
        os.close(theirs)

    def poll(self) -> int | None:
        with self._lock:
            if self._code is None and select.select([self._end], [], [], 0)[0]:
                self._code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self._code

    def wait(self, timeout: float | None = None) -> int:
        select.select([self._end], [], [], timeout)
        code = self.poll()
        if code is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
        return code

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


def _be_child(command: Sequence[str], stdin: int, stderr: int, end: int, env: Mapping[str, str] | None) -> NoReturn:
    """Run the child's program in this fork, and end with it."""
    gc.freeze()  # what is garbage here would close descriptors by numbers that belong to other files now
    code = 1
    try:
        os.setsid()
        os.dup2(stdin, 0)
        os.dup2(stderr, 2)
        os.closerange(3, end)
        os.closerange(end + 1, os.sysconf("SC_OPEN_MAX"))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.stdout, sys.stderr = (os.fdopen(number, "w", closefd=False) for number in (1, 2))
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if env is not None:
            os.environ.clear()
            os.environ.update(env)
        sys.argv = ["-c", *command[4:]]
        exec(command[3], {"__name__": "__main__"})
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:  # noqa: BLE001 (it ends with its traceback, as any program)
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
