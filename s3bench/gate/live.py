"""Runs a live gate: fresh processes of both sides in ABBA and BAAB quads, until nothing is undecided.

Both sides of a benchmark share one workspace, one endpoint, one size of the stack, and a hash seed per pair.
Neighbouring runs see the same speed of the machine, and a quad cancels a steady drift between its two pairs. Benchmarks
are shuffled anew in every round, so that no two of them always run next to each other.

A gate with a time limit gives its controls and then every benchmark the pairs of the first look, and spends the rest of
the time where pairs decide most, in the order of `s3bench.gate.schedule`.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

import msgspec

from s3bench.bench.runner import PLAIN, Bench, Conditions, Settings
from s3bench.clients.client import FoundClient
from s3bench.clients.identity import program_digest
from s3bench.clients.staging import stage
from s3bench.gate.evidence import ClientCellEvidence, Role, Side
from s3bench.gate.exact_metric import COUNTED_PAIRS
from s3bench.gate.exact_rows import unconfirmed
from s3bench.gate.explaining import Explaining, explain_failures
from s3bench.gate.inspection import Inspector
from s3bench.gate.instruction_counting import InstructionCounting, count_instructions
from s3bench.gate.instruction_rows import undecided_in_time
from s3bench.gate.live_cell import LiveCell, controls, live_cell
from s3bench.gate.multiple_testing import PairNeeds, decide_rows, pairs_needed
from s3bench.gate.policy import Policy
from s3bench.gate.record import GateRecord, ProgramIdentity
from s3bench.gate.row import Verdict
from s3bench.gate.schedule import Identity, by_decisiveness, fitting
from s3bench.gate.size import cells_to_size
from s3bench.profiling.explanation import Explanation
from s3bench.spec.definition import Definition
from s3bench.stats.exact_counts import CONFIRMING_RUNS

INSPECTIONS = 2
"""Runs under observation of each side; where they differ, as many more follow at once as confirm it."""


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
    there. `counting` is the number of benchmarks of which instructions are still to be counted, `explaining` that of
    changes that are still to be explained; `warnings` are about these.
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
    explaining: int = 0
    explanations: tuple[Explanation, ...] = ()
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
    explaining: Explaining | None = None,
) -> Iterator[GateStatus]:
    """Run both clients on every definition; yield its status after every quad. The last one is the end.

    A benchmark that fails on either side is not run again: its failure stands in the evidence. Before the first run
    both programs are read from the disk anew, so that the page cache has them alike. With `counting`, instructions are
    counted at the end where a time is undecided; with `explaining`, what FAILs is explained after that.
    """
    bench.reload_programs(clients.values())
    with ExitStack() as stack:
        cells = [
            live_cell(
                bench,
                definition,
                clients,
                rules.settings,
                stack,
                planted=rules.planted.get(definition, PLAIN),
                sham=rules.sham.get(definition, PLAIN),
            )
            for definition in definitions
        ]
        gate = _LiveGate(
            cells=cells, rules=rules, inspector=inspector, counting=counting, explaining=explaining, now=now
        )
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
            explanations=status.explanations,
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
        cells: list[LiveCell],
        rules: GateRules,
        inspector: Inspector | None,
        counting: InstructionCounting | None,
        explaining: Explaining | None,
        now: Callable[[], float],
    ) -> None:
        self._cells = cells
        self._rules = rules
        self._inspector = inspector
        self._counting = counting
        self._explaining = explaining
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
        elif self._counting is None and self._explaining is None:
            return
        warnings: list[str] = []
        for status in chain(
            self._count_instructions(warnings, is_over=is_over), self._explain(warnings, is_over=is_over)
        ):
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
            self._cells += controls(self._cells, self._rules.policy)
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
        yield from self._inspect_late(benchmarks, warming)

    def _unless_over(self, progress: "_LookProgress") -> Iterator[GateStatus]:
        if self._rules.is_over(self._now()):
            yield self._status(progress, is_out_of_time=True)

    def _choose(self, benchmarks: Sequence[LiveCell]) -> None:
        """Put off the benchmarks whose first looks do not fit into the time: the longest."""
        if self._rules.deadline_s is None:
            return
        left_s = self._rules.deadline_s - self._now()
        left_s -= sum(cell.pair_s * self._goals[0] for cell in self._cells[len(benchmarks) :])
        runs = self._goals[0] + (0 if self._inspector is None else INSPECTIONS)
        fit = fitting([cell.pair_s * runs for cell in benchmarks], left_s)
        self._late = frozenset(cell.evidence.identity for place, cell in enumerate(benchmarks) if place not in fit)

    def _inspect(self, cell: LiveCell) -> None:
        if self._inspector is not None:
            cell.inspect(self._inspector, INSPECTIONS)
            self._confirm(cell)

    def _inspect_late(self, benchmarks: Sequence[LiveCell], progress: "_LookProgress") -> Iterator[GateStatus]:
        """Inspect what was put off and got no pairs, as in a gate on inspections alone; the shortest come first."""
        for cell in sorted(benchmarks, key=lambda cell: cell.pair_s):
            if self._inspector is not None and cell.can_run and not cell.inspections[Side.BASELINE]:
                yield from self._unless_over(progress)
                yield self._status(progress)
                self._inspect(cell)

    def _confirm(self, cell: LiveCell) -> None:
        """Run a benchmark untimed until its counts no longer differ, or are confirmed to."""
        for _ in range(CONFIRMING_RUNS):
            metrics = unconfirmed(cell.evidence, self._rules.policy)
            if not metrics or not cell.can_run or self._rules.is_over(self._now()):
                return
            if self._inspector is not None and any(metric.needs_inspection for metric in metrics):
                cell.inspect(self._inspector, 1)
            else:
                cell.count(self._randomness)

    def _look_by_look(self, cells: Sequence[LiveCell], goals: Sequence[int]) -> Iterator[GateStatus]:
        """Run what is undecided of `cells` up to the next look, until nothing is, in rounds."""
        for look, goal in enumerate(goals, start=1):
            self._undecided = self._needs().undecided
            going = [cell for cell in cells if cell.wants(goal) and cell.evidence.identity in self._undecided]
            progress = _LookProgress(look=look, goal=goal, going=going)
            while going:
                self._randomness.shuffle(going)
                for cell in going:
                    yield from self._quad(cell, progress)
                going = [cell for cell in going if cell.wants(goal)]

    def _needs(self) -> PairNeeds:
        return pairs_needed([cell.evidence for cell in self._cells], self._rules.policy)

    def _most_decisive_first(self) -> Iterator[GateStatus]:
        """Run one benchmark at a time up to its next look: that whose pairs decide most, until nothing is undecided."""
        while True:
            needs = self._needs()
            self._undecided = needs.undecided
            by_identity = {cell.evidence.identity: cell for cell in self._cells}
            pairs = {identity: len(cell.pairs) for identity, cell in by_identity.items()}
            pair_s = {identity: cell.pair_s for identity, cell in by_identity.items()}
            order = by_decisiveness(needs.open_tests, pairs, pair_s, looks=self._goals)
            # A benchmark with counts alone has no test that needs pairs, and no place in that order.
            of_counts = [each for each in by_identity if each in needs.undecided and each not in order]
            going = [by_identity[each] for each in (*order, *of_counts)]
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

    def _quad(self, cell: LiveCell, progress: "_LookProgress") -> Iterator[GateStatus]:
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

    def _count_instructions(self, warnings: list[str], *, is_over: bool) -> Iterator[GateStatus]:
        """Count instructions where a time is undecided."""
        if self._counting is not None:
            cells = [cell.evidence for cell in self._cells]
            undecided = undecided_in_time(decide_rows(cells, self._rules.policy, is_over=is_over).rows)
            for left in count_instructions(self._cells, undecided, self._counting, warnings, now=self._now):
                yield replace(self._status(self._end()), counting=left)
        yield replace(self._status(self._end()), warnings=tuple(warnings))

    def _explain(self, warnings: list[str], *, is_over: bool) -> Iterator[GateStatus]:
        """Explain what FAILs; the last status is the end."""
        if self._explaining is None:
            return
        end = self._status(self._end())
        found: list[Explanation] = []
        conclusion = self._explaining.conclude(end.cells, is_over)
        rows = conclusion.rows if conclusion.verdict is Verdict.FAIL else ()
        for left, explanation in explain_failures(self._cells, rows, self._explaining, warnings, now=self._now):
            found += () if explanation is None else (explanation,)
            yield replace(end, explaining=left, explanations=tuple(found), warnings=tuple(warnings))
        yield replace(end, explanations=tuple(found), warnings=tuple(warnings))

    def _status(self, progress: "_LookProgress", *, is_out_of_time: bool = False) -> GateStatus:
        """The status now."""
        evidence = tuple(cell.evidence for cell in self._cells)
        left_s = [
            cell.pair_s * (self._goals[-1] - len(cell.pairs))
            for cell, shown in zip(self._cells, evidence, strict=True)
            if cell.wants(self._goals[-1]) and shown.identity in (self._undecided or ())
        ]
        return GateStatus(
            cells=evidence,
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

    def __init__(self, *, look: int, goal: int, going: Sequence[LiveCell], waiting: Sequence[LiveCell] = ()) -> None:
        self.look = look
        self.goal = goal
        self.going = tuple(going)
        self.waiting = tuple(waiting)
        self.before = self.pairs

    @property
    def pairs(self) -> int:
        """All pairs of those that take part."""
        return sum(len(cell.pairs) for cell in self.going)
