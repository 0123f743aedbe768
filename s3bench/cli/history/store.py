"""Finds and opens the history that `--store` names."""

import os
from contextlib import AbstractContextManager

from s3bench.clients.store import ClientStore
from s3bench.history.address import Address, parse_address
from s3bench.history.store import History, open_history


def store_address(store: str | None) -> Address:
    """The address of the history that `--store` names."""
    return parse_address(store, data_folder=ClientStore.from_environment(os.environ).root)


def open_store(store: str | None, *, create: bool = False) -> AbstractContextManager[History]:
    """Open the history that `--store` names; with `create` it may be created."""
    return open_history(store_address(store), create=create)
