"""Results documents on disk: checked before the run, replaced whole at every write, read strictly.

A reader sees the old document or the new one, never a part: each is written beside its target, flushed and renamed.
"""

import os
import re
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from s3bench.errors import BadInput, MachineError
from s3bench.results.document import Document, encode_document, parse_document

_READ_BYTES_MAX = 1 << 30


def check_output(path: Path, *, force: bool) -> None:
    """Check, before anything runs, that the results can be written to `path`; remove what a crash left beside it.

    Raises `BadInput` for a directory, a device, a directory that is missing or not writable, and, without `force`, for
    a file that is there already.
    """
    target = _target(path)
    status = _status(target)
    if status is not None and stat.S_ISDIR(status.st_mode):
        raise BadInput(f"cannot write the results to {path}: it is a directory", fix=f"give a file, as {path}/out.json")
    if status is not None and not stat.S_ISREG(status.st_mode):
        raise BadInput(
            f"cannot write the results to {path}: it is no regular file",
            "the document is replaced whole after every benchmark",
            "leave -o out to have it on stdout",
        )
    if status is not None and not force:
        raise BadInput(f"{path} exists; it will not be overwritten", fix="give another file, or --force to replace it")
    if not target.parent.is_dir():
        raise BadInput(f"cannot write the results to {path}: {target.parent} is no directory", fix="make it first")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise BadInput(f"cannot write the results to {path}: {target.parent} is not writable for us")
    _sweep(target)


def write_document(document: Document, path: Path, *, durable: bool = True) -> None:
    """Replace the file at `path` by `document`, in the way of `write_whole`."""
    write_whole(encode_document(document), path, durable=durable, is_measured=True)


def write_whole(content: bytes, path: Path, *, durable: bool = True, is_measured: bool = False) -> None:
    """Replace the file at `path` by `content`, whole or not at all. Of what was measured, a failure keeps a copy.

    `durable` waits until the disk has it, so that it outlives a power cut too; without, it outlives any crash of ours.

    A symbolic link stays, its target is replaced. A file that was there keeps its mode; a new one has the umask's.
    """
    target = _target(path)
    status = _status(target)
    part = target.with_name(f"{_part_prefix(target)}{os.getpid()}.part")
    try:
        with suppress(FileNotFoundError):
            part.unlink()
        fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        try:
            with os.fdopen(fd, "wb") as file:
                if status is not None:
                    os.fchmod(fd, stat.S_IMODE(status.st_mode))
                file.write(content)
                file.flush()
                if durable:
                    os.fsync(fd)
            part.replace(target)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
        if durable:
            _sync_directory(target.parent)
    except OSError as error:
        kept = f"{rescue(content)}; " if is_measured else ""
        raise MachineError(
            f"cannot write the results to {path}", str(error), f"{kept}what was written there before is whole"
        ) from error


def rescue(content: bytes) -> str:
    """Keep results that cannot be written where they belong in a new temporary file; say which."""
    try:
        with tempfile.NamedTemporaryFile(prefix="s3bench-results-", delete=False) as file:
            file.write(content)
    except OSError as error:
        return f"the results are lost: they could not be kept in {tempfile.gettempdir()} either: {error}"
    return f"the results are in {file.name}"


def read_document(path: Path) -> Document:
    """Read a results document. Raises `BadInput` saying what is wrong with the file."""
    return parse_document(read_whole(path, of="a results file"), source=str(path))


def read_whole(path: Path, *, of: str) -> bytes:
    """Read a file that the user named. Raises `BadInput`, telling what it should be the path `of`."""
    try:
        with path.open("rb") as file:
            return file.read(_READ_BYTES_MAX)
    except OSError as error:
        raise BadInput(f"cannot read {path}", error.strerror or str(error), f"give the path of {of}") from error


def _target(path: Path) -> Path:
    """Find the file that `path` stands for, links followed, also links to a file yet to be written."""
    try:
        return path.resolve()
    except (OSError, RuntimeError) as error:
        raise BadInput(f"cannot write the results to {path}", str(error)) from error


def _status(target: Path) -> os.stat_result | None:
    try:
        return target.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadInput(f"cannot write the results to {target}", error.strerror or str(error)) from error


def _part_prefix(target: Path) -> str:
    return f".{target.name}.s3bench-"


def _sweep(target: Path) -> None:
    """Remove part files of this target that our own dead processes left."""
    pattern = re.compile(re.escape(_part_prefix(target)) + r"([0-9]+)\.part")
    for entry in target.parent.iterdir():
        match = pattern.fullmatch(entry.name)
        if match and _is_ours(entry) and not _is_alive(int(match[1])):
            entry.unlink(missing_ok=True)


def _is_ours(entry: Path) -> bool:
    status = entry.lstat()
    return stat.S_ISREG(status.st_mode) and status.st_uid == os.getuid()


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _sync_directory(parent: Path) -> None:
    """Make the rename last through a power cut, where the file system can."""
    with suppress(OSError):
        fd = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
