"""Describes files by their sizes: those of a directory, of a listing of a bucket, or of an earlier description.

Nothing is opened but directories and listings; the files themselves are only looked at.
"""

import os
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from s3bench.errors import BadInput
from s3bench.spec.bucket_listing import parse_listing
from s3bench.spec.file_sizes import FileSizes
from s3bench.spec.sizes_document import LeftOut, SizesDocument, is_sizes_document, parse_sizes

_NAMED_MAX = 3
_REASONS = {
    "symlinks": "symbolic links, which are not followed",
    "special": "no ordinary files (sockets, pipes, devices)",
    "unreadable": "not readable",
    "folder_markers": "markers of folders",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedFiles:
    """The sizes, exact unless they were read from a condensed document, the document, and warnings for the user."""

    sizes: FileSizes
    document: SizesDocument
    warnings: tuple[str, ...]


def describe_path(path: Path) -> DescribedFiles:
    """Describe the directory, listing or sizes document `path`. Raises `BadInput`."""
    if path.is_dir():
        return describe_directory(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BadInput(
            f"{path} cannot be read", error.strerror or str(error), "pass a directory, or a listing of a bucket"
        ) from error
    return describe_content(content, source=str(path))


def describe_content(content: bytes, *, source: str) -> DescribedFiles:
    """Describe a listing or a sizes document. Raises `BadInput`."""
    if is_sizes_document(content):
        document = parse_sizes(content, source=source)
        return DescribedFiles(sizes=document.file_sizes, document=document, warnings=())
    listing = parse_listing(content, source=source)
    left_out = LeftOut(folder_markers=listing.folder_markers)
    return _description(listing.sizes, listing.folders, left_out, {}, source)


def describe_directory(root: Path) -> DescribedFiles:
    """Describe the files below a directory. Symbolic links are not followed, except `root` itself."""
    found = _Found()
    found.enter(os.fspath(root))
    counts = {reason: len(names) for reason, names in found.left_out.items()}
    named = {reason: names[:_NAMED_MAX] for reason, names in found.left_out.items()}
    return _description(found.sizes, found.folders, LeftOut(**counts), named, str(root))


@dataclass(slots=True)
class _Found:
    sizes: Counter[int] = field(default_factory=Counter)
    folders: int = 0
    left_out: dict[str, list[str]] = field(default_factory=dict)

    def enter(self, root: str) -> None:
        waiting = [root]
        while waiting:
            place = waiting.pop()
            try:
                with os.scandir(place) as entries:
                    waiting.extend(below for entry in entries if (below := self._look(entry)) is not None)
            except OSError as error:
                if place == root:
                    raise BadInput(f"{root} cannot be read", error.strerror or str(error)) from error
                self._leave_out("unreadable", place)

    def _look(self, entry: os.DirEntry[str]) -> str | None:
        """Count a file; return the path of a directory."""
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError:  # removed meanwhile, or in a directory that only lists names
            self._leave_out("unreadable", entry.path)
            return None
        if stat.S_ISDIR(status.st_mode):
            self.folders += 1
            return entry.path
        if stat.S_ISLNK(status.st_mode):
            self._leave_out("symlinks", entry.path)
        elif not stat.S_ISREG(status.st_mode):
            self._leave_out("special", entry.path)
        elif not os.access(entry.path, os.R_OK):
            self._leave_out("unreadable", entry.path)
        else:
            self.sizes[status.st_size] += 1
        return None

    def _leave_out(self, reason: str, path: str) -> None:
        self.left_out.setdefault(reason, []).append(path)


def _description(
    sizes: Counter[int], folders: int, left_out: LeftOut, named: dict[str, list[str]], source: str
) -> DescribedFiles:
    warnings = tuple(_warnings(left_out, named))
    if not sizes:
        raise BadInput(f"{source} has no files", "\n".join(warnings), "pass a directory or a listing with files")
    found = FileSizes.of(sizes)
    document = SizesDocument.of(found, folders=folders, left_out=left_out)
    return DescribedFiles(sizes=found, document=document, warnings=warnings)


def _warnings(left_out: LeftOut, named: dict[str, list[str]]) -> Iterator[str]:
    for reason, words in _REASONS.items():
        count = getattr(left_out, reason)
        names = ", ".join(named.get(reason, ()))
        if count:
            more = ", ..." if count > len(named.get(reason, ())) and names else ""
            yield f"{count:,} left out: {words}{': ' if names else ''}{names}{more}"
