"""Runs the stub or the emulator of `s3bench serve`, with its log and status, until it is stopped."""

import ipaddress
import os
import time
from contextlib import ExitStack
from typing import Any

import click
import msgspec

from s3bench.cli.serve.log import ServerLog
from s3bench.cli.serve.options import CheckedServeOptions, ServeOptions, check_options
from s3bench.cli.serve.request_log import LogFormat
from s3bench.cli.serve.status import status_for_stderr
from s3bench.cli.stop import StopSignal
from s3bench.clients.environment import ServerAddress
from s3bench.clients.plan import title
from s3bench.clients.pointing import SECRET_VARIABLE, pointing_lines
from s3bench.run.owner import workspace_parent
from s3bench.run.workspace import Workspaces
from s3bench.s3.endpoint import EmulatorEndpoint, ServerProcess, StubEndpoint
from s3bench.s3.network.model import describe
from s3bench.s3.server.recorder import RECORDS_MAX
from s3bench.spec.definition import DEFAULT_RESPONSES
from s3bench.spec.listing import expand_listings

_POLL_S = 0.25
_REQUESTS_PER_POLL = 500  # the server cannot respond while it hands over its log, so it does that in small pieces


class Announcement(msgspec.Struct, frozen=True, kw_only=True):
    """The output of `--json`. Signal `pid` to stop; `server_pid` is the process that serves, for measuring it."""

    url: str
    endpoint: str
    host: str
    port: int
    ca_bundle: str | None
    pid: int
    server_pid: int


def serve(options: ServeOptions) -> None:
    """Serve until SIGINT or SIGTERM."""
    checked = check_options(options)
    with StopSignal() as stop, ExitStack() as stack:
        server, warnings = _started(options, checked, stack)
        click.echo(_announced(options, server))
        status = stack.enter_context(status_for_stderr())
        log = ServerLog(LogFormat(options.log), status, started_s=time.monotonic())
        if not ipaddress.ip_address(checked.address.partition("%")[0]).is_loopback:
            log.remark("warning", f"other machines can reach {checked.address} (from --host){_open(checked)}")
        for text in warnings:
            log.remark("warning", text)
        log.introduce(_introduction(checked, server))
        per_poll = 0 if options.log == LogFormat.NONE else _REQUESTS_PER_POLL
        pending = 0
        while not stop.wait(0 if pending else _POLL_S):
            drained = server.drain(requests_max=per_poll)
            log.update(drained)
            pending = drained.pending
        # All that are left, at once: what is still kept at the end would be counted twice, here and in the wire log.
        # Without a log none are asked for: nothing would show them.
        log.update(server.drain(requests_max=RECORDS_MAX if per_poll else 0))
        log.end(server.collect(), ended_s=time.monotonic())


def _started(
    options: ServeOptions, checked: CheckedServeOptions, stack: ExitStack
) -> tuple[ServerProcess, tuple[str, ...]]:
    """Start and configure the server; also returns its warnings."""
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


def _introduction(checked: CheckedServeOptions, server: ServerProcess) -> list[str]:
    """Lines for people: what is served, and how to point clients at it."""
    settings = checked.settings
    what = f"the stub of {title(checked.definition)}" if checked.definition else "the emulator"
    lines = [f"s3bench: {what} at {server.url}; stop it with Ctrl-C"]
    if settings.data_dir:
        lines.append(f"s3bench: read-only from {settings.data_dir}")
    if checked.network:
        lines.append(f"s3bench: network: {describe(checked.network)}")
    target = ServerAddress(
        url=server.url, region=settings.region, access_key=settings.access_key, ca_bundle=server.ca_bundle
    )
    if settings.access_key:
        lines.append(f"s3bench: the lines below expect the secret key in {SECRET_VARIABLE}")
    return [*lines, *(f"  {name + ':':<13}{line}" for name, line in pointing_lines(target))]


def _open(checked: CheckedServeOptions) -> str:
    return "" if checked.settings.access_key else "; any credentials are accepted"
