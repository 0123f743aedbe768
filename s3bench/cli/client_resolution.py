"""Client resolution: finds the clients of a plan before anything runs, and installs some packages on first use."""

from collections.abc import Callable, Mapping
from os import environ

from s3bench.bench.suite import ReadyCell
from s3bench.cli.progress import Ticker
from s3bench.clients.client import ClientSpec, FoundClient
from s3bench.clients.finding import find_client
from s3bench.clients.installing import by_line, install
from s3bench.clients.plan import Plan
from s3bench.clients.registry import known_client
from s3bench.clients.store import ClientStore
from s3bench.errors import ClientNotFound


def ready_cells(plan: Plan, progress: Ticker) -> tuple[ReadyCell, ...]:
    """Each cell of `plan` with its client, or with the reason why that cannot be run here."""
    store = ClientStore.from_environment(environ)
    specs = dict.fromkeys(cell.client for cell in plan.cells)
    found: Mapping[ClientSpec, FoundClient | ClientNotFound] = {
        spec: find_or_install(spec, store, progress.say) for spec in specs
    }
    for client in dict.fromkeys(found.values()):
        if isinstance(client, FoundClient):
            progress.say(f"{client.label}: {client.executable}")
    return tuple(ReadyCell(cell=cell, client=found[cell.client]) for cell in plan.cells)


def find_or_install(spec: ClientSpec, store: ClientStore, say: Callable[[str], None]) -> FoundClient | ClientNotFound:
    """The client, or why it is missing; some packages are installed when there is none and no version is asked for."""
    try:
        return find_client(spec, store)
    except ClientNotFound as missing:
        package = known_client(spec.kind).package
        if not package.is_fetched_on_first_use or spec.version or spec.path:
            return missing
    say(f"no {package.name} found: installing the newest (once)")
    try:
        install(package.name, store, by_line(say))
        return find_client(spec, store)
    except ClientNotFound as missing:
        return missing
