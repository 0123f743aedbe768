"""The real clients against the real stub: the engine is what was asked for, and every byte arrives."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.conftest import MIB, Finished, download, upload

CLIENTS = ("cli-classic", "cli-crt", "boto3-classic", "boto3-crt", "crt-python", "s5cmd")
ENGINES = {"cli-classic": "python", "boto3-classic": "python", "s5cmd": "go"}
SIZE_BYTES = 32 * MIB

Run = Callable[..., Finished]
Define = Callable[..., Path]


@pytest.mark.usefixtures("aws_cli")
@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
@pytest.mark.parametrize("client", CLIENTS)
class TestEveryClient:
    def test_uploads_every_byte_by_the_engine_it_claims(
        self, s3bench: Run, define: Define, client: str, *, tls: bool
    ) -> None:
        finished = s3bench("run", define(upload(SIZE_BYTES, clients=[client])), *["--tls"] * tls)
        assert finished.code == 0, finished.err + finished.out
        (measurement,) = finished.results[0]["measurements"]
        assert measurement["engine"] == ENGINES.get(client, "crt")
        assert measurement["wire"]["bytes_received"] >= SIZE_BYTES
        assert client == "crt-python" or measurement["wire"]["checksums_verified"] > 0

    def test_downloads_what_was_served(self, s3bench: Run, define: Define, client: str, *, tls: bool) -> None:
        finished = s3bench("run", define(download(SIZE_BYTES, clients=[client])), *["--tls"] * tls)
        assert finished.code == 0, finished.err + finished.out
        (measurement,) = finished.results[0]["measurements"]
        assert measurement["engine"] == ENGINES.get(client, "crt")
        assert measurement["wire"]["bytes_sent"] == SIZE_BYTES


@pytest.mark.usefixtures("aws_cli")
def test_a_server_that_ignores_ranges_corrupts_the_file_and_that_is_an_error(s3bench: Run, define: Define) -> None:
    # Without `match` a file body is sent whole, whatever range was asked for; aws-cli exits 0 all the same.
    whole = {"body": {"file": "remote"}, "instances": 4}
    head = {"headers": {"Content-Length": str(SIZE_BYTES), "ETag": '"1"'}}
    finished = s3bench("run", define(download(SIZE_BYTES, clients=["cli-classic"], responses=[head, whole])))
    assert finished.code == 4
    assert finished.results[0]["measurements"] == []
    assert "differs from what was served" in finished.results[0]["errors"][0]["what"]


def test_boto3_that_silently_runs_classic_in_place_of_crt_is_an_error(s3bench: Run, define: Define) -> None:
    awscrt_s3 = pytest.importorskip("awscrt.s3")
    with awscrt_s3.CrossProcessLock("boto3"):
        finished = s3bench("run", define(upload(SIZE_BYTES, clients=["boto3-crt"])))
    assert finished.code == 4
    assert "the wire shows engine `python` where `crt` was asked for" in finished.results[0]["errors"][0]["what"]
