"""Derives the verdict of a whole gate from its rows."""

import datetime as dt
import math
from collections.abc import Iterator, Sequence

import msgspec
from msgspec.structs import replace

from s3bench.gate.detectable import with_detectable
from s3bench.gate.evidence import CellEvidence, Role, Side
from s3bench.gate.multiple_testing import decide_rows
from s3bench.gate.policy import Policy
from s3bench.gate.row import ABOVE_D0, GateRow, RowKind, Verdict
from s3bench.gate.schedule import longer_gate
from s3bench.gate.size import with_size
from s3bench.gate.waiver import Waiver

_SHOWN = (Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.SMALL, Verdict.PASS)

_LAST_DIGITS = 1e-9

_NEVER_OPEN = (RowKind.CREEP, RowKind.INSTRUCTIONS)
"""Rows that leave a gate no more undecided than its other rows do."""


class Conclusion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The verdict with its reasons and warnings, and all rows, those that decided first."""

    verdict: Verdict
    reasons: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    rows: tuple[GateRow, ...] = ()

    def agrees_with(self, other: "Conclusion") -> bool:
        """Whether the verdicts of the gate and of all rows are the same."""
        return (self.verdict, sorted(map(_identity, self.rows))) == (other.verdict, sorted(map(_identity, other.rows)))

    def difference_from(self, other: "Conclusion") -> str:
        """What differs from `other`, as the start of a sentence that names it; empty if all figures are the same.

        The last digits of figures may differ between machines, and texts between versions of s3bench.
        """
        if not self.agrees_with(other):
            return "the replayed verdict differs from that"
        figures = ([_figures(row) for row in sorted(rows, key=_identity)] for rows in (self.rows, other.rows))
        return "" if _is_close(next(figures), next(figures)) else "the same verdict; some figures differ from those"


def conclude(
    cells: Sequence[CellEvidence],
    policy: Policy,
    *,
    waivers: Sequence[Waiver] = (),
    today: dt.date,
    same_program: bool = False,
    stopped: str = "",
    is_out_of_time: bool = False,
) -> Conclusion:
    """The conclusion from all evidence. `stopped` is the reason why the gate ended early, empty if it did not.

    `is_out_of_time`: the clock alone ended it.
    """
    decisions = decide_rows(cells, policy, is_over=is_out_of_time)
    decided = (with_size(with_detectable(row, policy), cells, policy) for row in decisions.rows)
    rows = tuple(_waived(row, waivers, today) for row in decided)
    verdict, reasons = _decided(rows, cells, same_program=same_program)
    if stopped and verdict is not Verdict.PASS:
        longer = longer_gate(decisions.needs.open_tests, cells, looks=policy.looks.pairs) if is_out_of_time else ""
        reasons = (*reasons, stopped, *((longer,) if longer else ()))
    return Conclusion(
        verdict=verdict,
        reasons=reasons,
        warnings=tuple(_waiver_warnings(waivers, rows, today)),
        rows=tuple(sorted(rows, key=_order)),
    )


def _decided(
    rows: Sequence[GateRow], cells: Sequence[CellEvidence], *, same_program: bool
) -> tuple[Verdict, tuple[str, ...]]:
    deciding = [row for row in rows if row.decides]
    failing = [row for row in deciding if row.verdict is Verdict.FAIL and not row.waived_by]
    broken, unfinished = _control_faults(rows)
    errors = tuple(_failures(cells))
    if broken:
        return Verdict.INVALID, broken
    if failing and same_program:
        return Verdict.INVALID, tuple(
            f"the program differs from itself: {row.subject}: {row.reason}" for row in failing
        )
    if failing:
        return Verdict.FAIL, tuple(f"{row.subject}: {row.reason}" for row in failing)
    if errors:
        return Verdict.INVALID, errors
    if not any(row.pairs for row in deciding):
        return Verdict.INCONCLUSIVE, _why_nothing_is_known(deciding, cells)
    open_rows = [row for row in deciding if row.verdict is Verdict.INCONCLUSIVE and row.kind not in _NEVER_OPEN]
    if open_rows:
        counted = [row for row in deciding if row.kind is RowKind.INSTRUCTIONS]
        return Verdict.INCONCLUSIVE, tuple(f"{row.subject}: {row.reason}" for row in (*open_rows, *counted))
    if same_program:
        return Verdict.INCONCLUSIVE, ("baseline and candidate are the same program: nothing is decided",)
    if unfinished:
        return Verdict.INCONCLUSIVE, unfinished
    small = [row for row in deciding if row.verdict is Verdict.SMALL and not row.waived_by]
    if small:
        return Verdict.SMALL, tuple(f"{row.subject}: {row.reason}" for row in small)
    waived = sum(bool(row.waived_by) for row in deciding)
    words = f"{len(deciding)} rows" + (f", {waived} of them waived" if waived else "")
    return Verdict.PASS, (f"every change is below its limit: {words}",)


def _why_nothing_is_known(deciding: Sequence[GateRow], cells: Sequence[CellEvidence]) -> tuple[str, ...]:
    """The reasons where no row has figures of both sides."""
    if not any(map(_is_measured, cells)):
        return ("no benchmark was measured on both sides",)
    reasons = tuple(f"{row.subject}: {row.reason}" for row in deciding if row.kind not in _NEVER_OPEN)
    return reasons or ("no metric that decides was observed in any run",)


def _is_measured(cell: CellEvidence) -> bool:
    """Whether a benchmark was run or inspected on both sides."""
    return cell.role is Role.BENCHMARK and all(cell.counted(side) or cell.inspections(side) for side in Side)


def _control_faults(rows: Sequence[GateRow]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Reasons from controls that failed, and from controls that are unfinished."""
    broken: list[str] = []
    unfinished: list[str] = []
    for row in rows:
        above = row.verdict in ABOVE_D0
        if row.role is Role.NEGATIVE_CONTROL and above:
            broken.append(f"the baseline differs from itself: {row.subject}: {row.reason}")
        if row.role is Role.POSITIVE_CONTROL and not above:
            reason = f"a planted delay was not detected: {row.subject}: {row.reason}"
            is_done = row.verdict is Verdict.PASS or row.is_capped
            (broken if is_done else unfinished).append(reason)
        is_open = row.verdict is Verdict.INCONCLUSIVE and not (row.pairs and row.is_capped)
        if row.role is Role.NEGATIVE_CONTROL and is_open:
            unfinished.append(f"the control is unfinished: {row.subject}: {row.reason}")
    return tuple(broken), tuple(unfinished)


def _failures(cells: Sequence[CellEvidence]) -> Iterator[str]:
    for cell in cells:
        for each in cell.failures:
            yield f"{cell.title}, {each.side}: {each.failure.what}" + (
                f": {each.failure.why}" if each.failure.why else ""
            )


def _waived(row: GateRow, waivers: Sequence[Waiver], today: dt.date) -> GateRow:
    if row.verdict not in ABOVE_D0 or not row.decides:
        return row
    for waiver in waivers:
        if waiver.covers(row) and not waiver.is_expired(today) and waiver.allows(row):
            return replace(row, waived_by=f"{waiver.reason} ({waiver.link}, until {waiver.expires})")
    return row


def _waiver_warnings(waivers: Sequence[Waiver], rows: Sequence[GateRow], today: dt.date) -> Iterator[str]:
    for waiver in waivers:
        subject = f"waiver for {waiver.metric} of {waiver.benchmark or 'all benchmarks'}"
        covered = [row for row in rows if row.decides and waiver.covers(row)]
        if waiver.is_expired(today):
            yield f"{subject} expired on {waiver.expires}"
        elif not covered:
            yield f"{subject} covers no row of this gate"
        elif all(row.verdict is Verdict.PASS for row in covered):
            yield f"{subject} is no longer needed"
        elif not any(row.waived_by or row.verdict is Verdict.INCONCLUSIVE for row in covered):
            yield f"{subject} has a ceiling of {waiver.ceiling}, and the change is larger"


def _identity(row: GateRow) -> tuple[str, ...]:
    """What a row is about, and its verdict."""
    return row.benchmark, row.metric, row.kind, row.role, f"{row.verdict}"


def _figures(row: GateRow) -> object:
    return msgspec.to_builtins(_without_texts(row))


def _is_close(one: object, other: object) -> bool:
    """Whether two trees of figures are equal but for their last digits."""
    match one, other:
        case dict(), dict():
            return one.keys() == other.keys() and all(_is_close(one[key], other[key]) for key in one)
        case ((list() | tuple()), (list() | tuple())):
            return len(one) == len(other) and all(map(_is_close, one, other))
        case float(), float():
            return math.isclose(one, other, rel_tol=_LAST_DIGITS, abs_tol=_LAST_DIGITS)
    return one == other


def _without_texts(row: GateRow) -> GateRow:
    """The row without what does not decide: texts, and what former versions did not compute.

    These are what the test detects, the shares of its looks, the size of a change that was shown, limits of exact
    metrics and medians of their counts, and whether the sides are exchanged.
    """
    waived_by = bool(row.waived_by) * "waived"
    row = replace(row, reason="", warnings=(), waived_by=waived_by, alarm_shares=(), is_mirrored=False)
    row = replace(row, changes=tuple(replace(change, medians=None) for change in row.changes))
    adjustment = row.adjustment and replace(row.adjustment, sigma=None)
    row = replace(row, detectable=None, detectable_small=None, adjustment=adjustment)
    if row.verdict in ABOVE_D0:
        row = replace(row, change=None, low=None, high=None, is_corrected=False)
    return replace(row, d0=None, d1=None) if row.kind is RowKind.EXACT else row


def _order(row: GateRow) -> tuple[object, ...]:
    """Sort key: deciding rows first; FAIL, then INCONCLUSIVE, then the rest; larger changes first."""
    rank = _SHOWN.index(row.verdict) if row.verdict in _SHOWN else len(_SHOWN)
    late = bool(row.waived_by) or not row.decides
    return late, row.kind is RowKind.INFORMING, rank, -(row.at_least if row.at_least is not None else -1.0)
