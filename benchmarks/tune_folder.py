#!/usr/bin/env python3
"""Whether the setting that a tuning recommends for a folder is within 3 % of the best of twelve on the folder itself.

Three folders: one large file, 5,000 small files, and log-normal sizes. For each, behind a network preset:

  tuning   `s3bench tune upload FOLDER`, by real clients, with the tuner's defaults for samples
  finals   the recommended setting and a grid of twelve (concurrency x part size, the defaults among them; of small
           files, to which parts do not matter, twelve values of the concurrency), on files with all sizes of the folder
           and not on its sample, interleaved, several rounds

A recommendation's regret is how much slower it is than the best of the twelve: the Hodges-Lehmann estimate of the
rounds' ratios. The best is chosen by the rounds with even numbers, the ratio taken from those with odd numbers, and the
other way round, so that the luck of the best of twelve does not count; the mean of both is the regret. Everything is
kept under benchmarks/data/tune_folder/CLIENT after each run, so that a campaign can be interrupted and continued. With
boto3, whose times for many small files vary by 10 % from run to run, a few rounds decide nothing; s5cmd's runs of them
take a second.

    benchmarks/tune_folder.py                      all folders by boto3: 45 minutes at the most
    benchmarks/tune_folder.py --client s5cmd       by s5cmd
    benchmarks/tune_folder.py --folder lognormal   one of them: 15 minutes
    benchmarks/tune_folder.py --summary            what the files say; exit code 1 where a bar is missed
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import exp, log
from os import environ, getloadavg
from pathlib import Path
from statistics import median

import kept
import msgspec

from s3bench.bench.endpoints import emulator
from s3bench.bench.local import open_bench
from s3bench.bench.runner import Settings
from s3bench.clients.finding import find_client
from s3bench.clients.plan import parse_client_spec
from s3bench.clients.store import ClientStore
from s3bench.clients.tuning.workload import Action, Workload
from s3bench.results.measurement import Measurement
from s3bench.run.description import describe_directory
from s3bench.s3.network.model import parse_network
from s3bench.spec.file_sizes import FileSizes
from s3bench.stats.signed_rank import hodges_lehmann
from s3bench.tune.setting import Setting, config_of
from s3bench.tune.workload import definition_of

DATA = Path(__file__).parent / "data" / "tune_folder"
NETWORK = "ec2:m4.large"
MIB = 1 << 20
BUDGET_S = 240
FINALS_S = 600
ROUNDS_MAX = 20
ROUNDS_MIN = 2
REGRET_BAR = 0.03
SPARE_BYTES = 512 * MIB
RUNNING = Settings(interval_s=None, probes=False, timeout_s=300.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Parameters of a client and their values: `parts` and `at_once` for large files, `files_at_once` for small ones.

    `defaults` are those of the client; a value that is the default is left out of a setting, as in a recommendation.
    """

    part_name: str
    parts: tuple[int, ...]
    at_once_name: str
    at_once: tuple[int, ...]
    files_at_once_name: str
    files_at_once: tuple[int, ...]
    defaults: dict[str, int]

    def settings(self, client: str, largest_bytes: int) -> tuple[Setting, ...]:
        """Twelve settings for files of which the largest has so many bytes."""
        each = [{self.at_once_name: at_once, self.part_name: part} for at_once in self.at_once for part in self.parts]
        if largest_bytes < min(self.parts):
            each = [{self.files_at_once_name: at_once} for at_once in self.files_at_once]
        assert len(each) == GRID_SETTINGS
        return tuple(
            Setting.of(client, {name: value for name, value in values.items() if value != self.defaults[name]})
            for values in each
        )


GRID_SETTINGS = 12
GRIDS = {
    "boto3-classic": Grid(
        part_name="multipart_chunksize",
        parts=(5 * MIB, 8 * MIB, 16 * MIB),
        at_once_name="max_concurrent_requests",
        at_once=(5, 10, 20, 40),
        files_at_once_name="max_concurrent_requests",
        files_at_once=(5, 8, 10, 12, 16, 20, 24, 32, 40, 60, 80, 160),
        defaults={"max_concurrent_requests": 10, "multipart_chunksize": 8 * MIB},
    ),
    "s5cmd": Grid(
        part_name="part_size",
        parts=(5 * MIB, 16 * MIB, 50 * MIB),
        at_once_name="concurrency",
        at_once=(2, 5, 10, 20),
        files_at_once_name="numworkers",
        files_at_once=(8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512),
        defaults={"numworkers": 256, "concurrency": 5, "part_size": 50 * MIB},
    ),
}


def lognormal(files: int, median_bytes: int, sigma: float) -> Counter[int]:
    """Sizes of a log-normal distribution, the same ones each time."""
    source = random.Random(31)
    return Counter(int(exp(source.gauss(log(median_bytes), sigma))) for _ in range(files))


FOLDERS = {
    "large": Counter({256 * MIB: 1}),
    "small": lognormal(5000, 2048, 0.7),
    "lognormal": lognormal(300, 64 << 10, 2.2),
}


class Tuned(msgspec.Struct, frozen=True, kw_only=True):
    """What a tuning of a folder recommended."""

    verdict: str
    recommended: Setting
    measured_s: float
    load: float


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One run of the finals; `total_s` is null if it failed."""

    round: int
    setting: Setting
    total_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Regret:
    """How much slower the recommendation is than the best of the grid, over how many rounds."""

    share: float
    best: Setting
    rounds: int


def make_folder(root: Path, sizes: Counter[int]) -> None:
    """Write the files of a folder, in directories of 1,000."""
    for number, size_bytes in enumerate(sizes.elements()):
        directory = root / f"{number // 1000:03d}"
        directory.mkdir(exist_ok=True)
        with (directory / f"{number:06d}").open("wb") as file:
            file.truncate(size_bytes)  # its contents are never read


def tune(client: str, name: str) -> Tuned:
    """Tune for the folder, or return what an earlier tuning recommended."""
    path = DATA / client / f"{name}.tuned.json"
    if path.exists():
        return msgspec.json.decode(path.read_bytes(), type=Tuned)
    with tempfile.TemporaryDirectory() as folder:
        make_folder(Path(folder), FOLDERS[name])
        command = (sys.executable, "-m", "s3bench", "tune", "upload", folder, "--network", NETWORK, "--clients", client)
        options = ("--budget", f"{BUDGET_S}s", "--seed", "1", "--json", "-q")
        finished = subprocess.run((*command, *options), stdout=subprocess.PIPE, check=False, timeout=2 * BUDGET_S)
    answer = msgspec.json.decode(finished.stdout)
    tuned = Tuned(
        verdict=answer["verdict"],
        recommended=msgspec.convert(answer["recommended"]["setting"], Setting),
        measured_s=answer["measured_s"],
        load=getloadavg()[0],
    )
    path.write_bytes(msgspec.json.encode(tuned))
    return tuned


def whole(name: str) -> FileSizes:
    """All sizes of the folder, as the tuner sees them before it samples."""
    with tempfile.TemporaryDirectory() as folder:
        make_folder(Path(folder), FOLDERS[name])
        return describe_directory(Path(folder)).sizes


def run_finals(client: str, name: str, recommended: Setting) -> None:
    """Run the rounds that are missing, until `ROUNDS_MAX` or the time is over."""
    path = DATA / client / f"{name}.finals.jsonl"
    sizes = whole(name)
    grid = GRIDS[client].settings(recommended.client, sizes.largest_bytes)
    settings = tuple(dict.fromkeys((recommended, *grid)))
    runs = whole_rounds(kept.read_as(Run, path), settings)
    path.write_bytes(b"".join(msgspec.json.encode(run) + b"\n" for run in runs))
    first, ends_s = len(runs) // len(settings), time.monotonic() + FINALS_S
    for run in made(client, Workload.like(Action.UPLOAD, sizes), settings, first):
        kept.append(path, run)
        if run.setting == settings[-1] and time.monotonic() > ends_s and run.round + 1 >= ROUNDS_MIN:
            break


def made(name: str, workload: Workload, settings: Sequence[Setting], first: int) -> Iterator[Run]:
    """Run round after round, in random order but for the last of `settings`, which ends each."""
    client = find_client(parse_client_spec(name), ClientStore.from_environment(environ))
    endpoint = emulator(
        parse_network(NETWORK), memory_limit_bytes=workload.total_bytes + SPARE_BYTES, discard_uploads=True
    )
    definitions = {setting: definition_of(workload, config=config_of(setting)) for setting in settings}
    with open_bench(endpoint) as bench, bench.workspace(definitions[settings[0]].environment) as runner:
        for number in range(first, ROUNDS_MAX):
            order = [*random.Random(number).sample(settings[:-1], len(settings) - 1), settings[-1]]
            for setting in order:
                shown = runner(definitions[setting], client).run_once(number, RUNNING, "")
                total_s = shown.total_time if isinstance(shown, Measurement) else None
                print(f"round {number + 1}: {setting} {total_s}", file=sys.stderr)
                yield Run(round=number, setting=setting, total_s=total_s)


def whole_rounds(runs: Sequence[Run], settings: Sequence[Setting]) -> list[Run]:
    """The runs of whole rounds over `settings`, in order."""
    by_round: dict[int, list[Run]] = {}
    for run in runs:
        by_round.setdefault(run.round, []).append(run)
    rounds = [own for _, own in sorted(by_round.items()) if {run.setting for run in own} == set(settings)]
    return [msgspec.structs.replace(run, round=number) for number, own in enumerate(rounds) for run in own]


def regret(runs: Sequence[Run], recommended: Setting, grid_settings: Sequence[Setting]) -> Regret:
    """The mean over both halves of the rounds of the ratio to the setting that was best in the other half."""
    times = {(run.round, run.setting): run.total_s for run in runs}
    rounds = sorted({run.round for run in runs})
    logs = []
    best = recommended
    for half in (0, 1):
        choosing = [number for number in rounds if number % 2 == half]
        judging = [number for number in rounds if number % 2 != half]
        works = [each for each in grid_settings if all(times[number, each] is not None for number in rounds)]
        best = min(works, key=lambda each: median(times[number, each] or 0 for number in choosing))
        ratios = [log((times[number, recommended] or 0) / (times[number, best] or 0)) for number in judging]
        logs.append(hodges_lehmann(ratios))
    return Regret(share=exp(sum(logs) / 2) - 1, best=best, rounds=len(rounds))


def summary(client: str, names: Sequence[str]) -> bool:
    """Print what the files say; whether every folder is within the bar."""
    within = True
    for name in names:
        if not (DATA / client / f"{name}.finals.jsonl").exists():
            print(f"{name}: not measured")
            within = False
            continue
        tuned = tune(client, name)
        settings = GRIDS[client].settings(tuned.recommended.client, max(FOLDERS[name]))
        everything = tuple(dict.fromkeys((tuned.recommended, *settings)))
        runs = whole_rounds(kept.read_as(Run, DATA / client / f"{name}.finals.jsonl"), everything)
        if len({run.round for run in runs}) < ROUNDS_MIN:
            print(f"{name}: fewer than {ROUNDS_MIN} whole rounds")
            within = False
            continue
        found = regret(runs, tuned.recommended, settings)
        is_within = found.share <= REGRET_BAR
        within = within and is_within
        print(
            f"{name}: {tuned.verdict}; recommended {tuned.recommended}, best of the grid {found.best}: "
            f"{found.share:+.1%} over {found.rounds} rounds ({'within' if is_within else 'beyond'} {REGRET_BAR:.0%}); "
            f"load {tuned.load:.1f} after the tuning"
        )
        print("".join(f"    {line}\n" for line in _medians(runs)), end="")
    return within


def _medians(runs: Sequence[Run]) -> Iterator[str]:
    times: dict[Setting, list[float]] = {}
    for run in runs:
        times.setdefault(run.setting, []).append(run.total_s or float("nan"))
    for setting in sorted(times, key=lambda each: median(times[each])):
        yield f"{median(times[setting]):7.2f} s  {setting}"


def main() -> int:
    """Run what is missing, and say what came of it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--folder", choices=sorted(FOLDERS), action="append", help="one folder; repeat for several")
    parser.add_argument("--summary", action="store_true", help="run nothing")
    parser.add_argument("--client", choices=GRIDS, default="boto3-classic", help="the client that is tuned")
    options = parser.parse_args()
    names = options.folder or list(FOLDERS)
    (DATA / options.client).mkdir(parents=True, exist_ok=True)
    if not options.summary:
        for name in names:
            run_finals(options.client, name, tune(options.client, name).recommended)
    return 0 if summary(options.client, names) else 1


if __name__ == "__main__":
    sys.exit(main())
