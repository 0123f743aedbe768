"""Opens and empties directories in which a command may have planted symbolic links.

No link is ever followed: what is removed is below the directory that was opened, whatever names the command gave it.
"""

import errno
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
    fd = _opened_anyway(name, dir_fd)
    try:
        yield fd
    finally:
        os.close(fd)


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
        return 1 if _unlinked(name, dir_fd) else _remove_directory(name, dir_fd)
    except FileNotFoundError:
        return 0


def empty(dir_fd: int) -> int:
    """Remove everything in the directory `dir_fd`; returns how many entries went."""
    count, directories = _remove_files(dir_fd)
    return count + sum(_remove_directory(name, dir_fd) for name in directories)


class _Level:
    """A directory on the way down through what is removed: its name in the one above, and the directories left in it.

    `fd` is -1 while one of these is removed, so that few descriptors are enough however deep they are.
    """

    __slots__ = ("_status", "directories", "fd", "name")

    def __init__(self, name: str, above_fd: int) -> None:
        self.name = name
        self.fd = _opened_anyway(name, above_fd)
        self._status = os.fstat(self.fd)
        self.directories: list[str] = []

    def remove_files(self) -> int:
        """Remove all but the directories, and note these; returns how many entries went."""
        os.fchmod(self.fd, stat.S_IRWXU)  # a command may leave a directory without the right to delete in it
        count, self.directories = _remove_files(self.fd)
        return count

    def reopen(self, below_fd: int) -> int:
        """Open it again, from a directory in it. Raises `OSError` if that was moved: nothing elsewhere is removed."""
        self.fd = os.open("..", _OPEN, dir_fd=below_fd)
        if not os.path.samestat(os.fstat(self.fd), self._status):
            raise OSError(errno.ESTALE, "a directory was moved while it was removed")
        return self.fd

    def close(self) -> None:
        """Close it, if it is open."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def _remove_directory(name: str, dir_fd: int) -> int:
    """Remove a directory with all below it, which a command may have nested deeply; returns how many entries went."""
    levels = [_Level(name, dir_fd)]
    try:
        count = levels[0].remove_files()
        while levels:
            level = levels[-1]
            if level.directories:
                levels.append(_Level(level.directories.pop(), level.fd))
                level.close()
                count += levels[-1].remove_files()
                continue
            above_fd = levels[-2].reopen(level.fd) if len(levels) > 1 else dir_fd
            levels.pop().close()
            with suppress(FileNotFoundError):
                os.rmdir(level.name, dir_fd=above_fd)
            count += 1
    finally:
        for level in levels:
            level.close()
    return count


def _remove_files(dir_fd: int) -> tuple[int, list[str]]:
    """Remove everything in `dir_fd` but directories; gives how many entries went, and the directories."""
    count, directories = 0, []
    for name in os.listdir(dir_fd):
        try:
            if _unlinked(name, dir_fd):  # what most entries take; thousands of them must not take long
                count += 1
            else:
                directories.append(name)
        except FileNotFoundError:  # removed meanwhile
            continue
    return count, directories


def _unlinked(name: str, dir_fd: int) -> bool:
    """Remove `name` unless it is a directory; whether that is done. A link goes, what it points to stays."""
    try:
        os.unlink(name, dir_fd=dir_fd)
    except IsADirectoryError:  # EISDIR on Linux
        return False
    except PermissionError:  # EPERM by POSIX
        if not stat.S_ISDIR(os.stat(name, dir_fd=dir_fd, follow_symlinks=False).st_mode):
            raise
        return False
    return True


def _opened_anyway(name: str | os.PathLike[str], dir_fd: int | None) -> int:
    """Open a directory of our own, from which a command may have taken the right to read."""
    if not os.stat(name, dir_fd=dir_fd, follow_symlinks=False).st_mode & stat.S_IRUSR:
        os.chmod(name, stat.S_IRWXU, dir_fd=dir_fd)  # no link: those always read 0777
    return os.open(name, _OPEN, dir_fd=dir_fd)
