#!/usr/bin/env python3
"""Whether `s3bench load --replay` does what a log says, when it says it, and in bounded memory.

    .venv/bin/python benchmarks/replay_fidelity.py [--rates 500,2000,5000] [--rounds 1] [--lines 10000000]

Fidelity: a log of an IBM trace (milliseconds) with PUT, GET, ranges, HEAD and DELETE on keys by Zipf's law is replayed
against the emulator, whose wire log is compared with it: operations, bytes, and the order on each key. Reads between
two writes may overlap, so their order among themselves is told apart. The time from the planned to the real start of
each attempt is that of `--trace`. Bars: operations, bytes and order exact; p99 below 2 ms at every rate.

A program on a core that the hypervisor has given to another guest starts nothing. So before and after each replay, a
program on each core only sleeps and wakes up, all together as often as the replay starts operations, by the same means
(`s3bench.system.wake_ups`). When the p99 of their lateness is 1 ms or more, the machine is too late to judge the
replay: its p99 is printed, and is neither a pass nor a miss. `--rounds` repeats all rates.

Memory: `plan_replay` on a log of `--lines` lines of an S3 server access log, out of order within a minute, in a process
of its own. Bar: VmHWM below 300 MB at ten million lines. `--lines 0` leaves it out, `--rates 0` the other part.
Exits 1 when a bar is missed, and 3 when none is missed but a rate could not be judged in any round.
"""

import argparse
import csv
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np

from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.endpoint import EmulatorEndpoint
from s3bench.s3.wirelog import WireRequest

BUCKET = "bucket"
P99_BAR_S = 0.002
MACHINE_P99_MAX_S = P99_BAR_S / 2
WAKE_UPS_S = 3.0
MEMORY_BAR_BYTES = 300_000_000
KEYS = 2000

_WAKE_UPS = """
import os, sys, time
import numpy as np
from s3bench.system.wake_ups import prompt_wake_ups
os.sched_setaffinity(0, {int(sys.argv[1])})
gap_s = 1 / float(sys.argv[2])
late_s = []
with prompt_wake_ups():
    planned_s = time.monotonic() + 0.1
    for _ in range(round(float(sys.argv[3]) / gap_s)):
        planned_s += gap_s
        rest_s = planned_s - time.monotonic()
        if rest_s > 0:
            time.sleep(rest_s)
        late_s.append(time.monotonic() - planned_s)
print(np.percentile(late_s, 99))
"""
_OWNER = "79a59df900b949e55d96a1e698fbacedfd6e09d98eacf8f8d5218e7cd47ef2be"
_PLAN = """
import sys, tempfile
from pathlib import Path
from s3bench.load.access_log.reading import read_log
from s3bench.load.profile.sizes import fixed
from s3bench.load.session.replay_plan import ReplayRules, plan_replay
with tempfile.TemporaryDirectory(dir=sys.argv[2]) as directory:
    plan = plan_replay(read_log(Path(sys.argv[1])), ReplayRules(usual_sizes=fixed(1)), directory=Path(directory),
                       shares=2, threads=256)
print(sum(plan.summary.operations.values()), plan.summary.objects_before)
print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
"""


def write_trace(path: Path, rate: int, seconds: float) -> dict[str, list[str]]:
    """Write a log; gives what is expected on each key."""
    chance = random.Random(rate)
    weights = [1 / rank for rank in range(1, KEYS + 1)]
    keys = [f"{chance.getrandbits(64):016x}" for _ in range(KEYS)]
    sizes = {key: chance.randrange(1000, 20_000) for key in keys}
    there = set(keys)
    expected: dict[str, list[str]] = defaultdict(list)
    at_ms = 0.0
    with path.open("w") as file:
        for key in chance.choices(keys, weights, k=round(rate * seconds)):
            at_ms += chance.expovariate(rate / 1000)
            what = chance.choices(("GET", "PUT", "HEAD", "RANGE", "DELETE"), (60, 15, 15, 8, 2))[0]
            if key not in there:
                what = "PUT"
            line = f"{round(at_ms)} REST.{'GET' if what == 'RANGE' else what}.OBJECT {key}"
            if what == "PUT":
                sizes[key] = chance.randrange(1000, 20_000)
                there.add(key)
            elif what == "DELETE":
                there.discard(key)
            size = sizes[key]
            line += {"GET": f" {size} 0 {size - 1}", "RANGE": f" {size} 100 599", "DELETE": ""}.get(what, f" {size}")
            file.write(line + "\n")
            expected[key].append({"GET": f"GET {size}", "PUT": f"PUT {size}", "RANGE": "RANGE 100-599"}.get(what, what))
    return expected


def described(request: WireRequest) -> str:
    """An operation as `write_trace` names it."""
    if request.byte_range:
        return f"RANGE {request.byte_range.removeprefix('bytes=')}"
    if request.method == "PUT":
        return f"PUT {request.body_bytes}"
    return f"GET {request.response_bytes}" if request.method == "GET" else request.method


def in_order(operations: list[str]) -> tuple[tuple[str, ...], ...]:
    """Writes in order, and between them reads in any."""
    parts: list[list[str]] = [[]]
    for each in operations:
        if each.startswith(("PUT", "DELETE")):
            parts += [[each], []]
        else:
            parts[-1].append(each)
    return tuple(tuple(sorted(part)) for part in parts)


def measure(rate: int, seconds: float, directory: Path) -> bool | None:
    """Replay at one rate; whether it keeps the bars, or None where the machine was too late to judge it."""
    log, trace = directory / f"{rate}.log", directory / f"{rate}.csv"
    expected = write_trace(log, rate, seconds)
    home = directory / f"server-{rate}"
    home.mkdir()
    with EmulatorEndpoint(directory=home) as emulator:
        emulator.arm(EmulatorSettings(buckets=(BUCKET,)))
        command = [sys.executable, "-m", "s3bench", "load", "--endpoint-url", emulator.url, "-b", BUCKET]
        command += ["--replay", str(log), "--trace", str(trace), "-o", str(directory / f"{rate}.json"), "--quiet"]
        environment = os.environ | {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
        machine_s = wake_ups_p99_s(rate)
        subprocess.run(command, check=True, env=environment)
        machine_s = max(machine_s, wake_ups_p99_s(rate))
        requests = sorted(emulator.collect().requests, key=lambda each: each.started_ns)
    with trace.open() as file:
        lines = [line for line in csv.DictReader(file) if line["phase"] == "replay"]
    late_s = np.array([int(line["started_ns"]) - int(line["planned_ns"]) for line in lines]) / 1e9
    names = {line["key"] for line in lines}
    prepared = len(names) - sum(operations[0].startswith("PUT") for operations in expected.values())
    ours = [each for each in requests if each.path.removeprefix(f"/{BUCKET}/") in names][prepared:]
    sent: dict[str, list[str]] = defaultdict(list)
    for request in ours:
        sent[request.path].append(described(request))
    wanted = [each for operations in expected.values() for each in operations]
    exact = Counter(map(described, ours)) == Counter(wanted)
    ordered = Counter(map(in_order, sent.values())) == Counter(map(in_order, expected.values()))
    strict = sum((Counter(map(tuple, sent.values())) & Counter(map(tuple, expected.values()))).values())
    p50, p99, p999 = np.percentile(late_s, (50, 99, 99.9)) * 1e3
    print(
        f"{rate:>6,}/s  {len(ours):>7,} of {len(wanted):,} operations  exact: {exact}  order: {ordered} "
        f"(reads too: {strict} of {len(expected)} keys)  late: p50 {p50:.3f} ms, p99 {p99:.3f} ms, p99.9 {p999:.3f} ms"
        f"; machine alone: p99 {machine_s * 1e3:.3f} ms"
    )
    if not exact or not ordered:
        return False
    return bool(p99 < P99_BAR_S * 1e3) if machine_s < MACHINE_P99_MAX_S else None


def wake_ups_p99_s(rate: int) -> float:
    """How late programs wake up that do nothing else, one on each core, `rate` times a second in all: the worst p99."""
    cores = sorted(os.sched_getaffinity(0))
    programs = [
        subprocess.Popen(
            [sys.executable, "-c", _WAKE_UPS, str(core), str(rate / len(cores)), str(WAKE_UPS_S)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for core in cores
    ]
    return max(float(program.communicate()[0]) for program in programs)


def write_s3_log(path: Path, lines: int) -> None:
    """Write a long log, about a thousand lines a second, out of order within a minute."""
    chance = random.Random(1)
    with path.open("w", buffering=1 << 20) as file:
        for number in range(lines):
            at_s = 1_549_411_200 + number // 1000 + chance.randrange(60)
            time_text = time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(at_s))
            key = f"photos/{int(chance.paretovariate(0.3)) % (lines // 3 + 1)}.jpg"
            what = "PUT" if chance.random() < 0.2 else "GET"
            file.write(
                f"{_OWNER} bucket [{time_text}] 192.0.2.3 {_OWNER} 3E57427F3EXAMPLE REST.{what}.OBJECT {key} "
                f'"{what} /{key} HTTP/1.1" 200 - 4096 4096 12 10 "-" "aws-cli/2.0" - id= SigV4 -\n'
            )


def measure_memory(lines: int, directory: Path) -> bool:
    """Plan a long log; whether it keeps the bar."""
    log = directory / "long.log"
    write_s3_log(log, lines)
    begun_s = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", _PLAN, str(log), str(directory)], check=True, capture_output=True, text=True
    )
    elapsed_s = time.perf_counter() - begun_s
    counts, kib = done.stdout.splitlines()
    log.unlink()
    memory_bytes = int(kib) * 1024
    print(
        f"{lines:,} lines planned in {elapsed_s:.1f} s ({lines / elapsed_s:,.0f} lines/s), VmHWM "
        f"{memory_bytes / 1e6:.0f} MB (operations, objects before: {counts})"
    )
    return memory_bytes < MEMORY_BAR_BYTES


def main() -> int:
    """Measure what is asked for; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rates", default="500,2000,5000", help="requests per second (default 500,2000,5000)")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each log (default 10)")
    parser.add_argument("--rounds", type=int, default=1, help="of all rates (default 1)")
    parser.add_argument("--lines", type=int, default=10_000_000, help="of the log whose planning is measured; 0: none")
    parser.add_argument(
        "--directory", type=Path, default=None, help="where logs are written (2.5 GB), default: $TMPDIR"
    )
    options = parser.parse_args()
    print(f"load average {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores")
    kept: dict[str, list[bool]] = {}
    for _ in range(options.rounds):
        for rate in filter(None, map(int, options.rates.split(","))):
            with tempfile.TemporaryDirectory(dir=options.directory) as directory:
                is_kept = measure(rate, options.seconds, Path(directory))
            kept.setdefault(f"{rate:,}/s", []).extend([] if is_kept is None else [is_kept])
    if options.lines:
        with tempfile.TemporaryDirectory(dir=options.directory) as directory:
            kept["memory"] = [measure_memory(options.lines, Path(directory))]
    for name, results in kept.items():
        print(f"{name}: bars kept in {sum(results)} of {len(results)} rounds that could be judged")
    if not all(map(all, kept.values())):
        return 1
    return 0 if all(kept.values()) else 3


if __name__ == "__main__":
    sys.exit(main())
