"""What few runs are good for: a sketch of a client, sure of what was seen, and open where it was not."""

import numpy as np
import pytest

from s3bench.tune.search_model import fit_search_model
from s3bench.tune.transfer_model import fit
from tests.tune.ticking_transfer import DOWN, LINK, SETTINGS, START_UP_S, simulated
from tests.tune.trial_maker import capped


def test_a_sketch_of_many_runs_expects_what_the_model_predicts_and_one_of_few_is_less_sure() -> None:
    trials = [simulated(setting) for setting in SETTINGS]
    model, many, few = (
        fit(trials, DOWN, LINK),
        fit_search_model(trials, DOWN, LINK),
        fit_search_model(trials[:1], DOWN, LINK),
    )
    assert model is not None
    assert many is not None
    assert few is not None
    log_s, sigmas = many.expect(SETTINGS)
    assert np.exp(log_s) == pytest.approx([model.predict(setting, DOWN, None) for setting in SETTINGS])
    assert (sigmas < few.expect(SETTINGS)[1]).all()


def test_a_sketch_needs_one_whole_run() -> None:
    assert fit_search_model([], DOWN, LINK) is None
    assert fit_search_model([capped(SETTINGS[0], 0, 1.0)], DOWN, LINK) is None


def test_a_run_that_was_ended_as_too_slow_is_a_lower_bound() -> None:
    run, slow = simulated(SETTINGS[3]), SETTINGS[7]

    def expected_s(*cap_s: float) -> float:
        drawn = fit_search_model([run, *(capped(slow, 0, each) for each in cap_s)], DOWN, LINK)
        assert drawn is not None
        return float(np.exp(drawn.expect([slow])[0][0]))

    free_s = expected_s()
    assert expected_s(0.8 * free_s) == pytest.approx(free_s)
    assert free_s < 1.02 * free_s < expected_s(1.3 * free_s) <= 1.3 * free_s


def test_no_setting_is_faster_than_the_start_up_and_the_link() -> None:
    drawn = fit_search_model([simulated(setting) for setting in SETTINGS[:4]], DOWN, LINK)
    assert drawn is not None
    assert drawn.least_s == pytest.approx(START_UP_S + DOWN.total_bytes / 120e6, abs=0.01)
    free = fit_search_model([simulated(setting) for setting in SETTINGS[:4]], DOWN, None)
    assert free is not None
    assert free.least_s == pytest.approx(START_UP_S, abs=0.01)
