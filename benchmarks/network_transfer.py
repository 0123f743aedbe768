#!/usr/bin/env python3
"""Whether a real client's transfer through a network model takes the time that the model predicts on paper.

    .venv/bin/python benchmarks/network_transfer.py [--network ec2:t2.large] [--megabytes 256] [--rounds 3]
        [--client s5cmd --client cli-crt]

Uploads and downloads one file over HTTP with each client. On paper it takes the time to first byte and the bytes
divided by what the link carries: the NIC, or the connections' bandwidth where that is less. What is held against it is
the span on the wire from the first byte of the first request that moves data to the last byte of the last such reply.
Before and after it the client is on its own: its start, its hashing, its lookups. Every byte is compared.

Exits 1 when a median is off by more than 10 %, 2 when a client is missing.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from s3bench.clients.client import FoundClient
from s3bench.clients.environment import EndpointFacts, Sandbox
from s3bench.clients.finding import find_client
from s3bench.clients.invocation import invocation
from s3bench.clients.plan import parse_client_spec
from s3bench.clients.store import ClientStore
from s3bench.errors import S3BenchError
from s3bench.run.download_check import first_difference
from s3bench.run.wire_checks import moves_object_data
from s3bench.s3.control import StoredFile
from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.endpoint import EmulatorEndpoint
from s3bench.s3.network.model import NetworkModel, parse_network
from s3bench.s3.wirelog import WireLog, WireRequest
from s3bench.spec.command import parse_transfer
from s3bench.spec.definition import Definition

BAR = 0.10
LIMIT_S = 120.0
COMMANDS = {
    "upload": ("s3", "cp", "source", "s3://bucket/key"),
    "download": ("s3", "cp", "s3://bucket/stored", "landed"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """What one transfer took on the wire, and on how many connections."""

    seconds: float
    connections: int


def main() -> int:
    """Run all clients both ways and print a row each."""
    options = _options()
    model = parse_network(options.network)
    store = ClientStore.from_environment(os.environ)
    try:
        clients = [find_client(parse_client_spec(name), store) for name in options.client or ("s5cmd", "cli-crt")]
    except S3BenchError as error:
        print(error, file=sys.stderr)
        return 2
    size_bytes = options.megabytes * 1_000_000
    missed = []
    with tempfile.TemporaryDirectory(prefix="s3bench-transfer-") as name, EmulatorEndpoint(directory=Path(name)) as s3:
        work = Path(name) / "work"
        work.mkdir()
        (work / "source").write_bytes(os.urandom(size_bytes))
        for client in clients:
            for way in COMMANDS:
                spans = [_transfer(client, way, s3, model, work) for _ in range(options.rounds)]
                if not _told(client, way, spans, model, size_bytes):
                    missed.append(f"{client.kind} {way}")
    if missed:
        print(f"off by more than {BAR:.0%}: {', '.join(missed)}")
    return 1 if missed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--network", default="ec2:t2.large")
    parser.add_argument("--megabytes", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--client", action="append", metavar="NAME")
    return parser.parse_args()


def _told(client: FoundClient, way: str, spans: list[Span], model: NetworkModel, size_bytes: int) -> bool:
    connections = statistics.median_low([span.connections for span in spans])
    shared = model.nic_up_bytes_per_s if way == "upload" else model.nic_down_bytes_per_s
    own = model.connection_bytes_per_s or float("inf")
    paper_s = model.ttfb_p50_s + size_bytes / min(shared or float("inf"), own * connections)
    seconds = statistics.median(span.seconds for span in spans)
    off = seconds / paper_s - 1
    print(
        f"{client.kind:8} {way:8} {seconds:6.3f} s (rounds {min(span.seconds for span in spans):.3f} to "
        f"{max(span.seconds for span in spans):.3f}) on {connections} connections; "
        f"on paper {paper_s:.3f} s: {off:+.1%}",
        flush=True,
    )
    return abs(off) <= BAR


def _transfer(client: FoundClient, way: str, s3: EmulatorEndpoint, model: NetworkModel, work: Path) -> Span:
    """Run one transfer, verify its bytes, and give its span on the wire."""
    stored = StoredFile("bucket", "stored", str(work / "source"))
    s3.arm(EmulatorSettings(buckets=("bucket",)), network=model, objects=(stored,))
    (work / "landed").unlink(missing_ok=True)
    definition = Definition(name=way, command=COMMANDS[way])
    with tempfile.TemporaryDirectory(dir=work.parent) as name:
        home = Path(name)
        (home / ".aws").mkdir()
        sandbox = Sandbox(home=home, temporary=home, work=work)
        transfer = parse_transfer(definition.command)
        call = invocation(client, definition, transfer, EndpointFacts(url=s3.url), sandbox)
        sandbox.config_file.write_text(call.config_text)
        subprocess.run(call.argv, env=dict(call.env), cwd=work, check=True, timeout=LIMIT_S, capture_output=True)
    log = s3.collect()
    if way == "download":
        at = first_difference(work / "source", work / "landed")
        if at is not None:
            raise SystemExit(f"{client.kind}: what was downloaded differs at byte {at}")
    return _span(log, way)


def _span(log: WireLog, way: str) -> Span:
    requests = [request for request in log.requests if _moves(request, way)]
    if any(request.error for request in log.requests):
        raise SystemExit("; ".join(request.error for request in log.requests if request.error))
    started_ns = min(request.started_ns for request in requests)
    ended_ns = max(request.ended_ns for request in requests)
    return Span(seconds=(ended_ns - started_ns) / 1e9, connections=len({request.connection for request in requests}))


def _moves(request: WireRequest, way: str) -> bool:
    return moves_object_data(request) and request.method == ("PUT" if way == "upload" else "GET")


if __name__ == "__main__":
    sys.exit(main())
