#!/usr/bin/env python3
"""Whether a gate with a time limit decides: whole gates on simulated runs, with the gate's own scheduling and tests.

Nothing is run: a bench with a clock of its own answers with times and peak memories whose noise is Student's t. The
gate, its looks, controls and time limit are the real ones. By default twenty benchmarks of 0.85 s have ten minutes, of
which the inspections take their part. `--sigma` is the standard deviation of a pair's log-ratio of the total time.

    benchmarks/gate_time.py --gates 200                              no change, and +6 % in one benchmark
    benchmarks/gate_time.py --gates 200 --sigma 0.12                 the same with the noise of a shared machine
    benchmarks/gate_time.py --gates 500 --level                      +2 % and +6 % in every benchmark: both error rates
"""

import argparse
import datetime as dt
import math
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np

from s3bench.bench.runner import PLAIN, Conditions, RunnerFactory, Settings, StackSize
from s3bench.clients.client import FoundClient
from s3bench.gate.evidence import Role, Side
from s3bench.gate.live import INSPECTIONS, GateRules, recorded, run_gate
from s3bench.gate.live_cell import DELAY
from s3bench.gate.policy import Policy
from s3bench.gate.record import GateRecord, ProgramIdentity
from s3bench.gate.row import RowKind, Verdict
from s3bench.results.measurement import Failure, Measurement, measure
from s3bench.run.fixture import plan_tree
from s3bench.run.workspace import Workspace
from s3bench.spec.definition import Definition, Environment
from s3bench.stats.proportion import wilson

MEMORY_BYTES = 100 * 1024 * 1024
MEMORY_SIGMA = 0.008
ABOVE, BELOW = {Verdict.FAIL, Verdict.SMALL}, {Verdict.PASS, Verdict.SMALL}
_TEMPLATE = measure(iteration=0, total_s=1.0)


@dataclass(kw_only=True)
class SimulatedBench:
    """A bench whose runs are drawn. `worsenings` are those of the candidate, by the name of the benchmark."""

    root: Path
    rng: np.random.Generator
    run_s: float
    sigma: float
    degrees: int
    worsenings: dict[str, float]
    now_s: float = 0.0
    clients: dict[str, FoundClient] = field(default_factory=dict)

    def now(self) -> float:
        """The clock."""
        return self.now_s

    def reload_programs(self, clients: Iterable[FoundClient]) -> None:
        """There is nothing to read."""

    @contextmanager
    def workspace(self, environment: Environment) -> Iterator[RunnerFactory]:
        """A workspace that stays empty."""
        workspace = Workspace(root=self.root, tree=plan_tree(environment))
        yield lambda definition, client: SimulatedRunner(
            bench=self, definition=definition, client=client, workspace=workspace
        )

    def noise(self, sigma: float) -> float:
        """The log of one run's noise; `sigma` is of pairs."""
        scale = sigma / math.sqrt(2) / math.sqrt(self.degrees / (self.degrees - 2))
        return float(self.rng.standard_t(self.degrees)) * scale


@dataclass(frozen=True, kw_only=True)
class SimulatedRunner:
    """One client of a simulated bench on one benchmark."""

    bench: SimulatedBench
    definition: Definition
    client: FoundClient
    workspace: Workspace

    def stack_size(self, settings: Settings) -> StackSize:  # noqa: ARG002 (as the real one)
        """The same for all."""
        return StackSize(size_bytes=4096, entries=30)

    def run_once(
        self,
        iteration: int,
        settings: Settings,  # noqa: ARG002 (as the real one)
        debug_name: str,  # noqa: ARG002
        conditions: Conditions = PLAIN,
    ) -> Measurement | Failure:
        """Draw a run, and let its time pass."""
        bench = self.bench
        worsening = bench.worsenings[self.definition.name] if self.client.version == Side.CANDIDATE else 0.0
        prefix = conditions.prefix
        delay_s = float(prefix[len(DELAY)]) if prefix[: len(DELAY)] == DELAY else 0.0
        total_s = bench.run_s * (1 + worsening) * math.exp(bench.noise(bench.sigma)) + delay_s
        bench.now_s += total_s
        memory = round(MEMORY_BYTES * math.exp(bench.noise(MEMORY_SIGMA)))
        return msgspec.structs.replace(_TEMPLATE, iteration=iteration, total_time=total_s, peak_memory=memory)


def simulate(options: argparse.Namespace, worsenings: dict[str, float], seed: int, root: Path) -> GateRecord:
    """Run one gate and conclude it."""
    bench = SimulatedBench(
        root=root,
        rng=np.random.default_rng(seed),
        run_s=options.seconds,
        sigma=options.sigma,
        degrees=options.degrees,
        worsenings=worsenings,
    )
    inspected_s = 2 * INSPECTIONS * options.seconds * len(worsenings)
    definitions = [Definition(name=name, command=("s3", "ls")) for name in worsenings]
    clients = {side: FoundClient(kind="s5cmd", version=side.value, executable=root / side.value) for side in Side}
    policy = Policy()
    rules = GateRules(
        policy=policy,
        settings=Settings(interval_s=None),
        seed=seed,
        deadline_s=None if math.isinf(options.max_time) else options.max_time - inspected_s,
    )
    nobody = ProgramIdentity(label="", name="", version="")
    record = GateRecord(
        s3bench="", started_at="", policy=policy, baseline=nobody, candidate=nobody, today=dt.date(2026, 11, 24)
    )
    statuses = run_gate(bench, definitions, clients, rules, None, now=bench.now)
    *_, (record, _) = recorded(record, statuses, out_of_time="the time is over")
    return record.concluded()


@dataclass(kw_only=True)
class Tally:
    """Counts of one condition."""

    gates: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    victims: Counter[str] = field(default_factory=Counter)
    above: int = 0
    below: int = 0
    tests: int = 0
    pairs: int = 0

    def add(self, record: GateRecord) -> None:
        """Count one gate; the first benchmark is the victim."""
        assert record.conclusion is not None
        rows = [row for row in record.conclusion.rows if row.decides and row.metric == "total_time"]
        sized = [row for row in rows if row.kind is RowKind.SIZE]
        victim = next(row for row in sized if row.benchmark == record.cells[0].title)
        self.gates += 1
        self.verdicts[str(record.conclusion.verdict)] += 1
        self.victims[str(victim.verdict)] += 1
        self.above += any(row.verdict in ABOVE for row in sized)
        self.below += sum(row.verdict in BELOW for row in sized)
        self.tests += len(sized)
        self.pairs += sum(len(cell.pairs) for cell in record.cells if cell.role is Role.BENCHMARK)

    def share(self, count: int, total: int | None = None) -> str:
        """A share with its Wilson interval."""
        total = self.gates if total is None else total
        low, high = wilson(count, total)
        return f"{count} of {total} ({count / total:.1%}, {low:.1%} to {high:.1%})"


def main() -> int:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gates", type=int, default=100)
    parser.add_argument("--sigma", type=float, default=0.055)
    parser.add_argument("--degrees", type=int, default=4, help="of freedom of Student's t")
    parser.add_argument("--benchmarks", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=0.85, help="that a run takes")
    parser.add_argument("--max-time", type=float, default=600.0, metavar="SECONDS", help="inf for none")
    parser.add_argument("--level", action="store_true", help="the error rates, with every benchmark on a limit")
    options = parser.parse_args()
    names = [f"benchmark-{number:02d}" for number in range(options.benchmarks)]
    unchanged = dict.fromkeys(names, 0.0)
    conditions = {"no change": unchanged, "+6 % in one": {**unchanged, names[0]: 0.06}}
    if options.level:
        conditions = {f"{change:+.0%} in all": dict.fromkeys(names, change) for change in (0.02, 0.06)}
    with tempfile.TemporaryDirectory() as directory:
        for condition, worsenings in conditions.items():
            tally = Tally()
            for seed in range(options.gates):
                tally.add(simulate(options, worsenings, seed, Path(directory)))
            print(f"{condition}: sigma {options.sigma:.1%}, {options.max_time:g} s, {tally.gates} gates")
            print(f"  gates: {dict(tally.verdicts)}; {tally.pairs / tally.tests:.1f} pairs a benchmark")
            print(f"  the first benchmark: {dict(tally.victims)}; FAIL {tally.share(tally.victims['FAIL'])}")
            print(f"  any time above d0: {tally.share(tally.above)}")
            print(f"  times below d1: {tally.share(tally.below, tally.tests)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
