"""The page cache: a file that is reread comes from the disk, every byte of it, and is not changed."""

import os
from pathlib import Path

import pytest

from s3bench.clients.client import FoundClient
from s3bench.clients.identity import program_files
from s3bench.clients.pagecache import reread
from s3bench.errors import MachineError

SIZE = 3 << 20
CONTENT = bytes(range(256)) * (SIZE // 256)


def drop(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def bytes_from_disk() -> int:
    """What this process had the kernel fetch from disks so far."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("read_bytes:"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file on a disk that can be dropped from the cache."""
    path = tmp_path / "program"
    path.write_bytes(CONTENT)
    drop(path)
    before = bytes_from_disk()
    path.read_bytes()
    if bytes_from_disk() == before:
        pytest.skip("the file system of temporary files keeps them in memory")
    drop(path)
    return path


@pytest.mark.parametrize("cached", [True, False])
def test_a_file_is_read_from_the_disk_whether_it_was_in_the_cache_or_not(file: Path, *, cached: bool) -> None:
    if cached:
        file.read_bytes()
    before = bytes_from_disk()
    reread([file])
    assert bytes_from_disk() - before >= SIZE


def test_what_is_not_on_the_disk_yet_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "program"
    path.write_bytes(CONTENT)
    reread([path])
    assert path.read_bytes() == CONTENT


def test_a_file_that_is_gone_is_an_error_in_words(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match=r"cannot read a client's program"):
        reread([tmp_path / "gone"])


def test_the_files_of_a_frozen_program_are_all_that_lie_beside_it(tmp_path: Path) -> None:
    for name in ("aws", "base_library.zip", "awscli/cli.json", ".s3bench-origin.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"\x7fELF")
    client = FoundClient(kind="cli-crt", version="2.38.5", executable=tmp_path / "aws")
    found = {str(path.relative_to(tmp_path)) for path in program_files(client)}
    assert found == {"aws", "base_library.zip", "awscli/cli.json"}
