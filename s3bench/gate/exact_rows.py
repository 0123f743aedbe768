"""Builds the rows of exact metrics: which names differ, and the verdict. For every exact metric more is worse.

Page faults follow the limits of peak memory: most of them are pages that memory needs, so that an increase of memory
that is SMALL must not FAIL for its faults.
"""

import math
from collections.abc import Iterator, Sequence
from statistics import median

from msgspec.structs import replace

from s3bench.gate.evidence import CellEvidence, Side
from s3bench.gate.exact_metric import (
    EXACT_BY_NAME,
    PAGE_BYTES,
    CountChange,
    Counts,
    Difference,
    ExactMetric,
    compare_counts,
    counts_of,
)
from s3bench.gate.paired_series import series_of
from s3bench.gate.policy import Policy
from s3bench.gate.row import GateRow, RowKind, Verdict

_NAMES_MAX = 5


def exact_rows(cell: CellEvidence, policy: Policy) -> Iterator[GateRow]:
    """A row for every exact metric of the policy that was observed on either side.

    Where counts alone decide, and some of them could not be observed because nothing was run for them, the first of
    these has a row too: without one, the other benchmarks would decide for this one.
    """
    rows = [row for name in policy.exact if (row := _row(cell, EXACT_BY_NAME[name], policy)) is not None]
    yield from rows
    if policy.metrics or any(row.verdict is Verdict.INCONCLUSIVE for row in rows):
        return
    observed = {row.metric for row in rows}
    missing = [name for name in policy.exact if name not in observed and not _is_measured(cell, EXACT_BY_NAME[name])]
    if missing:
        row = GateRow(benchmark=cell.title, metric=missing[0], kind=RowKind.EXACT)
        yield replace(row, verdict=Verdict.INCONCLUSIVE, reason="not measured")


def _row(cell: CellEvidence, metric: ExactMetric, policy: Policy) -> GateRow | None:
    """The row of a metric; `None` if it was observed on neither side."""
    baseline, candidate = (counts_of(cell, metric, side) for side in Side)
    if not baseline and not candidate:
        return None
    pairs = min(len(baseline), len(candidate))
    row = GateRow(benchmark=cell.title, metric=metric.name, kind=RowKind.EXACT, pairs=pairs)
    if not baseline or not candidate:
        side = Side.CANDIDATE if baseline else Side.BASELINE
        return replace(row, verdict=Verdict.INCONCLUSIVE, reason=f"not observed in the {side}")
    limits = _page_limits(cell, metric, policy)
    if limits is not None:
        row = replace(row, d0=limits[0], d1=limits[1])
    usual = median(_totals(baseline))
    is_below = row.d1 is not None and median(_totals(candidate)) - usual < row.d1 * usual
    return _with_verdict(row, metric, _changes(cell, metric, limits), is_below=is_below)


def _is_measured(cell: CellEvidence, metric: ExactMetric) -> bool:
    """Whether both sides were run for this metric. Documents have runs alone: what inspections show is left out there.

    A live gate inspects a benchmark before its pairs.
    """
    if metric.needs_inspection:
        return all(cell.inspections(side) or cell.counted(side) for side in Side)
    return all(cell.counted(side) for side in Side)


def unconfirmed(cell: CellEvidence, policy: Policy) -> tuple[ExactMetric, ...]:
    """The exact metrics of the policy with a difference that too few runs confirm."""
    metrics = (EXACT_BY_NAME[name] for name in policy.exact)
    return tuple(metric for metric in metrics if _is_unconfirmed(cell, metric, policy))


def _is_unconfirmed(cell: CellEvidence, metric: ExactMetric, policy: Policy) -> bool:
    changes = _changes(cell, metric, _page_limits(cell, metric, policy))
    return any(change.difference is Difference.UNCONFIRMED for change in changes)


def _changes(cell: CellEvidence, metric: ExactMetric, limits: tuple[float, float] | None) -> tuple[CountChange, ...]:
    baseline, candidate = (counts_of(cell, metric, side) for side in Side)
    tolerance = metric.tolerance if limits is None else limits[0]
    return compare_counts(baseline, candidate, tolerance=tolerance, confirming_runs=metric.confirming_runs)


def _page_limits(cell: CellEvidence, metric: ExactMetric, policy: Policy) -> tuple[float, float] | None:
    """The limits of peak memory, d0 and d1, as shares of the baseline's median count; `None` of counts of no pages.

    A page that is mapped around a fault is resident without a fault of its own, so that memory has more pages than
    faults. The limits are those of the memory in pages: what memory may grow by, faults may.
    """
    baseline = counts_of(cell, metric, Side.BASELINE)
    if not metric.counts_pages or not baseline:
        return None
    faults = median(_totals(baseline))
    zone = policy.indifference_zone("peak_memory")
    assert zone is not None
    memory = series_of(cell, "peak_memory").baseline
    pages = max(faults, median(memory) / PAGE_BYTES if memory else 0.0)
    limits = zone.limits(pages * PAGE_BYTES)
    share = pages / max(1.0, faults)
    return math.expm1(limits.d0) * share, math.expm1(limits.d1) * share


def _totals(runs: Sequence[Counts]) -> list[int]:
    return [sum(counts.values()) for counts in runs]


def _with_verdict(row: GateRow, metric: ExactMetric, changes: tuple[CountChange, ...], *, is_below: bool) -> GateRow:
    """`is_below`: the increase is below the limit from which on it must not pass, which most metrics have not."""
    more = [change for change in changes if change.difference is Difference.MORE]
    unconfirmed = [change for change in changes if change.difference is Difference.UNCONFIRMED]
    if more and is_below:
        verdict, reason = Verdict.SMALL, f"{len(more)} more: {_names(more)}: real, and below {row.d1:.1%}"
    elif more:
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
