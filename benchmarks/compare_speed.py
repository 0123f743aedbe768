#!/usr/bin/env python3
"""How long `s3bench compare` takes on two documents of 10,000 measurements each, start-up included.

Generates the documents in three shapes (many short cells, few long ones), runs the real command on them and prints the
median of five. The figures are drawn around those of a real measurement of `aws s3 cp`, with 3 % noise, and have memory
and CPU over time.
"""

import argparse
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from s3bench.results.document import Client, Document, Result, Status
from s3bench.results.file import write_document
from s3bench.results.measurement import Measurement, UsageFacts, Wire, WireFacts, measure
from s3bench.results.timeline import POINTS_MAX, SeriesFacts, Timeline, thinned

BAR_S = 2.0
ROUNDS = 5
SHAPES = ((100, 100), (1_000, 10), (2, 5_000))  # cells, measurements in each
COMMAND = (sys.executable, "-c", "from s3bench.cli.main import main; main()", "compare")
NOISE = 0.03
KINDS = {"HEAD": 1, "GET ranged": 4}
CLIENT = Client(name="cli-crt", version="2.38.5", label="cli-crt@2.38.5")


def measurement(iteration: int, draws: random.Random, slowdown: float) -> Measurement:
    """One iteration of a download of 32 MB: about 0.6 s, 80 MiB."""
    total_s = draws.lognormvariate(0, NOISE) * 0.6 * slowdown
    wire = WireFacts(
        counts=Wire(
            requests=5,
            retries=0,
            connections=5,
            requests_in_flight_max=4,
            bytes_received=0,
            bytes_sent=32 << 20,
            part_size_max=8 << 20,
            checksums_verified=0,
        ),
        first_request_s=total_s * 0.7,
        last_response_s=total_s * 0.9,
        requests_by_kind=KINDS,
        engine="crt",
        server_cpu_s=0.01,
    )
    usage = UsageFacts(
        user_cpu_s=draws.lognormvariate(0, NOISE) * 0.5 * slowdown,
        system_cpu_s=draws.lognormvariate(0, NOISE) * 0.05,
        peak_memory_bytes=int(draws.lognormvariate(0, NOISE / 10) * (80 << 20)) // 4096 * 4096,
        minor_faults=draws.randrange(13_000, 13_500),
        major_faults=0,
        voluntary_context_switches=draws.randrange(50, 90),
        involuntary_context_switches=draws.randrange(50, 300),
    )
    timeline = Timeline(series=thinned(series(total_s, draws)))
    return measure(iteration=iteration, total_s=total_s, usage=usage, wire=wire, sampler_cpu_s=0.015, timeline=timeline)


def series(total_s: float, draws: random.Random) -> SeriesFacts:
    """As many samples as are kept, so that none is thinned out: memory that grows, and 0.8 cores with noise."""
    at_s = [total_s * (place + 0.01) / POINTS_MAX for place in range(POINTS_MAX)]
    cpu_s = [0.8 * at * draws.uniform(1 - NOISE, 1) for at in at_s]
    rss_bytes = [draws.randrange(1_000, 2_000) * 4096 * (place + 1) // 10 for place in range(POINTS_MAX)]
    return SeriesFacts(at_s=at_s, rss_bytes=rss_bytes, cpu_s=cpu_s, interval_s=total_s / POINTS_MAX, cores=2)


def document(cells: int, count: int, seed: int) -> Document:
    """A run of `cells` benchmarks of `count` iterations; a tenth of the cells depends on `seed` by 5 %."""
    draws = random.Random(seed)
    results = tuple(
        Result(
            name="s3.cp.download",
            dimensions=({"FileSize": f"{cell}MB"},),
            client=CLIENT,
            status=Status.COMPLETE,
            measurements=tuple(
                measurement(number, draws, 1.0 + 0.05 * seed * (cell % 10 == 0)) for number in range(count)
            ),
        )
        for cell in range(cells)
    )
    return Document(s3bench="0.1.0", started_at="2026-11-21T00:00:00.000Z", clients=(CLIENT,), results=results)


def time_command(files: tuple[Path, ...]) -> tuple[float, float]:
    """Seconds that the command takes from start to end, and CPU seconds: these say more on a busy machine."""
    started_s, used_s = time.perf_counter(), _children_cpu_s()
    subprocess.run((*COMMAND, *map(str, files)), check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started_s, _children_cpu_s() - used_s


def _children_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> int:
    """Time every shape; exit 1 when a median is above the bar."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as directory:
        for cells, count in SHAPES:
            files = tuple(Path(directory) / f"{cells}x{count}-{seed}.json" for seed in range(2))
            for seed, file in enumerate(files):
                write_document(document(cells, count, seed), file, durable=False)
            times_s, cpu_s = zip(*(time_command(files) for _ in range(options.rounds)), strict=True)
            row: dict[str, Any] = {
                "cells": cells,
                "measurements_each": count,
                "file_bytes": files[0].stat().st_size,
                "rounds_s": times_s,
                "median_s": statistics.median(times_s),
                "cpu_median_s": statistics.median(cpu_s),
                "bar_s": BAR_S,
            }
            rows.append(row)
            if not options.json:
                verdict = "ok" if row["median_s"] <= BAR_S else "ABOVE THE BAR"
                print(
                    f"{cells:5} cells x {count:5}: median {row['median_s']:.2f} s  max {max(times_s):.2f} s  "
                    f"CPU {row['cpu_median_s']:.2f} s  bar {BAR_S:g} s  {verdict}",
                    flush=True,
                )
    if options.json:
        print(json.dumps(rows, indent=2))
    return int(any(row["median_s"] > row["bar_s"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
