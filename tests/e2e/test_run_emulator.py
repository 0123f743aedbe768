"""`s3bench run --endpoint emulator`: real clients, no scripted responses, every byte compared."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.crt import crt_alone
from tests.e2e.conftest import MIB, Finished, download, starting, upload

Run = Callable[..., Finished]
Define = Callable[..., Path]

EMULATOR = ("--endpoint", "emulator", "--json")


def unscripted(definition: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {key: value for key, value in definition.items() if key != "responses"} | changes


def only(finished: Finished) -> dict[str, Any]:
    """The one result, which has no error."""
    (result,) = finished.results
    assert result["errors"] == []
    assert finished.code == 0, finished.err
    return result


@pytest.mark.parametrize(
    ("client", "tls", "iterations"),
    [
        ("s5cmd", (), 2),
        # TLS by s5cmd is in test_portable.py, and boto3 in a test below.
        pytest.param("boto3-classic", ("--tls",), 1, marks=pytest.mark.campaign),
    ],
)
def test_an_upload_and_a_download_need_no_responses(
    client: str, tls: tuple[str, ...], iterations: int, s3bench: Run, define: Define
) -> None:
    there = unscripted(upload(9 * MIB), clients=[client])
    back = unscripted(
        download(9 * MIB),
        clients=[client],
        command=["s3", "cp", "s3://bucket/remote", "landed", "--quiet"],
    )
    finished = s3bench("run", *EMULATOR, *tls, "-n", str(iterations), define(there, back))
    assert finished.code == 0, finished.out
    for result in finished.results:
        assert result["errors"] == []
        assert [measurement["iteration"] for measurement in result["measurements"]] == list(range(iterations))
    sent, received = (result["measurements"][-1]["wire"] for result in finished.results)
    assert sent["bytes_received"] >= 9 * MIB
    assert sent["checksums_verified"] > 0 or tls
    assert received["bytes_sent"] >= 9 * MIB
    assert finished.document["options"]["endpoint"] == "emulator"
    assert finished.document["options"]["network"] is None


def test_scripted_responses_tell_only_which_objects_there_are(s3bench: Run, define: Define) -> None:
    result = only(s3bench("run", *EMULATOR, define(download(MIB, clients=["s5cmd"]))))
    assert result["measurements"][0]["wire"]["bytes_sent"] == MIB


def test_every_iteration_begins_with_the_same_objects(s3bench: Run, define: Define) -> None:
    definition = {
        "name": "remove",
        "command": ["s3", "mv", "s3://bucket/dir", "landed", "--recursive", "--quiet"],
        "clients": ["s5cmd"],
        "environment": {"file_dirs": [{"name": "dir", "file_count": 3, "file_size": 1000, "fill": "random"}]},
    }
    result = only(s3bench("run", *EMULATOR, "-n", "3", define(definition)))
    kinds = [measurement["requests_by_kind"] for measurement in result["measurements"]]
    assert kinds[0] == kinds[1] == kinds[2]
    assert all(measurement["wire"]["bytes_sent"] >= 3000 for measurement in result["measurements"])


FORGETFUL = """#!/bin/bash
if [ "$1" = version ]; then echo v9.9.9; exit; fi
server=${2#http://}
exec 3<>"/dev/tcp/${server%:*}/${server#*:}"
printf 'GET /bucket/remote HTTP/1.1\\r\\nHost: s3\\r\\nUser-Agent: aws-sdk-go/1\\r\\nConnection: close\\r\\n\\r\\n' >&3
cat <&3 >/dev/null
"""
"""A client that downloads and keeps nothing."""


def test_an_object_that_did_not_land_is_missed(s3bench: Run, define: Define, tmp_path: Path) -> None:
    client = tmp_path / "s5cmd"
    client.write_text(FORGETFUL)
    client.chmod(0o755)
    definition = unscripted(
        download(MIB), clients=["s5cmd"], command=["s3", "cp", "s3://bucket/remote", "landed", "--quiet"]
    )
    finished = s3bench("run", *EMULATOR, "--client", f"s5cmd@{client}", define(definition))
    assert finished.code == 4
    assert finished.results[0]["measurements"] == []
    assert "/bucket/remote was served, but landed is not there" in finished.results[0]["errors"][0]["what"]


def test_what_is_not_there_is_the_clients_failure(s3bench: Run, define: Define) -> None:
    missing = unscripted(download(MIB), clients=["s5cmd"], command=["s3", "cp", "s3://bucket/nothing", "landed"])
    finished = s3bench("run", *EMULATOR, define(missing))
    assert finished.code == 4
    assert "exited 1" in finished.results[0]["errors"][0]["what"]


def test_another_service_is_told_to_use_the_stub(s3bench: Run, define: Define) -> None:
    other = starting(command=["secretsmanager", "list-secrets"], clients=["cli-classic"])
    finished = s3bench("run", *EMULATOR, define(other))
    assert finished.code == 4
    assert "is not run on the emulator" in str(finished.results[0]["errors"]) or "cli-classic" in finished.err


def configured(definition: dict[str, Any], name: str, block: str = "s3", **settings: str) -> dict[str, Any]:
    """`definition` under another name, with settings in a block of its config."""
    lines = "".join(f"  {key} = {value}\n" for key, value in settings.items())
    environment = definition["environment"] | {"config": f"[default]\n{block} =\n{lines}"}
    return definition | {"name": name, "environment": environment}


def test_boto3s_crt_obeys_its_settings_on_the_wire(s3bench: Run, define: Define) -> None:
    down = unscripted(
        download(12 * MIB), clients=["boto3-crt"], command=["s3", "cp", "s3://bucket/remote", "landed", "--quiet"]
    )
    up = unscripted(upload(9 * MIB), clients=["boto3-crt"])
    definitions = define(
        configured(down, "slow", multipart_chunksize="1MB", target_bandwidth="1Gb/s"),
        configured(down, "three", multipart_chunksize="1MB", max_concurrent_requests="3"),
        configured(up, "whole", multipart_threshold="16MB"),
    )
    with crt_alone("boto3-crt"):
        finished = s3bench("run", *EMULATOR, "--network", "ttfb=50ms,bandwidth=20MB/s", definitions)
    assert finished.code == 0, finished.err + finished.out
    slow, three, whole = (result["measurements"][0]["wire"] for result in finished.results)
    assert slow["requests"] == three["requests"] >= 12
    assert three["requests_in_flight_max"] == 3
    # aws-c-s3 expects 0.4 Gb/s of one connection and makes ten at the least; left to itself it makes all 12 requests.
    assert slow["requests_in_flight_max"] == 10
    assert whole["part_size_max"] == 9 * MIB


def test_s5cmd_obeys_its_own_block_and_aws_cli_leaves_it_alone(aws_cli: str, s3bench: Run, define: Define) -> None:
    there = unscripted(upload(16 * MIB), clients=["s5cmd", "cli-classic"])
    definition = configured(there, "upload", "s5cmd", part_size="6MB", concurrency="2", numworkers="3")
    aws = aws_cli.replace("cli-crt", "cli-classic")
    clients = ("--client", "s5cmd", "--client", aws)
    finished = s3bench("run", *EMULATOR, *clients, "--network", "ttfb=100ms", define(definition))
    assert finished.code == 0, finished.err + finished.out
    wires = {result["client"]["name"]: result["measurements"][0]["wire"] for result in finished.results}
    assert (wires["s5cmd"]["part_size_max"], wires["s5cmd"]["requests_in_flight_max"]) == (6 * MIB, 2)
    assert wires["cli-classic"]["part_size_max"] == 8 * MIB


class TestNetwork:
    def test_the_model_stands_in_the_document_and_what_it_achieved_in_the_measurement(
        self, s3bench: Run, define: Define
    ) -> None:
        definition = unscripted(upload(8 * MIB), clients=["s5cmd"])
        model = "ttfb=30ms,bandwidth=40MB/s,seed=7"
        finished = s3bench("run", *EMULATOR, "--network", model, define(definition))
        (measurement,) = only(finished)["measurements"]
        network = finished.document["options"]["network"]
        assert (network["text"], network["seed"]) == (model, 7)
        assert network["connection_bytes_per_s"] == 40e6
        assert "first byte after 30 ms" in network["description"]
        # 8 MiB at 40 MB/s, and 30 ms: nothing can be quicker, however slow the machine.
        assert measurement["total_time"] > 8 * MIB / 40e6 + 0.03
        first_byte = next(figure for figure in measurement["network"] if figure["name"] == "time to first byte, p50")
        assert first_byte["asked"] == pytest.approx(0.03)
        assert first_byte["achieved"] >= 0.03

    def test_faults_that_were_asked_for_are_no_errors_of_the_iteration(self, s3bench: Run, define: Define) -> None:
        # Of twenty files some are cut whatever is drawn (0.8 ** 20 is 1 %), and none eight times in a row.
        definition = {
            "name": "upload",
            "command": ["s3", "cp", "dir", "s3://bucket/p", "--recursive", "--quiet"],
            "clients": ["boto3-classic"],
            "environment": {
                "file_dirs": [{"name": "dir", "file_count": 20, "file_size": 3000, "fill": "random"}],
                "config": "[default]\nretry_mode = standard\nmax_attempts = 8",
            },
        }
        finished = s3bench("run", *EMULATOR, "--network", "resets=0.2,seed=1", define(definition))
        (measurement,) = only(finished)["measurements"]
        assert measurement["wire"]["retries"] == measurement["wire"]["requests"] - 20 > 0

    def test_a_file_of_samples_stands_in_the_document_as_its_quantiles(
        self, s3bench: Run, define: Define, tmp_path: Path
    ) -> None:
        samples = tmp_path / "samples.txt"
        samples.write_text("1ms\n2ms\n3ms\n")
        definition = unscripted(upload(1000), clients=["s5cmd"])
        finished = s3bench("run", *EMULATOR, "--network", f"ttfb=samples:{samples}", define(definition))
        network = finished.document["options"]["network"]
        assert (network["ttfb_samples"], network["ttfb_p50_s"]) == (3, 0.002)
        assert "ttfb_samples_s" not in network


def test_a_real_client_moves_files_like_those_of_a_folder_both_ways(
    s3bench: Run, define: Define, tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for number, size in enumerate((0, 100, 100, 5000, 9 * MIB)):
        (folder / str(number)).write_bytes(bytes(size))
    (tmp_path / "sizes.json").write_text(s3bench("describe", folder).out)
    environment = {"like": {"sizes": "sizes.json", "files_max": 4}}
    there = ["s3", "cp", "files", "s3://bucket/files", "--recursive"]
    back = ["s3", "cp", "s3://bucket/files", "landed", "--recursive"]
    file = define(
        *(
            {"name": name, "command": command, "clients": ["s5cmd"], "environment": environment}
            for name, command in (("up", there), ("down", back))
        )
    )
    finished = s3bench("run", *EMULATOR, "-n", "1", file)
    assert finished.code == 0, finished.err
    assert [result["errors"] for result in finished.results] == [[], []]
    up, _ = finished.results
    assert any("a sample of 4 of 5 files" in line for line in finished.document["warnings"])
    [identity] = [value for each in up["dimensions"] for key, value in each.items() if key == "FileSizes"]
    assert identity.startswith("4 files ")
