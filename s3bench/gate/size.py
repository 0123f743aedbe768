"""How large a change is that a gate has shown: from fresh pairs, or corrected for having been selected.

A row FAILs because its pairs showed a large change, so the same pairs overstate it. Pairs that were run afterwards and
take no part in the verdict do not: their estimate and interval are those of any other sample. Where there are none (the
time was over, two documents, older records), the estimate is corrected by `s3bench.stats.selection`.
"""

import math
from collections.abc import Iterator, Sequence
from statistics import NormalDist, median

from msgspec.structs import replace

from s3bench.gate.evidence import CellEvidence, Role
from s3bench.gate.multiple_testing import decide_rows
from s3bench.gate.pair_autocorrelation import widened
from s3bench.gate.paired_series import CONFIDENCE, PairedSeries, pooled, series_of
from s3bench.gate.policy import Policy
from s3bench.gate.row import GateRow, RowKind, Verdict
from s3bench.stats.selection import EarlierSelection, selected_estimate
from s3bench.stats.t_distribution import upper_quantile

SIZING_PAIRS = 12
"""Fresh pairs of each benchmark whose change was shown: an exact interval, and some 3 % of a sigma of 10 %."""

_FRESH_PAIRS_MIN = 6  # fewer have no exact interval of 95 %
_SHOWN = frozenset({Verdict.FAIL, Verdict.SMALL})
_CERTAIN = 0.99
"""If the lower end of the interval would have been selected with this chance, the selection changes nothing."""


def cells_to_size(cells: Sequence[CellEvidence], policy: Policy) -> frozenset[tuple[object, ...]]:
    """The benchmarks (by identity) with a change by size that was shown."""
    shown = {
        row.benchmark
        for row in decide_rows(cells, policy).rows
        if row.kind is RowKind.SIZE and row.role is Role.BENCHMARK and row.verdict in _SHOWN
    }
    return frozenset(cell.identity for cell in cells if cell.role is Role.BENCHMARK and cell.title in shown)


def with_size(row: GateRow, cells: Sequence[CellEvidence], policy: Policy) -> GateRow:
    """Replace `change`, `low` and `high` of a benchmark's row by size whose change was shown; others stay as they are.

    `baseline` and `candidate` are those of the fresh pairs then.
    """
    if row.kind not in {RowKind.SIZE, RowKind.CREEP} or row.role is not Role.BENCHMARK or row.verdict not in _SHOWN:
        return row
    own = [cell for cell in cells if cell.role is Role.BENCHMARK and row.benchmark in {cell.title, ""}]
    has_fresh = all(cell.sizing for cell in own)
    fresh = _series([replace(cell, pairs=cell.sizing) for cell in own], row, policy) if has_fresh else None
    if fresh is not None and fresh.count >= _FRESH_PAIRS_MIN:
        return _sized(row, fresh)
    return _corrected(row, own, policy)


def _sized(row: GateRow, fresh: PairedSeries) -> GateRow:
    low, high = fresh.interval()  # too few to show whether neighbours are alike
    return replace(
        row,
        baseline=median(fresh.baseline),
        candidate=median(fresh.candidate),
        change=fresh.change(),
        low=low,
        high=high,
        adjustment=fresh.adjustment_facts(),
        fresh_pairs=fresh.count,
        reason=f"{row.reason}; size from {fresh.count} fresh pairs",
    )


def _corrected(row: GateRow, cells: Sequence[CellEvidence], policy: Policy) -> GateRow:
    """The row corrected by a normal approximation; as it is if the selection made no difference."""
    looks = tuple(_looks(row, cells, policy))
    assert row.level is not None
    assert row.d0 is not None
    assert row.d1 is not None
    d0, d1 = math.log1p(row.d0), math.log1p(row.d1)
    series, _, miss = looks[-1]
    estimate, error = series.estimate(), _error(series)
    first, alarm, _ = next((look for look in looks if look[0].p_above(d0) <= row.level * look[1]), looks[-1])
    needed = d0 + first.estimate() - first.lower_bound(row.level * alarm) if alarm else -math.inf
    threshold = -math.inf
    if row.verdict is Verdict.FAIL:  # not SMALL: neither the estimate nor the upper bound was below d1
        stopped_early = series.is_paired and not row.is_capped and estimate >= d1
        threshold = d1 if stopped_early else d1 + estimate - series.upper_bound(policy.miss * miss)
    earlier = None
    if first is series:
        threshold = max(threshold, needed)
    else:
        earlier = EarlierSelection(threshold=needed, error=error * math.sqrt(series.count / first.count))
    low = series.lower_bound((1 - CONFIDENCE) / 2)
    if not error or not math.isfinite(error) or _is_certain(low, error, threshold, earlier):
        return row
    found = selected_estimate(estimate, error=error, threshold=threshold, earlier=earlier, confidence=CONFIDENCE)
    shown = math.log1p(row.at_least) if row.at_least is not None else -math.inf
    value = min(max(found.estimate, shown), estimate)
    ends = found.low, max(found.high, value)
    low, high = ends if series.sign > 0 else (-ends[1], -ends[0])
    return replace(
        row,
        change=math.expm1(series.sign * value),
        low=math.expm1(low) if math.isfinite(low) else None,
        high=math.expm1(high) if math.isfinite(high) else None,
        is_corrected=True,
        reason=f"{row.reason}; size corrected for its selection",
    )


def _is_certain(value: float, error: float, threshold: float, earlier: EarlierSelection | None) -> bool:
    """Whether a true `value` is selected almost always."""
    thresholds = [(threshold, error), *([(earlier.threshold, earlier.error)] if earlier else [])]
    return all(NormalDist().cdf((value - each) / spread) >= _CERTAIN for each, spread in thresholds)


def _looks(row: GateRow, cells: Sequence[CellEvidence], policy: Policy) -> Iterator[tuple[PairedSeries, float, float]]:
    """The looks that the row took part in, each with its shares of false alarms and misses; two documents have one."""
    assert row.level is not None
    alarms = policy.looks.alarm_shares(row.level)
    for pairs, alarm, miss in zip(policy.looks.pairs, alarms, policy.looks.miss_shares, strict=True):
        series = _series(cells, row, policy, pairs_max=pairs)
        yield widened(series).series, *((alarm, miss) if series.is_paired else (1.0, 1.0))
        if series.count >= row.pairs or not series.is_paired:
            return


def _series(
    cells: Sequence[CellEvidence], row: GateRow, policy: Policy, *, pairs_max: int | None = None
) -> PairedSeries:
    each = [series_of(cell, row.metric, pairs_max=pairs_max, is_adjusted=policy.adjusts) for cell in cells]
    return pooled(each) if row.kind is RowKind.CREEP else each[0]


def _error(series: PairedSeries) -> float:
    """The standard error of the estimate, from its exact interval, as of a normal distribution instead of Student's t.

    Rows with a small sample deviation are selected more often, so that the factor for few values is needed twice.
    """
    tail = (1 - CONFIDENCE) / 2
    z = NormalDist().inv_cdf(1 - tail)
    factor = upper_quantile(tail, series.count - 1) / z if series.count > 1 else 1.0
    return (series.upper_bound(tail) - series.lower_bound(tail)) / 2 / z * factor
