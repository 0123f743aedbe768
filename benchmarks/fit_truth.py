#!/usr/bin/env python3
"""Whether a fitted profile can be believed: access logs of known parameters, fitted, and compared with these.

Ten logs are drawn and written as S3 server access logs, with times in whole seconds, and fitted by
`s3bench load --fit`. Bars: shares of the mix within 1 percentage point, the Zipf exponent within 0.05, p50, p90 and p99
of the sizes within 5 %, and the rate in every 48th of the log within 5 % (where it is 0, within 5 % of the mean). With
`--runs`, four smaller logs are fitted, one of them in the format of IBM's object store traces, and the profiles run
against the S3 in memory with --trace. Two-sample tests compare log and run: chi-square of the mix, Kolmogorov and
Smirnov of the sizes that are written, of the sizes of distinct objects that are read, of reads per key, and of the
times between arrivals (those drawn, before they were rounded to seconds).

    benchmarks/fit_truth.py                           all ten, 4 minutes
    benchmarks/fit_truth.py --only night              one of them
    benchmarks/fit_truth.py --runs                    four runs of a minute each
"""

import argparse
import csv
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import stats  # type: ignore[import-untyped]

from s3bench.load.profile.file import read_profile
from s3bench.load.profile.profile import Job, KeyDistribution, Phase

MIX_BAR, EXPONENT_BAR, SIZE_BAR, RATE_BAR = 0.01, 0.05, 0.05, 0.05
WINDOWS = 48
EPOCH_S = 1_772_323_200  # 2026-03-01
KIB, MIB = 1024, 1024**2

Floats = NDArray[np.float64]
Quantiles = Callable[[Floats], Floats]
Rate = Callable[[Floats], Floats]


def lognormal(median: float, sigma: float) -> Quantiles:
    """Sizes of a lognormal distribution."""
    return lambda shares: median * np.exp(sigma * stats.norm.ppf(shares))


def listed(weights: Mapping[int, float]) -> Quantiles:
    """A few sizes with weights."""
    sizes, ends = np.array(list(weights), dtype=float), np.cumsum(list(weights.values()))
    return lambda shares: sizes[np.searchsorted(ends / ends[-1], shares)]


def mixture(small: Quantiles, large: Quantiles, share: float) -> Quantiles:
    """Two distributions, of which `share` of the sizes are small ones; the small ones are all below the large ones."""

    def quantiles(shares: Floats) -> Floats:
        low = small(np.clip(shares / share, 1e-9, 1 - 1e-9))
        high = large(np.clip((shares - share) / (1 - share), 1e-9, 1 - 1e-9))
        return np.where(shares < share, low, high)

    return quantiles


def uniform(low: float, high: float) -> Quantiles:
    """Sizes between two."""
    return lambda shares: low + (high - low) * shares


def steps(*levels: float) -> Rate:
    """Rates that are constant over equal parts of the log."""
    return lambda at: np.array(levels)[np.minimum((at * len(levels)).astype(int), len(levels) - 1)]


LEVEL = steps(1)


def sine(swing: float) -> Rate:
    """A rate that rises and falls once, as over a day."""
    return lambda at: 1 + swing * np.sin(2 * np.pi * (at - 0.25))


@dataclass(frozen=True, kw_only=True)
class Truth:
    """A workload of known parameters. `burst` operations arrive together, on average, in the same instant."""

    name: str
    mix: Mapping[str, float]
    exponent: float
    objects: int
    sizes: Quantiles
    rate: Rate = LEVEL
    requests: int = 500_000
    length_s: int = 3600
    written: Quantiles | None = None
    burst: float = 1.0
    popular_are_small: bool = False
    is_ibm: bool = False


USUAL = {"GET.OBJECT": 0.7, "HEAD.OBJECT": 0.1, "PUT.OBJECT": 0.15, "DELETE.OBJECT": 0.05}
TRUTHS = (
    Truth(name="even", mix=USUAL, exponent=0.0, objects=20_000, sizes=listed({MIB: 1})),
    Truth(name="steps", mix=USUAL, exponent=0.6, objects=50_000, sizes=lognormal(64 * KIB, 1), rate=steps(1, 3, 2, 5)),
    Truth(name="day", mix=USUAL, exponent=0.8, objects=50_000, sizes=lognormal(64 * KIB, 1.5), rate=sine(0.7),
          length_s=86_400),
    Truth(name="list", mix={"GET.OBJECT": 0.5, "GET.BUCKET": 0.1, "PUT.OBJECT": 0.4}, exponent=0.9, objects=30_000,
          sizes=listed({4 * KIB: 70, MIB: 25, 64 * MIB: 5}), rate=steps(4, 1)),
    Truth(name="two-modes", mix=USUAL, exponent=1.0, objects=100_000,
          sizes=mixture(lognormal(8 * KIB, 0.5), lognormal(8 * MIB, 0.7), 0.8), rate=lambda at: 0.5 + at),
    Truth(name="night", mix=USUAL, exponent=1.1, objects=100_000, sizes=uniform(KIB, MIB), rate=steps(2, 0, 1)),
    Truth(name="heads", mix={"GET.OBJECT": 0.3, "HEAD.OBJECT": 0.65, "PUT.OBJECT": 0.05}, exponent=1.2,
          objects=100_000, sizes=lognormal(MIB, 2)),
    Truth(name="hot", mix=USUAL, exponent=1.4, objects=20_000, sizes=lognormal(32 * KIB, 1.2), rate=sine(0.4),
          popular_are_small=True),
    Truth(name="many-keys", mix=USUAL, exponent=0.99, objects=1_000_000, sizes=lognormal(100 * KIB, 1)),
    Truth(name="bursts", mix=USUAL, exponent=0.7, objects=50_000, sizes=lognormal(64 * KIB, 1), rate=steps(1, 2),
          written=lognormal(MIB, 1), burst=4.0),
)  # fmt: skip
RUNS = (
    Truth(name="run-even", mix=USUAL, exponent=0.0, objects=2000, sizes=lognormal(8 * KIB, 1), requests=18_000,
          length_s=60),
    Truth(name="run-zipf", mix=USUAL, exponent=0.9, objects=5000, sizes=lognormal(8 * KIB, 1), requests=18_000,
          length_s=60, rate=steps(1, 3, 2)),
    Truth(name="run-list", mix={"GET.OBJECT": 0.5, "HEAD.OBJECT": 0.2, "PUT.OBJECT": 0.3}, exponent=1.1, objects=5000,
          sizes=listed({4 * KIB: 70, 64 * KIB: 30}), requests=18_000, length_s=60, rate=sine(0.6)),
    Truth(name="run-ibm", mix={"GET.OBJECT": 0.6, "HEAD.OBJECT": 0.2, "PUT.OBJECT": 0.2}, exponent=0.8, objects=5000,
          sizes=lognormal(8 * KIB, 1), requests=18_000, length_s=60, rate=steps(3, 1), is_ibm=True),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """A log as it was drawn: times in seconds from its start, kinds, keys and sizes; -1 where there is none."""

    times_s: Floats
    kinds: NDArray[np.str_]
    keys: NDArray[np.int64]
    sizes: NDArray[np.int64]
    read_sizes: NDArray[np.int64]
    popularity: Floats


def draw(truth: Truth, random: Generator) -> Drawn:
    """Draw a log. The sizes of all objects are exactly distributed as the truth has it, in random order."""
    times_s = _times(truth, random)
    count = len(times_s)
    kinds = random.choice(list(truth.mix), p=list(truth.mix.values()), size=count)
    popularity = np.arange(1, truth.objects + 1, dtype=np.float64) ** -truth.exponent
    popularity = popularity / popularity.sum()
    objects = truth.sizes((np.arange(truth.objects) + 0.5) / truth.objects).round().astype(np.int64)
    if truth.popular_are_small:
        objects = objects[np.argsort(np.log(np.arange(1, truth.objects + 1)) + random.normal(size=truth.objects))
                          .argsort()]  # fmt: skip
    else:
        random.shuffle(objects)
    is_put, is_delete = kinds == "PUT.OBJECT", kinds == "DELETE.OBJECT"
    keys = random.choice(truth.objects, p=popularity, size=count)
    sizes = objects[keys]
    puts = int(is_put.sum())
    written = (truth.written or truth.sizes)((np.arange(puts) + 0.5) / max(1, puts)).round().astype(np.int64)
    random.shuffle(written)
    keys[is_put] = truth.objects + np.arange(puts)
    keys[is_delete] = truth.objects + np.arange(int(is_delete.sum()))
    sizes[is_put] = written
    sizes[is_delete] = -1
    return Drawn(times_s=times_s, kinds=kinds, keys=keys, sizes=sizes, read_sizes=objects, popularity=popularity)


def _times(truth: Truth, random: Generator) -> Floats:
    grid = (np.arange(200_000) + 0.5) / 200_000
    masses = truth.rate(grid)
    ends = np.concatenate(([0.0], np.cumsum(masses / masses.sum())))
    arrivals = random.poisson(truth.requests / truth.burst)
    at = np.interp(np.sort(random.random(arrivals)), ends, np.linspace(0, 1, len(ends)))
    if truth.burst > 1:
        at = np.repeat(at, random.geometric(1 / truth.burst, size=arrivals))
    times: Floats = at * truth.length_s
    return times


def write_log(drawn: Drawn, path: Path, random: Generator) -> None:
    """Write an S3 server access log. Its lines are not quite in order, as those of S3 are."""
    order = np.argsort(drawn.times_s + random.exponential(2.0, len(drawn.times_s)), kind="stable")
    stamps: dict[int, str] = {}
    with path.open("w", encoding="ascii") as file:
        for place in order.tolist():
            second = EPOCH_S + int(drawn.times_s[place])
            stamp = stamps.get(second)
            if stamp is None:
                stamp = stamps[second] = time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(second))
            kind, size = drawn.kinds[place], drawn.sizes[place]
            key = "-" if kind == "GET.BUCKET" else f"k/{drawn.keys[place]}"
            sent = size if kind == "GET.OBJECT" else "-"
            file.write(
                f'owner bucket [{stamp}] 192.0.2.3 - ID{place} REST.{kind} {key} "X /bucket/{key} HTTP/1.1" '
                f'{204 if kind == "DELETE.OBJECT" else 200} - {sent} {"-" if size < 0 else size} 12 11 "-" "-" - h - - '
                "- - - -\n"
            )


def write_ibm_trace(drawn: Drawn, path: Path) -> None:
    """Write the same in the format of IBM's object store traces."""
    with path.open("w", encoding="ascii") as file:
        for at_s, kind, key, size in zip(drawn.times_s, drawn.kinds, drawn.keys, drawn.sizes, strict=True):
            span = f" 0 {size - 1}" if kind == "GET.OBJECT" else ""
            file.write(f"{round(at_s * 1000)} REST.{kind} {key:016x} {size}{span}\n")


def profile_of(log: Path, directory: Path) -> Path:
    """The profile that s3bench fits."""
    path = directory / "profile.yaml"
    command = (sys.executable, "-m", "s3bench", "load", "--fit", log, "-o", path, "--force", "-q")
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return path


OPERATIONS = {"GET.OBJECT": "get", "HEAD.OBJECT": "head", "PUT.OBJECT": "put", "DELETE.OBJECT": "delete",
              "GET.BUCKET": "list"}  # fmt: skip


def shares_of(phase: Phase) -> dict[str, float]:
    """The share of each kind of operation."""
    rates: dict[str, float] = {}
    for job in phase.jobs:
        assert job.rate is not None
        whole = sum(share.weight for share in job.mix)
        for share in job.mix:
            per_s = job.rate.mean_per_s(0, phase.duration_s or 0) * share.weight / whole
            rates[str(share.kind)] = rates.get(str(share.kind), 0.0) + per_s
    return {kind: rate / sum(rates.values()) for kind, rate in rates.items()}


def size_errors(job: Job, expected: Sequence[float]) -> list[float]:
    """How far p50, p90 and p99 are off, relatively."""
    slots = np.sort(job.sizes.slots)
    found = [slots[min(int(share * len(slots)), len(slots) - 1)] for share in (0.5, 0.9, 0.99)]
    return [abs(each / right - 1) for each, right in zip(found, expected, strict=True)]


def rate_error(phase: Phase, truth: Truth) -> float:
    """The largest error of the rate in a window, relatively to it, or to the mean in windows without any arrivals."""
    bounds = np.linspace(0, 1, WINDOWS + 1)
    grid = (np.arange(WINDOWS * 1000) + 0.5) / (WINDOWS * 1000)
    right = truth.rate(grid).reshape(WINDOWS, 1000).mean(axis=1)
    right *= truth.requests / truth.length_s / right.mean()
    errors = []
    for low, high, per_s in zip(bounds, bounds[1:], right, strict=False):
        found = sum(job.rate.mean_per_s(low * truth.length_s, high * truth.length_s) for job in phase.jobs if job.rate)
        errors.append(abs(found - per_s) / (per_s or right.mean()))
    return float(max(errors))


def judge(truth: Truth, directory: Path) -> dict[str, float]:
    """Fit one log, and return how far off everything is."""
    random = np.random.default_rng(sum(truth.name.encode()))
    drawn = draw(truth, random)
    log = directory / "access.log"
    write_log(drawn, log, random)
    began_s = time.perf_counter()
    phase = read_profile(profile_of(log, directory)).profile.phases[0]
    took_s = time.perf_counter() - began_s
    jobs = {job.name: job for job in phase.jobs}
    shares = shares_of(phase)
    reads = jobs["reads"]
    exponent = reads.zipf_exponent if reads.keys is KeyDistribution.ZIPF else 0.0
    order = np.argsort(drawn.read_sizes)
    weights = (
        np.cumsum(drawn.popularity[order])
        if truth.popular_are_small
        else (np.arange(truth.objects) + 1) / (truth.objects)
    )
    expected = [drawn.read_sizes[order][np.searchsorted(weights, share)] for share in (0.5, 0.9, 0.99)]
    written = (truth.written or truth.sizes)(np.array([0.5, 0.9, 0.99]))
    errors = [*size_errors(reads, expected), *size_errors(jobs["writes"], written.tolist())]
    return {
        "requests": len(drawn.times_s),
        "mix": max(abs(shares.get(OPERATIONS[kind], 0.0) - share) for kind, share in truth.mix.items()),
        "exponent": abs(exponent - truth.exponent),
        "objects": (reads.objects or 0) / truth.objects - 1,
        "sizes": max(errors),
        "rate": rate_error(phase, truth),
        "profile_bytes": (directory / "profile.yaml").stat().st_size,
        "fit_s": took_s,
    }


def attempts(trace: Path) -> Iterator[dict[str, str]]:
    """The attempts of the measured phase."""
    with trace.open(newline="") as file:
        yield from (row for row in csv.DictReader(file) if not row["phase"].startswith("writing "))


def compare(truth: Truth, directory: Path) -> dict[str, float]:
    """Fit a log, run the profile, and test whether both samples may be of one distribution: p-values."""
    random = np.random.default_rng(sum(truth.name.encode()))
    drawn = draw(truth, random)
    log, trace = directory / "access.log", directory / f"{truth.name}.trace.csv"
    if truth.is_ibm:
        write_ibm_trace(drawn, log)
    else:
        write_log(drawn, log, random)
    profile = profile_of(log, directory)
    command = (sys.executable, "-m", "s3bench", "load", profile, "--trace", trace, "--seed", "1", "-q",
               "-o", directory / f"{truth.name}.json")  # fmt: skip
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    rows = list(attempts(trace))
    kinds = Counter(row["kind"] for row in rows)
    in_log = Counter(OPERATIONS[str(kind)] for kind in drawn.kinds)
    names = sorted(in_log)
    reads = np.isin(drawn.kinds, ["GET.OBJECT", "HEAD.OBJECT"])
    sizes_read = {row["number"]: int(row["bytes"]) for row in rows if row["kind"] == "get"}
    is_get = drawn.kinds == "GET.OBJECT"
    _, firsts = np.unique(drawn.keys[is_get], return_index=True)
    starts_s = np.sort([int(row["planned_ns"]) / 1e9 for row in rows])
    run_reads = Counter(row["number"] for row in rows if row["kind"] in {"get", "head"})
    return {
        "requests in the log": len(drawn.times_s),
        "requests of the run": len(rows),
        "failed": sum(not row["outcome"].startswith("20") for row in rows),
        "mix": stats.chi2_contingency([[in_log[name] for name in names], [kinds[name] for name in names]]).pvalue,
        "sizes written": stats.ks_2samp(
            drawn.sizes[drawn.kinds == "PUT.OBJECT"], [int(row["bytes"]) for row in rows if row["kind"] == "put"]
        ).pvalue,
        "sizes of objects read": stats.ks_2samp(drawn.sizes[is_get][firsts], list(sizes_read.values())).pvalue,
        "sizes of all gets, largest difference of shares": float(
            stats.ks_2samp(drawn.sizes[is_get], [int(row["bytes"]) for row in rows if row["kind"] == "get"]).statistic
        ),
        "mean size of a get, run over log": float(
            np.mean([int(row["bytes"]) for row in rows if row["kind"] == "get"]) / drawn.sizes[is_get].mean()
        ),
        "reads per key": stats.ks_2samp(
            np.unique(drawn.keys[reads], return_counts=True)[1], list(run_reads.values())
        ).pvalue,
        "times between arrivals": stats.ks_2samp(np.diff(drawn.times_s), np.diff(starts_s)).pvalue,
    }


def main() -> None:
    """Parse the command line, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="one log by its name")
    parser.add_argument("--runs", action="store_true", help="run fitted profiles, and compare runs with logs")
    options = parser.parse_args()
    truths = [each for each in (RUNS if options.runs else TRUTHS) if options.only in {None, each.name}]
    missed = 0
    for truth in truths:
        with tempfile.TemporaryDirectory(prefix="fit-truth-") as name:
            found = (compare if options.runs else judge)(truth, Path(name))
        rounded = {key: float(f"{value:.4g}") for key, value in found.items()}
        print(json.dumps({"log": truth.name} | rounded), flush=True)
        if not options.runs:
            bars = {"mix": MIX_BAR, "exponent": EXPONENT_BAR, "sizes": SIZE_BAR, "rate": RATE_BAR}
            missed += sum(bool(found[key] > bar) for key, bar in bars.items())
    if not options.runs:
        print(f"{missed} of {4 * len(truths)} figures outside of the bars")
        sys.exit(int(missed > 0))


if __name__ == "__main__":
    main()
