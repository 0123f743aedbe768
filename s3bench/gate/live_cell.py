"""One benchmark of a live gate on both sides: runs its quads, inspections and untimed runs, and keeps what they showed.

A control is such a benchmark too, with the baseline on both sides.
"""

import math
import random
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from s3bench.bench.runner import PLAIN, Bench, ClientRunner, Conditions, Settings, StackSize
from s3bench.clients.client import FoundClient
from s3bench.clients.padding import common_size
from s3bench.gate.evidence import ClientCellEvidence, Inspection, Role, RunPair, Side, SideFailure
from s3bench.gate.inspection import Inspector
from s3bench.gate.policy import CONTROL_METRIC, Policy
from s3bench.results.measurement import Failure, Measurement
from s3bench.spec.definition import Definition

CONTROL_DELAY = 2.0
"""The delay planted into the positive control, in multiples of d1: well above what must not pass."""

DELAY = ("/bin/sh", "-c", 'sleep "$0" && exec "$@"')
"""With a number of seconds behind it, what a client's command line is prefixed with to start so much later."""

# For the hash seed and what an inspector sets; the padding fills up what is not used.
_SPARE_VARIABLES = 4
_DELAY_MIN_S = 0.004  # d1 of a short program can be less than what its start varies by
# Of ten digits all, so that the environment keeps its size. 2^32 - 1 is Python's largest.
_HASH_SEEDS = range(1_000_000_000, 2**32)


@dataclass(slots=True, kw_only=True)
class LiveCell:
    """One benchmark on both sides, or a control: runs quads and keeps what they showed."""

    definition: Definition
    runners: Mapping[Side, ClientRunner]
    conditions: Mapping[Side, Conditions]
    settings: Settings
    role: Role = Role.BENCHMARK
    planted_s: float = 0.0
    pairs: list[RunPair] = field(default_factory=list)
    sizing: list[RunPair] = field(default_factory=list)
    inspections: dict[Side, list[Inspection]] = field(default_factory=lambda: {side: [] for side in Side})
    counted: dict[Side, list[Measurement]] = field(default_factory=lambda: {side: [] for side in Side})
    failures: list[SideFailure] = field(default_factory=list)
    warm_s: float = 0.0
    pair_s: float = 0.0

    @property
    def evidence(self) -> ClientCellEvidence:
        """What it showed so far."""
        return ClientCellEvidence(
            name=self.definition.name,
            dimensions=tuple({name: value} for name, value in self.definition.dimensions),
            role=self.role,
            pairs=tuple(self.pairs),
            baseline_inspections=tuple(self.inspections[Side.BASELINE]),
            candidate_inspections=tuple(self.inspections[Side.CANDIDATE]),
            failures=tuple(self.failures),
            planted_s=self.planted_s,
            sizing=tuple(self.sizing),
            baseline_counted=tuple(self.counted[Side.BASELINE]),
            candidate_counted=tuple(self.counted[Side.CANDIDATE]),
        )

    @property
    def can_run(self) -> bool:
        """Whether it has not failed."""
        return not self.failures

    def wants(self, goal: int) -> bool:
        """Whether it can be run on, to have `goal` pairs."""
        return self.can_run and len(self.pairs) < goal

    def warm(self, randomness: random.Random) -> None:
        """Run each side once, unmeasured: page cache and byte-code are then warm, on both sides alike."""
        hash_seed = randomness.choice(_HASH_SEEDS)
        times_s = []
        for side in Side:
            measurement = self._once(side, 0, hash_seed)
            if measurement is None:
                return
            times_s.append(measurement.total_time)
        self.warm_s = min(times_s)

    def quad(self, randomness: random.Random, at_s: float) -> None:
        """Run two pairs, ABBA or BAAB; a pair of which either run failed is no pair."""
        self._quad(self.pairs, randomness, at_s)

    def sizing_quad(self, randomness: random.Random, at_s: float) -> None:
        """The same for the size alone."""
        self._quad(self.sizing, randomness, at_s)

    def _quad(self, pairs: list[RunPair], randomness: random.Random, at_s: float) -> None:
        first = randomness.choice(tuple(Side))
        second = Side.CANDIDATE if first is Side.BASELINE else Side.BASELINE
        for order in ((first, second), (second, first)):
            hash_seed = randomness.choice(_HASH_SEEDS)
            runs = {side: self._once(side, len(self.pairs) + len(self.sizing), hash_seed) for side in order}
            baseline, candidate = runs[Side.BASELINE], runs[Side.CANDIDATE]
            if baseline is None or candidate is None:
                return
            pairs.append(
                RunPair(
                    order="AB" if order[0] is Side.BASELINE else "BA",
                    hash_seed=hash_seed,
                    started_s=round(at_s, 3),
                    baseline=baseline,
                    candidate=candidate,
                )
            )

    def inspect(self, inspector: Inspector, count: int) -> None:
        """Run each side `count` times under observation."""
        for _ in range(0 if self.failures else count):
            for side in Side:
                seen = inspector.inspect(self.runners[side], self.settings, self.conditions[side])
                if isinstance(seen, Failure):
                    self.failures.append(SideFailure(side=side, failure=seen))
                    return
                self.inspections[side].append(seen)

    def count(self, randomness: random.Random) -> None:
        """Run each side once more, untimed, for its counts alone."""
        hash_seed = randomness.choice(_HASH_SEEDS)
        for side in Side:
            run = self._once(side, len(self.counted[side]), hash_seed)
            if run is None:
                return
            self.counted[side].append(run)

    def count_instructions(self, inspector: Inspector, side: Side, limit_s: float) -> Failure | None:
        """Inspect one side once; unlike in `inspect`, a run that fails is returned and is not evidence."""
        seen = inspector.inspect(self.runners[side], replace(self.settings, limit_s=limit_s), self.conditions[side])
        if isinstance(seen, Failure):
            return seen
        self.inspections[side].append(seen)
        return None

    def side(self, side: Side) -> tuple[ClientRunner, Conditions]:
        """The runner of one side, and the conditions of its runs."""
        return self.runners[side], self.conditions[side]

    def control(self, role: Role, delay_s: float = 0.0) -> "LiveCell":
        """A control on the same benchmark: the baseline on both sides, the second delayed by `delay_s`."""
        baseline = self.conditions[Side.BASELINE]
        delayed = replace(baseline, prefix=(*DELAY, f"{delay_s:.4f}")) if delay_s else baseline
        return LiveCell(
            definition=self.definition,
            runners=dict.fromkeys(Side, self.runners[Side.BASELINE]),
            conditions={Side.BASELINE: baseline, Side.CANDIDATE: delayed},
            settings=self.settings,
            pair_s=self.pair_s + delay_s,
            role=role,
            planted_s=delay_s,
        )

    def _once(self, side: Side, number: int, hash_seed: int) -> Measurement | None:
        conditions = self.conditions[side]
        conditions = replace(conditions, env={**conditions.env, "PYTHONHASHSEED": str(hash_seed)})
        outcome = self.runners[side].run_once(number, self.settings, f"{self.definition.name}-{side}", conditions)
        if isinstance(outcome, Failure):
            self.failures.append(SideFailure(side=side, failure=outcome))
            return None
        return outcome


def live_cell(
    bench: Bench,
    definition: Definition,
    clients: Mapping[Side, FoundClient],
    settings: Settings,
    stack: ExitStack,
    *,
    planted: Conditions = PLAIN,
    sham: Conditions = PLAIN,
) -> LiveCell:
    """The cell of one benchmark, whose workspace is closed with `stack`.

    `planted` are conditions of the candidate, `sham` those of the baseline.
    """
    runner_of = stack.enter_context(bench.workspace(definition.environment))
    runners = {side: runner_of(definition, clients[side]) for side in Side}
    sizes = [runner.stack_size(settings) for runner in runners.values()]
    room = sum(len(f"{name}={value}") + 1 for name, value in planted.env.items())
    size = StackSize(
        size_bytes=common_size(*(size.size_bytes + room for size in sizes)),
        entries=max(size.entries for size in sizes) + len(planted.env) + _SPARE_VARIABLES,
    )
    return LiveCell(
        definition=definition,
        runners=runners,
        settings=settings,
        conditions={
            Side.BASELINE: replace(sham, stack=size),
            Side.CANDIDATE: replace(planted, stack=size),
        },
    )


def controls(cells: Sequence[LiveCell], policy: Policy) -> list[LiveCell]:
    """The controls, on the quickest benchmark: without the planted delay where nothing that decides would show it.

    Counts alone need none.
    """
    able = [cell for cell in cells if cell.can_run]
    if not able or not policy.metrics:
        return []
    quickest = min(able, key=lambda cell: cell.warm_s)
    zone = policy.indifference_zone(CONTROL_METRIC)
    assert zone is not None
    delay_s = max(CONTROL_DELAY * math.expm1(zone.limits(quickest.warm_s).d1) * quickest.warm_s, _DELAY_MIN_S)
    delayed = [quickest.control(Role.POSITIVE_CONTROL, delay_s)] if policy.shows_delay else []
    return [quickest.control(Role.NEGATIVE_CONTROL), *delayed]
