"""Lists the clients that this machine has: all versions in the store, on PATH and in our own environment.

Each client's `find` decides which programs are usable.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from s3bench.clients.client import ClientSpec, FoundClient
from s3bench.clients.finding import find_client
from s3bench.clients.package import ClientPackage
from s3bench.clients.registry import known_clients
from s3bench.clients.search import programs_on_path
from s3bench.clients.store import ClientStore
from s3bench.errors import ClientNotFound


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledProgram:
    """An installed program and the clients that it can be.

    `default_for` are the clients for which it is used when no version is requested. `problem` explains why it cannot be
    used for a client that a program of its name normally provides; empty if there is none.
    """

    name: str
    version: str
    path: Path
    detail: str
    clients: tuple[str, ...]
    default_for: tuple[str, ...]
    problem: str


def take_inventory(store: ClientStore, environment: Mapping[str, str] | None = None) -> tuple[InstalledProgram, ...]:
    """List everything that was found, by name, newest version first."""
    environment = os.environ if environment is None else environment
    defaults = {kind: _try(ClientSpec(kind=kind), store, environment) for kind in known_clients()}
    programs = []
    seen: set[tuple[str, Path, Path | None]] = set()
    for package in dict.fromkeys(client.package for client in known_clients().values()):
        for places in _places(package, store, environment):
            program, identity = _program(package, places, store, environment, defaults)
            if program is not None and identity not in seen:
                seen.add(identity)
                programs.append(program)
    return tuple(programs)


def _places(package: ClientPackage, store: ClientStore, environment: Mapping[str, str]) -> Iterator[dict[str, str]]:
    for version in store.versions(package.name):
        yield {"version": version}
    if package.is_in_own_environment:
        yield {}
    for path in programs_on_path(package.program, environment.get("PATH", "")):
        yield {"path": str(path)}


def _program(
    package: ClientPackage,
    place: dict[str, str],
    store: ClientStore,
    environment: Mapping[str, str],
    defaults: Mapping[str, FoundClient | ClientNotFound],
) -> tuple[InstalledProgram | None, tuple[str, Path, Path | None]]:
    kinds = [name for name, client in known_clients().items() if client.package == package]
    tried = {kind: _try(ClientSpec(kind=kind, **place), store, environment) for kind in kinds}
    found = {kind: client for kind, client in tried.items() if isinstance(client, FoundClient)}
    refused = [error for error in tried.values() if isinstance(error, ClientNotFound)]
    if not found:
        return None, (package.name, Path(), None)
    one = next(iter(found.values()))
    program = InstalledProgram(
        name=package.name,
        version=one.version,
        path=one.site or one.executable,
        detail=one.detail,
        clients=tuple(found),
        default_for=tuple(kind for kind, client in found.items() if _same(client, defaults[kind])),
        problem="; ".join(dict.fromkeys(error.why for error in refused if error.why)),
    )
    return program, (package.name, one.executable, one.site)


def _try(spec: ClientSpec, store: ClientStore, environment: Mapping[str, str]) -> FoundClient | ClientNotFound:
    try:
        return find_client(spec, store, environment=environment)
    except ClientNotFound as error:
        return error


def _same(one: FoundClient, other: FoundClient | ClientNotFound) -> bool:
    return isinstance(other, FoundClient) and (one.executable, one.site) == (other.executable, other.site)
