#!/usr/bin/env python3
"""Whether the release gate can be believed: live gates whose right answer is known, again and again.

Each gate runs three short benchmarks of a real client against the stub, the same program on both sides, under the
default policy (with memory planted: peak memory and the exact metrics alone, since more pairs for noisy times would say
nothing about it); in some a known fault is planted into the candidate of one benchmark. Every outcome is appended to a
file under benchmarks/data/ with its raw log-ratios, so that a campaign can be interrupted, continued, and judged
again. `--summary` prints what all files say, with Wilson intervals, held against the bars.

    benchmarks/gate_truth.py --condition aa --gates 400
    benchmarks/gate_truth.py --condition aa-noise --gates 400          a competing process switches on and off
    benchmarks/gate_truth.py --condition time+10% --gates 100
    benchmarks/gate_truth.py --condition time+6% --delay 0.5           answers come later: a steadier time of a run
    benchmarks/gate_truth.py --instructions 20                          the aws-cli under valgrind, planted and not
    benchmarks/gate_truth.py --summary
"""

import argparse
import datetime as dt
import math
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median, quantiles, stdev
from typing import Any

import kept
from bars import met_or_missed

from s3bench.bench.endpoints import stub_server
from s3bench.bench.local import open_bench
from s3bench.bench.runner import Bench, Conditions, Settings
from s3bench.cli.definitions import runnable
from s3bench.clients.client import FoundClient
from s3bench.clients.finding import find_client
from s3bench.clients.plan import parse_client_spec
from s3bench.clients.staging import stage
from s3bench.clients.store import ClientStore
from s3bench.gate.conclusion import conclude
from s3bench.gate.evidence import ClientCellEvidence, Inspection, Side
from s3bench.gate.exact_metric import DEFAULT_EXACT
from s3bench.gate.inspection import find_inspector
from s3bench.gate.live import INSPECTIONS, GateRules, run_gate
from s3bench.gate.live_cell import DELAY
from s3bench.gate.paired_series import series_of
from s3bench.gate.policy import Policy
from s3bench.gate.self_test import CALIBRATING_RUNS, Usual, calibrate
from s3bench.gate.size import SIZING_PAIRS
from s3bench.results.measurement import Measurement
from s3bench.run.inspection import FaultInjection, inspection_variables
from s3bench.spec.definition import DEFAULT_RESPONSES, Definition
from s3bench.stats.proportion import wilson

DATA = Path(__file__).parent / "data" / "gate_truth"
SELECT = "cp and 4KB and not 5,000"
POLICY = Policy(exact=DEFAULT_EXACT)
SETTINGS = Settings(interval_s=None)
INSTRUCTIONS_SELECT = "upload and cp and 4KB and not 100 and not 5,000"
INSTRUCTIONS_TURNS = 100
INSTRUCTIONS_PLANTED = 0.005
NOISE_ON_S = (0.2, 4.0)
NOISE_OFF_S = (0.2, 6.0)
SIGMA_BARS = {"time+10%": 0.08, "time+6%": 0.04, "memory+5%": math.inf}
SIZE_BAR = 0.25
POWER_BARS = {"time+10%": 0.95, "time+6%": 0.95, "memory+5%": 0.99}


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """What is true of a gate: the planted shares of time and memory, who competes, and the policy."""

    time: float = 0.0
    memory: float = 0.0
    noise: bool = False
    policy: Policy = POLICY


CONDITIONS = {
    "aa": Condition(),
    "aa-noise": Condition(noise=True),
    "time+10%": Condition(time=0.10),
    "time+6%": Condition(time=0.06),
    "memory+5%": Condition(memory=0.05, policy=Policy(metrics=("peak_memory",), exact=DEFAULT_EXACT)),
}


@contextmanager
def competing(seed: int) -> Iterator[None]:
    """Let another process burn a core while inside, on and off at random."""
    code = (
        "import os, random, sys, time\n"
        "draw, parent = random.Random(int(sys.argv[1])), os.getppid()\n"
        "while os.getppid() == parent:\n"
        f"    end = time.monotonic() + draw.uniform(*{NOISE_ON_S})\n"
        "    while time.monotonic() < end: sum(range(10_000))\n"
        f"    time.sleep(draw.uniform(*{NOISE_OFF_S}))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(seed)])
    try:
        yield
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def usual_of(bench: Bench, definition: Definition, client: FoundClient) -> Usual:
    """What a run takes, of which shares are planted. No work can be planted into s5cmd."""
    if client.kind != "s5cmd":
        return calibrate(bench, definition, client, SETTINGS)
    runs = []
    with bench.workspace(definition.environment) as runner_of:
        runner = runner_of(definition, client)
        for number in range(CALIBRATING_RUNS):
            run = runner.run_once(number, SETTINGS, "calibration")
            assert isinstance(run, Measurement), run
            runs.append(run)
    return Usual(total_s=median(run.total_time for run in runs), peak_bytes=None, turns=0.0)


def planted(condition: Condition, definition: Definition, found: FoundClient, usual: Usual) -> dict[str, Any]:
    """The fault in the candidate of one benchmark alone, and in its baseline the same that plants nothing.

    A Python client works or holds more; s5cmd, into which no fault can be injected, begins later.
    """
    if found.kind == "s5cmd":
        assert not condition.memory, "no memory can be held inside s5cmd"
        faults = [Conditions(prefix=(*DELAY, f"{seconds:.4f}")) for seconds in (condition.time * usual.total_s, 0.0)]
    else:
        turns, hold_bytes = condition.time * usual.turns, condition.memory * (usual.peak_bytes or 0.0)
        injections = (FaultInjection(turns=round(turns), hold_bytes=round(hold_bytes)), FaultInjection())
        faults = [Conditions(env=inspection_variables(injection=injection)) for injection in injections]
    return {name: {definition: fault} for name, fault in zip(("planted", "sham"), faults, strict=True)}


def delayed(definition: Definition, delay_s: float) -> Definition:
    """The same with every response so much later, as of a distant S3.

    A run then waits more than it works, which a busy machine disturbs less: the pair sigma is smaller.
    """
    responses = tuple(replace(response, delay_s=delay_s) for response in definition.responses or DEFAULT_RESPONSES)
    return replace(definition, responses=responses)


def run_campaign(name: str, client_text: str, gates: int, *, delay_s: float, time_limit_s: float) -> None:
    """Append outcomes to the condition's file until it has `gates` of this client and delay, or the time is over."""
    condition = CONDITIONS[name]
    file = DATA / f"{name}.jsonl"
    spec = parse_client_spec(client_text)
    plants_work = condition.time > 0 and spec.kind != "s5cmd"
    done = sum(
        outcome["is_adjusted"]
        and outcome["client"].startswith(client_text)
        and outcome["delay_s"] == delay_s
        and outcome["planted_is_work"] == plants_work
        for outcome in outcomes(file)
    )
    found = find_client(spec, ClientStore.from_environment(os.environ))
    definitions = tuple(delayed(each, delay_s) for each in runnable(spec, (), select=SELECT, suite="full"))
    end_s = time.monotonic() + time_limit_s
    with open_bench(stub_server()) as bench:
        root = bench.root
        inspector = find_inspector(root / "inspection", condition.policy)
        clients = {side: stage(found, root / "stage" / side.value[:1]).client for side in Side}
        has_fault = condition.time or condition.memory
        usual = {definition: usual_of(bench, definition, found) for definition in definitions if has_fault}
        for number in range(done, gates):
            if time.monotonic() > end_s:
                break
            victim = definitions[number % len(definitions)]
            seed = random.SystemRandom().randrange(2**32)
            faults = planted(condition, victim, found, usual[victim]) if has_fault else {}
            rules = GateRules(
                policy=condition.policy, settings=SETTINGS, seed=seed, sizing_pairs=SIZING_PAIRS, **faults
            )
            started_s = time.monotonic()
            with competing(seed) if condition.noise else nullcontext():
                *_, standing = run_gate(bench, definitions, clients, rules, inspector, now=time.monotonic)
            told = outcome_of(standing.cells, definitions, victim, condition.policy)
            told |= {
                "client": found.label,
                "condition": name,
                "delay_s": delay_s,
                "planted_share": condition.time,
                "planted_is_work": plants_work,
                "planted_turns": round(condition.time * usual[victim].turns) if plants_work else 0,
                "is_adjusted": True,
                "seed": seed,
                "seconds": round(time.monotonic() - started_s, 1),
                "load": round(os.getloadavg()[0], 2),
            }
            kept.append(file, told)
            print(f"{number + 1}/{gates} {name} {found.label}: {told['verdict']} {told['seconds']} s", flush=True)


def run_instructions(client_text: str, gates: int) -> None:
    """Append gates on instructions alone to their file, in turn without a change and with 0.5 % planted."""
    file = DATA / "instructions.jsonl"
    policy = Policy(metrics=(), exact=("instructions",))
    spec = parse_client_spec(client_text)
    found = find_client(spec, ClientStore.from_environment(os.environ))
    definition = runnable(spec, (), select=INSTRUCTIONS_SELECT, suite="full")[0]
    with open_bench(stub_server()) as bench, bench.workspace(definition.environment) as runner_of:
        inspector = find_inspector(bench.root / "inspection", policy)
        assert inspector is not None
        runner = runner_of(definition, found)

        def count(turns: int) -> Inspection:
            conditions = Conditions(env=inspection_variables(injection=FaultInjection(turns=turns)))
            seen = inspector.inspect(runner, SETTINGS, conditions)
            assert isinstance(seen, Inspection), seen
            return seen

        count(0)
        usual, turned = count(0).instructions, count(INSTRUCTIONS_TURNS).instructions
        assert usual is not None
        assert turned is not None
        turns = round(INSTRUCTIONS_PLANTED * usual / ((turned - usual) / INSTRUCTIONS_TURNS))
        for number in range(len(outcomes(file)), 2 * gates):
            fault = turns if number % 2 else 0
            sides: dict[Side, list[Inspection]] = {side: [] for side in Side}
            for _ in range(INSPECTIONS):
                sides[Side.BASELINE].append(count(0))
                sides[Side.CANDIDATE].append(count(fault))
            cell = ClientCellEvidence(
                name=definition.name,
                baseline_inspections=tuple(sides[Side.BASELINE]),
                candidate_inspections=tuple(sides[Side.CANDIDATE]),
            )
            conclusion = conclude([cell], policy, today=dt.datetime.now(dt.UTC).date())
            counts = {side: [each.instructions for each in seen] for side, seen in sides.items()}
            told = {"client": found.label, "planted": bool(fault), "verdict": conclusion.verdict, "counts": counts}
            kept.append(file, told)
            print(f"{number + 1}/{2 * gates} instructions, planted {bool(fault)}: {conclusion.verdict}", flush=True)


def outcome_of(
    cells: Sequence[ClientCellEvidence], definitions: Sequence[Definition], victim: Definition, policy: Policy
) -> dict[str, Any]:
    """One gate in a line: its verdict, its rows, and the raw log-ratios of every cell."""
    conclusion = conclude(cells, policy, today=dt.datetime.now(dt.UTC).date())
    rows = [
        {
            "benchmark": row.benchmark,
            "metric": row.metric,
            "kind": row.kind,
            "role": row.role,
            "verdict": row.verdict,
            "pairs": row.pairs,
            "sigma": row.sigma,
            "change": row.change,
            "low": row.low,
            "high": row.high,
            "baseline": row.baseline,
        }
        for row in conclusion.rows
        if row.verdict is not None and (row.kind != "exact" or row.verdict != "PASS")
    ]
    raw = [
        {
            "benchmark": cell.title,
            "role": cell.role,
            "pairs": len(cell.pairs),
            "log_ratios": {
                metric: [round(value, 5) for value in series_of(cell, metric).worsenings] for metric in policy.metrics
            },
            "raw_log_ratios": [round(value, 5) for value in series_of(cell, "total_time").raw().worsenings],
        }
        for cell in cells
    ]
    return {
        "verdict": conclusion.verdict,
        "reasons": conclusion.reasons,
        "victim": cells[definitions.index(victim)].title,
        "rows": rows,
        "raw": raw,
    }


def outcomes(file: Path) -> list[dict[str, Any]]:
    """The lines of a file; none when it is not there. Where a line tells no delay there was none.

    Outcomes that are not `is_adjusted` come from before times were adjusted for the machine. Where `planted_is_work` is
    not there, seconds of CPU time were planted into Python clients: a smaller share while the machine was slow.
    """
    missing = {"delay_s": 0.0, "is_adjusted": False, "planted_is_work": False, "planted_s": 0.0}
    return [missing | line for line in kept.read(file)]


def summarize() -> int:
    """Print what each condition says, for each client, against the bars; 1 when one is missed."""
    missed = 0
    for name, condition in CONDITIONS.items():
        by_setting: dict[str, list[dict[str, Any]]] = {}
        for outcome in outcomes(DATA / f"{name}.jsonl"):
            after = f" answered after {outcome['delay_s']:g} s" if outcome["delay_s"] else ""
            how = ", adjusted" if outcome["is_adjusted"] else ""
            how += ", planted work" if outcome["planted_is_work"] else ""
            by_setting.setdefault(f"{outcome['client']}{after}{how}", []).append(outcome)
        for client, told in by_setting.items():
            counts = Counter(str(outcome["verdict"]) for outcome in told)
            print(f"{name:10} {client}: {len(told)} gates: {dict(counts)}; {_pairs(told):.1f} pairs a benchmark")
            if condition.time or condition.memory:
                missed += not _power(name, told)
            else:
                missed += not _false_alarms(told)
    missed += not _instructions(outcomes(DATA / "instructions.jsonl"))
    return int(missed > 0)


def _instructions(told: list[dict[str, Any]]) -> bool:
    if not told:
        return True
    planted = [outcome for outcome in told if outcome["planted"]]
    clean = [outcome for outcome in told if not outcome["planted"]]
    usual = [count for outcome in told for count in outcome["counts"]["baseline"]]
    spread = (max(usual) - min(usual)) / median(usual)
    caught, alarms = (sum(outcome["verdict"] == "FAIL" for outcome in group) for group in (planted, clean))
    is_met = caught == len(planted) and not alarms and spread < 0.0001
    print(
        f"instructions {told[0]['client']}: spread of {len(usual)} equal runs {spread:.4%} (bar 0.01 %); +0.5 % caught "
        f"{_share(caught, len(planted))}, false alarms {_share(alarms, len(clean))}: {met_or_missed(is_met)}"
    )
    return is_met


def _share(count: int, total: int) -> str:
    low, high = wilson(count, total) if total else (0.0, 1.0)
    return f"{count} of {total} ({low:.1%} to {high:.1%})"


def _pairs(told: list[dict[str, Any]]) -> float:
    counts = [cell["pairs"] for outcome in told for cell in outcome["raw"] if cell["role"] == "benchmark"]
    return float(sum(counts) / len(counts))


def _false_alarms(told: list[dict[str, Any]]) -> bool:
    fails: int = sum(outcome["verdict"] == "FAIL" for outcome in told)
    economical = _pairs(told) <= POLICY.looks.cap / 2
    is_met = bool(fails <= 0.01 * len(told))
    for metric in POLICY.metrics:
        sigmas = [sigma for outcome in told for sigma in _sigmas(outcome, metric).values()]
        low, middle, high = quantiles(sigmas, n=4)
        print(f"           pair sigma of {metric}: median {middle:.1%}, half of them {low:.1%} to {high:.1%}")
    print(f"           false FAIL {_share(fails, len(told))}, bar 1 %: {met_or_missed(is_met)}")
    for outcome in told:
        if outcome["verdict"] in {"FAIL", "INVALID"}:
            print(f"           {outcome['verdict']}: {outcome['reasons']}")
    print(f"           mean pairs at most half of the cap: {met_or_missed(economical)}")
    return is_met and economical


def _power(name: str, told: list[dict[str, Any]]) -> bool:
    metric = "peak_memory" if name.startswith("memory") else "total_time"
    quiet = [outcome for outcome in told if _sigma(outcome, metric) <= SIGMA_BARS[name]]
    fails: int = sum(outcome["verdict"] == "FAIL" for outcome in quiet)
    passes = sum(outcome["verdict"] == "PASS" for outcome in told)
    sigmas = sorted(_sigma(outcome, metric) for outcome in told)
    is_met = bool(quiet) and fails >= POWER_BARS[name] * len(quiet) and passes <= 0.05 * len(told)
    print(
        f"           pair sigma {median(sigmas):.1%} ({sigmas[0]:.1%} to {sigmas[-1]:.1%}); where it is at most "
        f"{SIGMA_BARS[name]:.0%}: FAIL {_share(fails, len(quiet))}, bar {POWER_BARS[name]:.0%}; "
        f"PASS {_share(passes, len(told))}, bar 5 %: {met_or_missed(is_met)}"
    )
    if sizes := [size for outcome in told if (size := _size(outcome)) is not None]:
        near = sum(abs(size - 1) <= SIZE_BAR for size in sizes)
        print(
            f"           size reported over planted: {median(sizes):.2f} ({min(sizes):.2f} to {max(sizes):.2f}); "
            f"within {SIZE_BAR:.0%}: {_share(near, len(sizes))}"
        )
    return is_met


def _size(outcome: dict[str, Any]) -> float | None:
    """The reported change of total time over the planted one; `None` where it did not FAIL or is not known."""
    for row in outcome["rows"]:
        is_planted = row["benchmark"] == outcome["victim"] and row["metric"] == "total_time"
        if is_planted and row["verdict"] == "FAIL" and row["role"] == "benchmark" and row.get("change") is not None:
            planted_s = outcome["planted_s"]
            return float(row["change"] / (planted_s / row["baseline"] if planted_s else outcome["planted_share"]))
    return None


def _sigma(outcome: dict[str, Any], metric: str) -> float:
    """The pair sigma of the benchmark into which the fault was planted; infinite without pairs."""
    return _sigmas(outcome, metric).get(outcome["victim"], math.inf)


def _sigmas(outcome: dict[str, Any], metric: str) -> dict[str, float]:
    """The standard deviation of the log-ratios of each benchmark."""
    return {
        cell["benchmark"]: stdev(cell["log_ratios"][metric])
        for cell in outcome["raw"]
        if cell["role"] == "benchmark" and cell["pairs"] > 1
    }


def main() -> int:
    """Run a campaign, or sum up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--condition", choices=list(CONDITIONS), action="append", help="repeat for several")
    parser.add_argument("--client", default="crt-python", help="whose runs are short: crt-python or s5cmd")
    parser.add_argument("--delay", type=float, default=0.0, metavar="SECONDS", help="before every response")
    parser.add_argument("--gates", type=int, default=400, help="outcomes wanted, those that are there included")
    parser.add_argument("--instructions", type=int, metavar="GATES", help="gates on instructions, of each kind")
    parser.add_argument("--instructions-client", default="cli-classic", help="default cli-classic")
    parser.add_argument("--max-time", type=float, default=math.inf, metavar="SECONDS", help="begin no more gates then")
    parser.add_argument("--summary", action="store_true", help="print what the files say (also the default)")
    options = parser.parse_args()
    end_s = time.monotonic() + options.max_time
    for name in options.condition or ():
        left_s = end_s - time.monotonic()
        run_campaign(name, options.client, options.gates, delay_s=options.delay, time_limit_s=left_s)
    if options.instructions:
        run_instructions(options.instructions_client, options.instructions)
    if options.summary or not (options.condition or options.instructions):
        return summarize()
    return 0


if __name__ == "__main__":
    sys.exit(main())
