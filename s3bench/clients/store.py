"""Stores installed clients as `clients/NAME/VERSION` below one directory, several versions side by side.

A version is either complete or missing: it is built in a directory beside its place and renamed into it, so that an
interrupted installation leaves nothing incomplete, and of two concurrent ones the first wins.
"""

import contextlib
import errno
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from s3bench.clients.client import is_same_version, release_of
from s3bench.errors import MachineError

_BUILDING = ".building-"
_ABANDONED_AFTER_S = 3600.0
"""Twice the longest download. Only then is a build without its process abandoned: another machine or container that
shares the store may have it."""
_FACT_KEYS = {"stamp", "fact", "file"}


class ClientStore:
    """The directory of installed clients. Nothing is created before something is added."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "ClientStore":
        """`$S3BENCH_HOME`, or `$XDG_DATA_HOME/s3bench` with the default of the XDG base directory specification."""
        if home := environment.get("S3BENCH_HOME"):
            return cls(Path(home).absolute())
        data = environment.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
        return cls(Path(data).absolute() / "s3bench")

    def place(self, name: str, version: str) -> Path:
        """Where `version` of `name` is, or would be."""
        return self.root / "clients" / name / version

    def find(self, name: str, version: str) -> Path:
        """Where `version` of `name` is, which may be written in another way (`0.3.2` is `0.3.2.0`), or would be."""
        place = self.place(name, version)
        if place.is_dir():
            return place
        return self.place(name, next((each for each in self.versions(name) if is_same_version(each, version)), version))

    def versions(self, name: str) -> tuple[str, ...]:
        """List the installed versions of `name`, newest first."""
        folder = self.root / "clients" / name
        if not folder.is_dir():
            return ()
        there = [entry.name for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith(".")]
        return tuple(sorted(there, key=lambda version: (release_of(version), version), reverse=True))

    @contextlib.contextmanager
    def building(self, name: str) -> Iterator[Path]:
        """Make a private directory, on the store's own file system, to build a version in; removed at the end."""
        folder = self.root / "clients" / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _remove_abandoned(folder)
            building = Path(tempfile.mkdtemp(prefix=f"{_BUILDING}{os.getpid()}-", dir=folder))
        except OSError as error:
            raise MachineError(
                f"cannot write to the clients' store {self.root}",
                str(error),
                "set S3BENCH_HOME to a directory that you may write to",
            ) from error
        try:
            yield building
        except OSError as error:
            raise MachineError(
                f"cannot install into the clients' store {self.root}",
                str(error),
                "free space there, or set S3BENCH_HOME to another directory",
            ) from error
        finally:
            shutil.rmtree(building, ignore_errors=True)

    def adopt(self, built: Path, name: str, version: str, *, is_complete: Callable[[Path], bool]) -> Path:
        """Move the finished directory `built`, in that of `building`, into its place.

        If another process was faster, that one's stays; what is there but not `is_complete` is removed.
        """
        place = self.place(name, version)
        if not _moved(built, place) and not is_complete(place):
            _moved(place, built.with_name(f"{built.name}-replaced"))
            _moved(built, place)
        return place

    def remembered(self, key: str, stamp: list[int | str], find: Callable[[], str], *, file: Path | None = None) -> str:
        """Return the cached fact `key`; `find` computes it again whenever `stamp` (such as a file's identity) differs.

        A fact about `file` is removed some time after the file is gone.
        """
        known = self._facts().get(key)
        if known and known["stamp"] == stamp:
            return str(known["fact"])
        fact = find()
        new: dict[str, object] = {"stamp": stamp, "fact": fact, "file": None if file is None else str(file)}
        self._write_facts({**self._facts(), key: new})
        return fact

    def _facts(self) -> dict[str, dict[str, object]]:
        try:
            facts = json.loads((self.root / "facts.json").read_text("utf-8"))
        except (OSError, ValueError, RecursionError):
            return {}
        kept = facts.items() if isinstance(facts, dict) else ()
        return {key: fact for key, fact in kept if isinstance(fact, dict) and fact.keys() == _FACT_KEYS}

    def _write_facts(self, facts: dict[str, dict[str, object]]) -> None:
        # Only saves time: with a read-only store the fact is computed again, which is not an error.
        current = {key: fact for key, fact in facts.items() if fact["file"] is None or Path(str(fact["file"])).exists()}
        with contextlib.suppress(OSError):
            self.root.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=self.root, prefix=".facts-", delete=False) as file:
                file.write(json.dumps(current, indent=1))
            Path(file.name).replace(self.root / "facts.json")


def _moved(directory: Path, place: Path) -> bool:
    """Rename `directory` to `place`, unless a directory with files is there; whether it was renamed."""
    try:
        directory.rename(place)
    except OSError as error:
        # POSIX: renaming onto a directory that is not empty fails with ENOTEMPTY or EEXIST.
        if error.errno not in {errno.ENOTEMPTY, errno.EEXIST}:
            raise
        return False
    return True


def _remove_abandoned(folder: Path) -> None:
    """Remove unfinished builds that are old and whose processes no longer exist."""
    for entry in folder.glob(f"{_BUILDING}*"):
        owner = entry.name.removeprefix(_BUILDING).partition("-")[0]
        if owner.isdigit() and not _alive(int(owner)) and _age_s(entry) > _ABANDONED_AFTER_S:
            shutil.rmtree(entry, ignore_errors=True)


def _age_s(entry: Path) -> float:
    """The time since something was last added to a directory; 0 if it is gone."""
    try:
        return time.time() - entry.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
