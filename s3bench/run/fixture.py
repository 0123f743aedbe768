"""Plans, generates and writes the fixtures of a definition.

`workspace` keeps them whole while commands change them.
"""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace

from s3bench.errors import BadInput
from s3bench.spec.definition import Environment, FileLiteral, Fill

FIXTURE_MTIME_S = 1_735_689_600
"""Every fixture was last modified at 2025-01-01T00:00:00Z: `s3 sync` decides alike in each iteration."""

FILE_MODE = 0o644
DIRECTORY_MODE = 0o755

_CHUNK_BYTES = 4 << 20
_ZEROES = bytes(_CHUNK_BYTES)
_BLOCK_BYTES = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class FixtureContent:
    """The bytes of one fixture: `generated_bytes` of `fill`, then `literal`. `seed` makes the noise its own."""

    seed: str
    generated_bytes: int = 0
    fill: Fill = Fill.ZERO
    literal: bytes = b""

    @property
    def size_bytes(self) -> int:
        """The length of the file."""
        return self.generated_bytes + len(self.literal)


@dataclass(frozen=True, slots=True, kw_only=True)
class FixtureTree:
    """A directory of fixtures: names to files and to further directories."""

    entries: "dict[str, FixtureTree | FixtureContent]"

    def files(self, prefix: str = "") -> Iterator[tuple[str, FixtureContent]]:
        """Every file below, by its path with `/`."""
        for name, entry in self.entries.items():
            if isinstance(entry, FixtureTree):
                yield from entry.files(f"{prefix}{name}/")
            else:
                yield prefix + name, entry

    def needed_bytes(self) -> int:
        """Count the disk space that the tree takes, in whole blocks."""
        return sum(-(-content.size_bytes // _BLOCK_BYTES) * _BLOCK_BYTES for _, content in self.files())


def plan_tree(environment: Environment) -> FixtureTree:
    """Plan the tree as it is after `files`, `file_dirs`, `file_trees` and `file_literals` were made, in this order.

    Raises `BadInput` for a name that leaves the workspace or is both file and directory, and for mode `x` on a file
    that is there already.
    """
    root = FixtureTree(entries={})
    for file in environment.files:
        _place(root, file.name, FixtureContent(seed=file.name, generated_bytes=file.size_bytes, fill=file.fill))
    for directory in environment.directories:
        _directory(root, _parts(directory.name), directory.name)
        for path, size_bytes in directory.files():
            name = f"{directory.name.rstrip('/')}/{path}"
            _place(root, name, FixtureContent(seed=name, generated_bytes=size_bytes, fill=directory.fill))
    for literal in environment.file_literals:
        _place_literal(root, literal)
    return root


def _place_literal(root: FixtureTree, literal: FileLiteral) -> None:
    *parents, last = _parts(literal.name)
    existing = _directory(root, parents, literal.name).entries.get(last)
    text = literal.content.encode()
    match literal.mode[0]:
        case "a" if isinstance(existing, FixtureContent):
            _place(root, literal.name, replace(existing, literal=existing.literal + text))
        case "x" if existing is not None:
            raise BadInput(
                f"file_literals: {literal.name!r} has mode {literal.mode!r}, but the file exists",
                fix="use mode 'w' to replace or 'a' to append",
            )
        case _:
            _place(root, literal.name, FixtureContent(seed=literal.name, literal=text))


def _place(root: FixtureTree, name: str, content: FixtureContent) -> None:
    *parents, last = _parts(name)
    entries = _directory(root, parents, name).entries
    if isinstance(entries.get(last), FixtureTree):
        raise _clash(name)
    entries[last] = content


def _directory(root: FixtureTree, parts: list[str], name: str) -> FixtureTree:
    tree = root
    for part in parts:
        entry = tree.entries.setdefault(part, FixtureTree(entries={}))
        if not isinstance(entry, FixtureTree):
            raise _clash(name)
        tree = entry
    return tree


def _clash(name: str) -> BadInput:
    return BadInput(f"fixture {name!r} would be both a file and a directory", fix="give one of them another name")


def _parts(name: str) -> list[str]:
    parts = [part for part in name.split("/") if part not in {"", "."}]
    if not parts or ".." in parts or name.startswith("/") or "\0" in name:
        raise BadInput(f"fixture {name!r} leaves the workspace", fix="give a relative path without '..'")
    return parts


def content_chunks(content: FixtureContent) -> Iterator[memoryview]:
    """Generate the bytes of the file, in order, in chunks of at most 4 MiB.

    Noise is SFC64 seeded by the SHA-256 of the seed: the same on every machine and for every numpy (the raw streams of
    bit generators are frozen, NEP 19), incompressible, and different in every file.
    """
    noise = None
    if content.fill is Fill.RANDOM:
        import numpy as np  # noqa: PLC0415 (for random contents alone)

        noise = np.random.SFC64(int.from_bytes(hashlib.sha256(content.seed.encode()).digest()))
    left = content.generated_bytes
    while left:
        size = min(left, _CHUNK_BYTES)
        words = noise.random_raw(-(-size // 8)).astype("<u8", copy=False) if noise else None
        yield memoryview(_ZEROES if words is None else words.data).cast("B")[:size]
        left -= size
    if content.literal:
        yield memoryview(content.literal)


def write_content(name: str, dir_fd: int, content: FixtureContent) -> None:
    """Write the file `name` in the directory `dir_fd` anew, every byte for real, with the fixed time and mode.

    A sparse file would be read without touching the disk and make uploads look faster than they are. Large files are
    flushed at once, so that the kernel does not write them out in the middle of a measurement.
    """
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE, dir_fd=dir_fd)
    try:
        for chunk in content_chunks(content):
            _write_all(fd, chunk)
        os.fchmod(fd, FILE_MODE)  # whatever the umask
        if content.size_bytes > _CHUNK_BYTES:
            os.fsync(fd)
        os.utime(fd, (FIXTURE_MTIME_S, FIXTURE_MTIME_S))
    finally:
        os.close(fd)


def _write_all(fd: int, chunk: memoryview) -> None:
    while chunk:
        chunk = chunk[os.write(fd, chunk) :]
