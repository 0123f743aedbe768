"""The workspace's files as the stub serves them: opened, measured, and closed when nobody sends them any more.

Owns the descriptors. A name is looked up inside the workspace only. Which bytes of a file a request gets is `answer`'s.
"""

import os
import stat
from pathlib import Path, PurePosixPath

_OPEN_MAX = 256
"""Files kept open for the next request of the same name; what is being sent stays open beside them."""


class OpenFile:
    """A regular file opened for reading, as large as it was then.

    The descriptor is closed with the last reference: an exchange may outlast the shelf's own interest in the file.
    """

    __slots__ = ("descriptor", "name", "size_bytes")

    def __init__(self, name: str, descriptor: int, size_bytes: int) -> None:
        self.name = name
        self.descriptor = descriptor
        self.size_bytes = size_bytes

    def __del__(self) -> None:
        os.close(self.descriptor)


class Shelf:
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
                if len(self._kept) >= _OPEN_MAX:
                    del self._kept[next(iter(self._kept))]
                self._kept[name] = file
        return file

    def _open(self, name: str) -> OpenFile | None:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or "\0" in name:
            return None  # part of the name may come from a request
        try:
            # Non-blocking, since opening a pipe would wait for its writer.
            descriptor = os.open(self._workspace / path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError:
            return None
        facts = os.fstat(descriptor)
        file = OpenFile(name, descriptor, facts.st_size)
        return file if stat.S_ISREG(facts.st_mode) else None
