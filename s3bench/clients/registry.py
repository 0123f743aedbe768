"""Registry of all clients: those of the folders beside this module, and those that installed packages bring.

A package brings clients by an entry point of the group `s3bench.clients`, whose object is a tuple of
`ClientDescriptor`s; its name does not matter. They are loaded when clients are first requested. One that cannot be
loaded is left out with a warning; two clients with the same name are an error, since one of them could be measured in
place of the other.
"""

import importlib
import pkgutil
import warnings
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType

import s3bench.clients
from s3bench.clients.descriptor import ClientDescriptor
from s3bench.errors import BadInput
from s3bench.spec.reader import nearest, one_of

GROUP = "s3bench.clients"
"""The group of entry points."""


class BrokenClientPlugin(UserWarning):
    """A package declares clients that cannot be loaded."""


@cache
def known_clients() -> Mapping[str, ClientDescriptor]:
    """Every client by its name: ours in the order of their folders, then those of other packages.

    Raises `BadInput` if two have the same name. Warns about packages whose clients cannot be loaded.
    """
    return collect_clients(_own_clients(), entry_points(group=GROUP))


def known_client(name: str, *, said: str = "") -> ClientDescriptor:
    """The client `name`; raises `BadInput` with the nearest name. `said` is how the user wrote it."""
    clients = known_clients()
    if name not in clients:
        near = nearest(name, clients)
        fix = f"did you mean `{near}`? " if near else ""
        what = f"`{said or name}`: there is no client `{name}`"
        raise BadInput(what, fix=f"{fix}The clients are {one_of(clients)}")
    return clients[name]


def clients_of_package(name: str) -> tuple[ClientDescriptor, ...]:
    """The clients whose program is installed under `name`; none for an unknown one."""
    return tuple(client for client in known_clients().values() if client.package.name == name)


def collect_clients(own: Iterable[ClientDescriptor], brought: Iterable[EntryPoint]) -> Mapping[str, ClientDescriptor]:
    """Put `own` clients and those of entry points together; raises and warns as `known_clients`."""
    clients: dict[str, ClientDescriptor] = {}
    owners: dict[str, str] = {}
    for owner, descriptor in (*(("s3bench", each) for each in own), *_brought(brought)):
        if descriptor.name in clients:
            raise BadInput(
                f"two packages bring a client named `{descriptor.name}`: {owners[descriptor.name]} and {owner}",
                "it would be undetermined which of the two is measured",
                f"uninstall one of them, for example with `pip uninstall {owner.partition(' ')[0]}`",
            )
        clients[descriptor.name] = descriptor
        owners[descriptor.name] = owner
    return MappingProxyType(clients)


def _own_clients() -> Iterator[ClientDescriptor]:
    for folder in pkgutil.iter_modules(s3bench.clients.__path__, f"{s3bench.clients.__name__}."):
        if folder.ispkg:
            yield from getattr(importlib.import_module(folder.name), "CLIENTS", ())


def _brought(points: Iterable[EntryPoint]) -> Iterator[tuple[str, ClientDescriptor]]:
    for point in points:
        owner = f"{point.dist.name} {point.dist.version}" if point.dist else point.value
        try:
            descriptors = _loaded(point)
        except Exception as error:  # noqa: BLE001 (whatever another package's code raises)
            reason = f"{type(error).__name__}: {error}"
            message = f"the clients of the package {owner} cannot be loaded and are left out: {reason}"
            warnings.warn(message, BrokenClientPlugin, stacklevel=2)
            continue
        yield from ((owner, each) for each in descriptors)


def _loaded(point: EntryPoint) -> tuple[ClientDescriptor, ...]:
    descriptors = tuple(point.load())
    for each in descriptors:
        if not isinstance(each, ClientDescriptor):
            raise TypeError(f"{point.value} has {each!r}, which is not a ClientDescriptor")
    return descriptors
