"""A sequential test: one metric of one benchmark, or of all benchmarks together, over the looks of a gate.

Every look adds a lower and an upper bound of the worsening. All bounds hold at once since the looks share the error
budget, so the narrowest are used. `s3bench.gate.multiple_testing` assigns the level of each test.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist, median

from msgspec.structs import replace

from s3bench.gate.detectable import detectable_unpaired
from s3bench.gate.evidence import CellEvidence, Role, Side
from s3bench.gate.indifference_zone import IndifferenceZone, Limits, relative_worsening
from s3bench.gate.pair_autocorrelation import WidenedSeries, widened
from s3bench.gate.paired_series import PairedSeries, pooled, series_of
from s3bench.gate.policy import Policy
from s3bench.gate.row import GateRow, RowKind, Verdict
from s3bench.gate.schedule import OpenTest
from s3bench.results.measurement import figure
from s3bench.stats.diagnostics import drift, outliers, two_modes
from s3bench.stats.signed_rank import PAIRS_OF_T_TEST

_WARNINGS_FROM = 10


@dataclass(slots=True, kw_only=True)
class SequentialTest:
    """`at_least` and `at_most` bound the worsening, as log-ratios; infinite until a look gives bounds.

    A mirrored test exchanges baseline and candidate to detect an improvement. `p` is the least p-value of "the
    worsening is d0 or less" so far, each divided by its look's share, and `level` the level from Holm's procedure.
    `series` has the pairs taken so far, and `tested` the same as they are tested. `alarms` are the shares of the looks.
    `is_without_figures`: none of the pairs of the last look has the metric on both sides.
    """

    cells: Sequence[CellEvidence]
    metric: str
    kind: RowKind
    zone: IndifferenceZone
    is_mirrored: bool = False
    is_adjusted: bool = True
    alarms: tuple[float, ...] = ()
    series: PairedSeries = field(init=False)
    tested: WidenedSeries = field(init=False)
    limits: Limits | None = None
    level: float = math.nan
    p: float = 1.0
    at_most: float = math.inf
    looks: list[tuple[PairedSeries, float]] = field(default_factory=list)
    had_last_look: bool = False
    is_without_figures: bool = False

    @property
    def is_above(self) -> bool:
        """Whether the worsening was shown to be more than d0 (equivalent to `at_least` being so)."""
        return self.p <= self.level

    @property
    def at_least(self) -> float:
        """The largest of the lower bounds, each at its look's share of the level."""
        bounds = (series.lower_bound(self.level * share) for series, share in self.looks)
        return max(bounds, default=-math.inf)

    @property
    def is_below(self) -> bool:
        """Whether the worsening was shown to be less than d1."""
        return self.limits is not None and self.at_most < self.limits.d1

    @property
    def verdict(self) -> Verdict:
        """The verdict so far."""
        if self.is_above:
            return Verdict.SMALL if self.is_below else Verdict.FAIL
        return Verdict.PASS if self.is_below else Verdict.INCONCLUSIVE

    @property
    def is_settled(self) -> bool:
        """Whether further pairs would not change the verdict in a way that matters.

        A FAIL with an estimate below d1, or a PASS with one above d0, may still become SMALL. For a control either
        verdict suffices.
        """
        if self.limits is None or not self.series.count or not (self.is_above or self.is_below):
            return False
        if self.role is not Role.BENCHMARK or (self.is_above and self.is_below):
            return True
        estimate = self.series.estimate()
        return estimate >= self.limits.d1 if self.is_above else estimate <= self.limits.d0

    @property
    def needs_pairs(self) -> bool:
        """Whether the test needs more pairs. After a first look without any figure, more would have none either.

        Creep needs them only if its estimate is above d0. Ten pairs are too few for a FAIL among more than a few tests,
        and when every benchmark is slower by less than its d1, all other tests may be decided by then. The same holds
        for a mirrored test, whose counterpart PASSes at once. Once above d0, creep continues like any other test, since
        it may be SMALL.
        """
        if self.kind is RowKind.SIZE and not self.is_mirrored:
            return not self.is_settled and not self.is_without_figures
        return self._is_suspect and not self.is_below and not self.is_settled

    @property
    def role(self) -> Role:
        """The role of its cells."""
        return self.cells[0].role

    @property
    def pairs(self) -> int:
        """The number of pairs that all cells have."""
        return min(len(cell.pairs) for cell in self.cells)

    def take(self, pairs_max: int | None = None) -> None:
        """Take the first `pairs_max` pairs, or all. The first call fixes the indifference zone in log-ratios."""
        each = [series_of(cell, self.metric, pairs_max=pairs_max, is_adjusted=self.is_adjusted) for cell in self.cells]
        series = pooled(each) if self.kind is RowKind.CREEP else each[0]
        self.series = series.mirrored() if self.is_mirrored else series
        self.tested = widened(self.series)
        if self.limits is None and self.series.baseline:
            self.limits = self.zone.limits(median(self.series.baseline))

    def look(self, *, share: float, miss: float) -> None:
        """Test the pairs taken with this share of the false alarms; `miss` is the level of `at_most` at this look."""
        self.is_without_figures = not self.series.count
        if self.limits is None or not self.series.is_known:
            return
        tested = self.tested.series
        if share > 0:
            self.looks.append((tested, share))
            self.p = min(self.p, tested.p_above(self.limits.d0) / share)
        self.at_most = min(self.at_most, tested.upper_bound(miss))

    def last_look(self, policy: Policy) -> None:
        """Test all pairs that are there with what the looks so far left of the error budget, since the time is over.

        Without further pairs there is nothing to test.
        """
        taken = max((count for count in policy.looks.pairs if count <= self.pairs), default=0)
        if taken and self.pairs > taken and not self.is_settled:
            self.take()
            looks = policy.looks
            miss = policy.miss * looks.left(looks.miss_shares, self.pairs)
            self.look(share=looks.left(self.alarms, self.pairs), miss=miss)
            self.had_last_look = True

    def open_test(self, policy: Policy) -> OpenTest:
        """What the schedule has to know of it."""
        return OpenTest(
            cells=tuple(cell.identity for cell in self.cells),
            is_control=self.role is not Role.BENCHMARK,
            is_suspect=self._is_suspect,
            pairs_expected=self._pairs_expected(policy),
        )

    @property
    def _is_suspect(self) -> bool:
        return self.limits is not None and self.series.count > 0 and self.series.estimate() > self.limits.d0

    def _pairs_expected(self, policy: Policy) -> float:
        """The pairs at which it is expected to be decided, if the estimate and the noise stay as they are.

        The nearer of the bounds it still needs: above d0, or below d1.
        """
        looks, sigma = policy.looks, self.tested.series.sigma
        if not looks.pairs[0] <= self.pairs < looks.cap:
            return float(looks.pairs[0])
        if self.limits is None or sigma is None or not self.series.is_known:
            return math.inf
        estimate = self.series.estimate()
        alarm = self.level * looks.left(self.alarms, self.pairs)
        miss = policy.miss * looks.left(looks.miss_shares, self.pairs)
        above = math.inf if self.is_above else _pairs_for(estimate - self.limits.d0, sigma, alarm)
        below = math.inf if self.is_below else _pairs_for(self.limits.d1 - estimate, sigma, miss)
        return min(above, below)

    def row(self, policy: Policy) -> GateRow:
        """The test as a row of the gate."""
        series, cell = self.series, self.cells[0]
        row = GateRow(
            benchmark=cell.title if self.kind is RowKind.SIZE else "",
            metric=self.metric,
            kind=self.kind,
            role=cell.role,
            verdict=self.verdict,
            pairs=series.count,
            is_capped=self.pairs >= policy.looks.cap,
            is_drop=self.zone.is_drop,
            is_mirrored=self.is_mirrored,
        )
        if self.limits is None or not series.count:
            return replace(row, reason=self._missing())
        measured = series.mirrored() if self.is_mirrored else series
        tested = self.tested.series.mirrored() if self.is_mirrored else self.tested.series
        low, high = tested.interval()
        row = replace(
            row,
            baseline=median(measured.baseline),
            candidate=median(measured.candidate),
            change=measured.change(),
            low=low,
            high=high,
            at_least=self._relative(self.at_least),
            at_most=self._relative(self.at_most),
            d0=self._relative(self.limits.d0),
            d1=self._relative(self.limits.d1),
            p=self.p,
            level=self.level,
            alarm_shares=self.alarms,
            sigma=tested.sigma,
            adjustment=measured.adjustment_facts(),
            warnings=(*_warnings(series), *filter(None, (self.tested.warning,))),
        )
        if not series.is_paired:
            error = series.standard_error()
            found = detectable_unpaired(error=error, limits=self.limits, level=self.level, miss=policy.miss)
            row = found.in_row(row)
        return replace(row, reason=self._reason(row, policy))

    def _relative(self, log_ratio: float) -> float | None:
        return relative_worsening(log_ratio, is_drop=self.zone.is_drop) if math.isfinite(log_ratio) else None

    def _missing(self) -> str:
        """Why there is no figure of both sides."""
        missing = [side for side in Side if not self.cells[0].runs(side)]
        if missing:
            return f"no figures of the {' and the '.join(missing)}"
        counts = ((cell, series_of(cell, self.metric, is_adjusted=False).count) for cell in self.cells)
        cell = next((cell for cell, count in counts if not count), self.cells[0])
        of_cell = f" of {cell.title}" * (self.kind is RowKind.CREEP)
        without = [side for side in Side if not any((figure(run, self.metric) or 0) > 0 for run in cell.runs(side))]
        if not without:
            return f"no pair{of_cell} has {self.metric} on both sides"
        of_side = "" if len(without) > 1 else f" of the {without[0]}"
        return f"no {self.metric} in any run{of_side}{of_cell}"

    def _reason(self, row: GateRow, policy: Policy) -> str:
        first = policy.looks.pairs[0]
        unit = "pairs" if self.series.is_paired else "runs of a side"
        if row.verdict is Verdict.INCONCLUSIVE and not self.series.is_known:
            return f"{1 - self.series.known_share:.0%} of the {unit} have no {self.metric} above 0"
        if row.verdict is Verdict.INCONCLUSIVE and self.series.count < first:
            needs = "pairs; the first look needs" if self.series.is_paired else "runs of each side; a verdict needs"
            return f"{self.series.count} {needs} {first}"
        if row.better_by is not None:
            return f"at least {row.better_by:+.1%} better, above {row.d0:.1%}"
        match row.verdict:
            case Verdict.FAIL:
                return f"{self._bounds(row.at_least, None)}, above {row.d0:.1%}"
            case Verdict.SMALL:
                return f"{self._bounds(row.at_least, row.at_most)}: real, and below {row.d1:.1%}"
            case Verdict.PASS:
                is_rise = self.zone.is_drop and (row.at_most or 0.0) < 0
                return f"{self._bounds(None, row.at_most)}{'' if is_rise else f', below {row.d1:.1%}'}"
        known = self._bounds(row.at_least, row.at_most) or "undetermined, better or worse"
        words = f"{known}: not certainly above {row.d0:.1%} nor certainly below {row.d1:.1%}"
        can_follow = self.series.is_paired and not self.had_last_look
        following = [pairs for pairs in policy.looks.pairs if can_follow and pairs > self.pairs]
        return f"{words}; {self.pairs} pairs, the next look needs {following[0]}" if following else words

    def _bounds(self, at_least: float | None, at_most: float | None) -> str:
        """The bounds of the worsening in words; a decrease of less than 0 is an increase."""
        is_drop = self.zone.is_drop
        known = [(name, bound) for name, bound in (("least", at_least), ("most", at_most)) if bound is not None]
        if is_drop and any(bound < 0 for _, bound in known):
            return " and ".join(_of_change(name, bound) for name, bound in known)
        sign, word = ("", "lower") if is_drop else ("+", "worse")
        return f"{' and '.join(f'at {name} {bound:{sign}.1%}' for name, bound in known)} {word}" if known else ""


def _of_change(name: str, decrease: float) -> str:
    """The `least` or `most` decrease; the least decrease of less than 0 is the most increase."""
    if decrease >= 0:
        return f"at {name} {decrease:.1%} lower"
    return f"at {'most' if name == 'least' else 'least'} {-decrease:.1%} higher"


def _pairs_for(gap: float, sigma: float, level: float) -> float:
    """The pairs with which a mean that is `gap` away from a limit is expected to be shown to be on its side."""
    if gap <= 0:
        return math.inf
    return PAIRS_OF_T_TEST * (NormalDist().inv_cdf(level) * sigma / gap) ** 2


def _warnings(series: PairedSeries) -> Iterator[str]:
    if series.known_share < 1:
        unit = "pairs" if series.is_paired else "runs of a side"
        yield f"{1 - series.known_share:.0%} of the {unit} have no figure above 0 and are left out"
    if series.adjustment is not None and series.adjustment.moved:
        yield f"not adjusted for the machine: {series.adjustment.moved} differs between the two sides"
    values = series.worsenings if series.is_paired else ()
    if len(values) < _WARNINGS_FROM:
        return
    ratios = [math.exp(value) for value in values]
    if drift(ratios):
        yield "the change drifts during the gate: something on the machine changed"
    if two_modes(ratios):
        yield "the pairs have two modes: the client or the machine behaves in two different ways"
    found = outliers(ratios)
    if found:
        yield f"{len(found.positions)} of {len(values)} pairs are outliers, which are included"
