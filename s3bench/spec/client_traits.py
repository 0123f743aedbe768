"""The traits of clients that reading definitions needs.

Clients are declared in `s3bench.clients`, a layer above; callers pass the traits of all clients.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

TRANSFER_CLIENT = "S3TransferClient"
TRANSFER_CLIENTS = {"python": "Classic", "crt": "CRT"}
"""The dimension that separates Classic from CRT, and its values by transfer engine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientTraits:
    """One client, by the `name` that definitions and `--client` use.

    `runs_any_command`: it runs a definition's command unchanged; every other client runs only S3 transfers.
    `is_default`: it runs the definitions that name no client. `transfer_words` are the values of
    `preferred_transfer_client` that stand for it. `config_block` is the block of a profile with its settings;
    `config_keys` are the keys of that block where it is the client's own, and empty for the block `s3`;
    `parse_config` parses any part of such a block and raises `BadInput`.
    `engine` is the transfer engine that moves its object data, as the wire shows it; `None` if its config chooses.
    `runs_unnamed`: selected by `--client`, it also runs transfers whose definition names other clients, at least one of
    them a client that runs only transfers; such definitions were written without knowing this client.
    """

    name: str
    runs_any_command: bool = False
    is_default: bool = False
    transfer_words: frozenset[str] = frozenset()
    config_block: str = "s3"
    config_keys: frozenset[str] = frozenset()
    parse_config: Callable[[Mapping[str, str]], object] | None = None
    engine: str | None = None
    runs_unnamed: bool = False


KnownClients = Mapping[str, ClientTraits]
"""The traits of every client, by its name, in the order in which clients are listed."""


def named_engine(dimensions: Iterable[tuple[str, str]]) -> str | None:
    """The transfer engine that the dimension `S3TransferClient` names; `None` without it, or for another word."""
    value = dict(dimensions).get(TRANSFER_CLIENT)
    return next((engine for engine, word in TRANSFER_CLIENTS.items() if word == value), None)
