"""The traits of clients that reading definitions needs.

Clients are declared in `s3bench.clients`, a layer above; callers pass the traits of all clients.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientTraits:
    """One client, by the `name` that definitions and `--client` use.

    `runs_any_command`: it runs a definition's command unchanged; every other client runs only S3 transfers.
    `is_default`: it runs the definitions that name no client. `transfer_words` are the values of
    `preferred_transfer_client` that stand for it. `config_block` is the block of a profile with its settings;
    `config_keys` are the keys of that block where it is the client's own, and empty for the block `s3`;
    `parse_config` parses any part of such a block and raises `BadInput`.
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
    runs_unnamed: bool = False


KnownClients = Mapping[str, ClientTraits]
"""The traits of every client, by its name, in the order in which clients are listed."""
