#!/usr/bin/env python3
"""Whether a tuning finds what an exhaustive search finds, in a fifth of its time, and whether its gains are true.

For each scenario (a network model, a workload, clients) three things are run, and kept under benchmarks/data/ so that a
campaign can be interrupted and continued:

  grid       every combination of all knobs, three rounds, each in random order
  tunings    one for each seed, with a budget of a fifth of the grid's time, and 20 pairs of runs after it; some of the
             grid is run again before them, so that a faster machine than the grid's gives them no more than a fifth
  finals     the default, the best few of the grid and everything that was recommended, interleaved, 40 rounds

A tuning's regret is how much slower its recommendation is than the best of the finals, by the Hodges-Lehmann estimate
of their rounds' ratios, so that neither the luck of three runs in the grid nor the machine's mood counts. The gain
found later is estimated in the same way from the pairs that follow each tuning; and once more from the first 20 rounds
of the finals, minutes or half an hour later and the same ones for all, which is told but held against no bar.
`--summary` prints what all files say, held against the bars.

    benchmarks/tune_regret.py --list
    benchmarks/tune_regret.py --scenario t3.micro-up-64M --seeds 10
    benchmarks/tune_regret.py --summary
"""

import argparse
import math
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from os import environ
from pathlib import Path
from statistics import median

import kept
import msgspec

from s3bench.bench.endpoints import emulator
from s3bench.bench.local import open_bench
from s3bench.bench.runner import Settings
from s3bench.clients.client import FoundClient
from s3bench.clients.finding import find_client
from s3bench.clients.plan import parse_client_spec
from s3bench.clients.store import ClientStore
from s3bench.clients.tuning.parameter import Parameter
from s3bench.clients.tuning.workload import Action, Workload
from s3bench.results.measurement import Measurement
from s3bench.s3.network.model import parse_network
from s3bench.stats.signed_rank import hodges_lehmann
from s3bench.tune.conclusion import conclude
from s3bench.tune.live import run_study
from s3bench.tune.objective import Objective
from s3bench.tune.run_block import PlannedRun, RunBlock
from s3bench.tune.setting import Setting
from s3bench.tune.space import Space
from s3bench.tune.study import Header, Search, Stage, Study, Trial
from s3bench.tune.tuner import Planner, Tuner
from s3bench.tune.verification import Change, TuneVerdict

DATA = Path(__file__).parent / "data" / "tune_regret"
GRID_ROUNDS = 3
FINAL_ROUNDS = 40
"""With noise of 8 % a run, a ratio is then known to 1.8 %, one standard error."""

LATER_ROUNDS = 20
PACE_EVERY = 8
PACE_ROUNDS = 2
"""Every eighth setting of the grid, twice: with noise of 5 % a run, its time now is known to some 2 %, one sigma."""

GRID_FINALISTS = 4
BUDGET_SHARE = 0.2
OVERRUN = 1.05
"""A tuning ends with the run that oversteps its budget, so a twentieth more of it is no breach."""

REGRET_BAR = 0.03
SHARE_BAR = 0.9
SETTINGS_MIN = 60
SPARE_BYTES = 512 << 20
RUNNING = Settings(interval_s=None, probes=False, timeout_s=300.0)
MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What is tuned, and behind which link.

    `flat_budget_s` is given where the link alone decides, so that no setting helps and no grid is needed: the budget of
    tunings that have to say so.
    """

    network: str
    workload: Workload
    clients: tuple[str, ...]
    flat_budget_s: float | None = None


def workload(action: Action, size_bytes: int, files: int = 1) -> Workload:
    """A workload in one line."""
    return Workload(action=action, size_bytes=size_bytes, files=files)


SCENARIOS = {
    "t3.micro-up-64M": Scenario(
        network="ec2:t3.micro",
        workload=workload(Action.UPLOAD, 64 * MIB),
        clients=("cli-classic", "cli-crt", "s5cmd"),
    ),
    "far-down-128M": Scenario(
        network="ttfb=60ms,bandwidth=15MB/s,nic=250MB/s",
        workload=workload(Action.DOWNLOAD, 128 * MIB),
        clients=("cli-classic", "boto3-classic", "s5cmd"),
    ),
    "m4.large-small-files": Scenario(
        network="ec2:m4.large,ttfb=40ms",
        workload=workload(Action.UPLOAD, 64 << 10, files=200),
        clients=("cli-classic", "boto3-classic", "s5cmd", "cli-crt"),
    ),
    "c5n.18xlarge-down-256M": Scenario(
        network="ec2:c5n.18xlarge",
        workload=workload(Action.DOWNLOAD, 256 * MIB),
        clients=("boto3-classic", "s5cmd"),
    ),
    "far-up-64M": Scenario(
        network="ttfb=100ms,bandwidth=8MB/s,nic=200MB/s",
        workload=workload(Action.UPLOAD, 64 * MIB),
        clients=("cli-classic", "s5cmd", "cli-crt"),
    ),
    "c5.large-up-1G": Scenario(
        network="ec2:c5.large,ttfb=lognormal:30ms:80ms",
        workload=workload(Action.UPLOAD, 1024 * MIB),
        clients=("s5cmd",),
    ),
    "flat-up-64M": Scenario(
        network="ttfb=10ms,nic=40MB/s",
        workload=workload(Action.UPLOAD, 64 * MIB),
        clients=("cli-classic",),
        flat_budget_s=600.0,
    ),
}


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One run of the grid or of the finals, as it is kept; `total_time` is null where it failed."""

    round: int
    setting: Setting
    took_s: float
    total_time: float | None


class Tuning(msgspec.Struct, frozen=True, kw_only=True):
    """One tuning, as it is kept; `default_s` and `recommended_s` are medians, of its verification where it had one.

    `pace` is the grid's time on the machine as it was then, over the time that the grid took; 1 where that is unknown.
    `later` are the times of default and recommendation, in seconds, in pairs of runs that followed a verified gain.
    """

    seed: int
    budget_s: float
    spent_s: float
    runs: int
    verdict: TuneVerdict
    recommended: Setting
    gain: Change | None
    pace: float = 1.0
    default_s: float | None = None
    recommended_s: float | None = None
    later: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A planner of fixed rounds over given settings, for grid and finals; rounds up to `first` are there already."""

    header: Header
    settings: tuple[Setting, ...]
    first: int
    rounds: int

    def next_block(self, trials: Sequence[Trial]) -> RunBlock | None:
        """The next round."""
        number = self.first + len(trials) // len(self.settings)
        if number >= self.rounds:
            return None
        order = list(self.settings)
        random.Random(f"{self.header.seed} {number}").shuffle(order)
        return RunBlock(stage=Stage.SEARCH, number=number, runs=tuple(PlannedRun(setting=setting) for setting in order))

    def left_s(self, trials: Sequence[Trial]) -> float:
        """Rounds have all the time that they take."""
        del trials
        return math.inf


class Stand:
    """One scenario, with everything that its runs need."""

    def __init__(self, name: str, scenario: Scenario) -> None:
        self.name, self.scenario = name, scenario
        store = ClientStore.from_environment(environ)
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
        """Every combination of the main knobs that all versions obey; of all knobs where those are too few."""
        main = self._combinations(lambda knob: knob.is_main and not knob.is_doubtful)
        return main if len(main) >= SETTINGS_MIN else self._combinations(lambda _: True)

    def _combinations(self, wanted: Callable[[Parameter], bool]) -> tuple[Setting, ...]:
        return tuple(
            dict.fromkeys(
                self.space.setting(client, dict(zip((knob.name for knob in knobs), values, strict=True)))
                for client, own in self.space.parameters.items()
                for knobs in (tuple(knob for knob in own if wanted(knob)),)
                for values in product(*(knob.choices for knob in knobs))
            )
        )

    def trials(self, planner: Planner) -> Iterator[Trial]:
        """Run what `planner` plans."""
        endpoint = emulator(
            parse_network(self.scenario.network),
            memory_limit_bytes=self.scenario.workload.total_bytes + SPARE_BYTES,
            discard_uploads=True,
        )
        with open_bench(endpoint) as bench:
            study = Study(header=planner.header)
            for status in run_study(bench, self.clients, planner, study, RUNNING, now=time.monotonic):
                yield status.trial


def path_of(name: str, what: str) -> Path:
    """Where a part of a scenario is kept."""
    return DATA / f"{name}.{what}.jsonl"


def whole_rounds(path: Path, settings: Sequence[Setting]) -> list[Run]:
    """The runs of whole rounds over `settings`; a round that was cut off is forgotten."""
    runs = kept.read_as(Run, path)
    rounds = {run.round for run in runs}
    whole = {number for number in rounds if {run.setting for run in runs if run.round == number} >= set(settings)}
    left = [run for run in runs if run.round in whole]
    if len(left) < len(runs):
        path.write_bytes(b"".join(msgspec.json.encode(run) + b"\n" for run in left))
    return left


def run_rounds(stand: Stand, what: str, settings: tuple[Setting, ...], rounds: int) -> list[Run]:
    """Run the rounds that are missing."""
    path = path_of(stand.name, what)
    first = len({run.round for run in whole_rounds(path, settings)})
    planner = Listed(header=stand.header(seed=len(what), budget_s=0), settings=settings, first=first, rounds=rounds)
    for trial in stand.trials(planner):
        total_s = trial.measurement.total_time if isinstance(trial.measurement, Measurement) else None
        kept.append(path, Run(round=trial.block, setting=trial.setting, took_s=trial.took_s, total_time=total_s))
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
    path = path_of(name, "tunings")
    if stand.scenario.flat_budget_s is not None:
        run_tunings(stand, path, missing(path, seeds), stand.scenario.flat_budget_s)
        return
    grid = stand.grid()
    tell(f"{name}: {len(grid)} settings")
    runs = run_rounds(stand, "grid", grid, GRID_ROUNDS)
    if to_do := missing(path, seeds):
        pace = pace_now(stand, runs)
        run_tunings(stand, path, to_do, BUDGET_SHARE * pace * sum(run.took_s for run in runs), pace)
    best = medians(runs)
    ranked = sorted(best, key=lambda setting: best[setting])[:GRID_FINALISTS]
    recommended = [tuning.recommended for tuning in kept.read_as(Tuning, path)]
    default = Setting(client=next(iter(stand.clients)))
    run_rounds(stand, "finals", tuple(dict.fromkeys((default, *ranked, *recommended))), FINAL_ROUNDS)


def missing(path: Path, seeds: int) -> list[int]:
    """The seeds without a tuning."""
    done = {tuning.seed for tuning in kept.read_as(Tuning, path)}
    return [seed for seed in range(seeds) if seed not in done]


def pace_now(stand: Stand, grid: Sequence[Run]) -> float:
    """How long some of the grid's settings take now, over how long they took in the grid."""
    settings = tuple(dict.fromkeys(run.setting for run in sorted(grid, key=lambda run: str(run.setting))))[::PACE_EVERY]
    planner = Listed(header=stand.header(seed=0, budget_s=0), settings=settings, first=0, rounds=PACE_ROUNDS)
    now_s = sum(trial.took_s for trial in stand.trials(planner)) / PACE_ROUNDS
    then_s = sum(run.took_s for run in grid if run.setting in settings) / GRID_ROUNDS
    tell(
        f"{stand.name}: {len(settings)} settings of the grid take {now_s / then_s:.3f} of the time that they took there"
    )
    return now_s / then_s


def run_tunings(stand: Stand, path: Path, seeds: Sequence[int], budget_s: float, pace: float = 1.0) -> None:
    """Run these tunings."""
    for seed in seeds:
        kept.append(path, tune(stand, seed, budget_s, pace))


def tune(stand: Stand, seed: int, budget_s: float, pace: float) -> Tuning:
    """One tuning, from its first run to its answer."""
    header = stand.header(seed=seed, budget_s=budget_s)
    trials = tuple(stand.trials(Tuner(header=header, space=stand.space)))
    answer = conclude(Study(header=header, trials=trials))
    recommended = answer.recommended.setting
    tuning = Tuning(
        seed=seed,
        budget_s=budget_s,
        spent_s=answer.measured_s,
        runs=answer.runs,
        verdict=answer.verdict,
        recommended=recommended,
        gain=answer.gain,
        pace=pace,
        default_s=answer.default.time,
        recommended_s=answer.recommended.time,
        later=tuple(later_pairs(stand, header, answer.default.setting, recommended))
        if answer.verdict is TuneVerdict.BETTER
        else (),
    )
    tell(f"{stand.name} seed {seed}: {tuning.verdict}: {tuning.recommended}, {tuning.spent_s:.0f} s of {budget_s:.0f}")
    return tuning


def later_pairs(stand: Stand, header: Header, default: Setting, recommended: Setting) -> Iterator[tuple[float, float]]:
    """The times of the default and of what was recommended, in `LATER_ROUNDS` pairs of runs."""
    trials = stand.trials(Listed(header=header, settings=(default, recommended), first=0, rounds=LATER_ROUNDS))
    times: dict[int, dict[Setting, float]] = {}
    for trial in trials:
        if isinstance(trial.measurement, Measurement) and trial.measurement.total_time is not None:
            times.setdefault(trial.block, {})[trial.setting] = trial.measurement.total_time
    for pair in times.values():
        if len(pair) == len((default, recommended)):
            yield pair[default], pair[recommended]


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """One scenario held against the bars of one scenario: what it says, and whether it meets them.

    Of its `gains`, so many were `found_again`.
    """

    said: str
    is_met: bool
    gains: int = 0
    found_again: int = 0


def summarise(name: str) -> Summary | None:
    """What the files of a scenario say; `None` while they are not all there."""
    tunings = kept.read_as(Tuning, path_of(name, "tunings"))
    if not tunings:
        return None
    if SCENARIOS[name].flat_budget_s is not None:
        as_good = sum(tuning.verdict is TuneVerdict.AS_GOOD for tuning in tunings)
        return Summary(
            said=f"the defaults are as good: {as_good} of {len(tunings)}", is_met=as_good >= SHARE_BAR * len(tunings)
        )
    grid, finals = kept.read_as(Run, path_of(name, "grid")), kept.read_as(Run, path_of(name, "finals"))
    return held(tunings, grid, finals, SCENARIOS[name].clients[0]) if finals else None


def held(tunings: Sequence[Tuning], grid: Sequence[Run], finals: Sequence[Run], first: str) -> Summary:
    """Hold the tunings of a scenario against its grid and finals; the defaults are those of the client `first`."""
    grid_s, settings = sum(run.took_s for run in grid), len({run.setting for run in grid})
    final = medians(finals)
    best = min(final, key=lambda setting: final[setting])
    regrets = sorted(ratio(finals, tuning.recommended, best) - 1 for tuning in tunings)
    shares = sorted(tuning.spent_s / (grid_s * tuning.pace) for tuning in tunings)
    (default,) = (setting for setting in final if setting.is_default and setting.kind == first)
    gains = [tuning for tuning in tunings if tuning.verdict is TuneVerdict.BETTER]
    contained = sum(contains(tuning.gain, math.exp(log_ratio(tuning.later)) - 1) for tuning in gains if tuning.later)
    later = [run for run in finals if run.round < LATER_ROUNDS]
    in_finals = sum(contains(tuning.gain, ratio(later, tuning.recommended, default) - 1) for tuning in gains)
    near = sum(regret <= REGRET_BAR for regret in regrets)
    return Summary(
        said=(
            f"{settings} settings, grid {grid_s:.0f} s; {len(tunings)} tunings at {shares[0]:.1%} to {shares[-1]:.1%} "
            f"of its time; regret median {median(regrets):+.1%}, worst {regrets[-1]:+.1%}; within {REGRET_BAR:.0%}: "
            f"{near} of {len(tunings)}; later gain inside the interval: {contained} of {len(gains)} "
            f"(that of the finals: {in_finals})"
        ),
        is_met=near >= SHARE_BAR * len(tunings) and settings >= SETTINGS_MIN and shares[-1] <= BUDGET_SHARE * OVERRUN,
        gains=len(gains),
        found_again=contained,
    )


def ratio(finals: Sequence[Run], setting: Setting, other: Setting) -> float:
    """How many times the time of `other` a setting takes, by the rounds of the finals."""
    times = {(run.round, run.setting): run.total_time for run in finals if run.total_time is not None}
    both = [number for number, each in times if each == setting and (number, other) in times]
    pairs = [(times[number, other], times[number, setting]) for number in both]
    return math.exp(log_ratio(pairs))


def log_ratio(pairs: Sequence[tuple[float, float]]) -> float:
    """The Hodges-Lehmann estimate of the second times' log-ratios to the first."""
    return hodges_lehmann([math.log(second / first) for first, second in pairs])


def contains(change: Change | None, gain: float) -> bool:
    """Whether the interval of a verified gain holds the one found later."""
    if change is None:
        return False
    low, high = (-math.inf if change.low is None else change.low), (math.inf if change.high is None else change.high)
    return low <= gain <= high


def print_summary() -> int:
    """Print every scenario against its bars; 1 when one is missed."""
    every = {name: summarise(name) for name in SCENARIOS}
    for name, found in every.items():
        print(f"{name}: {'not measured' if found is None else found.said}")
    summaries = [found for found in every.values() if found is not None]
    gains, found_again = sum(each.gains for each in summaries), sum(each.found_again for each in summaries)
    print(f"later gain inside the interval: {found_again} of {gains} tunings")
    is_met = all(each.is_met for each in summaries) and found_again >= SHARE_BAR * gains
    print("every bar met, as far as measured" if is_met else "a bar is missed")
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
