"""Loads a program's files into the page cache in the same way, so that two versions of it are mapped alike.

A process's resident memory counts the pages of programs and libraries that the kernel maps around each fault (as many
as are in the page cache, and as the cache's folios are large). That depends on how a file came into the cache, and not
on its content: the peak memory of one aws-cli right after it was written was 0.8 to 1.8 % higher than after its files
had been read from the disk, s5cmd's was 7 % lower while only the pages that it had touched were there. No
release caused that.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from s3bench.errors import MachineError
from s3bench.system.files import drop_cached_pages

_CHUNK_BYTES = 1 << 20


def reread(files: Iterable[Path]) -> None:
    """Drop what the page cache holds of each file, and read it from its first byte to its last.

    Dirty pages are written to the disk first, since they cannot be dropped. Pages that another process has mapped now
    stay, and all of them on a file system in memory. Raises `MachineError` where one cannot be read.
    """
    try:
        for path in files:
            _reread(path)
    except OSError as error:
        raise MachineError("cannot read a client's program", str(error), "see that its files can be read") from error


def _reread(path: Path) -> None:
    with path.open("rb", buffering=0) as file:
        with suppress(OSError):  # on a file system that supports neither
            os.fsync(file.fileno())
            drop_cached_pages(file.fileno())
        while file.read(_CHUNK_BYTES):
            pass
