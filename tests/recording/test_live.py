"""The command that is recorded, as a process."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, TextIO

import pytest

from s3bench.errors import ClientFailed
from s3bench.recording.command import parse_command
from s3bench.recording.live import Behind, record_command
from tests.processes import await_end

SLEEP = ("sleep", "60")


def test_a_command_that_is_interrupted_while_it_starts_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[bytes]] = []

    class Interrupted(subprocess.Popen[bytes]):
        def __init__(self, argv: tuple[str, ...], **options: Any) -> None:
            super().__init__(argv, **options)
            if argv == SLEEP:
                started.append(self)
                os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        record(SLEEP, tmp_path)
    assert started[0].poll() == -signal.SIGTERM


def record(argv: tuple[str, ...], folder: Path) -> None:
    record_command(
        parse_command(argv, stands_for="s3 ls", folder=folder),
        behind=Behind(url=None, buckets=(), data_dir=None),
        tls=False,
        with_contents=False,
        folder=folder,
        variables=dict(os.environ),
    )


STUBBORN = """
import os, signal, sys
is_parent = os.fork() > 0
if not is_parent:
    os.setsid()
if sys.argv[1] == "all" or not is_parent:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
with open("ready", "w") as ready:
    print(os.getpid(), file=ready, flush=True)
while True:
    signal.pause()
"""


def fifo(path: Path) -> TextIO:
    """A pipe with a name, which stays open between two writers."""
    os.mkfifo(path)
    return os.fdopen(os.open(path, os.O_RDWR))


@pytest.mark.parametrize(("stubborn", "interrupts"), [("child", 1), ("all", 2)])
def test_an_interrupted_command_leaves_no_process_that_ignores_signals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stubborn: str, interrupts: int
) -> None:
    argv = (sys.executable, "-c", STUBBORN, stubborn)
    pids: list[int] = []
    left = [KeyboardInterrupt()] * interrupts

    class Interrupted(subprocess.Popen[bytes]):
        def wait(self, timeout: float | None = None) -> int:
            if self.args == argv:
                pids[:] = pids or (int(ready.readline()), int(ready.readline()))
                if left:
                    raise left.pop()
            return super().wait(timeout)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    with fifo(tmp_path / "ready") as ready, pytest.raises(KeyboardInterrupt):
        record(argv, tmp_path)
    assert not left
    await_end(*pids)


def test_a_command_ended_by_a_signal_without_a_name_is_told(tmp_path: Path) -> None:
    with pytest.raises(ClientFailed, match="the command was ended by signal 40"):
        record(("/bin/sh", "-c", "kill -40 $$"), tmp_path)
