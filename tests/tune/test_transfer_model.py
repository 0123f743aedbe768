"""The model of a run: recovered from simulated transfers, and held against real ones."""

import math
from dataclasses import replace
from functools import cache
from statistics import median

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import least_squares  # type: ignore[import-untyped]

from s3bench.results.measurement import Measurement
from s3bench.s3.network.model import NetworkModel, parse_network
from s3bench.spec.definition import ClientKind
from s3bench.tune import transfer_model
from s3bench.tune.knob import GIB, MIB
from s3bench.tune.request_plan import Habits
from s3bench.tune.setting import Setting
from s3bench.tune.study import Trial
from s3bench.tune.transfer_model import Error, TransferModel, fit, mean_ttfb_s
from s3bench.tune.workload import Action, Workload
from tests.tune.transfers import Run, Transfers, real_transfers, trial
from tests.tune.trial_maker import capped

DOWN = Workload(action=Action.DOWNLOAD, size_bytes=256 * MIB)
LINK = parse_network("ttfb=40ms,bandwidth=20MB/s,nic=120MB/s")
FASTER = parse_network("ttfb=10ms,bandwidth=50MB/s,nic=300MB/s")
SETTINGS = tuple(
    Setting.of("boto3-classic", {"max_concurrent_requests": lanes, "multipart_chunksize": part * MIB})
    for lanes in (1, 2, 4, 10, 20)
    for part in (5, 8, 32)
)
START_UP_S = 0.5
SURPLUS_S = 0.005


@cache
def simulated_s(setting: Setting, workload: Workload, link: NetworkModel) -> float:
    """A transfer by a clock that ticks: each connection takes the next part, and all that receive share the NIC."""
    part = setting.get("multipart_chunksize") or 8 * MIB
    lanes = setting.get("max_concurrent_requests") or 10
    left = [min(part, workload.size_bytes - at) for at in range(0, workload.size_bytes, part)]
    latency_s = link.ttfb_p50_s + SURPLUS_S
    at_s, busy = latency_s, [[0.0, 0.0] for _ in range(lanes)]  # seconds until the first byte, bytes to come
    step_s = 0.004
    while left or any(size > 0 for _, size in busy):
        for lane in busy:
            if lane[1] <= 0 and left:
                lane[:] = [latency_s, float(left.pop(0))]
        receiving = [lane for lane in busy if lane[1] > 0 and lane[0] <= 0]
        rate = min(link.connection_bytes_per_s or 0, (link.nic_down_bytes_per_s or 0) / max(1, len(receiving)))
        for lane in receiving:
            lane[1] -= rate * step_s
        for lane in busy:
            lane[0] -= step_s
        at_s += step_s
    return START_UP_S + at_s


def simulated(setting: Setting, workload: Workload = DOWN, link: NetworkModel = LINK, *, slower: float = 1.0) -> Trial:
    total_s = simulated_s(setting, workload, link) * slower
    run = Run(
        values={},
        total_s=total_s,
        first_s=START_UP_S - 0.1,
        last_s=total_s - 0.1,
        user_s=START_UP_S,
        system_s=0.01,
        server_s=0.0,
        in_flight=setting.get("max_concurrent_requests") or 10,
        part_bytes=8 * MIB,
        kinds={"GET ranged": 32, "HEAD": 1},
    )
    return trial(setting, run, workload)


def measured(of: Trial) -> Measurement:
    assert of.measurement is not None
    return of.measurement


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
    assert spoilt.error.median == pytest.approx(median(errors), rel=0.05)
    assert spoilt.error.p90 == pytest.approx(float(np.quantile(errors, 0.9)), rel=0.05)
    assert (model.error.settings, spoilt.error.settings) == (len(SETTINGS), 6)
    assert model.error.p90 < 0.15


def by_hand(client: str, workload: Workload, **values: int) -> float:
    """What a model of round numbers predicts; a client of CPU time 0, behind 100 ms and 10 MB/s per connection."""
    setting = Setting.of(client, values)
    model = TransferModel(
        client=client,
        workload=workload,
        network=None,
        habits=Habits(kind=setting.kind, lookups_per_file=0.0 if workload.is_upload else 1.0),
        start_up_s=0.5,
        cpu_s_per_byte=0.0,
        cpu_s_per_request=0.0,
        overhead_s=0.25,
        surplus_s=0.1,
        serial_s_per_byte=1e-7,
        cores=2.0,
        connection_bytes_per_s=1.0,
        nic_bytes_per_s=1.0,
        error=Error(median=0.0, p90=0.0, settings=4),
    )
    return model.predict(setting, workload, parse_network("ttfb=100ms,bandwidth=10MB/s"))


def test_an_upload_by_hand() -> None:
    """Create and complete in turn; four parts are hashed by two cores; then two rounds on each of four connections."""
    upload = Workload(action=Action.UPLOAD, size_bytes=80_000_000)
    told = {"max_concurrent_requests": 4, "multipart_chunksize": 10_000_000}
    in_turn, fill, lanes = 2 * 0.2, 4 * 1.0 / 2, 2 * 0.2 + 2 * (1.0 + 1.0) - 1.0
    expected = 0.5 + 0.25 + in_turn + fill + (lanes**3 + 0.2**3) ** (1 / 3)
    assert by_hand("boto3-classic", upload, **told) == pytest.approx(expected)


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


def test_the_fit_is_the_least_squares_that_scipy_finds() -> None:
    runs = {setting: [measured(simulated(setting))] for setting in SETTINGS}
    points = transfer_model._Points.of(
        runs, DOWN, Habits(kind=ClientKind.BOTO3_CLASSIC), transfer_model._link(None, DOWN)
    )
    fitted = transfer_model._fitted(points)
    start = transfer_model._CENTRES
    oracle = least_squares(lambda here: transfer_model._misses(here, points, fitted.cpu), start)
    own = transfer_model._misses(fitted.logarithms, points, fitted.cpu)
    assert float(own @ own) <= 2 * oracle.cost * 1.001


def test_cpu_time_is_split_into_bytes_and_requests_neither_below_zero() -> None:
    def cpu(per_byte: float, per_request: float) -> tuple[float, float]:
        points = transfer_model._Points.of(
            {setting: [measured(simulated(setting))] for setting in SETTINGS},
            DOWN,
            Habits(kind=ClientKind.BOTO3_CLASSIC),
            transfer_model._link(LINK, DOWN),
        )
        plans = points.plans
        points.cpu_s[:] = START_UP_S + per_byte * plans.total_bytes + per_request * plans.requests
        found = transfer_model._cpu(points, START_UP_S)
        return found.s_per_byte, found.s_per_request

    assert cpu(2e-9, 3e-3) == pytest.approx((2e-9, 3e-3))
    assert cpu(0.0, 3e-3) == pytest.approx((0.0, 3e-3), abs=1e-12)
    assert cpu(4e-9, -1e-3)[1] == 0.0


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
    own = replace(model, client=kind, habits=Habits(kind=ClientKind(kind)))
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
