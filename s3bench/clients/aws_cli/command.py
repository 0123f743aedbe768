"""aws-cli's own command line, config and environment: the definition's, with what points and probes it put in."""

from s3bench.clients.awsconfig import block_settings, with_section, with_settings
from s3bench.clients.client import FoundClient
from s3bench.clients.environment import EndpointFacts, Sandbox
from s3bench.clients.launch import PROBES, ClientLaunch, Invocation

_PLUGIN = "s3bench_probe.plugin"
_CLASSIC_WORD_SINCE = (2, 17)


def invoke_aws_cli(launch: ClientLaunch, transfer_client: str) -> Invocation:
    """Run the command as it stands, with the transfer client `transfer_client` (empty: as the config has it)."""
    found, sandbox = launch.found, launch.sandbox
    return Invocation(
        argv=_argv(launch),
        env={**launch.env, **_python_path(found, sandbox)},
        config_text=_config(found, transfer_client, launch.config, launch.endpoint, sandbox),
    )


def transfer_client_word(transfer_client: str, release: tuple[int, ...]) -> str:
    """What `preferred_transfer_client` has to be for this aws-cli; empty where it is left alone.

    v1 has one transfer client only. Every v2 takes `default` for `classic`, so the border between the two words need
    not be exact; an unknown release is taken for a new one.
    """
    if transfer_client != "classic":
        return transfer_client
    if release[:1] == (1,):
        return ""
    return "default" if release and release < _CLASSIC_WORD_SINCE else "classic"


def _argv(launch: ClientLaunch) -> tuple[str, ...]:
    command = launch.command
    argv = (str(launch.found.executable), *command)
    # `help` takes no options, and the variable AWS_ENDPOINT_URL is there too. The option is needed all the same: the
    # CRT of aws-cli 2.36 speaks TLS to a plain port when only the variable is given.
    is_help = launch.transfer is None and command[-1:] == ("help",)
    return argv if is_help or "--version" in command else (*argv, "--endpoint-url", launch.endpoint.url)


def _config(found: FoundClient, transfer_client: str, config: str, endpoint: EndpointFacts, sandbox: Sandbox) -> str:
    word = transfer_client_word(transfer_client, found.release)
    settings = {"preferred_transfer_client": word} if word else {}
    if not endpoint.live or "addressing_style" not in block_settings(config, "s3"):
        settings["addressing_style"] = "path"
    text = with_settings(config, settings)
    return _with_probe(found, text) if sandbox.probe_file or sandbox.stub_script else text


def _with_probe(found: FoundClient, text: str) -> str:
    if found.release[:1] == (1,):
        return with_section(text, "plugins", {"s3bench": _PLUGIN})
    return with_section(text, "plugins", {"cli_legacy_plugin_path": str(PROBES), "s3bench": _PLUGIN})


def _python_path(found: FoundClient, sandbox: Sandbox) -> dict[str, str]:
    """Where v1 finds its packages and our probe; AWS's frozen v2 does not read PYTHONPATH."""
    if found.release[:1] != (1,):
        return {}
    probes = [PROBES] if sandbox.probe_file or sandbox.stub_script else []
    path = ":".join(str(place) for place in (found.site, *probes) if place)
    return {"PYTHONPATH": path} if path else {}
