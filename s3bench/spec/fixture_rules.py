"""Checks between the fixtures of one definition: each file is made once, and none is both file and directory.

It also gives the sizes of fixtures by name, for checking bodies from files.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeVar

from s3bench.spec.definition import Environment, FileTree, FixtureDir
from s3bench.spec.reader import Complaint, Report, Steps, quoted, render_path

TOTAL_BYTES_MAX = 2**63 - 1
"""The largest signed 64-bit offset, which no file system exceeds."""

_GENERATED = re.compile(r"file-([0-9]{6,})\Z")


@dataclass(slots=True)
class Fixtures:
    """The files of an environment, by name. `complete` is false if one could not be read."""

    complete: bool = True
    _sizes: dict[str, int] = field(default_factory=dict)
    _places: dict[str, Steps] = field(default_factory=dict)
    _dirs: dict[str, tuple[FixtureDir, Steps]] = field(default_factory=dict)
    _trees: dict[str, Steps] = field(default_factory=dict)

    def size_bytes(self, name: str) -> int | None:
        """Return the size of the file `name`; `None` if there is no such fixture."""
        if name in self._sizes:
            return self._sizes[name]
        found = self._generated_by(name)
        if not found:
            return None
        number = int(name.rpartition("-")[2])
        return next(size_bytes for _, size_bytes in islice(found[0].files(), number, None))

    def directories(self) -> tuple[str, ...]:
        """Return the names of all generated directories and trees."""
        return (*self._dirs, *self._trees)

    def is_listable(self, name: str) -> bool:
        """Whether `name` is a generated directory or tree."""
        return name in self._dirs or name in self._trees

    def place(self, name: str) -> Steps | None:
        """The path in the document at which the file `name` is defined."""
        found = self._generated_by(name)
        return self._places.get(name) or (found[1] if found else None)

    def names(self) -> Iterator[str]:
        """Names to suggest: every file's; for each directory only its first and last file."""
        yield from self._sizes
        for directory, _ in self._dirs.values():
            ends = {0, directory.file_count - 1} if directory.file_count else set()
            yield from (f"{directory.name}/file-{at:06d}" for at in sorted(ends))

    def matching_sizes(self, before: str, after: str) -> Iterator[int]:
        """The sizes of the files whose names begin with `before` and end with `after`, found while they are asked for.

        Of a directory of equal files there is one size.
        """
        least = len(before) + len(after)

        def matches(name: str) -> bool:
            return len(name) >= least and name.startswith(before) and name.endswith(after)

        yield from (size_bytes for name, size_bytes in self._sizes.items() if matches(name))
        for directory, _ in self._dirs.values():
            start = f"{directory.name}/file-"
            if not start.startswith(before[: len(start)]):
                continue
            found = (size_bytes for name, size_bytes in directory.files() if matches(f"{directory.name}/{name}"))
            yield from found if directory.sizes else islice(found, 1)

    def _generated_by(self, name: str) -> tuple[FixtureDir, Steps] | None:
        parent, _, last = name.rpartition("/")
        found, numbered = self._dirs.get(parent), _GENERATED.match(last)
        if found and numbered and int(numbered[1]) < found[0].file_count and last == f"file-{int(numbered[1]):06d}":
            return found
        return None

    def add_dir(self, directory: FixtureDir, at: Steps, report: Report) -> None:
        """Add `directory`, or report that it exists already."""
        if directory.name in self._dirs:
            report.add((*at, "name"), _twice(directory.name, self._dirs[directory.name][1]))
        else:
            self._dirs[directory.name] = directory, at

    def add_tree(self, tree: FileTree, at: Steps, report: Report) -> None:
        """Add `tree` and its files, or report what exists already."""
        other = self._trees.get(tree.name) or (self._dirs[tree.name][1] if tree.name in self._dirs else None)
        if other is not None:
            report.add((*at, "name"), _twice(tree.name, other))
            return
        self._trees[tree.name] = at
        for name, size_bytes in tree.sizes:
            path = f"{tree.name}/{name}"
            if place := self.place(path):
                report.add((*at, "sizes", name), _twice(path, place))
            else:
                self._sizes[path], self._places[path] = size_bytes, at

    def add_file(self, name: str, size_bytes: int, at: Steps, report: Report, *, mode: str = "w") -> None:
        """Add a file; `mode` is how an existing one is opened."""
        before, place = self.size_bytes(name), self.place(name)
        if before is None or place is None:
            self._sizes[name], self._places[name] = size_bytes, at
        elif mode.startswith("a"):
            self._sizes[name] = before + size_bytes
            self._places.setdefault(name, place)
        elif mode.startswith("x"):
            what = f"needs a new file, but {quoted(name)} is made at {render_path(place)}"
            report.add((*at, "mode"), Complaint(what, "give the file another name, or append with mode `a`"))
        else:
            report.add((*at, "name"), _twice(name, place))

    def check_directories(self, report: Report) -> None:
        """Report each file that another fixture uses as a directory."""
        below: dict[str, Steps] = {}
        directories = {name: at for name, (_, at) in self._dirs.items()} | self._trees
        for name, at in [*self._places.items(), *directories.items()]:
            for parent in _parents(name):
                below.setdefault(parent, at)
        below.update(directories)
        for name, at in below.items():
            if found := self._generated_by(name):
                what = f"needs the directory {quoted(name)}, which {render_path(found[1])} makes a file"
                report.add((*at, "name"), Complaint(what, "give one of the two another name"))
        for name, at in self._places.items():
            if name in below:
                what = f"is {quoted(name)}, which {render_path(below[name])} makes a directory"
                report.add((*at, "name"), Complaint(what, "give the file another name"))

    def total_bytes(self) -> int:
        """Return the total size of all files."""
        directories = sum(found.total_bytes for found, _ in self._dirs.values())
        return sum(self._sizes.values()) + directories


def _twice(name: str, place: Steps) -> Complaint:
    return Complaint(
        f"is {quoted(name)}, which {render_path(place)} makes too",
        "give one of the two another name, or remove it",
    )


def _parents(name: str) -> Iterator[str]:
    parts = name.split("/")
    for depth in range(1, len(parts)):
        yield "/".join(parts[:depth])


def check_fixtures(environment: Environment, at: Steps, report: Report) -> Fixtures:
    """Report problems between the fixtures of the environment `at`, and return them by name."""
    fixtures = Fixtures()
    own = tuple(directory for directory in environment.file_dirs if not directory.sizes)
    for directory, place in _readable(own, (*at, "file_dirs"), report, fixtures):
        fixtures.add_dir(directory, place, report)
    for directory in environment.file_dirs[len(own) :]:
        fixtures.add_dir(directory, (*at, "like"), report)
    if report.touches((*at, "like")):
        fixtures.complete = False
    for file, place in _readable(environment.files, (*at, "files"), report, fixtures):
        fixtures.add_file(file.name, file.size_bytes, place, report)
    for tree, place in _readable(environment.file_trees, (*at, "file_trees"), report, fixtures):
        fixtures.add_tree(tree, place, report)
    for literal, place in _readable(environment.file_literals, (*at, "file_literals"), report, fixtures):
        fixtures.add_file(literal.name, len(literal.content.encode()), place, report, mode=literal.mode)
    fixtures.check_directories(report)
    if fixtures.total_bytes() > TOTAL_BYTES_MAX:
        what = f"needs {fixtures.total_bytes()} bytes in all, more than any file system supports ({TOTAL_BYTES_MAX})"
        report.add(at, Complaint(what, "make fewer or smaller files"))
    return fixtures


_FixtureT = TypeVar("_FixtureT")


def _readable(
    items: tuple[_FixtureT, ...], at: Steps, report: Report, fixtures: Fixtures
) -> Iterator[tuple[_FixtureT, Steps]]:
    """Return the fixtures whose names could be read, with their places."""
    if report.touches_whole(at):
        fixtures.complete = False
    for index, item in enumerate(items):
        place = (*at, index)
        fixtures.complete = fixtures.complete and not report.touches(place)
        if not report.touches_whole((*place, "name")):
            yield item, place
