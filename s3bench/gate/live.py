"""Runs a live gate: fresh processes of both sides in ABBA and BAAB quads, until nothing is undecided.

Both sides of a benchmark share one workspace, one endpoint, one size of the stack, and a hash seed per pair.
Neighbouring runs see the same speed of the machine, and a quad cancels a steady drift between its two pairs. Benchmarks
are shuffled anew in every round, so that no two of them always run next to each other.
"""

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
from s3bench.gate.exact_rows import unconfirmed_cells
from s3bench.gate.inspection import Inspector
from s3bench.gate.instruction_counting import InstructionCounting, count_instructions
from s3bench.gate.instruction_rows import undecided_in_time
from s3bench.gate.multiple_testing import decide_rows
from s3bench.gate.policy import Policy
from s3bench.gate.record import GateRecord, ProgramIdentity
from s3bench.results.measurement import Failure, Measurement
from s3bench.spec.definition import Definition
from s3bench.stats.exact_counts import CONFIRMING_RUNS

CONTROL_DELAY = 2.0
"""The delay planted into the positive control, in multiples of d1: well above what must not pass."""

INSPECTIONS = 2
"""Runs under observation of each side; where they differ, as many more as confirm it."""

DELAY = ("/bin/sh", "-c", 'sleep "$0" && exec "$@"')
"""With a number of seconds behind it, what a client's command line is prefixed with to start so much later."""

# For the hash seed and what an inspector sets; the padding fills up what is not used.
_SPARE_VARIABLES = 4
_CONTROL_METRIC = "total_time"
# Of ten digits all, so that the environment keeps its size. 2^32 - 1 is Python's largest.
_HASH_SEEDS = range(1_000_000_000, 2**32)


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRules:
    """How a live gate runs. `deadline_s`, on the clock given, ends it before its time.

    Without controls it is for a caller who runs other gates with them beside it.
    `planted` are conditions of the candidate alone: a fault planted into some benchmarks, to test the gate itself.
    `sham` are the baseline's: what carries the fault, without the fault, so that this is all they differ by.
    """

    policy: Policy
    settings: Settings
    seed: int
    deadline_s: float | None = None
    has_controls: bool = True
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
    `pairs_done` of which are there. `counting` is the number of benchmarks of which instructions are still to be
    counted, `warnings` are about that.
    """

    cells: tuple[ClientCellEvidence, ...]
    look: int
    goal: int
    undecided: int
    pairs_planned: int
    pairs_done: int
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
    randomness = random.Random(rules.seed)  # noqa: S311 (an order, not a secret)
    with ExitStack() as stack:
        cells = [_live_cell(bench, definition, clients, rules, stack) for definition in definitions]
        warming = _LookProgress(cells=cells, look=0, goal=0, going=())
        for cell in cells:
            if rules.is_over(now()):
                yield warming.status(is_out_of_time=True)
                return
            yield warming.status()
            cell.warm(randomness)
            if inspector is not None:
                cell.inspect(inspector, INSPECTIONS)
        if rules.has_controls:
            cells += _controls(cells, rules)
        is_out_of_time = False
        for status in _look_by_look(cells, rules, randomness, now):
            yield status
            is_out_of_time = status.is_out_of_time
        if rules.is_over(now()) and counting is None:
            return
        if inspector is not None:
            _confirm(cells, inspector, rules, now)
        for status in _counted(cells, rules, counting, now):
            yield replace(status, is_out_of_time=is_out_of_time)


def recorded(
    record: GateRecord, statuses: Iterator[GateStatus], *, out_of_time: str = ""
) -> Iterator[tuple[GateRecord, GateStatus]]:
    """Yield the record as it grows; `out_of_time` is why it was stopped if the gate's time is over."""
    for status in statuses:
        stopped = out_of_time if status.is_out_of_time else ""
        warnings = (*record.warnings, *status.warnings)
        yield msgspec.structs.replace(record, cells=status.cells, stopped=stopped, warnings=warnings), status


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


def _look_by_look(
    cells: Sequence["_LiveCell"], rules: GateRules, randomness: random.Random, now: Callable[[], float]
) -> Iterator[GateStatus]:
    """Run what is undecided up to the next look, until nothing is."""
    started_s = now()
    for look, goal in enumerate(rules.policy.looks.pairs, start=1):
        undecided = decide_rows([cell.evidence for cell in cells], rules.policy).undecided
        going = [cell for cell in cells if cell.wants(goal) and cell.evidence.identity in undecided]
        progress = _LookProgress(cells=cells, look=look, goal=goal, going=going)
        while going:
            randomness.shuffle(going)
            for cell in going:
                if rules.is_over(now()):
                    yield progress.status(is_out_of_time=True)
                    return
                cell.quad(randomness, now() - started_s)
                yield progress.status()
            going = [cell for cell in going if cell.wants(goal)]


def _confirm(cells: Sequence["_LiveCell"], inspector: Inspector, rules: GateRules, now: Callable[[], float]) -> None:
    """Inspect benchmarks with a difference as often as confirms it, while there is time."""
    unconfirmed = unconfirmed_cells([cell.evidence for cell in cells], rules.policy)
    for cell in cells:
        if cell.evidence.identity in unconfirmed and not rules.is_over(now()):
            cell.inspect(inspector, CONFIRMING_RUNS - INSPECTIONS)


def _counted(
    cells: Sequence["_LiveCell"], rules: GateRules, counting: InstructionCounting | None, now: Callable[[], float]
) -> Iterator[GateStatus]:
    """The end of the gate, before which instructions are counted where a time is undecided."""
    looks = rules.policy.looks
    end = _LookProgress(cells=cells, look=len(looks.pairs), goal=looks.cap, going=())
    warnings: list[str] = []
    if counting is not None:
        undecided = undecided_in_time(decide_rows([cell.evidence for cell in cells], rules.policy).rows)
        for left in count_instructions(cells, undecided, counting, warnings, now=now):
            yield replace(end.status(), counting=left)
    yield replace(end.status(), warnings=tuple(warnings))


class _LookProgress:
    """Counts the pairs of one look."""

    def __init__(self, *, cells: Sequence["_LiveCell"], look: int, goal: int, going: Sequence["_LiveCell"]) -> None:
        self._cells = cells
        self._look = look
        self._goal = goal
        self._going = tuple(going)
        self._before = self._pairs()

    def _pairs(self) -> int:
        return sum(len(cell.pairs) for cell in self._going)

    def status(self, *, is_out_of_time: bool = False) -> GateStatus:
        """The status now."""
        return GateStatus(
            cells=tuple(cell.evidence for cell in self._cells),
            look=self._look,
            goal=self._goal,
            undecided=len(self._going),
            pairs_planned=len(self._going) * self._goal - self._before,
            pairs_done=self._pairs() - self._before,
            is_out_of_time=is_out_of_time,
        )


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
    inspections: dict[Side, list[Inspection]] = field(default_factory=lambda: {side: [] for side in Side})
    failures: list[SideFailure] = field(default_factory=list)
    warm_s: float = 0.0

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
        )

    def wants(self, goal: int) -> bool:
        """Whether it can be run on, to have `goal` pairs."""
        return not self.failures and len(self.pairs) < goal

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
        first = randomness.choice(tuple(Side))
        second = Side.CANDIDATE if first is Side.BASELINE else Side.BASELINE
        for order in ((first, second), (second, first)):
            hash_seed = randomness.choice(_HASH_SEEDS)
            runs = {side: self._once(side, len(self.pairs), hash_seed) for side in order}
            baseline, candidate = runs[Side.BASELINE], runs[Side.CANDIDATE]
            if baseline is None or candidate is None:
                return
            self.pairs.append(
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

    def count(self, inspector: Inspector, side: Side, timeout_s: float) -> Failure | None:
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
    """The controls, on the quickest benchmark: without the planted delay where nothing that decides would show it."""
    able = [cell for cell in cells if not cell.failures]
    if not able:
        return []
    quickest = min(able, key=lambda cell: cell.warm_s)
    zone = rules.policy.indifference_zone(_CONTROL_METRIC)
    assert zone is not None
    delay_s = CONTROL_DELAY * max(zone.d1 * quickest.warm_s, zone.floor)
    delayed = [quickest.control(Role.POSITIVE_CONTROL, delay_s)] if rules.policy.shows_delay else []
    return [quickest.control(Role.NEGATIVE_CONTROL), *delayed]
