"""One run of a client: its inputs, and the resulting command line, environment and config."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from s3bench.clients.client import FoundClient
from s3bench.clients.environment import Credentials, EndpointFacts, Sandbox
from s3bench.errors import BadInput
from s3bench.spec.command import Transfer

PROBES = Path(__file__).parent / "probes"
"""What runs inside clients: `s3bench_probe`, and the program of our driver."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientLaunch:
    """What a client is to run: `command`, with the AWS `config`, against `endpoint` in `sandbox`.

    `transfer` is the result of `parse_transfer` for the command. `env` has the variables that every client gets,
    `directories` the names of the definition's directories.
    """

    found: FoundClient
    command: tuple[str, ...]
    config: str
    transfer: Transfer | None
    endpoint: EndpointFacts
    sandbox: Sandbox
    credentials: Credentials
    env: Mapping[str, str] = field(repr=False)
    directories: tuple[str, ...] = ()

    @property
    def portable_transfer(self) -> Transfer:
        """The transfer, for clients that run nothing else. Raises `BadInput` for commands that only aws-cli can run."""
        what = f"{self.found.label} cannot run this command"
        if self.transfer is None:
            raise BadInput(what, "only `s3 cp`, `mv`, `sync` and `rm` run on it", "name aws-cli")
        if not self.transfer.portable:
            raise BadInput(what, f"it uses {self.transfer.reason}", "name aws-cli")
        return self.transfer


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """What to start: `argv` in `sandbox.work`, with `env` and no other variable; `config_text` is its config file."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(repr=False)
    config_text: str
