#!/usr/bin/env python3
"""How fast the stub's server is beside nginx: requests per second and server CPU per request, as ratios.

    .venv/bin/python benchmarks/server_vs_nginx.py [--rounds 5] [--seconds 2]

Both servers run on one core, the load on another; the rounds alternate between them and the medians count. nginx has
one worker, sendfile and an open-file cache, and writes no access log, while our wire log is on as it always is. The
stub is armed the way `s3bench run` arms it (`match` and a file body); nothing here is a path that a benchmark alone
would take. wrk makes the GETs; the PUTs come from a loop in this file that sends from memory by sendfile(2), so that
the load costs less than either server. nginx discards a PUT's body by 4 KiB reads: a weak reference, hence its bar.

The stub chooses TCP Reno for its own sockets, nginx takes the machine's default. Where that is BBR, whose pacing costs
timers on loopback, a good part of the large GETs' ratio comes from there.

Run it on a quiet machine: whatever shares the cores' caches slows an interpreter more than it slows nginx.

Exits 1 when a bar is missed, 2 when nginx or wrk is missing or the machine has one core only.
"""

import argparse
import contextlib
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from s3bench.s3.endpoint import StubEndpoint
from s3bench.spec.definition import FileBody, Match, Response

SMALL_BYTES = 4 * 1024
LARGE_BYTES = 8 * 1024 * 1024
LIMIT_S = 20.0

NGINX_CONFIG = """
daemon off; master_process off; worker_processes 1; pid {directory}/nginx.pid; error_log {directory}/error.log crit;
events {{ worker_connections 1024; use epoll; multi_accept on; }}
http {{
  access_log off; sendfile on; tcp_nopush on; tcp_nodelay on; keepalive_requests 100000000; client_max_body_size 0;
  open_file_cache max=100; open_file_cache_valid 60s; etag on; default_type binary/octet-stream;
  client_body_temp_path {directory}/body; proxy_temp_path {directory}/proxy; fastcgi_temp_path {directory}/fastcgi;
  uwsgi_temp_path {directory}/uwsgi; scgi_temp_path {directory}/scgi;
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    location / {{ root {directory}/www; }}
    location /put/ {{ return 200; }}
  }}
}}
"""

STUB_RESPONSES = (
    Response(match=Match(method="GET", path="/bucket/small"), body=FileBody(file="small"), instances=None),
    Response(match=Match(method="GET", path="/bucket/large"), body=FileBody(file="large"), instances=None),
    Response(match=Match(method="PUT", path="/put/*"), instances=None),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One kind of load, and the least ratio of our requests per second to nginx's."""

    name: str
    load: Callable[[int, float], int]
    bar: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """What one round showed of one server."""

    requests_per_s: float
    server_cpu_us: float  # per request
    load_busy: float  # cores used by the load


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A running server."""

    port: int
    pid: int
    begin: Callable[[], None]
    end: Callable[[], int | None]  # requests it recorded, where it records any


def main() -> int:
    """Run all cases and print the table."""
    options = _options()
    missing = [tool for tool in ("nginx", "wrk") if shutil.which(tool, path=f"{os.environ['PATH']}:/usr/sbin") is None]
    if missing:
        print(f"missing: {', '.join(missing)}; install with `apt-get install {' '.join(missing)}`", file=sys.stderr)
        return 2
    control = Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text().strip()
    print(f"congestion control: {control} for nginx, reno for the stub and for the PUTs' load")
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        print("this needs two cores: one for the server, one for the load", file=sys.stderr)
        return 2
    cases = (
        Case(name="4 KiB GET", load=_wrk("/bucket/small", connections=16), bar=0.8),
        Case(name="8 MiB GET", load=_wrk("/bucket/large", connections=4), bar=0.95),
        Case(name="8 MiB PUT", load=_put_load, bar=2.5),
    )
    with tempfile.TemporaryDirectory(prefix="s3bench-nginx-") as name, contextlib.ExitStack() as stack:
        directory = Path(name)
        _write_objects(directory / "www")
        nginx = stack.enter_context(_nginx(directory))
        stub = stack.enter_context(_stub(directory))
        for target in (nginx, stub):
            os.sched_setaffinity(target.pid, {cores[0]})
        os.sched_setaffinity(0, {cores[1]})
        missed = [case.name for case in cases if not _run(case, stub, nginx, options)]
    if missed:
        print(f"below the bar: {', '.join(missed)}")
    return 1 if missed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of load per server and round")
    return parser.parse_args()


def _run(case: Case, stub: Target, nginx: Target, options: argparse.Namespace) -> bool:
    """Print one case's row; whether it reaches its bar."""
    rates: dict[str, list[Rate]] = {"stub": [], "nginx": []}
    for target in (stub, nginx):
        _measure(case, target, 0.5)  # warm-up
    for number in range(options.rounds):
        order = [("stub", stub), ("nginx", nginx)]
        for name, target in order if number % 2 else reversed(order):
            rates[name].append(_measure(case, target, options.seconds))
    ours, theirs = (_median(rates[name]) for name in ("stub", "nginx"))
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


def _median(rates: list[Rate]) -> Rate:
    return Rate(
        requests_per_s=statistics.median(rate.requests_per_s for rate in rates),
        server_cpu_us=statistics.median(rate.server_cpu_us for rate in rates),
        load_busy=statistics.median(rate.load_busy for rate in rates),
    )


def _measure(case: Case, target: Target, seconds: float) -> Rate:
    target.begin()
    cpu_ns, busy_s, started_s = _cpu_ns(target.pid), _own_cpu_s(), time.perf_counter()
    requests = case.load(target.port, seconds)
    elapsed_s = time.perf_counter() - started_s
    cpu_ns = _cpu_ns(target.pid) - cpu_ns
    busy_s = _own_cpu_s() - busy_s
    recorded = target.end()
    if recorded is not None and not requests <= recorded <= requests + 64:
        raise SystemExit(f"{case.name}: {requests} requests made, {recorded} in the wire log")
    return Rate(
        requests_per_s=requests / elapsed_s, server_cpu_us=cpu_ns / requests / 1e3, load_busy=busy_s / elapsed_s
    )


def _cpu_ns(pid: int) -> int:
    return time.clock_gettime_ns((~pid << 3) | 2)


def _own_cpu_s() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _write_objects(www: Path) -> None:
    bucket = www / "bucket"
    bucket.mkdir(parents=True)
    (bucket / "small").write_bytes(os.urandom(SMALL_BYTES))
    (bucket / "large").write_bytes(os.urandom(LARGE_BYTES))


@contextlib.contextmanager
def _nginx(directory: Path) -> Iterator[Target]:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
    config = directory / "nginx.conf"
    config.write_text(NGINX_CONFIG.format(directory=directory, port=port))
    program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    assert program is not None
    with subprocess.Popen([program, "-e", "stderr", "-p", str(directory), "-c", str(config)]) as process:
        try:
            _await_port(port)
            yield Target(port=port, pid=process.pid, begin=lambda: None, end=lambda: None)
        finally:
            process.send_signal(signal.SIGTERM)


def _await_port(port: int) -> None:
    deadline_s = time.monotonic() + LIMIT_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            if time.monotonic() > deadline_s:
                raise
            time.sleep(0.02)
        else:
            return


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


def _wrk(path: str, *, connections: int) -> Callable[[int, float], int]:
    def load(port: int, seconds: float) -> int:
        command = ["wrk", "-t1", f"-c{connections}", f"-d{max(1, round(seconds))}s", f"http://127.0.0.1:{port}{path}"]
        finished = subprocess.run(command, capture_output=True, text=True, timeout=seconds + LIMIT_S, check=True)
        if "Non-2xx" in finished.stdout or "Socket errors" in finished.stdout:
            raise SystemExit(finished.stdout)
        found = re.search(r"([0-9]+) requests in", finished.stdout)
        assert found is not None
        return int(found[1])

    return load


def _put_load(port: int, seconds: float) -> int:
    """PUT 8 MiB again and again over four connections; how many were answered."""
    descriptor = os.memfd_create("body")
    os.write(descriptor, os.urandom(LARGE_BYTES))
    deadline_s = time.monotonic() + seconds
    done = [0] * 4

    def put(slot: int) -> None:
        head = f"PUT /put/key HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: {LARGE_BYTES}\r\n\r\n".encode()
        with socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S) as connection:
            # Where BBR is the default its pacing would measure timers instead of servers.
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
            while time.monotonic() < deadline_s:
                connection.send(head, socket.MSG_MORE)
                connection.settimeout(None)
                sent = 0
                while sent < LARGE_BYTES:
                    sent += os.sendfile(connection.fileno(), descriptor, sent, LARGE_BYTES - sent)
                connection.settimeout(LIMIT_S)
                if not connection.recv(4096).startswith(b"HTTP/1.1 200"):
                    raise SystemExit("a PUT was not answered with 200")
                done[slot] += 1

    threads = [threading.Thread(target=put, args=(slot,), daemon=True) for slot in range(len(done))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds + LIMIT_S)
    os.close(descriptor)
    return sum(done)


if __name__ == "__main__":
    sys.exit(main())
