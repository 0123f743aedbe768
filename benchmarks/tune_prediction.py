#!/usr/bin/env python3
"""How far predictions are off for a size and a link that were not measured.

At a first place (a workload behind a network model) a few settings of each client are measured, and its model is
fitted to them. At a second place, of another size and link, the same settings are predicted, and then measured: five
runs each, interleaved, medians. The error is |predicted / measured - 1|. Every pair of places is taken both ways.
Bar: 10 % at the median. Exits 1 when it is missed.

    benchmarks/tune_prediction.py [--clients cli-classic,s5cmd] [--runs 5]
"""

import argparse
import math
import random
import sys
from collections.abc import Sequence
from itertools import groupby
from statistics import median

from tune_regret import MIB, Listed, Scenario, Stand, workload

from s3bench.clients.tuning.workload import Action
from s3bench.s3.network.model import parse_network
from s3bench.tune.setting import Setting
from s3bench.tune.study import Trial
from s3bench.tune.transfer_model import fit

BAR = 0.10
FITTED = 8
"""Settings at the first place: about as many as a tuning tries of one client."""

PREDICTED = 8
CLIENTS = ("cli-classic", "cli-crt", "boto3-classic", "boto3-crt", "s5cmd")
PLACES = (
    ("ec2:t3.micro", 64),
    ("ttfb=60ms,bandwidth=25MB/s,nic=200MB/s", 256),
    ("ttfb=30ms,bandwidth=40MB/s,nic=100MB/s", 128),
    ("ec2:c5n.18xlarge", 640),
)
"""Links of 100 to 8,003 MB/s and sizes in MiB, up to ten times another: as far as a tuning predicts by itself."""


def measured(stand: Stand, settings: tuple[Setting, ...], runs: int) -> list[Trial]:
    """Run every setting so often, in rounds; one more round before them warms caches."""
    header = stand.header(seed=runs, budget_s=0)
    trials = list(stand.trials(Listed(header=header, settings=settings, first=0, rounds=runs + 1)))
    return [trial for trial in trials if trial.block]


def chosen(stand: Stand, client: str, count: int, seed: int) -> tuple[Setting, ...]:
    """The client's first settings of a tuning, and others of its grid at random."""
    starts = [setting for setting in stand.space.starts() if setting.client == client]
    others = [setting for setting in stand.space.grid() if setting.client == client and setting not in starts]
    random.Random(seed).shuffle(others)  # the same ones every time
    return tuple((*starts, *others)[:count])


def medians(trials: Sequence[Trial]) -> dict[Setting, float]:
    """The median time of each setting that always succeeded."""
    ordered = sorted(trials, key=lambda trial: str(trial.setting))
    groups = {setting: list(own) for setting, own in groupby(ordered, key=lambda trial: trial.setting)}
    return {
        setting: median(trial.measurement.total_time for trial in own if trial.measurement)
        for setting, own in groups.items()
        if all(trial.measurement for trial in own)
    }


def errors(
    here: tuple[Stand, list[Trial]], there: tuple[Stand, list[Trial]], client: str
) -> list[tuple[Setting, float]]:
    """What the model of one place says of the settings that were measured at the other, against that."""
    (stand, trials), (other, others) = here, there
    own = [trial for trial in trials if trial.setting.client == client]
    model = fit(own, stand.scenario.workload, parse_network(stand.scenario.network))
    if model is None:
        return []
    network = parse_network(other.scenario.network)
    return [
        (setting, model.predict(setting, other.scenario.workload, network) / time_s - 1)
        for setting, time_s in medians(others).items()
        if setting.client == client
    ]


def summary(off: Sequence[float]) -> str:
    """How many predictions there are, and how far they are off."""
    ninth = sorted(off)[math.ceil(0.9 * len(off)) - 1]
    return f"{len(off)} predictions, median {median(off):.1%}, 90th percentile {ninth:.1%}"


def main() -> int:
    """Measure everywhere, predict from everywhere to everywhere else."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", default=",".join(CLIENTS), help="default %(default)s")
    parser.add_argument("--runs", type=int, default=5, help="of each setting (default 5)")
    given = parser.parse_args()
    clients = tuple(given.clients.split(","))
    places = []
    for action in (Action.UPLOAD, Action.DOWNLOAD):
        for network, size_mib in PLACES:
            scenario = Scenario(network=network, workload=workload(action, size_mib * MIB), clients=clients)
            stand = Stand(f"{action} {size_mib} MiB, {network}", scenario)
            settings = tuple(
                setting
                for number, client in enumerate(stand.clients)
                for setting in chosen(stand, client, max(FITTED, PREDICTED), number)
            )
            print(f"measuring {stand.name}: {len(settings)} settings", file=sys.stderr, flush=True)
            places.append((stand, measured(stand, settings, given.runs)))
    found: dict[str, list[float]] = {}
    for here in places:
        for there in places:
            if here is there or here[0].scenario.workload.action is not there[0].scenario.workload.action:
                continue
            for client in here[0].clients:
                off = [abs(error) for _, error in errors(here, there, client)]
                found.setdefault(client, []).extend(off)
                print(f"{here[0].name} -> {there[0].name}, {client}: median {median(off):.1%}, worst {max(off):.1%}")
    for client, off in found.items():
        print(f"{client}: {summary(off)}")
    every = [error for off in found.values() for error in off]
    print(f"all: {summary(every)} (bar {BAR:.0%} at the median)")
    return 0 if median(every) <= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
