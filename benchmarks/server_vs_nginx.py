#!/usr/bin/env python3
"""How fast the stub's server is beside nginx: requests per second and server CPU per request, as ratios.

    .venv/bin/python benchmarks/server_vs_nginx.py [--rounds 5] [--seconds 2] [--only TEXT]

Both servers run on one core, the load on another; the rounds alternate between them and the medians count. nginx has
one worker, sendfile and an open-file cache, and writes no access log, while our wire log is on as it always is. The
stub is armed the way `s3bench run` arms it (`match` and a file body); nothing here is a path that a benchmark alone
would take. wrk makes the GETs; the PUTs come from a loop in this file that sends from memory by sendfile(2), so that
the load costs less than either server. nginx discards a PUT's body by 4 KiB reads: a weak reference, hence its bar.

The bar of the small GETs needs the fast path, which is compiled where there is a C compiler (docs/installing.md).

The stub chooses TCP Reno for its own sockets, nginx takes the machine's default. Where that is BBR, whose pacing costs
timers on loopback, a good part of the large GETs' ratio comes from there.

Run it on a quiet machine: whatever shares the cores' caches slows an interpreter more than it slows nginx.

Exits 1 when a bar is missed, 2 when nginx or wrk is missing, the machine has one core only, or no case was named.
"""

import argparse
import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from peers import LARGE_BYTES, SMALL_BYTES, Load, Rate, Target, large_puts, measure, median, need, nginx, pin, wrk

from s3bench.s3.endpoint import StubEndpoint
from s3bench.spec.definition import FileBody, RequestMatch, Response

STUB_RESPONSES = (
    Response(match=RequestMatch(method="GET", path="/bucket/small"), body=FileBody(file="small"), instances=None),
    Response(match=RequestMatch(method="GET", path="/bucket/large"), body=FileBody(file="large"), instances=None),
    Response(match=RequestMatch(method="PUT", path="/put/*"), instances=None),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One kind of load, and the least ratio of our requests per second to nginx's."""

    name: str
    load: Load
    bar: float


def main() -> int:
    """Run all cases and print the table."""
    options = _options()
    need("nginx", "wrk")
    control = Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text().strip()
    print(f"congestion control: {control} for nginx, reno for the stub and for the PUTs' load")
    cases = (
        Case(name="4 KiB GET", load=wrk("/bucket/small", connections=16), bar=1.0),
        Case(name="8 MiB GET", load=wrk("/bucket/large", connections=4), bar=0.95),
        Case(name="8 MiB PUT", load=large_puts("/put/key", os.urandom(LARGE_BYTES)), bar=2.5),
    )
    chosen = [case for case in cases if options.only in case.name]
    if not chosen:
        print(f"no case has {options.only!r} in its name; there are {', '.join(case.name for case in cases)}")
        return 2
    with tempfile.TemporaryDirectory(prefix="s3bench-nginx-") as name, contextlib.ExitStack() as stack:
        directory = Path(name)
        _write_objects(directory / "www")
        peer = stack.enter_context(nginx(directory))
        stub = stack.enter_context(_stub(directory))
        pin(peer, stub)
        missed = [case.name for case in chosen if not _run(case, stub, peer, options)]
    if missed:
        print(f"below the bar: {', '.join(missed)}")
    return 1 if missed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose name contains it")
    parser.add_argument("--seconds", type=float, default=2.0, help="of load per server and round")
    return parser.parse_args()


def _run(case: Case, stub: Target, peer: Target, options: argparse.Namespace) -> bool:
    """Print one case's row; whether it reaches its bar."""
    rates: dict[str, list[Rate]] = {"stub": [], "nginx": []}
    for target in (stub, peer):
        measure(case.name, case.load, target, 0.5)  # warm-up
    for number in range(options.rounds):
        order = [("stub", stub), ("nginx", peer)]
        for name, target in order if number % 2 else reversed(order):
            rates[name].append(measure(case.name, case.load, target, options.seconds))
    ours, theirs = (median(rates[name]) for name in ("stub", "nginx"))
    pairs = [a.requests_per_s / b.requests_per_s for a, b in zip(rates["stub"], rates["nginx"], strict=True)]
    ratio = ours.requests_per_s / theirs.requests_per_s
    print(
        f"{case.name}: stub {ours.requests_per_s:9.0f}/s  nginx {theirs.requests_per_s:9.0f}/s  "
        f"ratio {ratio:5.2f} (rounds {min(pairs):.2f} to {max(pairs):.2f}; bar {case.bar})  "
        f"server CPU a request {ours.server_cpu_us:7.1f} us beside {theirs.server_cpu_us:7.1f} us "
        f"({ours.server_cpu_us / theirs.server_cpu_us:.2f})  load busy {ours.load_busy:.2f} and {theirs.load_busy:.2f}",
        flush=True,
    )
    return ratio >= case.bar


def _write_objects(www: Path) -> None:
    bucket = www / "bucket"
    bucket.mkdir(parents=True)
    (bucket / "small").write_bytes(os.urandom(SMALL_BYTES))
    (bucket / "large").write_bytes(os.urandom(LARGE_BYTES))


@contextlib.contextmanager
def _stub(directory: Path) -> Iterator[Target]:
    private = directory / "stub"
    private.mkdir()
    with StubEndpoint(directory=private) as endpoint:

        def begin() -> None:
            endpoint.arm(STUB_RESPONSES, workspace=directory / "www" / "bucket", verify=False)

        def end() -> int:
            log = endpoint.collect()
            return sum(
                request.status == 200 and (request.complete or request.method == "GET") for request in log.requests
            )

        port = int(endpoint.url.rpartition(":")[2])
        yield Target(port=port, pid=endpoint.pid, begin=begin, end=end)


if __name__ == "__main__":
    sys.exit(main())
