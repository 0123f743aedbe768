#!/usr/bin/env python3
"""What a request costs the load generator, beside wrk, a minimal C client and the S3 clients people script with.

    .venv/bin/python benchmarks/load_cost.py [--rounds 5] [--seconds 3] [--peers PYTHON] [--only TEXT]

Client CPU alone, by the kernel's clock of the process; one worker, 16 connections, the same server for all, which asks
for no signature, on a core of its own; the rounds alternate between all clients and the medians count. s3bench signs
every request and records every latency; wrk and the C client (load_cost.c, compiled at the start) sign nothing. Bodies
of 8 MiB GETs are discarded in the kernel (MSG_TRUNC) by us and by the C client alike; what verification costs stands
beside. There are 1,000 objects of 4 KiB and 8 of 8 MiB; wrk, the C client and the peers read one of them again and
again. GETs are answered by our emulator, PUTs by our stub, which takes every body unread: a server that lets its
clients wait would be measured instead of them. One case does have PUTs wait, beside our GETs: its emulator verifies
every body and keeps none, and needs several times as long for a PUT as for a GET. So responses come one by one, each
of which wakes the client.

`--peers` is the Python of an environment with obstore, boto3 and awscrt (`pip install obstore boto3 awscrt`); wrk, cc
and they are left out, and named, where they are missing, and the exit code is 2. Exits 1 when a bar is missed.
"""

import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bars import met_or_missed

from s3bench.clients.environment import Credentials
from s3bench.load.engine.interval_record import IntervalRecord
from s3bench.load.engine.message import BeginPhase, PreparePhase, RequestTarget
from s3bench.load.engine.objects import Objects
from s3bench.load.operation import OperationKind
from s3bench.load.profile.profile import DataSet, Job, Manner, Phase, Share
from s3bench.load.profile.sizes import Sizes, fixed
from s3bench.load.session.target import find_target
from s3bench.load.session.worker_pool import WorkerPool
from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.endpoint import EmulatorEndpoint, StubEndpoint
from s3bench.spec.definition import RequestMatch, Response

CONNECTIONS = 16
BUCKET = "bucket"
DATA = DataSet(run="0123456789ab", root="s3bench/0123456789ab/")
SMALL, LARGE = fixed(4 * 1024), fixed(8 * 1024**2)
OBJECTS = {SMALL: 1000, LARGE: 8}
HERE = Path(__file__).parent
LIMIT_S = 120.0
KEYS = Credentials(access_key="benchmark", secret_key="not-a-secret-at-all")  # noqa: S106 (it is none)
PEERS_KEYS = {
    "AWS_ACCESS_KEY_ID": KEYS.access_key,
    "AWS_SECRET_ACCESS_KEY": KEYS.secret_key,
    "AWS_REGION": "us-east-1",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one round showed of one client."""

    requests: int
    body_bytes: int
    cpu_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """The emulator; over TLS `ca_bundle` is what is to be trusted."""

    url: str
    pid: int
    ca_bundle: Path | None


Run = Callable[[float], Cost]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Clients that do the same; bars are the most of ours by a peer's. `per_gb` compares CPU by bytes, not requests."""

    name: str
    runs: dict[str, Run]
    bars: dict[str, float]
    per_gb: bool = False


class Ours:
    """One worker of s3bench against one server, for as long as the stack."""

    def __init__(self, server: Server, directory: Path, stack: contextlib.ExitStack) -> None:
        directory.mkdir()
        self._target: RequestTarget = find_target(
            [server.url], bucket=BUCKET, credentials=KEYS, ca_bundle=str(server.ca_bundle) if server.ca_bundle else None
        )
        self._crew = stack.enter_context(WorkerPool(1, directory=directory))
        self._first = 1 << 30

    def fill(self, sizes: Sizes) -> None:
        """Write the data set."""
        self._do(OperationKind.PUT, sizes, Manner(), operations=OBJECTS[sizes], first=0)

    def run(self, kind: OperationKind, sizes: Sizes, manner: Manner) -> Run:
        """Give what runs one kind of operation."""

        def run(seconds: float) -> Cost:
            self._first += 1 << 24
            return self._do(kind, sizes, manner, seconds=seconds, first=self._first)

        return run

    def _do(
        self, kind: OperationKind, sizes: Sizes, manner: Manner, *, first: int, seconds: float | None = None,
        operations: int | None = None,
    ) -> Cost:  # fmt: skip
        self._crew.prepare((PreparePhase(worker=0, workers=1, target=self._target, manner=manner, data=DATA),))
        overwrites = kind is OperationKind.PUT and operations is None
        job = Job(
            mix=(Share(kind=kind),), sizes=sizes, threads=CONNECTIONS, operations=operations, objects=OBJECTS[sizes],
            overwrite=overwrites,
        )  # fmt: skip
        phase = Phase(jobs=(job,), duration_s=seconds)
        order = BeginPhase(phase=phase, first_numbers=(first,))
        tallies = [report for report in self._crew.perform((order,)) if isinstance(report, IntervalRecord)]
        streams = [stream for tally in tallies for stream in tally.streams]
        if any(stream.losses for stream in streams):
            raise SystemExit(f"{kind}: {[stream.losses for stream in streams]}")
        return Cost(
            requests=sum(stream.operations for stream in streams),
            body_bytes=sum(stream.bytes_up + stream.bytes_down for stream in streams),
            cpu_s=sum(tally.cpu_ns for tally in tallies) / 1e9,
        )


def main() -> int:
    """Run all cases and print the table."""
    options = _options()
    missing: list[str] = []
    with tempfile.TemporaryDirectory(prefix="s3bench-load-cost-") as name, contextlib.ExitStack() as stack:
        directory = Path(name)
        cases = _cases(directory, stack, options, missing)
        missed = [case.name for case in cases if not _measure(case, options)]
    if missed:
        print(f"a bar is missed: {', '.join(missed)}")
        return 1
    if missing:
        print(f"not measured, since missing: {', '.join(missing)}", file=sys.stderr)
        return 2
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each client in each round")
    parser.add_argument("--peers", help="a Python that has obstore, boto3 and awscrt")
    parser.add_argument("--only", default="", help="only cases whose names hold this")
    return parser.parse_args()


def _cases(directory: Path, stack: contextlib.ExitStack, options: argparse.Namespace, missing: list[str]) -> list[Case]:
    plain = stack.enter_context(_emulator(directory / "plain"))
    secure = stack.enter_context(_emulator(directory / "secure", tls=True))
    sink = stack.enter_context(_stub(directory / "sink"))
    discarding = stack.enter_context(_emulator(directory / "discarding", discard=True))
    cores = sorted(os.sched_getaffinity(0))
    for server in (plain, secure, sink, discarding):
        os.sched_setaffinity(server.pid, {cores[0]})
    os.sched_setaffinity(0, {cores[-1]})
    ours, ours_secure = Ours(plain, directory / "ours", stack), Ours(secure, directory / "ours-secure", stack)
    ours_sink = Ours(sink, directory / "ours-sink", stack)
    ours_discarding = Ours(discarding, directory / "ours-discarding", stack)
    for sizes in OBJECTS:
        ours.fill(sizes)
        ours_secure.fill(sizes)
    unverified, verified = Manner(verify=False), Manner()
    peers = Peers(plain, options.peers, directory, missing)
    peers_sink = Peers(sink, options.peers, directory, missing)
    peers_discarding = Peers(discarding, options.peers, directory, missing)
    peers_secure = Peers(secure, options.peers, directory, missing)
    small, large = (_path(sizes) for sizes in OBJECTS)
    cases = [
        Case(
            name="4 KiB GET",
            runs={
                "s3bench": ours.run(OperationKind.GET, SMALL, unverified),
                "s3bench, verified": ours.run(OperationKind.GET, SMALL, verified),
                **peers.wrk(SMALL),
                **peers.scripted("get", small, ("obstore", "boto3"), SMALL),
            },
            bars={"wrk": 1.6, "obstore": 1 / 4, "boto3": 1 / 40},
        ),
        Case(
            name="4 KiB PUT",
            runs={
                "s3bench": ours_sink.run(OperationKind.PUT, SMALL, unverified),
                "s3bench, SHA-256 signed": ours_sink.run(OperationKind.PUT, SMALL, Manner(signs_payload=True)),
                **peers_sink.c_client("put", "/bucket/put", SMALL),
                **peers_sink.scripted("put", "put", ("obstore", "boto3"), SMALL),
            },
            bars={"obstore": 1 / 2.5, "boto3": 1 / 40},
        ),
        Case(
            name="4 KiB PUT that waits",
            runs={
                "s3bench": ours_discarding.run(OperationKind.PUT, SMALL, unverified),
                "s3bench, GET": ours.run(OperationKind.GET, SMALL, unverified),
                **peers_discarding.c_client("put", "/bucket/put", SMALL),
            },
            bars={"s3bench, GET": 1.4},
        ),
        Case(
            name="8 MiB GET",
            runs={
                "s3bench": ours.run(OperationKind.GET, LARGE, unverified),
                "s3bench, verified": ours.run(OperationKind.GET, LARGE, verified),
                **peers.c_client("get", f"/{BUCKET}/{large}", LARGE),
                **peers.scripted("get", large, ("awscrt",), LARGE),
            },
            bars={"C": 1.3, "awscrt": 1 / 2},
            per_gb=True,
        ),
        Case(
            name="8 MiB PUT",
            runs={
                "s3bench": ours_sink.run(OperationKind.PUT, LARGE, unverified),
                "s3bench, with CRC-32": ours_sink.run(OperationKind.PUT, LARGE, Manner(checksum=True)),
                **peers_sink.c_client("put", f"/{BUCKET}/put", LARGE),
                **peers_sink.scripted("put", "put", ("awscrt",), LARGE),
            },
            bars={"C": 1.3, "awscrt": 1 / 2},
            per_gb=True,
        ),
        Case(
            name="4 KiB GET over TLS",
            runs={"s3bench": ours_secure.run(OperationKind.GET, SMALL, unverified), **peers_secure.wrk(SMALL)},
            bars={"wrk": 1.6},
        ),
        Case(
            name="8 MiB GET over TLS",
            runs={
                "s3bench": ours_secure.run(OperationKind.GET, LARGE, unverified),
                "s3bench, verified": ours_secure.run(OperationKind.GET, LARGE, verified),
                **peers_secure.wrk(LARGE),
            },
            bars={"wrk": 1.6},
            per_gb=True,
        ),
    ]
    return [case for case in cases if options.only in case.name]


def _measure(case: Case, options: argparse.Namespace) -> bool:
    """Run the rounds of one case and print them; whether all bars are held."""
    costs: dict[str, list[float]] = {name: [] for name in case.runs}
    rates: dict[str, list[float]] = {name: [] for name in case.runs}
    for turn in range(options.rounds):
        order = list(case.runs)
        for name in order if turn % 2 else reversed(order):
            cost = case.runs[name](options.seconds)
            amount = cost.body_bytes / 1e9 if case.per_gb else cost.requests / 1e6
            costs[name].append(cost.cpu_s / amount)
            rates[name].append(cost.requests / options.seconds)
    unit = "CPU s per GB" if case.per_gb else "CPU us per request"
    print(f"\n{case.name}: {unit}")
    held = True
    for name, values in costs.items():
        pairs = [ours / theirs for ours, theirs in zip(costs["s3bench"], values, strict=True)]
        ratio, bar = statistics.median(pairs), case.bars.get(name)
        verdict = ""
        if bar is not None:
            held = held and ratio <= bar
            verdict = f"  bar {bar:.3f}: {met_or_missed(ratio <= bar)}"
        print(
            f"  {name:26s} {statistics.median(values):9.3f}  {statistics.median(rates[name]):10.0f} requests/s"
            f"  ours/its {ratio:6.3f} ({min(pairs):.3f} to {max(pairs):.3f}){verdict}",
            flush=True,
        )
    return held


class Peers:
    """The other clients against one server, those that are there; what is missing is named in `missing`."""

    def __init__(self, server: Server, python: str | None, directory: Path, missing: list[str]) -> None:
        self._server = server
        self._python = python
        self._directory = directory
        self._missing = missing

    def wrk(self, sizes: Sizes) -> dict[str, Run]:
        """Wrk with GETs of all keys in turn, chosen by a line of Lua at the start."""
        if shutil.which("wrk") is None:
            return self._lacking("wrk")
        url = f"{self._server.url}/{BUCKET}/{_path(sizes)}"

        def run(seconds: float) -> Cost:
            command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{max(1, round(seconds))}s", url]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            assert process.stdout is not None
            said = process.stdout.read()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            process.stdout.close()
            if process.returncode or "Non-2xx" in said or "Socket errors" in said:
                raise SystemExit(said)
            requests = int(said.partition(" requests in")[0].split()[-1])
            return Cost(requests=requests, body_bytes=requests * sizes.slots[0], cpu_s=usage.ru_utime + usage.ru_stime)

        return {"wrk": run}

    def c_client(self, verb: str, path: str, sizes: Sizes) -> dict[str, Run]:
        """The minimal client in C."""
        compiler = shutil.which("cc")
        if compiler is None:
            return self._lacking("cc")
        program = self._directory / "load_cost"
        if not program.exists():
            subprocess.run([compiler, "-O2", "-o", program, HERE / "load_cost.c"], check=True, timeout=LIMIT_S)
        port = self._server.url.rpartition(":")[2]

        def run(seconds: float) -> Cost:
            words = [verb, path, str(sizes.slots[0]), str(CONNECTIONS), str(seconds)]
            said = subprocess.run(
                [program, "127.0.0.1", port, *words], check=True, capture_output=True, text=True, timeout=LIMIT_S
            )
            requests, body_bytes, cpu_s = said.stdout.split()
            return Cost(requests=int(requests), body_bytes=int(body_bytes), cpu_s=float(cpu_s))

        return {"C": run}

    def scripted(self, verb: str, key: str, names: tuple[str, ...], sizes: Sizes) -> dict[str, Run]:
        """The S3 clients of Python's, each in a process of its own (load_peers.py)."""
        if self._python is None:
            return self._lacking(f"{', '.join(names)} (--peers)")
        runs = {}
        for name in names:
            if subprocess.run([self._python, "-c", f"import {name}"], check=False, capture_output=True).returncode:
                self._lacking(name)
            else:
                runs[name] = self._script(name, verb, key, sizes)
        return runs

    def _script(self, name: str, verb: str, key: str, sizes: Sizes) -> Run:
        def run(seconds: float) -> Cost:
            numbers = (str(sizes.slots[0]), str(CONNECTIONS), str(seconds))
            words = (name, verb, self._server.url, BUCKET, key, "0", *numbers)
            said = subprocess.run(
                [str(self._python), HERE / "load_peers.py", *words],
                env={**os.environ, **PEERS_KEYS}, check=True, capture_output=True, text=True, timeout=LIMIT_S,
            )  # fmt: skip
            return Cost(**json.loads(said.stdout))

        return run

    def _lacking(self, name: str) -> dict[str, Run]:
        if name not in self._missing:
            self._missing.append(name)
        return {}


@contextlib.contextmanager
def _emulator(directory: Path, *, tls: bool = False, discard: bool = False) -> Iterator[Server]:
    directory.mkdir()
    with EmulatorEndpoint(tls=tls, directory=directory) as endpoint:
        endpoint.arm(EmulatorSettings(buckets=(BUCKET,), discard=discard))
        yield Server(url=endpoint.url, pid=endpoint.pid, ca_bundle=endpoint.ca_bundle)


@contextlib.contextmanager
def _stub(directory: Path) -> Iterator[Server]:
    """Takes every PUT."""
    directory.mkdir()
    with StubEndpoint(directory=directory) as endpoint:
        taken = Response(headers=(("ETag", '"taken"'),), instances=None, match=RequestMatch(method="PUT"))
        endpoint.arm((taken,), workspace=directory, verify=False)
        yield Server(url=endpoint.url, pid=endpoint.pid, ca_bundle=None)


def _path(sizes: Sizes) -> str:
    """The key of object 1, as it is in a URL."""
    objects = Objects(DATA.of(sizes), sizes, bucket=BUCKET, workers=1, signs_payload=False, checksum=False)
    return objects.path(1).removeprefix("/")


if __name__ == "__main__":
    started_s = time.monotonic()
    code = main()
    print(f"{time.monotonic() - started_s:.0f} s")
    sys.exit(code)
