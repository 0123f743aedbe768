"""Judges the rows of a gate: pure, from the evidence and the policy alone, so that a replay gives the same.

Owns which tests there are, the level of each at each look, and what is still undecided. How far one test has come is
`trial`'s, counts are `counting`'s.

At each look the hypothesis "the worsening is d0 or less" is tested for every metric of every benchmark. Holm's
procedure ("A simple sequentially rejective multiple test procedure", 1979) over all gating metrics bounds the chance of
any false FAIL, and the looks share it (`looks`). PASS is the mirror: "the worsening is d1 or more" has to be rejected,
for every metric by itself, since all of them have to PASS (an intersection-union test; Berger, "Multiparameter
hypothesis testing and acceptance sampling", Technometrics 24, 1982).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from s3bench.gate.evidence import CellEvidence, Role
from s3bench.gate.exact_metric import EXACT_BY_NAME
from s3bench.gate.exact_rows import exact_rows
from s3bench.gate.informational_rows import informing_rows
from s3bench.gate.policy import Policy
from s3bench.gate.row import GateRow, RowKind
from s3bench.gate.sequential_test import SequentialTest

_CONTROL_METRIC = "total_time"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """All rows, and the cells (by identity) of which something that decides, or a control, needs further pairs."""

    rows: tuple[GateRow, ...]
    undecided: frozenset[tuple[object, ...]]


def judge(cells: Sequence[CellEvidence], policy: Policy) -> Judged:
    """Judge every gating, informing and exact metric of `cells`."""
    trials = [trial for family in _families(cells, policy) for trial in _judge_family(family, policy)]
    benchmarks = [cell for cell in cells if cell.role is Role.BENCHMARK]
    rows = [trial.row(policy) for trial in trials if not trial.is_mirrored or trial.is_above]
    exact = [row for cell in benchmarks for row in exact_rows(cell, policy)]
    undecided = frozenset(
        cell.identity
        for trial in trials
        for cell in trial.cells
        if trial.holds_up and len(cell.pairs) < policy.looks.cap
    )
    return Judged(
        rows=(*rows, *exact, *informing_rows(benchmarks, policy)),
        undecided=undecided | frozenset(_uncounted(benchmarks, policy)),
    )


def _uncounted(benchmarks: Iterable[CellEvidence], policy: Policy) -> Iterator[tuple[object, ...]]:
    """The benchmarks without the first look's pairs, where something is counted in pairs: it needs them by itself."""
    if any(EXACT_BY_NAME[name].of_measurement for name in policy.exact):
        yield from (cell.identity for cell in benchmarks if len(cell.pairs) < policy.looks.pairs[0])


def _families(cells: Sequence[CellEvidence], policy: Policy) -> Iterator[list[SequentialTest]]:
    """Tests whose false alarms are bounded together: all of the benchmarks', and those of each control."""
    benchmarks = [cell for cell in cells if cell.role is Role.BENCHMARK]
    yield [*_sized(benchmarks, policy.metrics, policy), *_creeping(benchmarks, policy)]
    for cell in cells:
        if cell.role is Role.NEGATIVE_CONTROL:
            # Neither side may be better: what favours the candidate would hide its regressions.
            mirrored = _sized([cell], policy.metrics, policy, is_mirrored=True)
            yield [*_sized([cell], policy.metrics, policy), *mirrored]
        if cell.role is Role.POSITIVE_CONTROL:
            yield list(_sized([cell], (_CONTROL_METRIC,), policy))


def _sized(
    cells: Iterable[CellEvidence], metrics: Iterable[str], policy: Policy, *, is_mirrored: bool = False
) -> Iterator[SequentialTest]:
    for cell in cells:
        for metric in metrics:
            zone = policy.zone(metric)
            assert zone is not None
            yield SequentialTest(cells=[cell], metric=metric, kind=RowKind.SIZE, zone=zone, is_mirrored=is_mirrored)


def _creeping(cells: Sequence[CellEvidence], policy: Policy) -> Iterator[SequentialTest]:
    """A mean over all benchmarks shows what is too small to be seen in any of them."""
    if len(cells) < 2 or not all(cell.pairs for cell in cells):  # noqa: PLR2004 (of one there is no mean)
        return
    for metric in policy.metrics:
        zone = policy.zone(metric)
        assert zone is not None
        yield SequentialTest(cells=cells, metric=metric, kind=RowKind.CREEP, zone=zone.halved())


def _judge_family(trials: list[SequentialTest], policy: Policy) -> list[SequentialTest]:
    for number, pairs in enumerate(policy.looks.pairs):
        for trial in trials:
            if trial.pairs >= pairs and not trial.is_settled:
                trial.view(pairs)
                trial.look(share=policy.looks.share(number), miss=policy.miss)
        _reject(trials, policy.false_alarm)
    enough = policy.looks.pairs[0]
    for trial in trials:
        if trial.pairs < enough:  # no look had it; runs that were not paired have a single one, of the whole budget
            trial.view()
            if not trial.series.is_paired and trial.series.count >= enough:
                trial.look(share=1.0, miss=policy.miss)
    _reject(trials, policy.false_alarm)
    return trials


def _reject(family: Sequence[SequentialTest], false_alarm: float) -> None:
    """Holm's steps. P-values only fall from look to look, so that what was rejected once is rejected again."""
    left = len(family)
    for trial in sorted(family, key=lambda trial: trial.p):
        trial.level = false_alarm / left
        if trial.is_above:
            left -= 1
