"""Opens and empties directories in which a command may have planted symbolic links.

No link is ever followed: what is removed is below the directory that was opened, whatever names the command gave it.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def opened(name: str | os.PathLike[str], dir_fd: int | None = None) -> Iterator[int]:
    """Open the directory `name` as a file descriptor. Raises `OSError` for a link and for what we may not read."""
    fd = os.open(name, _OPEN, dir_fd=dir_fd)
    try:
        yield fd
    finally:
        os.close(fd)


@contextmanager
def forced(name: str | os.PathLike[str], dir_fd: int | None = None) -> Iterator[int]:
    """As `opened`, for a directory of our own from which a command took the right to read."""
    if not os.stat(name, dir_fd=dir_fd, follow_symlinks=False).st_mode & stat.S_IRUSR:
        os.chmod(name, stat.S_IRWXU, dir_fd=dir_fd)  # no link: those always read 0777
    with opened(name, dir_fd) as fd:
        yield fd


@contextmanager
def ensured(name: str, dir_fd: int, mode: int) -> Iterator[int]:
    """As `opened`, after making `name` a directory of `mode` if it is missing or something else stands there."""
    try:
        is_directory = stat.S_ISDIR(os.stat(name, dir_fd=dir_fd, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        is_directory = False
    if not is_directory:
        remove_entry(name, dir_fd)
        os.mkdir(name, mode, dir_fd=dir_fd)
    with forced(name, dir_fd) as fd:
        if stat.S_IMODE(os.fstat(fd).st_mode) != mode:
            os.fchmod(fd, mode)
        yield fd


def remove_entry(name: str, dir_fd: int) -> int:
    """Remove `name` in `dir_fd`, a directory with all below it; returns how many entries went. Missing is fine."""
    try:
        os.unlink(name, dir_fd=dir_fd)  # a link goes, what it points to stays
    except FileNotFoundError:
        return 0
    except (IsADirectoryError, PermissionError):  # EISDIR on Linux, EPERM by POSIX
        if not stat.S_ISDIR(os.stat(name, dir_fd=dir_fd, follow_symlinks=False).st_mode):
            raise
    else:
        return 1
    with forced(name, dir_fd) as fd:
        os.fchmod(fd, stat.S_IRWXU)  # a command may leave a directory without the right to delete in it
        count = empty(fd)
    with suppress(FileNotFoundError):
        os.rmdir(name, dir_fd=dir_fd)
    return count + 1


def empty(dir_fd: int) -> int:
    """Remove everything in the directory `dir_fd`; returns how many entries went."""
    count = 0
    for name in os.listdir(dir_fd):
        try:
            os.unlink(name, dir_fd=dir_fd)  # what most entries take; thousands of them must not take long
            count += 1
        except FileNotFoundError:  # removed meanwhile
            continue
        except (IsADirectoryError, PermissionError):
            count += remove_entry(name, dir_fd)
    return count
