#!/usr/bin/env python3
"""Whether the explanation of a gate can be believed: whether it names the cause that was planted.

Twelve kinds of causes are planted into copies of clients, at places that a seed draws: an import of 20 ms; a function
3 ms slower; the same over 1,000 calls; a regular expression compiled at import; a deep copy of a model; a model read
twice; a request; a sleep of 10 ms; a lock held by another thread for 10 ms; 200 calls of stat; 8 MB kept; 8 MB dropped.
Both copies upload 4 KB to the stub, and the real explanation is asked what carries the change. Outcomes are appended
to benchmarks/data/explain_truth/, so that a campaign can be interrupted and continued: a trial is known by its kind,
its client and its seed.

A cause names the planted place if one of these holds. The place that it tells, or the caller, is the changed function,
a function that is new with it, or for code at import the module. Or its file and line are among the planted lines. Or,
for a planted request, it is a request of the planted method; for planted stat calls, it is a system call of the family
of stat. Ancestors of the place do not count. With nothing planted (`--null`) an explanation is right if it names
nothing.

    benchmarks/explain_truth.py --client boto3-classic@1.44.5 --client cli-classic@DIR --client cli-classic@2.38.5
    benchmarks/explain_truth.py --client boto3-classic@1.44.5 --trials 12 --null 0 --kind sleep --kind lock
    benchmarks/explain_truth.py --client cli-classic@DIR --check     run both copies once, and show what was planted
    benchmarks/explain_truth.py --summary

cli-classic@DIR is an aws-cli v1 of `pip install --target DIR awscli`.
"""

import argparse
import importlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any, Protocol

import kept
from bars import met_or_missed
from planting.causes import OF_MEMORY, CauseName, Planted, plant, turns_per_second
from planting.copies import Copies, make_copies, places_of

from s3bench.bench.local import LocalBench, open_bench
from s3bench.bench.runner import ClientRunner, Conditions, Settings
from s3bench.cli.definitions import runnable
from s3bench.clients.client import FoundClient
from s3bench.clients.finding import find_client
from s3bench.clients.plan import parse_client_spec
from s3bench.clients.registry import known_client
from s3bench.clients.store import ClientStore
from s3bench.errors import BadInput, S3BenchError
from s3bench.gate.evidence import Side
from s3bench.gate.self_test import stub_with_injection
from s3bench.profiling.explanation import Cause, CauseKind, Explanation
from s3bench.results.measurement import Failure, Measurement
from s3bench.spec.definition import Definition, RequestMatch, Response
from s3bench.stats.proportion import wilson

DATA = Path(__file__).parent / "data" / "explain_truth" / "outcomes.jsonl"
SELECT = "upload and cp and 4KB and not 100 and not 5,000"
SETTINGS = Settings()
NOTHING = "nothing"
TRIALS = 60
NULLS = 20
AMONG = 3
AMONG_BAR = 0.90
FIRST_BAR = 0.75
NULL_BAR = 0.95
EXPLAINER = "planting.asking:explain"
CHECKING_PAIRS = 5
# The planted requests; the suite's definition answers only its own.
ANSWERS = tuple(
    Response(match=RequestMatch(method=method, path="/bucket*"), instances=None) for method in ("HEAD", "GET")
)


class Explainer(Protocol):
    """What carries the change of `metric` between two clients in one benchmark."""

    def __call__(
        self,
        runners: Mapping[Side, ClientRunner],
        conditions: Mapping[Side, Conditions],
        *,
        metric: str,
        settings: Settings,
        directory: Path,
    ) -> Explanation:
        """Run both sides as often as needed. `directory` exists, is empty, and is removed afterwards."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One question: `kind` is `nothing` for two equal copies."""

    kind: str
    client: str
    seed: int

    @property
    def metric(self) -> str:
        """The metric whose change is explained."""
        return "peak_memory" if self.kind in OF_MEMORY else "total_time"


def trials_of(clients: Sequence[str], *, kinds: Sequence[str], trials: int, nulls: int) -> Iterator[Trial]:
    """All trials, the kinds and the clients in turn, then those with nothing planted."""
    for number in range(trials):
        seed, which = divmod(number, len(kinds))
        yield Trial(kind=kinds[which], client=clients[(which + seed) % len(clients)], seed=seed)
    for seed in range(nulls):
        yield Trial(kind=NOTHING, client=clients[seed % len(clients)], seed=seed)


def names_place(cause: Cause, planted: Planted, new_lines: Mapping[str, Sequence[range]]) -> bool:
    """Whether a cause tells the planted place, by the rule at the top."""
    places = {f"{cause.place}:<module>" if cause.kind is CauseKind.IMPORT else cause.place, cause.caller}
    if places & planted.names:
        return True
    if any(cause.line in lines for lines in new_lines.get(cause.file, ())):
        return True
    if cause.kind is CauseKind.REQUEST and planted.method:
        return cause.place.split(" ", 1)[0] == planted.method
    return cause.kind is CauseKind.SYSTEM_CALL and cause.place in planted.system_calls


def rank_of(causes: Sequence[Cause], planted: Planted, new_lines: Mapping[str, Sequence[range]]) -> int | None:
    """The number of the first cause that tells the planted place, from 1; `None` if none does."""
    found = (number for number, cause in enumerate(causes, 1) if names_place(cause, planted, new_lines))
    return next(found, None)


@contextmanager
def bench_for(found: FoundClient) -> Iterator[tuple[LocalBench, Definition]]:
    """A bench whose stub also answers what is planted, and the benchmark."""
    spec = parse_client_spec(found.kind)
    definition = runnable(spec, (), select=SELECT, suite="full")[0]
    definition = replace(definition, responses=(*(definition.responses or ()), *ANSWERS))
    with open_bench(stub_with_injection(known_client(found.kind).engine)) as bench:
        yield bench, definition


@contextmanager
def sides_of(
    bench: LocalBench, found: FoundClient, definition: Definition, place: Path, planted: Planted | None
) -> Iterator[tuple[Copies, dict[Side, ClientRunner]]]:
    """Both copies of a client, in `place`, and what runs them."""
    copies = make_copies(bench, found, definition, place, planted)
    with bench.workspace(definition.environment) as runner_of:
        yield copies, {side: runner_of(definition, client) for side, client in copies.clients.items()}


def ask(
    bench: LocalBench, found: FoundClient, definition: Definition, trial: Trial, explain: Explainer, speed: float
) -> dict[str, Any]:
    """One trial as a line of the file."""
    planted = None if trial.kind == NOTHING else plant(CauseName(trial.kind), places_of(found), trial.seed, speed)
    place = bench.root / f"{trial.kind}-{trial.seed}"
    directory = place / "explanation"
    started_s = time.monotonic()
    with sides_of(bench, found, definition, place, planted) as (copies, runners):
        directory.mkdir()
        explanation = explain(runners, copies.conditions, metric=trial.metric, settings=SETTINGS, directory=directory)
    told = [_told(cause) for cause in explanation.causes]
    return {
        "kind": trial.kind,
        "client": trial.client,
        "seed": trial.seed,
        "expected": sorted(planted.names) if planted else [],
        "rank": rank_of(explanation.causes, planted, copies.new_lines) if planted else None,
        "told": told,
        "change": explanation.change,
        "unexplained": explanation.unexplained,
        "runs": explanation.runs,
        "profiler": explanation.profiler,
        "notes": list(explanation.notes),
        "seconds": round(time.monotonic() - started_s, 1),
        "load": round(os.getloadavg()[0], 2),
    }


def _told(cause: Cause) -> dict[str, Any]:
    facts = {
        "kind": str(cause.kind),
        "place": cause.place,
        "caller": cause.caller,
        "where": f"{cause.file}:{cause.line}" if cause.file else "",
        "change": cause.change,
        "interval": [cause.low, cause.high] if cause.low is not None else None,
        "counts": cause.counts,
    }
    return {name: fact for name, fact in facts.items() if fact}


def campaign(trials: Sequence[Trial], explain: Explainer, *, time_limit_s: float, file: Path = DATA) -> None:
    """Append the outcomes of the trials that are not in the file yet, until the time is over."""
    done = {(each["kind"], each["client"], each["seed"]) for each in kept.read(file)}
    left = [trial for trial in trials if (trial.kind, trial.client, trial.seed) not in done]
    end_s, speed = time.monotonic() + time_limit_s, turns_per_second()
    for client in dict.fromkeys(trial.client for trial in left):
        found = _find(client)
        with bench_for(found) as (bench, definition):
            for trial in (each for each in left if each.client == client):
                if time.monotonic() > end_s:
                    return
                line = ask(bench, found, definition, trial, explain, speed)
                kept.append(file, line)
                print(f"{_tag(trial)}: {_said(line)}, {line['seconds']} s", flush=True)


def _said(line: Mapping[str, Any]) -> str:
    first = line["told"][0]["place"] if line["told"] else "nothing"
    if line["kind"] == NOTHING:
        return f"told {first}" if line["told"] else "told nothing"
    return f"number {line['rank']} of {len(line['told'])}" if line["rank"] else f"missed, told {first}"


def _tag(trial: Trial) -> str:
    return f"{trial.kind} {trial.seed} in {trial.client}"


def check(trials: Sequence[Trial], pairs: int = CHECKING_PAIRS) -> int:
    """Run both copies of each trial some times, and print where the cause is and what it changes; 1 if one fails."""
    failed, speed = 0, turns_per_second()
    for client in dict.fromkeys(trial.client for trial in trials):
        found = _find(client)
        with bench_for(found) as (bench, definition):
            for trial in (each for each in trials if each.client == client and each.kind != NOTHING):
                planted = plant(CauseName(trial.kind), places_of(found), trial.seed, speed)
                place = bench.root / f"{trial.kind}-{trial.seed}"
                with sides_of(bench, found, definition, place, planted) as (copies, runners):
                    failed += _checked(trial, planted, copies, runners, pairs)
    return int(failed > 0)


def _checked(trial: Trial, planted: Planted, copies: Copies, runners: Mapping[Side, ClientRunner], pairs: int) -> bool:
    runs: dict[Side, list[Measurement]] = {side: [] for side in Side}
    for number in range(pairs + 1):
        for side in Side:
            run = runners[side].run_once(number, SETTINGS, "check", copies.conditions[side])
            if isinstance(run, Failure):
                print(f"{_tag(trial)} in {planted.patch.place.name}: {side} FAILED: {run.what}: {run.why[-500:]}")
                return True
            if number:  # the first one is cold
                runs[side].append(run)
    figures = (_total_time, _cpu_time, _peak_memory, _requests)
    time_s, cpu_s, memory, requests = (_difference(runs, figure) for figure in figures)
    where = ", ".join(f"{file}:{lines[0].start}" for file, lines in copies.new_lines.items())
    usual_s = median(map(_total_time, runs[Side.BASELINE]))
    print(
        f"{_tag(trial)} in {planted.patch.place.name} ({where}): {time_s * 1e3:+.1f} ms of {usual_s * 1e3:.0f}, "
        f"{cpu_s * 1e3:+.1f} ms of CPU, {memory / 1e6:+.2f} MB, {requests:+g} requests",
        flush=True,
    )
    return False


def _difference(runs: Mapping[Side, Sequence[Measurement]], figure: Callable[[Measurement], float]) -> float:
    pairs = zip(runs[Side.BASELINE], runs[Side.CANDIDATE], strict=True)
    return median(figure(candidate) - figure(baseline) for baseline, candidate in pairs)


def _total_time(run: Measurement) -> float:
    return run.total_time


def _cpu_time(run: Measurement) -> float:
    return run.cpu_time or 0.0


def _peak_memory(run: Measurement) -> float:
    return float(run.peak_memory or 0)


def _requests(run: Measurement) -> float:
    return float(sum(run.requests_by_kind.values()))


def summarize(lines: Sequence[Mapping[str, Any]]) -> int:
    """Print how often each kind was found, and the bars; 1 when one is missed."""
    planted = [line for line in lines if line["kind"] != NOTHING]
    nulls = [line for line in lines if line["kind"] == NOTHING]
    print(f"{'kind':16} trials  first  among {AMONG}  seconds")
    for kind in CauseName:
        told = [line for line in planted if line["kind"] == kind]
        if told:
            seconds = median(line["seconds"] for line in told)
            print(f"{kind:16} {len(told):6}  {_found(told, 1):5}  {_found(told, AMONG):7}  {seconds:7.0f}")
    for client in dict.fromkeys(line["client"] for line in planted):
        told = [line for line in planted if line["client"] == client]
        print(f"{client}: first {_found(told, 1)}, among {AMONG} {_found(told, AMONG)} of {len(told)}")
    for line in planted:
        if line["rank"] is None or line["rank"] > AMONG:
            said = "; ".join(f"{cause['kind']} {cause['place']}" for cause in line["told"][:AMONG]) or "nothing"
            print(f"missed: {line['kind']} {line['seed']} in {line['client']}: {line['expected'][0]}, told {said}")
    silent = sum(not line["told"] for line in nulls)
    results = (
        _bar(f"among the first {AMONG}", _found(planted, AMONG), len(planted), AMONG_BAR),
        _bar("first", _found(planted, 1), len(planted), FIRST_BAR),
        _bar("nothing named where nothing was planted", silent, len(nulls), NULL_BAR),
    )
    return int(not all(results))


def _found(lines: Sequence[Mapping[str, Any]], rank: int) -> int:
    return sum(line["rank"] is not None and line["rank"] <= rank for line in lines)


def _bar(what: str, count: int, total: int, bar: float) -> bool:
    if not total:
        print(f"{what}: no trials yet")
        return True
    low, high = wilson(count, total)
    is_met = count >= bar * total
    print(f"{what}: {count} of {total} ({low:.0%} to {high:.0%}), bar {bar:.0%}: {met_or_missed(is_met)}")
    return is_met


def _find(client: str) -> FoundClient:
    found = find_client(parse_client_spec(client), ClientStore.from_environment(os.environ))
    places_of(found)
    return found


def _explainer(name: str) -> Explainer:
    module, _, function = name.partition(":")
    try:
        explain: Explainer = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise BadInput(
            f"--explainer {name} is not there", str(error), "pass MODULE:FUNCTION, or --check to explain nothing"
        ) from error
    return explain


def main() -> int:
    """Run a campaign, a check, or sum up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--client", action="append", default=[], metavar="SPEC", help="repeat for several, in turn")
    parser.add_argument("--kind", action="append", choices=list(CauseName), help="repeat for several; default: all")
    parser.add_argument("--trials", type=int, default=TRIALS, help="in all; those that are there included")
    parser.add_argument("--null", type=int, default=NULLS, metavar="TRIALS", help="trials with nothing planted")
    parser.add_argument("--check", action="store_true", help="run both copies, and show what the cause changes")
    parser.add_argument("--explainer", default=EXPLAINER, metavar="MODULE:FUNCTION", help="what is asked")
    parser.add_argument("--max-time", type=float, default=float("inf"), metavar="SECONDS", help="begin no more then")
    parser.add_argument("--file", type=Path, default=DATA, help="where outcomes are appended")
    parser.add_argument("--summary", action="store_true", help="print what the file says; run nothing")
    options = parser.parse_args()
    if options.summary or not options.client:
        return summarize(kept.read(options.file))
    kinds = options.kind or list(CauseName)
    trials = list(trials_of(options.client, kinds=kinds, trials=options.trials, nulls=options.null))
    try:
        for client in options.client:
            _find(client)
        if options.check:
            return check(trials)
        campaign(trials, _explainer(options.explainer), time_limit_s=options.max_time, file=options.file)
    except S3BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return int(error.exit_code)
    return summarize(kept.read(options.file))


if __name__ == "__main__":
    sys.exit(main())
