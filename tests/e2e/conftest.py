"""What the end-to-end tests share: the real command line in a private place, and definitions for it."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from s3bench.clients.finding import find_client
from s3bench.clients.installing import by_line, install
from s3bench.clients.store import Store
from s3bench.errors import S3BenchError
from s3bench.spec.plan import parse_client_spec

COMMAND = (sys.executable, "-c", "from s3bench.cli.main import main; main()")
MIB = 1 << 20

Definition = dict[str, Any]


class Finished:
    """A finished `s3bench`: exit code, what it said, and its results document if it wrote one."""

    def __init__(self, process: "subprocess.CompletedProcess[bytes]") -> None:
        self.code = process.returncode
        self.out = process.stdout.decode()
        self.err = process.stderr.decode()

    @property
    def document(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.out)
        return document

    @property
    def results(self) -> list[dict[str, Any]]:
        results: list[dict[str, Any]] = self.document["results"]
        return results


@pytest.fixture(scope="session")
def aws_cli() -> str:
    """An aws-cli v2 in the store, fetched on first use; the tests that need one are skipped where it cannot be had."""
    store = Store.from_environment(os.environ)
    try:
        return find_client(parse_client_spec("cli-crt"), store).label
    except S3BenchError:
        pass
    try:
        return install("aws-cli", store, by_line(print)).label
    except S3BenchError as error:
        pytest.skip(f"needs aws-cli v2, which could not be installed: {error}")


@pytest.fixture
def workspaces(tmp_path: Path) -> Path:
    path = tmp_path / "workspaces"
    path.mkdir()
    return path


@pytest.fixture
def environment(workspaces: Path) -> dict[str, str]:
    return {**os.environ, "S3BENCH_TMPDIR": str(workspaces)}


@pytest.fixture
def s3bench(environment: dict[str, str], tmp_path: Path) -> Callable[..., Finished]:
    """Run s3bench with the arguments, in a directory of its own."""

    def run(*arguments: str | Path, timeout_s: float = 55) -> Finished:
        process = subprocess.run(
            (*COMMAND, *map(str, arguments)),
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
        return Finished(process)

    return run


@pytest.fixture
def define(tmp_path: Path) -> Callable[..., Path]:
    """Write definitions to a file."""

    def write(*definitions: Definition) -> Path:
        path = tmp_path / "definitions.json"
        path.write_text(json.dumps(definitions))
        return path

    return write


def upload(size_bytes: int, **changes: Any) -> Definition:
    return {
        "name": "upload",
        "command": ["s3", "cp", "file", "s3://bucket/key", "--quiet"],
        "environment": {"files": [{"name": "file", "size": size_bytes, "fill": "random"}]},
        "responses": [
            {"match": {"method": "PUT", "path": "/bucket/key"}, "instances": "any"},
            {
                "match": {"method": "POST", "path": "/bucket/key", "query": {"uploads": ""}},
                "body": "<InitiateMultipartUploadResult><UploadId>upload</UploadId></InitiateMultipartUploadResult>",
                "instances": "any",
            },
            {
                "match": {"method": "POST", "path": "/bucket/key", "query": {"uploadId": "upload"}},
                "body": '<CompleteMultipartUploadResult><ETag>"1"</ETag></CompleteMultipartUploadResult>',
                "instances": "any",
            },
        ],
        **changes,
    }


def download(size_bytes: int, **changes: Any) -> Definition:
    return {
        "name": "download",
        "command": ["s3", "cp", "s3://bucket/key", "landed", "--quiet"],
        "environment": {"files": [{"name": "remote", "size": size_bytes, "fill": "random"}]},
        "responses": [
            {"match": {"method": "HEAD", "path": "/bucket/key"}, "body": {"file": "remote"}, "instances": "any"},
            {"match": {"method": "GET", "path": "/bucket/key"}, "body": {"file": "remote"}, "instances": "any"},
        ],
        **changes,
    }


def starting(name: str = "start", **changes: Any) -> Definition:
    """The quickest benchmark there is: no request at all."""
    return {"name": name, "command": ["--version"], "responses": [], **changes}
