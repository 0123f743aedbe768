"""Service level objectives such as `p99<50ms,errors<0.1%`, and whether a run meets them.

The search for the highest rate that keeps them is in `s3bench.load.session.slo_search`; a run at a rate of the user's
has the verdict of this module. If the load generator was the bottleneck, a run says nothing about the server; if it has
too few operations for a percentile, it has to be longer. Operations that were unfinished at the end are in no figure: a
few are usual, but if they could break a limit that the others keep, the run does not show that it holds.
"""

import math
import re
from dataclasses import dataclass, replace
from enum import StrEnum

import msgspec

from s3bench.errors import BadInput
from s3bench.load.aggregation.bottleneck import PhaseLimit, is_reached
from s3bench.load.operation import AttemptFailure
from s3bench.results.bins import samples_needed
from s3bench.results.load import Latency, Load, error_rate
from s3bench.units import parse_seconds, render_seconds

ERRORS_IMPLIED = "errors<0.1%"
"""Added if no limit of errors is given: a server that rejects everything is fast."""

MORE_OPERATIONS = "use a longer -d, a looser errors limit, or a lower percentile"
"""What helps where there are too few operations to decide."""

_PERCENTS = {"p25": 25.0, "p50": 50.0, "p75": 75.0, "p90": 90.0, "p99": 99.0, "p99.9": 99.9}
_FIELDS = {"p99.9": "p999"}
_FIGURES = (*_PERCENTS, "mean", "max")
_CLAUSE = re.compile(r"(ttfb\.)?([a-z0-9.]+)\s*<\s*([0-9]*\.?[0-9]+)\s*(us|ms|s|%)", re.ASCII)
_EXPECTED_ERRORS_MIN = 3.0  # none seen where three were expected has a chance of 5 % (Hanley and Lippman-Hand, 1983)
_EXAMPLE = (
    "write p99<50ms,errors<0.1%; figures are p25, p50, p75, p90, p99, p99.9, mean, max, ttfb.p99 and so on, errors"
)


class SloMetric(StrEnum):
    """The metric of a clause: response times, times to the first byte, or the share of failed operations."""

    RESPONSE = "response"
    FIRST_BYTE = "first byte"
    ERRORS = "errors"


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """One figure that has to stay below `limit`: seconds, or a share of errors. `figure` is empty for errors."""

    text: str
    subject: SloMetric
    figure: str = ""
    limit: float


class SloOutcome(StrEnum):
    """The outcome of one run."""

    HOLDS = "holds"
    BROKEN = "broken"
    UNRESOLVED = "unresolved"
    NO_EVIDENCE = "no evidence"


@dataclass(frozen=True, slots=True, kw_only=True)
class SloVerdict:
    """An outcome, the clause that decided it, if any, and the reason.

    An unresolved run would have to be `longer` times as long for enough operations.
    """

    outcome: SloOutcome
    clause: str = ""
    words: str = ""
    longer: float = 1.0

    @property
    def sentence(self) -> str:
        """The verdict on a run at a rate that the user chose; the search has a sentence of its own."""
        match self.outcome:
            case SloOutcome.HOLDS:
                return self.words
            case SloOutcome.BROKEN:
                return f"{self.clause} did not hold: {self.words}"
            case SloOutcome.UNRESOLVED:
                return f"undecided: {self.words}; {MORE_OPERATIONS}"
            case SloOutcome.NO_EVIDENCE:
                return f"undecided: {self.words}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Slo:
    """A service level objective: all its clauses together."""

    clauses: tuple[Clause, ...]

    def __str__(self) -> str:
        return ",".join(clause.text for clause in self.clauses)

    def holds(self, load: Load, *, window_s: float) -> SloVerdict:
        """Decide whether a run of `window_s` meets it; response times count from the planned start in open loop."""
        verdicts = [_decide(clause, load) for clause in self.clauses]
        broken = next((each for each in verdicts if each.outcome is SloOutcome.BROKEN), None)
        if broken:
            excuse = self._excuse(load)
            words = f"{broken.words}, but {excuse}" if excuse else broken.words
            return replace(broken, outcome=SloOutcome.NO_EVIDENCE if excuse else SloOutcome.BROKEN, words=words)
        if behind := _behind(load, window_s):
            return SloVerdict(outcome=SloOutcome.NO_EVIDENCE, words=behind)
        for clause, verdict in zip(self.clauses, verdicts, strict=True):
            if verdict.outcome is SloOutcome.HOLDS and (words := _left_out(clause, load)):
                return SloVerdict(outcome=SloOutcome.NO_EVIDENCE, clause=clause.text, words=words)
        unresolved = [each for each in verdicts if each.outcome is SloOutcome.UNRESOLVED]
        holds = SloVerdict(outcome=SloOutcome.HOLDS, words=f"{self} held")
        return max(unresolved, key=lambda each: each.longer, default=holds)

    def _excuse(self, load: Load) -> str:
        """Why the server is not the cause of a violation; empty if it is."""
        if load.bottleneck == PhaseLimit.CLIENT:
            return "the load generator itself was the bottleneck"
        if load.bottleneck == PhaseLimit.OTHER_PROGRAMS:
            return "other programs took the cores from the load generator"
        if load.bottleneck == PhaseLimit.CONNECTIONS:
            return "there were too few threads for this rate"
        if load.response is not None and load.waiting_max:
            served = _served(load)
            if all(_decide(clause, served).outcome is not SloOutcome.BROKEN for clause in self.clauses):
                return "only for operations that waited for a free thread: add --threads"
        return ""


def parse_slo(text: str) -> Slo:
    """Parse `p99<50ms,ttfb.p99<20ms,errors<0.1%`; raises `BadInput`. Without errors, `errors<0.1%` is added."""
    clauses = tuple(_parse_clause(part.strip()) for part in text.split(","))
    if not any(clause.subject is SloMetric.ERRORS for clause in clauses):
        clauses = (*clauses, _parse_clause(ERRORS_IMPLIED))
    return Slo(clauses=clauses)


def _parse_clause(text: str) -> Clause:
    found = _CLAUSE.fullmatch(text)
    if not found:
        raise BadInput(f"--slo: {text!r} is not a limit such as p99<50ms", fix=_EXAMPLE)
    first_byte, figure, number, unit = found.groups()
    is_errors = figure == "errors" and not first_byte
    if (not is_errors and figure not in _FIGURES) or is_errors != (unit == "%"):
        raise BadInput(
            f"--slo: {text!r} is not a limit such as p99<50ms",
            "a time needs us, ms or s, a share of errors %",
            _EXAMPLE,
        )
    limit = float(number) / 100 if is_errors else parse_seconds(number + unit)
    if limit <= 0 or (is_errors and limit > 1):
        raise BadInput(
            f"--slo: {text!r} can never be met" if limit <= 0 else f"--slo: {text!r} is always met", fix=_EXAMPLE
        )
    subject = SloMetric.ERRORS if is_errors else SloMetric.FIRST_BYTE if first_byte else SloMetric.RESPONSE
    return Clause(text=text, subject=subject, figure="" if is_errors else figure, limit=limit)


def _served(load: Load) -> Load:
    """The load without waiting for a virtual user, and without failures for lack of one."""
    failed = load.failed - sum(each.count for each in load.failures if each.label == AttemptFailure.NO_THREAD)
    return msgspec.structs.replace(
        load, response=None, oldest=load.oldest_attempt, failed=failed, error_rate=error_rate(load.operations, failed)
    )


def _decide(clause: Clause, load: Load) -> SloVerdict:
    if clause.subject is SloMetric.ERRORS:
        return _decide_errors(clause, load)
    latency = load.first_byte if clause.subject is SloMetric.FIRST_BYTE else load.response or load.latency
    value = _figure(latency, clause.figure)
    if clause.figure == "max" and clause.subject is SloMetric.RESPONSE and value is not None:
        value = max(value, load.oldest or 0.0)  # what was unfinished at the end took at least this long
    if value is not None:
        outcome = SloOutcome.HOLDS if value < clause.limit else SloOutcome.BROKEN
        words = f"{_name(clause)} was {render_seconds(value)}"
        return SloVerdict(outcome=outcome, clause=clause.text, words=words)
    lower = [(name, known) for name in _below(clause.figure) if (known := _figure(latency, name)) is not None]
    for name, known in lower:
        if known >= clause.limit:  # a higher percentile cannot be less
            words = f"{name} alone was {render_seconds(known)}"
            return SloVerdict(outcome=SloOutcome.BROKEN, clause=clause.text, words=words)
    needed = samples_needed(_PERCENTS[clause.figure]) if clause.figure in _PERCENTS else 1
    words = f"{_name(clause)} needs {needed:,} operations, and {latency.count:,} succeeded"
    return _unresolved(clause, words, needed / max(1, latency.count))


def _decide_errors(clause: Clause, load: Load) -> SloVerdict:
    ended = load.operations + load.failed
    words = f"{load.failed:,} of {ended:,} operations failed"
    if load.error_rate is not None and load.error_rate >= clause.limit:
        return SloVerdict(outcome=SloOutcome.BROKEN, clause=clause.text, words=words)
    if ended * clause.limit < _EXPECTED_ERRORS_MIN:
        needed = math.ceil(_EXPECTED_ERRORS_MIN / clause.limit)
        words = f"{clause.text} needs {needed:,} operations, and {ended:,} ended"
        return _unresolved(clause, words, needed / max(1, ended))
    return SloVerdict(outcome=SloOutcome.HOLDS, clause=clause.text, words=words)


def _left_out(clause: Clause, load: Load) -> str:
    """Describe the unfinished operations that could break a clause which the others keep; empty if they could not."""
    if clause.subject is SloMetric.ERRORS:
        return _errors_left_out(clause, load)
    return _times_left_out(clause, load) if clause.figure in _PERCENTS else ""


def _errors_left_out(clause: Clause, load: Load) -> str:
    lost, ended = _lost(load), load.operations + load.failed
    longest_s = (load.response or load.latency).max or 0.0
    if not lost or (load.oldest or 0.0) < longest_s or load.failed + lost < clause.limit * (ended + lost):
        return ""
    return (
        f"{load.failed:,} of {ended:,} operations failed, and {lost:,} more that were in flight at the end did not "
        "succeed afterwards"
    )


def _times_left_out(clause: Clause, load: Load) -> str:
    """As `_left_out`, for a percentile. The ages of unfinished operations are taken to be even up to the oldest.

    Whether their first bytes had come is known only of those that never succeeded.
    """
    missing, oldest_s = load.unfinished or 0, load.oldest
    if clause.subject is SloMetric.FIRST_BYTE:
        missing, oldest_s = _lost(load), load.oldest_attempt
    allowed = (1 - _PERCENTS[clause.figure] / 100) * (load.latency.count + missing)
    if not oldest_s or missing * (1 - clause.limit / oldest_s) <= allowed:
        return ""
    return (
        f"{_name(clause)} does not have the {missing:,} operations that were unfinished at the end, the oldest for "
        f"{render_seconds(oldest_s)}"
    )


def _lost(load: Load) -> int:
    """At least so many operations were in flight at the end and did not succeed afterwards; others only waited."""
    return max(0, (load.unfinished or 0) - (load.late or 0) - (load.waiting_max or 0))


def _unresolved(clause: Clause, words: str, longer: float) -> SloVerdict:
    return SloVerdict(outcome=SloOutcome.UNRESOLVED, clause=clause.text, words=words, longer=longer)


def _below(figure: str) -> tuple[str, ...]:
    """The figures that are never above this one."""
    if figure not in _PERCENTS:
        return ()
    return ("min", *(name for name, percent in _PERCENTS.items() if percent < _PERCENTS[figure]))


def _figure(latency: Latency, name: str) -> float | None:
    value: float | None = getattr(latency, _FIELDS.get(name, name))
    return value


def _name(clause: Clause) -> str:
    return f"ttfb.{clause.figure}" if clause.subject is SloMetric.FIRST_BYTE else clause.figure


def _behind(load: Load, window_s: float) -> str:
    """Describe by how much fewer operations ended, successful or not, than were planned; empty if as many ended.

    By chance a low rate may plan no operation at all, but then none is unfinished either.
    """
    ended_per_s = (load.operations + load.failed) / window_s if window_s else 0.0
    if load.rate_planned is None:
        return ""
    if is_reached(ended_per_s, load.rate_planned, window_s) and (ended_per_s or not load.unfinished):
        return ""
    return f"{load.rate_planned:,.1f}/s were planned, and only {ended_per_s:,.1f}/s ended"
