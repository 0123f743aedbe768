"""The lines that people copy: whole, quoted for the shell, without the secret."""

import os
import shlex
import subprocess
from pathlib import Path

from s3bench.clients.environment import ServerAddress
from s3bench.clients.pointing import pointing_lines

URL = "http://127.0.0.1:9000"


def exported(target: ServerAddress, **environment: str) -> dict[str, str]:
    """What a shell exports by the first line."""
    line = dict(pointing_lines(target))["environment"]
    finished = subprocess.run(
        ["sh", "-c", f"{line}; env -0"], env={"PATH": os.defpath, **environment}, capture_output=True, check=True
    )
    return dict(item.split("=", 1) for item in finished.stdout.decode().split("\0") if item)


def test_a_shell_takes_url_region_and_any_keys_from_the_first_line() -> None:
    variables = exported(ServerAddress(url=URL))
    assert variables["AWS_ENDPOINT_URL"] == URL
    assert variables["AWS_REGION"] == "us-east-1"
    assert variables["AWS_ACCESS_KEY_ID"]
    assert variables["AWS_SECRET_ACCESS_KEY"]
    assert "AWS_CA_BUNDLE" not in variables


def test_the_secret_key_stays_in_its_variable() -> None:
    target = ServerAddress(url=URL, access_key="AK IA")
    assert "hush" not in str(pointing_lines(target))
    variables = exported(target, S3BENCH_SECRET_KEY="hush hush")
    assert variables["AWS_ACCESS_KEY_ID"] == "AK IA"
    assert variables["AWS_SECRET_ACCESS_KEY"] == "hush hush"


def test_every_client_is_told_which_authority_to_trust() -> None:
    bundle = Path("/tmp/a directory/ca.pem")
    lines = dict(pointing_lines(ServerAddress(url="https://127.0.0.1:1", ca_bundle=bundle)))
    for client, line in lines.items():
        assert any(str(bundle) in word for word in shlex.split(line.replace("('", "(")) or [line]), client
    variables = exported(ServerAddress(url=URL, ca_bundle=bundle))
    assert variables["AWS_CA_BUNDLE"] == variables["SSL_CERT_FILE"] == str(bundle)


def test_each_client_stands_there_once() -> None:
    assert [name for name, _ in pointing_lines(ServerAddress(url=URL))] == [
        "environment",
        "aws-cli",
        "boto3",
        "rclone",
        "s5cmd",
    ]
    assert all(URL in line for _, line in pointing_lines(ServerAddress(url=URL)))


def test_the_region_is_quoted() -> None:
    assert exported(ServerAddress(url=URL, region="a b; c"))["AWS_REGION"] == "a b; c"
