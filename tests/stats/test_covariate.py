import math
import random
from collections.abc import Callable, Sequence
from statistics import stdev

import pytest

from s3bench.stats.covariate import Covariate, explained
from s3bench.stats.signed_rank import SignedRankTest

SIMS = 1000


def drawn(
    count: int, slope: float, draw: random.Random, *, noise: float = 0.0, deviation: float = 0.04
) -> tuple[list[float], Covariate]:
    """Differences without an effect, of which `slope` times a covariate is a part, and the covariate as measured."""
    true = [draw.gauss(0.0, 0.08) for _ in range(count)]
    outcome = [slope * each + draw.gauss(0.0, deviation) for each in true]
    seen = tuple(each + draw.gauss(0.0, noise) for each in true)
    return outcome, Covariate(differences=seen, expected_slope=1.2, noise=noise**2)


def adjusted(outcome: Sequence[float], *covariates: Covariate) -> list[float]:
    return [each - part for each, part in zip(outcome, explained(outcome, covariates).differences, strict=True)]


def share(happens: Callable[[random.Random], bool], seed: int) -> float:
    draw = random.Random(seed)
    return sum(happens(draw) for _ in range(SIMS)) / SIMS


@pytest.mark.parametrize("slope", [0.0, 0.5, 1.0, 2.0])
def test_with_many_pairs_the_slope_is_found(slope: float) -> None:
    outcome, covariate = drawn(200, slope, random.Random(1), deviation=0.01)
    assert explained(outcome, [covariate]).slopes == pytest.approx([slope], abs=0.03)


def test_few_pairs_leave_the_slope_near_the_one_expected() -> None:
    covariate = Covariate(differences=(0.01, -0.01, 0.012, -0.009), expected_slope=1.2)
    (slope,) = explained([0.0, 0.0, 0.0, 0.0], [covariate]).slopes
    assert 0.4 < slope < 1.0  # the data say 0


def test_a_covariate_that_is_noise_alone_is_expected_to_explain_nothing() -> None:
    covariate = Covariate(differences=(0.01, -0.01, 0.02, -0.02), expected_slope=1.2, noise=0.01)
    assert covariate.prior_slope == 0.0


def test_a_covariate_that_never_changes_explains_nothing_beside_one_that_does() -> None:
    outcome, covariate = drawn(20, 1.0, random.Random(2))
    still = Covariate(differences=(0.0,) * 20, expected_slope=1.0)
    assert adjusted(outcome, covariate, still) == pytest.approx(adjusted(outcome, covariate))


def test_two_covariates_are_told_apart() -> None:
    draw = random.Random(3)
    outcome, first = drawn(200, 0.8, draw, deviation=0.01)
    second = Covariate(differences=tuple(draw.gauss(0.0, 0.1) for _ in outcome), expected_slope=1.0)
    both = [value + 0.6 * each for value, each in zip(outcome, second.differences, strict=True)]
    assert explained(both, [first, second]).slopes == pytest.approx([0.8, 0.6], abs=0.05)


def test_an_outlier_does_not_decide_the_slope() -> None:
    outcome, covariate = drawn(40, 1.0, random.Random(4), deviation=0.01)
    wild = [*outcome[:-1], outcome[-1] + 3.0]
    assert explained(wild, [covariate]).slopes == pytest.approx([1.0], abs=0.15)


def test_the_slope_of_a_pair_does_not_depend_on_the_pair() -> None:
    outcome, covariate = drawn(20, 1.0, random.Random(5))
    before = explained(outcome, [covariate]).differences[0]
    outcome[0] += math.copysign(0.02, outcome[0])  # on the side of the median where it is
    after = explained(outcome, [covariate]).differences[0]
    assert after == pytest.approx(before, abs=0.003)  # its weight may change those of the others


@pytest.mark.parametrize(
    ("count", "slope", "noise"),
    [
        (40, 0.0, 0.0),
        (10, 0.5, 0.03),
        (10, 1.0, 0.0),
        (10, 2.0, 0.03),
        *(
            pytest.param(*case, marks=pytest.mark.campaign)
            for case in ((10, 0.0, 0.0), (40, 0.5, 0.03), (40, 1.0, 0.0), (40, 2.0, 0.03))
        ),
    ],
)
def test_the_tests_on_adjusted_differences_keep_their_level(count: int, slope: float, noise: float) -> None:
    def rejects(draw: random.Random) -> bool:
        outcome, covariate = drawn(count, slope, draw, noise=noise)
        return SignedRankTest(adjusted(outcome, covariate)).p_above(0.0) <= 0.05

    assert share(rejects, seed=count) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / SIMS)


@pytest.mark.parametrize("effect", [0.0, 0.02])
def test_the_tests_keep_their_level_where_the_covariate_of_the_shortest_runs_is_unknown(effect: float) -> None:
    shares = []

    def rejects(draw: random.Random) -> bool:
        outcome, known = [], []
        for _ in range(40):
            slowness = [draw.gauss(0.0, 0.08) for _ in range(2)]
            times = [each + draw.gauss(0.0, 0.03) + part for each, part in zip(slowness, (0.0, effect), strict=True)]
            outcome.append(times[1] - times[0])
            known.append(slowness[1] - slowness[0] if min(times) > -0.16 else 0.0)
        covariate = Covariate(differences=tuple(known), expected_slope=1.2)
        shares.append(len(covariate.known) / len(known))
        return SignedRankTest(adjusted(outcome, covariate)).p_above(effect) <= 0.05

    assert share(rejects, seed=40) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / SIMS)
    assert 0.93 < sum(shares) / len(shares) < 0.97


def test_an_unknown_difference_is_not_adjusted_and_hardly_moves_the_slope_of_others() -> None:
    outcome, covariate = drawn(40, 1.0, random.Random(8), deviation=0.01)
    some = Covariate(differences=(*(0.0,) * 20, *covariate.differences[20:]), expected_slope=1.2)
    found = explained(outcome, [some])
    assert found.differences[:20] == (0.0,) * 20
    assert found.slopes == pytest.approx([1.0], abs=0.15)


def test_an_effect_is_covered_as_often_as_promised_and_seen_more_often_than_without_the_covariate() -> None:
    effect = 0.05
    raw, lower, upper, shown = 0, 0, 0, 0
    draw = random.Random(6)
    for _ in range(SIMS):
        outcome, covariate = drawn(20, 1.0, draw, noise=0.02)
        outcome = [each + effect for each in outcome]
        values = adjusted(outcome, covariate)
        raw += SignedRankTest(outcome).p_above(0.0) <= 0.01
        shown += SignedRankTest(values).p_above(0.0) <= 0.01
        lower += SignedRankTest(values).p_above(effect) <= 0.025
        upper += SignedRankTest(values).p_below(effect) <= 0.025
    assert lower + upper <= (0.05 + 3 * math.sqrt(0.05 * 0.95 / SIMS)) * SIMS
    assert shown / SIMS > 0.9
    assert raw / SIMS < 0.6


def test_a_useless_covariate_costs_little() -> None:
    draw = random.Random(7)
    spreads = []
    for _ in range(100):
        outcome, covariate = drawn(40, 0.0, draw)
        spreads.append(stdev(adjusted(outcome, covariate)) / stdev(outcome))
    assert sum(spreads) / len(spreads) < 1.05
