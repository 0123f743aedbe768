"""What a shell completes beside commands and options: clients, packages and files; nothing is run or fetched."""

import os
import warnings
from collections.abc import Iterable

import click
from click.shell_completion import CompletionItem

from s3bench.errors import S3BenchError


def complete_client(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The clients, and of each the versions that `s3bench clients install` has installed."""
    return _beginning(_clients(), incomplete)


def complete_clients(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The same for the last of several clients, between commas."""
    before, comma, last = incomplete.rpartition(",")
    return [CompletionItem(f"{before}{comma}{item.value}") for item in _beginning(_clients(), last)]


def complete_package(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The packages that `s3bench clients install` installs."""
    return _beginning(dict.fromkeys(name for _, name in _packages()), incomplete)


def complete_file(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Files, as the shell completes them."""
    return [CompletionItem(incomplete, type="file")]


def complete_directory(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Directories, as the shell completes them."""
    return [CompletionItem(incomplete, type="dir")]


def _beginning(texts: Iterable[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(text) for text in texts if text.startswith(incomplete)]


def _clients() -> Iterable[str]:
    from s3bench.clients.store import ClientStore  # noqa: PLC0415 (`--help` does without)

    store = ClientStore.from_environment(os.environ)
    for client, package in _packages():
        yield client
        yield from (f"{client}@{version}" for version in store.versions(package))


def _packages() -> list[tuple[str, str]]:
    """Every client and its package; none if they cannot be read, since a shell has no place for errors."""
    from s3bench.clients.registry import known_clients  # noqa: PLC0415 (as above)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return [(name, client.package.name) for name, client in known_clients().items()]
        except S3BenchError:
            return []
