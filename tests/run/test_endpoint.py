"""The emulator as a benchmark has it: how much it holds, and what it throws away."""

from collections.abc import Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from s3bench.errors import S3BenchError
from s3bench.run.endpoint import Emulated
from s3bench.s3.endpoint import EmulatorEndpoint
from s3bench.spec.definition import Definition, Environment, FixtureFile

SIZE_BYTES = 200_000
UPLOAD = ("s3", "cp", "object", "s3://bucket/up")
DOWNLOAD = ("s3", "cp", "s3://bucket/object", "landed")


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatorEndpoint]:
    with EmulatorEndpoint(directory=tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "object").write_bytes(bytes(range(250)) * (SIZE_BYTES // 250))
    return tmp_path


def arm(endpoint: Emulated, command: tuple[str, ...], workspace: Path) -> None:
    files = (FixtureFile(name="object", size_bytes=SIZE_BYTES),)
    endpoint.adapted(Definition(name="x", command=command, environment=Environment(files=files), responses=None))
    endpoint.arm((), workspace=workspace, verify=True)


def put_and_get(url: str, body: bytes) -> bytes:
    with urlopen(Request(f"{url}/bucket/up", data=body, method="PUT"), timeout=60) as answer:
        answer.read()
    with urlopen(f"{url}/bucket/up", timeout=60) as answer:
        return bytes(answer.read())


@pytest.mark.parametrize("discard", [True, False])
def test_uploads_are_thrown_away_only_where_that_is_asked_for(
    emulator: EmulatorEndpoint, workspace: Path, discard: bool
) -> None:
    endpoint = Emulated(emulator, network=None, discard_uploads=discard)
    arm(endpoint, UPLOAD, workspace)
    back = put_and_get(emulator.url, bytes(SIZE_BYTES))
    assert len(back) == SIZE_BYTES
    assert (back == bytes(SIZE_BYTES)) is not discard
    assert (emulator.drain(requests_max=0).counters.held_bytes < SIZE_BYTES) is discard


def test_an_upload_larger_than_the_memory_limit_fits_when_it_is_thrown_away(
    emulator: EmulatorEndpoint, workspace: Path
) -> None:
    arm(Emulated(emulator, network=None, memory_limit_bytes=100_000, discard_uploads=True), UPLOAD, workspace)
    assert len(put_and_get(emulator.url, bytes(SIZE_BYTES))) == SIZE_BYTES


def test_downloads_come_from_memory_in_any_case(emulator: EmulatorEndpoint, workspace: Path) -> None:
    arm(Emulated(emulator, network=None, discard_uploads=True), DOWNLOAD, workspace)
    with urlopen(f"{emulator.url}/bucket/object", timeout=60) as answer:
        assert answer.read() == (workspace / "object").read_bytes()
    assert emulator.drain(requests_max=0).counters.held_bytes > SIZE_BYTES  # from memory, with their checksums


def test_objects_to_download_have_to_fit_into_the_memory_limit(emulator: EmulatorEndpoint, workspace: Path) -> None:
    with pytest.raises(S3BenchError, match="cannot hold"):
        arm(Emulated(emulator, network=None, memory_limit_bytes=100_000), DOWNLOAD, workspace)
