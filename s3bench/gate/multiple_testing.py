"""Multiple testing of a gate: which tests there are, their levels at each look, and the rows that result.

The rows depend on the evidence and the policy alone, so that a replay of the record gives the same rows.

At each look the hypothesis "the worsening is d0 or less" is tested for every metric of every benchmark. Holm's
procedure with weights ("A simple sequentially rejective multiple test procedure", 1979) over all gating metrics bounds
the probability of any false FAIL, which the looks share. For PASS, "the worsening is d1 or more" must be rejected for
every metric by itself, since all of them have to PASS (an intersection-union test; Berger, "Multiparameter hypothesis
testing and acceptance sampling", Technometrics 24, 1982).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from s3bench.gate.evidence import CellEvidence, Role
from s3bench.gate.exact_metric import COUNTED_PAIRS, EXACT_BY_NAME
from s3bench.gate.exact_rows import exact_rows
from s3bench.gate.informational_rows import informational_rows
from s3bench.gate.instruction_rows import instruction_rows
from s3bench.gate.policy import CONTROL_METRIC, Policy
from s3bench.gate.row import GateRow, RowKind
from s3bench.gate.schedule import OpenTest
from s3bench.gate.sequential_test import SequentialTest


@dataclass(frozen=True, slots=True, kw_only=True)
class PairNeeds:
    """The cells (by identity) that need further pairs for a verdict or a control.

    `open_tests` are the tests that need them.
    """

    undecided: frozenset[tuple[object, ...]]
    open_tests: tuple[OpenTest, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RowDecisions:
    """All rows, and what needs further pairs."""

    rows: tuple[GateRow, ...]
    needs: PairNeeds


def decide_rows(cells: Sequence[CellEvidence], policy: Policy, *, is_over: bool = False) -> RowDecisions:
    """Decide the rows of every gating, informational and exact metric of `cells`.

    `is_over`: the time of the gate ended it, so that what is open has a last look at all of its pairs.
    """
    tests = _tests(cells, policy, is_over=is_over)
    benchmarks = [cell for cell in cells if cell.role is Role.BENCHMARK]
    rows = [test.row(policy) for test in tests if not test.is_mirrored or test.is_above]
    exact = [row for cell in benchmarks for row in exact_rows(cell, policy)]
    instructions = [row for cell in benchmarks for row in instruction_rows(cell, policy)]
    return RowDecisions(
        rows=(*rows, *exact, *instructions, *informational_rows(benchmarks, policy)),
        needs=_needs(tests, cells, policy),
    )


def pairs_needed(cells: Sequence[CellEvidence], policy: Policy) -> PairNeeds:
    """What needs further pairs, as `decide_rows` says, without the rows: for a gate that goes on."""
    return _needs(_tests(cells, policy, is_over=False), cells, policy)


def _tests(cells: Sequence[CellEvidence], policy: Policy, *, is_over: bool) -> list[SequentialTest]:
    return [test for family in _families(cells, policy) for test in _test_family(family, policy, is_over=is_over)]


def _needs(tests: Sequence[SequentialTest], cells: Sequence[CellEvidence], policy: Policy) -> PairNeeds:
    needing = [test for test in tests if test.needs_pairs]
    cap = policy.looks.cap
    undecided = frozenset(cell.identity for test in needing for cell in test.cells if len(cell.pairs) < cap)
    benchmarks = [cell for cell in cells if cell.role is Role.BENCHMARK]
    return PairNeeds(
        undecided=undecided | frozenset(_with_too_few_pairs_to_count(benchmarks, policy)),
        open_tests=tuple(test.open_test(policy) for test in needing if test.pairs < cap),
    )


def _with_too_few_pairs_to_count(benchmarks: Iterable[CellEvidence], policy: Policy) -> Iterator[tuple[object, ...]]:
    """The benchmarks with fewer pairs than a count needs, if an exact metric is counted in pairs."""
    if any(EXACT_BY_NAME[name].of_measurement for name in policy.exact):
        yield from (cell.identity for cell in benchmarks if len(cell.pairs) < COUNTED_PAIRS)


def _families(cells: Sequence[CellEvidence], policy: Policy) -> Iterator[list[SequentialTest]]:
    """The families of tests, whose false alarms are bounded together: all benchmarks, and each control."""
    benchmarks = [cell for cell in cells if cell.role is Role.BENCHMARK]
    yield [*_sized(benchmarks, policy.metrics, policy), *_creep(benchmarks, policy)]
    for cell in cells:
        if cell.role is Role.NEGATIVE_CONTROL:
            # Neither side may be better: an advantage of the candidate would hide its regressions.
            mirrored = _sized([cell], policy.metrics, policy, is_mirrored=True)
            yield [*_sized([cell], policy.metrics, policy), *mirrored]
        if cell.role is Role.POSITIVE_CONTROL:
            yield list(_sized([cell], (CONTROL_METRIC,), policy))


def _sized(
    cells: Iterable[CellEvidence], metrics: Iterable[str], policy: Policy, *, is_mirrored: bool = False
) -> Iterator[SequentialTest]:
    for cell in cells:
        for metric in metrics:
            zone = policy.indifference_zone(metric)
            assert zone is not None
            yield SequentialTest(
                cells=[cell],
                metric=metric,
                kind=RowKind.SIZE,
                zone=zone,
                is_mirrored=is_mirrored,
                is_adjusted=policy.adjusts,
            )


def _creep(cells: Sequence[CellEvidence], policy: Policy) -> Iterator[SequentialTest]:
    """The mean over all benchmarks, which shows changes too small to be detected in any single one."""
    if len(cells) < 2 or not all(cell.pairs for cell in cells):  # noqa: PLR2004 (a mean needs two)
        return
    for metric in policy.metrics:
        zone = policy.indifference_zone(metric)
        assert zone is not None
        yield SequentialTest(
            cells=cells, metric=metric, kind=RowKind.CREEP, zone=zone.halved(), is_adjusted=policy.adjusts
        )


def _test_family(tests: list[SequentialTest], policy: Policy, *, is_over: bool) -> list[SequentialTest]:
    looks = policy.looks
    weights = sum(policy.alarm_weight(test.metric) for test in tests)
    for test in tests:
        test.alarms = looks.alarm_shares(policy.false_alarm * policy.alarm_weight(test.metric) / weights)
    for number, (pairs, miss) in enumerate(zip(looks.pairs, looks.miss_shares, strict=True)):
        for test in tests:
            if test.pairs >= pairs and not test.is_settled:
                test.take(pairs)
                test.look(share=test.alarms[number], miss=policy.miss * miss)
        _reject(tests, policy)
    enough = looks.pairs[0]
    for test in tests:
        if test.pairs < enough:  # no look took place; unpaired runs have a single look with the whole budget
            test.take()
            if not test.series.is_paired and test.series.count >= enough:
                test.look(share=1.0, miss=policy.miss)
        elif is_over:
            test.last_look(policy)
    _reject(tests, policy)
    return tests


def _reject(family: Sequence[SequentialTest], policy: Policy) -> None:
    """Holm's procedure. P-values never rise from look to look, so a rejected hypothesis stays rejected."""
    left = {id(test): policy.alarm_weight(test.metric) for test in family}
    for test in sorted(family, key=lambda test: test.p / left[id(test)]):
        test.level = policy.false_alarm * left[id(test)] / sum(left.values())
        if test.is_above:
            del left[id(test)]
