"""Objects that are there before the first request: fixtures of a benchmark, or the files of a directory.

Owns reading them in, once for all iterations as long as nobody touches the file. Files of a directory stay on disk and
are read when they are asked for.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from s3bench.errors import BadInput
from s3bench.s3.checksums import digest_of
from s3bench.s3.emulator.content import Content, FileContent, pieces_of
from s3bench.s3.emulator.describing import base64_of
from s3bench.s3.emulator.memory import Hold
from s3bench.s3.emulator.receiving import DEFAULT_ALGORITHM, Intentions, opaque_etag
from s3bench.s3.emulator.store import NULL_VERSION, Checksum, Store, Version

_VERSION_BYTES = 1024  # what is kept about a version, about


class _Stamp(NamedTuple):
    """Equal as long as nobody wrote to a file or replaced it: no program can set its change time back."""

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
    It is used up. What was loaded, `loaded`, takes of the memory limit as long as the emulator is there.
    """

    def __init__(
        self, store: Store, intentions: Intentions, now: Callable[[], float], *, before: dict[Path, Loaded]
    ) -> None:
        self._store = store
        self._intentions = intentions
        self._now = now
        self._before = before
        self._holds: list[Hold] = []
        self.loaded: dict[Path, Loaded] = {}

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
        on_disk = FileContent(file, stamp.size_bytes)
        digest = digest_of(DEFAULT_ALGORITHM, pieces_of(on_disk, 0, on_disk.size_bytes))
        return Loaded(
            stamp=stamp,
            etag=self._intentions.etag_of(on_disk, DEFAULT_ALGORITHM, digest),
            content=self._intentions.copied(on_disk) if self._intentions.faithful else on_disk,
            checksum=Checksum(algorithm=DEFAULT_ALGORITHM, value=base64_of(digest)),
            held_bytes=self._intentions.memory.held_bytes - held_bytes,
        )

    def load_directory(self, root: Path) -> None:
        """Make a bucket of each directory in `root`, and an object of each file below that.

        Raises `BadInput` when `root` is no directory. No file is read for that, so their ETags are made of size and
        time, and they have no checksum.
        """
        if not root.is_dir():
            raise BadInput(f"{root} is no directory", "the directories in it would be the buckets", "name another one")
        for folder in sorted(path for path in root.iterdir() if path.is_dir()):
            self._store.make(folder.name, folder.stat().st_mtime)
            for path in sorted(path for path in folder.rglob("*") if path.is_file()):
                facts = path.stat()
                seed = f"{facts.st_size} {facts.st_mtime_ns} {path.relative_to(root)}"
                etag = opaque_etag(seed.encode("utf-8", "surrogateescape"))
                key = path.relative_to(folder).as_posix()
                self._keep(folder.name, key, FileContent(path, facts.st_size), etag, None, facts.st_mtime)

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
                hold=self._intentions.memory.hold(_VERSION_BYTES + len(key)),
                content=content,
                etag=etag,
                checksum=checksum,
            )
        )
