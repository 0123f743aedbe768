"""Explains the benchmarks that FAIL, after the verdict, within a limit of time.

What goes wrong here is a warning: the verdict stands.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from s3bench.bench.runner import ClientRunner, Conditions, Settings
from s3bench.errors import S3BenchError
from s3bench.gate.conclusion import Conclusion
from s3bench.gate.evidence import ClientCellEvidence, Role, Side
from s3bench.gate.exact_metric import EXACT_BY_NAME
from s3bench.gate.known_causes import changed_phases, counted_causes
from s3bench.gate.row import GateRow, RowKind, Verdict
from s3bench.profiling.explanation import Explanation
from s3bench.profiling.observed_change import ObservedChange, ProfiledSide
from s3bench.results.metrics import METRICS_BY_NAME, Unit

BENCHMARK_LIMIT_S = 60.0
"""The most seconds that the explanation of one change takes."""

LIMIT_S = 180.0
"""The most seconds of all explanations of a gate together."""


_PROFILED_UNITS = frozenset({Unit.SECONDS, Unit.BYTES})
_OTHERS = (RowKind.INSTRUCTIONS, RowKind.SIZE, RowKind.EXACT)


class ExplainedCell(Protocol):
    """A benchmark of a live gate."""

    settings: Settings

    @property
    def evidence(self) -> ClientCellEvidence:
        """What it showed so far."""

    def side(self, side: Side) -> tuple[ClientRunner, Conditions]:
        """Its runner of one side, and the conditions there."""


Conclude = Callable[[tuple[ClientCellEvidence, ...], bool], Conclusion]
"""Concludes a gate from its evidence and whether its time is over, waivers included."""

Explain = Callable[[ObservedChange], Explanation]
"""Explains one change; raises `S3BenchError` where it cannot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explaining:
    """How explanations are made, where `conclude` says FAIL; nothing is begun after `deadline_s`."""

    explain: Explain
    conclude: Conclude
    deadline_s: float | None = None


def explain_failures(
    cells: Sequence[ExplainedCell],
    rows: Sequence[GateRow],
    explaining: Explaining,
    warnings: list[str],
    *,
    now: Callable[[], float],
) -> Iterator[tuple[int, Explanation | None]]:
    """Explain every change that FAILs, the largest first.

    Yields how many are left, before each one with `None` and after it with its explanation. Adds to `warnings` what
    could not be explained.
    """
    by_title = {cell.evidence.title: cell for cell in cells if cell.evidence.role is Role.BENCHMARK}
    going = [row for row in failed_rows(rows) if row.benchmark in by_title]
    until_s = now() + LIMIT_S
    if explaining.deadline_s is not None:
        until_s = min(until_s, explaining.deadline_s)
    for number, row in enumerate(going):
        left = len(going) - number
        if now() >= until_s:
            warnings.append(f"no time was left to explain {left} of {len(going)} changes")
            return
        yield left, None
        change = _observed(by_title[row.benchmark], row, rows, until_s=min(until_s, now() + BENCHMARK_LIMIT_S))
        try:
            explanation = explaining.explain(change)
        except Exception as error:  # noqa: BLE001 (whatever a profiler wrote, the verdict stands)
            warnings.append(f"{row.subject} was not explained: {reason_of(error)}")
        else:
            yield left - 1, explanation


def reason_of(error: Exception) -> str:
    """Why something was not explained, in words."""
    if isinstance(error, S3BenchError):
        return ": ".join(filter(None, (error.what, error.why)))
    return f"{type(error).__name__}: {error}"


def failed_rows(rows: Sequence[GateRow]) -> list[GateRow]:
    """The rows to explain, the largest relative change first: of each benchmark one for time and one for memory.

    Where neither FAILs, another row is explained by itself: instructions, then other sizes, such as page faults, then
    numbers of requests, modules and so on.
    """
    failed = [
        row for row in rows if row.decides and row.verdict is Verdict.FAIL and row.benchmark and not row.waived_by
    ]
    chosen: dict[tuple[str, str], GateRow] = {}
    for row in failed:
        if row.kind is RowKind.SIZE and row.change is not None and _unit(row) in _PROFILED_UNITS:
            chosen.setdefault((row.benchmark, _unit(row)), row)
    explained = {benchmark for benchmark, _ in chosen}
    others = [row for row in failed if row.kind in _OTHERS and row.benchmark not in explained]
    for row in sorted(others, key=lambda row: _OTHERS.index(row.kind)):
        chosen.setdefault((row.benchmark, ""), row)
    return sorted(chosen.values(), key=lambda row: -abs(row.change or 0.0))


def _unit(row: GateRow) -> Unit:
    return METRICS_BY_NAME[row.metric].unit if row.metric in METRICS_BY_NAME else Unit.COUNT


def _observed(cell: ExplainedCell, row: GateRow, rows: Sequence[GateRow], *, until_s: float) -> ObservedChange:
    evidence = cell.evidence
    sides = {side: ProfiledSide(runner=cell.side(side)[0], conditions=cell.side(side)[1]) for side in Side}
    change = (row.change or 0.0) * (row.baseline or 0.0)
    if row.metric in EXACT_BY_NAME:
        change = float(sum(each.increase for each in row.changes))
    return ObservedChange(
        benchmark=row.benchmark,
        metric=row.metric,
        unit=_unit(row),
        change=change,
        baseline=sides[Side.BASELINE],
        candidate=sides[Side.CANDIDATE],
        settings=cell.settings,
        known=(*changed_phases(evidence), *counted_causes(rows, row.benchmark)),
        until_s=until_s,
    )
