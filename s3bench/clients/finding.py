"""Finds a client under test: in the store, on PATH, in our own Python environment, or at the path it was given by.

Owns the order of looking, the versions found, and the refusal of what cannot work (a transfer client that this version
does not have). Starts `aws --version` and `s5cmd version`, and remembers what they said; the interpreter of an
environment given by a path is asked where it imports from.
"""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from s3bench.clients.client import DRIVEN_KINDS, PACKAGES, FoundClient, release_of
from s3bench.clients.interpreter import import_path, is_python
from s3bench.clients.store import ClientStore
from s3bench.errors import ClientNotFound
from s3bench.spec.definition import AWS_CLI_KINDS, ClientKind
from s3bench.spec.plan import ClientSpec

_AWS_VERSION = re.compile(r"aws-cli/([0-9][^\s]*)(?: Python/([0-9.]+))?")
_S5CMD_VERSION = re.compile(r"v?([0-9]+\.[0-9][^\s-]*)")
_VERSION_TIMEOUT_S = 60.0
# The oldest aws-cli whose CRT transfer client honours the port of an endpoint, and awscrt that boto3 accepts.
CRT_AWS_CLI = (2, 26)
CRT_AWSCRT = (0, 19, 18)


def find_client(spec: ClientSpec, store: ClientStore, *, environment: Mapping[str, str] | None = None) -> FoundClient:
    """Find the client that `spec` asks for; raises `ClientNotFound` with the command that installs it.

    Without version or path: the newest aws-cli v2 of the store, then an `aws` of version 2 on PATH; boto3 and awscrt of
    our own environment; s5cmd of our own environment, of the store, of PATH. `environment` has PATH (default: ours).
    """
    path = (os.environ if environment is None else environment).get("PATH", "")
    if spec.kind in AWS_CLI_KINDS:
        found = _find_aws_cli(spec, store, path)
        _check_engine(found)
        return found
    if spec.kind in DRIVEN_KINDS:
        return _find_python(spec, store)
    return _find_s5cmd(spec, store, path)


def _find_aws_cli(spec: ClientSpec, store: ClientStore, path: str) -> FoundClient:
    if spec.path:
        return _packaged_aws_cli(spec) or _aws_cli_at(_executable(Path(spec.path), spec, "aws"), spec, store)
    if spec.version:
        place = store.place("aws-cli", spec.version)
        found = _aws_cli_in_store(place, spec)
        if found is None:
            raise _missing(spec)
        return found
    for version in store.versions("aws-cli"):
        if release_of(version)[:1] == (2,) and (found := _aws_cli_in_store(store.place("aws-cli", version), spec)):
            return found
    for executable in programs_on_path("aws", path):
        try:
            found = _aws_cli_at(executable, spec, store)
        except ClientNotFound:
            continue  # a stranger's broken `aws` on PATH is no reason to stop looking
        if found.release[:1] == (2,):
            return found
    raise _missing(spec)


def _aws_cli_in_store(place: Path, spec: ClientSpec) -> FoundClient | None:
    """v2 is a directory with the binary `aws`, v1 a directory of Python packages with the script `bin/aws`."""
    if (place / "aws").is_file():
        return FoundClient(kind=spec.kind, version=place.name, executable=place / "aws", detail="AWS's own build")
    if (place / "bin" / "aws").is_file():
        return FoundClient(
            kind=spec.kind,
            version=place.name,
            executable=place / "bin" / "aws",
            site=place,
            detail=_python_detail(place),
        )
    return None


def _packaged_aws_cli(spec: ClientSpec) -> FoundClient | None:
    """Find aws-cli in a directory of packages (`pip install --target`), which is on no interpreter's path by itself."""
    given = _given(spec)
    site = given.parent.parent if given.is_file() else given  # `SITE/bin/aws` means SITE too
    version = _version_in("awscli", (site,))
    if version is None or not (site / "bin" / "aws").is_file():
        return None
    return FoundClient(
        kind=spec.kind,
        version=version,
        executable=site / "bin" / "aws",
        site=site,
        detail=_python_detail(site),
        asked_path=spec.path,
    )


def _aws_cli_at(executable: Path, spec: ClientSpec, store: ClientStore) -> FoundClient:
    said = _version_of(executable, ["--version"], store)
    found = _AWS_VERSION.search(said)
    if found is None:
        raise ClientNotFound(
            f"{executable} is no aws-cli", f"`{executable} --version` says {said[:200]!r}", "name another path"
        )
    python = f"Python {found[2]}" if found[2] else ""
    return FoundClient(kind=spec.kind, version=found[1], executable=executable, detail=python, asked_path=spec.path)


def _check_engine(found: FoundClient) -> None:
    """Refuse a transfer client that this aws-cli does not have, rather than measure another."""
    if found.kind is not ClientKind.CLI_CRT or found.release >= CRT_AWS_CLI:
        return
    if found.release[:1] == (1,):
        why = "aws-cli v1 has no CRT transfer client"
    else:
        why = (
            "its CRT transfer client does not honour the port of an endpoint, so it cannot be pointed at a local server"
        )
    raise ClientNotFound(
        f"{found.label} cannot run: {found.executable} is aws-cli {found.version}",
        why,
        "install a current one with `s3bench clients install aws-cli`, or measure `cli-classic`",
    )


def _find_python(spec: ClientSpec, store: ClientStore) -> FoundClient:
    """Find a Python environment, or a directory of packages to be put before our own interpreter's."""
    if spec.path:
        return _python_at(_given(spec), spec)
    package, own = PACKAGES[spec.kind], _sites_of(Path(sys.prefix))
    if spec.version:
        place = store.place(package, spec.version)
        if place.is_dir():
            return _python_client(spec, Path(sys.executable), place, (place,))
        if _version_in(package, own) != spec.version:
            raise _missing(spec)
    return _python_client(spec, Path(sys.executable), None, own)


def _python_at(path: Path, spec: ClientSpec) -> FoundClient:
    if python := _environment_at(path):
        return _python_client(spec, python, None, import_path(python))
    if path.is_dir():
        return _python_client(spec, Path(sys.executable), path, (path,))
    raise ClientNotFound(
        f"{spec}: {path} is neither a directory nor an interpreter",
        fix="name a Python environment, its `bin/python`, or a directory of packages (`pip install --target`)",
    )


def _given(spec: ClientSpec) -> Path:
    return Path(spec.path or "").expanduser().absolute()


def _environment_at(path: Path) -> Path | None:
    """Find the interpreter of the Python environment that `path` names by its directory or by the interpreter."""
    if path.is_file():
        return path if is_python(path) and os.access(path, os.X_OK) else None
    return next((python for name in ("python", "python3") if (python := path / "bin" / name).exists()), None)


def _python_client(spec: ClientSpec, python: Path, site: Path | None, sites: tuple[Path, ...]) -> FoundClient:
    crt = _version_in("awscrt", sites)
    package = PACKAGES[spec.kind]
    version = crt if package == "awscrt" else _version_in(package, sites)
    where = site or python.parent.parent
    if version is None:
        raise ClientNotFound(
            f"{spec}: {package} is not installed in {where}",
            fix=f"name another environment, or install it: `s3bench clients install {package}`",
        )
    if spec.kind is ClientKind.BOTO3_CRT and (crt is None or release_of(crt) < CRT_AWSCRT):
        raise ClientNotFound(
            f"{spec}: boto3 {version} in {where} cannot use the CRT",
            f"awscrt there is {crt or 'missing'}; boto3 asks for 0.19.18 or later",
            "install boto3 with its CRT, `pip install 'boto3[crt]'`, or `s3bench clients install boto3`",
        )
    detail = f"awscrt {crt}" if crt and package != "awscrt" else ""
    return FoundClient(
        kind=spec.kind, version=version, executable=python, site=site, detail=detail, asked_path=spec.path
    )


def _find_s5cmd(spec: ClientSpec, store: ClientStore, path: str) -> FoundClient:
    if spec.path:
        python = _environment_at(_given(spec))
        packaged = _packaged_s5cmd(import_path(python) if python else (_given(spec),), spec)
        return packaged or _s5cmd_at(_executable(Path(spec.path), spec, "s5cmd"), spec, store)
    stored = [
        (store.place("s5cmd", version),) for version in (spec.version and [spec.version]) or store.versions("s5cmd")
    ]
    own = _sites_of(Path(sys.prefix))
    for sites in (*stored, own) if spec.version else (own, *stored):
        found = _packaged_s5cmd(sites, spec)
        if found and spec.version in {None, found.version}:
            return found
    for executable in programs_on_path("s5cmd", path) if spec.version is None else ():
        return _s5cmd_at(executable, spec, store)
    raise _missing(spec)


def _packaged_s5cmd(sites: tuple[Path, ...], spec: ClientSpec) -> FoundClient | None:
    """Find the binary inside the package, not the package's Python wrapper, which costs 0.2 s of start-up."""
    version = _version_in("s5cmd", sites)
    for site in sites:
        binary = site / "s5cmd" / "bin" / "s5cmd"
        if version and binary.is_file():
            detail = "the package's binary"
            return FoundClient(kind=spec.kind, version=version, executable=binary, detail=detail, asked_path=spec.path)
    return None


def _s5cmd_at(executable: Path, spec: ClientSpec, store: ClientStore) -> FoundClient:
    said = _version_of(executable, ["version"], store)
    found = _S5CMD_VERSION.search(said)
    if found is None:
        raise ClientNotFound(
            f"{executable} is no s5cmd", f"`{executable} version` says {said[:200]!r}", "name another path"
        )
    return FoundClient(kind=spec.kind, version=found[1], executable=executable, asked_path=spec.path)


def _executable(path: Path, spec: ClientSpec, name: str) -> Path:
    path = path.expanduser().absolute()
    python = _environment_at(path)
    inside = [path / name, path / "bin" / name] if path.is_dir() else [path.parent / name if python else path]
    for candidate in inside:
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return candidate
    if python:
        raise ClientNotFound(
            f"{spec}: the Python environment of {python} has no `{name}`",
            fix="install it there, or name another environment",
        )
    raise ClientNotFound(f"{spec}: {path} is no executable file", fix=f"name the program `{name}` itself")


def programs_on_path(name: str, path: str) -> list[Path]:
    """Find all programs `name` on a PATH, in its order."""
    if not name:
        return []
    folders = [folder for folder in path.split(os.pathsep) if folder]
    return [Path(found).absolute() for folder in folders if (found := shutil.which(name, path=folder))]


def _sites_of(prefix: Path) -> tuple[Path, ...]:
    return tuple(sorted(prefix.glob("lib*/python3*/site-packages")))


def _version_in(package: str, sites: tuple[Path, ...]) -> str | None:
    found = importlib.metadata.distributions(name=package, path=[str(site) for site in sites])
    return next((distribution.version for distribution in found), None)


def _python_detail(site: Path) -> str:
    botocore = _version_in("botocore", (site,))
    return f"botocore {botocore}" if botocore else ""


def _version_of(executable: Path, arguments: list[str], store: ClientStore) -> str:
    facts = executable.stat()
    stamp: list[int | str] = [facts.st_mtime_ns, facts.st_size, facts.st_ino]
    return store.remembered(f"version {executable}", stamp, lambda: _ask(executable, arguments), file=executable)


def _ask(executable: Path, arguments: list[str]) -> str:
    environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": "/nonexistent", "LANG": "C.UTF-8"}
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


def _missing(spec: ClientSpec) -> ClientNotFound:
    package = PACKAGES[spec.kind]
    wanted = f"{package}@{spec.version}" if spec.version else package
    what = f"{package} {spec.version}" if spec.version else package
    return ClientNotFound(f"{spec}: {what} is not installed", fix=f"install it: `s3bench clients install {wanted}`")
