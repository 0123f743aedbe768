"""Working directories with an owner, so that what a crash leaves is removed later and no other files are touched.

They are named `s3bench-<uid>-<pid>-<random>` and hold an owner file; those whose owner is dead are swept.
An owner is alive while it holds the lock on its owner file, or while the process with its id and start time lives.
"""

import fcntl
import os
import re
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import gettempdir

import msgspec

from s3bench.errors import BadInput, MachineError
from s3bench.run import directory
from s3bench.system.processes import boot_id, started_at

OWNER_FILE = "owner"
_MARK = "s3bench working directory"
_OWNER_BYTES_MAX = 4096


class Owner(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of the owner file. `kept`: the user wants to look inside; never swept."""

    mark: str
    pid: int
    process_started: str
    boot: str
    kept: bool


def workspace_parent(environ: Mapping[str, str]) -> Path:
    """Choose the directory to work in: `S3BENCH_TMPDIR`, or the system's temporary directory."""
    named = environ.get("S3BENCH_TMPDIR")
    parent = Path(named or gettempdir()).absolute()
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise BadInput(
            f"cannot work in {parent}: it is not a directory that s3bench may write to",
            "S3BENCH_TMPDIR names it" if named else "it is the system's temporary directory",
            "set S3BENCH_TMPDIR to a writable directory on a local disk",
        )
    return parent


@contextmanager
def owned_directory(parent: Path, *, keep: bool) -> Iterator[Path]:
    """Make a fresh private directory in `parent`, ours until the end, then removed unless `keep`."""
    name = f"{_prefix()}{os.getpid()}-{secrets.token_hex(8)}"
    with ExitStack() as stack:
        try:
            parent_fd = stack.enter_context(directory.opened(parent))
            os.mkdir(name, stat.S_IRWXU, dir_fd=parent_fd)
            fd = stack.enter_context(directory.opened(name, parent_fd))
            stack.callback(os.close, _claim(fd, keep=keep))
        except OSError as error:
            raise MachineError(
                f"cannot make a working directory in {parent}", str(error), "set S3BENCH_TMPDIR to another directory"
            ) from error
        if not keep:
            stack.callback(_remove, name, fd, parent_fd)
        yield parent / name


def sweep(parent: Path) -> tuple[Path, ...]:
    """Remove what crashed runs of this user left in `parent`; returns the directories removed.

    Only real directories of ours with a whole owner file whose owner is dead; anything else is left alone.
    """
    pattern = re.compile(re.escape(_prefix()) + r"[0-9]+-[0-9a-f]{16}")
    with directory.opened(parent) as parent_fd:
        names = [name for name in os.listdir(parent_fd) if pattern.fullmatch(name)]  # noqa: PTH208 (a descriptor)
        return tuple(parent / name for name in sorted(names) if _sweep_one(name, parent_fd))


def _prefix() -> str:
    return f"s3bench-{os.getuid()}-"


def _claim(dir_fd: int, *, keep: bool) -> int:
    """Write and lock the owner file; it gets its name last, so that a sweep sees it whole and locked or not at all."""
    pid = os.getpid()
    owner = Owner(mark=_MARK, pid=pid, process_started=started_at(pid) or "", boot=boot_id(), kept=keep)
    new = f"{OWNER_FILE}.new"
    fd = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=dir_fd)
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.write(fd, msgspec.json.encode(owner))
    os.rename(new, OWNER_FILE, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
    return fd


def _sweep_one(name: str, parent_fd: int) -> bool:
    try:
        with directory.opened(name, parent_fd) as fd:
            if os.fstat(fd).st_uid != os.getuid():
                return False
            lock_fd = os.open(OWNER_FILE, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=fd)
            try:
                fcntl.flock(lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                owner = msgspec.json.decode(os.read(lock_fd, _OWNER_BYTES_MAX), type=Owner)
                if owner.mark != _MARK or owner.kept or _is_alive(owner):
                    return False
                _remove(name, fd, parent_fd)
            finally:
                os.close(lock_fd)
    except Exception:  # noqa: BLE001 (what somebody left must not stop what is to be done now)
        return False  # in use, somebody else's, broken, or beyond our rights: not ours to touch
    return True


def _remove(name: str, dir_fd: int, parent_fd: int) -> None:
    """Remove all, the owner file last: a removal cut short is finished by the next sweep."""
    try:
        for entry in os.listdir(dir_fd):
            if entry != OWNER_FILE:
                directory.remove_entry(entry, dir_fd)
        directory.remove_entry(OWNER_FILE, dir_fd)
        with suppress(FileNotFoundError):
            os.rmdir(name, dir_fd=parent_fd)
    except OSError as error:
        raise MachineError(
            f"cannot remove the working directory {name}", str(error), "remove it by hand; the results are whole"
        ) from error


def _is_alive(owner: Owner) -> bool:
    return owner.boot == boot_id() and started_at(owner.pid) == owner.process_started
