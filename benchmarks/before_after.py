#!/usr/bin/env python3
"""What this checkout costs beside another one, such as the commit before a large change: ratios of CPU time.

    git worktree add ../before COMMIT && ../before/scripts/install
    .venv/bin/python benchmarks/before_after.py ../before [--rounds 7] [--only TEXT] [--json]

Both checkouts do the same work in turn, in the order ABBA, and the ratio of the medians counts, with the range of the
ratios of single rounds beside it. All figures are CPU time as the kernel counts it for a process and its children,
except the gaps between iterations, which are elapsed time. What is not under test is the same on both sides: the
emulators that load generators talk to are this checkout's, so that they do not make their clients wait; the documents
that are compared are the other's.
"""

import argparse
import contextlib
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil

HERE = Path(__file__).parents[1]
OPERATIONS = 60_000
REQUESTS = 20_000
CONNECTIONS = 16
BODY_BYTES = 4096
BODIES = 200  # of 8 MiB
STUB = [
    {
        "name": "small",
        "command": ["s3", "cp", "s3://bucket/small", "small"],
        "environment": {"files": [{"name": "source", "size": BODY_BYTES}]},
        "responses": [
            {"match": {"method": "GET", "path": "/bucket/small"}, "body": {"file": "source"}, "instances": "any"}
        ],
    }
]
WRITE_DOCUMENTS = """
import sys
from pathlib import Path
sys.path.insert(0, "benchmarks")
from compare_speed import document
from s3bench.results.file import write_document
for seed in range(2):
    write_document(document(100, 100, seed), Path(sys.argv[1]) / f"{seed}.json", durable=False)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkout:
    """A checkout with its `.venv`."""

    root: Path

    def cpu_s(self, *arguments: str, env: dict[str, str] | None = None) -> float:
        """Run `s3bench ARGUMENTS`: the CPU seconds of the command and of all processes that it waited for."""
        argv = [str(self.root / ".venv/bin/s3bench"), *arguments]
        process = os.posix_spawn(
            argv[0], argv, os.environ | (env or {}), file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
        )
        _, status, usage = os.wait4(process, 0)
        if os.waitstatus_to_exitcode(status):
            sys.exit(f"{' '.join(argv)} failed")
        return usage.ru_utime + usage.ru_stime

    @contextlib.contextmanager
    def serving(self, *arguments: str) -> Iterator[tuple[str, psutil.Process]]:
        """Serve: the URL, and the process of the server."""
        argv = [self.root / ".venv/bin/s3bench", "serve", "--log", "none", *arguments]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            [server] = psutil.Process(process.pid).children()
            try:
                yield url, server
            finally:
                process.terminate()


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What both sides share: URLs of emulators, a stub's definition, two documents to compare.

    `discarding` keeps no bodies, `secure` speaks TLS.
    """

    emulator: str
    discarding: str
    secure: str
    stub: Path
    documents: Path


def start_up(*arguments: str) -> Callable[[Checkout, Bench], float]:
    """CPU seconds of a command that ends at once."""
    return lambda checkout, _: checkout.cpu_s(*arguments)


def compare(checkout: Checkout, bench: Bench) -> float:
    """CPU seconds of comparing 10,000 measurements with as many others."""
    return checkout.cpu_s("compare", *(str(bench.documents / f"{seed}.json") for seed in range(2)))


def load(kind: str, *more: str) -> Callable[[Checkout, Bench], float]:
    """CPU seconds of one operation of 4 KiB, start-up taken out."""

    def measure(checkout: Checkout, bench: Bench) -> float:
        arguments = [
            "load",
            "-q",
            "--endpoint-url",
            bench.discarding if kind == "put" else bench.emulator,
            "-b",
            "data",
            "--operation",
            kind,
            "--size",
            "4KiB",
        ]
        arguments += ["--workers", "1", "-t", "16", "--objects", "100", *more]
        keys = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
        few, many = (checkout.cpu_s(*arguments, "--operations", f"{count}", env=keys) for count in (16, OPERATIONS))
        return (many - few) / OPERATIONS

    return measure


def stub_get(checkout: Checkout, bench: Bench) -> float:
    """CPU seconds of the stub for one GET of 4 KiB."""
    with checkout.serving("--stub", str(bench.stub)) as (url, server):
        address = urlsplit(url)
        with socket.create_connection((address.hostname, address.port or 80)) as connection:
            asked = f"GET /bucket/small HTTP/1.1\r\nHost: {address.netloc}\r\n\r\n".encode()
            before = server.cpu_times()
            for _ in range(REQUESTS):
                connection.sendall(asked)
                got = connection.recv(1 << 16)
                while len(got) < BODY_BYTES or len(got) < got.index(b"\r\n\r\n") + 4 + BODY_BYTES:
                    got += connection.recv(1 << 16)
            after = server.cpu_times()
    return (after.user + after.system - before.user - before.system) / REQUESTS


def emulator(method: str, *more: str) -> Callable[[Checkout, Bench], float]:
    """CPU seconds of the emulator for one PUT or GET of 4 KiB; sixteen connections ask at once."""

    def measure(checkout: Checkout, _: Bench) -> float:
        body = bytes(BODY_BYTES)
        with checkout.serving("--bucket", "data", *more) as (url, server), contextlib.ExitStack() as stack:
            address = urlsplit(url)
            sockets = [
                stack.enter_context(socket.create_connection((address.hostname, address.port or 80)))
                for _connection in range(CONNECTIONS)
            ]
            head = f"/data/key HTTP/1.1\r\nHost: {address.netloc}\r\nx-amz-content-sha256: UNSIGNED-PAYLOAD\r\n"
            put = f"PUT {head}Content-Length: {len(body)}\r\n\r\n".encode() + body
            asked = put if method == "PUT" else f"GET {head}\r\n".encode()
            sockets[0].sendall(put)
            sockets[0].recv(1 << 16)
            before = server.cpu_times()
            for _turn in range(REQUESTS // CONNECTIONS):
                for connection in sockets:
                    connection.sendall(asked)
                for connection in sockets:
                    got = connection.recv(1 << 16)
                    while method == "GET" and len(got) < got.index(b"\r\n\r\n") + 4 + len(body):
                        got += connection.recv(1 << 16)
                    if not got.startswith(b"HTTP/1.1 200 "):
                        sys.exit(f"the emulator answered {got[:200]!r}")
            after = server.cpu_times()
        return (after.user + after.system - before.user - before.system) / REQUESTS

    return measure


def load_over_tls(kind: str) -> Callable[[Checkout, Bench], float]:
    """CPU seconds of one operation of 8 MiB over TLS, bytes verified, start-up taken out."""

    def measure(checkout: Checkout, bench: Bench) -> float:
        arguments = ["load", "-q", "--endpoint-url", bench.secure, "-b", "data", "--operation", kind, "--size", "8MiB"]
        arguments += ["--tls-no-verify", "--workers", "1", "-t", "4", "--objects", "4"]
        arguments += ["--overwrite"] if kind == "put" else []
        keys = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
        few, many = (checkout.cpu_s(*arguments, "--operations", f"{count}", env=keys) for count in (4, BODIES))
        return (many - few) / (BODIES - 4)

    return measure


def measurements(checkout: Checkout, bench: Bench, *arguments: str) -> list[dict[str, Any]]:
    """All measurements of `s3bench run ARGUMENTS`."""
    file = bench.documents / "run.json"
    checkout.cpu_s("run", "-q", "--suite", "full", *arguments, "-o", str(file), "--force")
    return [each for result in json.loads(file.read_text())["results"] for each in result["measurements"]]


def gap(iterations: int, *arguments: str) -> Callable[[Checkout, Bench], float]:
    """Elapsed seconds between the end of one iteration and the start of the next."""

    def measure(checkout: Checkout, bench: Bench) -> float:
        found = measurements(checkout, bench, "-n", str(iterations), *arguments)
        times = [each["harness"]["turnaround_time"] for each in found]
        return statistics.median(time for time in times if time is not None)

    return measure


def sample(checkout: Checkout, bench: Bench) -> float:
    """CPU seconds of observing a client, for each sample: samples, looks for children, probes of the core's speed."""
    found = measurements(checkout, bench, "-n", "5", "-k", "cp and upload and 32MB and boto3-classic")
    return statistics.median(each["harness"]["sampler_cpu_time"] / each["harness"]["samples"] for each in found)


CASES: dict[str, Callable[[Checkout, Bench], float]] = {
    "s3bench --help": start_up("--help"),
    "run --list": start_up("run", "--list"),
    "load --help": start_up("load", "--help"),
    "compare of 10,000 measurements": compare,
    "load, GET of 4 KiB": load("get"),
    "load, PUT of 4 KiB": load("put", "--overwrite"),
    "load, TLS, GET of 8 MiB": load_over_tls("get"),
    "load, TLS, PUT of 8 MiB": load_over_tls("put"),
    "emulator, GET of 4 KiB": emulator("GET"),
    "emulator, PUT of 4 KiB, stored": emulator("PUT"),
    "emulator, PUT of 4 KiB, discarded": emulator("PUT", "--discard"),
    "stub, GET of 4 KiB": stub_get,
    "gap between iterations": gap(10, "-k", "cp and upload and 32MB and s5cmd"),
    "gap, 5,000 files down": gap(4, "-k", "sync and download and 5,000 and s5cmd"),
    "gap, 5,000 files up in process": gap(4, "-k", "cp and upload and 5,000 and boto3-classic", "--stub", "in-process"),
    "observing, for each sample": sample,
}


def main() -> int:
    """Print a row for each case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, help="the other checkout, in which scripts/install was run")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    before, after = Checkout(root=options.before.resolve()), Checkout(root=HERE)
    rows = []
    with (
        tempfile.TemporaryDirectory() as directory,
        after.serving("--bucket", "data") as (emulator_url, _),
        after.serving("--bucket", "data", "--discard") as (discarding, _),
        after.serving("--bucket", "data", "--tls") as (secure, _),
    ):
        bench = Bench(
            emulator=emulator_url,
            discarding=discarding,
            secure=secure,
            stub=Path(directory) / "stub.json",
            documents=Path(directory),
        )
        bench.stub.write_text(json.dumps(STUB))
        subprocess.run(
            [before.root / ".venv/bin/python", "-c", WRITE_DOCUMENTS, directory], cwd=before.root, check=True
        )
        for name, measure in CASES.items():
            if options.only not in name:
                continue
            figures: dict[Path, list[float]] = {before.root: [], after.root: []}
            for number in range(options.rounds):
                for checkout in (before, after) if number % 2 == 0 else (after, before):
                    figures[checkout.root].append(measure(checkout, bench))
            medians = [statistics.median(figures[checkout.root]) for checkout in (before, after)]
            ratios = [new / old for old, new in zip(*figures.values(), strict=True)]
            row = {"case": name, "before_s": medians[0], "after_s": medians[1], "ratio": medians[1] / medians[0]}
            rows.append(row | {"rounds": ratios})
            if not options.json:
                print(
                    f"{name:32} before {medians[0]:.3g} s  after {medians[1]:.3g} s  "
                    f"ratio {row['ratio']:.3f} (rounds {min(ratios):.2f} to {max(ratios):.2f})",
                    flush=True,
                )
    if options.json:
        print(json.dumps(rows, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
