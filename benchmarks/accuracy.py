#!/usr/bin/env python3
"""Is what s3bench measures true? Runs processes of known behaviour and holds the figures against what they did.

    .venv/bin/python benchmarks/accuracy.py [--json] [--only NAME] [--rounds N]

Each check is a function that yields what was asked for, what was seen and how far apart they may be. Exits 1 when one
is missed. The figures of each check are the worst of its rounds, unless it says otherwise.
"""

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from s3bench.run.process import Launch, ProcessRecord, Spawner

MIB = 1 << 20
CPU_BOUND = 0.005
MEMORY_BOUND = 0.01
TIME_BOUND_S = 0.002
HARNESS_BALLAST_BYTES = 500 * MIB
END_RUNS = 60
_PYTHON = (sys.executable, "-I", "-S", "-c")


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """`seen` against `asked` in `unit`; `error` is how far off, as a share or absolute, `bound` its limit."""

    name: str
    unit: str
    asked: float
    seen: float
    error: float
    bound: float
    note: str = ""

    @property
    def passed(self) -> bool:
        """Whether the error is within its bound."""
        return abs(self.error) <= self.bound


class Bed:
    """Where checks run: a spawner and a directory for what the processes write."""

    def __init__(self, spawner: Spawner, directory: Path, rounds: int) -> None:
        self.spawner = spawner
        self.directory = directory
        self.rounds = rounds

    def run(self, code: str, *args: str, interval_s: float | None = 0.001) -> tuple[ProcessRecord, str]:
        """Run Python code; return its record and what it wrote to stdout."""
        stdout = self.directory / "stdout"
        record = self.spawner.run(
            Launch(
                argv=(*_PYTHON, code, *args),
                env={},
                cwd=self.directory,
                stdout=stdout,
                stderr=self.directory / "stderr",
                timeout_s=60,
                interval_s=interval_s,
            )
        )
        return record, stdout.read_text("utf-8")


def relative(name: str, unit: str, bound: float, pairs: list[tuple[float, float]], note: str = "") -> Check:
    """Make a check of the (asked, seen) pair that is furthest off, as a share of what was asked."""
    asked, seen = max(pairs, key=lambda pair: abs(pair[1] / pair[0] - 1))
    return Check(name=name, unit=unit, asked=asked, seen=seen, error=seen / asked - 1, bound=bound, note=note)


_BURN = """
import os, resource, sys, threading, time
def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(1000))
def used(who=resource.RUSAGE_SELF):
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime
def report(seconds):
    os.write(1, b"%.6f\\n" % seconds)
"""
_CPU_WORKLOADS: Mapping[str, str] = {
    "one thread": "burn(1.0); report(used()); os._exit(0)",
    "four threads": """
threads = [threading.Thread(target=burn, args=(0.25,)) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
report(used()); os._exit(0)
""",
    "two children, waited for": """
for _ in range(2):
    if not os.fork(): burn(0.5); os._exit(0)
for _ in range(2): os.wait()
report(used() + used(resource.RUSAGE_CHILDREN)); os._exit(0)
""",
    "two children, not waited for": """
readers = []
for _ in range(2):
    reader, writer = os.pipe()
    readers.append(reader)
    if not os.fork():
        burn(0.5); report(used()); os.write(writer, b"x"); time.sleep(600)
for reader in readers: os.read(reader, 1)
report(used()); os._exit(0)
""",
    "a daemon of a grandchild": """
reader, writer = os.pipe()
if not os.fork():
    os.setsid()
    if not os.fork():
        burn(1.0); report(used()); os.write(writer, b"x"); time.sleep(600)
    report(used()); os._exit(0)
os.wait(); os.read(reader, 1)
report(used()); os._exit(0)
""",
}


def check_cpu(bed: Bed) -> Iterator[Check]:
    """CPU seconds against what the workload's processes read from their own rusage at their ends."""
    for name, code in _CPU_WORKLOADS.items():
        pairs = []
        for _ in range(bed.rounds):
            record, stdout = bed.run(_BURN + code)
            pairs.append((sum(map(float, stdout.split())), record.usage.cpu_s))
        yield relative(f"CPU: {name}", "s", CPU_BOUND, pairs)


_HOLD = """
import os, subprocess, sys, time
depth, size, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
if depth:
    subprocess.run([sys.executable, "-I", "-S", "-c", sys.orig_argv[-4], str(depth - 1), *sys.argv[2:]], check=True)
else:
    held = b"x" * size
    time.sleep(seconds)
    del held
"""


def _memory(bed: Bed, suffix: str) -> Iterator[Check]:
    size = 256 * MIB
    for holder, depth, hold_s in (
        ("the client", 0, 0.1),
        ("the client, for a moment only", 0, 0.0),
        ("a child", 1, 0.1),
        ("a grandchild", 2, 0.1),
    ):
        pairs, sources = [], set()
        for _ in range(bed.rounds):
            without, _ = bed.run(_HOLD, str(depth), "0", "0.1")
            record, _ = bed.run(_HOLD, str(depth), str(size), str(hold_s))
            pairs.append((size, record.usage.peak_memory_bytes - without.usage.peak_memory_bytes))
            sources.add(record.peak_memory_source)
        yield relative(f"peak memory: held by {holder}{suffix}", "B", MEMORY_BOUND, pairs, ", ".join(sorted(sources)))


def check_memory(bed: Bed) -> Iterator[Check]:
    """Peak memory with an allocation of known size, less the peak of the same program without it."""
    yield from _memory(bed, "")


def check_memory_beside_a_large_harness(bed: Bed) -> Iterator[Check]:
    """The same from a harness that holds 500 MB, by a spawner started then."""
    ballast = b"x" * HARNESS_BALLAST_BYTES
    with Spawner() as spawner:
        yield from _memory(Bed(spawner, bed.directory, bed.rounds), f", harness of {len(ballast) // MIB} MiB")


_LAST_WORDS = "import os, time; os.write(1, b'%d' % time.monotonic_ns()); os._exit(0)"


def check_time(bed: Bed) -> Iterator[Check]:
    """The end against the client's own last reading of the clock, and the total beside a plain spawn and wait.

    What exiting takes after the last reading is in the first error; of it the 95th percentile counts. The second sets
    the medians of the same command, in turn through the spawner and through posix_spawn and waitpid, beside each other.
    """
    ends, totals, plain = [], [], []
    for _ in range(END_RUNS):
        record, stdout = bed.run(_LAST_WORDS)
        ends.append((record.ended_ns - int(stdout)) / 1e9)
        totals.append((record.ended_ns - record.started_ns) / 1e9)
        plain.append(_spawn_and_wait_s())
    ends.sort()
    yield Check(
        name="total time: end seen after the client's last word",
        unit="s",
        asked=0.0,
        seen=ends[int(END_RUNS * 0.95) - 1],
        error=ends[int(END_RUNS * 0.95) - 1],
        bound=TIME_BOUND_S,
        note=f"median {ends[END_RUNS // 2] * 1e3:.2f} ms, largest {ends[-1] * 1e3:.2f} ms of {END_RUNS}",
    )
    asked_s, seen_s = median(plain), median(totals)
    yield Check(
        name="total time: beside a plain spawn and wait",
        unit="s",
        asked=asked_s,
        seen=seen_s,
        error=seen_s - asked_s,
        bound=TIME_BOUND_S,
        note=f"medians of {END_RUNS}",
    )


def _spawn_and_wait_s() -> float:
    silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    before_s = time.perf_counter()
    os.waitpid(os.posix_spawn(sys.executable, [*_PYTHON, _LAST_WORDS], {}, file_actions=silent), 0)
    return time.perf_counter() - before_s


def check_exits(bed: Bed) -> Iterator[Check]:
    """Exit codes and signals, each told exactly."""
    wanted = [
        *range(0, 256, 15),
        *(-number for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)),
    ]
    right = 0
    for code in wanted:
        end = f"os._exit({code})" if code >= 0 else f"os.kill(os.getpid(), {-code})"
        restore = "signal.signal(signal.SIGINT, signal.SIG_DFL)"  # Python itself handles Ctrl-C
        right += bed.run(f"import os, signal; {restore}; {end}")[0].exit_code == code
    yield Check(
        name="exit codes and signals", unit="", asked=len(wanted), seen=right, error=right - len(wanted), bound=0
    )


CHECKS: tuple[Callable[[Bed], Iterator[Check]], ...] = (
    check_cpu,
    check_memory,
    check_memory_beside_a_large_harness,
    check_time,
    check_exits,
)


def render(check: Check) -> str:
    """One line: verdict, name, asked, seen, error and bound."""
    verdict = "pass" if check.passed else "MISS"
    is_share = check.asked and check.unit in {"s", "B"} and check.bound != TIME_BOUND_S
    error = (
        f"{check.error:+.3%} (at most {check.bound:.1%})"
        if is_share
        else f"{check.error:+.6g} (at most {check.bound:g})"
    )
    return (
        f"{verdict}  {check.name:66} asked {check.asked:.6g} seen {check.seen:.6g} {check.unit}  {error}  {check.note}"
    )


def main() -> int:
    """Run the checks that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", action="store_true", help="print a JSON list instead of lines")
    parser.add_argument("--only", default="", help="run the checks whose function names contain this")
    parser.add_argument("--rounds", type=int, default=3, help="how often each workload runs")
    options = parser.parse_args()
    results: list[Check] = []
    with tempfile.TemporaryDirectory(prefix="s3bench-accuracy-") as directory, Spawner() as spawner:
        bed = Bed(spawner, Path(directory), options.rounds)
        for function in CHECKS:
            if options.only not in function.__name__:
                continue
            for check in function(bed):
                results.append(check)
                if not options.json:
                    print(render(check), flush=True)
    if options.json:
        print(json.dumps([{**asdict(check), "passed": check.passed} for check in results], indent=2))
    return os.EX_OK if all(check.passed for check in results) else 1


if __name__ == "__main__":
    sys.exit(main())
