#!/usr/bin/env python3
"""Whether more workers of `s3bench load` make more load, on simulated cores, and beside a server on the same cores.

    sudo .venv/bin/python benchmarks/load_scaling.py [--rounds 5] [--seconds 4] [--workers 1,2,3,4] [--share 0.05]

Remote: the emulator in a network namespace of its own, behind a veth pair and a fixed time to first byte, alone on the
last core. `s3bench load` is on the first core, and each of its workers has a simulated core there: a control group with
a quota of `--share` of the core. So a machine of two cores shows whether the rate grows with the workers. It can only
while the server has room: its CPU share in its busiest second is printed in each row.

Local: an emulator on loopback that shares all cores with the load, made by one worker, by half as many as cores, and by
one for each core; nothing is pinned.

4 KiB GETs in closed loop, verified, by the same number of threads for any number of workers. Rounds alternate between
all numbers of workers; ratios are medians of those within a round, with their range. Bar: remote, N workers reach 0.9
times N of what one reaches. Exits 1 when it is missed, and 2 when something is missing or fails: root, `ip`, control
groups with a CPU quota, a second core.
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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

BAR = 0.9
BUCKET = "bucket"
PERIOD_US = 20_000
LATENCY = "ttfb=5ms"
THREADS = 256
NAMESPACE = f"s3bench-{os.getpid()}"
OURS, THEIRS = "10.199.7.1", "10.199.7.2"
LIMIT_S = 120.0
WINDOW_S = 1.0
SHARE_MIN = 1000 / PERIOD_US  # the kernel takes no quota below a millisecond
VERSION_1 = Path("/sys/fs/cgroup/cpu/cgroup.procs")
VERSION_2 = Path("/sys/fs/cgroup/cgroup.subtree_control")  # of control groups
WORKER = "s3bench.load.engine.worker"
ENVIRONMENT = os.environ | {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}


Place = Callable[[list[psutil.Process]], None]


class Failed(Exception):
    """Nothing was measured, for the reason given."""


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


@dataclass(frozen=True, slots=True)
class Rate:
    """GETs a second of one run, and the CPU share of the server in its busiest second."""

    per_s: float
    busy: float


def rate(url: str, workers: int, *, seconds: float, server: Sequence[psutil.Process], place: Place) -> Rate:
    """Run the load once; `place` puts its processes where they belong before anything is measured."""
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "load.json"
        command = [sys.executable, "-m", "s3bench", "load", "--endpoint-url", url, "-b", BUCKET, "--operation", "get"]
        command += ["--size", "4KiB", "--objects", "200", "--threads", str(THREADS), "--workers", str(workers)]
        command += ["--warmup", "1s", "-d", f"{seconds}s", "-q", "-o", str(out)]
        with subprocess.Popen(command, env=ENVIRONMENT) as process:
            busy = watched(process, workers, server=server, place=place)
        if process.returncode:
            raise Failed(f"s3bench load failed with {process.returncode}")
        [load] = [
            measurement["load"]
            for result in json.loads(out.read_bytes())["results"]
            for measurement in result["measurements"]
            if measurement["load"]["kind"] == "get"
        ]
    return Rate(float(load["operations_rate"]), busy)


def watched(
    process: "subprocess.Popen[bytes]", workers: int, *, server: Sequence[psutil.Process], place: Place
) -> float:
    """Place a run's workers once they are there, and wait for its end; the server's CPU share in its busiest second."""
    until_s, busy, is_placed = time.monotonic() + LIMIT_S, 0.0, False
    used_s, at_s = used_by(server), time.monotonic()
    while process.poll() is None:
        if time.monotonic() > until_s:
            process.kill()
            raise Failed(f"s3bench load took longer than {LIMIT_S:g} s")
        if not is_placed:
            found = [each for each in psutil.Process(process.pid).children() if is_worker(each)]
            if len(found) == workers:
                place(found)
                is_placed = True
        if time.monotonic() >= at_s + WINDOW_S:
            now_used_s, now_s = used_by(server), time.monotonic()
            busy = max(busy, (now_used_s - used_s) / (now_s - at_s))
            used_s, at_s = now_used_s, now_s
        time.sleep(0.02)
    if not is_placed and not process.returncode:
        raise Failed(f"{workers} workers were not seen")
    return busy


def is_worker(process: psutil.Process) -> bool:
    """Whether a child of `s3bench load` makes load; git is another, for a moment."""
    try:
        return any(WORKER in word for word in process.cmdline())
    except psutil.Error:
        return False


def measure(counts: Sequence[int], rounds: int, once: Callable[[int], Rate]) -> Iterator[tuple[int, float, str]]:
    """Rounds over all numbers of workers: each number with its median ratio to one worker, and its row."""
    found: dict[int, list[Rate]] = defaultdict(list)
    for number in range(rounds):
        for workers in random.Random(number).sample(counts, len(counts)):
            found[workers].append(once(workers))
    for workers in counts:
        ratios = [each.per_s / one.per_s for each, one in zip(found[workers], found[1], strict=True)]
        rates = spread([each.per_s for each in found[workers]], ",.0f")
        busy = statistics.median(each.busy for each in found[workers])
        yield (
            workers,
            statistics.median(ratios),
            f"  {workers} workers: {rates} GET/s, {spread(ratios, '.2f')} of one; server {busy:.0%} of a core",
        )


def spread(values: list[float], form: str) -> str:
    """The median, and the range."""
    return f"{statistics.median(values):{form}} ({min(values):{form}} to {max(values):{form}})"


def remote(counts: Sequence[int], *, rounds: int, seconds: float, share: float) -> bool:
    """Workers on simulated cores, the server on a core of its own; whether the bar is kept."""
    cores = sorted(os.sched_getaffinity(0))
    within = ("ip", "netns", "exec", NAMESPACE)
    with contextlib.ExitStack() as stack:
        held = stack.enter_context(contextlib.closing(SimulatedCores(max(counts), share=share)))
        stack.enter_context(namespace())
        url, server = stack.enter_context(serving("--host", THEIRS, "--network", LATENCY, within=within))
        of_server = [server, *server.children(recursive=True)]
        for each in of_server:
            each.cpu_affinity(cores[-1:])
        os.sched_setaffinity(0, cores[:1])  # what is started from here on inherits it
        stack.callback(os.sched_setaffinity, 0, cores)
        rows = measure(
            counts, rounds, lambda workers: rate(url, workers, seconds=seconds, server=of_server, place=held.hold)
        )
        print(f"remote, {share:.0%} of a core for each worker, {LATENCY}:")
        kept = True
        for workers, ratio, row in rows:
            is_within = ratio >= BAR * workers
            kept &= is_within
            print(f"{row}{'' if is_within else ', below the bar'}")
    return kept


def used_by(processes: Sequence[psutil.Process]) -> float:
    """CPU seconds."""
    return sum(sum(each.cpu_times()[:2]) for each in processes)


def local(*, rounds: int, seconds: float) -> None:
    """Workers beside an emulator on the same cores."""
    cores = len(os.sched_getaffinity(0))
    counts = sorted({1, cores // 2, cores})
    with serving() as (url, server):
        of_server = [server, *server.children(recursive=True)]
        rows = measure(
            counts,
            rounds,
            lambda workers: rate(url, workers, seconds=seconds, server=of_server, place=lambda _: None),
        )
        print("local, server and workers on the same cores:")
        for *_, row in rows:
            print(row)


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
    parser.add_argument("--workers", default="1,2,3,4", help="numbers of workers, 1 among them")
    parser.add_argument("--share", type=float, default=0.05, help="of a core, for each worker")
    options = parser.parse_args()
    counts = sorted({int(each) for each in options.workers.split(",")})
    if counts[0] != 1 or not SHARE_MIN <= options.share <= 1 / (counts[-1] + 1):
        parser.error(
            f"--workers must have 1; --share is at least {SHARE_MIN:g}, and leaves room for one more than all workers"
        )
    lacking = list(missing())
    if lacking:
        print(f"not measured: needs {', '.join(lacking)}", file=sys.stderr)
        return 2
    print(f"load average {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores")
    try:
        kept = remote(counts, rounds=options.rounds, seconds=options.seconds, share=options.share)
        local(rounds=options.rounds, seconds=options.seconds)
    except (OSError, subprocess.CalledProcessError, Failed) as error:
        print(f"not measured: {error}", file=sys.stderr)
        return 2
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
