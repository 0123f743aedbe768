"""How large a change is that a gate has shown: from the pairs that showed it and fresh ones, corrected for selection.

A row FAILs because its pairs showed a large change, so the same pairs overstate it. Pairs that were run afterwards and
take no part in the verdict do not. Both together say most: the estimate is that of all pairs, given that those of the
verdict were selected (`s3bench.stats.selection`). Where there are no fresh ones (the time was over, two documents,
older records), the pairs of the verdict are corrected alone.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist, median

from msgspec.structs import replace

from s3bench.gate.evidence import CellEvidence, Role
from s3bench.gate.indifference_zone import log_worsening
from s3bench.gate.multiple_testing import decide_rows
from s3bench.gate.pair_autocorrelation import stretched, widened
from s3bench.gate.paired_series import CONFIDENCE, PairedSeries, pooled, series_of
from s3bench.gate.policy import Policy
from s3bench.gate.row import ABOVE_D0, GateRow, RowKind, Verdict
from s3bench.stats.selection import EstimateSelection, selected_estimate
from s3bench.stats.t_distribution import upper_quantile

SIZING_PAIRS = 12
"""Fresh pairs of each benchmark whose change was shown."""

_CERTAIN = 0.99
"""If the lower end of the interval would have been selected with this chance, the selection changes nothing."""


def cells_to_size(cells: Sequence[CellEvidence], policy: Policy) -> frozenset[tuple[object, ...]]:
    """The benchmarks (by identity) with a change by size that was shown."""
    shown = {
        row.benchmark
        for row in decide_rows(cells, policy).rows
        if row.kind is RowKind.SIZE and row.role is Role.BENCHMARK and row.verdict in ABOVE_D0
    }
    return frozenset(cell.identity for cell in cells if cell.role is Role.BENCHMARK and cell.title in shown)


def with_size(row: GateRow, cells: Sequence[CellEvidence], policy: Policy) -> GateRow:
    """Replace `change`, `low` and `high` of a benchmark's row by size whose change was shown; others stay as they are.

    With fresh pairs, `baseline` and `candidate` are those of all pairs that the size comes from.
    """
    if row.kind not in {RowKind.SIZE, RowKind.CREEP} or row.role is not Role.BENCHMARK or row.verdict not in ABOVE_D0:
        return row
    own = [cell for cell in cells if cell.role is Role.BENCHMARK and row.benchmark in {cell.title, ""}]
    looks = tuple(_looks(row, own, policy))
    series, sized = looks[-1].series, row
    if all(cell.sizing for cell in own):
        cells = [replace(cell, pairs=(*cell.pairs[: looks[-1].pairs], *cell.sizing)) for cell in own]
        whole = _series(cells, row, policy)
        if whole.count > series.count:
            # Of neighbours in all pairs the test would find the step from selected pairs to fresh ones.
            tested = stretched(whole, looks[-1].factor)
            series, sized = tested, _sized(row, whole, tested.interval(), fresh_pairs=whole.count - series.count)
    return _corrected(sized, series, _selections(row, looks, policy, _error(series) * math.sqrt(series.count)))


def _sized(
    row: GateRow, whole: PairedSeries, interval: tuple[float | None, float | None], *, fresh_pairs: int
) -> GateRow:
    low, high = interval
    return replace(
        row,
        baseline=median(whole.baseline),
        candidate=median(whole.candidate),
        change=whole.change(),
        low=low,
        high=high,
        adjustment=whole.adjustment_facts(),
        fresh_pairs=fresh_pairs,
        reason=f"{row.reason}; size from {whole.count} pairs, {fresh_pairs} of them fresh",
    )


def _selections(row: GateRow, looks: Sequence["_Look"], policy: Policy, spread: float) -> tuple[EstimateSelection, ...]:
    """What the estimates of which looks had to exceed; `spread` is the standard error of one pair."""
    assert row.level is not None
    assert row.d0 is not None
    assert row.d1 is not None
    d0, d1 = (log_worsening(each, is_drop=row.is_drop) for each in (row.d0, row.d1))
    last = looks[-1]
    estimate = last.series.estimate()
    first = next((look for look in looks if look.series.p_above(d0) <= row.level * look.alarm), last)
    needed = (
        d0 + first.series.estimate() - first.series.lower_bound(row.level * first.alarm) if first.alarm else -math.inf
    )
    threshold = -math.inf
    if row.verdict is Verdict.FAIL:  # not SMALL: neither the estimate nor the upper bound was below d1
        stopped_early = last.pairs is not None and last.pairs < policy.looks.cap and estimate >= d1
        threshold = d1 if stopped_early else d1 + estimate - last.series.upper_bound(policy.miss * last.miss)
    if first is last:
        threshold = max(threshold, needed)
    found = [] if first is last else [EstimateSelection(threshold=needed, error=spread / math.sqrt(first.series.count))]
    return (*found, EstimateSelection(threshold=threshold, error=spread / math.sqrt(last.series.count)))


def _corrected(row: GateRow, series: PairedSeries, selections: Sequence[EstimateSelection]) -> GateRow:
    """The row corrected by a normal approximation; as it is if the selection made no difference."""
    estimate, error = series.estimate(), _error(series)
    low = series.lower_bound((1 - CONFIDENCE) / 2)
    if not error or not math.isfinite(error) or all(_is_certain(low, selection) for selection in selections):
        return row
    found = selected_estimate(estimate, error=error, selections=selections, confidence=CONFIDENCE)
    shown = -math.inf
    if row.at_least is not None and not row.fresh_pairs:
        shown = log_worsening(row.at_least, is_drop=row.is_drop)
    value = min(max(found.estimate, shown), estimate)
    ends = found.low, max(found.high, value)
    low, high = ends if series.sign > 0 else (-ends[1], -ends[0])
    return replace(
        row,
        change=math.expm1(series.sign * value),
        low=math.expm1(low) if math.isfinite(low) else None,
        high=math.expm1(high) if math.isfinite(high) else None,
        is_corrected=True,
        reason=f"{row.reason}{',' if row.fresh_pairs else '; size'} corrected for its selection",
    )


def _is_certain(value: float, selection: EstimateSelection) -> bool:
    """Whether a true `value` is selected almost always."""
    return NormalDist().cdf((value - selection.threshold) / selection.error) >= _CERTAIN


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """The first `pairs` pairs (`None`: all runs) with the shares of false alarms and misses that this look spends.

    `factor` is how much wider neighbours that are alike have made the series.
    """

    pairs: int | None
    series: PairedSeries
    factor: float
    alarm: float
    miss: float


def _looks(row: GateRow, cells: Sequence[CellEvidence], policy: Policy) -> Iterator[_Look]:
    """The looks that the row took part in; two documents have one.

    The last look of a gate whose time was over has what the others left.
    """
    looks = policy.looks
    for number, pairs in enumerate(looks.pairs):
        tested = widened(_series(cells, row, policy, pairs_max=pairs))
        series = tested.series
        if not series.is_paired:
            yield _Look(pairs=None, series=series, factor=1.0, alarm=1.0, miss=1.0)
            return
        taken = min(len(cell.pairs[:pairs]) for cell in cells)
        alarm, miss = (
            (shares[number] if taken == pairs else looks.left(shares, taken))
            for shares in (row.alarm_shares, looks.miss_shares)
        )
        yield _Look(pairs=taken, series=series, factor=tested.factor, alarm=alarm, miss=miss)
        if series.count >= row.pairs:
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
