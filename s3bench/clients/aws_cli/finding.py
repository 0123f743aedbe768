"""Finds aws-cli: v2 as AWS builds it, one program; v1 as a directory of Python packages."""

import re
from pathlib import Path

from s3bench.clients.client import ClientSpec, FoundClient, release_of
from s3bench.clients.interpreter import has_interpreter
from s3bench.clients.search import (
    executable_at,
    given_path,
    not_installed,
    programs_on_path,
    version_in,
    version_said_by,
)
from s3bench.clients.store import ClientStore
from s3bench.errors import ClientNotFound

_VERSION = re.compile(r"aws-cli/([0-9][^\s]*)(?: Python/([0-9.]+))?")
_PACKAGE = "aws-cli"
CRT_SINCE = (2, 26)
"""The oldest aws-cli whose CRT transfer client honours the port of an endpoint."""


def find_aws_cli(spec: ClientSpec, store: ClientStore, path: str) -> FoundClient:
    """Find aws-cli. Without version or path: the newest v2 of the store, then an `aws` of version 2 on PATH."""
    if spec.path:
        return _packaged(spec) or _at(executable_at(spec, "aws"), spec, store)
    if spec.version:
        found = _in_store(store.find(_PACKAGE, spec.version), spec)
        if found is None:
            raise not_installed(spec, _PACKAGE)
        return found
    for version in store.versions(_PACKAGE):
        if release_of(version)[:1] == (2,) and (found := _in_store(store.place(_PACKAGE, version), spec)):
            return found
    for executable in programs_on_path("aws", path):
        try:
            found = _at(executable, spec, store)
        except ClientNotFound:
            continue  # a broken `aws` on PATH is no reason to stop looking
        if found.release[:1] == (2,):
            return found
    raise not_installed(spec, _PACKAGE)


def find_with_crt(spec: ClientSpec, store: ClientStore, path: str) -> FoundClient:
    """Find aws-cli, and refuse one without a CRT transfer client rather than measure another."""
    found = find_aws_cli(spec, store, path)
    if found.release >= CRT_SINCE:
        return found
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


def _in_store(place: Path, spec: ClientSpec) -> FoundClient | None:
    """v2 is a directory with the binary `aws`, v1 a directory of Python packages with the script `bin/aws`.

    The script names the interpreter of the environment that installed it, which may be gone.
    """
    if (place / "aws").is_file():
        return FoundClient(kind=spec.kind, version=place.name, executable=place / "aws", detail="AWS's own build")
    if (place / "bin" / "aws").is_file() and has_interpreter(place / "bin" / "aws"):
        return FoundClient(
            kind=spec.kind,
            version=place.name,
            executable=place / "bin" / "aws",
            site=place,
            detail=_python_detail(place),
        )
    return None


def _packaged(spec: ClientSpec) -> FoundClient | None:
    """Find aws-cli in a directory of packages (`pip install --target`), which is on no interpreter's path by itself."""
    given = given_path(spec)
    site = given.parent.parent if given.is_file() else given  # `SITE/bin/aws` means SITE too
    version = version_in("awscli", (site,))
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


def _at(executable: Path, spec: ClientSpec, store: ClientStore) -> FoundClient:
    said = version_said_by(executable, ["--version"], store)
    found = _VERSION.search(said)
    if found is None:
        raise ClientNotFound(
            f"{executable} is not an aws-cli", f"`{executable} --version` says {said[:200]!r}", "name another path"
        )
    python = f"Python {found[2]}" if found[2] else ""
    return FoundClient(kind=spec.kind, version=found[1], executable=executable, detail=python, asked_path=spec.path)


def _python_detail(site: Path) -> str:
    botocore = version_in("botocore", (site,))
    return f"botocore {botocore}" if botocore else ""
