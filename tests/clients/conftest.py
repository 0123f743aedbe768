"""Stand-ins for clients: directories and scripts that look like the programs that `finding` knows."""

from collections.abc import Callable
from pathlib import Path

import pytest

from s3bench.clients.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


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
def with_aws_cli(store: Store) -> Callable[[str], Path]:
    """An aws-cli v2 of the given version in the store."""

    def add(version: str) -> Path:
        place = store.place("aws-cli", version)
        place.mkdir(parents=True)
        (place / "aws").write_text("#!/bin/sh\n")
        (place / "aws").chmod(0o755)
        return place / "aws"

    return add
