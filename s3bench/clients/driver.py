"""Command line of our driver, the program that runs clients that are libraries.

`probes/s3bench_driver.py` is the program. A client brings a directory with the module `s3bench_driver_backend`, whose
function `make_backend` gives the library behind the interface of `s3bench_probe.transfers`; the name keeps it out of
the list of modules that a client has imported.
"""

import json
from pathlib import Path

from s3bench.clients.awsconfig import block_settings
from s3bench.clients.client import FoundClient
from s3bench.clients.environment import EndpointFacts
from s3bench.clients.launch import PROBES, ClientLaunch, Invocation
from s3bench.clients.transfer_settings import transfer_settings
from s3bench.spec.command import S3, Local, Transfer

DRIVER = PROBES / "s3bench_driver.py"
"""The program."""


def invoke_driver(launch: ClientLaunch, backend: Path, settings: dict[str, int | str] | None = None) -> Invocation:
    """Have the driver run the transfer with the backend in the directory `backend`.

    `settings` are those of the config's `s3` block unless they are given.
    """
    transfer = launch.portable_transfer
    if settings is None:
        settings = transfer_settings(block_settings(launch.config, "s3"))
    argv = driver_command(
        launch.found, transfer, launch.endpoint, settings, region=launch.credentials.region, backend=backend
    )
    return Invocation(argv=argv, env=launch.env, config_text=launch.config)


def driver_command(
    found: FoundClient,
    transfer: Transfer,
    endpoint: EndpointFacts,
    settings: dict[str, int | str],
    *,
    region: str,
    backend: Path,
) -> tuple[str, ...]:
    """Make the command line of the driver."""
    request = {
        "kind": found.kind,
        "backend": str(backend),
        "endpoint_url": endpoint.url,
        "ca_bundle": str(endpoint.ca_bundle) if endpoint.ca_bundle else None,
        "region": region,
        "site": str(found.site) if found.site else None,
        "settings": settings,
        "command": {
            "verb": str(transfer.verb),
            "direction": str(transfer.direction),
            "recursive": transfer.recursive,
            "delete": transfer.delete,
            "filters": [[rule.include, rule.pattern] for rule in transfer.filters],
            "source": _place(transfer.source),
            "destination": _place(transfer.destination),
        },
    }
    return str(found.executable), str(DRIVER), json.dumps(request, separators=(",", ":"))


def _place(location: Local | S3 | None) -> dict[str, str] | None:
    if location is None:
        return None
    return {"path": location.path} if isinstance(location, Local) else {"bucket": location.bucket, "key": location.key}
