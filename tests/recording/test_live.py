"""The command that is recorded, as a process."""

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from s3bench.recording.command import parse_command
from s3bench.recording.live import Behind, record_command

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
        record_command(
            parse_command(SLEEP, stands_for="s3 ls", folder=tmp_path),
            behind=Behind(url=None, buckets=(), data_dir=None),
            tls=False,
            with_contents=False,
            folder=tmp_path,
            variables=dict(os.environ),
        )
    assert started[0].poll() == -signal.SIGTERM
