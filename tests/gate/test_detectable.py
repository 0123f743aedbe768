"""The smallest detectable worsening keeps its promise in gates of fresh noise, and d1 is part of it."""

import math

import numpy as np
import pytest
from msgspec.structs import replace

from s3bench.gate.detectable import Detectable, detectable, detectable_unpaired, with_detectable
from s3bench.gate.indifference_zone import Limits
from s3bench.gate.looks import Looks
from s3bench.gate.multiple_testing import decide_rows
from s3bench.gate.policy import Policy
from s3bench.gate.row import Verdict
from tests.gate.evidence_maker import paired

LIMITS = Limits(d0=math.log1p(0.02), d1=math.log1p(0.06))
GATES = 60
PROMISED = 52  # of 60 gates at 95 %, fewer come once in 300 times
POLICY = Policy(metrics=("total_time",))


def found(sigma: float, looks: Looks = POLICY.looks) -> Detectable:
    alarms = tuple(POLICY.false_alarm * share for share in looks.alarm_shares(POLICY.false_alarm))
    return detectable(sigma=sigma, looks=looks, limits=LIMITS, alarms=alarms, miss=POLICY.miss)


def verdicts(worsening: float, sigma: float, seed: int) -> list[Verdict | None]:
    """The verdicts of whole gates whose pairs have normal noise around a worsening (a log-ratio)."""
    noise = np.random.default_rng(seed).normal(worsening, sigma, (GATES, POLICY.looks.cap))
    return [decide_rows([paired(np.exp(each).tolist())], POLICY).rows[0].verdict for each in noise]


@pytest.mark.parametrize("sigma", [0.012, 0.08])
def test_of_a_hundred_gates_95_fail_a_worsening_of_the_printed_size(sigma: float) -> None:
    assert verdicts(found(sigma).failing, sigma, seed=7).count(Verdict.FAIL) >= PROMISED


def test_of_a_hundred_gates_95_show_the_smaller_one_as_small_or_fail() -> None:
    seen = verdicts(found(0.02).shown, 0.02, seed=8)
    assert seen.count(Verdict.SMALL) + seen.count(Verdict.FAIL) >= PROMISED
    assert Verdict.SMALL in seen


def test_a_worsening_well_below_d1_is_never_promised_to_fail() -> None:
    small = found(0.002)
    assert small.failing == pytest.approx(LIMITS.d1, abs=0.001)
    assert LIMITS.d0 < small.shown < 0.025


def test_it_grows_with_noise_and_shrinks_with_pairs() -> None:
    assert found(0.05).failing < found(0.10).failing < found(0.15).failing
    assert found(0.10, Looks(pairs=(200,))).failing < found(0.10).failing < found(0.10, Looks(pairs=(10,))).failing


def test_too_few_pairs_for_the_level_detect_nothing() -> None:
    assert found(0.01, Looks(pairs=(6,))) == Detectable(failing=math.inf, shown=math.inf)


def test_without_noise_it_is_the_zone_itself() -> None:
    row = with_detectable(decide_rows([paired([1.0] * 10)], POLICY).rows[0], POLICY)
    assert (row.detectable, row.detectable_small) == (pytest.approx(0.06, rel=1e-3), pytest.approx(0.02, rel=1e-3))


def test_of_unpaired_runs_d1_is_part_of_it_as_well() -> None:
    quiet, noisy = (detectable_unpaired(error=error, limits=LIMITS, level=0.01, miss=0.05) for error in (0.001, 0.05))
    assert quiet.failing == pytest.approx(LIMITS.d1)
    assert LIMITS.d0 < quiet.shown < quiet.failing
    assert noisy.failing == noisy.shown > LIMITS.d1


def test_a_row_of_a_few_pairs_says_what_the_whole_gate_detects() -> None:
    early = replace(POLICY, looks=Looks(pairs=(10,)))
    pairs = [math.exp(0.03 * ((number * 7) % 10 - 4.5) / 3) for number in range(10)]
    whole, one = (
        with_detectable(decide_rows([paired(pairs)], policy).rows[0], policy).detectable for policy in (POLICY, early)
    )
    assert whole is not None
    assert one is not None
    assert whole < one
