#!/usr/bin/env python3
"""Whether `--max-memory` holds: no recommended setting exceeds it in ten runs made later.

Clients whose memory grows with their settings are tuned under a limit that cuts through the settings tried; then what
was recommended is run ten times more. Exits 1 when any of these runs needed more than was allowed.

    benchmarks/tune_memory.py [--seeds 5]
"""

import argparse
import math
import sys
from collections.abc import Sequence
from statistics import stdev

from msgspec.structs import replace
from tune_regret import MIB, Listed, Scenario, Stand, workload

from s3bench.clients.tuning.workload import Action
from s3bench.errors import S3BenchError
from s3bench.tune.conclusion import conclude
from s3bench.tune.study import Study, Trial
from s3bench.tune.study_result import StudyResult
from s3bench.tune.tuner import Tuner
from s3bench.units import render_bytes

RUNS = 10
BUDGET_S = 60.0
CASES = (
    (Action.DOWNLOAD, ("s5cmd", "cli-crt"), 200 * MIB),
    (Action.UPLOAD, ("cli-classic", "cli-crt"), 160 * MIB),
    (Action.DOWNLOAD, ("boto3-crt", "boto3-classic"), 120 * MIB),
    (Action.DOWNLOAD, ("boto3-classic",), 96 * MIB),
    (Action.DOWNLOAD, ("cli-classic",), 160 * MIB),
    (Action.UPLOAD, ("cli-classic",), 128 * MIB),
    (Action.DOWNLOAD, ("cli-crt",), 320 * MIB),
)
"""The first three limits cut between clients, the others through the settings of one client."""

NETWORK = "ttfb=40ms,bandwidth=30MB/s,nic=400MB/s"


def peaks(trials: Sequence[Trial]) -> list[float]:
    """The peak memory of each run, in bytes."""
    return [trial.measurement.max_memory or 0.0 for trial in trials if trial.measurement]


def tuned(stand: Stand, seed: int, limit_bytes: int) -> StudyResult:
    """One tuning under the limit."""
    header = replace(stand.header(seed=seed, budget_s=BUDGET_S), max_memory_bytes=limit_bytes)
    trials = tuple(stand.trials(Tuner(header=header, space=stand.space)))
    return conclude(Study(header=header, trials=trials))


def main() -> int:
    """Tune under limits, and run what was recommended again."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5, help="tunings of each case (default 5)")
    given = parser.parse_args()
    kept = exceeded = 0
    for action, clients, limit_bytes in CASES:
        scenario = Scenario(network=NETWORK, workload=workload(action, 256 * MIB), clients=clients)
        stand = Stand(f"{action} on {', '.join(clients)}", scenario)
        for seed in range(given.seeds):
            about = f"{stand.name}, limit {render_bytes(limit_bytes)}, seed {seed}"
            try:
                answer = tuned(stand, seed, limit_bytes)
            except S3BenchError as error:
                print(f"{about}: nothing recommended: {error.what}: {error.why}", flush=True)
                continue
            setting = answer.recommended.setting
            planner = Listed(header=stand.header(seed=seed, budget_s=0), settings=(setting,), first=0, rounds=RUNS)
            again = peaks(list(stand.trials(planner)))
            later, spread = max(again), stdev(map(math.log, again))
            over = sum(figures.exceeds_memory for figures in answer.table)
            is_within = later <= limit_bytes
            kept, exceeded = kept + is_within, exceeded + (not is_within)
            print(
                f"{about}: {answer.verdict}: {setting}: at most "
                f"{render_bytes(later)} in {RUNS} later runs (one standard deviation {spread:.1%})"
                f"{'' if is_within else ', MORE THAN ALLOWED'}; "
                f"{over} of {len(answer.table)} settings tried needed more",
                flush=True,
            )
    print(f"{kept} recommendations kept within their limits, {exceeded} did not")
    return 1 if exceeded else 0


if __name__ == "__main__":
    sys.exit(main())
