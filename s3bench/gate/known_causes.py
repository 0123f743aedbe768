"""Causes that the pairs and inspections of a gate show by themselves, without a profile: counts and phases."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from s3bench.gate.evidence import ClientCellEvidence
from s3bench.gate.row import GateRow
from s3bench.profiling.explanation import Cause, CauseKind
from s3bench.results.measurement import Measurement, Milestones
from s3bench.stats.signed_rank import SignedRankTest

PHASES = ("interpreter_start", "imports_done", "plugins_loaded", "client_created", "first_request", "last_response")
"""The milestones between which phases are; the last phase ends with the client."""

_ERROR = 0.05
_PAIRS_MIN = 5
_KINDS = {
    "requests": CauseKind.REQUEST,
    "modules": CauseKind.IMPORT,
    "system_calls": CauseKind.SYSTEM_CALL,
}


def counted_causes(rows: Sequence[GateRow], benchmark: str) -> tuple[Cause, ...]:
    """The requests, imports and system calls of a benchmark whose numbers differ, by its exact rows."""
    return tuple(
        Cause(
            kind=_KINDS[row.metric],
            place=change.name,
            counts=(sum(change.baseline) / 2, sum(change.candidate) / 2),
        )
        for row in rows
        if row.benchmark == benchmark and row.metric in _KINDS
        for change in row.changes
        if change.increase
    )


def changed_phases(cell: ClientCellEvidence) -> tuple[Cause, ...]:
    """The phases of a run whose time differs, in seconds: their 95 % intervals together exclude no change.

    The error is divided by the number of phases (Bonferroni).
    """
    if len(cell.pairs) < _PAIRS_MIN:
        return ()
    phases: dict[str, list[float]] = {}
    for pair in cell.pairs:
        before, after = dict(_phases(pair.baseline)), dict(_phases(pair.candidate))
        for name in before.keys() & after.keys():
            phases.setdefault(name, []).append(after[name] - before[name])
    found = []
    for name in sorted(phases):
        alpha = _ERROR / 2 / len(phases)
        test = SignedRankTest(phases[name])
        low, high = test.lower_bound(alpha), test.upper_bound(alpha)
        if low > 0 or high < 0:
            change = test.hodges_lehmann()
            found.append(Cause(kind=CauseKind.PHASE, place=name, change=change, low=low, high=high))
    return tuple(sorted(found, key=lambda cause: -abs(cause.change or 0.0)))


def _phases(run: Measurement) -> Iterator[tuple[str, float]]:
    """The phases of a run, named by the milestones at their ends, in seconds."""
    reached = [("start", 0.0), *_reached(run.milestones), ("end", run.total_time)]
    for (begin, began_s), (end, ended_s) in pairwise(reached):
        yield f"{begin} to {end}", ended_s - began_s


def _reached(milestones: Milestones) -> Iterator[tuple[str, float]]:
    for name in PHASES:
        at_s = getattr(milestones, name)
        if at_s is not None:
            yield name, at_s
