"""What is said of one metric of one benchmark in two groups: medians, relative change, interval, and a word.

Owns the rows of a comparison and their words. Measured figures (times, memory, throughput) are judged as ratios: the
Hodges-Lehmann shift of their logarithms, its interval by inverting the exact Mann-Whitney test (`ranksum`). Exact
figures (requests, bytes on the wire) are compared as they are. All others are shown, not judged.

A word is given only after all rows are known: the more rows, the more of them differ by chance, so p-values are
adjusted together (Benjamini and Hochberg, `multiplicity`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

import msgspec

from s3bench.compare.sample import MetricFigures, SampleSummary
from s3bench.compare.sample_warning import SampleWarning
from s3bench.results.metrics import Direction, Metric, Unit
from s3bench.stats.exact_counts import CONFIRMING_RUNS
from s3bench.stats.multiplicity import benjamini_hochberg
from s3bench.stats.rank_sum import compared

CONFIDENCE = 0.95
REQUESTS_BY_KIND = "requests_by_kind"
"""The one metric that is a table: it gives a row for each kind of request."""

_ALPHA = 1 - CONFIDENCE
_FEW = 25  # above, the smallest p-value suffices for any number of rows
_ROUNDING = 1 + 1e-9
_EXACT = frozenset({
    "wire.requests", "wire.retries", "wire.bytes_received", "wire.bytes_sent", "wire.part_size_max",
    "wire.checksums_verified",
})  # fmt: skip


class ChangeOutcome(StrEnum):
    """What a row says, in the order of its importance to the reader."""

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
    """One metric of one benchmark, the other group held against the baseline.

    `change` is relative (0.05 is 5 % more), `low` and `high` bound it with 95 % confidence for this row by itself;
    null where there is none. `p` is that of this row, `p_adjusted` that among all rows of the comparison. `word` says
    the outcome, `detail` why. `kind` is the kind of request where the metric is `requests_by_kind`.
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
    p: float | None = None
    p_adjusted: float | None = None
    doubts: tuple[SampleWarning, ...] = ()

    @property
    def importance(self) -> tuple[int, float]:
        """What to sort rows by: outcomes in their order, large changes before small ones."""
        size = 0.0 if self.change is None else abs(math.log1p(self.change)) if self.change > -1 else math.inf
        return _ORDER[self.outcome], -size


_ORDER = {outcome: place for place, outcome in enumerate(ChangeOutcome)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedMetric:
    """What a row speaks of."""

    benchmark: str
    dimensions: tuple[dict[str, str], ...]
    baseline_client: str
    other_client: str


def is_measured(metric: Metric) -> bool:
    """Whether noise touches the metric and one way is better: times, memory, throughput."""
    return metric.direction is not Direction.NEUTRAL and metric.unit is not Unit.COUNT


def hold(
    subject: ComparedMetric, metric: Metric, baseline: MetricFigures, other: MetricFigures, *, kind: str = ""
) -> ComparisonRow:
    """Hold the figures of two groups against each other. A measured row has its final word only after `judged`."""
    blank = ComparisonRow(
        benchmark=subject.benchmark,
        dimensions=subject.dimensions,
        baseline_client=subject.baseline_client,
        other_client=subject.other_client,
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
        return _said(blank, ChangeOutcome.TOO_FEW, detail=f"{_counts(blank)}; nothing to compare with")
    if kind or metric.name in _EXACT:
        return _exact_row(blank, baseline, other)
    if _are_equal(baseline, other):
        return _said(blank, ChangeOutcome.NO_DIFFERENCE, change=0.0)
    if not is_measured(metric):
        return _said(
            blank,
            ChangeOutcome.NOT_JUDGED,
            change=_change_of_medians(blank),
            detail="neither more nor less of it is better",
        )
    if min(*baseline.values, *other.values) <= 0:
        return _said(
            blank, ChangeOutcome.NOT_JUDGED, change=_change_of_medians(blank), detail="figures of 0 have no ratio"
        )
    return _measured_row(blank, baseline, other)


def judged(rows: Sequence[ComparisonRow]) -> list[ComparisonRow]:
    """Give every measured row its word, all p-values adjusted together."""
    tested = [index for index, each in enumerate(rows) if each.p is not None]
    adjusted = benjamini_hochberg([each.p for each in rows if each.p is not None])
    words = list(rows)
    for index, p_adjusted in zip(tested, adjusted, strict=True):
        words[index] = _judged_row(rows[index], p_adjusted, len(tested))
    return words


def _are_equal(baseline: MetricFigures, other: MetricFigures) -> bool:
    """Whether the figures are the same, or one figure throughout. Noise that happens to look alike is not equal."""
    return baseline.values == other.values or len({*baseline.values, *other.values}) == 1


def _exact_row(blank: ComparisonRow, baseline: MetricFigures, other: MetricFigures) -> ComparisonRow:
    if _are_equal(baseline, other):
        return _said(blank, ChangeOutcome.EQUAL)
    change = _change_of_medians(blank)
    if min(other.values) <= max(baseline.values) and min(baseline.values) <= max(other.values):
        return _said(blank, ChangeOutcome.VARIES, change=change, detail="from run to run, over a common range")
    fewest = min(blank.baseline.n, blank.other.n)
    detail = f"{_counts(blank)}; {CONFIRMING_RUNS} confirm it" if fewest < CONFIRMING_RUNS else ""
    return _said(blank, ChangeOutcome.DIFFERS, change=change, detail=detail)


def _measured_row(blank: ComparisonRow, baseline: MetricFigures, other: MetricFigures) -> ComparisonRow:
    first, second = _logarithms(baseline), _logarithms(other)
    found = compared(first, second, alpha=_ALPHA / 2)
    change = math.expm1(found.shift)
    if not math.isfinite(found.low) or not math.isfinite(found.high):
        return _said(blank, ChangeOutcome.TOO_FEW, change=change, detail=_too_few(blank))
    return msgspec.structs.replace(
        blank, change=change, low=math.expm1(found.low), high=math.expm1(found.high), p=found.p
    )


def _judged_row(each: ComparisonRow, p_adjusted: float, rows: int) -> ComparisonRow:
    assert each.change is not None
    assert each.low is not None
    assert each.high is not None
    excludes_zero = each.low > 0 or each.high < 0  # with ties the interval may be wider than the test
    if p_adjusted <= _ALPHA and excludes_zero:
        is_worse = (each.change > 0) is (each.direction is Direction.LOWER)
        outcome = ChangeOutcome.WORSE if is_worse else ChangeOutcome.BETTER
        return msgspec.structs.replace(each, outcome=outcome, word=_word(each), p_adjusted=p_adjusted)
    if excludes_zero and _is_apart(each):
        # The data could not have said it more clearly: what is missing is their number.
        detail = f"{_counts(each)}; {_runs_needed(_ALPHA / rows)} needed on each side to tell among {rows} rows"
        return _said(each, ChangeOutcome.TOO_FEW, detail=detail, p_adjusted=p_adjusted)
    return _said(each, ChangeOutcome.NO_DETECTABLE_DIFFERENCE, p_adjusted=p_adjusted)


def _said(each: ComparisonRow, outcome: ChangeOutcome, **known: object) -> ComparisonRow:
    return msgspec.structs.replace(each, outcome=outcome, word=outcome.value, **known)


def _logarithms(figures: MetricFigures) -> list[float]:
    return [math.log(value) for value in figures.values]


def _change_of_medians(each: ComparisonRow) -> float | None:
    before, after = each.baseline.median, each.other.median
    return (after - before) / before if before and after is not None else None


def _is_apart(each: ComparisonRow) -> bool:
    """Whether its p-value is the smallest that so few runs can have: all of one group above all of the other."""
    assert each.p is not None
    before, after = each.baseline.n, each.other.n
    return max(before, after) <= _FEW and each.p <= 2 / math.comb(before + after, before) * _ROUNDING


def _too_few(each: ComparisonRow) -> str:
    return f"{_counts(each)}; {_runs_needed(_ALPHA)} needed on each side for a 95 % interval"


def _counts(each: ComparisonRow) -> str:
    before, after = each.baseline.n, each.other.n
    return f"n={before}" if before == after else f"n={before} and {after}"


@lru_cache(maxsize=64)
def _runs_needed(alpha: float) -> int:
    """The fewest runs in each of two groups whose complete separation has a two-sided p of `alpha` at most."""
    runs = 1
    while 2 / math.comb(2 * runs, runs) > alpha:
        runs += 1
    return runs


def _word(each: ComparisonRow) -> str:
    """Say which way the other group differs, in the metric's own words."""
    more = (each.change or 0) > 0
    name = each.metric
    if each.unit is Unit.SECONDS and "cpu" not in name:
        return "slower" if more else "faster"
    if each.unit is Unit.SHARE:
        return "more errors" if more else "fewer errors"
    if each.unit is Unit.PER_SECOND:
        return "more operations" if more else "fewer operations"
    noun = "CPU time" if "cpu" in name else "memory" if each.unit is Unit.BYTES else "throughput"
    return f"{'more' if more else 'less'} {noun}"
