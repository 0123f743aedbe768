"""Files that are there from the start: read once for all iterations, and again when anybody touched them."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from s3bench.errors import BadInput
from s3bench.s3.emulator.content import pieces_of
from s3bench.s3.emulator.handler import Emulator
from s3bench.s3.emulator.loading import Loaded
from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.protocol.s3_error import S3Error
from tests.s3.emulator.asking import Asker

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
    with pytest.raises(S3Error, match="memory limit"):
        second.load("bucket", "more", tmp_path / "more")


def test_one_file_behind_several_keys_is_held_once(file: Path) -> None:
    emulator = loaded(file)
    once = emulator.held_bytes
    emulator.load("bucket", "again", file)
    assert emulator.objects == 2
    assert emulator.held_bytes - once < file.stat().st_size + 2000


SECRET = b"not to be served"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A directory beside the one that is served."""
    directory = tmp_path / "outside"
    directory.mkdir()
    (directory / "file").write_bytes(SECRET)
    return directory


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A directory to be served: a bucket with the keys `file` and `deep/er/file`."""
    directory = tmp_path / "data"
    (directory / "bucket" / "deep" / "er").mkdir(parents=True)
    (directory / "bucket" / "file").write_bytes(b"file")
    (directory / "bucket" / "deep" / "er" / "file").write_bytes(b"deep file")
    return directory


def serving(data: Path) -> Asker:
    return Asker(data_dir=str(data), buckets=())


def keys(asker: Asker) -> list[str]:
    return asker.ask("GET").texts("Contents/Key")


def test_the_files_of_a_directory_are_objects(data: Path) -> None:
    asker = serving(data)
    assert keys(asker) == ["deep/er/file", "file"]
    assert asker.ask("GET", "deep/er/file").body == b"deep file"
    assert asker.emulator.warnings == ()


@pytest.mark.parametrize("place", ["link", "deep/link", "deep/er/link"])
@pytest.mark.parametrize(
    "target", ["../outside", "../outside/file", "/etc", "/dev/zero", "nowhere", ".", "bucket/file"]
)
def test_links_are_skipped_with_a_warning_that_names_them(data: Path, outside: Path, place: str, target: str) -> None:
    del outside
    absolute = target if target.startswith("/") else data / target
    (data / "bucket" / place).symlink_to(absolute)
    asker = serving(data)
    assert keys(asker) == ["deep/er/file", "file"]
    assert asker.emulator.warnings == (f"skipped bucket/{place}: symbolic links are not followed",)
    for key in (place, f"{place}/file", f"{place}/hostname"):
        assert asker.ask("GET", key).status == 404


def test_a_bucket_that_is_a_link_is_skipped(data: Path, outside: Path) -> None:
    (data / "etc").symlink_to(outside)
    asker = serving(data)
    assert asker.ask("GET", bucket="etc").code == "NoSuchBucket"
    assert asker.emulator.warnings == ("skipped etc: symbolic links are not followed",)


def test_a_directory_named_through_a_link_is_served(data: Path, tmp_path: Path) -> None:
    (tmp_path / "chosen").symlink_to(data)
    assert serving(tmp_path / "chosen").ask("GET", "file").body == b"file"


def test_pipes_sockets_and_names_that_are_not_utf_8_are_skipped(data: Path) -> None:
    os.mkfifo(data / "bucket" / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(data / "bucket" / "socket"))
        (data / "bucket" / os.fsdecode(b"caf\xe9")).write_bytes(b"")
        (data / os.fsdecode(b"\x1b]0;\xff")).mkdir()
        asker = serving(data)
    assert keys(asker) == ["deep/er/file", "file"]
    assert sorted(asker.emulator.warnings) == [
        "skipped \\x1b]0;\\\\xff: its name is not UTF-8",
        "skipped bucket/caf\\xe9: its name is not UTF-8",
        "skipped bucket/pipe: it is neither a file nor a directory",
        "skipped bucket/socket: it is neither a file nor a directory",
    ]


def test_a_path_too_long_for_a_key_is_skipped(data: Path) -> None:
    at = data / "bucket"
    for _ in range(4):
        at /= "d" * 250
        at.mkdir()
    (at / ("f" * 20)).write_bytes(b"")
    (at / ("f" * 21)).write_bytes(b"")
    asker = serving(data)
    assert len(keys(asker)) == 3
    assert [warning.endswith(": its key would be longer than 1,024 bytes") for warning in asker.emulator.warnings] == [
        True
    ]


def test_many_warnings_are_counted_and_not_listed(data: Path) -> None:
    for number in range(250):
        (data / "bucket" / f"link-{number}").symlink_to("file")
    warnings = serving(data).emulator.warnings
    assert len(warnings) == 101
    assert warnings[-1] == "and 150 more were skipped"


def replace_directory(data: Path, outside: Path) -> None:
    (data / "bucket" / "deep" / "er").rename(data / "elsewhere")
    (data / "bucket" / "deep" / "er").symlink_to(outside)


def replace_bucket(data: Path, outside: Path) -> None:
    (outside / "deep" / "er").mkdir(parents=True)
    (outside / "deep" / "er" / "file").write_bytes(SECRET)
    (data / "bucket").rename(data / "elsewhere")
    (data / "bucket").symlink_to(outside)


def replace_file(data: Path, outside: Path) -> None:
    (data / "bucket" / "deep" / "er" / "file").unlink()
    (data / "bucket" / "deep" / "er" / "file").symlink_to(outside / "file")


def replace_by_pipe(data: Path, outside: Path) -> None:
    del outside
    (data / "bucket" / "deep" / "er" / "file").unlink()
    os.mkfifo(data / "bucket" / "deep" / "er" / "file")


@pytest.mark.parametrize("replace", [replace_directory, replace_bucket, replace_file, replace_by_pipe])
def test_what_replaces_a_file_after_it_was_listed_is_not_opened(
    data: Path, outside: Path, replace: Callable[[Path, Path], None]
) -> None:
    asker = serving(data)
    assert asker.ask("GET", "deep/er/file").body == b"deep file"
    asker.now_s += 1
    replace(data, outside)
    answer = asker.ask("GET", "deep/er/file", query={"x": ""})
    assert answer.status == 500
    assert SECRET not in answer.body
    assert b"cannot be read" in answer.body


@pytest.mark.parametrize("size_bytes", [9, 5, 40, 100_000])
def test_a_file_that_changed_after_it_was_listed_is_not_served_under_its_old_etag(data: Path, size_bytes: int) -> None:
    file = data / "bucket" / "deep" / "er" / "file"
    os.utime(file, ns=(0, 0))
    asker = serving(data)
    asker.ask("GET", "deep/er/file")
    file.write_bytes(b"x" * size_bytes)
    asker.now_s += 1
    for headers in ({}, {"range": "bytes=0-1"}):
        answer = asker.ask("GET", "deep/er/file", query={"x": ""}, headers=headers)
        assert (answer.status, answer.code) == (500, "InternalError")
        assert b"changed" in answer.body


def test_what_is_no_directory_is_bad_input(data: Path) -> None:
    with pytest.raises(BadInput, match="not a directory"):
        serving(data / "bucket" / "file")


def test_a_directory_with_more_files_than_memory_allows_is_bad_input(data: Path) -> None:
    with pytest.raises(BadInput, match="too many files"):
        Asker(data_dir=str(data), buckets=(), memory_limit_bytes=1500)
