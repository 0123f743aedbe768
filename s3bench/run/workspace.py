"""Workspaces: the private directory in which one client runs one benchmark, restored before every iteration.

Every fixture has a second hard link in the sibling directory
`pristine`, so what a command moved or deleted is back with one `link`; what it changed in place shows in the inode's
stamp and is written anew. `fixture` plans the files, `owner` sweeps what crashes leave.

Not seen: a command that rewrites a fixture in place, sets its old time back and then deletes it. And since the second
link stays, deleting a fixture frees no blocks: `s3 mv` up is spared that work of the kernel, for every client alike.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from s3bench.errors import MachineError
from s3bench.run import directory
from s3bench.run.fixture import DIRECTORY_MODE, FIXTURE_MTIME_S, FixtureContent, FixtureTree, plan_tree, write_content
from s3bench.run.owner import owned_directory, sweep
from s3bench.spec.definition import Environment
from s3bench.units import render_bytes

_SPARE_BYTES = 64 << 20  # for what the command itself writes at the least: logs, caches, bytecode
_SPARE_INODES = 1000
_EMPTIED = ("home", "tmp", "output")
_OWN_NAMES = frozenset({"work", "pristine", *_EMPTIED})


@dataclass(slots=True, kw_only=True)
class Repairs:
    """What one `restore` had to do: entries removed in `work`, fixtures linked again, fixtures written anew."""

    removed: int = 0
    relinked: int = 0
    rebuilt: int = 0


class Workspaces:
    """The working directory of one run of s3bench, with a workspace for each benchmark and client; a context manager.

    On entry it sweeps what crashed runs of the same user left in `parent`; `swept` lists that. With `keep`, nothing of
    this run is removed, now or by later sweeps.
    """

    root: Path
    swept: tuple[Path, ...] = ()

    def __init__(self, *, parent: Path, keep: bool = False) -> None:
        self._parent = parent
        self.keep = keep
        self._count = 0
        self._owned: AbstractContextManager[Path] | None = None

    def __enter__(self) -> Self:
        self.swept = sweep(self._parent)
        self._owned = owned_directory(self._parent, keep=self.keep)
        self.root = self._owned.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._owned is not None:
            self._owned.__exit__(kind, error, trace)

    @contextmanager
    def open(self, environment: Environment) -> Iterator["Workspace"]:
        """Make a workspace with the fixtures of `environment`; removed at the end unless kept.

        Raises `MachineError` before anything is written when the disk has no room for them.
        """
        tree = plan_tree(environment)
        _check_room(self.root, tree)
        self._count += 1
        name = f"{self._count:03d}"
        with directory.opened(self.root) as root_fd:
            try:
                with _explained("build"):
                    os.mkdir(name, stat.S_IRWXU, dir_fd=root_fd)
                    workspace = Workspace(root=self.root / name, tree=tree)
                    workspace.restore()
                yield workspace
            finally:
                if not self.keep:
                    with _explained("remove"):
                        directory.remove_entry(name, root_fd)


class Workspace:
    """The directories of one client running one benchmark.

    `work` is the command's current directory and holds the fixtures; `home` its HOME, `tmp` its TMPDIR, `output` what
    is kept of it: stdout, stderr, probe files. `pristine` has every fixture under the same name as `work` and keeps it
    while the command moves or replaces its own: serve response bodies from there. The client may write to `writable`.
    """

    def __init__(self, *, root: Path, tree: FixtureTree) -> None:
        self.root = root
        self.work = root / "work"
        self.pristine = root / "pristine"
        self.home = root / "home"
        self.tmp = root / "tmp"
        self.output = root / "output"
        self.config = self.home / ".aws" / "config"
        self.writable = (self.work, self.home, self.tmp, self.output)
        self._fixtures = _FixtureDirectory.of(tree)
        self._fixture_names = frozenset(name for name, _ in tree.files())
        self._config_text: str | None = None

    def write_config(self, text: str) -> None:
        """Write the AWS config file; each `restore` puts it back."""
        self._config_text = text
        with _explained("configure"):
            self._put_config()

    def strangers(self, names: Iterable[str]) -> Iterator[str]:
        """Those of `names`, plain relative paths in `work`, that are no fixtures: `restore` removes them."""
        return (name for name in names if name not in self._fixture_names)

    def restore(self) -> Repairs:
        """Make the workspace as new: fixtures whole, nothing else in `work`, `home`, `tmp` and `output` empty.

        For use before every iteration, when no process of the last one lives. Links are never followed.
        """
        repairs = Repairs()
        with _explained("restore"), directory.forced(self.root) as root_fd, ExitStack() as stack:
            for name in os.listdir(root_fd):  # noqa: PTH208 (a descriptor is no path)
                if name not in _OWN_NAMES:  # a command wrote to `..`
                    directory.remove_entry(name, root_fd)
            for name in _EMPTIED:
                with directory.ensured(name, root_fd, stat.S_IRWXU) as fd:
                    directory.empty(fd)
            pristine_fd = stack.enter_context(directory.ensured("pristine", root_fd, stat.S_IRWXU))
            work_fd = stack.enter_context(directory.ensured("work", root_fd, DIRECTORY_MODE))
            self._fixtures.clear(work_fd, pristine_fd, repairs)
            self._fixtures.fill(work_fd, pristine_fd, repairs)
            self._put_config()
        return repairs

    def _put_config(self) -> None:
        if self._config_text is not None:
            self.config.parent.mkdir(mode=stat.S_IRWXU, exist_ok=True)
            self.config.write_text(self._config_text, encoding="utf-8")


_Stamp = tuple[int, int, int, int, int]


def _stamp(status: os.stat_result) -> _Stamp:
    """Equal as long as nobody wrote to, replaced, linked or changed the mode of a file.

    The change time cannot be set back by a program, so a client that writes and then sets the old time is seen.
    """
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_mode, status.st_ctime_ns


@dataclass(slots=True, kw_only=True)
class _FixtureDirectory:
    """One directory of fixtures in `work` and in `pristine`, and how each file looked when it was last right."""

    files: dict[str, FixtureContent]
    subdirectories: "dict[str, _FixtureDirectory]"
    stamps: dict[str, _Stamp] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, tree: FixtureTree) -> "_FixtureDirectory":
        return cls(
            files={name: entry for name, entry in tree.entries.items() if isinstance(entry, FixtureContent)},
            subdirectories={
                name: cls.of(entry) for name, entry in tree.entries.items() if isinstance(entry, FixtureTree)
            },
        )

    def clear(self, work_fd: int, pristine_fd: int, repairs: Repairs) -> None:
        """Remove what does not belong here or below, and what is not as it was, and note what is missing then."""
        strangers, changed, whole = self._survey(work_fd)
        for name in strangers:
            repairs.removed += directory.remove_entry(name, work_fd)
        for name in changed:
            self._remove_changed(name, work_fd, pristine_fd)
        self.missing = [name for name in self.files if name not in whole]
        for child, work_below_fd, pristine_below_fd in self._below(work_fd, pristine_fd):
            child.clear(work_below_fd, pristine_below_fd, repairs)

    def fill(self, work_fd: int, pristine_fd: int, repairs: Repairs) -> None:
        """Put back what is missing here and below.

        After `clear` of the whole tree: removing a fixture's inode elsewhere, to where it was moved, changes its stamp.
        """
        for name in self.missing:
            self._put(name, work_fd, pristine_fd, repairs)
        for child, work_below_fd, pristine_below_fd in self._below(work_fd, pristine_fd):
            child.fill(work_below_fd, pristine_below_fd, repairs)
        os.utime(work_fd, (FIXTURE_MTIME_S, FIXTURE_MTIME_S))

    def _below(self, work_fd: int, pristine_fd: int) -> Iterator[tuple["_FixtureDirectory", int, int]]:
        for name, child in self.subdirectories.items():
            with (
                directory.ensured(name, work_fd, DIRECTORY_MODE) as work_below_fd,
                directory.ensured(name, pristine_fd, stat.S_IRWXU) as pristine_below_fd,
            ):
                yield child, work_below_fd, pristine_below_fd

    def _survey(self, work_fd: int) -> tuple[list[str], list[str], set[str]]:
        """Find names that do not belong here, fixtures that are not as they were, and fixtures that are."""
        strangers: list[str] = []
        changed: list[str] = []
        whole: set[str] = set()
        with os.scandir(work_fd) as entries:
            for entry in entries:
                name = entry.name
                if name in self.files:
                    if _stamp(entry.stat(follow_symlinks=False)) == self.stamps.get(name):
                        whole.add(name)
                    else:
                        changed.append(name)
                elif name not in self.subdirectories:
                    strangers.append(name)
        return strangers, changed, whole

    def _remove_changed(self, name: str, work_fd: int, pristine_fd: int) -> None:
        """Remove a changed fixture. If it is still our inode, its pristine link is the same file and goes too."""
        status = os.stat(name, dir_fd=work_fd, follow_symlinks=False)
        if name in self.stamps and status.st_ino == self.stamps[name][0]:
            directory.remove_entry(name, pristine_fd)
        directory.remove_entry(name, work_fd)

    def _put(self, name: str, work_fd: int, pristine_fd: int, repairs: Repairs) -> None:
        """Link the fixture into `work`, from `pristine` if that is still right (but for its change time)."""
        try:
            status = os.stat(name, dir_fd=pristine_fd, follow_symlinks=False)
            is_pristine = name in self.stamps and _stamp(status)[:4] == self.stamps[name][:4]
        except FileNotFoundError:
            is_pristine = False
        if is_pristine:
            repairs.relinked += 1
        else:
            directory.remove_entry(name, pristine_fd)
            write_content(name, pristine_fd, self.files[name])
            repairs.rebuilt += 1
        os.link(name, name, src_dir_fd=pristine_fd, dst_dir_fd=work_fd, follow_symlinks=False)
        self.stamps[name] = _stamp(os.stat(name, dir_fd=work_fd, follow_symlinks=False))


def _check_room(root: Path, tree: FixtureTree) -> None:
    room = os.statvfs(root)
    needed, free = tree.needed_bytes() + _SPARE_BYTES, room.f_bavail * room.f_frsize
    if needed > free:
        raise MachineError(
            f"not enough disk space: the fixtures need {render_bytes(needed)}, {root} has {render_bytes(free)}",
            "nothing was written",
            "make room there, or set S3BENCH_TMPDIR to a directory on a larger disk",
        )
    inodes = sum(1 for _ in tree.files()) + _SPARE_INODES
    if room.f_files and inodes > room.f_favail:  # some file systems (btrfs) count none and report 0
        raise MachineError(
            f"not enough inodes: the fixtures need {inodes} files, {root} has room for {room.f_favail}",
            "nothing was written",
            "make room there, or set S3BENCH_TMPDIR to a directory on another disk",
        )


@contextmanager
def _explained(doing: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise MachineError(
            f"cannot {doing} the workspace", str(error), "set S3BENCH_TMPDIR to a local disk with room and hard links"
        ) from error
