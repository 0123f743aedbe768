"""`run`, `serve`, `compare` and `gate` on nothing that only Linux has."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config

from tests.e2e.conftest import MIB, Finished, download, upload
from tests.forkserver import ForkServer

Run = Callable[..., Finished]
Define = Callable[..., Path]

LIMIT_S = 120.0


PORTABLE = {"S3BENCH_PORTABLE": "1"}


@pytest.fixture(scope="module")
def fork_server() -> Iterator[ForkServer]:
    with ForkServer(PORTABLE, commands=("run", "gate", "compare", "serve")) as server:
        yield server


@pytest.fixture
def environment(environment: dict[str, str]) -> dict[str, str]:
    return environment | PORTABLE


def test_run_measures_every_byte_and_warns_of_what_it_cannot_tell(s3bench: Run, define: Define, tmp_path: Path) -> None:
    definitions = define(upload(MIB, clients=["s5cmd", "boto3-classic"]), download(MIB, clients=["s5cmd"]))
    finished = s3bench("run", "-n", "1", "--json", definitions)
    assert finished.code == 0, finished.err
    assert any("the Linux kernel's own accounts" in warning for warning in finished.document["warnings"])
    for result in finished.results:
        assert result["errors"] == []
        for measurement in result["measurements"]:
            assert measurement["total_time"] > 0
            # The kernel divides a short time into user and system time by ticks, so one of them may be 0.
            assert measurement["user_cpu_time"] + measurement["system_cpu_time"] > 0
            assert measurement["max_memory"] > 4 * MIB
            wire = measurement["wire"]
            assert max(wire["bytes_received"], wire["bytes_sent"]) >= MIB

    document = tmp_path / "a.json"
    document.write_text(finished.out)
    compared = s3bench("compare", document, document)
    assert compared.code == 0, compared.err
    assert compared.out.startswith("no difference")


def test_the_emulator_keeps_to_its_network_model(s3bench: Run, define: Define) -> None:
    changes: dict[str, Any] = {"clients": ["s5cmd"]}
    definitions = define(upload(2 * MIB, **changes), download(2 * MIB, **changes))
    model = "ttfb=20ms,bandwidth=12MB/s"
    finished = s3bench("run", "--endpoint", "emulator", "--network", model, "--tls", "--json", definitions)
    assert finished.code == 0, finished.err
    for result in finished.results:
        assert result["errors"] == []
        assert result["measurements"][0]["total_time"] > 2 * MIB / 12e6 + 0.02


def test_serve_stores_deletes_and_sends_objects_until_it_is_told_to_end(
    fork_server: ForkServer, environment: dict[str, str], tmp_path: Path
) -> None:
    with fork_server.start(("serve", "--bucket", "data"), cwd=tmp_path, env=environment) as process:
        client = boto3.client(
            "s3",
            endpoint_url=process.stdout.readline().decode().strip(),
            region_name="us-east-1",
            aws_access_key_id="a",
            aws_secret_access_key="b",
            config=Config(s3={"addressing_style": "path"}, proxies={}),
        )
        contents = {f"key-{index}": os.urandom(MIB) for index in range(3)}
        for key, content in contents.items():
            client.put_object(Bucket="data", Key=key, Body=content)
            client.put_object(Bucket="data", Key="gone", Body=content)
            client.delete_object(Bucket="data", Key="gone")
        for key, content in contents.items():
            assert client.get_object(Bucket="data", Key=key)["Body"].read() == content
        client.close()
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(LIMIT_S) == 0


def test_gate_compares_a_client_with_itself(s3bench: Run, define: Define) -> None:
    finished = s3bench(
        "gate", "--baseline", "s5cmd", "--candidate", "s5cmd", "--pairs", "4", "--false-alarm", "0.2", "--seed", "1",
        "--no-exact", "--json", define(upload(4096, clients=["s5cmd"])),
    )  # fmt: skip
    record = json.loads(finished.out)
    assert len(record["cells"][0]["pairs"]) == 4
    assert not record["cells"][0]["failures"]
    assert finished.code in {0, 3, 4}, finished.err


def test_load_says_that_it_needs_linux(s3bench: Run) -> None:
    finished = s3bench("load")
    assert finished.code == 2
    assert "needs Linux" in finished.err
