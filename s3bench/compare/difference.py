"""Compares one metric of one benchmark in two groups: medians, change, confidence interval, outcome.

Measured metrics (times, memory, throughput) are compared as ratios: the Hodges-Lehmann shift of their logarithms, with
an interval from the exact Mann-Whitney test. Shares, such as the error rate, and figures of which one is 0 or less have
no ratio: their difference is the shift of the plain values, by the same test, which uses ranks alone. Exact metrics
(requests, bytes on the wire, page faults that read a disk) are compared as counts. All others are shown without an
outcome.

Outcomes are decided only when all rows are known: the more rows, the more of them differ by chance, so the p-values are
adjusted together (Benjamini-Hochberg).
"""

import math
from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache

import msgspec

from s3bench.compare.matching import MatchedBenchmark
from s3bench.compare.metrics import REQUESTS_BY_KIND
from s3bench.compare.sample import MetricFigures, SampleSummary
from s3bench.compare.sample_warning import SampleWarning
from s3bench.results.metrics import Direction, Metric, Unit
from s3bench.stats.exact_counts import CONFIRMING_RUNS
from s3bench.stats.multiplicity import benjamini_hochberg
from s3bench.stats.rank_sum import estimate_shift

CONFIDENCE = 0.95

_ALPHA = 1 - CONFIDENCE
_SEPARATION_RUNS_MAX = 25  # with more runs, the smallest possible p-value suffices for any number of rows
_ROUNDING = 1 + 1e-9
_EXACT = frozenset({
    "major_faults", "wire.requests", "wire.retries", "wire.bytes_received", "wire.bytes_sent", "wire.part_size_max",
    "wire.checksums_verified",
})  # fmt: skip


class ChangeOutcome(StrEnum):
    """The outcome of a row, in the order of importance to the reader."""

    WORSE = "worse"
    DIFFERS = "differs"
    BETTER = "better"
    TOO_FEW = "too few runs"
    VARIES = "varies"
    NOT_JUDGED = "not judged"
    NO_DETECTABLE_DIFFERENCE = "no detectable difference"
    NO_DIFFERENCE = "no difference"
    EQUAL = "equal"


class ComparisonRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One metric of one benchmark: the other group compared with the baseline.

    `change` is relative (0.05 is 5 % more), `low` and `high` are its 95 % confidence interval for this row alone; null
    if unknown. A row without ratios has `difference` in the metric's unit with its interval instead; its `change`, null
    for a share, is then that of the medians. `p` is the p-value of this row, `p_adjusted` the one adjusted for all rows
    of the comparison. `word` names the outcome, `detail` explains it. `kind` is the kind of request for
    `requests_by_kind`, else empty.
    """

    benchmark: str
    dimensions: tuple[dict[str, str], ...]
    baseline_client: str
    other_client: str
    metric: str
    kind: str = ""
    unit: Unit
    direction: Direction
    outcome: ChangeOutcome
    word: str
    detail: str = ""
    baseline: SampleSummary
    other: SampleSummary
    change: float | None = None
    low: float | None = None
    high: float | None = None
    difference: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    warnings: tuple[SampleWarning, ...] = ()

    @property
    def importance(self) -> tuple[int, float]:
        """The sort key of rows: by outcome, then large changes before small ones."""
        return _ORDER[self.outcome], -self._size

    @property
    def _size(self) -> float:
        """The absolute logarithm of the ratio, or of that of the medians; infinite from or to 0."""
        if self.change is not None and self.difference is None:
            return abs(math.log1p(self.change)) if self.change > -1 else math.inf
        before, after = self.baseline.median, self.other.median
        if before is None or after is None or before == after:
            return 0.0
        return abs(math.log(after) - math.log(before)) if min(before, after) > 0 else math.inf


_ORDER = {outcome: place for place, outcome in enumerate(ChangeOutcome)}


def is_measured(metric: Metric) -> bool:
    """Whether the metric is noisy and has a better direction: times, memory, throughput, shares."""
    return metric.direction is not Direction.NEUTRAL and metric.unit is not Unit.COUNT


def compare_metric(
    subject: MatchedBenchmark, metric: Metric, baseline: MetricFigures, other: MetricFigures, *, kind: str = ""
) -> ComparisonRow:
    """Compare the figures of one benchmark. Rows of measured metrics get their outcome from `with_outcomes`."""
    blank = ComparisonRow(
        benchmark=subject.baseline.result.name,
        dimensions=subject.baseline.dimension_objects,
        baseline_client=subject.baseline.result.client.label,
        other_client=subject.other.result.client.label,
        metric=REQUESTS_BY_KIND if kind else metric.name,
        kind=kind,
        unit=metric.unit,
        direction=metric.direction,
        outcome=ChangeOutcome.NOT_JUDGED,
        word=ChangeOutcome.NOT_JUDGED,
        baseline=baseline.sample,
        other=other.sample,
    )
    if not baseline.values or not other.values:
        return _with(blank, ChangeOutcome.TOO_FEW, detail=f"{_counts(blank)}; nothing to compare with")
    if kind or metric.name in _EXACT:
        return _exact_row(blank, baseline, other)
    if _are_equal(baseline, other):
        return _with(blank, ChangeOutcome.NO_DIFFERENCE, change=0.0)
    if not is_measured(metric):
        return _with(
            blank,
            ChangeOutcome.NOT_JUDGED,
            change=_change_of_medians(blank),
            detail="for this metric neither direction is better",
        )
    if metric.unit is Unit.SHARE or min(*baseline.values, *other.values) <= 0:
        return _difference_row(blank, baseline, other)
    try:
        return _ratio_row(blank, baseline, other)
    except OverflowError:
        return _with(blank, ChangeOutcome.NOT_JUDGED, detail="the ratio is larger than a number can be")


def with_outcomes(rows: Sequence[ComparisonRow]) -> list[ComparisonRow]:
    """Decide the outcome of every row of a measured metric, with all p-values adjusted together."""
    tested = [index for index, each in enumerate(rows) if each.p is not None]
    adjusted = benjamini_hochberg([each.p for each in rows if each.p is not None])
    assessed = list(rows)
    for index, p_adjusted in zip(tested, adjusted, strict=True):
        assessed[index] = _with_outcome(rows[index], p_adjusted, len(tested))
    return assessed


def _are_equal(baseline: MetricFigures, other: MetricFigures) -> bool:
    """Whether the values are identical in order, or one value throughout.

    Noisy values that merely happen to be the same set are not equal.
    """
    return baseline.values == other.values or len({*baseline.values, *other.values}) == 1


def _exact_row(blank: ComparisonRow, baseline: MetricFigures, other: MetricFigures) -> ComparisonRow:
    if _are_equal(baseline, other):
        return _with(blank, ChangeOutcome.EQUAL)
    change = _change_of_medians(blank)
    if min(other.values) <= max(baseline.values) and min(baseline.values) <= max(other.values):
        return _with(
            blank,
            ChangeOutcome.VARIES,
            change=change,
            detail="the counts vary from run to run and their ranges overlap",
        )
    fewest = min(blank.baseline.n, blank.other.n)
    detail = f"{_counts(blank)}; {CONFIRMING_RUNS} confirm it" if fewest < CONFIRMING_RUNS else ""
    return _with(blank, ChangeOutcome.DIFFERS, change=change, detail=detail)


def _ratio_row(blank: ComparisonRow, baseline: MetricFigures, other: MetricFigures) -> ComparisonRow:
    first, second = _logarithms(baseline), _logarithms(other)
    found = estimate_shift(first, second, alpha=_ALPHA / 2)
    change = math.expm1(found.shift)
    if not math.isfinite(found.low) or not math.isfinite(found.high):
        return _with(blank, ChangeOutcome.TOO_FEW, change=change, detail=_too_few(blank))
    return msgspec.structs.replace(
        blank, change=change, low=math.expm1(found.low), high=math.expm1(found.high), p=found.p
    )


def _difference_row(blank: ComparisonRow, baseline: MetricFigures, other: MetricFigures) -> ComparisonRow:
    found = estimate_shift(baseline.values, other.values, alpha=_ALPHA / 2)
    change = None if blank.unit is Unit.SHARE else _change_of_medians(blank)
    row = msgspec.structs.replace(blank, difference=found.shift, change=change)
    if not math.isfinite(found.low) or not math.isfinite(found.high):
        return _with(row, ChangeOutcome.TOO_FEW, detail=_too_few(blank))
    return msgspec.structs.replace(row, difference_low=found.low, difference_high=found.high, p=found.p)


def _with_outcome(each: ComparisonRow, p_adjusted: float, rows: int) -> ComparisonRow:
    low, high = (each.low, each.high) if each.difference is None else (each.difference_low, each.difference_high)
    assert low is not None
    assert high is not None
    excludes_zero = low > 0 or high < 0  # with ties the interval may be wider than the test
    if p_adjusted <= _ALPHA and excludes_zero:
        is_worse = _is_more(each) is (each.direction is Direction.LOWER)
        outcome = ChangeOutcome.WORSE if is_worse else ChangeOutcome.BETTER
        return msgspec.structs.replace(each, outcome=outcome, word=_word(each), p_adjusted=p_adjusted)
    if excludes_zero and _is_separated(each):
        # The groups are completely separated: only the number of runs is too small.
        detail = f"{_counts(each)}; {_runs_enough(_ALPHA / rows)} on each side are enough to decide among {rows} rows"
        return _with(each, ChangeOutcome.TOO_FEW, detail=detail, p_adjusted=p_adjusted)
    return _with(each, ChangeOutcome.NO_DETECTABLE_DIFFERENCE, p_adjusted=p_adjusted)


def _with(each: ComparisonRow, outcome: ChangeOutcome, **known: object) -> ComparisonRow:
    return msgspec.structs.replace(each, outcome=outcome, word=outcome.value, **known)


def _logarithms(figures: MetricFigures) -> list[float]:
    return [math.log(value) for value in figures.values]


def _change_of_medians(each: ComparisonRow) -> float | None:
    before, after = each.baseline.median, each.other.median
    return (after - before) / before if before and after is not None else None


def _is_more(each: ComparisonRow) -> bool:
    return ((each.change if each.difference is None else each.difference) or 0) > 0


def _is_separated(each: ComparisonRow) -> bool:
    """Whether every value of one group lies above every value of the other, which gives the smallest p-value."""
    assert each.p is not None
    before, after = each.baseline.n, each.other.n
    return max(before, after) <= _SEPARATION_RUNS_MAX and each.p <= 2 / math.comb(before + after, before) * _ROUNDING


def _too_few(each: ComparisonRow) -> str:
    return f"{_counts(each)}; {_runs_enough(_ALPHA)} on each side are enough for a 95 % interval"


def _counts(each: ComparisonRow) -> str:
    before, after = each.baseline.n, each.other.n
    return f"n={before}" if before == after else f"n={before} and {after}"


@lru_cache(maxsize=64)
def _runs_enough(alpha: float) -> int:
    """The fewest runs per group for which complete separation has a two-sided p-value of at most `alpha`.

    Fewer of one group are enough with more of the other.
    """
    runs = 1
    while 2 / math.comb(2 * runs, runs) > alpha:
        runs += 1
    return runs


def _word(each: ComparisonRow) -> str:
    """The direction of the change in words that fit the metric, such as `slower` or `more memory`."""
    more = _is_more(each)
    name = each.metric
    if each.unit is Unit.SECONDS and "cpu" not in name:
        return "slower" if more else "faster"
    if each.unit is Unit.SHARE:
        return "more errors" if more else "fewer errors"
    if each.unit is Unit.PER_SECOND:
        return "more operations" if more else "fewer operations"
    noun = "CPU time" if "cpu" in name else "memory" if each.unit is Unit.BYTES else "throughput"
    return f"{'more' if more else 'less'} {noun}"
