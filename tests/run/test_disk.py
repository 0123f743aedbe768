"""The speed of a file system, measured where it is, within bounds of size and time, leaving nothing behind."""

import os
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from s3bench.errors import MachineError
from s3bench.run import disk
from s3bench.run.disk import file_system_of, measure_disk, memory_directory

MIB = 1 << 20
MOUNTINFO = r"""
22 1 259:1 / / rw,relatime shared:1 - ext4 /dev/root rw
23 22 0:5 / /dev rw,nosuid - devtmpfs udev rw
24 23 0:20 / /dev/shm rw,nosuid shared:3 master:2 - tmpfs tmpfs rw
25 22 0:31 / /data\040of\040mine rw - xfs /dev/sdb1 rw
26 22 0:32 / /covered rw - ext4 /dev/sdc1 rw
27 22 0:33 / /covered rw - zfs tank rw
""".strip()


def ticking(step_s: float) -> Callable[[], float]:
    """A clock that goes on by `step_s` whenever it is asked."""
    times = count()
    return lambda: next(times) * step_s


def test_it_writes_what_was_asked_for_and_leaves_no_file(tmp_path: Path) -> None:
    found = measure_disk(tmp_path, size_bytes=40 * MIB, now=time.perf_counter)
    assert found.size_bytes == 40 * MIB
    assert found.write_bytes_per_s > 0
    assert found.kind == file_system_of(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_rate_is_what_was_written_over_the_time_it_took(tmp_path: Path) -> None:
    # One look at the clock before writing, one after each of four pieces, one after the flush: five steps.
    assert measure_disk(tmp_path, size_bytes=4 * MIB, now=ticking(0.25)).write_bytes_per_s == 4 * MIB / 1.25


def test_after_five_seconds_what_is_written_is_rated(tmp_path: Path) -> None:
    assert measure_disk(tmp_path, size_bytes=100 * MIB, now=ticking(1.0)).size_bytes == 5 * MIB


def test_three_quarters_of_the_free_space_stay_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "_free_bytes", lambda _: 8 * MIB)
    assert measure_disk(tmp_path, size_bytes=100 * MIB, now=time.perf_counter).size_bytes == 2 * MIB


def test_a_directory_that_cannot_be_written_is_the_machines_error(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="cannot be measured"):
        measure_disk(tmp_path / "missing", size_bytes=MIB, now=time.perf_counter)


def test_reading_is_told_only_where_the_page_cache_was_passed_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "file_system_of", lambda _: "ext4")
    monkeypatch.setattr(os, "posix_fadvise", lambda *_: None)  # the pages just written stay in memory
    assert measure_disk(tmp_path, size_bytes=2 * MIB, now=time.perf_counter).read_bytes_per_s is None


def test_what_lies_in_memory_has_no_speed_of_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "file_system_of", lambda _: "tmpfs")
    assert measure_disk(tmp_path, size_bytes=MIB, now=time.perf_counter).read_bytes_per_s is None


def test_a_real_disk_is_read_past_the_page_cache(tmp_path: Path) -> None:
    if file_system_of(tmp_path) not in {"ext4", "xfs", "btrfs"}:
        pytest.skip("needs a temporary directory on a disk")
    read = measure_disk(tmp_path, size_bytes=4 * MIB, now=time.perf_counter).read_bytes_per_s
    assert read is not None
    assert read > 0


@pytest.mark.parametrize(
    ("directory", "kind"),
    [
        ("/home/somebody", "ext4"),
        ("/dev/shm/below", "tmpfs"),
        ("/dev/shmoo", "devtmpfs"),
        ("/data of mine/x", "xfs"),
        ("/covered", "zfs"),
    ],
)
def test_a_directory_has_the_file_system_that_is_mounted_deepest_and_last(directory: str, kind: str) -> None:
    assert file_system_of(Path(directory), MOUNTINFO) == kind


def test_without_any_mount_the_file_system_is_unknown() -> None:
    assert file_system_of(Path("/"), "") == "unknown"


class TestMemoryDirectory:
    @pytest.fixture(autouse=True)
    def place(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setattr(disk, "_MEMORY_PLACES", (tmp_path,))
        monkeypatch.setattr(disk, "file_system_of", lambda _: "tmpfs")
        monkeypatch.setattr(disk, "_free_bytes", lambda _: 10 * MIB)
        return tmp_path

    def test_a_tmpfs_with_room_is_found(self, place: Path) -> None:
        assert memory_directory(10 * MIB) == place

    def test_a_tmpfs_without_room_is_told_with_what_it_has(self, place: Path) -> None:
        with pytest.raises(MachineError, match=f"{place} has 10.0 MiB"):
            memory_directory(10 * MIB + 1)

    def test_a_disk_is_no_memory(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(disk, "file_system_of", lambda _: "ext4")
        with pytest.raises(MachineError, match="is not a tmpfs"):
            memory_directory(1)

    def test_room_that_the_machine_has_no_memory_for_is_no_room(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(disk, "_free_bytes", lambda _: 1 << 60)
        with pytest.raises(MachineError, match="of memory are available"):
            memory_directory(1 << 50)
