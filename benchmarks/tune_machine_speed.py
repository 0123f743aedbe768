#!/usr/bin/env python3
"""Whether the speed of the machine would save a tuning repeats: the noise of its runs, raw and adjusted.

A campaign runs a few settings of each client of a scenario in rounds, as a tuning does. The noise is what is left of
the logarithms of the times after settings and rounds are taken out, as in `s3bench.tune.evidence`; repeats are needed
in proportion to its variance. The slope of a covariate is fitted to these residuals, pooled over all settings, so that
the variance left over is the best that an adjustment could reach. `speed` is the slowness of the core times the part of
a setting's time that is CPU time, `wait` how far waits for a core lengthened the run. Waits are no covariate of a
tuning if settings differ in them, since a setting makes its own threads wait: p tells whether they are alike.

    benchmarks/tune_machine_speed.py --record t3.micro-up-64M
    benchmarks/tune_machine_speed.py
"""

import argparse
import math
import sys
import time
from itertools import groupby
from pathlib import Path
from typing import Any

import kept
import numpy as np
from bars import met_or_missed
from numpy.typing import NDArray
from tune_regret import SCENARIOS, Listed, Stand

from s3bench.results.machine_speed import log_lengthening
from s3bench.results.measurement import Measurement
from s3bench.tune.setting import Setting

DATA = Path(__file__).parent / "data" / "tune_machine_speed.jsonl"
ROUNDS = 14
BAR = 0.75
PERMUTATIONS = 1999
Series = NDArray[np.float64]


def record(name: str) -> None:
    """Record one campaign of a scenario."""
    stand = Stand(name, SCENARIOS[name])
    settings = tuple(
        dict.fromkeys(
            setting
            for client in stand.clients
            for setting in (
                Setting(client=client),
                *[each for each in stand.space.starts() if each.client == client][:2],
            )
        )
    )
    planner = Listed(header=stand.header(seed=1, budget_s=0), settings=settings, first=0, rounds=ROUNDS)
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    for trial in stand.trials(planner):
        run = trial.measurement
        if isinstance(run, Measurement):
            line = {
                "scenario": name,
                "at": at,
                "setting": str(trial.setting),
                "block": trial.block,
                "total": run.total_time,
                "cpu": run.cpu_time,
                "rate": run.machine_speed and run.machine_speed.rate,
                "wait": run.runqueue_wait_time,
            }
            kept.append(DATA, line)


def layout(runs: list[dict[str, Any]]) -> Series:
    """The columns of the two-way layout: a setting, and a round but for the first."""
    settings, blocks = sorted({run["setting"] for run in runs}), sorted({run["block"] for run in runs})
    columns = [[run["setting"] == setting for run in runs] for setting in settings]
    columns += [[run["block"] == block for run in runs] for block in blocks[1:]]
    return np.array(columns, dtype=np.float64).T


def p_equal(waits: Series, blocks: list[int], settings: list[str]) -> float:
    """The p-value of no difference of waits among settings: the spread of their means, permuted within rounds."""
    names, random = sorted(set(settings)), np.random.default_rng(1)
    places = np.array([names.index(setting) for setting in settings])
    groups = [np.flatnonzero(np.array(blocks) == block) for block in sorted(set(blocks))]

    def spread(values: Series) -> float:
        return float(np.var([values[places == place].mean() for place in range(len(names))]))

    observed, beyond = spread(waits), 0
    for _ in range(PERMUTATIONS):
        shuffled = waits.copy()
        for group in groups:
            shuffled[group] = random.permutation(waits[group])
        beyond += spread(shuffled) >= observed
    return (beyond + 1) / (PERMUTATIONS + 1)


def print_campaign(title: str, runs: list[dict[str, Any]]) -> None:
    """One line."""
    runs = [run for run in runs if run["rate"] and run["wait"] is not None and run["wait"] < run["total"]]
    columns = layout(runs)
    free = len(runs) - int(np.linalg.matrix_rank(columns))
    shares = {
        setting: float(np.median([min(1.0, run["cpu"] / run["total"]) for run in runs if run["setting"] == setting]))
        for setting in {run["setting"] for run in runs}
    }

    def residuals(values: Series) -> Series:
        left: Series = values - columns @ np.linalg.lstsq(columns, values, rcond=None)[0]
        return left

    slowness = -np.log([run["rate"] for run in runs])
    slowness -= slowness.mean()
    waits = np.array([log_lengthening(run["total"], run["wait"]) for run in runs], dtype=np.float64)
    outcome = residuals(np.log([run["total"] for run in runs]))
    covariates = {
        "speed": residuals(slowness * np.array([shares[run["setting"]] for run in runs])),
        "wait": residuals(waits),
    }
    line = f"{title:45} {len(runs):3} runs, sigma {math.sqrt(float(outcome @ outcome) / free):5.1%}, "
    line += f"CPU share {min(shares.values()):.0%} to {max(shares.values()):.0%}"
    for name, covariate in covariates.items():
        slope = float(covariate @ outcome / (covariate @ covariate))
        left = outcome - slope * covariate
        ratio = float(left @ left / (outcome @ outcome)) * free / (free - 1)
        line += f"; {name}: slope {slope:5.2f}, variance times {ratio:.2f}"
        line += f" (bar {BAR}: {met_or_missed(ratio <= BAR)})" if name == "speed" else ""
    p_value = p_equal(waits, [run["block"] for run in runs], [run["setting"] for run in runs])
    print(f"{line}; settings wait alike: p = {p_value:.4f}")


def main() -> int:
    """Record, or print a line for each campaign."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", choices=SCENARIOS, help="record one more campaign; default: print all")
    given = parser.parse_args()
    if given.record:
        record(given.record)
        return 0
    for (scenario, at), own in groupby(kept.read(DATA), key=lambda run: (run["scenario"], run["at"])):
        print_campaign(f"{scenario} {at}", list(own))
    return 0


if __name__ == "__main__":
    sys.exit(main())
