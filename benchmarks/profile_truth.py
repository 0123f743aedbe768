#!/usr/bin/env python3
"""Whether the shares of a profile are true, and what the profiler costs the program that it samples.

Shares: a program of nested functions in pure Python, each of them traced by a clock that is read at its calls and
returns, runs under py-spy as `s3bench profile` uses it. Both look at the same runs, as the speeds of functions differ
from run to run. The functions take milliseconds, so that tracing costs nothing; `cProfile` is no such measure, as it
slows down calls of built-in functions, traced or not. The share of each function in itself is compared. Target: within
two percentage points.

Cost: the program, and a start of boto3 with 200 presigned URLs, run in turn with and without py-spy at its default
rate, each telling its own CPU time and total time at its end. Target: less than 10 % more CPU time, at the median of
pairs; the time that a program stands still while it is looked at shows in total time alone.

    benchmarks/profile_truth.py [--runs 40]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from bars import met_or_missed

from s3bench.profiling.profile_builder import ProfileBuilder
from s3bench.profiling.py_spy_output import ImportRoots, parse_py_spy
from s3bench.profiling.stack_profile import Sampled
from s3bench.profiling.tables import function_times
from s3bench.run.inspection import Unavailable
from s3bench.run.py_spy import PySpy, find_py_spy
from s3bench.stats.signed_rank import SignedRankTest

SHARES_WITHIN = 0.02
COST_BELOW = 0.10
ALPHA = 0.025

MIX = """
def small(turns):
    value = 0
    for turn in range(turns):
        value = (value * 31 + turn) & 0xFFFFFF
    return value

def text(turns):
    words = []
    for turn in range(turns):
        words.append(str(turn) + "x")
    return len(words)

def table(turns):
    found = {}
    for turn in range(turns):
        found[turn & 1023] = turn
    return found

def inner(turns):
    total = 0
    while total < turns:
        total += 1
    return small(turns // 2) + total

def outer(turns):
    value = inner(turns) + text(turns // 4)
    for _ in range(turns):
        value ^= 1
    return value

def main():
    for turn in range(120):
        outer(20_000)
        table(15_000)
        small(30_000)
"""
BOTO3 = """
def main():
    import boto3
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": "us-east-1"}
    client = boto3.client("s3", **keys)
    for number in range(200):
        client.generate_presigned_url("get_object", Params={"Bucket": "b", "Key": str(number)})
"""
TIMED = """
import json, sys, time
started_s = time.perf_counter()
main()
told = {"cpu_s": time.process_time(), "total_s": time.perf_counter() - started_s}
with open(sys.argv[1], "w") as file:
    json.dump(told, file)
"""
TRACED = """
import json, sys, time
own, running = {}, []

def traced(function):
    def call(*args):
        started_s = time.perf_counter()
        running.append(0.0)
        result = function(*args)
        took_s = time.perf_counter() - started_s
        own[function.__name__] = own.get(function.__name__, 0.0) + took_s - running.pop()
        if running:
            running[-1] += took_s
        return result
    return call

small, text, table, inner, outer, main = map(traced, (small, text, table, inner, outer, main))
main()
with open(sys.argv[1], "w") as file:
    json.dump(own, file)
"""


def run(program: Path, output: Path, prefix: Sequence[str] = ()) -> dict[str, float]:
    """Run a program; returns what it told."""
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    command = (*prefix, sys.executable, str(program), str(output))
    subprocess.run(command, check=True, capture_output=True, env=environment, timeout=300)
    told: dict[str, float] = json.loads(output.read_text())
    return told


def written(directory: Path, name: str, *parts: str) -> Path:
    """A program of these parts."""
    program = directory / f"{name}.py"
    program.write_text("".join(parts))
    return program


def compare_shares(profiler: PySpy, directory: Path, runs: int) -> bool:
    """Print the share of each function by both, and whether all agree."""
    program = written(directory, "mix_traced", MIX, TRACED)
    told, stacks = directory / "told", directory / "stacks"
    own: Counter[str] = Counter()
    builder = ProfileBuilder(sampled=Sampled.CPU_TIME, interval_s=profiler.interval_s)
    for _ in range(runs):
        own.update(run(program, told, profiler.prefix(stacks, waits=False)))
        found = parse_py_spy(stacks.read_text(), sampled=Sampled.CPU_TIME, roots=ImportRoots(directories=(), own=()))
        builder.add(found.samples, total_time=0.0, cpu_time=0.0)
    names = [name for name, own_s in own.most_common() if own_s > 0.005 * own.total()]
    sampled = {place.name.rpartition(":")[2]: place.self_s for place in function_times(builder.profile)}
    whole_s = sum(sampled.get(name, 0.0) for name in names)
    traced_s = sum(own[name] for name in names)
    print(f"{'function':10} {'traced':>8} {'sampled':>8} {'points':>7}")
    largest = 0.0
    for name in names:
        traced_share, share = own[name] / traced_s, sampled.get(name, 0.0) / whole_s
        largest = max(largest, abs(share - traced_share))
        print(f"{name:10} {traced_share:8.2%} {share:8.2%} {(share - traced_share) * 100:+7.2f}")
    is_met = largest <= SHARES_WITHIN
    print(f"largest difference {largest * 100:.2f} points: {met_or_missed(is_met)}")
    return is_met


def measure_cost(profiler: PySpy, program: Path, directory: Path, runs: int) -> bool:
    """Print what sampling costs a program, and whether that is little."""
    told, stacks = directory / "told", directory / "stacks"
    ratios: dict[str, list[float]] = {"cpu_s": [], "total_s": []}
    plain_s = []
    for number in range(runs):
        prefixes = [(), profiler.prefix(stacks, waits=True)]
        found = {}
        for prefix in prefixes if number % 2 else reversed(prefixes):
            found[bool(prefix)] = run(program, told, prefix)
        plain_s.append(found[False]["cpu_s"])
        for name, values in ratios.items():
            values.append(found[True][name] / found[False][name] - 1)
    cost = {}
    for name, values in ratios.items():
        test = SignedRankTest(values)
        low, high = test.lower_bound(ALPHA), test.upper_bound(ALPHA)
        cost[name] = test.hodges_lehmann()
        what = "CPU time" if name == "cpu_s" else "total time"
        print(f"{program.stem:10} {what:10} {cost[name]:+.1%} ({low:+.1%} to {high:+.1%}), {runs} pairs")
    is_met = cost["cpu_s"] < COST_BELOW
    print(f"{program.stem:10} {median(plain_s) * 1e3:.0f} ms of CPU without: {met_or_missed(is_met)}")
    return is_met


def main() -> int:
    """Returns 1 where a target is missed, 2 where py-spy does not run here."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=40)
    runs = parser.parse_args().runs
    profiler = find_py_spy()
    if isinstance(profiler, Unavailable):
        print(f"{profiler}", file=sys.stderr)
        return 2
    print(f"py-spy at {profiler.rate_hz} Hz")
    with tempfile.TemporaryDirectory(prefix="profile-truth-") as name:
        directory = Path(name)
        met = [compare_shares(profiler, directory, runs)]
        for each, text in (("mix", MIX), ("boto3", BOTO3)):
            # Not named after a package that it imports.
            program = written(directory, f"start_of_{each}", text, TIMED)
            met.append(measure_cost(profiler, program, directory, runs))
    return int(not all(met))


if __name__ == "__main__":
    sys.exit(main())
