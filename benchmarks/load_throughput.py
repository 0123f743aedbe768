#!/usr/bin/env python3
"""What `s3bench load` gets out of a server, beside every other tool that is there, by the server's own count.

    .venv/bin/python benchmarks/load_throughput.py [--rounds 3] [--seconds 5] [--threads 16,32] [--only TEXT]
        [--tools LIST] [--apart] [--peers PYTHON] [--minio-loop FILE] [--versitygw FILE]

GET and PUT of 4 KiB, 1 MiB and 8 MiB against our emulator, with and without TLS, and against versitygw (files in
memory, keep-alive), servers and tools together on all cores; `s3bench load` with two workers, signed, every GET
verified, latencies recorded. With `--apart` servers are on the last core, tools on the first, and we have one worker.
All tools read the same objects and have the same number of requests in flight. A rate is what the server answered well
between a tenth and nine tenths of what a tool moved at all, so start-up and listing cost nobody anything; beside it
stands the CPU time that the tool used in that time, for each operation. The rounds alternate between the tools. Bar: at
least the rate of every tool, as the median of the ratios. wrk signs nothing and reads one object: a yardstick without a
bar. `warp-unsigned` is warp without a hash of what it writes. What s3bench says of its own rate stands beside what the
server counted.

Where a server's sockets are paced (by BBR, if that is the machine's default), timers send what it sends, and they
interrupt whatever runs, also a tool, which is charged for it. A network namespace with another
`net.ipv4.tcp_congestion_control` avoids that.

s5cmd, rclone and wrk are found on PATH, beside this Python or in ~/go/bin; `--peers` is the Python of an environment
with obstore, boto3 and awscrt; `--minio-loop` is load_throughput_minio.go, built as it says: warp's client library.
What is missing, or too old, is named, and the exit code is 2. Exits 1 when a bar is missed. warp is found like s5cmd;
where `go install` cannot make it, build its source. Not here, since neither Debian nor PyPI nor Go's module proxy gave
them: hsbench, both kinds of s3-benchmark, gosbench, elbencho.
"""

import argparse
import contextlib
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from load_throughput_ruler import (
    BUCKET,
    SHARED_MEMORY,
    CpuTime,
    Sample,
    Served,
    client,
    emulator,
    keyed,
    steady,
    versitygw,
    watch,
)
from load_throughput_tools import Case, Command, Tool, found_tools
from peers import program

OBJECTS = {4 * 1024: 4000, 1024**2: 128, 8 * 1024**2: 48}
WORKERS = 2
OURS = "s3bench"
_LIMIT_S = 120.0
_STOP_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """Objects of one size on one server, which `s3bench load` wrote and kept."""

    run: str
    prefix: str
    keys: tuple[str, ...]


def main() -> int:
    """Run all cases and print the table."""
    options = _options()
    missing: list[str] = []
    tools = (
        _ours(1 if options.apart else WORKERS),
        *found_tools(peers=options.peers, minio=options.minio_loop, missing=missing),
    )
    congestion = Path("/proc/sys/net/ipv4/tcp_congestion_control")
    if congestion.exists():
        print(f"congestion control of servers other than ours: {congestion.read_text().strip()}")
    if options.tools:
        tools = tuple(tool for tool in tools if tool.name in {OURS, *options.tools.split(",")})
    with contextlib.ExitStack() as stack:
        parent = SHARED_MEMORY if SHARED_MEMORY.is_dir() else None
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="s3bench-load-", dir=parent)))
        cores = sorted(os.sched_getaffinity(0))
        if options.apart:
            os.sched_setaffinity(0, cores[-1:])  # what is started inherits it
        servers = [
            stack.enter_context(emulator(directory / "server")),
            stack.enter_context(emulator(directory / "server-tls", tls=True)),
        ]
        if options.versitygw is None:
            missing.append("versitygw")
        else:
            servers.append(stack.enter_context(versitygw(options.versitygw)))
        if options.apart:
            os.sched_setaffinity(0, cores[:1])
        missed = [case.name for case in _cases(servers, options) if not _measure(case, tools, directory, options)]
    if missed:
        print("slower than another tool:", *missed, sep="\n  ")
        return 1
    if missing:
        print(f"not measured, since missing: {', '.join(missing)}", file=sys.stderr)
        return 2
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each tool in each round")
    parser.add_argument("--threads", default="16,32", help="requests in flight, a list")
    parser.add_argument("--peers", help="a Python that has obstore, boto3 and awscrt")
    parser.add_argument("--minio-loop", help="the program made of load_throughput_minio.go")
    parser.add_argument("--versitygw", default=program("versitygw"), help="the program versitygw")
    parser.add_argument("--only", default="", help="only cases whose names hold this")
    parser.add_argument("--tools", default="", help="only these, a list of names")
    parser.add_argument(
        "--apart", action="store_true", help="servers on the last core, tools on the first, one worker of ours"
    )
    return parser.parse_args()


def _cases(servers: list[Served], options: argparse.Namespace) -> Iterator[Case]:
    for served in servers:
        for size_bytes in OBJECTS:
            data = None
            for verb in ("get", "put"):
                for threads in map(int, options.threads.split(",")):
                    case = Case(
                        served=served, verb=verb, size_bytes=size_bytes, threads=threads, prefix="", keys=(), run=""
                    )
                    if options.only not in case.name:
                        continue
                    data = data or _written(served, size_bytes)
                    yield Case(
                        served=served, verb=verb, size_bytes=size_bytes, threads=threads, prefix=data.prefix,
                        keys=data.keys, run=data.run,
                    )  # fmt: skip


def _written(served: Served, size_bytes: int) -> DataSet:
    """Let `s3bench load` write the objects that all tools read."""
    objects = ("--objects", str(OBJECTS[size_bytes]), "--keep")
    words = (*_load(served, "get", size_bytes), *objects, "--duration", "1", "--json")
    finished = subprocess.run(
        words, env=keyed(served.url, served.ca_bundle), check=True, capture_output=True, text=True, timeout=_LIMIT_S
    )
    found = re.search(r"run (\w+) is kept", finished.stderr)
    if found is None:
        raise SystemExit(f"no run was kept:\n{finished.stderr}")
    root = f"s3bench/{found[1]}/"
    pages = client(served.url, served.ca_bundle).get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=root)
    keys = tuple(entry["Key"] for page in pages for entry in page.get("Contents", ()))
    return DataSet(run=found[1], prefix=keys[0].rpartition("/")[0] + "/", keys=keys)


def _load(served: Served, verb: str, size_bytes: int) -> tuple[str, ...]:
    trust = () if served.ca_bundle is None else ("--ca-bundle", str(served.ca_bundle))
    return (
        str(Path(sys.executable).with_name("s3bench")), "load", "--endpoint-url", served.url, "--bucket", BUCKET,
        "--operation", verb, "--size", str(size_bytes), *trust,
    )  # fmt: skip


def _ours(workers: int) -> Tool:
    def make(case: Case, seconds: float, directory: Path) -> Command:
        words = (
            *_load(case.served, case.verb, case.size_bytes), "--threads", str(case.threads), "--duration", str(seconds),
            "--quiet", "--output", str(directory / "results.json"), "--force", "--workers", str(workers),
        )  # fmt: skip
        words += (
            ("--reuse", case.run, "--keep") if case.verb == "get" else ("--overwrite", "--objects", str(case.put_keys))
        )
        return Command(words=(words,), environment=keyed(case.served.url, case.served.ca_bundle))

    return Tool(name=OURS, make=make)


def _measure(case: Case, tools: tuple[Tool, ...], parent: Path, options: argparse.Namespace) -> bool:
    """Run the rounds of one case and print them; whether no tool is faster."""
    rates: dict[str, list[float]] = {}
    costs_us: dict[str, list[float]] = {}
    said: list[float] = []
    with tempfile.TemporaryDirectory(dir=parent) as name:
        commands = {}
        for tool in tools:
            directory = Path(name, tool.name.replace(",", "").replace(" ", "-"))
            directory.mkdir()
            command = tool.make(case, options.seconds, directory)
            if command is not None:
                commands[tool.name] = command
        for turn in range(options.rounds):
            for tool_name in commands if turn % 2 else reversed(commands):
                rate, cost_us = _rate(case, tool_name, commands[tool_name], options.seconds)
                rates.setdefault(tool_name, []).append(rate)
                costs_us.setdefault(tool_name, []).append(cost_us)
                if tool_name == OURS:
                    said.append(_said(Path(name, OURS, "results.json")) / rate)
    barred = {tool.name for tool in tools if tool.barred and tool.name != OURS}
    return _print(case, {name: rates[name] for name in commands}, costs_us, statistics.median(said), barred)


def _print(
    case: Case, rates: dict[str, list[float]], costs_us: dict[str, list[float]], said: float, barred: set[str]
) -> bool:
    print(f"\n{case.name} (s3bench says {said:.3f} of what the server counted)")
    held = True
    for name, values in rates.items():
        pairs = [ours / theirs for ours, theirs in zip(rates[OURS], values, strict=True)]
        cost_us = statistics.median(costs_us[name])
        costs = [theirs / ours for ours, theirs in zip(costs_us[OURS], costs_us[name], strict=True)]
        ratio, rate = statistics.median(pairs), statistics.median(values)
        verdict = ""
        if name in barred:
            held = held and ratio >= 1
            verdict = "" if ratio >= 1 else "  MISSED"
        print(
            f"  {name:14s} {rate:9.0f} operations/s {rate * case.size_bytes / 1e6:9.1f} MB/s"
            f"   ours/its {ratio:7.2f} ({min(pairs):.2f} to {max(pairs):.2f})"
            f"   CPU {cost_us:8.1f} us an operation, its/ours {statistics.median(costs):6.2f} "
            f"({min(costs):.2f} to {max(costs):.2f}){verdict}",
            flush=True,
        )
    return held


def _rate(case: Case, name: str, command: Command, seconds: float) -> tuple[float, float]:
    """Operations a second while a tool was at it, by the server's count, and its CPU microseconds for each."""
    moved, moved_s, cpu_s = 0, 0.0, 0.0
    started_s = time.perf_counter()
    while True:
        inside = steady(_run(case, name, command, seconds if command.endless else _LIMIT_S))
        moved, moved_s, cpu_s = moved + inside.amount, moved_s + inside.at_s, cpu_s + inside.cpu_s
        if not command.again or time.perf_counter() - started_s >= seconds:
            break
    if not moved:
        raise SystemExit(f"{case.name}: {name} moved nothing")
    if command.leaves:
        _remove(case.served, command.leaves)
    operations = moved / (case.size_bytes if case.served.in_bytes else 1)
    return operations / moved_s, cpu_s / operations * 1e6


def _remove(served: Served, prefix: str) -> None:
    s3 = client(served.url, served.ca_bundle)
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix):
        keys = [{"Key": entry["Key"]} for entry in page.get("Contents", ())]
        if keys:
            s3.delete_objects(Bucket=BUCKET, Delete={"Objects": keys, "Quiet": True})


def _run(case: Case, name: str, command: Command, limit_s: float) -> list[Sample]:
    """Run a command once, for `limit_s` at most, and watch what it moves."""
    deadline_s = time.perf_counter() + limit_s
    with tempfile.TemporaryFile() as stderr:
        processes = [
            subprocess.Popen(
                words,
                env=command.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                start_new_session=True,
            )
            for words in command.words
        ]
        ended = False

        def is_over() -> bool:
            nonlocal ended
            ended = all(process.poll() is not None for process in processes)
            return ended or time.perf_counter() >= deadline_s

        try:
            used = CpuTime(process.pid for process in processes)
            samples = watch(case.served, read=case.verb == "get", until=is_over, used=used)
        finally:
            for process in processes:
                _end(process)
        if ended and any(process.returncode for process in processes):
            stderr.seek(0)
            raise SystemExit(f"{case.name}: {name} failed:\n{stderr.read()[-2000:].decode(errors='replace')}")
    return samples


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a tool with all that it started: some are started by a script, which would leave the tool behind."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, sign)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_STOP_S)


def _said(results: Path) -> float:
    """What s3bench said of its own rate."""
    document = json.loads(results.read_bytes())
    rate: float = document["results"][0]["measurements"][0]["load"]["operations_rate"]
    return rate


if __name__ == "__main__":
    started_s = time.monotonic()
    code = main()
    print(f"{time.monotonic() - started_s:.0f} s")
    sys.exit(code)
