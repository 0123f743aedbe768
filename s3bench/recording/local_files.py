"""The local files that a command reads: their names and sizes before it runs, and their contents only if asked for."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

CONTENT_BYTES_MAX = 1 << 20
"""Longest file whose contents a definition holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalFiles:
    """Files with their sizes, and directories, by their paths below the current folder, with `/`.

    `roots` are the paths that the command names, `.` for the current folder itself. `texts` are the contents of files,
    of those that are text.
    """

    roots: tuple[str, ...] = ()
    sizes: tuple[tuple[str, int], ...] = ()
    directories: tuple[str, ...] = ()
    texts: tuple[tuple[str, str], ...] = ()


def read_local_files(names: Iterable[str], *, target: str | None, folder: Path, with_contents: bool) -> LocalFiles:
    """Look at the files and directories `names` below `folder`; those that do not exist are left out.

    Of `target` it matters only whether it is a directory.
    """
    roots: list[str] = []
    sizes: dict[str, int] = {}
    directories: dict[str, None] = {}
    if target is not None and os.path.normpath(target) != "." and (folder / target).is_dir():
        directories[os.path.normpath(target)] = None
    for name in dict.fromkeys(os.path.normpath(name) for name in names if name):
        path = folder / name
        if path.is_dir():
            roots.append(name)
            directories[name] = None
            sizes.update(_below(path, name))
        elif path.is_file():
            roots.append(name)
            sizes[name] = path.stat().st_size
    texts = {name: text for name in sizes if (text := _text_of(folder / name)) is not None} if with_contents else {}
    return LocalFiles(
        roots=tuple(roots),
        sizes=tuple(sorted(sizes.items())),
        directories=tuple(directories),
        texts=tuple(texts.items()),
    )


def _below(directory: Path, name: str) -> Iterator[tuple[str, int]]:
    """The files below a directory, links followed as aws-cli does, each directory once."""
    seen = set()
    for place, folders, files in os.walk(directory, followlinks=True):
        facts = os.stat(place)  # noqa: PTH116 (one call for each of thousands of directories)
        if (facts.st_dev, facts.st_ino) in seen:
            folders.clear()
            continue
        seen.add((facts.st_dev, facts.st_ino))
        for file in files:
            path = Path(place, file)
            if path.is_file():
                below = path.relative_to(directory).as_posix()
                yield (below if name == "." else f"{name}/{below}"), path.stat().st_size


def _text_of(path: Path) -> str | None:
    if path.stat().st_size > CONTENT_BYTES_MAX:
        return None
    try:
        return path.read_bytes().decode()
    except (OSError, UnicodeDecodeError):
        return None
