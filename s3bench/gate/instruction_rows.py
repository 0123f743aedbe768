"""Builds the rows of instructions that a gate counted by itself because time was undecided.

Instructions are counted without noise of the machine, but they are only a part of what takes time. So a row of them can
FAIL a gate, and otherwise it says what the client's own work did while the verdict stays that of time.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from statistics import median

from s3bench.gate.evidence import CellEvidence, Role, Side
from s3bench.gate.exact_metric import EXACT_BY_NAME, INSTRUCTIONS, CountChange, Difference, counts_of
from s3bench.gate.policy import Policy
from s3bench.gate.row import ABOVE_D0, GateRow, RowKind, Verdict
from s3bench.results.metrics import METRICS_BY_NAME, Unit

INSTRUCTIONS_D0 = 0.005
"""A change up to this is called unchanged: AWS's builds of neighbouring releases differ by more only with a cause."""

INSTRUCTIONS_D1 = 0.02
"""A worsening of this or more FAILs."""

RUNS = 2
"""Runs of each side whose instructions are counted."""

RUNS_MAX = 5
"""As many as that where the first do not agree; then the smallest and the largest count of each side are left out."""


class _Zone(StrEnum):
    UNCHANGED = "unchanged"
    SMALL = "small"
    FAILING = "failing"


def undecided_in_time(rows: Sequence[GateRow]) -> frozenset[str]:
    """The titles of the benchmarks of which a deciding time is INCONCLUSIVE."""
    return frozenset(
        row.benchmark
        for row in rows
        if row.kind is RowKind.SIZE
        and row.decides
        and row.verdict is Verdict.INCONCLUSIVE
        and METRICS_BY_NAME[row.metric].unit is Unit.SECONDS
    )


def gates_time(policy: Policy) -> bool:
    """Whether a time decides, so that instructions are of use where it cannot; not if they decide anyway."""
    return INSTRUCTIONS not in policy.exact and any(METRICS_BY_NAME[m].unit is Unit.SECONDS for m in policy.metrics)


def runs_wanted(cell: CellEvidence) -> int:
    """How many further runs of each side shall be counted."""
    counts = _counts(cell)
    there = min(len(each) for each in counts.values())
    if there < RUNS:
        return RUNS - there
    return 0 if _agrees(counts) else max(0, RUNS_MAX - there)


def instruction_rows(cell: CellEvidence, policy: Policy) -> Iterator[GateRow]:
    """The row of a benchmark whose instructions were counted, unless they are an exact metric of the policy."""
    if cell.role is not Role.BENCHMARK or INSTRUCTIONS in policy.exact:
        return
    counts = _counts(cell)
    if not any(counts.values()):
        return
    runs = min(len(each) for each in counts.values())
    if runs < RUNS:
        reason = f"counted in {runs} runs of each side, {RUNS} are needed"
        yield _row(cell, runs, verdict=Verdict.INCONCLUSIVE, reason=reason)
        return
    low, high = _bounds(counts)
    usual = {side: median(each) for side, each in counts.items()}
    change = usual[Side.CANDIDATE] / usual[Side.BASELINE] - 1
    verdict, reason = _decided(change, low, high)
    yield _row(
        cell,
        runs,
        verdict=verdict,
        reason=reason,
        baseline=usual[Side.BASELINE],
        candidate=usual[Side.CANDIDATE],
        change=change,
        at_least=low,
        at_most=high,
        d0=INSTRUCTIONS_D0,
        d1=INSTRUCTIONS_D1,
        changes=(_more(counts),) if verdict in ABOVE_D0 else (),
    )


def _row(cell: CellEvidence, runs: int, **figures: object) -> GateRow:
    known: dict[str, object] = {
        "benchmark": cell.title,
        "metric": INSTRUCTIONS,
        "kind": RowKind.INSTRUCTIONS,
        "pairs": runs,
    }
    return GateRow(**known, **figures)  # type: ignore[arg-type]


def _decided(change: float, low: float, high: float) -> tuple[Verdict, str]:
    """The verdict on a change that lies between `low` and `high`."""
    zones = {_zone(low), _zone(high)}
    if zones == {_Zone.FAILING}:
        return Verdict.FAIL, f"{change:+.2%} instructions in user space, {INSTRUCTIONS_D1:.1%} or more"
    if zones == {_Zone.SMALL}:
        words = f"{change:+.2%} instructions in user space, above {INSTRUCTIONS_D0:.1%}, below {INSTRUCTIONS_D1:.1%}"
        return Verdict.SMALL, f"{words}; time undecided"
    if zones == {_Zone.UNCHANGED}:
        word = "lower" if high < -INSTRUCTIONS_D0 else "unchanged" if low >= -INSTRUCTIONS_D0 else "not higher"
        return Verdict.PASS, f"CPU work in user space {word} ({change:+.2%}); time undecided"
    words = f"counts of equal runs differ too much: the change is between {low:+.2%} and {high:+.2%}"
    return Verdict.INCONCLUSIVE, words


def _zone(change: float) -> _Zone:
    if change >= INSTRUCTIONS_D1:
        return _Zone.FAILING
    return _Zone.SMALL if change > INSTRUCTIONS_D0 else _Zone.UNCHANGED


def _agrees(counts: Mapping[Side, Sequence[int]]) -> bool:
    low, high = _bounds(counts)
    return _zone(low) is _zone(high)


def _bounds(counts: Mapping[Side, Sequence[int]]) -> tuple[float, float]:
    """The least and the greatest change that the counts allow."""
    baseline, candidate = (_range(counts[side]) for side in Side)
    return candidate[0] / baseline[1] - 1, candidate[1] / baseline[0] - 1


def _range(counts: Sequence[int]) -> tuple[int, int]:
    """The smallest and the largest count; of many runs without the outermost two."""
    ordered = sorted(counts)[1:-1] if len(counts) >= RUNS_MAX else counts
    return min(ordered), max(ordered)


def _more(counts: Mapping[Side, Sequence[int]]) -> CountChange:
    baseline, candidate = (_range(counts[side]) for side in Side)
    medians = (median(counts[Side.BASELINE]), median(counts[Side.CANDIDATE]))
    return CountChange(
        name=INSTRUCTIONS, difference=Difference.MORE, baseline=baseline, candidate=candidate, medians=medians
    )


def _counts(cell: CellEvidence) -> dict[Side, list[int]]:
    metric = EXACT_BY_NAME[INSTRUCTIONS]
    return {side: [counts[INSTRUCTIONS] for counts in counts_of(cell, metric, side)] for side in Side}
