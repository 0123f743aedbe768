"""Files that are there from the start: read once for all iterations, and again when anybody touched them."""

import os
from pathlib import Path

import pytest

from s3bench.s3.emulator.content import pieces_of
from s3bench.s3.emulator.handler import Emulator
from s3bench.s3.emulator.loading import Loaded
from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.refusal import S3Refusal

LIMIT = EmulatorSettings(memory_limit_bytes=1_000_000)


@pytest.fixture(params=[1000, 100_000], ids=["small", "large"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "object"
    path.write_bytes(os.urandom(request.param))
    return path


def loaded(file: Path, before: dict[Path, Loaded] | None = None) -> Emulator:
    emulator = Emulator(LIMIT, before=before)
    emulator.load("bucket", "key", file)
    return emulator


def bytes_of(emulator: Emulator, file: Path) -> bytes:
    content = emulator.loaded[file].content
    return b"".join(pieces_of(content, 0, content.size_bytes))


def test_a_file_that_nobody_touched_is_not_read_again(file: Path) -> None:
    first = loaded(file)
    content, held_bytes = first.loaded[file].content, first.held_bytes
    second = loaded(file, before=first.loaded)
    assert second.loaded[file].content is content
    assert second.held_bytes == held_bytes
    assert second.objects == 1
    del first
    assert bytes_of(second, file) == file.read_bytes()


def test_a_file_written_to_is_read_again_though_its_size_and_time_are_the_old_ones(file: Path) -> None:
    first = loaded(file)
    facts, changed = file.stat(), file.read_bytes()[::-1]
    with file.open("r+b") as opened:
        opened.write(changed)
    os.utime(file, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert bytes_of(loaded(file, before=first.loaded), file) == changed


def test_a_file_replaced_by_another_is_read_again(file: Path, tmp_path: Path) -> None:
    first = loaded(file)
    other = tmp_path / "other"
    other.write_bytes(file.read_bytes()[::-1])
    other.replace(file)
    assert bytes_of(loaded(file, before=first.loaded), file) == file.read_bytes()


def test_what_was_loaded_before_counts_against_the_memory_limit(tmp_path: Path) -> None:
    file = tmp_path / "object"
    file.write_bytes(bytes(600_000))
    first = loaded(file)
    second = loaded(file, before=first.loaded)
    (tmp_path / "more").write_bytes(bytes(600_000))
    with pytest.raises(S3Refusal, match="memory limit"):
        second.load("bucket", "more", tmp_path / "more")


def test_one_file_behind_several_keys_is_held_once(file: Path) -> None:
    emulator = loaded(file)
    once = emulator.held_bytes
    emulator.load("bucket", "again", file)
    assert emulator.objects == 2
    assert emulator.held_bytes - once < file.stat().st_size + 2000
