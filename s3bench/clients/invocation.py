"""One iteration's command line, environment and config file for the client under test."""

from s3bench.clients.client import FoundClient
from s3bench.clients.environment import FAKE_CREDENTIALS, EndpointFacts, Sandbox, own_credentials, sealed_environment
from s3bench.clients.launch import ClientLaunch, Invocation
from s3bench.clients.registry import known_client
from s3bench.spec.command import Transfer
from s3bench.spec.definition import Definition


def invocation(
    found: FoundClient, definition: Definition, transfer: Transfer | None, endpoint: EndpointFacts, sandbox: Sandbox
) -> Invocation:
    """How `found` runs the command of `definition`, with its config, against `endpoint`.

    `transfer` is the result of `parse_transfer` for the command. Raises `BadInput` when this client cannot run it.
    """
    credentials = own_credentials() if endpoint.live else FAKE_CREDENTIALS
    launch = ClientLaunch(
        found=found,
        command=definition.command,
        config=definition.environment.config,
        transfer=transfer,
        endpoint=endpoint,
        sandbox=sandbox,
        credentials=credentials,
        env=sealed_environment(sandbox, endpoint, credentials),
        directories=tuple(each.name for each in definition.environment.directories),
    )
    return known_client(found.kind).invoke(launch)
