"""Reads and writes results documents on disk.

Writing is atomic: a document is written to a temporary file next to its target, flushed and renamed, so that a reader
sees the old document or the new one, never a part.
"""

import os
import re
import stat
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from s3bench.errors import BadInput, MachineError
from s3bench.results.document import Document, encode_document, parse_document
from s3bench.units import render_bytes

_READ_BYTES_MAX = 1 << 30


NamedPath = tuple[str, Path | None]
"""The path that an option was given, or `None`; the option of an argument is empty."""


def check_distinct(written: Iterable[NamedPath], *, read: Iterable[NamedPath] = ()) -> None:
    """Check, before anything runs, that no file is written twice, or read and written. Raises `BadInput`."""
    inputs = [(option, path) for option, path in read if path is not None]
    outputs: list[tuple[str, Path]] = []
    for option, path in written:
        if path is None:
            continue
        for other, known in inputs:
            if _is_one_file(path, known):
                of_option = f" of {other}" if other else ""
                raise BadInput(f"{option} {path} would overwrite an input file{of_option}", fix="pass another file")
        for other, known in outputs:
            if _is_one_file(path, known):
                raise BadInput(f"{other} and {option} both write to {path}", fix="pass another file")
        outputs.append((option, path))


def check_output(path: Path, *, force: bool, if_it_exists: str = "pass another file, or --force to replace it") -> None:
    """Check, before anything runs, that the results can be written to `path`; remove temporary files of a crash.

    Raises `BadInput` for `-`, a directory, a device, a directory that is missing or not writable, and, without `force`,
    for an existing file; `if_it_exists` says how to fix that.
    """
    if str(path) == "-":
        raise BadInput(
            "cannot write to -",
            "it would be a file of that name, not stdout",
            "leave out the option to print to stdout, or pass the name of a file",
        )
    target = _target(path)
    status = _status(target)
    if status is not None and stat.S_ISDIR(status.st_mode):
        raise BadInput(f"cannot write to {path}: it is a directory", fix=f"pass a file, for example {path}/out.json")
    if status is not None and not stat.S_ISREG(status.st_mode):
        raise BadInput(
            f"cannot write to {path}: it is not a regular file",
            "what is written replaces the file that was there",
            "pass the name of a file, or leave out the option",
        )
    if status is not None and not force:
        raise BadInput(f"{path} exists; it will not be overwritten", fix=if_it_exists)
    if not target.parent.is_dir():
        raise BadInput(f"cannot write to {path}: {target.parent} is not a directory", fix="create that directory first")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise BadInput(
            f"cannot write to {path}: {target.parent} is not writable",
            fix="choose another directory, or change its permissions",
        )
    _sweep(target)


def write_document(document: Document, path: Path, *, durable: bool = True) -> None:
    """Replace the file at `path` by `document`, as `write_whole` does."""
    write_whole(encode_document(document), path, durable=durable, is_measured=True)


def write_whole(content: bytes, path: Path, *, durable: bool = True, is_measured: bool = False) -> None:
    """Replace the file at `path` by `content`, completely or not at all. On failure, measured results are rescued.

    With `durable` it waits until the disk has the content, so that it survives a power cut too; without, it survives
    any crash of the process.

    A symbolic link stays and its target is replaced. An existing file keeps its mode; a new one follows the umask.
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
            f"cannot write to {path}", str(error), f"{kept}the previous content of the file is intact"
        ) from error


def rescue(content: bytes) -> str:
    """Save results that cannot be written to their place in a temporary file; returns a message that names it."""
    try:
        fd, name = tempfile.mkstemp(prefix="s3bench-results-")
        try:
            with os.fdopen(fd, "wb") as file:
                file.write(content)
        except BaseException:
            Path(name).unlink()
            raise
    except OSError as error:
        return f"the results are lost: they could not be saved in {tempfile.gettempdir()} either: {error}"
    return f"the results were saved in {name}"


def read_document(path: Path) -> Document:
    """Read a results document. Raises `BadInput`."""
    return parse_document(read_whole(path, of="a results file"), source=str(path))


def read_whole(path: Path, *, of: str) -> bytes:
    """Read a file that the user named. Raises `BadInput`, which says what `path` should be the path `of`."""
    try:
        with path.open("rb") as file:
            content = file.read(_READ_BYTES_MAX + 1)
    except OSError as error:
        raise BadInput(f"cannot read {path}", error.strerror or str(error), f"pass the path of {of}") from error
    if len(content) > _READ_BYTES_MAX:
        raise BadInput(
            f"{path} is larger than {render_bytes(_READ_BYTES_MAX)}, the most that s3bench reads",
            fix="measure fewer benchmarks or iterations into one file",
        )
    return content


def _is_one_file(first: Path, second: Path) -> bool:
    """Whether two paths are of one file, which need not exist yet."""
    try:
        return first.samefile(second)
    except OSError:
        return os.path.realpath(first) == os.path.realpath(second)


def _target(path: Path) -> Path:
    """The file that `path` refers to, with links followed, also links to a file that does not exist yet."""
    try:
        return path.resolve()
    except (OSError, RuntimeError) as error:
        raise BadInput(f"cannot write to {path}", str(error)) from error


def _status(target: Path) -> os.stat_result | None:
    try:
        return target.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadInput(f"cannot write to {target}", error.strerror or str(error)) from error


def _part_prefix(target: Path) -> str:
    return f".{target.name}.s3bench-"


def _sweep(target: Path) -> None:
    """Remove temporary files of this target that dead processes of this user left."""
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
    """Make the rename survive a power cut, if the file system supports it."""
    with suppress(OSError):
        fd = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
