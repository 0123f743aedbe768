"""Ends a program of the user's, and tells how one ended: its signal by name, and the end of what it wrote."""

import os
import signal
import subprocess
from contextlib import suppress
from time import monotonic, sleep
from typing import IO

import psutil

from s3bench.results.redaction import redact_text

_CUT_BYTES = 4096
"""Read before the part that is shown: a secret that begins there has to be recognized."""

_GRACE_S = 5.0
"""From SIGTERM to SIGKILL."""

_TURN_S = 0.02


def end_with_children(process: "subprocess.Popen[bytes]") -> None:
    """End `process` and all that it started, by SIGTERM; what runs on after 5 s, or at an interrupt, by SIGKILL.

    psutil signals no process that has got the id of one of these meanwhile.
    """
    family: list[psutil.Process] = []
    try:
        family = _family(process.pid)
        for each in family:
            with suppress(psutil.Error):
                each.terminate()
        until_s = monotonic() + _GRACE_S
        with suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_S)
        while any(map(_runs, family)) and monotonic() < until_s:
            sleep(_TURN_S)
    finally:
        for each in family:  # they may have started others, and are orphans if it has ended
            for one in _family(each.pid) if each.is_running() else ():
                with suppress(psutil.Error):
                    one.kill()
        process.kill()  # also if it could not be listed
        process.wait()


def _runs(process: psutil.Process) -> bool:
    """Whether it has not ended; where nobody waits for orphans, they stay zombies."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _family(pid: int) -> list[psutil.Process]:
    """A process and all below it."""
    try:
        process = psutil.Process(pid)
        return [*process.children(recursive=True), process]
    except psutil.Error:
        return []


def named_signal(number: int) -> str:
    """A signal with its number, and its name if it has one; real-time signals have none."""
    try:
        return f"signal {number} ({signal.Signals(number).name})"
    except ValueError:
        return f"signal {number}"


def redacted_tail(file: IO[bytes], characters_max: int) -> str:
    """The end of what was written to `file`, without secrets; undecodable bytes are escaped."""
    file.seek(max(0, file.seek(0, os.SEEK_END) - characters_max - _CUT_BYTES))
    return redact_text(file.read().decode("utf-8", "backslashreplace"))[-characters_max:].strip()
