"""The servers that ours are measured beside, the loads they get, and what one round shows.

Every server runs on one core and the load on another. nginx has one worker, sendfile and an open-file cache, and writes
no access log. wrk makes the small requests and the GETs; large PUTs come from a loop that sends from memory by
sendfile(2), so that the load costs less than any server.
"""

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
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

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


Load = Callable[[int, float], int]
"""Loads the server on a port for some seconds; how many requests were answered."""


class ServerEnded(Exception):
    """A server ended before it took a connection."""


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
    begin: Callable[[], None] = lambda: None
    end: Callable[[], int | None] = lambda: None  # requests it recorded, where it records any


def need(*tools: str) -> None:
    """Exit with 2 where one of the programs is missing, or there are not two cores."""
    missing = [tool for tool in tools if program(tool) is None]
    if missing:
        print(f"missing: {', '.join(missing)}; install with `apt-get install {' '.join(missing)}`", file=sys.stderr)
        sys.exit(2)
    if len(os.sched_getaffinity(0)) < 2:
        print("this needs two cores: one for the server, one for the load", file=sys.stderr)
        sys.exit(2)


def program(name: str) -> str | None:
    """Find a program, also where only root usually looks."""
    return shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:{Path.home()}/go/bin")


def pin(*targets: Target) -> None:
    """Put the servers on one core and this process, with the loads it starts, on another."""
    cores = sorted(os.sched_getaffinity(0))
    for target in targets:
        for thread in Path(f"/proc/{target.pid}/task").iterdir():
            os.sched_setaffinity(int(thread.name), {cores[0]})
    os.sched_setaffinity(0, {cores[1]})


def median(rates: list[Rate]) -> Rate:
    """Give the medians of several rounds."""
    return Rate(
        requests_per_s=statistics.median(rate.requests_per_s for rate in rates),
        server_cpu_us=statistics.median(rate.server_cpu_us for rate in rates),
        load_busy=statistics.median(rate.load_busy for rate in rates),
    )


def measure(name: str, load: Load, target: Target, seconds: float) -> Rate:
    """Load `target` for some seconds; the wire log, where there is one, must have every request."""
    target.begin()
    cpu_ns, busy_s, started_s = _cpu_ns(target.pid), _own_cpu_s(), time.perf_counter()
    requests = load(target.port, seconds)
    elapsed_s = time.perf_counter() - started_s
    cpu_ns = _cpu_ns(target.pid) - cpu_ns
    busy_s = _own_cpu_s() - busy_s
    recorded = target.end()
    if recorded is not None and not requests <= recorded <= requests + 64:
        raise SystemExit(f"{name}: {requests} requests made, {recorded} in the wire log")
    return Rate(
        requests_per_s=requests / elapsed_s, server_cpu_us=cpu_ns / requests / 1e3, load_busy=busy_s / elapsed_s
    )


def _cpu_ns(pid: int) -> int:
    return time.clock_gettime_ns((~pid << 3) | 2)


def _own_cpu_s() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@contextlib.contextmanager
def nginx(directory: Path) -> Iterator[Target]:
    """Serve the files below `directory`/www, and take PUTs under /put/."""
    port = free_port()
    config = directory / "nginx.conf"
    config.write_text(NGINX_CONFIG.format(directory=directory, port=port))
    found = program("nginx")
    assert found is not None
    with subprocess.Popen([found, "-e", "stderr", "-p", str(directory), "-c", str(config)]) as process:
        try:
            await_port(port, process)
            yield Target(port=port, pid=process.pid)
        finally:
            process.send_signal(signal.SIGTERM)


@contextlib.contextmanager
def serving(command: list[str], port: int, environment: Mapping[str, str] | None = None) -> Iterator[Target]:
    """Run a server that listens on `port`, quietly."""
    with subprocess.Popen(
        command,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            await_port(port, process)
            yield Target(port=port, pid=process.pid)
        finally:
            process.send_signal(signal.SIGTERM)


def free_port() -> int:
    """Give a port that nobody listens on just now."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def await_port(port: int, process: "subprocess.Popen[bytes]") -> None:
    """Wait until somebody listens. Raises `ServerEnded`."""
    deadline_s = time.monotonic() + LIMIT_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            if process.poll() is not None:
                words = f"{process.args!r} ended with {process.returncode} before it took a connection"
                raise ServerEnded(words) from None
            if time.monotonic() > deadline_s:
                raise
            time.sleep(0.02)
        else:
            return


def wrk(path: str, *, connections: int, script: str = "") -> Load:
    """Make a load of wrk's: GETs of `path`, or what its Lua `script` says."""

    def load(port: int, seconds: float) -> int:
        url = f"http://127.0.0.1:{port}{path}"
        command = ["wrk", "-t1", f"-c{connections}", f"-d{max(1, round(seconds))}s", url]
        with tempfile.NamedTemporaryFile("w", suffix=".lua", encoding="utf-8") as file:
            if script:
                file.write(script)
                file.flush()
                command[1:1] = ["-s", file.name]
            finished = subprocess.run(command, capture_output=True, text=True, timeout=seconds + LIMIT_S, check=True)
        if "Non-2xx" in finished.stdout or "Socket errors" in finished.stdout:
            raise SystemExit(finished.stdout)
        found = re.search(r"([0-9]+) requests in", finished.stdout)
        assert found is not None
        return int(found[1])

    return load


def large_puts(path: str, body: bytes, headers: str = "") -> Load:
    """Make a load of PUTs of `body` to `path`, again and again over four connections."""

    def load(port: int, seconds: float) -> int:
        return _put_load(f"PUT {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{headers}", body, port, seconds)

    return load


def _put_load(head_text: str, body: bytes, port: int, seconds: float) -> int:
    descriptor = os.memfd_create("body")
    os.write(descriptor, body)
    head = f"{head_text}Content-Length: {len(body)}\r\n\r\n".encode()
    deadline_s = time.monotonic() + seconds
    done = [0] * 4

    def put(slot: int) -> None:
        with socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S) as connection:
            # Where BBR is the default its pacing would measure timers instead of servers.
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
            while time.monotonic() < deadline_s:
                connection.send(head, socket.MSG_MORE)
                connection.settimeout(None)
                sent = 0
                while sent < len(body):
                    sent += os.sendfile(connection.fileno(), descriptor, sent, len(body) - sent)
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
