import math
import random

import pytest
from msgspec.structs import replace

from s3bench.gate.evidence import ClientCellEvidence, RunPair
from s3bench.gate.paired_series import series_of
from s3bench.results.machine_speed import MachineSpeed
from s3bench.results.measurement import Measurement
from tests.gate.evidence_maker import pair, run

SLOW = 0.1


def at_speed(total_time: float, slowness: float, *, waited_s: float | None = None) -> Measurement:
    """A run of `total_time`, all of it CPU time but for what it waited, on a machine slower by this log-ratio."""
    return run(
        total_time,
        cpu_time=total_time - (waited_s or 0.0),
        runqueue_wait_time=waited_s,
        machine_speed=MachineSpeed(rate=1000.0 * math.exp(-slowness), error=0.001, probes=100),
    )


def noisy_pairs(count: int, *, worsening: float = 0.0, slope: float = 1.0, shift: float = 0.0) -> tuple[RunPair, ...]:
    """Pairs whose times follow the speed of the machine, which the candidate slows down by `shift`."""
    draw = random.Random(1)
    pairs = []
    for number in range(count):
        first, second = (draw.gauss(0.0, SLOW) for _ in range(2))
        second += shift
        before, after = (math.exp(slope * each + draw.gauss(0.0, 0.01)) for each in (first, second))
        pairs.append(pair(at_speed(before, first), at_speed(after * (1 + worsening), second), number))
    return tuple(pairs)


def cell(pairs: tuple[RunPair, ...]) -> ClientCellEvidence:
    return ClientCellEvidence(name="s3.cp.upload", pairs=pairs)


def test_what_the_speed_of_the_machine_explains_is_taken_out() -> None:
    series = series_of(cell(noisy_pairs(20, worsening=0.05)), "cpu_time")
    assert series.sigma is not None
    assert series.raw().sigma == pytest.approx(0.15, abs=0.03)
    assert series.sigma < 0.02
    assert series.change() == pytest.approx(0.05, abs=0.01)
    assert series.adjustment is not None
    assert series.adjustment.speed_slope == pytest.approx(1.0, abs=0.1)


def test_waiting_for_a_core_is_taken_out_of_total_time_and_not_of_cpu_time() -> None:
    draw = random.Random(2)
    pairs = []
    for number in range(20):
        waits = [abs(draw.gauss(0.0, 0.2)) for _ in range(2)]
        before, after = (run(1.0 + wait, cpu_time=1.0, runqueue_wait_time=wait) for wait in waits)
        pairs.append(pair(before, after, number))
    total = series_of(cell(tuple(pairs)), "total_time")
    assert total.raw().sigma is not None
    assert total.sigma is not None
    assert total.sigma < 0.1 * total.raw().sigma
    assert series_of(cell(tuple(pairs)), "cpu_time").adjustment is None


def test_a_throughput_is_adjusted_the_other_way_round() -> None:
    pairs = tuple(
        replace(
            each,
            baseline=replace(each.baseline, throughput=1e6 / each.baseline.total_time),
            candidate=replace(each.candidate, throughput=1e6 / each.candidate.total_time),
        )
        for each in noisy_pairs(20)
    )
    series = series_of(cell(pairs), "throughput")
    assert series.adjustment is not None
    assert series.adjustment.speed_slope < 0
    assert series.sigma == pytest.approx(series_of(cell(pairs), "total_time").sigma)


def test_a_candidate_that_slows_the_core_down_is_not_adjusted_and_says_so() -> None:
    series = series_of(cell(noisy_pairs(40, worsening=0.0, shift=0.15)), "cpu_time")
    assert series.adjustment is not None
    assert series.adjustment.moved == "the speed of the machine"
    assert series.adjustment.machine_shift == pytest.approx(math.expm1(-0.15), abs=0.05)
    assert series.worsenings == series.raw().worsenings


@pytest.mark.parametrize("metric", ["peak_memory", "milestones.exit"])
def test_other_metrics_are_left_alone(metric: str) -> None:
    assert series_of(cell(noisy_pairs(20)), metric).adjustment is None


def without_speed(pairs: tuple[RunPair, ...], numbers: range) -> tuple[RunPair, ...]:
    """The pairs, of which those with such numbers lack the speed of the candidate's run."""
    return tuple(
        replace(each, candidate=replace(each.candidate, machine_speed=None)) if number in numbers else each
        for number, each in enumerate(pairs)
    )


def test_a_pair_that_lacks_the_speed_is_left_as_it_was_measured() -> None:
    pairs = noisy_pairs(40)
    series = series_of(cell(without_speed(pairs, range(2))), "cpu_time")
    assert series.worsenings[:2] == series.raw().worsenings[:2]
    alone = series_of(cell(pairs[2:]), "cpu_time")
    assert series.worsenings[2:] == pytest.approx(alone.worsenings, abs=0.005)


def test_nothing_is_adjusted_where_more_than_one_pair_in_twenty_lacks_the_speed() -> None:
    pairs = noisy_pairs(40)
    assert series_of(cell(without_speed(pairs, range(3))), "cpu_time").adjustment is None


def test_a_candidate_that_slows_the_core_down_is_noticed_where_a_pair_lacks_the_speed() -> None:
    series = series_of(cell(without_speed(noisy_pairs(40, shift=0.15), range(2))), "cpu_time")
    assert series.adjustment is not None
    assert series.adjustment.moved == "the speed of the machine"


def test_fewer_than_four_pairs_are_not_adjusted() -> None:
    assert series_of(cell(noisy_pairs(3)), "cpu_time").adjustment is None


def test_the_sides_exchanged_give_the_opposite() -> None:
    series = series_of(cell(noisy_pairs(20, worsening=0.05)), "cpu_time")
    assert series.mirrored().worsenings == pytest.approx([-each for each in series.worsenings])
