#!/usr/bin/env python3
"""Whether a tuning finds what an exhaustive search finds, in a fifth of its time, and whether its gains are true.

For each scenario (a network model, a workload, clients) three things are run, and kept under benchmarks/data/ so that a
campaign can be interrupted and continued:

  grid       every combination of all knobs, three rounds, each in random order
  tunings    one for each seed, with a budget of a fifth of the grid's time
  finals     the default, the best few of the grid and everything that was recommended, interleaved, 20 rounds

A tuning's regret is how much slower its recommendation is than the best of the finals, by their medians, so that the
luck of three runs in the grid does not count. `--summary` prints what all files say, held against the bars.

    benchmarks/tune_regret.py --list
    benchmarks/tune_regret.py --scenario t3.micro-up-64M --seeds 10
    benchmarks/tune_regret.py --summary
"""

import argparse
import math
import random
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from os import environ
from pathlib import Path
from statistics import median
from typing import TypeVar

import msgspec

from s3bench.bench import Bench, Settings
from s3bench.clients.client import FoundClient
from s3bench.clients.finding import find_client
from s3bench.clients.store import Store
from s3bench.results.measurement import Measurement
from s3bench.run.endpoint import Emulated
from s3bench.run.owner import workspace_parent
from s3bench.run.process import Spawner
from s3bench.run.workspace import Workspaces
from s3bench.s3.endpoint import EmulatorEndpoint
from s3bench.s3.network.model import parse_network
from s3bench.spec.plan import parse_client_spec
from s3bench.tune.conclusion import conclude
from s3bench.tune.objective import Objective
from s3bench.tune.setting import Setting
from s3bench.tune.space import Space
from s3bench.tune.study import Header, Search, Stage, Study, Trial
from s3bench.tune.tuner import Block, PlannedRun, Planner, Tuner
from s3bench.tune.verification import Change, Verdict
from s3bench.tune.workload import Action, Workload
from s3bench.tuning import run_study

DATA = Path(__file__).parent / "data" / "tune_regret"
GRID_ROUNDS = 3
FINAL_ROUNDS = 20
GRID_FINALISTS = 4
BUDGET_SHARE = 0.2
REGRET_BAR = 0.03
SHARE_BAR = 0.9
SETTINGS_MIN = 60
_Kept = TypeVar("_Kept", bound=msgspec.Struct)
SPARE_BYTES = 512 << 20
RUNNING = Settings(interval_s=None, probes=False, timeout_s=300.0)
MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What is tuned, and behind which link; `is_flat` where the link alone decides, so that no setting helps."""

    network: str
    workload: Workload
    clients: tuple[str, ...]
    is_flat: bool = False


def workload(action: Action, size_bytes: int, files: int = 1) -> Workload:
    """A workload in one line."""
    return Workload(action=action, size_bytes=size_bytes, files=files)


SCENARIOS = {
    "t3.micro-up-64M": Scenario(
        network="ec2:t3.micro",
        workload=workload(Action.UPLOAD, 64 * MIB),
        clients=("cli-classic", "cli-crt", "s5cmd"),
    ),
    "far-up-64M": Scenario(
        network="ttfb=100ms,bandwidth=8MB/s,nic=200MB/s",
        workload=workload(Action.UPLOAD, 64 * MIB),
        clients=("cli-classic", "s5cmd"),
    ),
    "far-down-256M": Scenario(
        network="ttfb=60ms,bandwidth=15MB/s,nic=250MB/s",
        workload=workload(Action.DOWNLOAD, 256 * MIB),
        clients=("cli-classic",),
    ),
    "t2.micro-up-64M": Scenario(
        network="ec2:t2.micro",
        workload=workload(Action.UPLOAD, 64 * MIB),
        clients=("cli-classic",),
        is_flat=True,
    ),
    "m4.large-small-files": Scenario(
        network="ec2:m4.large,ttfb=40ms",
        workload=workload(Action.UPLOAD, 64 << 10, files=400),
        clients=("cli-classic", "boto3-classic", "s5cmd", "cli-crt"),
    ),
    "c5n.18xlarge-down-256M": Scenario(
        network="ec2:c5n.18xlarge",
        workload=workload(Action.DOWNLOAD, 256 * MIB),
        clients=("boto3-classic", "s5cmd"),
    ),
    "c5.large-up-1G": Scenario(
        network="ec2:c5.large,ttfb=lognormal:30ms:80ms",
        workload=workload(Action.UPLOAD, 1024 * MIB),
        clients=("s5cmd", "boto3-classic"),
    ),
}


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One run of the grid or of the finals, as it is kept; `total_time` is null where it failed."""

    round: int
    setting: Setting
    took_s: float
    total_time: float | None


class Tuning(msgspec.Struct, frozen=True, kw_only=True):
    """One tuning, as it is kept."""

    seed: int
    budget_s: float
    spent_s: float
    runs: int
    verdict: Verdict
    recommended: Setting
    gain: Change | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A planner of fixed rounds over given settings, for grid and finals; rounds up to `first` are there already."""

    header: Header
    settings: tuple[Setting, ...]
    first: int
    rounds: int

    def next_block(self, trials: Sequence[Trial]) -> Block | None:
        """The next round."""
        number = self.first + len(trials) // len(self.settings)
        if number >= self.rounds:
            return None
        order = list(self.settings)
        random.Random(f"{self.header.seed} {number}").shuffle(order)
        return Block(stage=Stage.SEARCH, number=number, runs=tuple(PlannedRun(setting=setting) for setting in order))


class Stand:
    """One scenario, with everything that its runs need."""

    def __init__(self, name: str, scenario: Scenario) -> None:
        self.name, self.scenario = name, scenario
        store = Store.from_environment(environ)
        found = [find_client(parse_client_spec(text), store) for text in scenario.clients]
        self.clients: Mapping[str, FoundClient] = {client.label: client for client in found}
        self.space = Space.of(tuple(self.clients), scenario.workload)

    def header(self, *, seed: int, budget_s: float) -> Header:
        """The header of one study."""
        return Header(
            s3bench="benchmark",
            started_at="",
            command_line=(),
            machine={"cores_logical": 2},
            workload=self.scenario.workload,
            clients=tuple(self.clients),
            network=self.scenario.network,
            endpoint=self.scenario.network,
            objective=Objective(),
            search=Search.RACE,
            budget_s=budget_s,
            seed=seed,
        )

    def grid(self) -> tuple[Setting, ...]:
        """Every combination of all knobs, main or not."""
        return tuple(
            dict.fromkeys(
                self.space.setting(client, dict(zip((knob.name for knob in knobs), values, strict=True)))
                for client, knobs in self.space.knobs.items()
                for values in product(*(knob.choices for knob in knobs))
            )
        )

    def trials(self, planner: Planner) -> Iterator[Trial]:
        """Run what `planner` plans."""
        with self._bench() as bench:
            for standing in run_study(bench, self.clients, planner, (), RUNNING, now=time.monotonic):
                yield standing.trial

    @contextmanager
    def _bench(self) -> Iterator[Bench]:
        with Workspaces(parent=workspace_parent(environ)) as workspaces:
            directory = workspaces.root / "server"
            directory.mkdir(mode=0o700)
            with EmulatorEndpoint(tls=False, directory=directory) as emulator, Spawner() as spawner:
                endpoint = Emulated(
                    emulator,
                    network=parse_network(self.scenario.network),
                    memory_limit_bytes=self.scenario.workload.total_bytes + SPARE_BYTES,
                    discard_uploads=True,
                )
                yield Bench(spawner=spawner, endpoint=endpoint, workspaces=workspaces)


def path_of(name: str, what: str) -> Path:
    """Where a part of a scenario is kept."""
    return DATA / f"{name}.{what}.jsonl"


def read(path: Path, kind: type[_Kept]) -> list[_Kept]:
    """What is there so far."""
    return [msgspec.json.decode(line, type=kind) for line in path.read_bytes().splitlines()] if path.exists() else []


def keep(path: Path, item: msgspec.Struct) -> None:
    """Append one line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(msgspec.json.encode(item) + b"\n")


def whole_rounds(path: Path, settings: Sequence[Setting]) -> list[Run]:
    """The runs of whole rounds over `settings`; a round that was cut off is forgotten."""
    runs = read(path, Run)
    rounds = {run.round for run in runs}
    whole = {number for number in rounds if {run.setting for run in runs if run.round == number} >= set(settings)}
    kept = [run for run in runs if run.round in whole]
    if len(kept) < len(runs):
        path.write_bytes(b"".join(msgspec.json.encode(run) + b"\n" for run in kept))
    return kept


def run_rounds(stand: Stand, what: str, settings: tuple[Setting, ...], rounds: int) -> list[Run]:
    """Run the rounds that are missing."""
    path = path_of(stand.name, what)
    first = len({run.round for run in whole_rounds(path, settings)})
    planner = Listed(header=stand.header(seed=len(what), budget_s=0), settings=settings, first=first, rounds=rounds)
    for trial in stand.trials(planner):
        total_s = trial.measurement.total_time if isinstance(trial.measurement, Measurement) else None
        keep(path, Run(round=trial.block, setting=trial.setting, took_s=trial.took_s, total_time=total_s))
        tell(f"{stand.name} {what} round {trial.block + 1}/{rounds}: {trial.setting} {total_s}")
    return whole_rounds(path, settings)


def medians(runs: Sequence[Run]) -> dict[Setting, float]:
    """The median time of each setting; those that ever failed are left out."""
    failed = {run.setting for run in runs if run.total_time is None}
    times: dict[Setting, list[float]] = {}
    for run in runs:
        if run.setting not in failed and run.total_time is not None:
            times.setdefault(run.setting, []).append(run.total_time)
    return {setting: median(values) for setting, values in times.items()}


def run_scenario(name: str, seeds: int) -> None:
    """Run what is missing of a scenario."""
    stand = Stand(name, SCENARIOS[name])
    grid = stand.grid()
    tell(f"{name}: {len(grid)} settings")
    runs = run_rounds(stand, "grid", grid, GRID_ROUNDS)
    budget_s = BUDGET_SHARE * sum(run.took_s for run in runs)
    path = path_of(name, "tunings")
    done = {tuning.seed for tuning in read(path, Tuning)}
    for seed in range(seeds):
        if seed not in done:
            keep(path, tune(stand, seed, budget_s))
    best = medians(runs)
    ranked = sorted(best, key=lambda setting: best[setting])[:GRID_FINALISTS]
    recommended = [tuning.recommended for tuning in read(path, Tuning)]
    default = Setting(client=next(iter(stand.clients)))
    run_rounds(stand, "finals", tuple(dict.fromkeys((default, *ranked, *recommended))), FINAL_ROUNDS)


def tune(stand: Stand, seed: int, budget_s: float) -> Tuning:
    """One tuning, from its first run to its answer."""
    header = stand.header(seed=seed, budget_s=budget_s)
    trials = tuple(stand.trials(Tuner(header=header, space=stand.space)))
    answer = conclude(Study(header=header, trials=trials))
    tuning = Tuning(
        seed=seed,
        budget_s=budget_s,
        spent_s=answer.measured_s,
        runs=answer.runs,
        verdict=answer.verdict,
        recommended=answer.recommended.setting,
        gain=answer.gain,
    )
    tell(f"{stand.name} seed {seed}: {tuning.verdict}: {tuning.recommended}, {tuning.spent_s:.0f} s of {budget_s:.0f}")
    return tuning


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """One scenario held against the bars; shares are of the tunings."""

    settings: int
    grid_s: float
    tunings: int
    regrets: tuple[float, ...]
    time_shares: tuple[float, ...]
    contained: int
    with_gain: int
    as_good: int


def summarise(name: str) -> Summary | None:
    """What the files of a scenario say; `None` while there are no finals."""
    grid, tunings, finals = (
        read(path_of(name, "grid"), Run),
        read(path_of(name, "tunings"), Tuning),
        read(path_of(name, "finals"), Run),
    )
    if not finals or not tunings:
        return None
    final = medians(finals)
    best_s = min(final.values())
    grid_s = sum(run.took_s for run in grid)
    default = next(setting for setting in final if setting.is_default)
    gains = [
        (tuning, final[tuning.recommended] / final[default] - 1)
        for tuning in tunings
        if tuning.verdict is Verdict.BETTER and tuning.gain
    ]
    return Summary(
        settings=len({run.setting for run in grid}),
        grid_s=grid_s,
        tunings=len(tunings),
        regrets=tuple(sorted(final[tuning.recommended] / best_s - 1 for tuning in tunings)),
        time_shares=tuple(sorted(tuning.spent_s / grid_s for tuning in tunings)),
        contained=sum(contains(tuning.gain, gain) for tuning, gain in gains),
        with_gain=len(gains),
        as_good=sum(tuning.verdict is Verdict.AS_GOOD for tuning in tunings),
    )


def contains(change: Change | None, gain: float) -> bool:
    """Whether the interval of a verified gain holds the one found later."""
    return change is not None and (change.low or -math.inf) <= gain <= (
        change.high if change.high is not None else math.inf
    )


def print_summary() -> int:
    """Print every scenario against its bars; 1 when one is missed."""
    is_met = True
    for name, scenario in SCENARIOS.items():
        found = summarise(name)
        if found is None:
            print(f"{name}: not measured")
            continue
        near = sum(regret <= REGRET_BAR for regret in found.regrets)
        print(
            f"{name}: {found.settings} settings, grid {found.grid_s:.0f} s; {found.tunings} tunings at "
            f"{found.time_shares[0]:.1%} to {found.time_shares[-1]:.1%} of its time; regret median "
            f"{median(found.regrets):+.1%}, worst {found.regrets[-1]:+.1%}; within {REGRET_BAR:.0%}: {near} of "
            f"{found.tunings}; later gain inside the interval: {found.contained} of {found.with_gain}"
            + (f"; defaults as good: {found.as_good} of {found.tunings}" if scenario.is_flat else "")
        )
        is_met &= near >= SHARE_BAR * found.tunings and found.settings >= SETTINGS_MIN
        is_met &= found.contained >= SHARE_BAR * found.with_gain
        is_met &= not scenario.is_flat or found.as_good >= SHARE_BAR * found.tunings
    print("every bar met" if is_met else "a bar is missed")
    return 0 if is_met else 1


def tell(line: str) -> None:
    """Say how it goes."""
    print(line, file=sys.stderr, flush=True)


def main() -> int:
    """Run what is asked for; the exit code is 1 when a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenario", choices=SCENARIOS, action="append", help="only this; repeat for several")
    parser.add_argument("--seeds", type=int, default=10, help="tunings of each scenario (default 10)")
    parser.add_argument("--summary", action="store_true", help="print what the files say; run nothing")
    parser.add_argument(
        "--list", action="store_true", help="print the scenarios and how many settings their grids have"
    )
    given = parser.parse_args()
    if given.list:
        for name, scenario in SCENARIOS.items():
            print(f"{name}: {len(Stand(name, scenario).grid())} settings on {', '.join(scenario.clients)}")
        return 0
    if not given.summary:
        for name in given.scenario or SCENARIOS:
            run_scenario(name, given.seeds)
    return print_summary()


if __name__ == "__main__":
    sys.exit(main())
