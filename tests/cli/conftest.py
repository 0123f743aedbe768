"""The front door within the tests' own process."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from s3bench.cli.main import main

Finished = "subprocess.CompletedProcess[str]"
Here = Callable[..., Finished]


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    """Run `s3bench` with arguments in this process, which has imported it already; gives what it said and its code."""

    def run(*arguments: str, cwd: Path | None = None) -> Finished:
        if cwd is not None:
            monkeypatch.chdir(cwd)
        monkeypatch.setattr(sys, "argv", ["s3bench", *arguments])
        before = signal.getsignal(signal.SIGTERM)
        try:
            with pytest.raises(SystemExit) as ended:
                main()
        finally:
            signal.signal(signal.SIGTERM, before)
        said = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return subprocess.CompletedProcess(arguments, ended.value.code, said.out, said.err)

    return run
