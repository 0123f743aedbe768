"""Measures how fast the file system below a directory is by itself, and finds directories in memory.

Reading is measured where it is certain to pass the page cache by: on Linux, by mountinfo (proc(5)) and mincore(2).
"""

import ctypes
import mmap
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from s3bench.errors import MachineError
from s3bench.run.fixture import FixtureContent, content_chunks
from s3bench.spec.definition import Fill
from s3bench.system.files import drop_cached_pages
from s3bench.system.portable import IS_PORTABLE
from s3bench.units import render_bytes

SIZE_BYTES_MAX = 1 << 30
UNKNOWN = "unknown"
"""What stands for a file system whose type the system does not tell."""

LIMIT_S = 5.0
"""Unless told otherwise, writing ends after this time, and so does reading; what was moved until then is rated."""

_PIECE_BYTES = 1 << 20
_NOISE_BYTES = 32 << 20  # made before the clock starts; a disk's own compression does not look that far back
_WINDOW_BYTES = 32 << 20  # written back while the next one is filled: one window at the most is left to fsync
_FREE_SHARE = 4
_MOUNTINFO = Path("/proc/self/mountinfo")
_ESCAPE = re.compile(r"\\([0-7]{3})")
# The first four are memory; ZFS reads from a cache of its own, which mincore does not see.
_UNREADABLE = frozenset({"tmpfs", "ramfs", "devtmpfs", "hugetlbfs", "zfs"})
_MEMORY_KINDS = frozenset({"tmpfs", "ramfs"})
_MEMORY_PLACES = (Path("/dev/shm"), Path("/tmp"))  # noqa: S108 (looked at, and only used below a private directory)
_WRITE_OUT, _WRITE_OUT_AND_WAIT = 2, 1 | 2 | 4  # SYNC_FILE_RANGE_*, sync_file_range(2)
_LIBC = ctypes.CDLL(None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """What the file system `kind` does by itself, in bytes per second, over `size_bytes` bytes written.

    Writing is rated with the fsync(2) at its end. Reading is `None` where the page cache could not be passed by.
    """

    kind: str
    size_bytes: int
    write_bytes_per_s: float
    read_bytes_per_s: float | None


def measure_disk(directory: Path, *, size_bytes: int, limit_s: float = LIMIT_S, now: Callable[[], float]) -> Disk:
    """Write a file of random bytes in `directory`, one piece after another, and read it back from the disk.

    At most `size_bytes`, 1 GiB, a quarter of the free space, and what is written within `limit_s`; in whole MiB. The
    file has no name, so it is gone with this process, however that ends. `now` gives seconds. Raises `MachineError`
    when nothing can be written.
    """
    kind = file_system_of(directory)
    noise = memoryview(
        b"".join(content_chunks(FixtureContent(seed="disk", generated_bytes=_NOISE_BYTES, fill=Fill.RANDOM)))
    )
    try:
        with tempfile.TemporaryFile(dir=directory, buffering=0) as file:
            size_bytes = min(size_bytes, SIZE_BYTES_MAX, _free_bytes(directory) // _FREE_SHARE)
            fd, began_s = file.fileno(), now()
            written_bytes = _write(fd, noise, max(1, size_bytes // _PIECE_BYTES), until_s=began_s + limit_s, now=now)
            ended_s = now()
            read = None if kind in _UNREADABLE or not _forget(fd, written_bytes) else _read_rate(fd, limit_s, now)
    except OSError as error:
        raise MachineError(
            f"the speed of the disk below {directory} cannot be measured", str(error), "name a directory with room"
        ) from error
    return Disk(
        kind=kind,
        size_bytes=written_bytes,
        write_bytes_per_s=written_bytes / (ended_s - began_s),
        read_bytes_per_s=read,
    )


def memory_directory(needed_bytes: int) -> Path:
    """A directory in memory with room for `needed_bytes`. Raises `MachineError` with the reason when there is none."""
    available_bytes = psutil.virtual_memory().available
    if available_bytes < needed_bytes:
        raise _no_room(needed_bytes, f"{render_bytes(available_bytes)} of memory are available")
    reasons = []
    for place in _MEMORY_PLACES:
        if not place.is_dir() or file_system_of(place) not in _MEMORY_KINDS:
            reasons.append(f"{place} is not a tmpfs")
        elif not os.access(place, os.W_OK | os.X_OK):
            reasons.append(f"{place} is not writable")
        elif _free_bytes(place) < needed_bytes:
            reasons.append(f"{place} has {render_bytes(_free_bytes(place))}")
        else:
            return place
    raise _no_room(needed_bytes, "; ".join(reasons))


def file_system_of(directory: Path, mountinfo: str | None = None) -> str:
    """The type of the file system below `directory` (`ext4`, `tmpfs`), or `unknown`. `mountinfo` is as in proc(5)."""
    if mountinfo is None:
        mountinfo = "" if IS_PORTABLE else _MOUNTINFO.read_text(encoding="utf-8", errors="surrogateescape")
    place = directory.resolve()
    above = [(point, kind) for point, kind in _mounts(mountinfo) if place.is_relative_to(point)]
    # The longest mount point holds it; of several mounts there the last one covers the others.
    deepest = max((len(point.parts) for point, _ in above), default=0)
    return next((kind for point, kind in reversed(above) if len(point.parts) == deepest), UNKNOWN)


def _mounts(mountinfo: str) -> Iterator[tuple[Path, str]]:
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split(" ")
        point = _ESCAPE.sub(lambda escape: chr(int(escape[1], 8)), fields[4])
        yield Path(point), after.split(" ")[0]


def _no_room(needed_bytes: int, why: str) -> MachineError:
    return MachineError(
        f"no directory in memory has room for {render_bytes(needed_bytes)}", why, "work on the disk, or with less data"
    )


def _free_bytes(directory: Path) -> int:
    room = os.statvfs(directory)
    return room.f_bavail * room.f_frsize


def _write(fd: int, noise: memoryview, pieces: int, *, until_s: float, now: Callable[[], float]) -> int:
    """Write and flush up to `pieces` pieces, how many bytes that was.

    Windows are written back while the next one is filled, as the kernel does with large amounts: so the disk is never
    idle, and on a slow one little is left for the flush when the time is up.
    """
    window = 0
    written_bytes = 0
    for piece in range(pieces):
        at = piece * _PIECE_BYTES % _NOISE_BYTES
        written_bytes += _write_all(fd, noise[at : at + _PIECE_BYTES])
        if written_bytes - window >= _WINDOW_BYTES:
            _sync_range(fd, max(0, window - _WINDOW_BYTES), _WINDOW_BYTES, _WRITE_OUT_AND_WAIT)
            _sync_range(fd, window, _WINDOW_BYTES, _WRITE_OUT)
            window = written_bytes
        if now() >= until_s:
            break
    os.fsync(fd)
    return written_bytes


def _write_all(fd: int, data: memoryview) -> int:
    left = data
    while left:
        left = left[os.write(fd, left) :]
    return len(data)


def _read_rate(fd: int, limit_s: float, now: Callable[[], float]) -> float:
    """Read from the start on, to the end or until the time is up, in bytes per second."""
    buffer = bytearray(_PIECE_BYTES)
    began_s, read_bytes = now(), 0
    while (count := os.preadv(fd, [buffer], read_bytes)) and now() - began_s < limit_s:
        read_bytes += count
    return read_bytes / (now() - began_s)


def _forget(fd: int, size_bytes: int) -> bool:
    """Take the file out of the page cache; whether no page of it is left there, as mincore(2) tells."""
    if IS_PORTABLE:
        return False
    drop_cached_pages(fd)
    pages = -(-size_bytes // mmap.PAGESIZE)
    resident = (ctypes.c_ubyte * pages)()
    # Writable and private: ctypes takes the address of writable memory only, and nothing is written to it.
    with mmap.mmap(fd, size_bytes, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE) as mapped:
        start = ctypes.c_ubyte.from_buffer(mapped)
        failed = _LIBC.mincore(ctypes.byref(start), ctypes.c_size_t(size_bytes), resident)
        del start
    return not failed and not any(page & 1 for page in resident)


def _sync_range(fd: int, at: int, size_bytes: int, flags: int) -> None:
    """Write a range out; where a file system cannot do that, the fsync at the end has more to do."""
    if not IS_PORTABLE:
        _LIBC.sync_file_range(fd, ctypes.c_int64(at), ctypes.c_int64(size_bytes), ctypes.c_uint(flags))
