#!/usr/bin/env python3
"""Whether change points can be believed: series whose changes are known, beside other methods on the same series.

Each series is drawn from its own seed and given to every method in turn: ours, Apache Otava (its default, and the
E-divisive with permutations that it came from), PELT of ruptures with a BIC penalty, and binary segmentation with a
permuted rank scan. Methods that are not installed are said to be missing. Besides drawn noise there are recorded
series: ratios of a program to itself from gate_truth's A/A campaign, and the raw times of an interpreter's start
(`--record`), which nobody changed; into some, a step of known size is planted. Counts are added to a file under
benchmarks/data/trend_truth/, so that a campaign can be continued. `--summary` prints them, held against the bars.

    benchmarks/trend_truth.py --series 200                    continue every condition up to 200 series
    benchmarks/trend_truth.py --series 200 --only step-50-50
    benchmarks/trend_truth.py --record 400                    record a new series of start-up times
    benchmarks/trend_truth.py --summary
"""

import argparse
import importlib
import importlib.util
import json
import math
import subprocess
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import kept
import numpy as np
from bars import met_or_missed
from numpy.random import Generator
from numpy.typing import NDArray

from s3bench.stats.proportion import wilson
from s3bench.stats.segmentation import noise_of
from s3bench.trend.change_point import ChangePoint, find_changes, release_value

DATA = Path(__file__).parent / "data" / "trend_truth"
RECORDED = DATA / "interpreter_start.json"
GATES = Path(__file__).parent / "data" / "gate_truth" / "aa.jsonl"
NOISE = 0.02  # of the logarithms: 2 %
NEAR = 1
FOUND_BAR = 0.90
FALSE_BAR = 1.0  # points in 500 releases
Series = NDArray[np.float64]
Noise = Callable[[Generator, int], Series]


def normal(random: Generator, count: int) -> Series:
    """Independent normal noise of one sigma."""
    return random.normal(size=count)


def heavy(random: Generator, count: int) -> Series:
    """Student's t with 3 degrees of freedom, scaled so that its middle is as wide as a normal one's."""
    return random.standard_t(3, size=count) / 1.134


def skewed(random: Generator, count: int) -> Series:
    """A lognormal tail to the slow side, as runs on a busy machine have; sigma one around its middle."""
    return np.expm1(0.6 * random.normal(size=count)) / 0.6


def outliers(random: Generator, count: int) -> Series:
    """Normal noise in which one release of 20 is 8 sigma too slow."""
    return random.normal(size=count) + 8.0 * (random.random(count) < 0.05)


def remembering(persistence: float, *, fresh: float = 0.0) -> Noise:
    """Autoregressive noise of one sigma, plus `fresh` sigma without memory."""

    def draw(random: Generator, count: int) -> Series:
        noise = random.normal(size=count)
        noise[1:] *= np.sqrt(1 - persistence**2)
        for position in range(1, count):
            noise[position] += persistence * noise[position - 1]
        return noise + fresh * random.normal(size=count)

    return draw


def walking(random: Generator, count: int) -> Series:
    """Normal noise on a random walk that moves by a tenth of sigma from release to release."""
    return random.normal(size=count) + 0.1 * np.cumsum(random.normal(size=count))


@cache
def recorded_ratios() -> tuple[Series, ...]:
    """Medians of ten log-ratios of a program to itself, gate after gate, per benchmark and metric."""
    found: dict[tuple[str, str], list[float]] = {}
    for line in kept.read(GATES):
        for cell in line["raw"]:
            for metric, ratios in cell["log_ratios"].items():
                if cell["role"] == "benchmark" and len(ratios) >= 10:
                    found.setdefault((cell["benchmark"], metric), []).append(float(np.median(ratios[:10])))
    return tuple(np.array(series) for _, series in sorted(found.items()))


@cache
def recorded_times() -> Series:
    """The logarithms of the median start-up times."""
    return np.log([release_value(runs) for runs in json.loads(RECORDED.read_text())])


def ratios(random: Generator, count: int) -> Series:
    """A stretch of a recorded series of ratios, in units of its own noise."""
    series = recorded_ratios()[random.integers(len(recorded_ratios()))]
    return _stretch(series, random, count)


def times(random: Generator, count: int) -> Series:
    """A stretch of the recorded start-up times, in units of its own noise."""
    return _stretch(recorded_times(), random, count)


def _stretch(series: Series, random: Generator, count: int) -> Series:
    start = int(random.integers(series.size - count + 1))
    return series[start : start + count] / noise_of(series)


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """So many releases with this noise, and the changes: their first releases and sizes in sigma, or a ramp."""

    count: int
    noise: Noise = normal
    steps: tuple[tuple[int, float], ...] = ()
    ramp: tuple[int, int, float] | None = None
    is_looked_at_each_time: bool = False  # after every release from the tenth on; each place counts once

    def draw(self, seed: int) -> Series:
        """One series of positive values."""
        random = np.random.default_rng(seed)
        series = self.noise(random, self.count)
        for position, size in self.steps:
            series[position:] += size
        if self.ramp:
            start, stop, size = self.ramp
            series += size * np.clip((np.arange(self.count) - start + 1) / (stop - start), 0, 1)
        values: Series = np.exp(NOISE * series)
        return values


CONDITIONS = {
    **{
        f"none-{noise.__name__}-{count}": Condition(count=count, noise=noise)
        for noise in (normal, heavy, skewed, outliers)
        for count in (10, 20, 50, 100, 500)
    },
    **{
        f"step-{before}-{after}": Condition(count=before + after, steps=((before, 3.0),))
        for before, after in ((10, 5), (20, 3), (50, 2), (50, 3), (50, 5), (50, 10), (20, 20), (50, 50), (250, 250))
    },
    **{
        f"step-50-50-{noise.__name__}": Condition(count=100, noise=noise, steps=((50, 3.0),))
        for noise in (heavy, skewed, outliers)
    },
    "each-time-100": Condition(count=100, is_looked_at_each_time=True),
    "small-step-50-50": Condition(count=100, steps=((50, 1.5),)),
    "two-steps-40-6-40": Condition(count=86, steps=((40, 3.0), (46, 3.0))),
    "step-and-back-40-6-40": Condition(count=86, steps=((40, 3.0), (46, -3.0))),
    "ramp-40-20-40": Condition(count=100, ramp=(40, 60, 3.0)),
    "drift-ar.5-100": Condition(count=100, noise=remembering(0.5)),
    "drift-ar.8-100": Condition(count=100, noise=remembering(0.8)),
    "drift-slow-100": Condition(count=100, noise=remembering(0.95, fresh=1.0)),
    "drift-walk-100": Condition(count=100, noise=walking),
    "none-ratios-100": Condition(count=100, noise=ratios),
    "step-50-50-ratios": Condition(count=100, noise=ratios, steps=((50, 3.0),)),
    "none-times-100": Condition(count=100, noise=times),
    "step-50-50-times": Condition(count=100, noise=times, steps=((50, 3.0),)),
}


def by_otava(values: Series) -> Sequence[int]:
    """Apache Otava as it comes: windows of 50, t-test below 0.001."""
    analysis: Any = importlib.import_module("otava.analysis")

    return [int(point.index) for point in analysis.compute_change_points(values.tolist())[0]]


def by_e_divisive(values: Series) -> Sequence[int]:
    """The E-divisive of Matteson & James (2014) in Otava's build: 100 permutations, at our level."""
    analysis: Any = importlib.import_module("otava.analysis")

    found = analysis.compute_change_points_orig(values.tolist(), max_pvalue=0.01, seed=1)[0]
    return [int(point.index) for point in found]


def by_pelt(values: Series) -> Sequence[int]:
    """PELT (Killick et al., 2012) in ruptures' build, squared loss, penalty 3 log n per change."""
    ruptures: Any = importlib.import_module("ruptures")
    series = np.log(values)
    noise = noise_of(series)
    if noise == 0:
        return []
    search = ruptures.Pelt(model="l2", min_size=2, jump=1).fit(series / noise)
    return [int(place) for place in search.predict(pen=3 * np.log(series.size))[:-1]]


def by_rank_scan(values: Series) -> Sequence[int]:
    """Binary segmentation: the largest standardised rank sum over all places, 499 permutations, at our level."""
    random = np.random.default_rng(1)
    found, open_stretches = [], [(0, values.size)]
    while open_stretches:
        start, stop = open_stretches.pop()
        count = stop - start
        if count < 6:
            continue
        ranks = np.argsort(np.argsort(values[start:stop])) - (count - 1) / 2
        sizes = np.arange(2, count - 1)
        rows = np.vstack([ranks, random.permuted(np.tile(ranks, (499, 1)), axis=1)])
        sums = np.abs(np.cumsum(rows, axis=1)[:, sizes - 1]) / np.sqrt(sizes * (count - sizes))
        if np.count_nonzero(sums.max(axis=1) >= sums[0].max() - 1e-9) / 500 <= 0.01:
            place = start + int(sizes[sums[0].argmax()])
            found.append(place)
            open_stretches += [(start, place), (place, stop)]
    return sorted(found)


def by_s3bench(values: Series) -> tuple[ChangePoint, ...]:
    """Ours, as it comes."""
    return find_changes(values.tolist()).points


Method = Callable[[Series], Sequence[int | ChangePoint]]
METHODS: dict[str, Method] = {
    "s3bench": by_s3bench,
    "otava": by_otava,
    "e-divisive": by_e_divisive,
    "pelt": by_pelt,
    "rank scan": by_rank_scan,
}
SLOW = ("e-divisive", "pelt")  # seconds for 500 releases
SLOW_SERIES_MAX = 20
LOOKS_SERIES_MAX = 25
SLOW_RELEASES_MAX = 100
NEEDS = {"otava": "otava", "e-divisive": "otava", "pelt": "ruptures"}


def judged(places: list[int], truth: list[int]) -> Counter[str]:
    """How many of the true changes have a point within one release, and how many points are beyond that."""
    left, found = list(places), 0
    for change in truth:
        near = [place for place in left if abs(place - change) <= NEAR]
        if near:
            left.remove(min(near, key=lambda place: abs(place - change)))
            found += 1
    return Counter(changes=len(truth), found=found, false=len(left), with_false=bool(left), series=1)


def once(method: Method, values: Series) -> tuple[list[int], list[ChangePoint]]:
    """The places that a method finds, and what ours says of them."""
    found = method(values)
    points = [point for point in found if isinstance(point, ChangePoint)]
    return [point.index if isinstance(point, ChangePoint) else point for point in found], points


def looked_at_each_time(method: Method, values: Series) -> tuple[list[int], list[ChangePoint]]:
    """The places that it ever finds as the series grows; those within three releases of another count once."""
    ever: list[int] = []
    for count in range(10, values.size + 1):
        for place in once(method, values[:count])[0]:
            if all(abs(place - other) > 3 for other in ever):
                ever.append(place)
    return ever, []


def held(point: ChangePoint, ratio: float) -> bool:
    """Whether the interval of the size holds the true one."""
    return (point.ratio_low or 0) <= ratio <= (point.ratio_high or math.inf)


def judge_series(condition: Condition, number: int, seed: int) -> dict[str, Counter[str]]:
    """Every method that is installed on one series, the order turning; the slow ones on the first ones alone."""
    values, truth = condition.draw(seed), [position for position, _ in condition.steps]
    names = [name for name in METHODS if name not in missing()]
    if number >= SLOW_SERIES_MAX or condition.count > SLOW_RELEASES_MAX or condition.is_looked_at_each_time:
        names = [name for name in names if name not in SLOW]
    results: dict[str, Counter[str]] = {}
    for name in names[seed % len(names) :] + names[: seed % len(names)]:
        started_s = time.perf_counter()
        look = looked_at_each_time if condition.is_looked_at_each_time else once
        places, points = look(METHODS[name], values)
        spent_us = round(1e6 * (time.perf_counter() - started_s))
        results[name] = judged(places, truth) + Counter(us=spent_us)
        sizes = dict(condition.steps)
        matched = [(change, point) for change in truth for point in points if abs(point.index - change) <= 5]
        results[name] += Counter(
            matched=len(matched),
            placed=sum(point.first <= change <= point.last for change, point in matched),
            width=sum(point.last - point.first + 1 for _, point in matched),
            sized=sum(held(point, math.exp(NOISE * sizes[change])) for change, point in matched),
        )
    return results


@cache
def missing() -> dict[str, str]:
    """The methods whose library is not installed."""
    return {name: needed for name, needed in NEEDS.items() if importlib.util.find_spec(needed) is None}


def run_campaign(only: str, series: int) -> None:
    """Add series to each condition until it has `series` of them for every method that is installed."""
    for name, needed in missing().items():
        print(f"{name}: missing, {needed} is not installed", file=sys.stderr)
    judge_series(CONDITIONS["step-20-20"], 0, 0)  # imports are not timed
    file = DATA / "counts.json"
    counts = json.loads(file.read_text()) if file.exists() else {}
    for name, condition in CONDITIONS.items():
        if only not in name:
            continue
        tallies = {method: Counter(tally) for method, tally in counts.get(name, {}).items()}
        done = tallies.get("s3bench", Counter())["series"]
        for number in range(done, min(series, LOOKS_SERIES_MAX) if condition.is_looked_at_each_time else series):
            for method, tally in judge_series(condition, number, zlib.crc32(name.encode()) + number).items():
                tallies[method] = tallies.get(method, Counter()) + tally
        counts[name] = {method: dict(tally) for method, tally in tallies.items()}
        file.write_text(json.dumps(counts, indent=1, sort_keys=True) + "\n")
        print_condition(name, counts[name])


def print_condition(name: str, tallies: dict[str, dict[str, int]]) -> None:
    """One line per method."""
    for method, tally in tallies.items():
        told = Counter(tally)
        releases = told["series"] * CONDITIONS[name].count
        line = f"{name:26} {method:11} {told['series']:5} series"
        if told["changes"]:
            low, high = wilson(told["found"], told["changes"], confidence=0.95)
            line += f"  found {told['found'] / told['changes']:6.1%} ({low:.1%} to {high:.1%})"
        line += f"  false in 500 {500 * told['false'] / releases:6.2f}"
        line += f"  series with false {told['with_false'] / told['series']:6.1%}"
        if told["matched"]:
            line += f"  place held {told['placed'] / told['matched']:.1%} in {told['width'] / told['matched']:.1f}"
            line += f"  size held {told['sized'] / told['matched']:.1%}"
        print(f"{line}  {told['us'] / told['series'] / 1000:.1f} ms", flush=True)


def print_summary() -> None:
    """All conditions, then the bars: the worst of noise without memory and of recorded ratios, and the raw times."""
    counts = json.loads((DATA / "counts.json").read_text())
    for name, tallies in counts.items():
        print_condition(name, tallies)
    for method in sorted({method for tallies in counts.values() for method in tallies}):
        step = Counter(counts.get("step-50-50", {}).get(method, {}))
        share = step["found"] / max(1, step["changes"])
        print(f"{method}: three sigma found {share:.1%} (bar {FOUND_BAR:.0%}: {met_or_missed(share >= FOUND_BAR)})")
        quiet = {name: _false_in_500(name, counts[name][method]) for name in counts if method in counts[name]}
        steady = {name: rate for name, rate in quiet.items() if name.startswith("none-") and "times" not in name}
        worst = max(steady, key=lambda name: steady[name])
        for name in (worst, "none-times-100"):
            rate = quiet.get(name, math.nan)
            print(f"{method}: false in 500: {rate:.2f}, {name} (bar {FALSE_BAR:g}: {met_or_missed(rate <= FALSE_BAR)})")


def _false_in_500(name: str, tally: dict[str, int]) -> float:
    return 500 * tally.get("false", 0) / tally["series"] / CONDITIONS[name].count


def record(points: int) -> None:
    """Record start-up times of this interpreter, five a point, which nobody changes meanwhile."""
    recorded = []
    for _ in range(points):
        runs = []
        for _ in range(5):
            started_s = time.perf_counter()
            subprocess.run([sys.executable, "-S", "-c", "import json, hashlib"], check=True)
            runs.append(round(time.perf_counter() - started_s, 6))
        recorded.append(runs)
        time.sleep(0.2)
    DATA.mkdir(parents=True, exist_ok=True)
    RECORDED.write_text("[\n" + ",\n".join(json.dumps(runs) for runs in recorded) + "\n]\n")


def main() -> None:
    """Parse, and do one of the three."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--series", type=int, default=200)
    parser.add_argument("--only", default="", help="conditions whose name contains this")
    parser.add_argument("--record", type=int, metavar="POINTS")
    parser.add_argument("--summary", action="store_true")
    arguments = parser.parse_args()
    if arguments.record:
        record(arguments.record)
    elif arguments.summary:
        print_summary()
    else:
        run_campaign(arguments.only, arguments.series)


if __name__ == "__main__":
    main()
