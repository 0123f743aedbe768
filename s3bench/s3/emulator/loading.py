"""Loads objects that exist before the first request: fixtures of a benchmark, or the files of a directory.

Fixtures are read once for all iterations as long as the file does not change. Files of a directory stay on disk and are
read when they are asked for.
"""

import os
import stat
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from s3bench.errors import BadInput
from s3bench.s3.emulator.content import Content, FileContent, pieces_of
from s3bench.s3.emulator.describing import base64_of, default_storage_class
from s3bench.s3.emulator.memory import Hold, text_memory
from s3bench.s3.emulator.receiving import DEFAULT_ALGORITHM, Intentions, opaque_etag
from s3bench.s3.emulator.store import KEY_BYTES_MAX, NULL_VERSION, Checksum, Description, ObjectStore, Version
from s3bench.s3.files.beneath import list_directory
from s3bench.s3.protocol.checksums import digest_of
from s3bench.s3.protocol.s3_error import S3Error

_VERSION_BYTES = 2048  # what is kept about a version, its place and a reply included, about
_WARNINGS_MAX = 100

Parts = tuple[str, ...]
"""A path below a directory, taken apart."""


class _Stamp(NamedTuple):
    """Equal as long as a file was not written to or replaced: no program can set its change time back."""

    device: int
    inode: int
    size_bytes: int
    modified_ns: int
    changed_ns: int

    @classmethod
    def of(cls, file: Path) -> "_Stamp":
        facts = file.stat()
        return cls(facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A file as it was read in; contents are immutable. `held_bytes` is what it took of the memory limit."""

    stamp: _Stamp
    content: Content
    etag: str
    checksum: Checksum
    held_bytes: int


class Loader:
    """Puts files into the store; `now` gives seconds since 1970.

    `before` are files that an emulator of the same settings had loaded: those that did not change are not read again.
    It is used up. What was loaded, `loaded`, takes of the memory limit as long as the emulator is there. `warnings`
    name what was skipped.
    """

    def __init__(
        self, store: ObjectStore, intentions: Intentions, now: Callable[[], float], *, before: dict[Path, Loaded]
    ) -> None:
        self._store = store
        self._intentions = intentions
        self._now = now
        self._before = before
        self._holds: list[Hold] = []
        self._skipped = 0
        self.loaded: dict[Path, Loaded] = {}
        self.warnings: list[str] = []

    def load(self, bucket: str, key: str, file: Path) -> None:
        """Store the content of `file` as `key`; where data is discarded, it is read from the file instead."""
        if file not in self.loaded:
            self.loaded[file] = self._again(file) or self._read(file)
        loaded = self.loaded[file]
        self._keep(bucket, key, loaded.content, loaded.etag, loaded.checksum, self._now())

    def _again(self, file: Path) -> Loaded | None:
        """Take over what was read before, and let it count here; `None` for a file that is new or changed."""
        loaded = self._before.pop(file, None)
        if loaded is None or loaded.stamp != _Stamp.of(file):
            return None
        self._holds.append(self._intentions.memory.hold(loaded.held_bytes))
        return loaded

    def _read(self, file: Path) -> Loaded:
        stamp, held_bytes = _Stamp.of(file), self._intentions.memory.held_bytes
        on_disk = FileContent(file.parent, (file.name,), stamp.size_bytes, stamp.modified_ns)
        digest = digest_of(DEFAULT_ALGORITHM, pieces_of(on_disk, 0, on_disk.size_bytes))
        return Loaded(
            stamp=stamp,
            etag=self._intentions.etag_of(on_disk, DEFAULT_ALGORITHM, digest),
            content=self._intentions.copied(on_disk) if self._intentions.faithful else on_disk,
            checksum=Checksum(algorithm=DEFAULT_ALGORITHM, value=base64_of(digest)),
            held_bytes=self._intentions.memory.held_bytes - held_bytes,
        )

    def load_directory(self, root: Path) -> None:
        """Make a bucket of each directory in `root`, and an object of each regular file below that.

        Everything else is skipped with a warning. No file is read, so their ETags are made of size and time, and they
        have no checksum. Raises `BadInput` when `root` is not a directory, or has more files than memory allows.
        """
        try:
            top = [((name,), facts) for name, facts in list_directory(root, ()) if not stat.S_ISREG(facts.st_mode)]
        except OSError as error:
            why = error.strerror or str(error)
            raise BadInput(f"{root} is not a directory that can be listed", why, "name another directory") from error
        found: deque[tuple[Parts, os.stat_result]] = deque(top)
        try:
            while found:
                found += self._load_entry(root, *found.popleft())
        except S3Error as error:
            raise BadInput(f"{root} has too many files", error.message, "serve a smaller directory") from error
        if self._skipped > _WARNINGS_MAX:
            self.warnings.append(f"and {self._skipped - _WARNINGS_MAX} more were skipped")

    def _load_entry(self, root: Path, parts: Parts, facts: os.stat_result) -> list[tuple[Parts, os.stat_result]]:
        """Load what is at `parts` below `root`; gives what is inside where it is a directory."""
        bucket, key = parts[0], "/".join(parts[1:])
        fault = _fault(parts, facts)
        if fault:
            self._skip(parts, fault)
        elif stat.S_ISREG(facts.st_mode):
            etag = opaque_etag(f"{facts.st_size} {facts.st_mtime_ns} {bucket}/{key}".encode())
            content = FileContent(root, parts, facts.st_size, facts.st_mtime_ns)
            self._keep(bucket, key, content, etag, None, facts.st_mtime)
        else:
            if not key:
                self._store.make(bucket, facts.st_mtime)
            try:
                return [((*parts, name), below) for name, below in list_directory(root, parts)]
            except OSError as error:
                self._skip(parts, error.strerror or str(error))
        return []

    def _skip(self, parts: Parts, why: str) -> None:
        self._skipped += 1
        if self._skipped <= _WARNINGS_MAX:
            self.warnings.append(f"skipped {'/'.join(map(_shown, parts))}: {why}")

    def _keep(
        self, bucket_name: str, key: str, content: Content, etag: str, checksum: Checksum | None, modified_s: float
    ) -> None:
        bucket = self._store.buckets.get(bucket_name)
        if bucket is None:
            bucket = self._store.make(bucket_name, self._now())
        bucket.put(
            Version(
                key=key,
                version_id=NULL_VERSION,
                modified_s=modified_s,
                hold=self._intentions.memory.hold(_VERSION_BYTES + text_memory(key)),
                content=content,
                etag=bucket.etag_of_new(key, etag),
                checksum=checksum,
                description=Description(storage_class=default_storage_class(bucket)),
            )
        )


def _fault(parts: Parts, facts: os.stat_result) -> str:
    """Say why this is not loaded; nothing where it is."""
    if not _is_utf8(parts[-1]):
        return "its name is not UTF-8"
    if len("/".join(parts[1:]).encode()) > KEY_BYTES_MAX:
        return f"its key would be longer than {KEY_BYTES_MAX:,} bytes"
    if stat.S_ISLNK(facts.st_mode):
        return "symbolic links are not followed"
    if not stat.S_ISDIR(facts.st_mode) and not stat.S_ISREG(facts.st_mode):
        return "it is neither a file nor a directory"
    return ""


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:  # os gives bytes that are not UTF-8 as surrogates
        return False
    return True


def _shown(name: str) -> str:
    """Give a name as it can be printed: what is not printable, and bytes that are not UTF-8, as escapes."""
    readable = os.fsencode(name).decode("utf-8", "backslashreplace")
    return readable if readable.isprintable() else readable.encode("unicode_escape").decode()
