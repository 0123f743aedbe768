#!/usr/bin/env python3
"""Whether `s3bench load` lasts: millions of operations at constant memory, an outage, a dead server, 5,000 connections.

    .venv/bin/python benchmarks/load_endurance.py [--operations 10000000] [--connections 5000] [--only TEXT]

Against our emulator, with two workers, as a user runs it: the command in a process of its own, its results document
read afterwards. Bars:

- memory: verified GETs of 4 KiB on 64 threads: all operations done and none failed; all workers together below 300 MB
  at their highest (VmHWM, which the kernel keeps), and no larger at the end than after the first minute (or the first
  quarter of a run shorter than four minutes), within 1 MB for each. What the coordinator needs, which keeps a record a
  second, stands beside it.
- outage: the server is killed in the middle of a timed run, and another takes its port some seconds later. The run
  ends on time; every second between shows failures and no operation, the seconds before and after show operations;
  the failures are listed by what happened.
- silence: the server is stopped (SIGSTOP) in the middle and stays so. The run ends on time, but for the ten seconds in
  which what is in flight may end, and says how much was left unfinished.
- connections: as many threads, answers take a second: by the server's own counters all are in flight at once, on one
  connection each, and none fails.

Exits 1 when a bar is missed.
"""

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import psutil
from bars import met_or_missed
from load_throughput_ruler import BUCKET, keyed

from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.endpoint import EmulatorEndpoint
from s3bench.s3.network.model import parse_network

_WORKER = "s3bench.load.engine.worker"
WORKERS = 2
SIZE_BYTES = 4096
OBJECTS = 1000
MEMORY_BYTES_MAX = 300e6
GROWTH_BYTES_MAX = 1e6
SETTLED_S = 60.0

OUTAGE_RUN_S = 20
KILLED_S, BACK_S = 6.0, 10.0
SILENCE_RUN_S = 8
SILENCE_S = 4.0
AFTER_S_MAX = 5.0  # the start of the interpreter and the document at the end
LATE_S_MAX = 10.0
CONNECTIONS_RUN_S = 15
_LIMIT_S = 3600.0
_TAIL_BYTES = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A run that is over: how long the process lived, its exit code and the load of its results document."""

    elapsed_s: float
    code: int
    load: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What the processes of a run held at a moment, in bytes; `high` is the most that the workers ever had."""

    at_s: float
    coordinator: int
    workers: int
    high: int


class Bars:
    """What was held and what was missed."""

    def __init__(self) -> None:
        self.missed: list[str] = []

    def hold(self, what: str, *, held: bool) -> None:
        """Print a bar's verdict and keep it."""
        print(f"  {met_or_missed(held)}: {what}", flush=True)
        if not held:
            self.missed.append(what)


def main() -> int:
    """Run all parts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--operations", type=int, default=10_000_000)
    parser.add_argument("--connections", type=int, default=5000)
    parser.add_argument("--only", default="", help="only parts whose names hold this")
    options = parser.parse_args()
    bars = Bars()
    parts: dict[str, Callable[[Path], None]] = {
        "outage": lambda directory: outage(directory, bars),
        "silence": lambda directory: silence(directory, bars),
        "connections": lambda directory: connections(directory, options.connections, bars),
        "memory": lambda directory: memory(directory, options.operations, bars),
    }
    with tempfile.TemporaryDirectory(prefix="s3bench-endurance-") as name:
        for part, run in parts.items():
            if options.only in part:
                print(f"\n{part}", flush=True)
                directory = Path(name, part)
                directory.mkdir()
                run(directory)
    if bars.missed:
        print("missed:", *bars.missed, sep="\n  ")
    return 1 if bars.missed else 0


def memory(directory: Path, operations: int, bars: Bars) -> None:
    """Do all operations and look at the memory every second."""
    seen: list[Memory] = []
    with _emulator(directory) as endpoint, Run(endpoint.url, directory, *_extent(operations)) as run:
        shown_s = 0.0
        while run.is_on:
            endpoint.drain(requests_max=0)  # else the server would keep the record of every request
            now = run.memory()
            if now is not None:
                seen.append(now)
                if now.at_s >= shown_s:
                    shown_s = now.at_s + 30
                    _show(now)
            time.sleep(1.0)
        ended = run.end()
    whole = ended.load
    _show(seen[-1])
    rate = whole["operations_rate"]
    print(f"  {whole['operations']:,} operations in {ended.elapsed_s:.0f} s, {rate:,.0f} a second")
    settled = next(memory for memory in seen if memory.at_s >= min(SETTLED_S, seen[-1].at_s / 4))
    high = max(memory.high for memory in seen)
    bars.hold(f"{operations:,} operations done, none failed", held=_done(whole) == (operations, 0) and not ended.code)
    bars.hold(
        f"workers together {high / 1e6:.1f} MB at most, below {MEMORY_BYTES_MAX / 1e6:.0f}",
        held=high < MEMORY_BYTES_MAX,
    )
    grown = seen[-1].workers - settled.workers
    bars.hold(
        f"{grown / 1e6:+.2f} MB in the workers since second {settled.at_s:.0f}",
        held=grown <= GROWTH_BYTES_MAX * WORKERS,
    )


def _extent(operations: int) -> tuple[str, ...]:
    return ("--threads", "64", "--operations", str(operations), "--objects", str(OBJECTS))


def _show(memory: Memory) -> None:
    print(
        f"  second {memory.at_s:6.0f}: workers {memory.workers / 1e6:6.1f} MB (highest {memory.high / 1e6:6.1f}),"
        f" coordinator {memory.coordinator / 1e6:6.1f} MB",
        flush=True,
    )


def outage(directory: Path, bars: Bars) -> None:
    """Kill the server in the middle, and start another on its port."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(_files(directory))
        intolerant = (*_timed(directory, OUTAGE_RUN_S), "--max-error-rate", "0%")
        run = stack.enter_context(Run(server.url, directory, *intolerant))
        _await_requests(server)
        began_s = time.monotonic()
        _sleep_until(began_s + KILLED_S)
        os.kill(server.pid, signal.SIGKILL)
        _sleep_until(began_s + BACK_S)
        stack.enter_context(_files(directory, port=server.port))
        ended = run.end()
    seconds = ended.load["seconds"]
    print("  operations by second: ", *(second["operations"] for second in seconds))
    print("  failures by second:   ", *(second["failures"] for second in seconds))
    print(f"  stalled: {ended.load['stalls']}; failures: {_failures(ended.load)}")
    bars.hold(
        f"{OUTAGE_RUN_S} s run ended {ended.elapsed_s:.1f} s after the process began",
        held=OUTAGE_RUN_S <= ended.elapsed_s <= OUTAGE_RUN_S + AFTER_S_MAX,
    )
    out = seconds[round(KILLED_S) + 1 : round(BACK_S) - 1]
    up = [*seconds[: round(KILLED_S) - 1], *seconds[round(BACK_S) + 2 : OUTAGE_RUN_S]]
    bars.hold(
        "the outage is visible: no operation and some failures in each second of it",
        held=bool(out) and all(second["failures"] and not second["operations"] for second in out),
    )
    bars.hold(
        "before and after it operations end well, and nothing fails",
        held=bool(up) and all(second["operations"] and not second["failures"] for second in up),
    )
    told = sum(failure["count"] for failure in ended.load["failures"])
    bars.hold("every failure is in the list", held=told == sum(second["failures"] for second in seconds) > 0)
    bars.hold("exit code 1, since no failure was allowed", held=ended.code == 1)


def silence(directory: Path, bars: Bars) -> None:
    """Stop the server in the middle, for good."""
    with _files(directory) as server, Run(server.url, directory, *_timed(directory, SILENCE_RUN_S)) as run:
        _await_requests(server)
        time.sleep(SILENCE_S)
        os.kill(server.pid, signal.SIGSTOP)
        limit_s = SILENCE_RUN_S + LATE_S_MAX + AFTER_S_MAX
        try:
            ended = run.end(2 * limit_s)
        finally:
            os.kill(server.pid, signal.SIGCONT)
    load = ended.load
    print("  operations by second: ", *(second["operations"] for second in load["seconds"]))
    print(f"  stalled: {load['stalls']}; unfinished: {load['unfinished']}, of them late: {load['late']}")
    bars.hold(
        f"{SILENCE_RUN_S} s run ended {ended.elapsed_s:.1f} s after the process began, of {limit_s:.0f}",
        held=ended.elapsed_s <= limit_s,
    )
    bars.hold("all that was in flight is accounted for", held=load["unfinished"] == 64 and not load["late"])
    bars.hold("the seconds of silence are marked as stalls", held=SILENCE_RUN_S - 2 in load["stalls"])


def connections(directory: Path, threads: int, bars: Bars) -> None:
    """Have as many requests in flight as there are threads."""
    extent = ("--threads", str(threads), "--duration", str(CONNECTIONS_RUN_S), "--objects", "100")
    in_flight, opened = 0, 0
    with _emulator(directory, network="ttfb=1s") as endpoint, Run(endpoint.url, directory, *extent) as run:
        while run.is_on:
            counters = endpoint.drain(requests_max=0).counters
            in_flight = max(in_flight, counters.in_flight)
            opened = max(opened, counters.connections_open)
            time.sleep(0.05)
        ended = run.end()
    load = ended.load
    rate, p99 = load["operations_rate"], load["latency"]["p99"]
    print(f"  {rate:,.0f} operations/s, p99 {p99} s, {load['connects']} connections made; {_failures(load)}")
    bars.hold(
        f"{in_flight:,} of {threads:,} requests in flight at once, on {opened:,} connections, by the server's count",
        held=in_flight == threads and opened >= threads,
    )
    bars.hold(
        f"one connection a thread, none failed: {load['operations']:,} operations",
        held=load["connects"] == threads and _done(load)[1] == 0 and load["operations"] > threads and not ended.code,
    )


class Run:
    """`s3bench load` in a process of its own, as long as the context at most."""

    def __init__(self, url: str, directory: Path, *words: str) -> None:
        self._results = directory / "results.json"
        self._stderr = directory / "stderr.txt"
        command = (
            str(Path(sys.executable).with_name("s3bench")), "load", "--endpoint-url", url, "--bucket", BUCKET,
            "--operation", "get", "--size", str(SIZE_BYTES), "--workers", str(WORKERS), "--quiet",
            "--output", str(self._results), *words,
        )  # fmt: skip
        self._began_s = time.monotonic()
        with self._stderr.open("wb") as stderr:
            self._process = subprocess.Popen(command, env=keyed(url), stdout=subprocess.DEVNULL, stderr=stderr)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()  # the workers end with it
        self._process.wait()

    @property
    def is_on(self) -> bool:
        """Whether the process lives."""
        return self._process.poll() is None

    def memory(self) -> Memory | None:
        """Look at its memory; `None` while not all workers are there, or no longer."""
        try:
            coordinator = psutil.Process(self._process.pid)
            workers = [child for child in coordinator.children() if _WORKER in " ".join(child.cmdline())]
            if len(workers) != WORKERS:
                return None
            return Memory(
                at_s=time.monotonic() - self._began_s,
                coordinator=coordinator.memory_info().rss,
                workers=sum(worker.memory_info().rss for worker in workers),
                high=sum(_high_bytes(worker.pid) for worker in workers),
            )
        except (psutil.Error, OSError):
            return None

    def end(self, limit_s: float = _LIMIT_S) -> Ended:
        """Wait until it is over; what is not after `limit_s` is killed, and its code is 1."""
        try:
            code = self._process.wait(limit_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            code = 1
        elapsed_s = time.monotonic() - self._began_s
        if code not in {0, 1} or not self._results.exists():
            raise SystemExit(f"exit code {code}: {self._stderr.read_bytes()[-_TAIL_BYTES:].decode(errors='replace')}")
        document = json.loads(self._results.read_bytes())
        return Ended(elapsed_s=elapsed_s, code=code, load=document["results"][0]["measurements"][0]["load"])


@contextlib.contextmanager
def _emulator(directory: Path, *, network: str | None = None) -> Iterator[EmulatorEndpoint]:
    with EmulatorEndpoint(directory=directory) as endpoint:
        endpoint.arm(EmulatorSettings(buckets=(BUCKET,)), network=parse_network(network) if network else None)
        yield endpoint


@contextlib.contextmanager
def _files(directory: Path, *, port: int = 0) -> Iterator[EmulatorEndpoint]:
    """Serve objects from files, which outlive the server."""
    bucket = directory / "data" / BUCKET
    if not bucket.exists():
        bucket.mkdir(parents=True)
        with (directory / "keys").open("w", encoding="ascii") as keys:
            for number in range(100):
                body = os.urandom(SIZE_BYTES)
                (bucket / f"{number:08d}").write_bytes(body)
                keys.write(f"{number:08d}\t{SIZE_BYTES}\t{zlib.crc32(body):08x}\n")
    private = directory / f"server-{port}"
    private.mkdir()
    with EmulatorEndpoint(directory=private, port=port) as endpoint:
        endpoint.arm(EmulatorSettings(data_dir=str(bucket.parent)))
        yield endpoint


def _timed(directory: Path, seconds: int) -> tuple[str, ...]:
    return ("--threads", "64", "--duration", str(seconds), "--key-file", str(directory / "keys"))


def _await_requests(endpoint: EmulatorEndpoint) -> None:
    deadline_s = time.monotonic() + 60
    while endpoint.drain(requests_max=0).counters.requests < OBJECTS:
        if time.monotonic() > deadline_s:
            raise SystemExit("the run does not begin")
        time.sleep(0.01)


def _sleep_until(moment_s: float) -> None:
    time.sleep(max(0.0, moment_s - time.monotonic()))


def _done(load: dict[str, Any]) -> tuple[int, int]:
    return load["operations"], load["failed"]


def _failures(load: dict[str, Any]) -> str:
    return ", ".join(f"{failure['count']:,} times {failure['label']}" for failure in load["failures"]) or "no failure"


def _high_bytes(pid: int) -> int:
    """VmHWM (proc_pid_status(5)), which the kernel keeps."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise OSError("no VmHWM")


if __name__ == "__main__":
    sys.exit(main())
