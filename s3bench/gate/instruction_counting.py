"""Counts instructions at the end of a gate, of the benchmarks whose time is undecided, within a limit of time.

A run that fails here is a warning: its client did its work in all runs without a counter.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from s3bench.errors import MachineError
from s3bench.gate.evidence import ClientCellEvidence, Role, Side
from s3bench.gate.inspection import Counter, Inspector
from s3bench.gate.instruction_rows import runs_wanted
from s3bench.results.measurement import Failure
from s3bench.run.inspection import Unavailable
from s3bench.run.instructions import instruction_counter

LIMIT_S = 180.0
"""The most seconds that counting takes."""

_SHARE = 0.2
_LIMIT_MIN_S = 1.0


class CountedCell(Protocol):
    """A benchmark of a live gate."""

    @property
    def evidence(self) -> ClientCellEvidence:
        """What it showed so far."""

    def count_instructions(self, inspector: Inspector, side: Side, limit_s: float) -> Failure | None:
        """Run `side` once with `inspector`, for `limit_s` at most, and keep what it counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstructionCounting:
    """How instructions are counted: what a counter writes goes to `directory`, which is made; it ends at `deadline_s`.

    `find` looks for a counter.
    """

    directory: Path
    deadline_s: float | None = None
    find: Callable[[], Counter | Unavailable] = instruction_counter

    @property
    def is_possible(self) -> bool:
        """Whether there is a counter."""
        return not isinstance(self.find(), Unavailable)

    def until_s(self, now_s: float) -> float:
        """When counting that begins now has to end."""
        end_s = now_s + LIMIT_S
        return end_s if self.deadline_s is None else min(end_s, self.deadline_s)


def reserved_s(max_time_s: float) -> float:
    """The part of a gate's time that is set aside for counting."""
    return min(LIMIT_S, _SHARE * max_time_s)


def count_instructions(
    cells: Sequence[CountedCell],
    undecided: frozenset[str],
    counting: InstructionCounting,
    warnings: list[str],
    *,
    now: Callable[[], float],
) -> Iterator[int]:
    """Count the benchmarks with the titles `undecided`; yields how many are left, before each run of both sides.

    Short ones come first, so that as many as possible are counted. Adds to `warnings` what could not be counted.
    """
    going = [cell for cell in cells if cell.evidence.role is Role.BENCHMARK and cell.evidence.title in undecided]
    going = sorted((cell for cell in going if not cell.evidence.failures), key=_shortest_s)
    if not going:
        return
    yield len(going)
    counter = counting.find()
    if isinstance(counter, Unavailable):
        warnings.append(f"instructions were not counted where time is undecided: {counter}")
        return
    counting.directory.mkdir(mode=0o700)
    inspector = Inspector(directory=counting.directory, counter=counter, counts_alone=True)
    warnings += counter.warnings
    until_s = counting.until_s(now())
    too_late = []
    longest_s = 0.0
    for number, cell in enumerate(going):
        while runs_wanted(cell.evidence):
            if until_s - now() <= len(Side) * longest_s:
                too_late.append(cell.evidence.title)
                break
            yield len(going) - number
            reason, took_s = _count_both(cell, inspector, until_s, now)
            longest_s = max(longest_s, took_s)
            if reason:
                warnings.append(f"instructions of {cell.evidence.title} could not be counted: {reason}")
                break
    if too_late:
        warnings.append(f"no time was left to count instructions of {', '.join(too_late)}")


def _count_both(cell: CountedCell, inspector: Inspector, until_s: float, now: Callable[[], float]) -> tuple[str, float]:
    """Count one run of each side; why that failed (empty if it did not), and how long the longer one took."""
    longest_s = 0.0
    for side in Side:
        started_s = now()
        try:
            failure = cell.count_instructions(inspector, side, max(_LIMIT_MIN_S, until_s - started_s))
        except MachineError as error:
            return f"{error.what}: {error.why}", longest_s
        if failure is not None:
            return f"the {side} failed in {inspector.counter_name}: {failure.what}", longest_s
        longest_s = max(longest_s, now() - started_s)
    return "", longest_s


def _shortest_s(cell: CountedCell) -> float:
    return min((run.total_time for run in cell.evidence.runs(Side.BASELINE)), default=0.0)
