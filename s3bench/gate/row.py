"""One row of a gate: a metric of a benchmark with its change, its confidence bounds and its verdict."""

from enum import StrEnum

import msgspec

from s3bench.gate.adjustment import AdjustmentFacts
from s3bench.gate.evidence import Role
from s3bench.gate.exact_metric import CountChange
from s3bench.gate.indifference_zone import log_worsening, relative_worsening


class Verdict(StrEnum):
    """The verdict on one row or on a whole gate.

    FAIL: the change is above d0. PASS: it is below d1. SMALL: both. INCONCLUSIVE: neither could be shown. INVALID (only
    of a whole gate): a control or a client failed, so that nothing can be concluded.
    """

    INVALID = "INVALID"
    FAIL = "FAIL"
    INCONCLUSIVE = "INCONCLUSIVE"
    SMALL = "SMALL"
    PASS = "PASS"  # noqa: S105 (a verdict)


ABOVE_D0 = frozenset({Verdict.FAIL, Verdict.SMALL})
"""The verdicts that say that the change is above d0."""


class RowKind(StrEnum):
    """How a row was tested: by size, by size over all benchmarks together, by exact counts, or for information only.

    INSTRUCTIONS: by the size of a count, because time was undecided.
    """

    SIZE = "size"
    CREEP = "creep"
    EXACT = "exact"
    INSTRUCTIONS = "instructions"
    INFORMING = "informing"


class GateRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One metric of one benchmark.

    `benchmark` is the benchmark's title, empty for a row over all of them. `baseline` and `candidate` are medians in
    the metric's unit. `change` is the Hodges-Lehmann estimate of the relative change of the metric (0.05: 5 % more),
    `low` and `high` its unadjusted 95 % interval. `at_least` and `at_most` bound the worsening (0.05: 5 % worse) at the
    levels that decide, `d0` and `d1` are the indifference zone; with `is_drop` these four and what is detectable are
    decreases of the metric. With `is_mirrored` they are about the baseline against the candidate. `p` is the p-value of
    "the worsening is d0 or less": the least of all looks, each divided by its share (`alarm_shares`); `level` is the
    level it had to reach. In an informational row `p` is two-sided and adjusted (Benjamini-Hochberg). `sigma` is the
    standard deviation of the pairs' log-ratios. All of these are adjusted for the machine, if `adjustment` is there and
    nothing moved; the medians are not.
    `detectable` is the smallest worsening that 95 of 100 gates with all looks would FAIL, `detectable_small` the
    smallest that 95 of 100 would show as SMALL or FAIL; both by simulation with this `sigma`. `changes`
    lists the counts that differ. `waived_by` is the reason of a waiver. `is_capped`: there are as
    many pairs as the gate allows.
    After a FAIL or SMALL, `change`, `low` and `high` are those of these pairs and of `fresh_pairs` that took no part in
    the verdict; they are corrected for the selection (`is_corrected`), unless it changes nothing.
    """

    benchmark: str
    metric: str
    kind: RowKind
    role: Role = Role.BENCHMARK
    verdict: Verdict | None = None
    reason: str = ""
    pairs: int = 0
    baseline: float | None = None
    candidate: float | None = None
    change: float | None = None
    low: float | None = None
    high: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    d0: float | None = None
    d1: float | None = None
    p: float | None = None
    level: float | None = None
    alarm_shares: tuple[float, ...] = ()
    sigma: float | None = None
    adjustment: AdjustmentFacts | None = None
    detectable: float | None = None
    detectable_small: float | None = None
    changes: tuple[CountChange, ...] = ()
    waived_by: str = ""
    is_capped: bool = False
    fresh_pairs: int = 0
    is_corrected: bool = False
    is_drop: bool = False
    is_mirrored: bool = False
    warnings: tuple[str, ...] = ()

    @property
    def subject(self) -> str:
        """Metric and benchmark: `total_time of s3.cp.upload FileSize=32MB`."""
        return f"{self.metric} of {self.benchmark}" if self.benchmark else f"{self.metric} over all benchmarks"

    @property
    def better_by(self) -> float | None:
        """Of a mirrored row, how much better than the baseline the candidate was shown to be at least."""
        if not self.is_mirrored or self.at_least is None:
            return None
        return relative_worsening(log_worsening(self.at_least, is_drop=self.is_drop), is_drop=not self.is_drop)

    @property
    def decides(self) -> bool:
        """Whether the verdict of the gate depends on this row."""
        return self.role is Role.BENCHMARK and self.kind is not RowKind.INFORMING
