"""The lines that `s3bench serve` prints to be copied, copied: into a shell, with the real clients."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from s3bench.clients.finding import find_client
from s3bench.clients.plan import parse_client_spec
from s3bench.clients.store import ClientStore
from tests.forkserver import ForkServer

LIMIT_S = 120.0
SECRET = "hush/hush+hush"


@pytest.fixture(scope="module")
def lines(
    request: pytest.FixtureRequest, fork_server: ForkServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    """The lines of a server that verifies signatures and has one bucket."""
    options = ["--bucket", "copied-lines", "--access-key", "AKIACOPIEDLINES", *(["--tls"] * (request.param == "https"))]
    workspaces = tmp_path_factory.mktemp("workspaces")
    variables = {**os.environ, "S3BENCH_SECRET_KEY": SECRET, "S3BENCH_TMPDIR": str(workspaces)}
    with fork_server.start(("serve", *options), cwd=workspaces, env=variables) as process:
        assert process.stdout.readline().startswith(f"{request.param}://".encode())
        found: dict[str, str] = {}
        while "s5cmd" not in found:  # the last one
            line = re.fullmatch(r"  ([\w-]+): +(.+)\n", process.stderr.readline().decode())
            if line is not None:
                found[line[1]] = line[2]
        try:
            yield found
        finally:
            os.kill(process.pid, signal.SIGTERM)
            said = process.stderr.read().decode()
            code = process.wait(LIMIT_S)
    assert code == 0
    assert SECRET not in said


https_and_http = pytest.mark.parametrize("lines", ["https", "http"], indirect=True)
https = pytest.mark.parametrize("lines", ["https", pytest.param("http", marks=pytest.mark.campaign)], indirect=True)
"""For clients that take a second to start: over HTTP, others have tried the lines of the shell by default."""


def run(lines: dict[str, str], line: str, home: Path, *path: Path) -> str:
    """What `line` prints in a shell that holds nothing but the first line's variables and the secret key."""
    finished = subprocess.run(
        ["sh", "-c", f"{lines['environment']}\n{line}"],
        env={
            "PATH": os.pathsep.join([*map(str, path), os.defpath]),
            "HOME": str(home),
            "S3BENCH_SECRET_KEY": SECRET,
            "NO_PROXY": "*",
        },
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


@https
@pytest.mark.usefixtures("aws_cli")
def test_aws_cli(lines: dict[str, str], tmp_path: Path) -> None:
    client = find_client(parse_client_spec("cli-crt"), ClientStore.from_environment(os.environ))
    assert "copied-lines" in run(lines, lines["aws-cli"], tmp_path, Path(client.executable).parent)


@https
def test_boto3(lines: dict[str, str], tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(f"import boto3\nprint({lines['boto3']}.list_buckets()['Buckets'])\n")
    assert "copied-lines" in run(lines, f"{sys.executable} {program}", tmp_path)


@https_and_http
def test_s5cmd(lines: dict[str, str], tmp_path: Path) -> None:
    client = find_client(parse_client_spec("s5cmd"), ClientStore.from_environment(os.environ))
    assert "copied-lines" in run(lines, lines["s5cmd"], tmp_path, Path(client.executable).parent)


@https_and_http
def test_rclone(lines: dict[str, str], tmp_path: Path) -> None:
    rclone = shutil.which("rclone")
    if rclone is None:
        pytest.skip("needs rclone")
    assert "copied-lines" in run(lines, lines["rclone"], tmp_path, Path(rclone).parent)
