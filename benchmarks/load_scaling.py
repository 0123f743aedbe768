#!/usr/bin/env python3
"""Whether more workers of `s3bench load` make more load, on simulated cores, and beside a server on the same cores.

    sudo .venv/bin/python benchmarks/load_scaling.py [--rounds 5] [--seconds 4] [--workers 1,2,3,4] [--share 0.2]

Remote: the emulator in a network namespace of its own, behind a veth pair and a fixed time to first byte, alone on the
last core. Each worker has a simulated core: a control group with a quota of `--share` of the first core. So a machine
of two cores shows whether the rate grows with the workers as long as the server has room; how busy it was stands
beside.

Local: an emulator on loopback that shares all cores with the workers, one of them and as many as cores, both pinned to
nothing. Their ratio says what the usual number of workers should be there.

4 KiB GETs in closed loop, verified. Rounds alternate between all numbers of workers; the ratios are medians of those
within a round, with their range. Bar: remote, N workers reach 0.9 times N of what one reaches. Exits 1 when it is
missed, and 2 without root, `ip`, control groups with a CPU quota, or a second core.
"""

import argparse
import contextlib
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil

BAR = 0.9
BUCKET = "bucket"
PERIOD_US = 10_000
LATENCY = "ttfb=5ms"
THREADS_PER_WORKER = 64
NAMESPACE = f"s3bench-{os.getpid()}"
OURS, THEIRS = "10.199.7.1", "10.199.7.2"
LIMIT_S = 30.0
VERSION_1 = Path("/sys/fs/cgroup/cpu/cgroup.procs")
VERSION_2 = Path("/sys/fs/cgroup/cgroup.subtree_control")  # of control groups
ENVIRONMENT = os.environ | {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}


class SimulatedCores:
    """Control groups with a CPU quota each, by version 1 or 2; one for each worker."""

    def __init__(self, count: int, *, share: float) -> None:
        is_version_1 = VERSION_1.exists()
        root = VERSION_1.parent if is_version_1 else VERSION_2.parent
        self._groups = [root / f"s3bench-{os.getpid()}-{each}" for each in range(count)]
        quota_us = round(share * PERIOD_US)
        for group in self._groups:
            group.mkdir()
            if is_version_1:
                (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
                (group / "cpu.cfs_quota_us").write_text(str(quota_us))
            else:
                (group / "cpu.max").write_text(f"{quota_us} {PERIOD_US}")

    def hold(self, workers: list[psutil.Process]) -> None:
        """Move each worker to a core of its own."""
        for group, worker in zip(self._groups, workers, strict=False):
            (group / "cgroup.procs").write_text(str(worker.pid))

    def close(self) -> None:
        """Remove the groups, which are empty by now."""
        for group in self._groups:
            with contextlib.suppress(OSError):
                group.rmdir()


@contextlib.contextmanager
def serving(*options: str, within: tuple[str, ...] = ()) -> Iterator[tuple[str, psutil.Process]]:
    """An emulator, started with the command before it: its URL and its process."""
    command = (*within, sys.executable, "-m", "s3bench", "serve", "--bucket", BUCKET, "--log", "none", *options)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip(), psutil.Process(process.pid)
        finally:
            process.terminate()


@contextlib.contextmanager
def namespace() -> Iterator[None]:
    """A network namespace at the other end of a veth pair, up."""
    near, program = f"s3b{os.getpid()}", shutil.which("ip")
    assert program is not None, "it was looked for before"

    def ip(*words: str) -> None:
        subprocess.run((program, *words), check=True, capture_output=True)

    ip("netns", "add", NAMESPACE)
    try:
        ip("link", "add", near, "type", "veth", "peer", "name", "far", "netns", NAMESPACE)
        ip("addr", "add", f"{OURS}/30", "dev", near)
        ip("link", "set", near, "up")
        ip("-n", NAMESPACE, "addr", "add", f"{THEIRS}/30", "dev", "far")
        ip("-n", NAMESPACE, "link", "set", "far", "up")
        ip("-n", NAMESPACE, "link", "set", "lo", "up")
        yield
    finally:
        ip("netns", "del", NAMESPACE)


def rate(
    url: str, workers: int, *, threads: int, seconds: float, place: Callable[[list[psutil.Process]], None]
) -> float:
    """GETs a second of one run, whose workers `place` puts where they belong before anything is measured."""
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "load.json"
        command = [sys.executable, "-m", "s3bench", "load", "--endpoint-url", url, "-b", BUCKET, "--operation", "get"]
        command += ["--size", "4KiB", "--objects", "200", "--threads", str(threads), "--workers", str(workers)]
        command += ["--warmup", "1s", "-d", f"{seconds}s", "-q", "-o", str(out)]
        with subprocess.Popen(command, env=ENVIRONMENT) as process:
            until_s = time.monotonic() + LIMIT_S
            while len(found := psutil.Process(process.pid).children()) < workers:
                assert time.monotonic() < until_s, "no workers came"
                time.sleep(0.02)
            place(found)
        if process.returncode:
            raise SystemExit(f"s3bench load failed with {process.returncode}")
        [load] = [
            measurement["load"]
            for result in json.loads(out.read_bytes())["results"]
            for measurement in result["measurements"]
            if measurement["load"]["kind"] == "get"
        ]
    return float(load["operations_rate"])


def measure(
    counts: list[int], rounds: int, once: Callable[[int], float]
) -> tuple[dict[int, list[float]], dict[int, list[float]]]:
    """Rates, and ratios to one worker within each round, by number of workers."""
    rates: dict[int, list[float]] = defaultdict(list)
    for number in range(rounds):
        for workers in random.Random(number).sample(counts, len(counts)):
            rates[workers].append(once(workers))
    ratios = {
        workers: [each / one for each, one in zip(found, rates[1], strict=True)] for workers, found in rates.items()
    }
    return rates, ratios


def spread(values: list[float], form: str) -> str:
    """The median, and the range."""
    return f"{statistics.median(values):{form}} ({min(values):{form}} to {max(values):{form}})"


def remote(counts: list[int], *, rounds: int, seconds: float, share: float) -> bool:
    """Workers on simulated cores, the server on a core of its own; whether the bar is kept."""
    cores = sorted(os.sched_getaffinity(0))
    within = ("ip", "netns", "exec", NAMESPACE)
    busy: dict[int, list[float]] = defaultdict(list)
    held = SimulatedCores(max(counts), share=share)
    try:
        with namespace(), serving("--host", THEIRS, "--network", LATENCY, within=within) as (url, server):
            of_server = [server, *server.children(recursive=True)]
            for each in of_server:
                each.cpu_affinity([cores[-1]])

            def place(workers: list[psutil.Process]) -> None:
                for worker in workers:
                    worker.cpu_affinity([cores[0]])
                held.hold(workers)

            def once(workers: int) -> float:
                used_s, begun_s = used_by(of_server), time.monotonic()
                found = rate(url, workers, threads=THREADS_PER_WORKER * workers, seconds=seconds, place=place)
                busy[workers].append((used_by(of_server) - used_s) / (time.monotonic() - begun_s))
                return found

            rates, ratios = measure(counts, rounds, once)
    finally:
        held.close()
    print(f"remote, {share:.0%} of a core for each worker, {LATENCY}:")
    kept = True
    for workers in counts:
        within_bar = statistics.median(ratios[workers]) >= BAR * workers
        kept &= within_bar
        print(
            f"  {workers} workers: {spread(rates[workers], ',.0f')} GET/s, {spread(ratios[workers], '.2f')} of one"
            f"{'' if within_bar else ', below the bar'}; server {statistics.median(busy[workers]):.0%} of its core"
        )
    return kept


def used_by(processes: list[psutil.Process]) -> float:
    """CPU seconds."""
    return sum(sum(each.cpu_times()[:2]) for each in processes)


def local(*, rounds: int, seconds: float) -> None:
    """One worker and one for each core beside an emulator on the same cores."""
    counts = [1, len(os.sched_getaffinity(0))]
    with serving() as (url, _):
        rates, ratios = measure(
            counts, rounds, lambda workers: rate(url, workers, threads=64, seconds=seconds, place=lambda _: None)
        )
    print("local, server and workers on the same cores:")
    for workers in counts:
        print(f"  {workers} workers: {spread(rates[workers], ',.0f')} GET/s, {spread(ratios[workers], '.2f')} of one")


def missing() -> Iterator[str]:
    """What is needed and not there."""
    if os.geteuid():
        yield "root"
    if shutil.which("ip") is None:
        yield "ip, of iproute2"
    if not VERSION_1.exists() and (not VERSION_2.exists() or "cpu" not in VERSION_2.read_text().split()):
        yield "control groups with a CPU quota"
    if len(os.sched_getaffinity(0)) < 2:
        yield "a second core"


def main() -> int:
    """Measure both; the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--workers", default="1,2,3,4", help="must begin with 1")
    parser.add_argument("--share", type=float, default=0.2, help="of a core, for each worker")
    options = parser.parse_args()
    lacking = list(missing())
    if lacking:
        print(f"not measured: needs {', '.join(lacking)}", file=sys.stderr)
        return 2
    counts = [int(each) for each in options.workers.split(",")]
    print(f"load average {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores")
    kept = remote(counts, rounds=options.rounds, seconds=options.seconds, share=options.share)
    local(rounds=options.rounds, seconds=options.seconds)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
