"""`s3bench serve` as a process: its first line, its log, its end."""

import contextlib
import io
import json
import os
import pty
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import click
import pytest

from s3bench.cli.main import s3bench_command
from s3bench.errors import BadInput
from tests.cli.conftest import Here
from tests.forkserver import Forked, ForkServer

COMMAND = (sys.executable, "-c", "from s3bench.cli.main import main; main()", "serve")
LIMIT_S = 60.0

DEFINITIONS = [
    {
        "name": "one",
        "command": ["s3", "cp", "s3://bucket/key", "landed"],
        "environment": {"files": [{"name": "file", "size": 1000, "fill": "random"}]},
        "responses": [
            {"match": {"method": "GET", "path": "/bucket/key"}, "body": {"file": "file"}, "instances": 2},
        ],
    },
    {"name": "two", "command": ["s3", "ls"], "responses": []},
]


def fetch(
    url: str, *, method: str = "GET", body: bytes | None = None, headers: dict[str, str] | None = None, **options: Any
) -> tuple[int, bytes]:
    """Make a request: status and body."""
    request = urllib.request.Request(url, method=method, data=body, headers=headers or {})
    try:
        with urllib.request.urlopen(request, timeout=LIMIT_S, **options) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


class Serving:
    """A running `s3bench serve`, past its first line."""

    def __init__(self, command: Forked) -> None:
        self.pid = command.pid
        self.stdout, self.stderr = io.TextIOWrapper(command.stdout), io.TextIOWrapper(command.stderr)
        self.first = self.stdout.readline()
        self.url = json.loads(self.first)["url"] if self.first.startswith("{") else self.first.strip()
        self.code: int | None = None
        self._command = command

    def get(self, target: str, **options: Any) -> tuple[int, bytes]:
        return fetch(f"{self.url}{target}", **options)

    def wait(self) -> int:
        """Wait for its end; the exit code."""
        self.code = self._command.wait()
        return self.code

    def stop(self, how: signal.Signals = signal.SIGTERM) -> tuple[int, str, str]:
        """Stop it: exit code, the rest of stdout, and stderr."""
        os.kill(self.pid, how)
        err = self.stderr.read()
        return self.wait(), self.stdout.read(), err


Serve = Callable[..., AbstractContextManager[Serving]]


@pytest.fixture
def private(tmp_path: Path) -> dict[str, str]:
    workspaces = tmp_path / "workspaces"
    workspaces.mkdir()
    return {**os.environ, "S3BENCH_TMPDIR": str(workspaces)}


@pytest.fixture(scope="module")
def fork_server() -> Iterator[ForkServer]:
    with ForkServer(commands=("serve",)) as server:
        yield server


@pytest.fixture
def serve(fork_server: ForkServer, tmp_path: Path, private: dict[str, str]) -> Serve:
    @contextlib.contextmanager
    def start(*arguments: str, **variables: str) -> Iterator[Serving]:
        with fork_server.start(("serve", *arguments), cwd=tmp_path, env=private | variables) as command:
            serving = Serving(command)
            try:
                yield serving
            finally:
                if serving.code is None:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(serving.pid, signal.SIGKILL)
                    serving.wait()

    return start


@pytest.fixture
def refused(here: Here, tmp_path: Path, private: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Run it with arguments that are wrong; what it says."""
    monkeypatch.setenv("S3BENCH_TMPDIR", private["S3BENCH_TMPDIR"])

    def run(*arguments: str) -> str:
        finished = here("serve", *arguments, cwd=tmp_path)
        assert finished.returncode == 2, finished.stderr
        assert finished.stdout == ""
        assert "Traceback" not in finished.stderr
        assert list(Path(private["S3BENCH_TMPDIR"]).iterdir()) == []
        return finished.stderr

    return run


@pytest.fixture
def definitions(tmp_path: Path) -> str:
    path = tmp_path / "definitions.json"
    path.write_text(json.dumps(DEFINITIONS))
    return str(path)


class TestAnnouncing:
    def test_the_first_line_is_the_url_with_the_port_asked_for_and_connections_are_accepted_then(
        self, serve: Serve
    ) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        with serve("--port", str(port)) as serving:
            assert serving.first == f"http://127.0.0.1:{port}\n"
            assert serving.get("/")[0] in {200, 501}
            code, out, err = serving.stop()
        assert (code, out) == (0, "")
        assert "warning" not in err
        for client in ("environment", "aws-cli", "boto3", "s5cmd", "rclone"):
            assert f"  {client}:" in err
        assert err.count(serving.url) >= 6

    def test_json_tells_url_authority_and_processes(self, serve: Serve, private: dict[str, str]) -> None:
        with serve("--json", "--tls", "--log", "none") as serving:
            announced = json.loads(serving.first)
            assert announced["endpoint"] == "emulator"
            assert announced["host"] == "127.0.0.1"
            assert announced["url"] == f"https://127.0.0.1:{announced['port']}"
            assert announced["pid"] == serving.pid
            os.kill(announced["server_pid"], 0)
            context = ssl.create_default_context(cafile=announced["ca_bundle"])
            assert serving.get("/", context=context)[0] in {200, 501}
            code, _, err = serving.stop()
        assert code == 0
        assert not Path(f"/proc/{announced['server_pid']}").exists()
        assert f"AWS_CA_BUNDLE={announced['ca_bundle']}" in err
        assert list(Path(private["S3BENCH_TMPDIR"]).iterdir()) == []

    def test_an_address_that_others_can_reach_is_a_warning(self, serve: Serve) -> None:
        with serve("--host", "0.0.0.0") as serving:
            assert serving.url.startswith("http://127.0.0.1:")
            err = serving.stop()[2]
        assert "s3bench: warning: other machines can reach 0.0.0.0" in err
        assert "any credentials are accepted" in err


class TestEnding:
    def test_being_interrupted_is_a_good_end_with_totals(self, serve: Serve) -> None:
        with serve("--json") as serving:
            serving.get("/b/k", method="PUT", body=b"12345")
            server_pid = json.loads(serving.first)["server_pid"]
            code, _, err = serving.stop(signal.SIGINT)
        assert code == 0
        assert "1 requests on 1 connections, 5 B received" in err.splitlines()[-1]
        assert not Path(f"/proc/{server_pid}").exists()

    def test_neither_an_open_connection_nor_a_second_signal_changes_it(self, serve: Serve) -> None:
        with serve() as serving:
            port = int(serving.url.rpartition(":")[2])
            with socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S) as client:
                client.sendall(b"PUT /b/k HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf")
                os.kill(serving.pid, signal.SIGTERM)
                os.kill(serving.pid, signal.SIGINT)
                code, _, err = serving.stop()
        assert code == 0
        assert "Traceback" not in err
        assert "stopped after" in err.splitlines()[-1]

    def test_a_server_that_dies_is_the_machines_error(self, serve: Serve) -> None:
        with serve("--json") as serving:
            os.kill(json.loads(serving.first)["server_pid"], signal.SIGKILL)
            err = serving.stderr.read()
            assert serving.wait() == 4
        assert "the server ended with exit code -9" in err

    def test_a_reader_of_the_log_that_goes_away_is_no_reason_to_stop(self, serve: Serve) -> None:
        with serve() as serving:
            serving.get("/bucket/now")
            # Lines come while it runs: this ends with the process at the latest, and the test with its timeout.
            assert any("/bucket/now" in line for line in iter(serving.stderr.readline, ""))
            serving.stderr.close()
            serving.stdout.close()
            serving.get("/b/k")
            deadline_s = time.monotonic() + LIMIT_S
            while not Path(f"/proc/{serving.pid}/fd/2").samefile(os.devnull):
                assert time.monotonic() < deadline_s, "nothing was written to the pipe"
                time.sleep(0.01)
            assert serving.get("/b/k")[0]
            os.kill(serving.pid, signal.SIGTERM)
            assert serving.wait() == 0


class TestLog:
    def test_a_line_for_each_request_and_one_that_nothing_is_encrypted(self, serve: Serve) -> None:
        encrypted = {"x-amz-server-side-encryption": "aws:kms"}
        with serve("--bucket", "bucket") as serving:
            serving.get("/bucket/key", method="PUT", body=b"1234", headers=encrypted)
            serving.get("/bucket/key?X-Amz-Signature=5ecre7&X-Amz-Security-Token=5ecre7&versionId=1")
            serving.get("/bucket/key", method="PUT", headers=encrypted)
            err = serving.stop()[2]
        lines = [line for line in err.splitlines() if "/bucket/key" in line]
        assert len(lines) == 3
        assert "PUT    in 4 B" in lines[0]
        assert lines[1].endswith("?X-Amz-Signature=***&X-Amz-Security-Token=***&versionId=1")
        assert "5ecre7" not in err
        assert err.count("warning: nothing is encrypted") == err.count("encrypted") == 1

    def test_json_lines_are_all_there_is_on_stderr_and_no_request_is_lost_however_many_there_are(
        self, serve: Serve
    ) -> None:
        with serve("--log", "json") as serving:
            port = int(serving.url.rpartition(":")[2])
            err_lines: list[str] = []
            with socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S) as client:
                for start in range(0, 1400, 700):
                    client.sendall(
                        b"".join(b"HEAD /b/%d HTTP/1.1\r\nHost: x\r\n\r\n" % (start + i) for i in range(700))
                    )
                    err_lines += (serving.stderr.readline() for _ in range(700))
            with socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S) as client:
                client.sendall(b"nonsense\r\n\r\n")
                client.recv(1000)
            err_lines += serving.stop()[2].splitlines()
        *requests, fault, totals = [json.loads(line) for line in err_lines]
        assert [request["path"] for request in requests] == [f"/b/{number}" for number in range(1400)]
        assert {request["event"] for request in requests} == {"request"}
        assert (fault["event"], totals["event"], totals["requests"]) == ("fault", "totals", 1400)

    def test_the_totals_count_each_request_of_a_last_burst_once(self, serve: Serve) -> None:
        with serve("--json", "--log", "json") as serving:
            announced = json.loads(serving.first)
            os.kill(announced["pid"], signal.SIGSTOP)  # it reads no log while the server serves on
            with socket.create_connection((announced["host"], announced["port"]), timeout=LIMIT_S) as client:
                for start in range(0, 1400, 700):
                    client.sendall(
                        b"".join(b"HEAD /b/%d HTTP/1.1\r\nHost: x\r\n\r\n" % (start + i) for i in range(700))
                    )
                answers = bytearray()
                while answers.count(b"HTTP/1.1 ") < 1400:
                    answers += client.recv(1 << 20)
            os.kill(announced["pid"], signal.SIGTERM)
            os.kill(announced["pid"], signal.SIGCONT)
            *requests, totals = [json.loads(line) for line in serving.stderr.read().splitlines()]
            serving.wait()
        assert (len(requests), totals["event"], totals["requests"]) == (1400, "totals", 1400)

    def test_a_client_that_speaks_tls_to_a_plain_server_is_refused_at_once_and_told_of(self, serve: Serve) -> None:
        with serve() as serving:
            with pytest.raises(urllib.error.URLError, match="SSL"):
                fetch(serving.url.replace("http:", "https:"))
            err = serving.stop()[2]
        assert "s3bench: fault: connection 1: the client speaks TLS, the server plain HTTP" in err
        assert "start with --tls" in err

    def test_no_log_is_hints_warnings_and_totals(self, serve: Serve) -> None:
        with serve("--log", "none", "--bucket", "bucket") as serving:
            for _ in range(5):
                serving.get("/bucket/key", method="PUT", headers={"x-amz-server-side-encryption": "aws:kms"})
            err = serving.stop()[2]
        assert "/bucket/key" not in err
        assert err.count("warning: nothing is encrypted") == err.count("encrypted") == 1
        assert "5 requests" in err.splitlines()[-1]

    def test_the_secret_key_is_said_nowhere(self, serve: Serve) -> None:
        with serve("--access-key", "AK", "--json", S3BENCH_SECRET_KEY="hush-hush") as serving:
            pids = [json.loads(serving.first)[name] for name in ("pid", "server_pid")]
            assert not [pid for pid in pids if b"hush-hush" in Path(f"/proc/{pid}/cmdline").read_bytes()]
            _, out, err = serving.stop()
        assert "hush-hush" not in serving.first + out + err
        assert 'AWS_SECRET_ACCESS_KEY="$S3BENCH_SECRET_KEY"' in err


class TestDataDirectory:
    def test_links_are_not_served_and_reported_even_without_a_log(self, serve: Serve, tmp_path: Path) -> None:
        (tmp_path / "outside").mkdir()
        (tmp_path / "outside" / "secret").write_bytes(b"not to be served")
        (tmp_path / "data" / "bucket").mkdir(parents=True)
        (tmp_path / "data" / "bucket" / "file").write_bytes(b"served")
        (tmp_path / "data" / "x").symlink_to(tmp_path / "outside")
        (tmp_path / "data" / "bucket" / "x").symlink_to(tmp_path / "outside")
        with serve("--data-dir", "data", "--log", "none") as serving:
            assert serving.get("/bucket/file") == (200, b"served")
            assert [serving.get(target)[0] for target in ("/x/secret", "/bucket/x/secret")] == [404, 404]
            err = serving.stop()[2]
        assert "s3bench: warning: skipped x: symbolic links are not followed" in err
        assert "s3bench: warning: skipped bucket/x: symbolic links are not followed" in err


class TestTerminal:
    def test_counters_stand_below_the_log(self, tmp_path: Path, private: dict[str, str]) -> None:
        ours, theirs = pty.openpty()
        with (
            os.fdopen(ours, "rb", buffering=0) as terminal,
            subprocess.Popen(
                COMMAND, cwd=tmp_path, env=private | {"TERM": "xterm"}, stdout=subprocess.PIPE, stderr=theirs, text=True
            ) as process,
        ):
            os.close(theirs)
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            try:
                fetch(f"{url}/bucket/key")
                seen = b""
                while b"/bucket/key" not in seen or b"requests/s" not in seen:
                    seen += terminal.read(4096)
                process.send_signal(signal.SIGINT)
                with contextlib.suppress(OSError):  # EIO: the other end of the terminal is closed
                    while data := terminal.read(4096):
                        seen += data
                assert process.wait(LIMIT_S) == 0
            finally:
                process.kill()
        assert b"connections" in seen
        assert b"stopped after" in seen


class TestStub:
    def test_responses_are_served_and_those_left_over_reported(self, serve: Serve, definitions: str) -> None:
        with serve("--stub", definitions, "-k", "one", "--json") as serving:
            assert json.loads(serving.first)["endpoint"] == "stub"
            status, body = serving.get("/bucket/key")
            code, _, err = serving.stop()
        assert (code, status, len(body)) == (0, 200, 1000)
        assert "s3bench: leftover: responses[0] (match GET /bucket/key): 1 of 2 instances unused" in err

    def test_a_definition_must_be_selected(self, refused: Callable[..., str], definitions: str) -> None:
        said = refused("--stub", definitions)
        assert "2 definitions are selected" in said
        assert "  one\n" in said
        assert "  two\n" in said
        assert "-k" in said


class TestRefusing:
    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (("-k", "one"), "--stub"),
            (("--stub", "missing.json"), "missing.json"),
            (("--stub", "x", "--data-dir", "."), "--stub cannot be combined with --data-dir"),
            (("--stub", "x", "--network", "ec2:c5.large"), "--stub cannot be combined with --network"),
            (
                ("--data-dir", ".", "--discard", "--bucket", "b"),
                "--data-dir cannot be combined with --bucket, --discard",
            ),
            (("--data-dir", "missing"), "missing"),
            (("--bucket", "Upper"), "lower-case"),
            (("--access-key", "AK"), "S3BENCH_SECRET_KEY"),
            (("--secret-key", "S"), "--access-key"),
            (("--access-key", "", "--secret-key", ""), "--access-key is empty"),
            (("--access-key", "AK", "--secret-key", ""), "--secret-key is empty"),
            (("--memory-limit", "much"), "2GiB"),
            (("--memory-limit", "0"), 'is "0", which is not above 0'),
            (("--region", ""), "--region is empty"),
            (("--domain", " "), "--domain is empty"),
            (("--tls", "--domain", "x_y"), "no certificate for TLS can hold this host name or domain"),
            (("--network", "ec2:c5.lrge"), "ec2:c5.large"),
            (("--host", "no.such.host.invalid"), "no.such.host.invalid"),
            (("--host", ""), "--host"),
            (("--host", "192.0.2.1"), "not an address of this machine"),
            (("--port", "65536"), "65536"),
            (("--etag", "sha"), "'md5'"),
        ],
    )
    def test_wrong_options_start_nothing(
        self, arguments: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("S3BENCH_TMPDIR", str(tmp_path))
        monkeypatch.delenv("S3BENCH_SECRET_KEY", raising=False)
        with pytest.raises((BadInput, click.UsageError)) as raised:
            s3bench_command(["serve", *arguments], standalone_mode=False)
        assert said in str(raised.value)
        assert list(tmp_path.iterdir()) == []

    def test_a_port_that_is_taken_is_reported(self, refused: Callable[..., str]) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            said = refused("--port", str(port))
        assert f"cannot listen on 127.0.0.1 port {port}" in said
        assert "another program listens there" in said
