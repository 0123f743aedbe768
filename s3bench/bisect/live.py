"""Finds the first version that changed a metric: installs each version when it is needed, and runs the gate on two.

What to compare next, and what the results of all comparisons mean, is decided by `s3bench.bisect.search`.
"""

import random
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from s3bench.bench.runner import Bench, Conditions, Settings
from s3bench.bisect.record import BisectRecord
from s3bench.bisect.search import (
    Bisection,
    ComparisonPurpose,
    ComparisonResult,
    VersionComparison,
    comparison_result,
    failed_comparison,
)
from s3bench.clients.client import FoundClient
from s3bench.clients.staging import stage
from s3bench.errors import ClientNotFound, S3BenchError
from s3bench.gate.evidence import CellEvidence, Side
from s3bench.gate.live import GateRules, GateStatus, run_gate
from s3bench.spec.definition import Definition

_SEEDS = 2**32

Provider = Callable[[int], FoundClient]
"""Finds or installs the version at a place in the order of versions; raises `ClientNotFound`."""

Measurer = Callable[[VersionComparison, int], Iterator[GateStatus]]
"""Runs the pairs of one comparison, under a seed; raises `VersionFailed`."""


class VersionFailed(S3BenchError):
    """A version could not be installed; the search continues without it."""

    def __init__(self, place: int, error: S3BenchError) -> None:
        super().__init__(error.what, error.why, error.fix)
        self.place = place


@dataclass(frozen=True, slots=True, kw_only=True)
class BisectStatus:
    """A comparison that is about to begin, has a `gate` on its way, or has its `answer`."""

    comparison: VersionComparison
    gate: GateStatus | None = None
    answer: ComparisonResult | None = None


def run_bisection(
    bisection: Bisection,
    answers: Sequence[ComparisonResult],
    measure: Measurer,
    *,
    seed: int,
    now: Callable[[], float],
) -> Iterator[BisectStatus]:
    """Make one comparison after the other, after those of `answers`, until the search has ended.

    It ends without the answer to a comparison that was out of time.
    """
    made = tuple(answers)
    while isinstance(comparison := bisection.next(made), VersionComparison):
        yield BisectStatus(comparison=comparison)
        started_s = now()
        try:
            gate = None
            for gate in measure(comparison, _seed_of(seed, made)):
                yield BisectStatus(comparison=comparison, gate=gate)
        except VersionFailed as error:
            answer = failed_comparison(
                comparison, error.place, "; ".join(part for part in (error.what, error.why) if part)
            )
        else:
            assert gate is not None, "a gate ends with a status"
            if gate.is_out_of_time:
                return
            answer = comparison_result(comparison, gate.cells, took_s=round(now() - started_s, 3))
        made = (*made, answer)
        yield BisectStatus(comparison=comparison, answer=answer)


def recorded(
    record: BisectRecord, statuses: Iterator[BisectStatus], *, out_of_time: str = ""
) -> Iterator[tuple[BisectRecord, BisectStatus]]:
    """Yield the record as it grows; `out_of_time` is why it was stopped if the time of the search is over."""
    for status in statuses:
        if status.answer is not None:
            record = msgspec.structs.replace(record, answers=(*record.answers, status.answer), unfinished=())
        elif status.gate is not None:
            stopped = out_of_time if status.gate.is_out_of_time else ""
            record = msgspec.structs.replace(record, unfinished=status.gate.cells, stopped=stopped)
        yield record, status


def _seed_of(seed: int, answers: Sequence[ComparisonResult]) -> int:
    """Another seed for each comparison, and the same for one that is made again after an interruption."""
    return random.Random(f"{seed} {len(answers)}").randrange(_SEEDS)  # noqa: S311 (an order, not a secret)


def measurer(
    bench: Bench,
    definitions: Sequence[Definition],
    provide: Provider,
    settings: Settings,
    *,
    now: Callable[[], float],
    deadline_s: float | None = None,
    conditions: Callable[[int], Conditions] | None = None,
) -> Measurer:
    """Make comparisons by the gate. `conditions` has each version run under its own, to test the search itself.

    The first and the last ones have the gate's controls, which show that a difference is found and none is invented; a
    search is not believed without both. With controls, the steps between them would cost three times as much.
    """

    def measure(comparison: VersionComparison, seed: int) -> Iterator[GateStatus]:
        chosen = [each for each in definitions if comparison.benchmark in {None, "", title_of(each)}]
        assert chosen, "what changed is one of the benchmarks"
        rules = GateRules(
            policy=comparison.policy,
            settings=settings,
            seed=seed,
            deadline_s=deadline_s,
            has_controls=comparison.purpose is not ComparisonPurpose.STEP,
        )
        if conditions is not None:
            sides = {side: conditions(comparison.version(side)) for side in Side}
            rules = replace(
                rules,
                sham=dict.fromkeys(chosen, sides[Side.BASELINE]),
                planted=dict.fromkeys(chosen, sides[Side.CANDIDATE]),
            )
        found = {side: _provided(provide, comparison.version(side)) for side in Side}
        place = Path(tempfile.mkdtemp(prefix="bisect-", dir=bench.root))
        try:
            staged = {side: stage(found[side], place / name).client for name, side in zip("ab", Side, strict=True)}
            yield from run_gate(bench, chosen, staged, rules, None, now=now)
        finally:
            shutil.rmtree(place, ignore_errors=True)

    return measure


def _provided(provide: Provider, place: int) -> FoundClient:
    try:
        return provide(place)
    except ClientNotFound as error:
        raise VersionFailed(place, error) from error


def title_of(definition: Definition) -> str:
    """The title that a row of the gate has for this benchmark."""
    dimensions = tuple({name: value} for name, value in definition.dimensions)
    return CellEvidence(name=definition.name, dimensions=dimensions).title
