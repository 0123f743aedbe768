"""The front door within the tests' own process."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from s3bench.cli.main import main
from tests.bench.scripted_bench import ScriptedBench

Finished = "subprocess.CompletedProcess[str]"
Here = Callable[..., Finished]


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    """Run `s3bench` with arguments in this process, which has imported it already; gives what it said and its code."""

    def run(*arguments: str, cwd: Path | None = None) -> Finished:
        if cwd is not None:
            monkeypatch.chdir(cwd)
        monkeypatch.setattr(sys, "argv", ["s3bench", *arguments])
        before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
        try:
            with pytest.raises(SystemExit) as ended:
                main()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        said = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return subprocess.CompletedProcess(arguments, ended.value.code, said.out, said.err)

    return run


OPENERS = ("run.action", "gate.action", "gate.self_test", "tune.action", "bisect.action", "profile.action")


@pytest.fixture
def bench(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> ScriptedBench:
    """The bench that every command opens: it starts no process, and its clock is the commands' own."""
    scripted = ScriptedBench(root=tmp_path_factory.mktemp("bench"))
    monkeypatch.setattr("tempfile.tempdir", str(scripted.root))  # where results are saved that no file was named for

    @contextmanager
    def opened(*_: object, **__: object) -> Iterator[ScriptedBench]:
        yield scripted

    for module in OPENERS:
        monkeypatch.setattr(f"s3bench.cli.{module}.open_bench", opened)
        monkeypatch.setattr(f"s3bench.cli.{module}.monotonic", scripted.now, raising=False)
    return scripted
