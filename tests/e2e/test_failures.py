"""Nothing is lost: failing benchmarks, Ctrl-C, kill -9, files that are there already."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.e2e.conftest import Definition, Finished, upload
from tests.forkserver import ForkServer

Run = Callable[..., Finished]
Define = Callable[..., Path]

_WAIT_S = 120.0


def small(name: str = "small", **changes: Any) -> Definition:
    """An upload by the client that starts quickest."""
    return upload(1000, name=name, clients=["s5cmd"], **changes)


def test_one_failing_benchmark_leaves_the_others_whole_and_says_why(s3bench: Run, define: Define) -> None:
    broken = small("broken", command=["s3", "cp", "missing", "s3://bucket/key"], responses=[])
    finished = s3bench("run", "-n", "2", define(small("before"), broken, small("after")))
    assert finished.code == 4
    before, failed, after = finished.results
    assert len(before["measurements"]) == len(after["measurements"]) == 2
    assert [error["iteration"] for error in failed["errors"]] == [0, 1]
    assert failed["errors"][0]["exit_code"] == 1
    assert "missing" in failed["errors"][0]["why"]


def test_a_request_without_a_response_and_a_response_without_a_request_are_errors(s3bench: Run, define: Define) -> None:
    none, more = small("none", responses=[]), small("more", responses=[{"instances": 5}])
    finished = s3bench("run", define(none, more))
    assert finished.code == 4
    assert "no response left for PUT /bucket/key" in finished.results[0]["errors"][0]["request"]
    assert "4 of 5 instances unused" in finished.results[1]["errors"][0]["what"]


@pytest.mark.campaign  # a real process: tests/bench/test_contract.py; a limit of a definition: test_local.py there
def test_a_client_that_takes_too_long_is_ended(s3bench: Run, define: Define) -> None:
    finished = s3bench("run", define(small(timeout=1, responses=[{"delay": 30}])))
    assert finished.code == 4
    assert finished.results[0]["errors"][0]["what"] == "timed out after 1 s"


def test_an_existing_results_file_is_not_overwritten(s3bench: Run, define: Define, tmp_path: Path) -> None:
    output = tmp_path / "results.json"
    output.write_text("precious")
    finished = s3bench("run", "-o", output, define(small()))
    assert finished.code == 2
    assert output.read_text() == "precious"
    assert "--force" in finished.err


def test_bad_definitions_run_nothing(s3bench: Run, define: Define) -> None:
    finished = s3bench("run", define(small(), {"name": "x", "comand": ["--version"]}))
    assert finished.code == 2
    assert finished.out == ""
    assert "$[1].comand" in finished.err
    assert "command" in finished.err


class Endless:
    """A run that would go on for a thousand iterations, in a session of its own."""

    def __init__(self, server: ForkServer, definitions: Path, output: Path, environment: dict[str, str]) -> None:
        self.output = output
        arguments = ("run", "-q", "-n", "1000", "-o", str(output), "--force", str(definitions))
        self.process = server.start(arguments, cwd=output.parent, env=environment, start_new_session=True)

    def measurements(self) -> int:
        try:
            document: dict[str, Any] = json.loads(self.output.read_text())
        except FileNotFoundError:
            return 0
        return sum(len(result["measurements"]) for result in document["results"])

    def await_the_first(self) -> None:
        """Wait for the first measurement: the run must not end before."""
        deadline = time.monotonic() + _WAIT_S
        while not self.measurements():
            assert time.monotonic() < deadline, "nothing was measured"
            with pytest.raises(subprocess.TimeoutExpired):
                self.process.wait(0.01)

    def family(self) -> list[psutil.Process]:
        parent = psutil.Process(self.process.pid)
        return [parent, *parent.children(recursive=True)]


@pytest.fixture
def endless(fork_server: ForkServer, define: Define, tmp_path: Path, environment: dict[str, str]) -> Iterator[Endless]:
    run = Endless(fork_server, define(small()), tmp_path / "results.json", environment)
    with run.process:
        yield run
        with suppress(ProcessLookupError):
            os.kill(run.process.pid, signal.SIGKILL)


def test_ctrl_c_keeps_what_was_measured(endless: Endless, workspaces: Path) -> None:
    endless.await_the_first()
    os.kill(endless.process.pid, signal.SIGINT)
    assert endless.process.wait(_WAIT_S) == 130
    assert endless.measurements() >= 1
    assert list(workspaces.iterdir()) == []


def test_kill_9_leaves_a_whole_document_and_no_process_and_the_next_run_cleans_up(
    endless: Endless, s3bench: Run, define: Define, workspaces: Path
) -> None:
    endless.await_the_first()
    stranger = workspaces / f"s3bench-{os.getuid()}-stranger"
    stranger.mkdir()
    family = endless.family()
    os.kill(endless.process.pid, signal.SIGKILL)
    endless.process.wait()
    _, alive = psutil.wait_procs(family, timeout=_WAIT_S)
    assert alive == []
    assert endless.measurements() >= 1
    assert len(list(workspaces.iterdir())) == 2
    assert s3bench("run", define(small())).code == 0
    assert list(workspaces.iterdir()) == [stranger]
