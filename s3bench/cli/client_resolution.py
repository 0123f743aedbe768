"""Client resolution: finds the clients of a plan before anything runs, and installs aws-cli v2 on first use."""

from collections.abc import Callable, Mapping
from os import environ

from s3bench.bench.suite import ReadyCell
from s3bench.cli.progress import Ticker
from s3bench.clients.client import FoundClient
from s3bench.clients.finding import find_client
from s3bench.clients.installing import by_line, install
from s3bench.clients.store import ClientStore
from s3bench.errors import ClientNotFound
from s3bench.spec.definition import AWS_CLI_KINDS
from s3bench.spec.plan import ClientSpec, Plan


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
    """The client, or why it is missing; an aws-cli without a version is installed when there is none."""
    try:
        return find_client(spec, store)
    except ClientNotFound as missing:
        if spec.kind not in AWS_CLI_KINDS or spec.version or spec.path:
            return missing
    say("no aws-cli v2 found: installing the newest (once)")
    try:
        install("aws-cli", store, by_line(say))
        return find_client(spec, store)
    except ClientNotFound as missing:
        return missing
