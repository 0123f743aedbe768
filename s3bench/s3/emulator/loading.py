"""Objects that are there before the first request: fixtures of a benchmark, or the files of a directory.

Owns reading them in. Files of a directory stay on disk and are read when they are asked for.
"""

from collections.abc import Callable
from pathlib import Path

from s3bench.errors import BadInput
from s3bench.s3.checksums import digest_of
from s3bench.s3.emulator.content import Content, FileContent, pieces_of
from s3bench.s3.emulator.describing import base64_of
from s3bench.s3.emulator.receiving import DEFAULT_ALGORITHM, Intentions, opaque_etag
from s3bench.s3.emulator.store import NULL_VERSION, Checksum, Store, Version

_VERSION_BYTES = 1024  # what is kept about a version, about


class Loader:
    """Puts files into the store; `now` gives seconds since 1970."""

    def __init__(self, store: Store, intentions: Intentions, now: Callable[[], float]) -> None:
        self._store = store
        self._intentions = intentions
        self._now = now

    def load(self, bucket: str, key: str, file: Path) -> None:
        """Store the content of `file` as `key`; where data is discarded, it is read from the file instead."""
        on_disk = FileContent(file, file.stat().st_size)
        digest = digest_of(DEFAULT_ALGORITHM, pieces_of(on_disk, 0, on_disk.size_bytes))
        etag = self._intentions.etag_of(on_disk, DEFAULT_ALGORITHM, digest)
        content = self._intentions.copied(on_disk) if self._intentions.faithful else on_disk
        checksum = Checksum(algorithm=DEFAULT_ALGORITHM, value=base64_of(digest))
        self._keep(bucket, key, content, etag, checksum, self._now())

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
