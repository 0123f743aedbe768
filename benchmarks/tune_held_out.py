#!/usr/bin/env python3
"""Whether a tuning ever recommends a dominated setting: twelve links and workloads that nothing was developed on.

Links, workloads and clients are drawn by a seed. On each, one tuning with a budget of 90 s is run, and then three
rounds of ten settings of its space, the defaults among them, beside what it recommended, each round in random order. A
setting dominates the recommendation when its median time is lower by more than 3 % and its median peak memory by more
than 20 %. Whatever is done is kept, one file for each link in benchmarks/data/tune_held_out/, and not run again; a link
takes about three minutes, all of them some 40 on an otherwise idle machine.

    benchmarks/tune_held_out.py               what is missing, then the table
    benchmarks/tune_held_out.py --link 3      this link alone
    benchmarks/tune_held_out.py --list        the links, nothing is run
    benchmarks/tune_held_out.py --summary     the table; exit code 1 when a recommendation is dominated
"""

import argparse
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import msgspec
from tune_regret import Listed, Scenario, Stand, tell

from s3bench.clients.tuning.workload import Action, Workload
from s3bench.report.tune.cells import change_words
from s3bench.results.encoding import pretty_json
from s3bench.tune.conclusion import conclude
from s3bench.tune.setting import Setting
from s3bench.tune.study import Study
from s3bench.tune.tuner import Tuner
from s3bench.tune.verification import Change, TuneVerdict
from s3bench.units import render_bytes, render_seconds

DATA = Path(__file__).parent / "data" / "tune_held_out"
LINKS = 12
SEED = 20261124
BUDGET_S = 90.0
GRID = 10
ROUNDS = 3
TIME_BAR = 0.03
MEMORY_BAR = 0.2
MB = 10**6


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A setting beside the recommendation: the seconds and the peak bytes of each whole run."""

    setting: Setting
    times_s: tuple[float, ...]
    peaks_bytes: tuple[float, ...]


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """One link as it is kept: the answer of the tuning, and the rounds that followed it, the recommendation first."""

    network: str
    workload: Workload
    verdict: TuneVerdict
    gain: Change | None
    spent_s: float
    runs: int
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dominator:
    """A setting that beats a recommendation, and by which shares."""

    setting: Setting
    time: float
    memory: float


def scenario(number: int) -> Scenario:
    """The link, the workload and the clients with this number. Sizes are such that a run takes 1 to 3 s."""
    draw = random.Random(f"{SEED} {number}")
    latency_ms, connection = draw.choice((12, 25, 45, 70, 90)), draw.choice((6, 11, 18, 30, 55))
    nic = connection * draw.choice((5, 8, 14, 22))
    terms = [f"ttfb={latency_ms}ms", f"bandwidth={connection}MB/s", f"nic={nic}MB/s"]
    action = Action.UPLOAD if number % 2 else Action.DOWNLOAD
    is_many = number % 4 >= 2
    total = max(24, min(10 * connection, nic, 150)) * MB  # about a second over ten connections
    files = draw.choice((12, 30, 60)) if is_many else 1
    if is_many and draw.random() < 0.5:
        terms.append(f"{'writes' if action is Action.UPLOAD else 'reads'}={draw.choice((60, 120, 300))}")
    others = draw.choice((("s5cmd",), ("boto3-classic",), ("cli-crt",), ()))
    return Scenario(
        network=",".join(terms),
        workload=Workload(action=action, size_bytes=total // files, files=files),
        clients=("cli-classic", *others),
    )


def path_of(number: int) -> Path:
    """Where a link is kept."""
    return DATA / f"link-{number:02}.json"


def run(number: int) -> None:
    """Tune one link and run the grid beside the answer."""
    stand = Stand(f"link {number}", scenario(number))
    header = stand.header(seed=number, budget_s=BUDGET_S)
    answer = conclude(Study(header=header, trials=tuple(stand.trials(Tuner(header=header, space=stand.space)))))
    recommended = answer.recommended.setting
    tell(f"link {number}: {answer.verdict}: {recommended}, {answer.runs} runs in {answer.measured_s:.0f} s")
    settings = tuple(dict.fromkeys((recommended, *drawn(stand, number))))
    trials = tuple(stand.trials(Listed(header=header, settings=settings, first=0, rounds=ROUNDS)))
    rows = []
    for setting in settings:
        whole = [trial.measurement for trial in trials if trial.setting == setting and trial.measurement]
        times_s = tuple(each.total_time for each in whole)
        peaks = tuple(each.max_memory or each.peak_memory or 0.0 for each in whole)
        rows.append(Row(setting=setting, times_s=times_s, peaks_bytes=peaks))
    kept = Link(
        network=stand.scenario.network,
        workload=stand.scenario.workload,
        verdict=answer.verdict,
        gain=answer.gain,
        spent_s=answer.measured_s,
        runs=answer.runs,
        rows=tuple(rows),
    )
    DATA.mkdir(parents=True, exist_ok=True)
    path_of(number).write_bytes(pretty_json(kept, indent=1))


def drawn(stand: Stand, number: int) -> Iterator[Setting]:
    """Ten settings: the defaults of each client, and combinations of the main knobs, equally many of each client."""
    draw, grid = random.Random(f"{SEED} grid {number}"), stand.grid()
    defaults = [Setting(client=client) for client in stand.clients]
    yield from defaults
    for at in range(GRID - len(defaults)):
        client = list(stand.clients)[at % len(defaults)]
        grid = tuple(each for each in grid if not each.is_default)
        chosen = draw.choice([each for each in grid if each.client == client] or list(grid))
        grid = tuple(each for each in grid if each != chosen)
        yield chosen


def dominators(link: Link) -> tuple[Dominator, ...]:
    """The settings that beat the recommendation by more than both bars."""
    recommended, *others = (row for row in link.rows if row.times_s)
    time_s, peak = median(recommended.times_s), median(recommended.peaks_bytes)
    shares = (
        Dominator(
            setting=row.setting,
            time=1 - median(row.times_s) / time_s,
            memory=1 - median(row.peaks_bytes) / peak if peak else 0.0,
        )
        for row in others
    )
    return tuple(each for each in shares if each.time > TIME_BAR and each.memory > MEMORY_BAR)


def print_summary() -> int:
    """Print the table of all links; 1 when a recommendation is dominated."""
    print("| link | workload | recommended | real, memory | best of the grid | gain | dominated by |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    known = [(number, path_of(number)) for number in range(LINKS) if path_of(number).exists()]
    links = [msgspec.json.decode(path.read_bytes(), type=Link) for _, path in known]
    for link in links:
        cells = (f"`{link.network}`", _words(link.workload), *_cells(link))
        print(f"| {' | '.join(cells)} |")
    dominated = sum(bool(dominators(link)) for link in links)
    bars = f"{TIME_BAR:.0%} in time and {MEMORY_BAR:.0%} in memory at once"
    print(f"\ndominated by more than {bars}: {dominated} of {len(links)} links ({LINKS} to be measured)")
    return 1 if dominated else 0


def _cells(link: Link) -> Iterator[str]:
    recommended, *others = (row for row in link.rows if row.times_s)
    yield f"`{recommended.setting}`"
    yield _figures(recommended)
    best = min(others, key=lambda row: median(row.times_s))
    yield f"{_figures(best)}: `{best.setting}`"
    yield change_words(link.gain, "time") if link.verdict is TuneVerdict.BETTER else str(link.verdict)
    yield "; ".join(f"`{each.setting}` ({each.time:.0%}, {each.memory:.0%})" for each in dominators(link)) or "none"


def _figures(row: Row) -> str:
    return f"{render_seconds(median(row.times_s))}, {render_bytes(median(row.peaks_bytes))}"


def _words(workload: Workload) -> str:
    return f"{workload.action} {workload.files} x {render_bytes(workload.size_bytes)}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is missing, or print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--link", type=int, choices=range(LINKS), action="append", help="only this; repeat for several")
    parser.add_argument("--summary", action="store_true", help="print what the files say; run nothing")
    parser.add_argument("--list", action="store_true", help="print the links; run nothing")
    given = parser.parse_args(arguments)
    if given.list:
        for number in range(LINKS):
            one = scenario(number)
            print(f"{number}: {one.network}; {_words(one.workload)}; {', '.join(one.clients)}")
        return 0
    if not given.summary:
        for number in given.link if given.link is not None else range(LINKS):
            if not path_of(number).exists():
                run(number)
    return print_summary()


if __name__ == "__main__":
    sys.exit(main())
