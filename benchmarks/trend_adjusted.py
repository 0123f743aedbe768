#!/usr/bin/env python3
"""What adjusting for the machine does for trends: false change points and power, as measured and adjusted.

Histories are made of real runs of unchanged clients with the machine's speed beside them: a recording of boto3-classic
(`--record`) and the campaigns of benchmarks/machine_speed.py. A release is the median of three runs. A step of 0, 5 or
10 % is planted in the middle of 50 releases.

  model         the recorded machine; times that follow it, with independent noise as large as what was left over
  random hours  releases drawn at random from everything that was recorded of a client
  consecutive   releases that follow each other within seconds on a machine whose load comes and goes: the worst case

A point is false unless its interval holds the planted step. "Without a warning" are those that are not reported as
possibly the machine's.

    benchmarks/trend_adjusted.py                 the table (about five minutes)
    benchmarks/trend_adjusted.py --record 330    record releases of boto3-classic (about ten minutes)
"""

import argparse
import math
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import kept
import numpy as np
from bars import met_or_missed
from machine_speed import DATA as CAMPAIGNS
from machine_speed import SETTINGS, UPLOAD
from numpy.random import Generator

from s3bench.bench.endpoints import stub_server
from s3bench.bench.local import open_bench
from s3bench.bench.runner import Conditions
from s3bench.cli.definitions import runnable
from s3bench.clients.finding import find_client
from s3bench.clients.plan import parse_client_spec
from s3bench.clients.store import ClientStore
from s3bench.results.machine_speed import CLIENT_SLOPE, log_lengthening
from s3bench.results.measurement import Measurement
from s3bench.results.metrics import METRICS_BY_NAME
from s3bench.trend.adjustment import MachineFigures
from s3bench.trend.metric_trend import Trend, TrendPoint, trend_of

DATA = Path(__file__).parent / "data" / "trend_truth" / "boto3_classic.jsonl"
RUNS = 3
RELEASES = 50
STEPS = (0.0, 0.05, 0.10)
FALSE_BAR = 1.5
NOISE = {"cpu_time": 0.035, "total_time": 0.045}
"""Of a release, adjusted: the median of the series here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """The medians of a release's runs."""

    total_s: float
    cpu_s: float
    machine: MachineFigures


def release_of(runs: list[dict[str, Any]]) -> Release:
    """The medians of some runs."""
    total_s, cpu_s = median(run["total_time"] for run in runs), median(run["cpu_time"] for run in runs)
    return Release(
        total_s=total_s,
        cpu_s=cpu_s,
        machine=MachineFigures(
            speed=median(run["speed"] for run in runs),
            cpu_share=cpu_s / total_s,
            lengthening=log_lengthening(total_s, median(run["runqueue_wait_time"] for run in runs)),
            s3bench="",
        ),
    )


def recorded() -> dict[str, tuple[Release, ...]]:
    """All releases of each source, in the order in which they ran."""
    runs: dict[str, list[dict[str, Any]]] = {}
    for campaign in kept.read(CAMPAIGNS):
        for number, pair in enumerate(campaign["pairs"]):
            for run in pair if number % 2 == 0 else reversed(pair):
                if run["speed"]:
                    runs.setdefault(campaign["client"], []).append({**run, "speed": run["speed"][0]})
    keys = ("total_time", "cpu_time", "speed", "error", "runqueue_wait_time")
    for line in kept.read(DATA):
        runs.setdefault("recording", []).extend(dict(zip(keys, run, strict=True)) for run in line["runs"])
    return {
        name: tuple(release_of(own[start : start + RUNS]) for start in range(0, len(own) - RUNS + 1, RUNS))
        for name, own in runs.items()
        if len(own) >= RUNS * RELEASES
    }


def consecutive(releases: tuple[Release, ...], random: Generator, metric: str) -> Iterator[Release]:
    """A stretch."""
    del metric
    start = int(random.integers(len(releases) - RELEASES + 1))
    yield from releases[start : start + RELEASES]


def random_hours(releases: tuple[Release, ...], random: Generator, metric: str) -> Iterator[Release]:
    """Some at random."""
    del metric
    for number in random.choice(len(releases), size=RELEASES, replace=False):
        yield releases[number]


def model(releases: tuple[Release, ...], random: Generator, metric: str) -> Iterator[Release]:
    """A stretch whose times are those of the machine."""
    usual_speed = median(each.machine.speed or 1.0 for each in releases)
    cpu_share = min(1.0, median(each.machine.cpu_share or 1.0 for each in releases))
    for each in consecutive(releases, random, metric):
        slowness = CLIENT_SLOPE * math.log(usual_speed / (each.machine.speed or 1.0))
        noise = NOISE[metric] * random.normal()
        wall = slowness * cpu_share + (each.machine.lengthening or 0.0)
        yield Release(total_s=math.exp(wall + noise), cpu_s=math.exp(slowness + noise), machine=each.machine)


Source = Callable[[tuple[Release, ...], Generator, str], Iterator[Release]]


def judged(trend: Trend, *, is_planted: bool) -> Counter[str]:
    """The points of one trend."""
    counts = Counter(series=1)
    for change in trend.changes:
        point = change.point
        if is_planted and point.is_increase and point.first <= RELEASES // 2 <= point.last:
            counts["found"] += 1
        else:
            counts["false"] += 1
            counts["unwarned"] += not change.warnings
    return counts


def print_row(metric: str, source: Source, step: float, series: int) -> None:
    """One line: a metric, a kind of history and a step."""
    counts: dict[bool, Counter[str]] = {False: Counter(), True: Counter()}
    for name, releases in recorded().items():
        for number in range(series):
            random = np.random.default_rng([number, *name.encode()])
            points = [
                TrendPoint(
                    label=str(place),
                    value=(each.total_s if metric == "total_time" else each.cpu_s)
                    * (1 + step * (place >= RELEASES // 2)),
                    beside=each.machine,
                )
                for place, each in enumerate(source(releases, random, metric))
            ]
            for adjusts, own in counts.items():
                trend = trend_of(METRICS_BY_NAME[metric], points, adjusts=adjusts)
                own.update(judged(trend, is_planted=step > 0))
    line = f"{metric:10} {source.__name__:12} +{step:3.0%} {counts[True]['series']:4} series"
    for adjusts, own in counts.items():
        scale = 500 / RELEASES / own["series"]
        line += f"  {'adjusted' if adjusts else 'measured'}: false in 500 {own['false'] * scale:5.2f}"
        line += f" ({own['unwarned'] * scale:5.2f} without a warning)" if adjusts else ""
        line += f" found {own['found'] / own['series']:4.0%}" if step else ""
    if not step:
        line += f"  (bar {FALSE_BAR}: {met_or_missed(counts[True]['false'] * scale <= FALSE_BAR)})"
    print(line, flush=True)


def record(releases: int) -> None:
    """Record releases of boto3-classic, which nobody changes meanwhile."""
    spec = parse_client_spec("boto3-classic")
    found = find_client(spec, ClientStore.from_environment(os.environ))
    definition = runnable(spec, (), select=UPLOAD, suite="full")[0]
    with open_bench(stub_server()) as bench, bench.workspace(definition.environment) as runner_of:
        runner = runner_of(definition, found)
        runner.run_once(0, SETTINGS, "warm-up", Conditions(env={}))
        for release in range(releases):
            runs = []
            for number in range(RUNS):
                seed = str(1_000_000_000 + release * RUNS + number)
                each = runner.run_once(number, SETTINGS, "release", Conditions(env={"PYTHONHASHSEED": seed}))
                assert isinstance(each, Measurement), each
                assert each.machine_speed, "the speed of the machine cannot be measured here"
                speed = each.machine_speed
                figures = (each.total_time, each.cpu_time or 0, speed.rate, speed.error)
                runs.append([*(round(value, 6) for value in figures), each.runqueue_wait_time])
            kept.append(DATA, {"client": found.label, "at": round(time.time(), 1), "runs": runs})


def main() -> int:
    """Record, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", type=int, metavar="RELEASES", help="record so many more instead")
    parser.add_argument("--series", type=int, default=50, help="of each source in each row (default 50)")
    options = parser.parse_args()
    if options.record:
        record(options.record)
        return 0
    for metric in ("cpu_time", "total_time"):
        for source in (model, random_hours, consecutive):
            for step in STEPS:
                print_row(metric, source, step, options.series)
    return 0


if __name__ == "__main__":
    sys.exit(main())
