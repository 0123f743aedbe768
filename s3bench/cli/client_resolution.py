"""Client resolution: finds clients before anything runs, and installs published versions that are missing."""

from collections.abc import Iterable, Mapping, Sequence
from os import environ

from s3bench.bench.suite import ReadyCell
from s3bench.cli.progress import Ticker
from s3bench.clients.client import ClientSpec, FoundClient
from s3bench.clients.finding import find_client
from s3bench.clients.installing import install, package_of
from s3bench.clients.plan import Plan
from s3bench.clients.registry import known_client
from s3bench.clients.search import given_path
from s3bench.clients.store import ClientStore
from s3bench.errors import BadInput, ClientNotFound, VersionNotFound


def ready_cells(plan: Plan, progress: Ticker) -> tuple[ReadyCell, ...]:
    """Each cell of `plan` with its client, or with the reason why that cannot be run here.

    Raises `BadInput` if a cell names a path where nothing is, `VersionNotFound` for a version that was never published.
    """
    store = ClientStore.from_environment(environ)
    specs = dict.fromkeys(cell.client for cell in plan.cells)
    refuse_missing_paths(specs)
    found: Mapping[ClientSpec, FoundClient | ClientNotFound] = {
        spec: find_or_install(spec, store, progress) for spec in specs
    }
    for client in dict.fromkeys(found.values()):
        if isinstance(client, FoundClient):
            progress.say(f"{client.label}: {client.executable}")
    return tuple(ReadyCell(cell=cell, client=found[cell.client]) for cell in plan.cells)


def found_clients(specs: Sequence[ClientSpec], progress: Ticker) -> list[FoundClient]:
    """The client of each of `specs`. Raises `ClientNotFound` if one is missing, `BadInput` if a path is."""
    store = ClientStore.from_environment(environ)
    refuse_missing_paths(specs)
    clients = []
    for spec in specs:
        found = find_or_install(spec, store, progress)
        if isinstance(found, ClientNotFound):
            raise found
        progress.say(f"{found.label}: {found.executable}")
        clients.append(found)
    return clients


def refuse_missing_paths(specs: Iterable[ClientSpec]) -> None:
    """Raise `BadInput` if one of `specs` names a path where nothing is; called before other clients are installed."""
    for spec in specs:
        if spec.path and not given_path(spec).exists():
            raise BadInput(
                f"{spec}: no such file or directory",
                f"it would be {given_path(spec)}",
                "pass the path of a program or of a Python environment, or a published version",
            )


def find_or_install(spec: ClientSpec, store: ClientStore, progress: Ticker) -> FoundClient | ClientNotFound:
    """The client, or why it is missing.

    A missing published version that `spec` names is installed, and so are some packages when there is none at all.
    Raises `VersionNotFound` if that version was never published.
    """
    try:
        return find_client(spec, store)
    except ClientNotFound as missing:
        wanted = package_of(spec)
        if wanted is None or not (spec.version or known_client(spec.kind).package.is_fetched_on_first_use):
            return missing
    progress.say(f"no {wanted} found: installing it (once)")
    try:
        with progress.installing() as note:
            install(wanted, store, note)
        return find_client(spec, store)
    except VersionNotFound:
        raise
    except ClientNotFound as missing:
        return missing
