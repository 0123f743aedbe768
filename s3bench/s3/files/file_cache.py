"""File cache: keeps the workspace's files open while the stub serves them.

Small files are read once, when they are opened, and served as they were then; large ones are read while they are sent.
A name is looked up inside the workspace only, and no symbolic link is followed.
"""

import os
from pathlib import Path, PurePosixPath

from s3bench.s3.files.beneath import open_file

_SMALL_BYTES = 32 * 1024
"""Files up to this size are kept in memory: reading one costs more than sending it."""

_KEPT_MAX = 256
"""Files kept for the next request of the same name; what is being sent stays open beside them."""


class OpenFile:
    """A regular file as it was when it was opened: `size_bytes` of it, all in `content` when it is small.

    `modified_ns` is when it was last modified, in nanoseconds since 1970. The descriptor is closed with the last
    reference: an exchange may last longer than the cache keeps the file.
    """

    __slots__ = ("content", "descriptor", "modified_ns", "name", "size_bytes")

    def __init__(self, name: str, descriptor: int) -> None:
        self.name = name
        self.descriptor = descriptor
        facts = os.fstat(descriptor)
        self.modified_ns = facts.st_mtime_ns
        self.size_bytes = facts.st_size
        self.content: bytes | None = None
        if self.size_bytes <= _SMALL_BYTES:
            self.content = os.pread(descriptor, self.size_bytes, 0)
            self.size_bytes = len(self.content)

    def __del__(self) -> None:
        os.close(self.descriptor)


class FileCache:
    """The files below `workspace`."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self._kept: dict[str, OpenFile] = {}

    def find(self, name: str) -> OpenFile | None:
        """Give the file `name`, opened, or `None` where the workspace has no such regular file."""
        file = self._kept.get(name)
        if file is None:
            file = self._open(name)
            if file is not None:
                if len(self._kept) >= _KEPT_MAX:
                    del self._kept[next(iter(self._kept))]
                self._kept[name] = file
        return file

    def _open(self, name: str) -> OpenFile | None:
        parts = PurePosixPath(name).parts  # some of them may come from a request
        try:
            return OpenFile(name, open_file(self._workspace, parts)) if parts else None
        except OSError:
            return None
