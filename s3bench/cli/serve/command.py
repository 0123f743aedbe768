"""`s3bench serve`: the stub or the emulator alone, for any client, until it is told to stop."""

import ipaddress
import os
import time
from contextlib import ExitStack
from typing import Any

import click
import msgspec

from s3bench.cli.serve.log import ServerLog
from s3bench.cli.serve.options import (
    DOMAIN,
    Checked,
    ServeOptions,
    check_options,
)
from s3bench.cli.serve.request_log import LogFormat
from s3bench.cli.serve.status import voice_for_stderr
from s3bench.cli.stop import StopSignal
from s3bench.clients.pointing import SECRET_VARIABLE, ServerAddress, pointing_lines
from s3bench.run.owner import workspace_parent
from s3bench.run.workspace import Workspaces
from s3bench.s3.emulator.settings import MEMORY_LIMIT_BYTES, REGION
from s3bench.s3.endpoint import LOOPBACK, EmulatorEndpoint, ServerProcess, StubEndpoint
from s3bench.s3.network.model import describe
from s3bench.spec.definition import DEFAULT_RESPONSES
from s3bench.spec.listing import expand_listings
from s3bench.spec.plan import title
from s3bench.units import render_bytes

_LOOK_S = 0.25
_REQUESTS_A_LOOK = 500  # the server answers nobody while it hands its log over, so it does that in small pieces


@click.command("serve", context_settings={"max_content_width": 120})
@click.option("--host", default=LOOPBACK, show_default=True, metavar="ADDRESS", help="Listen here.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="Listen on this port; 0: a free one."
)
@click.option("--tls", is_flag=True, help="HTTPS, with a certificate of our own.")
@click.option("--json", "as_json", is_flag=True, help="Announce the URL as a JSON object, with `ca_bundle` and more.")
@click.option(
    "--log",
    type=click.Choice([form.value for form in LogFormat]),
    default=LogFormat.TEXT.value,
    show_default=True,
    help="A line for each request on stderr: for people, as JSON, or none.",
)
@click.option(
    "--network", metavar="MODEL", help="Impose a network model: ec2:c5.large, a JSON file, ttfb=20ms,bandwidth=93MB/s."
)
@click.option(
    "--data-dir", metavar="DIR", help="Serve the files below DIR read-only; its subdirectories are the buckets."
)
@click.option("--bucket", "buckets", multiple=True, metavar="NAME", help="Have this bucket; repeat for several.")
@click.option(
    "--memory-limit",
    metavar="SIZE",
    help=f"Most memory for objects.  [default: {render_bytes(MEMORY_LIMIT_BYTES)}]",
)
@click.option("--discard", is_flag=True, help="Keep sizes and checksums alone; reads get made-up data of that size.")
@click.option("--access-key", metavar="KEY", help="Take requests signed with this key alone ...")
@click.option(
    "--secret-key",
    metavar="KEY",
    help=f"... and this secret; set {SECRET_VARIABLE} instead to keep it out of the list of processes.",
)
@click.option("--region", metavar="NAME", help=f"The region of the buckets.  [default: {REGION}]")
@click.option(
    "--domain", metavar="NAME", help=f"What follows the bucket in virtual-hosted requests.  [default: {DOMAIN}]"
)
@click.option(
    "--etag",
    type=click.Choice(["auto", "md5"]),
    help="md5: the ETag of every object is its MD5, however large.  [default: auto]",
)
@click.option(
    "--stub", metavar="DEFINITIONS", help="Answer with the responses of a definition in this file, not as an emulator."
)
@click.option("-k", "select", metavar="EXPRESSION", help="With --stub: which definition, as for `s3bench run`.")
def serve_command(**options: Any) -> None:
    """Serve an S3 in memory (the emulator), or the scripted responses of a definition (the stub), to any client.

    \b
    s3bench serve                                        an emulator on a free port of this machine
    s3bench serve --port 9000 --bucket data --tls        with a bucket, over HTTPS
    s3bench serve --network ec2:c5.large --log none      behind a link of 949 MB/s, 93 MB/s per connection
    s3bench serve --stub benchmarks.json -k 'cp and 32MB and upload'
    s3bench serve --json --log json > up.json 2> requests.jsonl &

    The first line of stdout is the URL, once connections are accepted; everything else goes to stderr. Ctrl-C and
    SIGTERM stop it: that is how it ends, so the exit code is 0.
    """
    _serve(ServeOptions(**options))


class Announcement(msgspec.Struct, frozen=True, kw_only=True):
    """What `--json` prints. Signal `pid` to stop; `server_pid` is the process that answers, for whoever measures it."""

    url: str
    endpoint: str
    host: str
    port: int
    ca_bundle: str | None
    pid: int
    server_pid: int


def _serve(options: ServeOptions) -> None:
    checked = check_options(options)
    with StopSignal() as stop, ExitStack() as stack:
        server, warnings = _started(options, checked, stack)
        click.echo(_announced(options, server))
        voice = stack.enter_context(voice_for_stderr())
        log = ServerLog(LogFormat(options.log), voice, started_s=time.monotonic())
        if not ipaddress.ip_address(checked.address.partition("%")[0]).is_loopback:
            log.remark("warning", f"other machines can reach {checked.address}, because --host says so{_open(checked)}")
        for text in warnings:
            log.remark("warning", text)
        log.introduce(_introduction(checked, server))
        pending = 0
        while not stop.wait(0 if pending else _LOOK_S):
            drained = server.drain(requests_max=0 if options.log == LogFormat.NONE else _REQUESTS_A_LOOK)
            log.look(drained)
            pending = drained.pending
        log.end(server.collect(), ended_s=time.monotonic())


def _started(options: ServeOptions, checked: Checked, stack: ExitStack) -> tuple[ServerProcess, tuple[str, ...]]:
    """Start the server and arm it; gives its warnings too."""
    workspaces = stack.enter_context(Workspaces(parent=workspace_parent(os.environ)))
    directory = workspaces.root / "server"
    directory.mkdir(mode=0o700)
    domain = checked.settings.domain
    where: dict[str, Any] = {
        "directory": directory,
        "tls": options.tls,
        "host": checked.address,
        "port": options.port,
        "names": (options.host, domain, f"*.{domain}"),
    }
    definition = checked.definition
    if definition is None:
        emulator = stack.enter_context(EmulatorEndpoint(**where))
        return emulator, emulator.arm(checked.settings, network=checked.network)
    workspace = stack.enter_context(workspaces.open(definition.environment))
    given = DEFAULT_RESPONSES if definition.responses is None else definition.responses
    stub = stack.enter_context(StubEndpoint(**where))
    stub.arm(expand_listings(given, definition.environment), workspace=workspace.pristine, verify=True)
    return stub, ()


def _announced(options: ServeOptions, server: ServerProcess) -> str:
    if not options.as_json:
        return server.url
    announcement = Announcement(
        url=server.url,
        endpoint=options.kind,
        host=server.host,
        port=server.port,
        ca_bundle=str(server.ca_bundle) if server.ca_bundle else None,
        pid=os.getpid(),
        server_pid=server.pid,
    )
    return msgspec.json.encode(announcement).decode()


def _introduction(checked: Checked, server: ServerProcess) -> list[str]:
    """What is served, and how to point clients at it, in lines for people."""
    settings = checked.settings
    what = f"the stub of {title(checked.definition)}" if checked.definition else "the emulator"
    lines = [f"s3bench: {what} at {server.url}; Ctrl-C stops it"]
    if settings.data_dir:
        lines.append(f"s3bench: read-only from {settings.data_dir}")
    if checked.network:
        lines.append(f"s3bench: network: {describe(checked.network)}")
    target = ServerAddress(
        url=server.url, region=settings.region, access_key=settings.access_key, ca_bundle=server.ca_bundle
    )
    if settings.access_key:
        lines.append(f"s3bench: below, {SECRET_VARIABLE} is to hold the secret key")
    return [*lines, *(f"  {name + ':':<13}{line}" for name, line in pointing_lines(target))]


def _open(checked: Checked) -> str:
    return "" if checked.settings.access_key else "; any credentials are accepted"
