#!/usr/bin/env python3
"""How much one misbehaving client of the emulator delays a well-behaved one, as a ratio of median latencies.

    .venv/bin/python benchmarks/emulator_fairness.py [--rounds 7] [--seconds 0.6]

The well-behaved client reads 4 KiB objects one after another on one connection. For each kind of misbehaviour its
rounds alternate: without the other client, then with it. The server has one core; both clients share the other, the
misbehaving one at the lowest priority, so that what is measured is the server's doing. Exits 1 when a ratio is above
1.10.
"""

import argparse
import contextlib
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.endpoint import EmulatorEndpoint

BAR = 1.10
SMALL_BYTES = 4 * 1024
LARGE_BYTES = 8 * 1024 * 1024
LIMIT_S = 10.0
SERVER_CORE, CLIENT_CORE = 0, 1
GET_SMALL = b"GET /bucket/small HTTP/1.1\r\nHost: h\r\n\r\n"
GET_LARGE = b"GET /bucket/large HTTP/1.1\r\nHost: h\r\n\r\n"
PUT_LARGE = b"PUT /bucket/slow HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % LARGE_BYTES


def connect(port: int) -> socket.socket:
    """Connect to the server."""
    return socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S)


def read_slowly(port: int) -> None:
    """Ask for 8 MiB again and again, and take 16 KiB a millisecond."""
    with connect(port) as sock:
        while True:
            sock.sendall(GET_LARGE)
            taken = 0
            while taken < LARGE_BYTES:
                taken += len(sock.recv(16 * 1024))
                time.sleep(0.001)


def write_slowly(port: int) -> None:
    """Send 8 MiB, a KiB a millisecond."""
    with connect(port) as sock:
        sock.sendall(PUT_LARGE)
        while True:
            sock.sendall(bytes(1024))
            time.sleep(0.001)


def read_nothing(port: int) -> None:
    """Ask for 8 MiB on fifty connections and never read."""
    with contextlib.ExitStack() as stack:
        for _ in range(50):
            stack.enter_context(connect(port)).sendall(GET_LARGE)
        time.sleep(3600)


def reconnect(port: int) -> None:
    """Connect a thousand times a second, send half a head, and go away."""
    while True:
        with connect(port) as sock:
            sock.sendall(GET_SMALL[:20])
        time.sleep(0.001)


def flood(port: int) -> None:
    """Send requests without a pause and without waiting for the answers, which are dropped."""
    with connect(port) as sock:
        sock.settimeout(0)
        requests = memoryview(GET_SMALL * 1000)
        at = 0
        while True:
            with contextlib.suppress(BlockingIOError):
                at = (at + sock.send(requests[at:])) % len(requests)
            with contextlib.suppress(BlockingIOError):
                sock.recv(1 << 20)


MISBEHAVIOURS: dict[str, Callable[[int], None]] = {
    "reads slowly": read_slowly,
    "writes slowly": write_slowly,
    "reads nothing": read_nothing,
    "comes and goes": reconnect,
    "floods": flood,
}


@contextlib.contextmanager
def misbehaving(kind: str, port: int) -> Iterator[None]:
    """Have such a client in a process of its own."""
    process = subprocess.Popen((sys.executable, __file__, "--misbehave", kind, "--port", str(port)))
    try:
        time.sleep(0.5)
        assert process.poll() is None, f"the client that {kind} has ended"
        yield
    finally:
        process.kill()
        process.wait()


def latencies_s(sock: socket.socket, seconds: float) -> list[float]:
    """Read small objects, one after another, and time each."""
    found: list[float] = []
    end_s = time.perf_counter() + seconds
    while (started_s := time.perf_counter()) < end_s:
        sock.sendall(GET_SMALL)
        taken = 0
        while taken < SMALL_BYTES:
            taken += len(sock.recv(65536))
        found.append(time.perf_counter() - started_s)
    return found


def ask(port: int, request: bytes) -> None:
    """Send one request and see that it is answered well."""
    with connect(port) as sock:
        sock.sendall(request)
        assert sock.recv(65536).startswith(b"HTTP/1.1 200"), request[:40]


def main() -> int:
    """Measure every kind; 1 when one is above the bar."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.6)
    parser.add_argument("--misbehave", choices=MISBEHAVIOURS, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.sched_setaffinity(0, {CLIENT_CORE})
    if options.misbehave:
        os.nice(19)
        with contextlib.suppress(OSError):  # the server ends it
            MISBEHAVIOURS[options.misbehave](options.port)
        return 0
    worst = 0.0
    with (
        tempfile.TemporaryDirectory() as directory,
        EmulatorEndpoint(directory=Path(directory)) as emulator,
    ):
        os.sched_setaffinity(emulator.pid, {SERVER_CORE})
        for kind in MISBEHAVIOURS:
            emulator.arm(EmulatorSettings(buckets=("bucket",)))
            for name, size_bytes in (("small", SMALL_BYTES), ("large", LARGE_BYTES)):
                head = f"PUT /bucket/{name} HTTP/1.1\r\nHost: h\r\nContent-Length: {size_bytes}\r\n\r\n"
                ask(emulator.port, head.encode() + bytes(size_bytes))
            alone, beside = [], []
            with connect(emulator.port) as sock:
                latencies_s(sock, options.seconds)
                for _ in range(options.rounds):
                    alone.append(statistics.median(latencies_s(sock, options.seconds)))
                    with misbehaving(kind, emulator.port):
                        beside.append(statistics.median(latencies_s(sock, options.seconds)))
                    emulator.drain(requests_max=0)
            ratio = statistics.median(pair[1] / pair[0] for pair in zip(alone, beside, strict=True))
            worst = max(worst, ratio)
            print(
                f"{kind:<15} {statistics.median(alone) * 1e6:7.1f} us alone, "
                f"{statistics.median(beside) * 1e6:9.1f} us beside it, ratio {ratio:.3f}"
            )
    return worst > BAR


if __name__ == "__main__":
    sys.exit(main())
