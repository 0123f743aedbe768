"""Who stays in the race, who wins it and when it ends; its rates of error held by simulation with fixed seeds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from s3bench.tune.evidence import TrialEvidence
from s3bench.tune.objective import Aim, Objective
from s3bench.tune.race import (
    DOWNLOAD_PEAK_SIGMA,
    MEMORY_RISK,
    MEMORY_RUNS,
    RUNS_MIN,
    UPLOAD_PEAK_SIGMA,
    Leaders,
    cap_s,
    dropped,
    find_leaders,
    is_settled,
    leader,
    peak_bound_bytes,
    still_racing,
)
from s3bench.tune.setting import Setting
from s3bench.tune.study import Trial
from tests.tune.trial_maker import DEFAULT, capped, failed, setting, whole

TIME = Objective()
MIB = 1 << 20


def evidence_of(*trials: Trial) -> TrialEvidence:
    return TrialEvidence.of(trials, TIME)


def runs(of: Setting, time_s: float, blocks: int, *, peak_bytes: float | None = None) -> list[Trial]:
    return [whole(of, block, time_s, peak_bytes=peak_bytes) for block in range(blocks)]


def bound_of(evidence: TrialEvidence, of: Setting = DEFAULT) -> float:
    return peak_bound_bytes(evidence, of, prior_sigma=UPLOAD_PEAK_SIGMA)


def leaders_of(evidence: TrialEvidence, max_memory_bytes: float = math.inf) -> Leaders | None:
    is_limited = math.isfinite(max_memory_bytes)
    return find_leaders(
        evidence, DEFAULT, keeps=lambda of: not is_limited or bound_of(evidence, of) <= max_memory_bytes
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyState:
    """One simulated race: for each setting after how many blocks it first was dropped, and who still raced in the end.

    Settings are by their place in the effects, the default first.
    """

    dropped_after: dict[int, int]
    racing: frozenset[int]


def simulated(effects: Sequence[float], *, sigma: float, seed: int, blocks: int = 8) -> StudyState:
    """Race settings whose true values are 10 s times exp(effect), in blocks whose mood wanders and climbs."""
    random = np.random.default_rng([seed, round(sigma * 1000)])
    settings = [setting(place) for place in range(len(effects))]
    racing, mood = tuple(settings), 0.0
    trials: list[Trial] = []
    dropped_after: dict[int, int] = {}
    for block in range(blocks):
        mood += random.normal(0.02, 0.05)
        for each in racing:
            effect = effects[settings.index(each)]
            trials.append(whole(each, block, 10 * math.exp(effect + mood + random.normal(0, sigma))))
        again = still_racing(evidence_of(*trials), DEFAULT, max_memory_bytes=None, most=len(effects))
        racing = (DEFAULT, *again)
        for place in range(len(effects)):
            if settings[place] not in racing:
                dropped_after.setdefault(place, block + 1)
    return StudyState(dropped_after=dropped_after, racing=frozenset(settings.index(each) for each in racing))


def close_field(seed: int) -> list[float]:
    """Eight settings within 2 % of each other, the default last of them and the best next, and one 10 % weaker."""
    return [0.02, 0.0, *np.random.default_rng(seed).uniform(0, 0.02, 6).tolist(), 0.10]


# Over 1,000 races the best was ever dropped in 4.7 % with noise of 3 %, in 13 % with 8 %, and still out after eight
# blocks in 3.0 % and 5.9 %: then a setting less than 2 % behind it leads. The weak one had gone in 99.6 % and 92 %.
@pytest.mark.parametrize(
    ("sigma", "dropped_most", "lost_most", "weak_blocks", "weak_least"),
    [(0.03, 0.10, 0.07, 3, 0.95), (0.08, 0.22, 0.13, 8, 0.85)],
)
def test_the_best_of_a_close_field_stays_and_what_is_far_behind_goes(
    sigma: float, dropped_most: float, lost_most: float, weak_blocks: int, weak_least: float
) -> None:
    races = 60
    courses = [simulated(close_field(seed), sigma=sigma, seed=seed) for seed in range(races)]
    assert sum(1 in course.dropped_after for course in courses) <= dropped_most * races
    assert sum(1 not in course.racing for course in courses) <= lost_most * races
    weak = sum(course.dropped_after.get(8, math.inf) <= weak_blocks for course in courses)
    assert weak >= weak_least * races


def test_on_a_quiet_machine_what_is_3_percent_behind_goes_after_three_or_four_runs() -> None:
    courses = [simulated([*close_field(seed), 0.03], sigma=0.005, seed=seed, blocks=4) for seed in range(20)]
    after = [course.dropped_after.get(9, math.inf) for course in courses]
    assert sum(blocks <= 3 for blocks in after) >= 10
    assert max(after) <= 4
    assert all(1 in course.racing for course in courses)


def test_after_one_run_only_what_is_far_behind_goes() -> None:
    evidence = evidence_of(whole(DEFAULT, 0, 10.0), whole(setting(5), 0, 13.0), whole(setting(10), 0, 15.0))
    assert dropped(evidence, DEFAULT, max_memory_bytes=None) == {setting(10)}


def test_more_runs_drop_what_one_run_left() -> None:
    for blocks, expected in ((1, frozenset[Setting]()), (4, frozenset({setting(5)}))):
        evidence = evidence_of(*runs(DEFAULT, 10.0, blocks), *runs(setting(5), 11.0, blocks))
        assert dropped(evidence, DEFAULT, max_memory_bytes=None) == expected


def test_what_was_dropped_comes_back_when_the_noise_turns_out_larger() -> None:
    first = [*runs(DEFAULT, 10.0, 1), *runs(setting(20), 10.0, 1), whole(setting(5), 0, 15.0)]
    assert setting(5) in dropped(evidence_of(*first), DEFAULT, max_memory_bytes=None)
    wild = [whole(DEFAULT, 1, 10.0), whole(setting(20), 1, 15.0), whole(DEFAULT, 2, 15.0), whole(setting(20), 2, 10.0)]
    assert setting(5) not in dropped(evidence_of(*first, *wild), DEFAULT, max_memory_bytes=None)


def test_the_default_is_never_dropped() -> None:
    slow = evidence_of(*runs(DEFAULT, 90.0, 5, peak_bytes=2000.0), *runs(setting(5), 10.0, 5, peak_bytes=10.0))
    assert dropped(slow, DEFAULT, max_memory_bytes=1000) == frozenset()
    failing = evidence_of(failed(DEFAULT, 0), failed(DEFAULT, 1), whole(setting(5), 1, 10.0))
    assert dropped(failing, DEFAULT, max_memory_bytes=None) == frozenset()


def test_a_capped_setting_is_dropped_even_when_other_runs_were_quick() -> None:
    evidence = evidence_of(whole(DEFAULT, 0, 10.0), capped(setting(5), 0, 16.0), whole(setting(10), 0, 9.0))
    assert dropped(evidence, DEFAULT, max_memory_bytes=None) == {setting(5)}
    again = TrialEvidence.of([*evidence.trials, capped(setting(10), 1, 16.0)], TIME)
    assert dropped(again, DEFAULT, max_memory_bytes=None) == {setting(5), setting(10)}


def test_one_failure_is_forgiven_and_the_second_is_not() -> None:
    once = [whole(DEFAULT, 0, 10.0), failed(setting(5), 0)]
    assert dropped(evidence_of(*once), DEFAULT, max_memory_bytes=None) == frozenset()
    twice = evidence_of(*once, failed(setting(5), 1), whole(setting(5), 2, 5.0))
    assert dropped(twice, DEFAULT, max_memory_bytes=None) == {setting(5)}


def test_one_run_above_the_memory_limit_drops_a_setting_and_so_does_one_within_its_margin() -> None:
    evidence = evidence_of(
        *runs(DEFAULT, 10.0, 2),
        whole(setting(5), 0, 9.0, peak_bytes=500.0),
        whole(setting(5), 1, 9.0, peak_bytes=1001.0),
        *runs(setting(10), 9.0, 2, peak_bytes=960.0),
        *runs(setting(20), 9.0, 2, peak_bytes=950.0),
    )
    assert dropped(evidence, DEFAULT, max_memory_bytes=1000) == {setting(5), setting(10)}
    assert dropped(evidence, DEFAULT, max_memory_bytes=None) == frozenset()


def test_a_setting_above_the_memory_limit_is_no_measure_for_others() -> None:
    evidence = evidence_of(
        *runs(DEFAULT, 10.0, 3, peak_bytes=100.0),
        *runs(setting(5), 9.9, 3, peak_bytes=100.0),
        *runs(setting(40), 4.0, 3, peak_bytes=9000.0),
    )
    assert dropped(evidence, DEFAULT, max_memory_bytes=1000) == {setting(40)}
    assert cap_s(evidence, max_memory_bytes=1000) == pytest.approx(1.6 * 9.9)
    assert cap_s(evidence, max_memory_bytes=None) == pytest.approx(1.6 * 4.0)


def test_the_best_race_on_and_never_more_than_asked_for() -> None:
    trials = [whole(setting(requests), 0, 10.0 + requests / 100) for requests in (0, 40, 5, 20, 10)]
    racing = still_racing(evidence_of(*trials), DEFAULT, max_memory_bytes=None, most=3)
    assert racing == (setting(5), setting(10), setting(20))


def test_a_run_may_take_a_stated_multiple_of_the_bests_time_but_half_a_second_more_at_least() -> None:
    assert cap_s(evidence_of(whole(DEFAULT, 0, 10.0), whole(setting(5), 0, 5.0))) == pytest.approx(8.0)
    assert cap_s(evidence_of(whole(DEFAULT, 0, 0.4))) == pytest.approx(0.9)


def test_nothing_is_capped_before_a_run_or_when_the_time_is_not_the_objective() -> None:
    assert cap_s(evidence_of()) is None
    assert cap_s(evidence_of(failed(DEFAULT, 0))) is None
    for aim in (Aim.COST, Aim.THROUGHPUT):
        assert cap_s(TrialEvidence.of(runs(DEFAULT, 10.0, 1), Objective(aim=aim))) is None


def test_the_search_ends_when_nothing_new_is_worth_a_run_and_the_leader_has_a_few() -> None:
    for count in range(1, RUNS_MIN + 1):
        evidence = evidence_of(*runs(DEFAULT, 10.0, RUNS_MIN), *runs(setting(5), 9.0, count))
        assert not is_settled(evidence, are_new=True)
        assert is_settled(evidence, are_new=False) is (count == RUNS_MIN)


def test_without_a_leader_the_search_ends_when_there_is_nothing_new_to_try() -> None:
    assert is_settled(evidence_of(failed(DEFAULT, 0)), are_new=False)
    assert not is_settled(evidence_of(failed(DEFAULT, 0)), are_new=True)


def test_the_leader_is_the_best_that_keeps_within_the_memory() -> None:
    evidence = evidence_of(
        *runs(DEFAULT, 10.0, RUNS_MIN, peak_bytes=10.0), *runs(setting(99), 5.0, 1, peak_bytes=5000.0)
    )
    for limit, best in ((None, setting(99)), (1000, DEFAULT)):
        found = leader(evidence, max_memory_bytes=limit)
        assert found is not None
        assert found.setting == best
        assert is_settled(evidence, are_new=False, max_memory_bytes=limit) is (best == DEFAULT)
    assert leader(evidence_of(failed(DEFAULT, 0))) is None


def test_the_best_with_two_whole_runs_wins_and_the_next_that_is_not_the_default_follows() -> None:
    evidence = evidence_of(
        *runs(DEFAULT, 10.0, 2), *runs(setting(5), 9.0, 2), *runs(setting(10), 12.0, 2), whole(setting(20), 0, 8.0)
    )
    assert leaders_of(evidence) == Leaders(winner=setting(5), runner_up=setting(10))


def test_one_run_is_enough_where_no_setting_has_two() -> None:
    evidence = evidence_of(whole(DEFAULT, 0, 10.0), whole(setting(5), 0, 9.0))
    assert leaders_of(evidence) == Leaders(winner=setting(5), runner_up=None)


def test_the_default_may_win() -> None:
    evidence = evidence_of(*runs(DEFAULT, 10.0, 2), *runs(setting(5), 11.0, 2))
    assert leaders_of(evidence) == Leaders(winner=DEFAULT, runner_up=setting(5))


def test_what_was_capped_or_failed_twice_does_not_win() -> None:
    evidence = evidence_of(
        *runs(DEFAULT, 10.0, 2),
        *runs(setting(5), 5.0, 2),
        capped(setting(5), 2, 16.0),
        *runs(setting(10), 5.0, 2),
        failed(setting(10), 2),
        failed(setting(10), 3),
    )
    assert leaders_of(evidence) == Leaders(winner=DEFAULT, runner_up=None)
    assert leaders_of(evidence_of(failed(DEFAULT, 0))) is None


def test_a_winner_keeps_below_the_memory_limit_by_a_margin() -> None:
    evidence = evidence_of(
        *runs(DEFAULT, 10.0, 6, peak_bytes=100 * MIB),
        *runs(setting(5), 8.0, 6, peak_bytes=940 * MIB),
        *runs(setting(10), 6.0, 6, peak_bytes=960 * MIB),
        *runs(setting(20), 4.0, 6, peak_bytes=1100 * MIB),
    )
    limited = leaders_of(evidence, 1000 * MIB)
    assert limited == Leaders(winner=setting(5), runner_up=None)
    free = leaders_of(evidence)
    assert free == Leaders(winner=setting(20), runner_up=setting(10))


def test_the_margin_is_wider_where_peaks_vary_and_where_runs_are_few() -> None:
    steady = [whole(DEFAULT, block, 1.0, peak_bytes=100.0) for block in range(8)]
    assert bound_of(evidence_of(*steady)) == pytest.approx(105.0)
    assert bound_of(evidence_of(*steady[:2])) > 108.0
    varying = [whole(DEFAULT, block, 1.0, peak_bytes=100.0 + 20 * (block % 2)) for block in range(8)]
    assert bound_of(evidence_of(*varying)) > 140.0


def test_a_setting_whose_memory_is_unknown_is_not_recommended_under_a_limit() -> None:
    evidence = evidence_of(*runs(DEFAULT, 10.0, 2, peak_bytes=10.0), *runs(setting(5), 5.0, 2))
    leaders = leaders_of(evidence, 1000)
    assert leaders == Leaders(winner=DEFAULT, runner_up=None)


@pytest.mark.parametrize(
    ("prior_sigma", "spread"),
    [(UPLOAD_PEAK_SIGMA, 0.01), (UPLOAD_PEAK_SIGMA, 0.03), (DOWNLOAD_PEAK_SIGMA, 0.05), (DOWNLOAD_PEAK_SIGMA, 0.16)],
)
@pytest.mark.parametrize("count", [2, 6])
def test_ten_further_runs_stay_below_the_bound(prior_sigma: float, spread: float, count: int) -> None:
    random = np.random.default_rng([round(spread * 100), count])
    settings, exceeded = 200, 0
    for _ in range(settings):
        seen, later = random.lognormal(20, spread, count), random.lognormal(20, spread, MEMORY_RUNS)
        trials = [whole(DEFAULT, block, 1.0, peak_bytes=peak) for block, peak in enumerate(seen.tolist())]
        exceeded += later.max() > peak_bound_bytes(evidence_of(*trials), DEFAULT, prior_sigma=prior_sigma)
    assert exceeded <= MEMORY_RISK * settings + 2 * math.sqrt(MEMORY_RISK * settings)
