"""Searches for programs and Python packages: on PATH, below a path that the user gave, in a Python environment.

Clients' `find` functions are built from these. Runs programs to get their version, and caches what binaries print; runs
the interpreter of an environment given by a path to learn where it imports from.
"""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from s3bench.clients.client import ClientSpec, FoundClient, is_same_version
from s3bench.clients.interpreter import import_path, is_python, script_words
from s3bench.clients.store import ClientStore
from s3bench.errors import ClientNotFound
from s3bench.system.home import expand_home

_VERSION_TIMEOUT_S = 60.0


def programs_on_path(name: str, path: str) -> list[Path]:
    """Find all programs `name` on a PATH, in its order."""
    if not name:
        return []
    folders = [folder for folder in path.split(os.pathsep) if folder]
    return [Path(found).absolute() for folder in folders if (found := shutil.which(name, path=folder))]


def given_path(spec: ClientSpec) -> Path:
    """The requested path of the client, absolute. Raises `BadInput` if it begins with the `~user` of nobody."""
    return expand_home(spec.path or "").absolute()


def environment_at(path: Path) -> Path | None:
    """Find the interpreter of the Python environment that `path` names by its directory or by the interpreter."""
    if path.is_file():
        return path if is_python(path) and os.access(path, os.X_OK) else None
    return next((python for name in ("python", "python3") if (python := path / "bin" / name).exists()), None)


def own_sites() -> tuple[Path, ...]:
    """Where s3bench's own environment keeps its packages."""
    return tuple(sorted(Path(sys.prefix).glob("lib*/python3*/site-packages")))


def version_in(package: str, sites: tuple[Path, ...]) -> str | None:
    """The version of a package in these directories of packages, if it is there."""
    found = importlib.metadata.distributions(name=package, path=[str(site) for site in sites])
    return next((distribution.version for distribution in found), None)


def executable_at(spec: ClientSpec, name: str) -> Path:
    """Find the program `name` at the requested path of the client. Raises `ClientNotFound`."""
    path = given_path(spec)
    python = environment_at(path)
    inside = [path / name, path / "bin" / name] if path.is_dir() else [path.parent / name if python else path]
    for candidate in inside:
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return candidate
    if python:
        raise ClientNotFound(
            f"{spec}: the Python environment of {python} has no `{name}`",
            fix="install it there, or name another environment",
        )
    raise ClientNotFound(f"{spec}: {path} is not an executable file", fix=f"name the program `{name}` itself")


def version_said_by(executable: Path, arguments: list[str], store: ClientStore) -> str:
    """What a program prints as its version; of a binary it is cached as long as the file stays the same.

    A script stays the same while the packages that it starts change.
    """
    if script_words(executable):
        return _ask(executable, arguments)
    facts = executable.stat()
    stamp: list[int | str] = [facts.st_mtime_ns, facts.st_size, facts.st_ino]
    return store.remembered(f"version {executable}", stamp, lambda: _ask(executable, arguments), file=executable)


def _ask(executable: Path, arguments: list[str]) -> str:
    # The PATH is that of a measured client: a script may find another interpreter by the user's.
    environment = {"PATH": os.defpath, "HOME": "/nonexistent", "LANG": "C.UTF-8"}
    try:
        done = subprocess.run(
            [str(executable), *arguments],
            env=environment,
            capture_output=True,
            text=True,
            timeout=_VERSION_TIMEOUT_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ClientNotFound(f"{executable} does not run", str(error), "name another path") from error
    said = (done.stdout or done.stderr).strip()
    if done.returncode:
        command = " ".join(arguments)
        raise ClientNotFound(f"`{executable} {command}` exited {done.returncode}", said[-500:], "name another path")
    return said


def not_installed(spec: ClientSpec, package: str) -> ClientNotFound:
    """The error for a client that is not installed, with the command that installs its package."""
    wanted = f"{package}@{spec.version}" if spec.version else package
    what = f"{package} {spec.version}" if spec.version else package
    return ClientNotFound(f"{spec}: {what} is not installed", fix=f"install it: `s3bench clients install {wanted}`")


@dataclass(frozen=True, slots=True, kw_only=True)
class LibrarySearch:
    """Finds a client that is a Python package: in an environment, or in a directory of packages for our interpreter.

    Without a version or path it is that of our own environment, else the newest of the store. `name` is the package's
    name in the store, `distribution` its name when installed, whose version is the client's; `companion` is another
    distribution whose version is shown. `check(spec, version, sites, where)` raises `ClientNotFound` for packages that
    do not work together.
    """

    name: str
    distribution: str
    companion: str = ""
    check: Callable[[ClientSpec, str, tuple[Path, ...], Path], None] | None = None

    def __call__(self, spec: ClientSpec, store: ClientStore, _path: str) -> FoundClient:
        """Find it. Raises `ClientNotFound`."""
        if spec.path:
            return self._at(given_path(spec), spec)
        own = own_sites()
        if spec.version:
            place = store.find(self.name, spec.version)
            if version_in(self.distribution, (place,)):
                return self._client(spec, Path(sys.executable), place, (place,))
            if not is_same_version(version_in(self.distribution, own) or "", spec.version):
                raise not_installed(spec, self.name)
        elif version_in(self.distribution, own) is None:
            for version in store.versions(self.name):
                place = store.place(self.name, version)
                if version_in(self.distribution, (place,)):
                    return self._client(spec, Path(sys.executable), place, (place,))
        return self._client(spec, Path(sys.executable), None, own)

    def _at(self, path: Path, spec: ClientSpec) -> FoundClient:
        if python := environment_at(path):
            return self._client(spec, python, None, import_path(python))
        if path.is_dir():
            return self._client(spec, Path(sys.executable), path, (path,))
        raise ClientNotFound(
            f"{spec}: {path} is neither a directory nor an interpreter",
            fix="name a Python environment, its `bin/python`, or a directory of packages (`pip install --target`)",
        )

    def _client(self, spec: ClientSpec, python: Path, site: Path | None, sites: tuple[Path, ...]) -> FoundClient:
        version = version_in(self.distribution, sites)
        where = site or python.parent.parent
        if version is None:
            raise ClientNotFound(
                f"{spec}: {self.name} is not installed in {where}",
                fix=f"name another environment, or install it: `s3bench clients install {self.name}`",
            )
        if self.check is not None:
            self.check(spec, version, sites, where)
        companion = version_in(self.companion, sites) if self.companion else None
        detail = f"{self.companion} {companion}" if companion else ""
        return FoundClient(
            kind=spec.kind, version=version, executable=python, site=site, detail=detail, asked_path=spec.path
        )


def _installed_for(script: Path) -> Path | None:
    """The interpreter of the environment beside whose programs pip put `script`; `None` for any other program."""
    python = Path(next(iter(script_words(script)), ""))
    return python if is_python(python) and python.parent.resolve() == script.resolve().parent else None


@dataclass(frozen=True, slots=True, kw_only=True)
class BinarySearch:
    """Finds a client that is one binary: inside a package that carries it, in the store, on PATH, or by a path.

    Without a version or path it is that of our own environment, else the newest of the store, else that of PATH.
    `name` is the package's name in the store, `distribution` its name when installed, and `binaries` the paths relative
    to it at which the binary may be: a package's own Python wrapper would cost its start-up. `program` is the binary's
    name elsewhere, which prints its version with `version_arguments`; `version` parses that output.
    """

    name: str
    distribution: str
    binaries: tuple[str, ...]
    program: str
    version_arguments: tuple[str, ...]
    version: re.Pattern[str]

    def __call__(self, spec: ClientSpec, store: ClientStore, path: str) -> FoundClient:
        """Find it. Raises `ClientNotFound`."""
        if spec.path:
            python = environment_at(given_path(spec))
            packaged = self._packaged(import_path(python) if python else (given_path(spec),), spec)
            return packaged or self._by_itself(executable_at(spec, self.program), spec, store)
        versions = [spec.version] if spec.version else store.versions(self.name)
        stored = [(store.find(self.name, version),) for version in versions]
        for sites in (*stored, own_sites()) if spec.version else (own_sites(), *stored):
            found = self._packaged(sites, spec)
            if found and (spec.version is None or is_same_version(found.version, spec.version)):
                return found
        for executable in programs_on_path(self.program, path) if spec.version is None else ():
            return self._by_itself(executable, spec, store)
        raise not_installed(spec, self.name)

    def _packaged(self, sites: tuple[Path, ...], spec: ClientSpec) -> FoundClient | None:
        version = version_in(self.distribution, sites)
        for binary in (site / binary for site in sites for binary in self.binaries):
            if version and binary.is_file():
                detail = "the package's binary"
                return FoundClient(
                    kind=spec.kind, version=version, executable=binary, detail=detail, asked_path=spec.path
                )
        return None

    def _by_itself(self, executable: Path, spec: ClientSpec, store: ClientStore) -> FoundClient:
        if (python := _installed_for(executable)) and (packaged := self._packaged(import_path(python), spec)):
            return packaged
        said = version_said_by(executable, list(self.version_arguments), store)
        found = self.version.search(said)
        if found is None:
            command = " ".join(self.version_arguments)
            raise ClientNotFound(
                f"{executable} is no {self.program}",
                f"`{executable} {command}` says {said[:200]!r}",
                "name another path",
            )
        return FoundClient(kind=spec.kind, version=found[1], executable=executable, asked_path=spec.path)
