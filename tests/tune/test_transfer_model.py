"""The model of a run: recovered from simulated transfers, and held against real ones."""

import math
from dataclasses import replace
from statistics import median

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3bench.clients.tuning.client_tuning import Habits
from s3bench.clients.tuning.parameter import GIB, MIB
from s3bench.clients.tuning.workload import Action, Workload
from s3bench.s3.network.model import NetworkModel, parse_network
from s3bench.tune.setting import Setting
from s3bench.tune.transfer_model import TransferModel, fit
from s3bench.tune.transfer_time import mean_ttfb_s
from tests.tune.ticking_transfer import DOWN, FASTER, LINK, SETTINGS, START_UP_S, measured, simulated, simulated_s
from tests.tune.transfers import Transfers, real_transfers
from tests.tune.trial_maker import capped


@pytest.fixture(scope="module")
def model() -> TransferModel:
    found = fit([simulated(setting) for setting in SETTINGS], DOWN, LINK)
    assert found is not None
    return found


def misses(model: TransferModel, workload: Workload, link: NetworkModel) -> list[float]:
    return [
        abs(model.predict(setting, workload, link) / simulated_s(setting, workload, link) - 1) for setting in SETTINGS
    ]


def test_a_simulated_transfer_is_recovered(model: TransferModel) -> None:
    assert median(misses(model, DOWN, LINK)) < 0.03
    assert max(misses(model, DOWN, LINK)) < 0.12
    assert model.start_up_s == pytest.approx(START_UP_S, abs=0.01)


def test_another_size_and_another_link_are_predicted(model: TransferModel) -> None:
    other = Workload(action=Action.DOWNLOAD, size_bytes=90 * MIB)
    assert median(misses(model, other, FASTER)) < 0.06
    assert max(misses(model, other, FASTER)) < 0.2


def test_the_error_is_that_of_settings_that_were_left_out(model: TransferModel) -> None:
    trials = [simulated(setting) for setting in SETTINGS[2:8]]
    trials[3] = simulated(SETTINGS[5], slower=2.0)
    spoilt = fit(trials, DOWN, LINK)
    assert spoilt is not None
    errors = []
    for left_out in trials:
        others = fit([one for one in trials if one is not left_out], DOWN, LINK)
        assert others is not None
        errors.append(abs(others.predict(left_out.setting, DOWN, LINK) / measured(left_out).total_time - 1))
    assert max(errors) == pytest.approx(0.5, abs=0.1), "a setting that took twice as long is half of it off"
    assert spoilt.error_p90 == pytest.approx(float(np.quantile(errors, 0.9)), rel=0.05)
    assert model.error_p90 < 0.15


def by_hand(client: str, workload: Workload, **values: int) -> float:
    """What a model of round numbers predicts; a client of CPU time 0, behind 100 ms and 10 MB/s per connection."""
    setting = Setting.of(client, values)
    model = TransferModel(
        workload=workload,
        network=None,
        habits=Habits(lookups_per_file=0.0 if workload.is_upload else 1.0),
        start_up_s=0.5,
        cpu_s_per_byte=0.0,
        cpu_s_per_request=0.0,
        overhead_s=0.25,
        surplus_s=0.1,
        serial_s_per_byte=1e-7,
        cores=2.0,
        connection_bytes_per_s=1.0,
        nic_bytes_per_s=1.0,
        error_p90=0.0,
    )
    return model.predict(setting, workload, parse_network("ttfb=100ms,bandwidth=10MB/s"))


def test_an_upload_by_hand() -> None:
    """Create and complete in turn; four parts are hashed by two cores; then two rounds on each of four connections."""
    upload = Workload(action=Action.UPLOAD, size_bytes=80_000_000)
    reported = {"max_concurrent_requests": 4, "multipart_chunksize": 10_000_000}
    in_turn, fill, lanes = 2 * 0.2, 4 * 1.0 / 2, 2 * 0.2 + 2 * (1.0 + 1.0) - 1.0
    expected = 0.5 + 0.25 + in_turn + fill + (lanes**3 + 0.2**3) ** (1 / 3)
    assert by_hand("boto3-classic", upload, **reported) == pytest.approx(expected)


def test_a_download_of_s5cmd_by_hand() -> None:
    """A look-up, the first part alone, then three parts on three connections at once."""
    download = Workload(action=Action.DOWNLOAD, size_bytes=40_000_000)
    first = lanes = 0.2 + 1.0 + 1.0
    expected = 0.5 + 0.25 + 0.2 + first + (lanes**3 + 0.2**3) ** (1 / 3)
    assert by_hand("s5cmd", download, concurrency=3, part_size=10_000_000) == pytest.approx(expected)


def test_without_a_network_model_the_rates_are_fitted() -> None:
    found = fit([simulated(setting) for setting in SETTINGS], DOWN, None)
    assert found is not None
    assert found.connection_bytes_per_s == pytest.approx(20e6, rel=0.15)
    assert found.nic_bytes_per_s == pytest.approx(120e6, rel=0.15)
    assert found.predict(SETTINGS[3], DOWN, None) == pytest.approx(simulated_s(SETTINGS[3], DOWN, LINK), rel=0.1)


def test_without_a_network_model_a_prediction_is_for_the_link_of_the_runs(model: TransferModel) -> None:
    assert model.predict(SETTINGS[0], DOWN, None) == pytest.approx(model.predict(SETTINGS[0], DOWN, LINK))


def test_the_same_runs_give_the_same_model(model: TransferModel) -> None:
    assert fit([simulated(setting) for setting in SETTINGS], DOWN, LINK) == model


def test_too_few_settings_give_no_model() -> None:
    trials = [simulated(setting) for setting in SETTINGS[:3]]
    assert fit([], DOWN, LINK) is None
    assert fit([*trials, *trials, capped(SETTINGS[5], 0, 1.0)], DOWN, LINK) is None
    assert fit([*trials, simulated(SETTINGS[5])], DOWN, LINK) is not None


@given(
    kind=st.sampled_from(("cli-classic", "cli-crt", "boto3-crt", "crt-python", "s5cmd")),
    action=st.sampled_from(tuple(Action)),
    size=st.integers(0, 20 * GIB),
    files=st.integers(1, 3000),
    lanes=st.integers(1, 300),
    part=st.integers(5 * MIB, 5 * GIB),
)
def test_every_transfer_takes_a_finite_time_and_none_beats_the_link(
    model: TransferModel, kind: str, action: Action, size: int, files: int, lanes: int, part: int
) -> None:
    workload = Workload(action=action, size_bytes=size, files=files)
    names = ("concurrency", "part_size") if kind == "s5cmd" else ("max_concurrent_requests", "multipart_chunksize")
    own = replace(model, habits=Habits())
    setting = Setting.of(kind, dict(zip(names, (lanes, part), strict=True)))
    found_s = own.predict(setting, workload, FASTER)
    assert 0 < found_s < math.inf
    assert found_s >= workload.total_bytes / 300e6, "no transfer is faster than the link"


def test_the_mean_of_a_lognormal_time_to_first_byte_is_above_its_median() -> None:
    sigma = math.log(40 / 15) / 1.2815515655446004
    draws = 0.015 * np.exp(sigma * np.random.default_rng(1).standard_normal(400_000))
    assert mean_ttfb_s(parse_network("ttfb=lognormal:15ms:40ms")) == pytest.approx(float(draws.mean()), rel=0.02)
    assert mean_ttfb_s(LINK) == 0.04
    assert mean_ttfb_s(NetworkModel(ttfb_samples_s=(0.01, 0.05), ttfb_p50_s=0.05)) == pytest.approx(0.03)


def missed_by(known: Transfers, other: Transfers) -> list[float]:
    """The relative errors of a model of `known` for each setting of `other`."""
    found = fit(known.trials, known.workload, known.link)
    assert found is not None
    times: dict[Setting, list[float]] = {}
    for one in other.trials:
        times.setdefault(one.setting, []).append(measured(one).total_time)
    return [abs(found.predict(setting, other.workload, other.link) / median(own) - 1) for setting, own in times.items()]


@pytest.mark.parametrize(("to_larger", "bound", "bound_p90"), [(True, 0.06, 0.15), (False, 0.15, 0.40)])
def test_real_transfers_of_another_size_behind_another_link_are_predicted(
    to_larger: bool, bound: float, bound_p90: float
) -> None:
    """From ten settings of 64 MiB behind the faster link to 256 MiB behind the slower, and from five of those back."""
    all_of = real_transfers()
    missed = [
        miss
        for known in all_of
        for other in all_of
        if (known.client, known.action) == (other.client, other.action)
        and known.size_bytes != other.size_bytes
        and (known.size_bytes < other.size_bytes) is to_larger
        for miss in missed_by(known, other)
    ]
    assert len(missed) >= 30
    assert median(missed) < bound
    assert float(np.quantile(missed, 0.9)) < bound_p90
