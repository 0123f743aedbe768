"""Binary search for the first version that changed a metric: the next comparison from the results so far.

The search depends on the results of comparisons alone, so that an interrupted one continues where it stopped. Each
comparison is decided by `s3bench.gate.conclusion`.

Two versions are compared by the gate's own sequential test. The first comparison is that of the two ends, with all
benchmarks and metrics; the most significant change there is the only one that all later comparisons test. Then the
middle one of the remaining versions is compared with the older end: if it has changed, the first changed version is
this one or an earlier one, else a later one. Both outcomes need evidence: "changed" is a FAIL or SMALL of the gate,
"unchanged" a PASS. A version without either outcome is skipped, never guessed.

The error. A comparison is wrong in one direction with a probability of at most `level`: it calls a change up to d0
"changed", or one as large as that of the ends, or of a version that changed, "unchanged"; for the latter the largest of
their lower bounds replaces d1. The comparisons that can be wrong are counted before the first one runs: the ends in
both directions, a step for each halving, and as many as may remain undecided. Each gets an equal part of the error
(Bonferroni), which needs no assumption about their dependence: all use the same older end. This holds for a change
that came at once and stayed. Searches that repeat comparisons and weigh all results (Karp & Kleinberg, "Noisy binary
search and its applications", SODA 2007) assume comparisons of a fixed error; here more pairs reduce the error of each.
"""

import datetime as dt
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import msgspec
from msgspec.structs import replace

from s3bench.errors import BadInput
from s3bench.gate.conclusion import conclude
from s3bench.gate.evidence import ClientCellEvidence, Role, Side
from s3bench.gate.policy import Policy
from s3bench.gate.row import ABOVE_D0, GateRow, RowKind, Verdict
from s3bench.results.metrics import METRICS_BY_NAME, Direction

UNDECIDED_MAX = 3
"""Comparisons that may stay undecided because of noise or a failed control; one more ends the search."""

TRIES = 2
"""How often a comparison is made if its controls fail: a disturbance of the machine may be over."""


class ComparisonPurpose(StrEnum):
    """The purpose of a comparison: detect a change (ENDS), locate it (STEP), or measure it alone (CONFIRMATION)."""

    ENDS = "ends"
    STEP = "step"
    CONFIRMATION = "confirmation"


class ComparisonOutcome(StrEnum):
    """The outcome of a comparison.

    WITHDRAWN: a control failed, or the older version did, which had run before. FAILED: the newer version could not be
    installed or did not run; for the ends, either of them.
    """

    CHANGED = "changed"
    UNCHANGED = "unchanged"
    UNDECIDED = "undecided"
    WITHDRAWN = "withdrawn"
    FAILED = "failed"


class Ending(StrEnum):
    """How a search ended. SUSPECTS: the change is in a range that could not be narrowed down to one version."""

    FOUND = "found"
    SUSPECTS = "suspects"
    NO_CHANGE = "no change"
    UNSETTLED = "not settled"
    FAILED = "failed"


class VersionComparison(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Two versions to compare under `policy`, by their places in the order of versions.

    `benchmark` is the title of the only one to run, empty for the mean over all of them, `None` for each by itself.
    The gate tests whether its candidate is worse. The candidate is the newer version, or the older one if `is_swapped`,
    which tests whether the newer one is better.
    """

    purpose: ComparisonPurpose
    older: int
    newer: int
    is_swapped: bool = False
    benchmark: str | None = None
    policy: Policy

    @property
    def baseline(self) -> int:
        """The version that is the gate's baseline."""
        return self.newer if self.is_swapped else self.older

    @property
    def candidate(self) -> int:
        """The version that is the gate's candidate."""
        return self.older if self.is_swapped else self.newer

    def version(self, side: Side) -> int:
        """The version on `side`."""
        return self.baseline if side is Side.BASELINE else self.candidate


class ComparisonResult(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A comparison with its outcome, the reasons, and the pairs as measured.

    `row` is the row that decided; `others` are, for the ends, further rows that changed. `took_s` is its duration.
    """

    comparison: VersionComparison
    outcome: ComparisonOutcome
    reasons: tuple[str, ...] = ()
    row: GateRow | None = None
    others: tuple[GateRow, ...] = ()
    cells: tuple[ClientCellEvidence, ...] = ()
    took_s: float = 0.0


class SearchResult(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The result of a search.

    `first` is the first version known to be changed, `last` the last one before it known to be unchanged, by their
    places; versions between them are suspects too. `size` compares `first` with the version `sized_from`. `error`
    bounds the probability that the change did not come between `last` and `first`. `skipped` are versions without a
    usable comparison. `reasons` explain why nothing was found; `notes` list further observations.
    """

    ending: Ending
    is_better: bool = False
    benchmark: str | None = None
    metric: str = ""
    last: int | None = None
    first: int | None = None
    size: GateRow | None = None
    sized_from: int = 0
    error: float
    skipped: tuple[int, ...] = ()
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Bisection:
    """A search among `versions`, the older end first.

    `policy` has the metrics, indifference zones and looks; its levels are computed. `error` bounds the probability of a
    wrong result.
    """

    versions: tuple[str, ...]
    policy: Policy
    error: float

    @property
    def steps_max(self) -> int:
        """The largest number of halving steps."""
        return math.ceil(math.log2(len(self.versions) - 1))

    @property
    def comparisons_max(self) -> int:
        """The largest number of comparisons that can be wrong: ends in both directions, steps, undecided ones."""
        return 2 + self.steps_max + UNDECIDED_MAX

    @property
    def level(self) -> float:
        """The allowed probability that one comparison is wrong."""
        return self.error / self.comparisons_max

    def check(self, benchmarks: int) -> None:
        """Raise `BadInput` if the search could never find anything among so many benchmarks."""
        self.check_versions()
        policy = self.comparison_policy
        if not policy.can_fail_by_size(benchmarks):
            tests = policy.tests_by_size(benchmarks)
            raise BadInput(
                f"{policy.looks.cap} pairs are too few to show any change",
                f"{self.comparisons_max} comparisons share an error of {self.error:g}, and in that of the ends "
                f"{tests} test{'s' * (tests != 1)} of {benchmarks} benchmark{'s' * (benchmarks != 1)} share its part",
                "allow more pairs at the last look, for example --pairs 20,40,80, or a larger --error, or select fewer "
                "benchmarks with -k",
            )

    def check_versions(self) -> None:
        """Raise `BadInput` if there are no two ends."""
        if len(self.versions) < 2:  # noqa: PLR2004 (two ends)
            raise BadInput("bisect needs at least two versions", fix="choose two different versions as the ends")

    @property
    def comparison_policy(self) -> Policy:
        """The policy of one comparison: the search's with the allowed error of one, and without counts."""
        return replace(self.policy, exact=(), false_alarm=self.level, miss=self.level)

    def next(self, answers: Sequence[ComparisonResult]) -> VersionComparison | SearchResult:
        """The next comparison after `answers`, or the result if none is needed."""
        return _SearchState(bisection=self, answers=tuple(answers)).next()


def comparison_result(
    comparison: VersionComparison, cells: Sequence[ClientCellEvidence], *, took_s: float = 0.0
) -> ComparisonResult:
    """Decide the outcome of a comparison from what was measured."""
    result = ComparisonResult(
        comparison=comparison, outcome=ComparisonOutcome.FAILED, cells=tuple(cells), took_s=took_s
    )
    failures = [(cell, each) for cell in cells for each in cell.failures]
    if failures:
        cell, each = failures[0]
        why = f": {each.failure.why}" if each.failure.why else ""
        is_ours = cell.role is Role.BENCHMARK and comparison.version(each.side) == comparison.newer
        is_at_end = comparison.purpose is ComparisonPurpose.ENDS
        outcome = ComparisonOutcome.FAILED if is_ours or is_at_end else ComparisonOutcome.WITHDRAWN
        return replace(result, outcome=outcome, reasons=(f"{cell.title}, {each.side}: {each.failure.what}{why}",))
    conclusion = conclude(cells, comparison.policy, today=dt.date.min)
    if conclusion.verdict is Verdict.INVALID:
        return replace(result, outcome=ComparisonOutcome.WITHDRAWN, reasons=conclusion.reasons)
    rows = [row for row in conclusion.rows if row.decides and comparison.benchmark in {None, row.benchmark}]
    return _with_outcome(result, rows)


def failed_comparison(comparison: VersionComparison, version: int, reason: str) -> ComparisonResult:
    """The result of a comparison for which `version` could not be installed."""
    is_lost = version == comparison.newer or comparison.purpose is ComparisonPurpose.ENDS
    return ComparisonResult(
        comparison=comparison,
        outcome=ComparisonOutcome.FAILED if is_lost else ComparisonOutcome.WITHDRAWN,
        reasons=(reason,),
    )


def _with_outcome(result: ComparisonResult, rows: Sequence[GateRow]) -> ComparisonResult:
    """The most significant change decides. UNCHANGED needs evidence from all rows."""
    changed = sorted((row for row in rows if row.verdict in ABOVE_D0), key=_significance)
    if changed:
        return replace(result, outcome=ComparisonOutcome.CHANGED, row=changed[0], others=tuple(changed[1:]))
    is_sized = any(row.kind is RowKind.SIZE for row in rows)
    shown = [row for row in rows if row.kind is RowKind.SIZE or not is_sized]
    nearest = max(shown, key=lambda row: math.inf if row.at_most is None else row.at_most, default=None)
    result = replace(result, outcome=ComparisonOutcome.UNDECIDED, row=nearest)
    open_rows = [row for row in shown if not _is_unchanged(row, result.comparison.purpose)]
    if shown and not open_rows:
        return replace(result, outcome=ComparisonOutcome.UNCHANGED)
    return replace(result, reasons=tuple(f"{row.subject}: {row.reason}" for row in open_rows) or ("not measured",))


def _significance(row: GateRow) -> tuple[float, float]:
    return (1.0 if row.p is None else row.p, -(row.at_least or 0.0))


def _is_unchanged(row: GateRow, purpose: ComparisonPurpose) -> bool:
    """Whether a row PASSes; in a step its estimate must also be nearer to no change than to the change searched for."""
    if row.verdict is not Verdict.PASS or row.d0 is None or row.d1 is None:
        return False
    return purpose is ComparisonPurpose.ENDS or worsening(row) <= max(row.d0, row.d1 / 2)


def worsening(row: GateRow) -> float:
    """The estimated worsening of the gate's candidate, as a share of the baseline; negative if better."""
    if row.change is None:
        return 0.0
    if row.is_drop:
        return -row.change
    is_turned = METRICS_BY_NAME[row.metric].direction is Direction.HIGHER
    return -row.change / (1 + row.change) if is_turned else row.change


@dataclass(frozen=True, kw_only=True)  # without slots, for the cached properties
class _SearchState:
    """The state of a search after `answers`."""

    bisection: Bisection
    answers: tuple[ComparisonResult, ...]

    def next(self) -> VersionComparison | SearchResult:
        ends = self._ends(is_swapped=False)
        if isinstance(ends, VersionComparison):
            return ends
        if ends.outcome in {ComparisonOutcome.UNCHANGED, ComparisonOutcome.UNDECIDED} and _may_be_better(ends):
            swapped = self._ends(is_swapped=True)
            if isinstance(swapped, VersionComparison):
                return swapped
            if swapped.outcome is ComparisonOutcome.CHANGED or ends.outcome is ComparisonOutcome.UNCHANGED:
                ends = swapped
        if ends.outcome is not ComparisonOutcome.CHANGED:
            return self._nothing(ends)
        return self._step(ends) or self._confirmation(ends) or self._found(ends)

    def _ends(self, *, is_swapped: bool) -> ComparisonResult | VersionComparison:
        comparison = VersionComparison(
            purpose=ComparisonPurpose.ENDS,
            older=0,
            newer=self._last,
            is_swapped=is_swapped,
            policy=self.bisection.comparison_policy,
        )
        return self._result_of(comparison) or comparison

    def _nothing(self, ends: ComparisonResult) -> SearchResult:
        ending = {ComparisonOutcome.UNCHANGED: Ending.NO_CHANGE, ComparisonOutcome.FAILED: Ending.FAILED}.get(
            ends.outcome, Ending.UNSETTLED
        )
        metric = "" if ends.row is None else ends.row.metric
        return SearchResult(
            ending=ending,
            is_better=ends.comparison.is_swapped,
            metric=metric,
            size=ends.row,
            error=self.bisection.error,
            reasons=ends.reasons,
        )

    def _step(self, ends: ComparisonResult) -> VersionComparison | None:
        """The comparison of the middle one of the open versions; none if none is open or too many are undecided."""
        low, high = self._range
        left_out = self._unknown
        opened = [place for place in range(low + 1, high) if place not in left_out]
        if not opened or self._undecided_count > UNDECIDED_MAX:
            return None
        return self._asked(ends, ComparisonPurpose.STEP, 0, opened[len(opened) // 2])

    def _confirmation(self, ends: ComparisonResult) -> VersionComparison | None:
        """Compare the first changed version with the last unchanged one, unless they are the ends.

        It can only withdraw a result, so it needs no share of the error.
        """
        low, high = self._range
        if (low, high) == (0, self._last):
            return None
        comparison = self._asked(ends, ComparisonPurpose.CONFIRMATION, low, high)
        return None if self._result_of(comparison) else comparison

    def _asked(self, ends: ComparisonResult, purpose: ComparisonPurpose, older: int, newer: int) -> VersionComparison:
        row = ends.row
        assert row is not None, "a change has a row"
        return VersionComparison(
            purpose=purpose,
            older=older,
            newer=newer,
            is_swapped=ends.comparison.is_swapped,
            benchmark=row.benchmark,
            policy=self._narrowed(row),
        )

    def _narrowed(self, row: GateRow) -> Policy:
        """The policy for a change at least as large as shown so far; a mean over benchmarks uses half the zone.

        What was shown is the change itself, which the floor of a short program's d1 must not enlarge.
        """
        policy = self.bisection.comparison_policy
        zone = policy.indifference_zone(row.metric)
        assert zone is not None
        shown = [
            row,
            *(each.row for each in self._steps if each.outcome is ComparisonOutcome.CHANGED and each.row is not None),
        ]
        at_least = max(each.at_least for each in shown if each.at_least is not None)
        scale = 2 if row.kind is RowKind.CREEP else 1
        narrowed = replace(zone, d1=max(zone.d0, scale * at_least), floor_d1=0.0)
        return replace(policy, metrics=(row.metric,), zones={**policy.zones, row.metric: narrowed})

    def _result_of(self, comparison: VersionComparison) -> ComparisonResult | None:
        """The result of a comparison; `None` if it was not made, or withdrawn and may be tried again."""
        results = [result for result in self.answers if _is_same(result.comparison, comparison)]
        if not results or (results[-1].outcome is ComparisonOutcome.WITHDRAWN and len(results) < TRIES):
            return None
        return results[-1]

    @property
    def _last(self) -> int:
        return len(self.bisection.versions) - 1

    @cached_property
    def _steps(self) -> tuple[ComparisonResult, ...]:
        return tuple(result for result in self.answers if result.comparison.purpose is ComparisonPurpose.STEP)

    @cached_property
    def _range(self) -> tuple[int, int]:
        """The last unchanged version and the first changed one."""
        unchanged = [each.comparison.newer for each in self._steps if each.outcome is ComparisonOutcome.UNCHANGED]
        changed = [each.comparison.newer for each in self._steps if each.outcome is ComparisonOutcome.CHANGED]
        return max(unchanged, default=0), min(changed, default=self._last)

    @cached_property
    def _unknown(self) -> frozenset[int]:
        """Versions to skip: they failed, or their comparisons stayed undecided."""
        counts: dict[int, int] = {}
        for each in self._steps:
            place = each.comparison.newer
            tries = {
                ComparisonOutcome.WITHDRAWN: 1,
                ComparisonOutcome.UNDECIDED: TRIES,
                ComparisonOutcome.FAILED: TRIES,
            }.get(each.outcome, 0)
            counts[place] = counts.get(place, 0) + tries
        return frozenset(place for place, tries in counts.items() if tries >= TRIES)

    @property
    def _undecided_count(self) -> int:
        undecided = {ComparisonOutcome.WITHDRAWN, ComparisonOutcome.UNDECIDED}
        return sum(each.outcome in undecided for each in self._steps)

    def _found(self, ends: ComparisonResult) -> SearchResult:
        low, high = self._range
        assert ends.row is not None
        sized = self._sized(ends)
        found = SearchResult(
            ending=Ending.FOUND if high - low == 1 else Ending.SUSPECTS,
            is_better=ends.comparison.is_swapped,
            benchmark=ends.row.benchmark,
            metric=ends.row.metric,
            last=low,
            first=high,
            size=sized.row,
            sized_from=sized.comparison.older,
            error=self.bisection.error,
            skipped=tuple(sorted(self._unknown & set(range(low + 1, high)))),
            notes=tuple(self._notes(ends)),
        )
        if self._undecided_count > UNDECIDED_MAX:
            found = replace(found, reasons=(f"{self._undecided_count} comparisons were undecided",))
        if reasons := self._doubts():
            found = replace(found, ending=Ending.UNSETTLED, reasons=reasons)
        return found

    def _doubts(self) -> tuple[str, ...]:
        """Why the confirmation withdraws the result. An undecided one does not: its controls have shown a change."""
        confirmed = self._confirmed
        if confirmed is None or confirmed.outcome is ComparisonOutcome.CHANGED:
            return ()
        older, newer = self._name(confirmed.comparison.older), self._name(confirmed.comparison.newer)
        if confirmed.outcome is ComparisonOutcome.UNCHANGED:
            reason = f"{newer} does not differ from {older} by as much as the ends do"
            return reason, "there were several smaller changes, or one of the comparisons is wrong"
        if confirmed.outcome is ComparisonOutcome.UNDECIDED and confirmed.row is not None:
            return ()
        return f"the direct comparison of {newer} with {older} is {confirmed.outcome}", *confirmed.reasons

    @cached_property
    def _confirmed(self) -> ComparisonResult | None:
        results = [each for each in self.answers if each.comparison.purpose is ComparisonPurpose.CONFIRMATION]
        return results[-1] if results else None

    def _sized(self, ends: ComparisonResult) -> ComparisonResult:
        """The comparison that isolates the change best: with the version before, or with the older end."""
        if self._confirmed is not None and self._confirmed.row is not None:
            return self._confirmed
        _, high = self._range
        return next((each for each in self._steps if each.comparison.newer == high and each.row is not None), ends)

    def _notes(self, ends: ComparisonResult) -> Iterator[str]:
        """Observations that do not fit one lasting change, and other rows that changed."""
        assert ends.row is not None
        for result in self._steps:
            if result.row is not None and (words := _inconsistency(result, ends.row)):
                yield f"{self._name(result.comparison.newer)} {words}"
        yield from self._confirmation_notes(ends.row)
        for row in ends.others:
            yield f"{row.subject} also changed between the ends; it was not bisected"

    def _confirmation_notes(self, whole: GateRow) -> Iterator[str]:
        confirmed = self._confirmed
        if confirmed is None:
            return
        older, newer = self._name(confirmed.comparison.older), self._name(confirmed.comparison.newer)
        if confirmed.outcome is ComparisonOutcome.UNDECIDED:
            reasons = "; ".join(confirmed.reasons)
            yield f"the direct comparison of {newer} with {older} is {confirmed.outcome}: {reasons}"
        elif confirmed.row is not None and (part := _compared(confirmed.row, whole)):
            yield f"the change from {older} to {newer} is {part} that of the ends: there is more than one change"

    def _name(self, place: int) -> str:
        return self.bisection.versions[place]


def _is_same(one: VersionComparison, other: VersionComparison) -> bool:
    return (one.purpose, one.older, one.newer, one.is_swapped) == (
        other.purpose,
        other.older,
        other.newer,
        other.is_swapped,
    )


def _may_be_better(ends: ComparisonResult) -> bool:
    """Whether the newer end may be better than the older one, which another comparison would have to show."""
    rows = [] if ends.row is None else conclude(ends.cells, ends.comparison.policy, today=dt.date.min).rows
    sized = [row for row in rows if row.decides and row.kind is RowKind.SIZE and row.d0 is not None]
    return any(worsening(row) < -(row.d0 or 0.0) for row in sized)


def _inconsistency(result: ComparisonResult, whole: GateRow) -> str:
    """How a version differs from both ends; empty if it is like one of them."""
    row = result.row
    assert row is not None
    if result.outcome is ComparisonOutcome.CHANGED and (part := _compared(row, whole)):
        tail = "a later version reverted part of it" if part == "larger than" else "a further change came later"
        return f"changed by an amount {part} that of the newer end: {tail}"
    if result.outcome is ComparisonOutcome.UNCHANGED and row.at_most is not None and row.at_most < -(row.d0 or 0.0):
        return "changed in the other direction: there is more than one change"
    return ""


def _compared(row: GateRow, whole: GateRow) -> str:
    """Which of two changes is larger, if their bounds at the levels that decide do not overlap; else empty."""
    if row.at_least is not None and whole.at_most is not None and row.at_least > whole.at_most:
        return "larger than"
    if row.at_most is not None and whole.at_least is not None and row.at_most < whole.at_least:
        return "smaller than"
    return ""
