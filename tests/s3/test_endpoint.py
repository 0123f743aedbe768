"""The life of the server's process: it starts, it ends with us, and its death is told."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from s3bench.errors import MachineError, S3BenchError
from s3bench.s3.endpoint import StubEndpoint
from s3bench.spec.definition import FileBody, Response

LIMIT_S = 20.0


def await_end(pid: int) -> None:
    """Wait until `pid` is gone or a zombie."""
    deadline_s = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline_s:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return
        except OSError:
            return
        time.sleep(0.01)
    pytest.fail(f"process {pid} still runs")


def test_the_server_lives_as_long_as_its_context(tmp_path: Path) -> None:
    with StubEndpoint(directory=tmp_path) as stub:
        assert stub.url.startswith("http://127.0.0.1:")
        assert stub.ca_bundle is None
        os.kill(stub.pid, 0)
    await_end(stub.pid)


def test_the_server_ends_when_its_harness_is_killed(tmp_path: Path) -> None:
    program = (
        "import sys, time; from pathlib import Path; from s3bench.s3.endpoint import StubEndpoint\n"
        "with StubEndpoint(directory=Path(sys.argv[1])) as stub: print(stub.pid, flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]) as harness:
        assert harness.stdout is not None
        pid = int(harness.stdout.readline())
        harness.send_signal(signal.SIGKILL)
    await_end(pid)


def test_the_server_ends_though_somebody_holds_its_control_channel_open(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys; from pathlib import Path; from s3bench.s3.endpoint import StubEndpoint\n"
        "with StubEndpoint(directory=Path(sys.argv[1])) as stub:\n"
        "    holder = os.fork() or signal.alarm(20) or signal.pause()\n"
        "    print(stub.pid, holder, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]) as harness:
        assert harness.stdout is not None
        pid, holder = map(int, harness.stdout.readline().split())
        harness.wait(LIMIT_S)
        try:
            await_end(pid)
        finally:
            os.kill(holder, signal.SIGKILL)


@pytest.mark.parametrize("question", ["arm", "collect"])
def test_a_server_that_died_is_the_machines_error(tmp_path: Path, question: str) -> None:
    with StubEndpoint(directory=tmp_path) as stub:
        os.kill(stub.pid, signal.SIGKILL)
        await_end(stub.pid)
        ask = stub.collect if question == "collect" else partial(stub.arm, (), workspace=tmp_path, verify=False)
        with pytest.raises(MachineError, match="exit code -9"):
            ask()


def test_a_server_that_cannot_start_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("s3bench.s3.endpoint._START", "raise SystemExit('no luck')")
    with pytest.raises(MachineError) as raised, StubEndpoint(directory=tmp_path):
        pass
    assert "no luck" in raised.value.why


def test_a_missing_file_is_told_and_the_server_goes_on(wire: Any) -> None:
    with pytest.raises(S3BenchError, match=r"responses\[1\].*'gone'"):
        wire.arm(Response(), Response(body=FileBody(file="gone")))
    wire.arm(Response(body=FileBody(file="small")))
    assert wire.collect().leftover == ("responses[0]: unused",)


def test_interrupting_the_terminal_leaves_the_server(tmp_path: Path) -> None:
    with StubEndpoint(directory=tmp_path) as stub:
        assert os.getpgid(stub.pid) != os.getpgid(0)


def test_the_server_is_quiet(wire: Any, stub: StubEndpoint) -> None:
    wire.arm()
    wire.collect()
    assert (Path(stub._directory) / "server-stderr.txt").read_bytes() == b""
    Path(f"/proc/{stub.pid}").stat()


def test_files_are_closed_after_each_iteration(wire: Any, stub: StubEndpoint) -> None:
    open_before = len(list(Path(f"/proc/{stub.pid}/fd").iterdir()))
    for _ in range(5):
        wire.arm(wire.any_file("small"), wire.any_file("large"))
        with wire.connect() as client:
            client.send(wire.request("GET", "/b/k"))
            client.response()
        wire.collect()
    assert len(list(Path(f"/proc/{stub.pid}/fd").iterdir())) <= open_before
