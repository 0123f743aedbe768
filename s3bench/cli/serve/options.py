"""The options of `s3bench serve`: their meaning, and all checks before anything starts."""

import os
import socket
from dataclasses import dataclass
from pathlib import Path

from s3bench.cli.buckets import check_bucket_names
from s3bench.clients.plan import plan_runs, title
from s3bench.clients.pointing import SECRET_VARIABLE
from s3bench.clients.registry import known_clients
from s3bench.errors import BadInput
from s3bench.s3.emulator.settings import DOMAIN, MEMORY_LIMIT_BYTES, REGION, EmulatorSettings
from s3bench.s3.endpoint import LOOPBACK
from s3bench.s3.network.model import NetworkModel, parse_network
from s3bench.spec.definition import Definition
from s3bench.spec.parse import read_definitions


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """The options of `s3bench serve`, as typed."""

    host: str
    port: int
    tls: bool
    as_json: bool
    log: str
    network: str | None
    data_dir: str | None
    buckets: tuple[str, ...]
    memory_limit: int | None
    discard: bool
    access_key: str | None
    secret_key: str | None
    region: str | None
    domain: str | None
    etag: str | None
    stub: Path | None
    select: str | None

    @property
    def kind(self) -> str:
        """What is served: `stub` or `emulator`."""
        return "stub" if self.stub else "emulator"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedServeOptions:
    """The parsed and checked options."""

    address: str
    settings: EmulatorSettings
    network: NetworkModel | None
    definition: Definition | None


def check_options(options: ServeOptions) -> CheckedServeOptions:
    """Check the options before anything starts. Raises `BadInput`."""
    if options.stub:
        _refuse_combination(options, "--stub", "the stub serves only the responses of its definition", _EMULATORS)
    elif options.select is not None:
        raise BadInput("-k needs --stub", "it selects one of the stub's definitions", "add --stub DEFINITIONS")
    if options.data_dir is not None:
        _refuse_combination(options, "--data-dir", "a directory is served read-only, as it is", _STORAGE)
        if not Path(options.data_dir).is_dir():
            raise BadInput(f"--data-dir {options.data_dir}: no such directory", fix="pass an existing directory")
    return CheckedServeOptions(
        address=_resolve(options.host),
        settings=_settings(options),
        network=None if options.network is None else parse_network(options.network),
        definition=None if options.stub is None else _definition(options.stub, options.select),
    )


_STORAGE = {"buckets": "--bucket", "memory_limit": "--memory-limit", "discard": "--discard", "etag": "--etag"}
_EMULATORS = _STORAGE | {
    "network": "--network",
    "data_dir": "--data-dir",
    "access_key": "--access-key",
    "secret_key": "--secret-key",
    "region": "--region",
    "domain": "--domain",
}


def _refuse_combination(options: ServeOptions, with_option: str, why: str, others: dict[str, str]) -> None:
    given = [option for name, option in others.items() if getattr(options, name)]
    if given:
        raise BadInput(
            f"{with_option} cannot be combined with {', '.join(given)}", why, f"remove {given[0]} or {with_option}"
        )


def _settings(options: ServeOptions) -> EmulatorSettings:
    _refuse_empty("--access-key", options.access_key, "to accept any credentials")
    _refuse_empty("--secret-key", options.secret_key, f"to use {SECRET_VARIABLE}")
    _refuse_empty("--region", options.region, f"to use {REGION}")
    _refuse_empty("--domain", options.domain, f"to use {DOMAIN}")
    secret_key = options.secret_key
    if secret_key is None and options.access_key is not None:
        secret_key = os.environ.get(SECRET_VARIABLE)
    if bool(options.access_key) is not bool(secret_key):
        raise BadInput(
            "--access-key and --secret-key need each other",
            "verifying signatures needs both",
            f"pass both, or the secret in {SECRET_VARIABLE}; with neither of them any credentials are accepted",
        )
    check_bucket_names(options.buckets)
    return EmulatorSettings(
        memory_limit_bytes=options.memory_limit or MEMORY_LIMIT_BYTES,
        discard=options.discard,
        data_dir=None if options.data_dir is None else str(Path(options.data_dir).absolute()),
        md5_always=options.etag == "md5",
        access_key=options.access_key,
        secret_key=secret_key,
        region=options.region or REGION,
        domain=options.domain or DOMAIN,
        buckets=options.buckets,
    )


def _refuse_empty(option: str, value: str | None, purpose: str) -> None:
    if value is not None and not value.strip():
        raise BadInput(
            f"{option} is empty", "its value may come from a variable that is not set", f"remove {option} {purpose}"
        )


def _definition(file: Path, select: str | None) -> Definition:
    """The definition to serve."""
    plan = plan_runs(read_definitions(file, known_clients()), clients=(), select=select)
    selected = tuple(dict.fromkeys(cell.definition for cell in plan.cells))
    if len(selected) > 1:
        names = "\n".join(f"  {title(definition)}" for definition in selected)
        raise BadInput(
            f"--stub {file}: {len(selected)} definitions are selected, but only one can be served",
            f"they are\n{names}",
            "select one with -k, for example -k 'cp and upload and 32MB'",
        )
    return selected[0]


def _resolve(host: str) -> str:
    """The address of `host`, preferably IPv4."""
    try:
        found = socket.getaddrinfo(host or "no host", None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise BadInput(
            f"--host {host}: no such address", error.strerror or "", f"remove --host to listen on {LOOPBACK}"
        ) from error
    family, *_, address = min(found, key=lambda item: item[0] is not socket.AF_INET)
    assert family in {socket.AF_INET, socket.AF_INET6}
    return str(address[0])
