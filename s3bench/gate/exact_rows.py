"""Builds the rows of exact metrics: which names differ, and the verdict. For every exact metric more is worse."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from s3bench.gate.evidence import CellEvidence, Side
from s3bench.gate.exact_metric import (
    EXACT_BY_NAME,
    CountChange,
    Difference,
    ExactMetric,
    compare_counts,
    counts_of,
)
from s3bench.gate.policy import Policy
from s3bench.gate.row import GateRow, RowKind, Verdict

_NAMES_MAX = 5


def exact_rows(cell: CellEvidence, policy: Policy) -> Iterator[GateRow]:
    """A row for every exact metric of the policy that was observed on either side."""
    for name in policy.exact:
        metric = EXACT_BY_NAME[name]
        baseline, candidate = (counts_of(cell, metric, side) for side in Side)
        if not baseline and not candidate:
            continue
        row = GateRow(benchmark=cell.title, metric=name, kind=RowKind.EXACT, pairs=min(len(baseline), len(candidate)))
        if not baseline or not candidate:
            side = Side.CANDIDATE if baseline else Side.BASELINE
            yield replace(row, verdict=Verdict.INCONCLUSIVE, reason=f"not observed in the {side}")
            continue
        yield _with_verdict(row, metric, _changes(cell, metric))


def unconfirmed(cell: CellEvidence, policy: Policy) -> tuple[ExactMetric, ...]:
    """The exact metrics of the policy with a difference that too few runs confirm."""
    return tuple(
        EXACT_BY_NAME[name]
        for name in policy.exact
        if any(change.difference is Difference.UNCONFIRMED for change in _changes(cell, EXACT_BY_NAME[name]))
    )


def _changes(cell: CellEvidence, metric: ExactMetric) -> tuple[CountChange, ...]:
    baseline, candidate = (counts_of(cell, metric, side) for side in Side)
    return compare_counts(baseline, candidate, tolerance=metric.tolerance, confirming_runs=metric.confirming_runs)


def _with_verdict(row: GateRow, metric: ExactMetric, changes: tuple[CountChange, ...]) -> GateRow:
    more = [change for change in changes if change.difference is Difference.MORE]
    unconfirmed = [change for change in changes if change.difference is Difference.UNCONFIRMED]
    if more:
        verdict, reason = Verdict.FAIL, f"{len(more)} more: {_names(more)}"
    elif unconfirmed:
        verdict = Verdict.INCONCLUSIVE
        reason = f"differs in {row.pairs} runs ({_names(unconfirmed)}); confirming it takes {metric.confirming_runs}"
    elif changes:
        verdict, reason = Verdict.PASS, f"{len(changes)} fewer: {_names(changes)}"
    else:
        verdict, reason = Verdict.PASS, "no difference"
    return replace(row, verdict=verdict, reason=reason, changes=changes)


def _names(changes: Sequence[CountChange]) -> str:
    names = [f"{each.name} ({_span(each.baseline)} -> {_span(each.candidate)})" for each in changes[:_NAMES_MAX]]
    rest = len(changes) - len(names)
    return ", ".join(names) + (f" and {rest} others" if rest else "")


def _span(ends: tuple[int, int]) -> str:
    return f"{ends[0]}" if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"
