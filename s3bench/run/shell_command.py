"""Runs a shell command of the user's, in the user's own environment and directory: `run --prepare` and `--cleanup`.

Nothing is measured, and the command may write anywhere. It stays in the terminal's process group, so that sudo can ask
for a password and Ctrl-C reaches it. Its stdin is empty and its stdout is dropped. Its stderr is a file, since a server
that it leaves in the background would keep a pipe open.
"""

import subprocess
from tempfile import TemporaryFile
from typing import IO

from s3bench.errors import ShellCommandFailed
from s3bench.results.redaction import redact_text
from s3bench.run.ending import end_with_children, named_signal, redacted_tail

_STDERR_TAIL_CHARACTERS = 2000
_STDERR_LINES = 10


def run_shell_command(option: str, command: str, *, timeout_s: float) -> None:
    """Run `command`, which `option` gave, by /bin/sh; after `timeout_s` it is ended with its children.

    Raises `ShellCommandFailed` unless it exits 0.
    """
    with TemporaryFile() as stderr:
        process = subprocess.Popen(
            ("/bin/sh", "-c", command), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr
        )
        try:
            exit_code = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            end_with_children(process)
            raise _failed(option, command, f"took longer than {timeout_s:g} s", stderr) from None
        except BaseException:
            end_with_children(process)
            raise
        if exit_code:
            raise _failed(option, command, _ending(exit_code), stderr)


def _ending(exit_code: int) -> str:
    return f"was ended by {named_signal(-exit_code)}" if exit_code < 0 else f"exited {exit_code}"


def _failed(option: str, command: str, ending: str, stderr: IO[bytes]) -> ShellCommandFailed:
    said = "\n".join(redacted_tail(stderr, _STDERR_TAIL_CHARACTERS).splitlines()[-_STDERR_LINES:])
    return ShellCommandFailed(f"{option} `{redact_text(command)}` {ending}", said or "it wrote nothing to stderr")
