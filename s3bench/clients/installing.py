"""Installs a client under test into the store. Nothing that is installed is executed during the installation."""

import re
from collections.abc import Sequence

from s3bench.clients.client import ClientSpec, FoundClient
from s3bench.clients.descriptor import ClientDescriptor
from s3bench.clients.finding import find_client
from s3bench.clients.package import InstallProgress
from s3bench.clients.registry import clients_of_package, known_client, known_clients
from s3bench.clients.store import ClientStore
from s3bench.errors import BadInput

_VERSION = re.compile(r"[0-9]+(\.[0-9]+)*((a|b|rc)[0-9]+)?(\.post[0-9]+)?(\.dev[0-9]+)?")


def package_of(spec: ClientSpec) -> str | None:
    """Name what to `install` for a client that was not found, as `aws-cli@2.38.5`; `None` when it has a path."""
    if spec.path:
        return None
    name = known_client(spec.kind).package.name
    return f"{name}@{spec.version}" if spec.version else name


def package_names() -> tuple[str, ...]:
    """What can be installed."""
    return tuple(dict.fromkeys(client.package.name for client in known_clients().values()))


def install(wanted: str, store: ClientStore, progress: InstallProgress) -> FoundClient:
    """Install the package of a client, with `@VERSION` or the newest; returns at once if it is already installed.

    Raises `BadInput` for another name, `ClientNotFound` if the index does not have it or cannot be reached.
    """
    client, version = _parsed(wanted)
    package = client.package
    if version is None or not package.is_at(store.find(package.name, version)):
        version = package.install(version, store, progress)
    return find_client(ClientSpec(kind=client.name, version=version), store)


def check_wanted(wanted: Sequence[str], store: ClientStore, progress: InstallProgress) -> None:
    """Raise what `install` would raise for a name or a version that does not exist, before any of several is installed.

    The versions of a single one are not looked up: `install` finds out before it installs anything.
    """
    parsed = [_parsed(each) for each in wanted]
    if len(parsed) == 1:
        return
    for client, version in parsed:
        package = client.package
        if version is not None and not package.is_at(store.find(package.name, version)):
            package.check_published(version, store, progress)


def _parsed(wanted: str) -> tuple[ClientDescriptor, str | None]:
    """The first client of the package in `NAME@VERSION`, and the version; `None` for the newest."""
    name, _, version = wanted.partition("@")
    client = _clients(name)[0]
    if version and not _VERSION.fullmatch(version):
        raise BadInput(
            f"`{wanted}`: `{version}` is not a version",
            fix=f"write numbers, as in `aws-cli@2.38.5`, or `{client.package.name}` for the newest",
        )
    return client, version or None


def _clients(name: str) -> tuple[ClientDescriptor, ...]:
    """The clients of the package `name`, or of the package of the client `name`."""
    if name in known_clients():
        name = known_client(name).package.name
    if clients := clients_of_package(name):
        return clients
    raise BadInput(f"there is no client `{name}` to install", fix=f"there are {', '.join(package_names())}")
