"""Opens files below one directory, and nothing outside it.

Each part of a name is opened relative to the directory before it, and no symbolic link is followed (openat(2) with
O_NOFOLLOW). So a program that can write below the directory cannot make the server open anything else, not even by
replacing a part while the name is being opened. The directory itself may be named through links: the user chose it.

openat2(2) with RESOLVE_BENEATH would also allow links that stay inside. Python has no function for it, and seccomp
filters of containers often refuse it.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from s3bench.system.files import OPEN_PATH

_PASS = OPEN_PATH | os.O_DIRECTORY | os.O_CLOEXEC
_LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW
_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


def open_file(root: Path, parts: Sequence[str]) -> int:
    """Open the regular file at `parts` below `root` for reading. Raises `OSError`.

    Devices, sockets and pipes are rejected before they are opened, since opening one can block or have an effect.
    """
    with _directory_of(root, parts) as directory:
        _check_regular(os.stat(parts[-1], dir_fd=directory, follow_symlinks=False))
        descriptor = os.open(parts[-1], _READ, dir_fd=directory)
    try:
        _check_regular(os.fstat(descriptor))  # the name may mean something else by now
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def list_directory(root: Path, parts: Sequence[str]) -> list[tuple[str, os.stat_result]]:
    """Give the names in the directory at `parts` below `root` in order, each with its own facts, links not followed.

    Bytes of a name that are not UTF-8 are surrogates, as everywhere in `os`. Raises `OSError`.
    """
    with _directory_of(root, parts) as parent:
        descriptor = os.open(parts[-1], _LIST, dir_fd=parent) if parts else os.open(root, _LIST & ~os.O_NOFOLLOW)
    found = []
    try:
        with os.scandir(descriptor) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):  # removed since
                    found.append((entry.name, entry.stat(follow_symlinks=False)))
    finally:
        os.close(descriptor)
    return sorted(found, key=lambda item: item[0])


@contextlib.contextmanager
def _directory_of(root: Path, parts: Sequence[str]) -> Iterator[int]:
    """Open the directory that the last of `parts` is a name in."""
    if any(part in {"", ".", ".."} or "/" in part or "\0" in part for part in parts):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    descriptor = os.open(root, _PASS)
    try:
        for part in parts[:-1]:
            below = os.open(part, _PASS | os.O_NOFOLLOW, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = below
        yield descriptor
    finally:
        os.close(descriptor)


def _check_regular(facts: os.stat_result) -> None:
    if stat.S_ISLNK(facts.st_mode):
        raise OSError(errno.ELOOP, "it is a symbolic link")
    if not stat.S_ISREG(facts.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file")
