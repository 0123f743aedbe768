"""The real clients against the real stub: the engine is what was asked for, and every byte arrives."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.crt import crt_alone
from tests.e2e.conftest import MIB, Finished, Place, download, upload

CLIENTS = ("cli-classic", "cli-crt", "boto3-classic", "crt-python", "s5cmd", "boto3-crt")  # the last one runs alone
ENGINES = {"cli-classic": "python", "boto3-classic": "python", "s5cmd": "go"}
SIZE_BYTES = 20 * MIB

Run = Callable[..., Finished]
Define = Callable[..., Path]


Measured = Callable[[str, str], dict[str, Any]]


@pytest.fixture(
    scope="module",
    params=[pytest.param((), id="http", marks=pytest.mark.campaign), pytest.param(("--tls",), id="https")],
)
def measured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """What one run of most clients and one of the last measured, by benchmark and client."""
    request.getfixturevalue("aws_cli")
    place = Place(tmp_path_factory.mktemp("clients"))
    by_name = {}
    for clients in (CLIENTS[:-1], CLIENTS[-1:]):
        definitions = (upload(SIZE_BYTES, clients=list(clients)), download(SIZE_BYTES, clients=list(clients)))
        with crt_alone(*clients):
            finished = place.s3bench("run", place.define(*definitions), *request.param)
        assert finished.code == 0, finished.err + finished.out
        by_name |= {(each["name"], each["client"]["name"]): each["measurements"] for each in finished.results}

    def of(name: str, client: str) -> dict[str, Any]:
        (measurement,) = by_name[name, client]
        return dict(measurement)

    return of


@pytest.mark.parametrize("client", CLIENTS)
class TestEveryClient:
    def test_uploads_every_byte_by_the_engine_it_claims(self, measured: Measured, client: str) -> None:
        measurement = measured("upload", client)
        assert measurement["engine"] == ENGINES.get(client, "crt")
        assert measurement["wire"]["bytes_received"] >= SIZE_BYTES
        assert client == "crt-python" or measurement["wire"]["checksums_verified"] > 0

    def test_downloads_what_was_served(self, measured: Measured, client: str) -> None:
        measurement = measured("download", client)
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
    with crt_alone("boto3-crt"), awscrt_s3.CrossProcessLock("boto3"):
        finished = s3bench("run", define(upload(SIZE_BYTES, clients=["boto3-crt"])))
    assert finished.code == 4
    assert "the wire shows engine `python` where `crt` was asked for" in finished.results[0]["errors"][0]["what"]
