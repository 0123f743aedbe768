"""Waivers: known regressions that a gate accepts until an expiry date, each with a ceiling and a reason."""

import datetime as dt
import re

import msgspec

from s3bench.errors import BadInput
from s3bench.gate.exact_metric import EXACT_BY_NAME, CountChange, Difference
from s3bench.gate.row import GateRow, RowKind
from s3bench.results.decoding import decode

_CEILING = re.compile(r"([0-9]+(?:\.[0-9]+)?)(%?)")


class Waiver(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One row that may FAIL.

    `benchmark` and `metric` name the row as the table does, dimensions included; an empty benchmark is the row over all
    of them. `ceiling` is the largest worsening that is waived: a percentage such as `8%` of the estimate, or for an
    exact metric the largest increase of each count. For a count that has limits in per cent it may be either, and is
    compared with the increase of its median.
    `link` points at the decision, `expires` is the last valid day.
    """

    benchmark: str
    metric: str
    ceiling: str
    reason: str
    link: str
    expires: dt.date

    def covers(self, row: GateRow) -> bool:
        """Whether the waiver is for this row."""
        return (self.benchmark, self.metric) == (row.benchmark, row.metric)

    def is_expired(self, today: dt.date) -> bool:
        """Whether the last valid day is over."""
        return today > self.expires

    def allows(self, row: GateRow) -> bool:
        """Whether the measured change is at most the ceiling."""
        number, percent = _parse_ceiling(self.ceiling)
        if percent and row.kind is not RowKind.EXACT:
            return row.change is not None and abs(row.change) * 100 <= number
        more = [change for change in row.changes if change.difference is Difference.MORE]
        if not EXACT_BY_NAME[row.metric].has_relative_limits:
            return all(change.increase_max <= number for change in more)
        return all(_allows_median(change, number, is_percent=percent) for change in more)


class _WaiverFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    waivers: tuple[Waiver, ...]


def parse_waivers(text: bytes, *, source: str) -> tuple[Waiver, ...]:
    """Parse a waiver file strictly. Raises `BadInput` with the path of what is wrong."""
    try:
        waivers = decode(text, _WaiverFile).waivers
    except msgspec.DecodeError as error:
        raise BadInput(
            f"{source} is not a waiver file", str(error), 'write {"waivers": [{"benchmark": ..., ...}]}'
        ) from error
    for number, waiver in enumerate(waivers):
        check_waiver(waiver, f"{source}: $.waivers[{number}]")
    return waivers


def check_waiver(waiver: Waiver, where: str) -> None:
    """Check what types cannot express, for the waiver at the JSON path `where`. Raises `BadInput`."""
    for name in ("metric", "reason", "link"):
        if not getattr(waiver, name).strip():
            raise BadInput(f"{where}.{name} is empty", fix="fill in metric, reason, and a link to where it was decided")
    try:
        _, percent = _parse_ceiling(waiver.ceiling)
    except ValueError as error:
        raise BadInput(f"{where}.ceiling: {error}", fix='write "8%", or "2" for an exact metric') from error
    metric = EXACT_BY_NAME.get(waiver.metric)
    is_right = (metric is None or metric.has_relative_limits) if percent else metric is not None
    if not is_right:
        right = 'the largest increase of a count, such as "2"' if percent else 'a percentage, such as "8%"'
        raise BadInput(f"{where}.ceiling: {waiver.ceiling!r} does not fit {waiver.metric}", fix=f"write {right}")


def _allows_median(change: CountChange, number: float, *, is_percent: bool) -> bool:
    assert change.medians is not None, "a row that was computed here has them"
    before, after = change.medians
    return (after - before) * 100 <= number * before if is_percent else after - before <= number


def _parse_ceiling(text: str) -> tuple[float, bool]:
    found = _CEILING.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is neither a percentage nor a number")
    return float(found[1]), bool(found[2])
