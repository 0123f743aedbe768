"""Compares the programs of two clients by content, not by path, and computes a digest that identifies a program.

A program is the code and data of an installation, file by file, and the interpreter that runs it. Left out are
byte-code, an installer's own records, and the first line of scripts, which names a path. In a Python environment only
the packages that move data to S3 count, as its interpreter finds them.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from s3bench.clients.client import FoundClient
from s3bench.clients.interpreter import is_python, module_places, script_words
from s3bench.clients.registry import known_client
from s3bench.clients.staging import is_frozen_build
from s3bench.errors import MachineError

_BYTE_CODE = "__pycache__"
_NOTES = (".dist-info", ".egg-info")
_ORIGIN = ".s3bench-origin.json"
_INTERPRETER = "<interpreter>"
_SCRIPTS = "bin"
_CHUNK_BYTES = 1 << 20
_DIGEST_DIGITS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    """A file of a program; the compared content begins at `skipped_bytes`, after a script's first line.

    `node` is equal for one file under several names: its device and inode.
    """

    path: Path
    node: tuple[int, int]
    size_bytes: int
    skipped_bytes: int = 0


def same_program(left: FoundClient, right: FoundClient) -> bool:
    """Whether both sides would run the same code as the same kind of client, wherever it is stored.

    Contents are read only when all names and sizes agree, and not for files that are hard links to one file. Raises
    `MachineError` when files cannot be read, `ClientNotFound` when an interpreter does not respond.
    """
    if left.kind != right.kind:
        return False
    if _place(left) == _place(right):
        return True
    with _explained():
        ours, theirs = _program(left), _program(right)
        sizes = [{name: file.size_bytes for name, file in program.items()} for program in (ours, theirs)]
        return sizes[0] == sizes[1] and all(_equal(ours[name], theirs[name]) for name in ours)


def program_digest(found: FoundClient) -> str:
    """Return 16 hexadecimal digits of the SHA-256 over the names and contents of the program's files.

    Raises as `same_program`. Equal for two clients of one kind exactly when `same_program` holds. Empty for a script in
    a language other than Python: the files that it starts are not known, and may change while it does not.
    """
    digest = hashlib.sha256()
    with _explained():
        files = _program(found)
        if str(found.executable.resolve()) in files:
            return ""
        for name, file in sorted(files.items()):
            digest.update(f"{name}\0{file.size_bytes}\0".encode(errors="surrogateescape"))
            digest.update(_sha256(file))
    return digest.hexdigest()[:_DIGEST_DIGITS]


def program_files(found: FoundClient) -> tuple[Path, ...]:
    """Where the program's files are. Raises as `same_program`."""
    with _explained():
        return tuple(file.path for file in _program(found).values())


def _place(found: FoundClient) -> tuple[Path, Path | None]:
    # The interpreter of a virtual environment is a link, and the location of the link identifies the environment.
    executable = found.executable
    is_library = known_client(found.kind).driver is not None and is_python(executable)
    whole = found.site is not None or not is_library
    return (
        executable.resolve() if whole else executable.parent.resolve() / executable.name,
        found.site.resolve() if found.site else None,
    )


def _program(found: FoundClient) -> dict[str, _File]:
    """List the files that `found` consists of, by names that do not depend on its path."""
    executable, client = found.executable.resolve(), known_client(found.kind)
    if found.site is not None:
        files = dict(_files(found.site.resolve(), ""))
        words = script_words(executable)
        return files | _interpreter(Path(words[0]) if words else executable)
    if client.driver is not None and is_python(found.executable):
        return _environment(found.executable, client.libraries)
    if is_frozen_build(executable):
        return dict(_files(executable.parent, ""))
    words = script_words(executable)
    if words and is_python(Path(words[0])):
        return {executable.name: _script(executable)} | _environment(Path(words[0]), client.libraries)
    # What a script in another language starts, such as a wrapper, may depend on its path: it equals only itself.
    # A binary that was renamed is the same program.
    return {str(executable) if words else client.package.program or executable.name: _plain(executable)}


def _environment(python: Path, names: tuple[str, ...]) -> dict[str, _File]:
    files = _interpreter(python)
    for name, place in module_places(python, names).items():
        files |= dict(_files(place, name)) if place.is_dir() else {place.name: _plain(place)}
    return files


def _interpreter(python: Path) -> dict[str, _File]:
    return {_INTERPRETER: _plain(python.resolve())}


def _files(root: Path, name: str) -> Iterator[tuple[str, _File]]:
    """List the program's files below `root`, links to files too; circular links to directories are not followed."""
    with os.scandir(root) as entries:
        for entry in entries:
            inside = f"{name}/{entry.name}" if name else entry.name
            if entry.is_dir(follow_symlinks=False):
                if entry.name != _BYTE_CODE and not entry.name.endswith(_NOTES):
                    yield from _files(Path(entry.path), inside)
            elif entry.is_file() and entry.name != _ORIGIN:
                path = Path(entry.path)
                yield inside, _script(path) if name == _SCRIPTS else _plain(path, entry.stat())


def _plain(path: Path, status: os.stat_result | None = None) -> _File:
    status = status or path.stat()
    return _File(path=path, node=(status.st_dev, status.st_ino), size_bytes=status.st_size)


def _script(path: Path) -> _File:
    """Leave out the first line of a script: installers write the path of their own interpreter there."""
    skipped_bytes = 0
    if script_words(path):
        with path.open("rb") as file:
            skipped_bytes = len(file.readline())
    whole = _plain(path)
    return replace(whole, size_bytes=whole.size_bytes - skipped_bytes, skipped_bytes=skipped_bytes)


def _equal(one: _File, other: _File) -> bool:
    if one.node == other.node:
        return True
    with one.path.open("rb") as left, other.path.open("rb") as right:
        left.seek(one.skipped_bytes)
        right.seek(other.skipped_bytes)
        while chunk := left.read(_CHUNK_BYTES):
            if chunk != right.read(_CHUNK_BYTES):
                return False
        return not right.read(1)


def _sha256(file: _File) -> bytes:
    with file.path.open("rb") as opened:
        opened.seek(file.skipped_bytes)
        return hashlib.file_digest(opened, "sha256").digest()


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise MachineError(
            "cannot tell whether two clients are the same program", str(error), "see that its files can be read"
        ) from error
