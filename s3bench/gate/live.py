"""Runs a live gate: fresh processes of both sides in ABBA and BAAB quads, until nothing is undecided.

Both sides of a benchmark share one workspace, one endpoint, one size of the stack, and a hash seed per pair.
Neighbouring runs see the same speed of the machine, and a quad cancels a steady drift between its two pairs. Benchmarks
are shuffled anew in every round, so that no two of them always run next to each other.

A gate with a time limit gives its controls and then every benchmark the pairs of the first look, and spends the rest of
the time where pairs decide most, in the order of `s3bench.gate.schedule`.
"""

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from s3bench.bench.runner import PLAIN, Bench, ClientRunner, Conditions, Settings, StackSize
from s3bench.clients.client import FoundClient
from s3bench.clients.identity import program_digest
from s3bench.clients.padding import common_size
from s3bench.clients.staging import stage
from s3bench.gate.evidence import (
    ClientCellEvidence,
    Inspection,
    Role,
    RunPair,
    Side,
    SideFailure,
)
from s3bench.gate.exact_metric import COUNTED_PAIRS
from s3bench.gate.exact_rows import unconfirmed
from s3bench.gate.inspection import Inspector
from s3bench.gate.instruction_counting import InstructionCounting, count_instructions
from s3bench.gate.instruction_rows import undecided_in_time
from s3bench.gate.multiple_testing import RowDecisions, decide_rows
from s3bench.gate.policy import Policy
from s3bench.gate.record import GateRecord, ProgramIdentity
from s3bench.gate.schedule import Identity, by_decisiveness, fitting
from s3bench.gate.size import cells_to_size
from s3bench.results.measurement import Failure, Measurement
from s3bench.spec.definition import Definition
from s3bench.stats.exact_counts import CONFIRMING_RUNS

CONTROL_DELAY = 2.0
"""The delay planted into the positive control, in multiples of d1: well above what must not pass."""

INSPECTIONS = 2
"""Runs under observation of each side; where they differ, as many more follow at once as confirm it."""

DELAY = ("/bin/sh", "-c", 'sleep "$0" && exec "$@"')
"""With a number of seconds behind it, what a client's command line is prefixed with to start so much later."""

# For the hash seed and what an inspector sets; the padding fills up what is not used.
_SPARE_VARIABLES = 4
_CONTROL_METRIC = "total_time"
_DELAY_MIN_S = 0.004  # d1 of a short program can be less than what its start varies by
# Of ten digits all, so that the environment keeps its size. 2^32 - 1 is Python's largest.
_HASH_SEEDS = range(1_000_000_000, 2**32)


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRules:
    """How a live gate runs. `deadline_s`, on the clock given, ends it before its time.

    Without controls it is for a caller who runs other gates with them beside it.
    After the verdict, benchmarks whose change was shown get `sizing_pairs` fresh pairs, which measure its size.
    `planted` are conditions of the candidate alone: a fault planted into some benchmarks, to test the gate itself.
    `sham` are the baseline's: what carries the fault, without the fault, so that this is all they differ by.
    """

    policy: Policy
    settings: Settings
    seed: int
    deadline_s: float | None = None
    has_controls: bool = True
    sizing_pairs: int = 0
    planted: Mapping[Definition, Conditions] = field(default_factory=dict)
    sham: Mapping[Definition, Conditions] = field(default_factory=dict)

    def is_over(self, now_s: float) -> bool:
        """Whether the time is over."""
        return self.deadline_s is not None and now_s >= self.deadline_s


@dataclass(frozen=True, slots=True, kw_only=True)
class GateStatus:
    """How far a gate is.

    The look numbered `look` (from 1; 0 while benchmarks are warmed and inspected) is at `goal` pairs of each benchmark;
    `undecided` of them (controls are counted) take part, which needs `pairs_planned` further pairs together,
    `pairs_done` of which are there. `at_most_s` is what the pairs of all looks still take if nothing is decided
    earlier; `None` until all benchmarks are warm. `late` counts the benchmarks whose first look does not fit into the
    time limit beside those of the others. `alone` names the benchmark that gets all pairs now, because they decide most
    there. `counting` is the number of benchmarks of which instructions are still to be counted, `warnings` are about
    that.
    """

    cells: tuple[ClientCellEvidence, ...]
    look: int
    goal: int
    undecided: int
    pairs_planned: int
    pairs_done: int
    at_most_s: float | None = None
    late: int = 0
    alone: str = ""
    is_out_of_time: bool = False
    counting: int = 0
    warnings: tuple[str, ...] = ()


def run_gate(
    bench: Bench,
    definitions: Sequence[Definition],
    clients: Mapping[Side, FoundClient],
    rules: GateRules,
    inspector: Inspector | None,
    *,
    now: Callable[[], float],
    counting: InstructionCounting | None = None,
) -> Iterator[GateStatus]:
    """Run both clients on every definition; yield its status after every quad. The last one is the end.

    A benchmark that fails on either side is not run again: its failure stands in the evidence. Before the first run
    both programs are read from the disk anew, so that the page cache has them alike. With `counting`, instructions are
    counted at the end where a time is undecided.
    """
    bench.reload_programs(clients.values())
    with ExitStack() as stack:
        cells = [_live_cell(bench, definition, clients, rules, stack) for definition in definitions]
        gate = _LiveGate(cells=cells, rules=rules, inspector=inspector, counting=counting, now=now)
        yield from gate.run()


def recorded(
    record: GateRecord, statuses: Iterator[GateStatus], *, out_of_time: str = ""
) -> Iterator[tuple[GateRecord, GateStatus]]:
    """Yield the record as it grows; `out_of_time` is why it was stopped if the gate's time is over."""
    for status in statuses:
        stopped = out_of_time if status.is_out_of_time else ""
        grown = msgspec.structs.replace(
            record,
            cells=status.cells,
            stopped=stopped,
            is_out_of_time=status.is_out_of_time,
            warnings=(*record.warnings, *status.warnings),
        )
        yield grown, status


def program_identity(client: FoundClient) -> ProgramIdentity:
    """The client as a record names it, with a digest of its program's files."""
    return ProgramIdentity(label=client.label, name=client.kind, version=client.version, digest=program_digest(client))


def stage_sides(clients: Mapping[Side, FoundClient], root: Path) -> tuple[dict[Side, FoundClient], tuple[str, ...]]:
    """Both clients at paths of equal length below `root`, and warnings about those that cannot be moved there."""
    place = root / "stage"
    place.mkdir(mode=0o700)
    staged = {side: stage(client, place / name) for name, (side, client) in zip("ab", clients.items(), strict=True)}
    warnings = dict.fromkeys(
        f"{each.client.label} runs from where it is, its path may be of another length than the other's: {each.reason}"
        for each in staged.values()
        if not each.is_staged and len({str(client.executable) for client in clients.values()}) > 1
    )
    return {side: each.client for side, each in staged.items()}, tuple(warnings)


class _LiveGate:
    """The steps of one gate. A status that is out of time is the last one that is asked for."""

    def __init__(
        self,
        *,
        cells: list["_LiveCell"],
        rules: GateRules,
        inspector: Inspector | None,
        counting: InstructionCounting | None,
        now: Callable[[], float],
    ) -> None:
        self._cells = cells
        self._rules = rules
        self._inspector = inspector
        self._counting = counting
        self._now = now
        self._randomness = random.Random(rules.seed)  # noqa: S311 (an order, not a secret)
        self._goals = rules.policy.looks.pairs if rules.policy.metrics else (COUNTED_PAIRS,)
        self._started_s = 0.0
        self._late: frozenset[Identity] = frozenset()
        self._undecided: frozenset[Identity] | None = None

    def run(self) -> Iterator[GateStatus]:
        """Warm and inspect the benchmarks, then run pairs; the last status is the end."""
        is_over = False
        for status in self._steps():
            yield status
            is_over = status.is_out_of_time
            if is_over:
                break
        if not is_over:
            yield from self._size()
        elif self._counting is None:
            return
        for status in self._count_instructions(is_over=is_over):
            yield replace(status, is_out_of_time=is_over)

    def _end(self) -> "_LookProgress":
        return _LookProgress(look=len(self._goals), goal=self._goals[-1], going=())

    def _steps(self) -> Iterator[GateStatus]:
        warming = _LookProgress(look=0, goal=0, going=())
        for cell in self._cells:
            yield from self._unless_over(warming)
            yield self._status(warming)
            began_s = self._now()
            cell.warm(self._randomness)
            cell.pair_s = self._now() - began_s
        benchmarks = tuple(self._cells)
        if self._rules.has_controls:
            self._cells += _controls(self._cells, self._rules)
        self._undecided = frozenset(cell.evidence.identity for cell in self._cells)
        self._choose(benchmarks)
        for cell in benchmarks:
            if cell.evidence.identity not in self._late:
                yield from self._unless_over(warming)
                yield self._status(warming)
                self._inspect(cell)
        self._started_s = self._now()
        if self._rules.deadline_s is None:
            yield from self._look_by_look(self._cells, self._goals)
            return
        yield from self._look_by_look(self._cells[len(benchmarks) :], self._goals[:1])
        on_time = [cell for cell in benchmarks if cell.evidence.identity not in self._late]
        yield from self._look_by_look(on_time, self._goals[:1])
        yield from self._most_decisive_first()

    def _unless_over(self, progress: "_LookProgress") -> Iterator[GateStatus]:
        if self._rules.is_over(self._now()):
            yield self._status(progress, is_out_of_time=True)

    def _choose(self, benchmarks: Sequence["_LiveCell"]) -> None:
        """Put off the benchmarks whose first looks do not fit into the time: the longest."""
        if self._rules.deadline_s is None:
            return
        left_s = self._rules.deadline_s - self._now()
        left_s -= sum(cell.pair_s * self._goals[0] for cell in self._cells[len(benchmarks) :])
        runs = self._goals[0] + (0 if self._inspector is None else INSPECTIONS)
        fit = fitting([cell.pair_s * runs for cell in benchmarks], left_s)
        self._late = frozenset(cell.evidence.identity for place, cell in enumerate(benchmarks) if place not in fit)

    def _inspect(self, cell: "_LiveCell") -> None:
        if self._inspector is not None:
            cell.inspect(self._inspector, INSPECTIONS)
            self._confirm(cell)

    def _confirm(self, cell: "_LiveCell") -> None:
        """Run a benchmark untimed until its counts no longer differ, or are confirmed to."""
        for _ in range(CONFIRMING_RUNS):
            metrics = unconfirmed(cell.evidence, self._rules.policy)
            if not metrics or not cell.can_run or self._rules.is_over(self._now()):
                return
            if self._inspector is not None and any(metric.needs_inspection for metric in metrics):
                cell.inspect(self._inspector, 1)
            else:
                cell.count(self._randomness)

    def _look_by_look(self, cells: Sequence["_LiveCell"], goals: Sequence[int]) -> Iterator[GateStatus]:
        """Run what is undecided of `cells` up to the next look, until nothing is, in rounds."""
        for look, goal in enumerate(goals, start=1):
            self._undecided = self._decisions().undecided
            going = [cell for cell in cells if cell.wants(goal) and cell.evidence.identity in self._undecided]
            progress = _LookProgress(look=look, goal=goal, going=going)
            while going:
                self._randomness.shuffle(going)
                for cell in going:
                    yield from self._quad(cell, progress)
                going = [cell for cell in going if cell.wants(goal)]

    def _decisions(self, *, is_over: bool = False) -> RowDecisions:
        return decide_rows([cell.evidence for cell in self._cells], self._rules.policy, is_over=is_over)

    def _most_decisive_first(self) -> Iterator[GateStatus]:
        """Run one benchmark at a time up to its next look: that whose pairs decide most, until nothing is undecided."""
        while True:
            decisions = self._decisions()
            self._undecided = decisions.undecided
            by_identity = {cell.evidence.identity: cell for cell in self._cells}
            pairs = {identity: len(cell.pairs) for identity, cell in by_identity.items()}
            pair_s = {identity: cell.pair_s for identity, cell in by_identity.items()}
            order = by_decisiveness(decisions.open_tests, pairs, pair_s, looks=self._goals)
            # A benchmark with counts alone has no test that needs pairs, and no place in that order.
            counting = [each for each in by_identity if each in decisions.undecided and each not in order]
            going = [by_identity[each] for each in (*order, *counting)]
            going = [cell for cell in going if cell.wants(self._goals[-1])]
            if not going:
                return
            cell = going[0]
            look, goal = next(each for each in enumerate(self._goals, start=1) if each[1] > len(cell.pairs))
            if not cell.pairs and not cell.inspections[Side.BASELINE] and cell.role is Role.BENCHMARK:
                self._inspect(cell)
            progress = _LookProgress(look=look, goal=goal, going=(cell,), waiting=going[1:])
            while cell.wants(goal):
                yield from self._quad(cell, progress)

    def _quad(self, cell: "_LiveCell", progress: "_LookProgress") -> Iterator[GateStatus]:
        yield from self._unless_over(progress)
        began_s = self._now()
        cell.quad(self._randomness, began_s - self._started_s)
        cell.pair_s = (self._now() - began_s) / 2
        if len(cell.pairs) == COUNTED_PAIRS and cell.role is Role.BENCHMARK:
            self._confirm(cell)
        yield self._status(progress)

    def _size(self) -> Iterator[GateStatus]:
        """Run the fresh pairs that measure the size of what was shown; the end of the time leaves some of them out."""
        wanted = self._rules.sizing_pairs
        evidence = [cell.evidence for cell in self._cells]
        shown = cells_to_size(evidence, self._rules.policy) if wanted else frozenset()
        going = [cell for cell in self._cells if cell.evidence.identity in shown]
        while going := [cell for cell in going if cell.can_run and len(cell.sizing) < wanted]:
            self._randomness.shuffle(going)
            for cell in going:
                if self._rules.is_over(self._now()):
                    return
                cell.sizing_quad(self._randomness, self._now() - self._started_s)
                yield self._status(self._end())

    def _count_instructions(self, *, is_over: bool) -> Iterator[GateStatus]:
        """Count instructions where a time is undecided; the last status is the end."""
        warnings: list[str] = []
        if self._counting is not None:
            undecided = undecided_in_time(self._decisions(is_over=is_over).rows)
            for left in count_instructions(self._cells, undecided, self._counting, warnings, now=self._now):
                yield replace(self._status(self._end()), counting=left)
        yield replace(self._status(self._end()), warnings=tuple(warnings))

    def _status(self, progress: "_LookProgress", *, is_out_of_time: bool = False) -> GateStatus:
        """The status now."""
        cells = {cell.evidence.identity: cell for cell in self._cells if cell.wants(self._goals[-1])}
        left_s = [
            cell.pair_s * (self._goals[-1] - len(cell.pairs))
            for each, cell in cells.items()
            if each in (self._undecided or ())
        ]
        return GateStatus(
            cells=tuple(cell.evidence for cell in self._cells),
            look=progress.look,
            goal=progress.goal,
            undecided=len(progress.going) + len(progress.waiting),
            pairs_planned=len(progress.going) * progress.goal - progress.before,
            pairs_done=progress.pairs - progress.before,
            at_most_s=None if self._undecided is None else sum(left_s),
            late=len(self._late),
            alone=progress.going[0].evidence.title if progress.waiting else "",
            is_out_of_time=is_out_of_time,
        )


class _LookProgress:
    """Counts the pairs of those that take part in one look; `waiting` are undecided and get theirs later."""

    def __init__(
        self, *, look: int, goal: int, going: Sequence["_LiveCell"], waiting: Sequence["_LiveCell"] = ()
    ) -> None:
        self.look = look
        self.goal = goal
        self.going = tuple(going)
        self.waiting = tuple(waiting)
        self.before = self.pairs

    @property
    def pairs(self) -> int:
        """All pairs of those that take part."""
        return sum(len(cell.pairs) for cell in self.going)


def _live_cell(
    bench: Bench, definition: Definition, clients: Mapping[Side, FoundClient], rules: GateRules, stack: ExitStack
) -> "_LiveCell":
    runner_of = stack.enter_context(bench.workspace(definition.environment))
    runners = {side: runner_of(definition, clients[side]) for side in Side}
    planted, sham = rules.planted.get(definition, PLAIN), rules.sham.get(definition, PLAIN)
    sizes = [runner.stack_size(rules.settings) for runner in runners.values()]
    room = sum(len(f"{name}={value}") + 1 for name, value in planted.env.items())
    size = StackSize(
        size_bytes=common_size(*(size.size_bytes + room for size in sizes)),
        entries=max(size.entries for size in sizes) + len(planted.env) + _SPARE_VARIABLES,
    )
    return _LiveCell(
        definition=definition,
        runners=runners,
        settings=rules.settings,
        conditions={
            Side.BASELINE: replace(sham, stack=size),
            Side.CANDIDATE: replace(planted, stack=size),
        },
    )


@dataclass(slots=True, kw_only=True)
class _LiveCell:
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

    def count_instructions(self, inspector: Inspector, side: Side, timeout_s: float) -> Failure | None:
        """Inspect one side once; unlike in `inspect`, a run that fails is returned and is not evidence."""
        settings = replace(self.settings, timeout_s=timeout_s)
        seen = inspector.inspect(self.runners[side], settings, self.conditions[side])
        if isinstance(seen, Failure):
            return seen
        self.inspections[side].append(seen)
        return None

    def control(self, role: Role, delay_s: float = 0.0) -> "_LiveCell":
        """A control on the same benchmark: the baseline on both sides, the second delayed by `delay_s`."""
        baseline = self.conditions[Side.BASELINE]
        delayed = replace(baseline, prefix=(*DELAY, f"{delay_s:.4f}")) if delay_s else baseline
        return _LiveCell(
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


def _controls(cells: Sequence[_LiveCell], rules: GateRules) -> list[_LiveCell]:
    """The controls, on the quickest benchmark: without the planted delay where nothing that decides would show it.

    Counts alone need none.
    """
    able = [cell for cell in cells if cell.can_run]
    if not able or not rules.policy.metrics:
        return []
    quickest = min(able, key=lambda cell: cell.warm_s)
    zone = rules.policy.indifference_zone(_CONTROL_METRIC)
    assert zone is not None
    delay_s = max(CONTROL_DELAY * math.expm1(zone.limits(quickest.warm_s).d1) * quickest.warm_s, _DELAY_MIN_S)
    delayed = [quickest.control(Role.POSITIVE_CONTROL, delay_s)] if rules.policy.shows_delay else []
    return [quickest.control(Role.NEGATIVE_CONTROL), *delayed]
