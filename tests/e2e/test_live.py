"""A real S3 as endpoint: works, and leaves the bucket as it was."""

import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from tests.e2e.conftest import MIB, Finished, download, starting, upload
from tests.e2e.servers import BUILD_S, KEYS, versitygw_program

_START_S = 20.0

pytestmark = pytest.mark.timeout(BUILD_S + 60)


@pytest.fixture(scope="session")
def versitygw() -> str:
    """The real server's binary; skipped where it cannot be had."""
    return versitygw_program()


@pytest.fixture
def live(versitygw: str, tmp_path: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    data = tmp_path / "data"
    data.mkdir()
    environment.update(KEYS)
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    command = [versitygw, "--port", f"127.0.0.1:{port}", "--keep-alive", "posix", str(data)]
    keys = {"ROOT_ACCESS_KEY": KEYS["AWS_ACCESS_KEY_ID"], "ROOT_SECRET_KEY": KEYS["AWS_SECRET_ACCESS_KEY"]}
    server = subprocess.Popen(command, env={**os.environ, **keys}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + _START_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert time.monotonic() < deadline, "versitygw did not start"
        client = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{port}", region_name="us-east-1")
        client.create_bucket(Bucket="precious")
        client.put_object(Bucket="precious", Key="mine", Body=b"mine")
        client.put_object(Bucket="precious", Key="s3bench/other", Body=b"another run's")
        yield client
        client.close()
    finally:
        server.kill()
        server.wait()


def keys_of(client: Any) -> list[str]:
    return [item["Key"] for item in client.list_objects_v2(Bucket="precious").get("Contents", ())]


@pytest.mark.parametrize("client", ["boto3-classic", "s5cmd"])
def test_transfers_run_under_our_prefix_and_the_bucket_stays_as_it_was(
    s3bench: Callable[..., Finished], define: Callable[..., Path], live: Any, client: str
) -> None:
    definitions = define(upload(9 * MIB, clients=[client]), download(9 * MIB, clients=[client]))
    url = live.meta.endpoint_url
    finished = s3bench("run", "-n", "2", "--endpoint-url", url, "--bucket", "precious", definitions)
    assert finished.code == 0, finished.err + finished.out
    assert [len(result["measurements"]) for result in finished.results] == [2, 2]
    assert keys_of(live) == ["mine", "s3bench/other"]
    assert KEYS["AWS_SECRET_ACCESS_KEY"] not in finished.out + finished.err


@pytest.mark.usefixtures("aws_cli")
def test_a_command_that_would_act_outside_our_prefix_is_not_run(
    s3bench: Callable[..., Finished], define: Callable[..., Path], live: Any
) -> None:
    finished = s3bench("run", "--endpoint-url", live.meta.endpoint_url, "--bucket", "precious", define(starting()))
    assert finished.code == 4
    assert "is not run on a live endpoint" in finished.results[0]["errors"][0]["what"]


def test_a_bucket_that_is_not_there_is_bad_input(
    s3bench: Callable[..., Finished], define: Callable[..., Path], live: Any
) -> None:
    definitions = define(upload(1, clients=["boto3-classic"]))
    finished = s3bench("run", "--endpoint-url", live.meta.endpoint_url, "--bucket", "nowhere", definitions)
    assert finished.code == 2
    assert "nowhere" in finished.err
