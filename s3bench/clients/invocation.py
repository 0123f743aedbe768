"""One iteration's command line, environment and config file for the client under test.

Owns how each client is pointed at an endpoint: aws-cli gets the definition's command and config as they are, with what
selects the transfer client and our probe put in; everything else gets a translation (`driving`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from s3bench.clients.awsconfig import block_settings, with_s3_settings, with_section
from s3bench.clients.client import DRIVEN_KINDS, FoundClient, transfer_client_word
from s3bench.clients.driving import driver_command, s5cmd_command, s5cmd_settings, transfer_settings
from s3bench.clients.environment import (
    FAKE_CREDENTIALS,
    Credentials,
    EndpointFacts,
    Sandbox,
    own_credentials,
    sealed_environment,
)
from s3bench.errors import BadInput
from s3bench.spec.command import Transfer
from s3bench.spec.definition import Definition

_PROBES = Path(__file__).parent / "probes"
_PLUGIN = "s3bench_probe.plugin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """What to start: `argv` in `sandbox.work`, with `env` and no other variable; `config_text` is its config file."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(repr=False)
    config_text: str


def invocation(
    found: FoundClient, definition: Definition, transfer: Transfer | None, endpoint: EndpointFacts, sandbox: Sandbox
) -> Invocation:
    """How `found` runs the command of `definition`, with its config, against `endpoint`.

    `transfer` is what `parse_transfer` made of the command. Raises `BadInput` when this client cannot run it.
    """
    command, config = definition.command, definition.environment.config
    credentials = own_credentials() if endpoint.live else FAKE_CREDENTIALS
    env = sealed_environment(sandbox, endpoint, credentials)
    if found.is_aws_cli:
        env |= _python_path(found, sandbox)
        argv = _aws_cli_argv(found, command, endpoint)
        text = _aws_cli_config(found, command, config, endpoint, sandbox)
    else:
        argv = _translated(found, transfer, endpoint, config, credentials)
        text = config
    return Invocation(argv=argv, env=env, config_text=text)


def _translated(
    found: FoundClient, transfer: Transfer | None, endpoint: EndpointFacts, config: str, credentials: Credentials
) -> tuple[str, ...]:
    if transfer is None:
        raise BadInput(
            f"{found.label} cannot run this command", "only `s3 cp`, `mv`, `sync` and `rm` run on it", "name aws-cli"
        )
    if not transfer.portable:
        raise BadInput(f"{found.label} cannot run this command", f"it uses {transfer.reason}", "name aws-cli")
    settings = transfer_settings(block_settings(config, "s3"))
    if found.kind in DRIVEN_KINDS:
        return driver_command(found, transfer, endpoint, settings, region=credentials.region)
    return s5cmd_command(found, transfer, endpoint, settings, own=s5cmd_settings(block_settings(config, "s5cmd")))


def _aws_cli_argv(found: FoundClient, command: tuple[str, ...], endpoint: EndpointFacts) -> tuple[str, ...]:
    argv = (str(found.executable), *command)
    # `help` takes no options, and the variable AWS_ENDPOINT_URL is there too. The option is needed all the same: the
    # CRT of aws-cli 2.36 speaks TLS to a plain port when only the variable is given.
    if "help" in command or "--version" in command or any(word.startswith("--endpoint-url") for word in command):
        return argv
    return (*argv, "--endpoint-url", endpoint.url)


def _aws_cli_config(
    found: FoundClient, command: tuple[str, ...], config: str, endpoint: EndpointFacts, sandbox: Sandbox
) -> str:
    profile = _profile(command)
    word = transfer_client_word(found.kind, found.release)
    settings = {"preferred_transfer_client": word} if word else {}
    if not endpoint.live or "addressing_style" not in block_settings(config, "s3", profile=profile):
        settings["addressing_style"] = "path"
    text = with_s3_settings(config, settings, profile=profile)
    return _with_probe(found, text) if sandbox.probe_file or sandbox.stub_script else text


def _profile(command: tuple[str, ...]) -> str:
    for word, following in zip(command, (*command[1:], ""), strict=True):
        if word == "--profile":
            return following
        if word.startswith("--profile="):
            return word.partition("=")[2]
    return "default"


def _with_probe(found: FoundClient, text: str) -> str:
    if found.release[:1] == (1,):
        return with_section(text, "plugins", {"s3bench": _PLUGIN})
    return with_section(text, "plugins", {"cli_legacy_plugin_path": str(_PROBES), "s3bench": _PLUGIN})


def _python_path(found: FoundClient, sandbox: Sandbox) -> dict[str, str]:
    """Where v1 finds its packages and our probe; AWS's frozen v2 does not read PYTHONPATH."""
    if found.release[:1] != (1,):
        return {}
    probes = [_PROBES] if sandbox.probe_file or sandbox.stub_script else []
    path = ":".join(str(place) for place in (found.site, *probes) if place)
    return {"PYTHONPATH": path} if path else {}
