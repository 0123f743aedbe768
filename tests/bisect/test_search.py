"""The search for the first version that changed, on versions of known truth: simulated pairs, judged by the real gate.

What an oracle answers with certainty shows the course; noise shows the error bound, with fixed seeds.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from s3bench.bisect.search import (
    UNDECIDED_MAX,
    Bisection,
    ComparisonOutcome,
    ComparisonPurpose,
    ComparisonResult,
    Ending,
    SearchResult,
    VersionComparison,
    comparison_result,
    failed_comparison,
)
from s3bench.cli.bisect.options import PAIRS
from s3bench.errors import BadInput
from s3bench.gate.evidence import ClientCellEvidence, Role, Side
from s3bench.gate.indifference_zone import IndifferenceZone
from s3bench.gate.looks import Looks, parse_looks
from s3bench.gate.policy import Policy
from tests.gate.evidence_maker import failed, paired, ratios
from tests.gate.simulated_gate import MEMORY, NOISES, TIME, SizePolicy, all_pairs, run_gate

ZONES = {TIME: IndifferenceZone(d0=0.02, d1=0.06, floor=0.0), MEMORY: IndifferenceZone(d0=0.01, d1=0.03, floor=0.0)}
POLICY = SizePolicy(metrics=(TIME,), zones=ZONES)
PATIENT = replace(POLICY, looks=parse_looks(PAIRS))

Oracle = Callable[[VersionComparison], ComparisonResult]


def bisection(count: int = 32, *, error: float = 0.05, policy: Policy = POLICY) -> Bisection:
    return Bisection(versions=tuple(f"1.{number}" for number in range(count)), policy=policy, error=error)


def step_at(first: int, size: float = 0.1, count: int = 32) -> tuple[float, ...]:
    """What each version takes: `size` more from the version `first` on."""
    return tuple(1.0 + size if place >= first else 1.0 for place in range(count))


@dataclass
class Machine:
    """Runs versions that take so long, with noise of `sigma` in each pair; those `broken` crash."""

    takes: Sequence[float]
    sigma: float = 0.002
    broken: frozenset[int] = frozenset()
    noise: str = "normal"
    seed: int = 1
    asked: list[VersionComparison] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng([self.seed, 7])

    def __call__(self, comparison: VersionComparison) -> ComparisonResult:
        self.asked.append(comparison)
        for place in (comparison.older, comparison.newer):
            if place in self.broken:
                return failed_comparison(comparison, place, "it crashed")
        change = self.takes[comparison.candidate] / self.takes[comparison.baseline] - 1
        worsenings = {TIME: (change,), MEMORY: (0.0,)}
        pairs = comparison.policy.looks.cap
        whole = list(all_pairs(self._rng, NOISES[self.noise], self.sigma, worsenings, pairs))
        return comparison_result(comparison, run_gate(whole, comparison.policy).cells)


def search(asked: Bisection, oracle: Oracle) -> tuple[SearchResult, tuple[ComparisonResult, ...]]:
    answers: tuple[ComparisonResult, ...] = ()
    for _ in range(100):
        following = asked.next(answers)
        if isinstance(following, SearchResult):
            return following, answers
        answers = (*answers, oracle(following))
    raise AssertionError("a search has to come to an end")


@given(count=st.integers(2, 200), data=st.data())
def test_a_change_that_came_at_once_is_found_wherever_it_is(count: int, data: st.DataObject) -> None:
    first = data.draw(st.integers(1, count - 1))
    machine = Machine(step_at(first, count=count))
    found, answers = search(bisection(count, error=0.2), machine)
    assert (found.ending, found.last, found.first) == (Ending.FOUND, first - 1, first)
    assert found.notes == ()
    steps = [each for each in answers if each.comparison.purpose is ComparisonPurpose.STEP]
    assert len(steps) <= bisection(count).steps_max
    assert len({each.comparison.newer for each in steps}) == len(steps)


@given(first=st.integers(1, 15), broken=st.frozensets(st.integers(1, 14)))
def test_the_change_is_among_the_suspects_whatever_fails(first: int, broken: frozenset[int]) -> None:
    found, _ = search(bisection(16), Machine(step_at(first, count=16), broken=broken))
    assert found.last is not None
    assert found.first is not None
    assert found.last < first <= found.first
    between = set(range(found.last + 1, found.first))
    assert between <= broken
    assert found.skipped == tuple(sorted(between))
    assert found.ending is (Ending.SUSPECTS if between else Ending.FOUND)


@pytest.mark.parametrize("noise", ["normal", "t4", "drift"])
def test_a_planted_change_among_32_versions_is_found_in_at_least_19_of_20(noise: str) -> None:
    rng = np.random.default_rng(20)
    right = 0
    for seed in range(20):
        first = int(rng.integers(1, 32))
        machine = Machine(step_at(first, 0.15), sigma=0.1, seed=seed, noise=noise)
        found, _ = search(bisection(policy=PATIENT), machine)
        assert found.first is None or found.ending is not Ending.FOUND or found.first == first, "a wrong answer"
        right += found.ending is Ending.FOUND
    assert right >= 19


@pytest.mark.campaign
@pytest.mark.timeout(900)
@pytest.mark.parametrize("noise", list(NOISES))
def test_the_error_is_bounded_on_a_machine_of_much_noise(noise: str) -> None:
    rng = np.random.default_rng(30)
    wrong = 0
    for seed in range(200):
        first = int(rng.integers(1, 32))
        found, _ = search(bisection(error=0.2), Machine(step_at(first, 0.07), sigma=0.08, seed=seed, noise=noise))
        is_open = found.ending in {Ending.NO_CHANGE, Ending.UNSETTLED}
        wrong += found.ending is Ending.NO_CHANGE or not (is_open or (found.last or 0) < first <= (found.first or 0))
    assert wrong <= 200 * 0.2


def test_without_a_change_nothing_is_found_and_one_comparison_is_enough() -> None:
    found, answers = search(bisection(), Machine((1.0,) * 32))
    assert (found.ending, found.first, len(answers)) == (Ending.NO_CHANGE, None, 1)
    assert found.size is not None
    assert found.size.at_most is not None
    assert found.size.at_most < 0.06


def test_false_finds_are_as_rare_as_stated() -> None:
    endings = [search(bisection(), Machine((1.0,) * 32, sigma=0.05, seed=seed))[0].ending for seed in range(100)]
    assert not {Ending.FOUND, Ending.SUSPECTS} & set(endings)


def test_a_version_that_is_better_is_found_too() -> None:
    found, answers = search(bisection(), Machine(step_at(11, -0.2)))
    assert (found.ending, found.first, found.is_better) == (Ending.FOUND, 11, True)
    assert [each.comparison.is_swapped for each in answers[:2]] == [False, True]
    assert found.size is not None


def test_a_certain_improvement_is_found_beside_a_metric_that_stays_undecided() -> None:
    policy = Policy(metrics=(TIME, MEMORY), zones=ZONES)
    ends = bisection(policy=policy).next(())
    assert isinstance(ends, VersionComparison)
    undecided = comparison_result(ends, (paired(ratios(0.0, 0.2), ratios(-0.3, 0.001)),))
    assert undecided.outcome is ComparisonOutcome.UNDECIDED
    swapped = bisection(policy=policy).next((undecided,))
    assert isinstance(swapped, VersionComparison)
    assert swapped.is_swapped
    better = comparison_result(swapped, (paired(ratios(0.0, 0.2), ratios(0.43, 0.001)),))
    step = bisection(policy=policy).next((undecided, better))
    assert isinstance(step, VersionComparison)
    assert (step.purpose, step.policy.metrics, step.is_swapped) == (ComparisonPurpose.STEP, (MEMORY,), True)
    same = comparison_result(swapped, (paired(ratios(0.0, 0.001), ratios(0.0, 0.001)),))
    assert same.outcome is ComparisonOutcome.UNCHANGED
    nothing = bisection(policy=policy).next((undecided, same))
    assert isinstance(nothing, SearchResult)
    assert (nothing.ending, nothing.reasons) == (Ending.UNSETTLED, undecided.reasons)


def test_the_size_is_of_the_change_alone_where_others_came_before_and_after() -> None:
    takes = tuple(1.0 + 0.015 * (place >= 3) + 0.10 * (place >= 20) + 0.08 * (place >= 28) for place in range(32))
    found, _ = search(bisection(), Machine(takes))
    assert (found.ending, found.first, found.sized_from) == (Ending.FOUND, 20, 19)
    assert found.size is not None
    assert found.size.change == pytest.approx(1.115 / 1.015 - 1, abs=0.005)
    assert any("there is more than one change" in note for note in found.notes)
    assert any("a further change came later" in note for note in found.notes)


def test_a_partly_reverted_change_is_reported() -> None:
    takes = tuple(1.0 + 0.3 * (10 <= place < 25) + 0.1 * (place >= 25) for place in range(32))
    found, _ = search(bisection(), Machine(takes))
    assert found.first == 10
    assert any("reverted part of it" in note for note in found.notes)


def test_a_change_in_the_other_direction_on_the_way_is_said() -> None:
    takes = tuple(1.0 - 0.2 * (4 <= place < 25) + 0.1 * (place >= 25) for place in range(32))
    found, _ = search(bisection(), Machine(takes))
    assert found.first == 25
    assert any("in the other direction" in note for note in found.notes)


def test_a_change_that_came_little_by_little_is_no_find() -> None:
    takes = tuple(1.0 + 0.005 * place for place in range(32))
    found, answers = search(bisection(), Machine(takes, sigma=0.001))
    assert found.ending in {Ending.UNSETTLED, Ending.SUSPECTS}
    assert answers[-1].comparison.purpose is ComparisonPurpose.CONFIRMATION
    assert found.reasons


def test_noise_widens_the_suspects_and_gives_no_guess() -> None:
    exact = Machine(step_at(20))

    def noisy_there(comparison: VersionComparison) -> ComparisonResult:
        answer = exact(comparison)
        is_noisy = comparison.purpose is ComparisonPurpose.STEP and comparison.newer in {19, 20, 21}
        return replace(answer, outcome=ComparisonOutcome.UNDECIDED, reasons=("noise",)) if is_noisy else answer

    found, _ = search(bisection(), noisy_there)
    assert (found.ending, found.last, found.first, found.skipped) == (Ending.SUSPECTS, 18, 22, (19, 20, 21))


def test_a_search_among_noise_alone_ends_after_few_comparisons() -> None:
    exact = Machine(step_at(20))

    def hopeless(comparison: VersionComparison) -> ComparisonResult:
        answer = exact(comparison)
        return (
            answer
            if comparison.purpose is ComparisonPurpose.ENDS
            else replace(answer, outcome=ComparisonOutcome.UNDECIDED)
        )

    found, answers = search(bisection(), hopeless)
    assert found.ending is Ending.SUSPECTS
    assert (found.last, found.first) == (0, 31)
    assert len(answers) == 1 + UNDECIDED_MAX + 1
    assert found.reasons == ("4 comparisons were undecided",)


def test_ends_that_stay_undecided_are_not_settled() -> None:
    found, answers = search(bisection(), Machine(step_at(20, 0.04), sigma=0.3))
    assert (found.ending, len(answers)) == (Ending.UNSETTLED, 1)
    assert any("not certainly above" in reason for reason in found.reasons)


def test_an_end_that_does_not_run_is_a_failure() -> None:
    for place in (0, 31):
        found, _ = search(bisection(), Machine(step_at(20), broken=frozenset({place})))
        assert (found.ending, found.reasons) == (Ending.FAILED, ("it crashed",))


def test_a_comparison_whose_controls_fail_is_made_once_more() -> None:
    exact = Machine(step_at(20))
    withdrawn: list[int] = []

    def disturbed(comparison: VersionComparison) -> ComparisonResult:
        answer = exact(comparison)
        if comparison.newer == 16 and comparison.purpose is ComparisonPurpose.STEP and len(withdrawn) < 1:
            withdrawn.append(comparison.newer)
            return replace(answer, outcome=ComparisonOutcome.WITHDRAWN)
        return answer

    found, answers = search(bisection(), disturbed)
    assert (found.ending, found.first) == (Ending.FOUND, 20)
    assert (
        sum(each.comparison.newer == 16 for each in answers if each.comparison.purpose is ComparisonPurpose.STEP) == 2
    )


def test_ends_whose_controls_fail_are_compared_once_more_and_then_no_more() -> None:
    exact = Machine(step_at(20))

    def disturbed(comparison: VersionComparison) -> ComparisonResult:
        is_first = not exact.asked
        answer = exact(comparison)
        return replace(answer, outcome=ComparisonOutcome.WITHDRAWN, reasons=("loud",)) if is_first else answer

    found, answers = search(bisection(), disturbed)
    assert (found.ending, found.first) == (Ending.FOUND, 20)
    assert [each.comparison.purpose for each in answers[:3]] == [
        ComparisonPurpose.ENDS,
        ComparisonPurpose.ENDS,
        ComparisonPurpose.STEP,
    ]
    found, answers = search(
        bisection(), lambda asked: replace(exact(asked), outcome=ComparisonOutcome.WITHDRAWN, reasons=("loud",))
    )
    assert (found.ending, found.reasons, len(answers)) == (Ending.UNSETTLED, ("loud",), 2)


@pytest.mark.parametrize(
    ("outcome", "ending", "comparisons"),
    [
        (ComparisonOutcome.WITHDRAWN, Ending.UNSETTLED, 2),
        (ComparisonOutcome.FAILED, Ending.UNSETTLED, 1),
        (ComparisonOutcome.UNDECIDED, Ending.FOUND, 1),
    ],
)
def test_a_confirmation_without_working_controls_withdraws_the_answer(
    outcome: ComparisonOutcome, ending: Ending, comparisons: int
) -> None:
    exact = Machine(step_at(20))

    def unconfirmed(comparison: VersionComparison) -> ComparisonResult:
        answer = exact(comparison)
        is_last = comparison.purpose is ComparisonPurpose.CONFIRMATION
        return replace(answer, outcome=outcome, reasons=("loud",)) if is_last else answer

    found, answers = search(bisection(), unconfirmed)
    assert (found.ending, found.last, found.first) == (ending, 19, 20)
    assert sum(each.comparison.purpose is ComparisonPurpose.CONFIRMATION for each in answers) == comparisons
    told = "; ".join(found.reasons or found.notes)
    assert "the direct comparison of 1.20 with 1.19 is" in told
    assert "loud" in told


def test_a_version_next_to_the_older_end_is_confirmed_with_controls_too() -> None:
    found, answers = search(bisection(), Machine(step_at(1)))
    assert (found.ending, found.last, found.first, found.sized_from) == (Ending.FOUND, 0, 1, 0)
    last = answers[-1].comparison
    assert (last.purpose, last.older, last.newer) == (ComparisonPurpose.CONFIRMATION, 0, 1)


def test_an_interrupted_search_goes_on_as_if_it_had_not_been() -> None:
    _, answers = search(bisection(), Machine(step_at(13), sigma=0.03))
    for done in range(len(answers)):
        assert bisection().next(answers[:done]) == answers[done].comparison
    light = tuple(replace(answer, cells=()) for answer in answers[:3])
    kept = msgspec.json.decode(msgspec.json.encode(light), type=tuple[ComparisonResult, ...])
    following = bisection(policy=Policy(metrics=(TIME,), zones=ZONES)).next(kept)
    assert isinstance(following, VersionComparison)
    assert following.newer == answers[3].comparison.newer


def test_every_comparison_has_an_equal_part_of_the_error() -> None:
    asked = bisection(33, error=0.05)
    assert (asked.steps_max, asked.comparisons_max) == (5, 2 + 5 + UNDECIDED_MAX)
    _, answers = search(asked, Machine(step_at(20, count=33)))
    for each in answers:
        policy = each.comparison.policy
        assert policy.false_alarm == policy.miss == asked.level == 0.05 / 10
        assert policy.exact == ()


@pytest.mark.parametrize("size", [0.045, 0.3])
def test_steps_are_compared_with_what_the_ends_show_at_least(size: float) -> None:
    _, answers = search(bisection(), Machine(step_at(20, size)))
    ends, step = answers[0], answers[1]
    assert ends.row is not None
    zone = step.comparison.policy.zones[TIME]
    assert zone.d0 == 0.02
    assert zone.d1 == ends.row.at_least
    assert 0.02 < zone.d1 < size
    below_the_floor = replace(zone, floor=0.05)
    assert below_the_floor.limits(1.0).d1 == pytest.approx(math.log1p(max(zone.d1, 0.05)))


def test_the_surest_change_of_the_ends_alone_is_searched_for() -> None:
    policy = Policy(metrics=(TIME, MEMORY), zones=ZONES)
    ends = bisection(policy=policy).next(())
    assert isinstance(ends, VersionComparison)
    assert (ends.benchmark, ends.policy.metrics) == (None, (TIME, MEMORY))
    cells = (
        paired(ratios(0.0, 0.001), name="quiet"),
        paired(ratios(0.1, 0.2), ratios(0.2, 0.001), name="loud"),
    )
    answer = comparison_result(ends, cells)
    assert answer.outcome is ComparisonOutcome.CHANGED
    step = bisection(policy=policy).next((answer,))
    assert isinstance(step, VersionComparison)
    assert (step.benchmark, step.policy.metrics, step.newer) == ("loud", (MEMORY,), 16)


def test_a_benchmark_that_fails_tells_whose_fault_it_is() -> None:
    ends = bisection().next(())
    assert isinstance(ends, VersionComparison)
    step = replace(ends, purpose=ComparisonPurpose.STEP, newer=16, benchmark="s3.cp.upload")
    cell = paired(ratios(0.1, 0.001))
    assert comparison_result(step, (failed(cell),)).outcome is ComparisonOutcome.FAILED
    assert comparison_result(step, (failed(cell, Side.BASELINE),)).outcome is ComparisonOutcome.WITHDRAWN
    assert (
        comparison_result(replace(step, is_swapped=True), (failed(cell, Side.BASELINE),)).outcome
        is ComparisonOutcome.FAILED
    )
    assert comparison_result(ends, (failed(cell, Side.BASELINE),)).outcome is ComparisonOutcome.FAILED


def test_a_control_that_fails_withdraws_the_answer() -> None:
    ends = bisection().next(())
    assert isinstance(ends, VersionComparison)
    cells: tuple[ClientCellEvidence, ...] = (
        paired(ratios(0.2, 0.001)),
        paired(ratios(0.2, 0.001), role=Role.NEGATIVE_CONTROL),
        paired(ratios(0.2, 0.001), role=Role.POSITIVE_CONTROL),
    )
    answer = comparison_result(ends, cells)
    assert answer.outcome is ComparisonOutcome.WITHDRAWN
    assert "differs from itself" in answer.reasons[0]


def test_a_step_that_is_nearer_to_the_change_than_to_none_is_no_unchanged() -> None:
    ends = bisection().next(())
    assert isinstance(ends, VersionComparison)
    wide = replace(ends.policy, zones={TIME: IndifferenceZone(d0=0.05, d1=0.1, floor=0.0)})
    step = replace(ends, purpose=ComparisonPurpose.STEP, newer=16, benchmark="s3.cp.upload", policy=wide)
    nearer = (paired(ratios(0.06, 0.05)),)
    assert comparison_result(step, nearer).outcome is ComparisonOutcome.UNDECIDED
    assert (
        comparison_result(replace(step, purpose=ComparisonPurpose.ENDS), nearer).outcome is ComparisonOutcome.UNCHANGED
    )
    assert comparison_result(step, (paired(ratios(0.04, 0.05)),)).outcome is ComparisonOutcome.UNCHANGED
    assert comparison_result(step, (paired(ratios(0.06, 0.001)),)).outcome is ComparisonOutcome.CHANGED


def test_bad_searches_are_refused_before_anything_runs() -> None:
    with pytest.raises(BadInput, match="at least two versions"):
        bisection(1).check(1)
    with pytest.raises(BadInput, match="too few to show any change"):
        bisection(policy=replace(POLICY, looks=Looks(pairs=(2, 4)))).check(1)
    bisection().check(1)


@pytest.mark.parametrize(
    ("pairs", "metrics", "benchmarks_max"), [((8,), (TIME,), 1), ((10,), (TIME,), 7), ((12,), (TIME, MEMORY), 30)]
)
def test_pairs_with_which_no_change_could_be_shown_among_so_many_benchmarks_are_refused(
    pairs: tuple[int, ...], metrics: tuple[str, ...], benchmarks_max: int
) -> None:
    asked = bisection(3, policy=replace(POLICY, looks=Looks(pairs=pairs), metrics=metrics))

    def ends(benchmarks: int) -> ComparisonResult:
        comparison = asked.next(())
        assert isinstance(comparison, VersionComparison)
        cells = [
            replace(paired(ratios(0.3, 0.001, pairs[-1], turn=turn), ratios(0.3, 0.001, pairs[-1])), name=f"{turn}")
            for turn in range(benchmarks)
        ]
        return comparison_result(comparison, cells)

    asked.check(benchmarks_max)
    assert ends(benchmarks_max).outcome is ComparisonOutcome.CHANGED
    with pytest.raises(BadInput, match="too few to show any change") as caught:
        asked.check(benchmarks_max + 1)
    assert f"of {benchmarks_max + 1} benchmarks" in caught.value.why
    assert ends(benchmarks_max + 1).outcome is not ComparisonOutcome.CHANGED
