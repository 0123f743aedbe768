"""Which version is the first that changed a metric: what to compare next, told what was compared so far.

Owns the course of a search and its error bound. It follows from the answers alone, so that an interrupted search goes
on where it stopped, and knows nothing of processes. How one comparison is judged is the gate's (`conclusion`).

Two versions are compared by the gate's own sequential test. First the two ends, in which everything that was asked for
takes part; what changed most surely there is the subject, and of every other comparison the only one. Then the version
in the middle of those that are still open is held against the older end: when it has changed the first that did is this
one or an earlier one, else a later one. Such an answer is an earned one either way: "changed" is a FAIL or SMALL of the
gate, "unchanged" a PASS, and all else is none, costs a version its place in the search, and is never guessed.

The error. A comparison is wrong in one direction with a probability of at most `level`, whatever is true: it says
"changed" of a change up to d0, or "unchanged" of one that is as large as was shown of the ends, or of a version that
changed: the largest of their lower bounds takes the place of d1. Comparisons that can be wrong are counted before the
first one runs: the ends in both directions, a step for each halving, and as many as may stay without an answer. Each
gets an equal part of the error (Bonferroni), which needs no assumption on how they depend on each other: all use the
same older end. This holds for a change that came at once and stayed. Searches that ask again and weigh all answers
(Karp & Kleinberg, "Noisy binary search and its applications", SODA 2007) are for answers of a fixed error; here further
pairs make each as sure as it has to be.
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
from s3bench.gate.evidence import CellEvidence, Role, Side
from s3bench.gate.policy import Policy
from s3bench.gate.row import GateRow, RowKind, Verdict
from s3bench.results.metrics import METRICS_BY_NAME, Direction

UNANSWERED_MAX = 3
"""Comparisons that may end without an answer, for noise or a failed control; after one more the search ends."""

TRIES = 2
"""So often a comparison is made whose controls fail: what disturbed the machine may have gone."""

_ABOVE = frozenset({Verdict.FAIL, Verdict.SMALL})


class ComparisonPurpose(StrEnum):
    """What a comparison is for: whether there is anything to find, where it is, and how large it is by itself."""

    ENDS = "ends"
    STEP = "step"
    CONFIRMATION = "confirmation"


class ComparisonOutcome(StrEnum):
    """What a comparison showed. WITHDRAWN: a control failed, or the older version did, which had run before.

    FAILED: the newer version could not be installed or did not run; of the ends either of them.
    """

    CHANGED = "changed"
    UNCHANGED = "unchanged"
    UNDECIDED = "undecided"
    WITHDRAWN = "withdrawn"
    FAILED = "failed"


class Ending(StrEnum):
    """How a search ended. SUSPECTS: the change lies in a range that could not be narrowed down to one version."""

    FOUND = "found"
    SUSPECTS = "suspects"
    NO_CHANGE = "no change"
    UNSETTLED = "not settled"
    FAILED = "failed"


class VersionComparison(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Two versions to be compared, by their places in the order of versions, under `policy`.

    `benchmark` is the title of the only one to run, empty for the mean over all of them, `None` for each by itself.
    The gate asks whether its candidate is worse: the newer version, or the older one where `is_swapped`, which asks
    whether the newer one is better.
    """

    purpose: ComparisonPurpose
    older: int
    newer: int
    is_swapped: bool = False
    benchmark: str | None = None
    policy: Policy

    @property
    def baseline(self) -> int:
        """The version on the gate's first side."""
        return self.newer if self.is_swapped else self.older

    @property
    def candidate(self) -> int:
        """The version on the gate's second side."""
        return self.older if self.is_swapped else self.newer

    def version(self, side: Side) -> int:
        """The version on `side`."""
        return self.baseline if side is Side.BASELINE else self.candidate


class ComparisonResult(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A comparison that was made: its outcome, why, and the raw pairs that it was judged by.

    `row` is the one that decided, `others` those that changed too, of the ends. `took_s` is what it cost.
    """

    comparison: VersionComparison
    outcome: ComparisonOutcome
    reasons: tuple[str, ...] = ()
    row: GateRow | None = None
    others: tuple[GateRow, ...] = ()
    cells: tuple[CellEvidence, ...] = ()
    took_s: float = 0.0


class SearchResult(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a search came to.

    `first` is the first version that changed, `last` the last one before it that did not, by their places; all between
    are suspects too. `size` holds `first` against the version `sized_from`. `error` bounds the chance that the change
    did not come between `last` and `first`. `skipped` are versions of which nothing is known. `reasons` say why nothing
    was found, `notes` what else the answers show.
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
    """A search among `versions`, the older end first. `policy` has metrics, zones and looks; its levels follow.

    `error` bounds the chance that anything wrong is said.
    """

    versions: tuple[str, ...]
    policy: Policy
    error: float

    @property
    def steps_max(self) -> int:
        """The most steps that halving takes."""
        return math.ceil(math.log2(len(self.versions) - 1))

    @property
    def comparisons_max(self) -> int:
        """The most comparisons that can be wrong: ends in two directions, steps, and those without an answer."""
        return 2 + self.steps_max + UNANSWERED_MAX

    @property
    def level(self) -> float:
        """The chance that one comparison is wrong."""
        return self.error / self.comparisons_max

    def check(self) -> None:
        """Raise `BadInput` where nothing could be found at all."""
        if len(self.versions) < 2:  # noqa: PLR2004 (two ends)
            raise BadInput("there is one version, and nothing to compare it with", fix="name two that differ")
        looks = self.policy.looks
        if 0.5**looks.cap > self.level * looks.share(len(looks.pairs) - 1):
            raise BadInput(
                f"with {looks.cap} pairs no change could ever be shown",
                f"{self.comparisons_max} comparisons share an error of {self.error:g}",
                "ask for more pairs at the last look",
            )

    def next(self, answers: Sequence[ComparisonResult]) -> VersionComparison | SearchResult:
        """What to compare after `answers`, or what they come to."""
        return _Course(bisection=self, answers=tuple(answers)).next()


def answer_of(comparison: VersionComparison, cells: Sequence[CellEvidence], *, took_s: float = 0.0) -> ComparisonResult:
    """Judge what a comparison has measured."""
    answer = ComparisonResult(
        comparison=comparison, outcome=ComparisonOutcome.FAILED, cells=tuple(cells), took_s=took_s
    )
    failures = [(cell, each) for cell in cells for each in cell.failures]
    if failures:
        cell, each = failures[0]
        why = f": {each.failure.why}" if each.failure.why else ""
        is_ours = cell.role is Role.BENCHMARK and comparison.version(each.side) == comparison.newer
        is_at_end = comparison.purpose is ComparisonPurpose.ENDS
        outcome = ComparisonOutcome.FAILED if is_ours or is_at_end else ComparisonOutcome.WITHDRAWN
        return replace(answer, outcome=outcome, reasons=(f"{cell.title}, {each.side}: {each.failure.what}{why}",))
    conclusion = conclude(cells, comparison.policy, today=dt.date.min)
    if conclusion.verdict is Verdict.INVALID:
        return replace(answer, outcome=ComparisonOutcome.WITHDRAWN, reasons=conclusion.reasons)
    rows = [row for row in conclusion.rows if row.decides and comparison.benchmark in {None, row.benchmark}]
    return _judged(answer, rows)


def failed_answer(comparison: VersionComparison, version: int, reason: str) -> ComparisonResult:
    """The answer where `version` could not be had."""
    is_lost = version == comparison.newer or comparison.purpose is ComparisonPurpose.ENDS
    return ComparisonResult(
        comparison=comparison,
        outcome=ComparisonOutcome.FAILED if is_lost else ComparisonOutcome.WITHDRAWN,
        reasons=(reason,),
    )


def _judged(answer: ComparisonResult, rows: Sequence[GateRow]) -> ComparisonResult:
    """The surest change decides; without any all rows have to be without one."""
    changed = sorted((row for row in rows if row.verdict in _ABOVE), key=_sureness)
    if changed:
        return replace(answer, outcome=ComparisonOutcome.CHANGED, row=changed[0], others=tuple(changed[1:]))
    is_sized = any(row.kind is RowKind.SIZE for row in rows)
    shown = [row for row in rows if row.kind is RowKind.SIZE or not is_sized]
    nearest = max(shown, key=lambda row: math.inf if row.at_most is None else row.at_most, default=None)
    answer = replace(answer, outcome=ComparisonOutcome.UNDECIDED, row=nearest)
    open_rows = [row for row in shown if not _is_unchanged(row, answer.comparison.purpose)]
    if shown and not open_rows:
        return replace(answer, outcome=ComparisonOutcome.UNCHANGED)
    return replace(answer, reasons=tuple(f"{row.subject}: {row.reason}" for row in open_rows) or ("not measured",))


def _sureness(row: GateRow) -> tuple[float, float]:
    return (1.0 if row.p is None else row.p, -(row.at_least or 0.0))


def _is_unchanged(row: GateRow, purpose: ComparisonPurpose) -> bool:
    """Of a step a PASS is none whose estimate is nearer to the change that is searched for than to no change."""
    if row.verdict is not Verdict.PASS or row.d0 is None or row.d1 is None:
        return False
    return purpose is ComparisonPurpose.ENDS or worsening(row) <= max(row.d0, row.d1 / 2)


def worsening(row: GateRow) -> float:
    """The estimate of how much worse the gate's candidate is, as a share of the baseline: negative when better."""
    if row.change is None:
        return 0.0
    is_turned = METRICS_BY_NAME[row.metric].direction is Direction.HIGHER
    return -row.change / (1 + row.change) if is_turned else row.change


@dataclass(frozen=True, kw_only=True)  # without slots: what follows from the answers is worked out once
class _Course:
    """Where a search stands, after `answers`."""

    bisection: Bisection
    answers: tuple[ComparisonResult, ...]

    def next(self) -> VersionComparison | SearchResult:
        ends = self._ends(is_swapped=False)
        if isinstance(ends, VersionComparison):
            return ends
        if ends.outcome is ComparisonOutcome.UNCHANGED and _may_be_better(ends):
            ends = self._ends(is_swapped=True)
            if isinstance(ends, VersionComparison):
                return ends
        if ends.outcome is not ComparisonOutcome.CHANGED:
            return self._nothing(ends)
        return self._step(ends) or self._confirmation(ends) or self._found(ends)

    def _ends(self, *, is_swapped: bool) -> ComparisonResult | VersionComparison:
        policy = self._policy(self.bisection.policy)
        asked = VersionComparison(
            purpose=ComparisonPurpose.ENDS, older=0, newer=self._last, is_swapped=is_swapped, policy=policy
        )
        return self._answered(asked) or asked

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
        """The middle one of the versions still open; none when none is, or too many gave no answer."""
        low, high = self._range
        left_out = self._unknown
        opened = [place for place in range(low + 1, high) if place not in left_out]
        if not opened or self._unanswered > UNANSWERED_MAX:
            return None
        return self._asked(ends, ComparisonPurpose.STEP, 0, opened[len(opened) // 2])

    def _confirmation(self, ends: ComparisonResult) -> VersionComparison | None:
        """The first that changed against the last that did not. Where that is the older end it was made before.

        It can only take back what the steps said, so that it has no share in the error.
        """
        low, high = self._range
        if not low:
            return None
        asked = self._asked(ends, ComparisonPurpose.CONFIRMATION, low, high)
        return None if self._answered(asked) else asked

    def _asked(self, ends: ComparisonResult, purpose: ComparisonPurpose, older: int, newer: int) -> VersionComparison:
        row = ends.row
        assert row is not None, "what changed is a row"
        return VersionComparison(
            purpose=purpose,
            older=older,
            newer=newer,
            is_swapped=ends.comparison.is_swapped,
            benchmark=row.benchmark,
            policy=self._narrowed(row),
        )

    def _narrowed(self, row: GateRow) -> Policy:
        """The rules for a change at least as large as shown so far; a mean is held against half the zone."""
        policy = self._policy(self.bisection.policy)
        zone = policy.zone(row.metric)
        assert zone is not None
        shown = [
            row,
            *(each.row for each in self._steps if each.outcome is ComparisonOutcome.CHANGED and each.row is not None),
        ]
        at_least = max(each.at_least for each in shown if each.at_least is not None)
        scale = 2 if row.kind is RowKind.CREEP else 1
        narrowed = replace(zone, d1=max(zone.d0, scale * at_least))
        return replace(policy, metrics=(row.metric,), zones={**policy.zones, row.metric: narrowed})

    def _policy(self, policy: Policy) -> Policy:
        level = self.bisection.level
        return replace(policy, exact=(), false_alarm=level, miss=level)

    def _answered(self, asked: VersionComparison) -> ComparisonResult | None:
        """The answer to a comparison; `None` where there is none, or one that was withdrawn and may be tried again."""
        made = [answer for answer in self.answers if _is_same(answer.comparison, asked)]
        if not made or (made[-1].outcome is ComparisonOutcome.WITHDRAWN and len(made) < TRIES):
            return None
        return made[-1]

    @property
    def _last(self) -> int:
        return len(self.bisection.versions) - 1

    @cached_property
    def _steps(self) -> tuple[ComparisonResult, ...]:
        return tuple(answer for answer in self.answers if answer.comparison.purpose is ComparisonPurpose.STEP)

    @cached_property
    def _range(self) -> tuple[int, int]:
        """The last version that has not changed, and the first that has."""
        unchanged = [each.comparison.newer for each in self._steps if each.outcome is ComparisonOutcome.UNCHANGED]
        changed = [each.comparison.newer for each in self._steps if each.outcome is ComparisonOutcome.CHANGED]
        return max(unchanged, default=0), min(changed, default=self._last)

    @cached_property
    def _unknown(self) -> frozenset[int]:
        """Versions that take no further part: they failed, or gave no answer."""
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
    def _unanswered(self) -> int:
        silent = {ComparisonOutcome.WITHDRAWN, ComparisonOutcome.UNDECIDED}
        counted = [each for each in self.answers if each.comparison.purpose is not ComparisonPurpose.CONFIRMATION]
        return sum(each.outcome in silent for each in counted)

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
        if self._unanswered > UNANSWERED_MAX:
            found = replace(found, reasons=(f"{self._unanswered} comparisons gave no answer",))
        if self._confirmed is not None and self._confirmed.outcome is ComparisonOutcome.UNCHANGED:
            reason = f"{self._name(high)} does not differ from {self._name(low)} by as much as the ends do"
            why = "it came in several smaller changes, or one of the comparisons is wrong"
            found = replace(found, ending=Ending.UNSETTLED, reasons=(reason, why))
        return found

    @cached_property
    def _confirmed(self) -> ComparisonResult | None:
        made = [each for each in self.answers if each.comparison.purpose is ComparisonPurpose.CONFIRMATION]
        return made[-1] if made else None

    def _sized(self, ends: ComparisonResult) -> ComparisonResult:
        """The answer that shows the change with the least else: against the version before, or the older end."""
        if self._confirmed is not None and self._confirmed.row is not None:
            return self._confirmed
        _, high = self._range
        return next((each for each in self._steps if each.comparison.newer == high and each.row is not None), ends)

    def _notes(self, ends: ComparisonResult) -> Iterator[str]:
        """What does not fit a change that came at once and stayed, as far as answers show; and what else changed."""
        assert ends.row is not None
        for answer in self._steps:
            if answer.row is not None and (words := _misfit(answer, ends.row)):
                yield f"{self._name(answer.comparison.newer)} {words}"
        yield from self._doubts_of_confirmation(ends.row)
        for row in ends.others:
            yield f"{row.subject} changed between the ends too, and was not searched for"

    def _doubts_of_confirmation(self, whole: GateRow) -> Iterator[str]:
        confirmed = self._confirmed
        if confirmed is None:
            return
        older, newer = self._name(confirmed.comparison.older), self._name(confirmed.comparison.newer)
        if confirmed.outcome not in {ComparisonOutcome.CHANGED, ComparisonOutcome.UNCHANGED}:
            yield f"{newer} against {older} by itself is {confirmed.outcome}: {'; '.join(confirmed.reasons)}"
        elif confirmed.row is not None and (part := _compared(confirmed.row, whole)):
            yield f"the change from {older} to {newer} is {part} that of the ends: it is not the only one"

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
    """Whether the newer end may be better than the older one, which it would take another comparison to show."""
    rows = [] if ends.row is None else conclude(ends.cells, ends.comparison.policy, today=dt.date.min).rows
    sized = [row for row in rows if row.decides and row.kind is RowKind.SIZE and row.d0 is not None]
    return any(worsening(row) < -(row.d0 or 0.0) for row in sized)


def _misfit(answer: ComparisonResult, whole: GateRow) -> str:
    """How a version is neither like the older end nor like the newer one; empty when it is."""
    row = answer.row
    assert row is not None
    if answer.outcome is ComparisonOutcome.CHANGED and (part := _compared(row, whole)):
        tail = "a part of it was taken back later" if part == "larger than" else "a further change came later"
        return f"changed by an amount {part} that of the newer end: {tail}"
    if answer.outcome is ComparisonOutcome.UNCHANGED and row.at_most is not None and row.at_most < -(row.d0 or 0.0):
        return "changed in the other direction: there is more than one change"
    return ""


def _compared(row: GateRow, whole: GateRow) -> str:
    """Whether the bounds of two changes, at the levels that decide, leave no doubt which is the larger."""
    if row.at_least is not None and whole.at_most is not None and row.at_least > whole.at_most:
        return "larger than"
    if row.at_most is not None and whole.at_least is not None and row.at_most < whole.at_least:
        return "smaller than"
    return ""
