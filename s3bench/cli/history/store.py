"""Opens the history that `--store` names."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from s3bench.clients.store import ClientStore
from s3bench.history.address import parse_address
from s3bench.history.store import History, open_history


@contextmanager
def open_store(store: str | None, *, create: bool = False) -> Iterator[History]:
    """Open the history that `--store` names; with `create` it may be created."""
    data_folder = ClientStore.from_environment(os.environ).root
    with open_history(parse_address(store, data_folder=data_folder), create=create) as history:
        yield history
