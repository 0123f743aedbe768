"""What trials show of each setting, freed of the blocks in which they ran."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from s3bench.stats.t_distribution import upper_tail
from s3bench.tune.evidence import PRIOR_DEGREES_OF_FREEDOM, PRIOR_SIGMA, SettingEstimate, TrialEvidence
from s3bench.tune.objective import Aim, Objective
from s3bench.tune.setting import Setting
from s3bench.tune.study import Stage, Trial
from tests.tune.trial_maker import DEFAULT, capped, failed, setting, whole

TIME = Objective()
PRIOR_SQUARES = PRIOR_DEGREES_OF_FREEDOM * PRIOR_SIGMA**2


def known(evidence: TrialEvidence, of: Setting) -> SettingEstimate:
    estimate = evidence.estimate(of)
    assert estimate is not None
    return estimate


def in_blocks(blocks: list[dict[int, float]], moods: list[float] | None = None) -> list[Trial]:
    """Trials of the settings `requests: time` of each block, all times of a block multiplied by its mood."""
    return [
        whole(setting(requests), number, time_s * (moods[number] if moods else 1.0))
        for number, block in enumerate(blocks)
        for requests, time_s in block.items()
    ]


def test_settings_that_ran_in_different_blocks_are_comparable() -> None:
    blocks = [{0: 10.0, 5: 12.0, 20: 8.0}, {0: 10.0, 20: 8.0, 40: 6.0}, {0: 10.0, 40: 6.0, 80: 9.0}]
    evidence = TrialEvidence.of(in_blocks(blocks, moods=[0.5, 1.0, 2.0]), TIME)
    values = {each.setting: each.value for each in evidence.estimates()}
    # The blocks' moods average to one (on the logarithm), so an average block shows the times as they are.
    expected = {setting(0): 10.0, setting(5): 12.0, setting(20): 8.0, setting(40): 6.0, setting(80): 9.0}
    assert values == pytest.approx(expected)
    assert [each.setting for each in evidence.estimates()] == [setting(each) for each in (40, 20, 80, 0, 5)]
    assert [known(evidence, setting(each)).runs for each in (0, 5, 40)] == [3, 1, 2]


def test_drift_over_the_blocks_does_not_favour_who_ran_early() -> None:
    early = [{0: 10.0, 5: 10.5}] * 3 + [{0: 10.0, 20: 9.5}] * 3
    evidence = TrialEvidence.of(in_blocks(early, moods=[1.0, 1.1, 1.2, 1.3, 1.4, 1.5]), TIME)
    # By its plain mean the setting of the quick blocks would be ahead.
    assert known(evidence, setting(20)).value < known(evidence, setting(5)).value
    assert evidence.contrast(setting(5), setting(20)).log_ratio == pytest.approx(math.log(10.5 / 9.5))


def oracle(trials: list[Trial], first: Setting, second: Setting) -> tuple[float, float, int]:
    """The contrast, its variance over the residual variance, and the residual degrees of freedom, by the textbook.

    Coded with a constant and one setting and one block left out, which makes the design regular.
    """
    settings = list(dict.fromkeys(trial.setting for trial in trials))
    blocks = list(dict.fromkeys(trial.block for trial in trials))
    design = np.array(
        [
            [1.0]
            + [float(trial.setting == each) for each in settings[1:]]
            + [float(trial.block == each) for each in blocks[1:]]
            for trial in trials
        ]
    )
    logs = np.log([trial.measurement.total_time for trial in trials if trial.measurement])
    effects = np.linalg.lstsq(design, logs, rcond=None)[0]
    weights = np.zeros(design.shape[1])
    for each, weight in ((first, 1.0), (second, -1.0)):
        if settings.index(each):
            weights[settings.index(each)] = weight
    squares = float(((logs - design @ effects) ** 2).sum())
    free = len(trials) - design.shape[1]
    variance = (PRIOR_SQUARES + squares) / (PRIOR_DEGREES_OF_FREEDOM + free)
    scale = float(weights @ np.linalg.inv(design.T @ design) @ weights)
    return float(weights @ effects), math.sqrt(variance * scale), free


@given(st.integers(0, 10_000))
def test_contrasts_are_those_of_the_least_squares_fit_of_the_textbook(seed: int) -> None:
    random = np.random.default_rng(seed)
    trials = [whole(DEFAULT, block, random.lognormal(2.0, 0.1)) for block in range(4)]
    for block in range(4):
        joining = random.choice([5, 10, 20, 40], size=2, replace=False).tolist()
        trials.extend(whole(setting(requests), block, random.lognormal(2.0, 0.1)) for requests in joining)
    first, second = trials[-1].setting, trials[-2].setting
    log_ratio, error, free = oracle(trials, first, second)
    contrast = TrialEvidence.of(trials, TIME).contrast(first, second)
    assert contrast.log_ratio == pytest.approx(log_ratio, abs=1e-9)
    assert contrast.standard_error == pytest.approx(error)
    assert contrast.degrees_of_freedom == pytest.approx(PRIOR_DEGREES_OF_FREEDOM + free)


def test_one_block_is_judged_by_the_prior_noise_alone() -> None:
    contrast = TrialEvidence.of(in_blocks([{0: 10.0, 5: 12.0}]), TIME).contrast(setting(5), DEFAULT)
    assert contrast.standard_error == pytest.approx(PRIOR_SIGMA * math.sqrt(2))
    assert contrast.degrees_of_freedom == PRIOR_DEGREES_OF_FREEDOM


def test_runs_that_agree_by_luck_are_not_taken_for_a_machine_without_noise() -> None:
    contrast = TrialEvidence.of(in_blocks([{0: 10.0, 5: 12.0}] * 3), TIME).contrast(setting(5), DEFAULT)
    sigma = math.sqrt(PRIOR_SQUARES / (PRIOR_DEGREES_OF_FREEDOM + 2))
    assert contrast.standard_error == pytest.approx(sigma * math.sqrt(2 / 3))


@pytest.mark.parametrize("sigma", [0.01, 0.03, 0.08])
def test_after_many_runs_the_noise_is_the_runs_own(sigma: float) -> None:
    random = np.random.default_rng(4)
    blocks = [{requests: random.lognormal(2.0, sigma) for requests in (0, 5, 10, 20, 40)} for _ in range(40)]
    contrast = TrialEvidence.of(in_blocks(blocks), TIME).contrast(setting(5), DEFAULT)
    assert contrast.standard_error == pytest.approx(sigma * math.sqrt(2 / 40), rel=0.25)


def simulated(random: np.random.Generator, sigma: float, moods: NDArray[np.float64]) -> TrialEvidence:
    """Four equal settings, of which two join late."""
    trials = [
        whole(setting(requests), block, math.exp(mood + random.normal(0, sigma)))
        for block, mood in enumerate(moods.tolist())
        for requests in ((0, 5) if block < 2 else (0, 5, 20, 40))
    ]
    return TrialEvidence.of(trials, TIME)


@pytest.mark.parametrize("sigma", [0.03, 0.08])
def test_a_test_by_the_standard_error_keeps_its_level_under_drift(sigma: float) -> None:
    random = np.random.default_rng(8)
    studies, level, alarms = 400, 0.05, 0
    for _ in range(studies):
        contrast = simulated(random, sigma, np.linspace(0, 0.3, 5)).contrast(setting(20), DEFAULT)
        alarms += upper_tail(contrast.log_ratio / contrast.standard_error, contrast.degrees_of_freedom) < level
    # Noise above the prior's makes the test err a little more often than it says, noise below it less.
    assert alarms <= 1.4 * level * studies + 2 * math.sqrt(level * studies)


def test_a_setting_that_was_only_capped_is_known_to_be_slower_than_that_in_an_average_block() -> None:
    trials = in_blocks([{0: 10.0, 20: 8.0}] * 2, moods=[0.5, 2.0])
    evidence = TrialEvidence.of([*trials, capped(setting(5), 0, 12.0), capped(setting(5), 1, 16.0)], TIME)
    # 12 s in the block that ran at half the time mean 24 s, 16 s in the one at twice the time mean 8 s.
    estimate = known(evidence, setting(5))
    assert estimate.value == pytest.approx(24.0)
    assert (estimate.runs, estimate.was_capped) == (0, True)
    assert evidence.caps(setting(5)) == 2


def test_a_cap_in_a_block_without_a_whole_run_counts_as_it_is() -> None:
    evidence = TrialEvidence.of([capped(setting(5), 0, 12.0)], TIME)
    assert known(evidence, setting(5)).value == 12.0


def test_whole_runs_count_before_capped_ones_and_these_before_failures() -> None:
    trials = [whole(DEFAULT, 0, 10.0), failed(setting(40), 0), capped(setting(5), 0, 4.0), capped(setting(10), 0, 3.0)]
    estimates = TrialEvidence.of(trials, TIME).estimates()
    assert [each.setting for each in estimates] == [DEFAULT, setting(10), setting(5), setting(40)]
    assert (estimates[-1].value, estimates[-1].was_capped) == (math.inf, False)


def test_a_setting_with_a_whole_run_has_its_value_from_that() -> None:
    evidence = TrialEvidence.of(
        [whole(DEFAULT, 0, 10.0), whole(setting(5), 0, 12.0), capped(setting(5), 0, 30.0)], TIME
    )
    estimate = known(evidence, setting(5))
    assert estimate.value == pytest.approx(12.0)
    assert (estimate.runs, estimate.was_capped) == (1, False)


def test_failures_are_counted_and_capped_runs_are_none() -> None:
    trials = [whole(DEFAULT, 0, 10.0), failed(DEFAULT, 1), failed(DEFAULT, 2), capped(setting(5), 0, 16.0)]
    evidence = TrialEvidence.of(trials, TIME)
    assert known(evidence, DEFAULT).failures == 2
    assert known(evidence, setting(5)).failures == 0


def test_peak_memory_is_the_most_of_all_runs() -> None:
    trials = [whole(DEFAULT, block, 10.0, peak_bytes=peak) for block, peak in enumerate((100.0, 300.5, 200.0))]
    evidence = TrialEvidence.of(trials, TIME)
    assert known(evidence, DEFAULT).peak_memory_bytes == 301
    assert evidence.peaks_bytes(DEFAULT) == (100.0, 300.5, 200.0)


def test_peak_memory_may_be_unknown() -> None:
    evidence = TrialEvidence.of([whole(DEFAULT, 0, 10.0)], TIME)
    assert known(evidence, DEFAULT).peak_memory_bytes is None


def test_settings_that_no_common_block_joins_are_not_contrasted() -> None:
    trials = in_blocks([{5: 10.0, 10: 20.0}, {20: 30.0, 40: 15.0}])
    evidence = TrialEvidence.of(trials, TIME)
    assert evidence.contrast(setting(5), setting(20)).standard_error == math.inf
    assert evidence.contrast(setting(10), setting(5)).standard_error < 1
    # Their blocks are taken for equal on average.
    values = [known(evidence, setting(requests)).value for requests in (5, 10, 20, 40)]
    assert values == pytest.approx([10.0, 20.0, 30.0, 15.0])


def test_a_chain_of_common_blocks_joins() -> None:
    evidence = TrialEvidence.of(in_blocks([{5: 10.0, 10: 20.0}, {10: 40.0, 40: 10.0}]), TIME)
    contrast = evidence.contrast(setting(5), setting(40))
    assert contrast.log_ratio == pytest.approx(math.log(2.0))
    assert contrast.standard_error == pytest.approx(PRIOR_SIGMA * 2)


def test_blocks_of_different_stages_are_different() -> None:
    trials = [whole(DEFAULT, 0, 10.0), whole(setting(5), 0, 12.0), whole(DEFAULT, 0, 100.0, stage=Stage.PROBE)]
    assert TrialEvidence.of(trials, TIME).contrast(setting(5), DEFAULT).log_ratio == pytest.approx(math.log(1.2))


def test_values_are_the_objectives() -> None:
    cost = Objective(aim=Aim.COST, machine_per_hour=3600.0)
    assert known(TrialEvidence.of([whole(DEFAULT, 0, 10.0)], cost), DEFAULT).value == pytest.approx(10.0)
    assert known(TrialEvidence.of([whole(DEFAULT, 0, 10.0)], Objective(aim=Aim.COST)), DEFAULT).value < 0.001


def test_caps_have_no_meaning_where_the_time_is_not_the_objective() -> None:
    with pytest.raises(AssertionError, match="times alone"):
        TrialEvidence.of([capped(DEFAULT, 0, 10.0)], Objective(aim=Aim.COST))


def test_nothing_is_known_without_trials() -> None:
    evidence = TrialEvidence.of([], TIME)
    assert (evidence.settings, evidence.estimates(), evidence.estimate(DEFAULT)) == ((), (), None)


def test_settings_are_in_the_order_in_which_they_joined() -> None:
    assert TrialEvidence.of(in_blocks([{20: 1.0, 0: 2.0}, {5: 1.0, 20: 1.0}]), TIME).settings == (
        setting(20),
        DEFAULT,
        setting(5),
    )
