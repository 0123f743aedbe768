#!/usr/bin/env python3
"""Whether `s3bench bisect` finds what was planted: a regression among 32 pretended versions of a real client.

All versions are one program; those from a random one on carry a fault of known size (a fault injection inside the
client's process, as in `s3bench gate --self-test`), the others an injection that plants nothing. The search is the real
one, on live pairs. Every run is appended to a file under benchmarks/data/bisect_truth/ with its answers, so that a
campaign can be interrupted and continued. `--summary` prints what the file says, with Wilson intervals, held against
the bar: at least 19 of 20 found, and as many wrong as the stated error allows.

    benchmarks/bisect_truth.py                           20 runs of time +15 % on crt-python
    benchmarks/bisect_truth.py --condition memory+5% --runs 20
    benchmarks/bisect_truth.py --condition none --runs 5
    benchmarks/bisect_truth.py --summary
"""

import argparse
import os
import random
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import kept
from bars import met_or_missed

from s3bench.bench.local import open_bench
from s3bench.bench.runner import Conditions, Settings
from s3bench.bisect.live import measurer, run_bisection
from s3bench.bisect.search import Bisection, ComparisonResult, Ending, SearchResult
from s3bench.cli.bisect.options import PAIRS
from s3bench.cli.definitions import runnable
from s3bench.clients.client import FoundClient
from s3bench.clients.finding import find_client
from s3bench.clients.plan import parse_client_spec
from s3bench.clients.registry import known_client
from s3bench.clients.store import ClientStore
from s3bench.gate.looks import parse_looks
from s3bench.gate.policy import Policy
from s3bench.gate.self_test import calibrate, stub_with_injection
from s3bench.run.inspection import FaultInjection, inspection_variables
from s3bench.spec.definition import Definition
from s3bench.stats.proportion import wilson

DATA = Path(__file__).parent / "data" / "bisect_truth"
SELECT = "upload and cp and 4KB and not 100 and not 5,000"
SETTINGS = Settings(interval_s=None)
VERSIONS = 32
ERROR = 0.05
BAR = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """The planted share of time or memory, and the metric that is searched."""

    metric: str
    time: float = 0.0
    memory: float = 0.0


CONDITIONS = {
    "none": Condition(metric="total_time"),
    "time+10%": Condition(metric="total_time", time=0.10),
    "time+15%": Condition(metric="total_time", time=0.15),
    "memory+5%": Condition(metric="peak_memory", memory=0.05),
}


def run_campaign(name: str, client: str, runs: int) -> None:
    """Append runs to the condition's file until it has `runs`."""
    file = DATA / f"{name}.jsonl"
    spec = parse_client_spec(client)
    found = find_client(spec, ClientStore.from_environment(os.environ))
    definition = runnable(spec, (), select=SELECT, suite="full")[0]
    for number in range(len(kept.read(file)), runs):
        outcome = one_run(CONDITIONS[name], found, definition)
        kept.append(file, {"condition": name, "client": found.label, **outcome})
        words = f"planted at {outcome['planted']}, {outcome['ending']} {outcome['last']} to {outcome['first']}"
        print(f"{number + 1}/{runs} {name}: {words}; {outcome['seconds']} s", flush=True)


def one_run(condition: Condition, found: FoundClient, definition: Definition) -> dict[str, Any]:
    """Plant, search, and tell what was found; a bench of its own, as a search of a user has."""
    seed = random.SystemRandom().randrange(2**32)
    first = random.Random(seed).randrange(1, VERSIONS)
    started_s = time.monotonic()
    with open_bench(stub_with_injection(known_client(found.kind).engine)) as bench:
        usual = calibrate(bench, definition, found, SETTINGS)
        injection = FaultInjection(
            turns=round(condition.time * usual.turns), hold_bytes=round(condition.memory * (usual.peak_bytes or 0))
        )
        idle, faulty = (Conditions(env=inspection_variables(injection=each)) for each in (FaultInjection(), injection))
        measure = measurer(
            bench,
            (definition,),
            lambda _place: found,
            SETTINGS,
            now=time.monotonic,
            conditions=lambda place: faulty if place >= first else idle,
        )
        bisection = Bisection(
            versions=tuple(str(place) for place in range(VERSIONS)),
            policy=Policy(metrics=(condition.metric,), looks=parse_looks(PAIRS)),
            error=ERROR,
        )
        steps = run_bisection(bisection, (), measure, seed=seed, now=time.monotonic)
        answers = [step.answer for step in steps if step.answer is not None]
        ended = bisection.next(answers)
    assert isinstance(ended, SearchResult)
    return {
        "seed": seed,
        "planted": first,
        "ending": ended.ending,
        "last": ended.last,
        "first": ended.first,
        "reasons": ended.reasons,
        "notes": ended.notes,
        "answers": [in_short(answer) for answer in answers],
        "seconds": round(time.monotonic() - started_s, 1),
        "load": round(os.getloadavg()[0], 2),
    }


def in_short(answer: ComparisonResult) -> dict[str, Any]:
    """One comparison: what was asked, what was said, of how many pairs, and how noisy they were."""
    row = answer.row
    return {
        "purpose": answer.comparison.purpose,
        "older": answer.comparison.older,
        "newer": answer.comparison.newer,
        "outcome": answer.outcome,
        "reasons": answer.reasons,
        "pairs": None if row is None else row.pairs,
        "change": None if row is None or row.change is None else round(row.change, 4),
        "sigma": None if row is None or row.sigma is None else round(row.sigma, 4),
        "took_s": answer.took_s,
    }


def is_right(told: dict[str, Any], condition: Condition) -> bool:
    """Whether a run said what is true, to the version."""
    if not condition.time and not condition.memory:
        return bool(told["ending"] == Ending.NO_CHANGE)
    return bool(told["ending"] == Ending.FOUND and told["first"] == told["planted"])


def is_wrong(told: dict[str, Any], condition: Condition) -> bool:
    """Whether a run said what is not true; not to know is not wrong."""
    if told["first"] is None:
        return bool(told["ending"] == Ending.NO_CHANGE and (condition.time or condition.memory))
    is_among = told["last"] < told["planted"] <= told["first"]
    return not is_among or not (condition.time or condition.memory)


def summarize() -> int:
    """Print what each condition says against the bar; 1 when it is missed."""
    missed = 0
    for name, condition in CONDITIONS.items():
        told = kept.read(DATA / f"{name}.jsonl")
        if not told:
            continue
        right = sum(is_right(each, condition) for each in told)
        wrong = sum(is_wrong(each, condition) for each in told)
        is_met = right >= BAR * len(told) and wrong <= max(1, ERROR * len(told))
        missed += not is_met
        low, high = wilson(right, len(told))
        sigmas = [answer["sigma"] for each in told for answer in each["answers"] if answer["sigma"] is not None]
        counts = sum(len(each["answers"]) for each in told) / len(told)
        print(
            f"{name:10} {told[0]['client']}: right {right} of {len(told)} ({low:.0%} to {high:.0%}), wrong {wrong}; "
            f"{counts:.1f} comparisons, {median(each['seconds'] for each in told):.0f} s, sigma "
            f"{median(sigmas) if sigmas else 0:.1%}: {met_or_missed(is_met)}"
        )
    return int(missed > 0)


def main() -> int:
    """Run a campaign, or tell what they showed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--condition", choices=tuple(CONDITIONS), default="time+15%", help="default time+15%%")
    parser.add_argument("--client", default="crt-python", help="a client in Python, since a fault is planted into it")
    parser.add_argument("--runs", type=int, default=20, help="wanted, those that are there included (default 20)")
    parser.add_argument("--summary", action="store_true", help="print what the files say; run nothing")
    options = parser.parse_args()
    if options.summary:
        return summarize()
    run_campaign(options.condition, options.client, options.runs)
    return summarize()


if __name__ == "__main__":
    sys.exit(main())
