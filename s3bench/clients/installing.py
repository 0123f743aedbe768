"""Installs a client under test into the store. Nothing that is installed is executed during the installation."""

import re

from s3bench.clients.client import ClientSpec, FoundClient
from s3bench.clients.descriptor import ClientDescriptor
from s3bench.clients.finding import find_client
from s3bench.clients.package import InstallProgress
from s3bench.clients.registry import clients_of_package, known_client, known_clients
from s3bench.clients.store import ClientStore
from s3bench.errors import BadInput

_VERSION = re.compile(r"[0-9]+(\.[0-9]+)*((a|b|rc|\.dev|\.post)[0-9]+)*")


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
    name, _, version = wanted.partition("@")
    clients = _clients(name)
    package = clients[0].package
    if version and not _VERSION.fullmatch(version):
        raise BadInput(
            f"`{wanted}`: `{version}` is not a version",
            fix=f"write `{package.name}@2.38.5`, or `{package.name}` for the newest",
        )
    if not version or not store.place(package.name, version).is_dir():
        version = package.install(version or None, store, progress)
    return find_client(ClientSpec(kind=clients[0].name, version=version), store)


def _clients(name: str) -> tuple[ClientDescriptor, ...]:
    """The clients of the package `name`, or of the package of the client `name`."""
    if name in known_clients():
        name = known_client(name).package.name
    if clients := clients_of_package(name):
        return clients
    raise BadInput(f"there is no client `{name}` to install", fix=f"there are {', '.join(package_names())}")
