import random

import pytest

from s3bench.results.machine_speed import MachineSpeed, SpeedFacts, machine_speed, slow_runs, speed_series


def facts(*work_s: float) -> SpeedFacts:
    return SpeedFacts(at_s=tuple(number / 100 for number in range(len(work_s))), work_s=work_s)


def test_rates_are_averaged_over_time_and_not_times() -> None:
    speed = machine_speed(facts(0.001, 0.001, 0.002, 0.002))
    assert speed is not None
    assert speed.rate == pytest.approx(750.0)


def test_an_interrupted_probe_counts_as_a_moment_without_speed() -> None:
    speed = machine_speed(facts(*[0.001] * 9, 1e9))
    assert speed is not None
    assert speed.rate == pytest.approx(900.0)


def test_too_few_probes_are_no_figure() -> None:
    assert machine_speed(facts(0.001, 0.001, 0.001)) is None
    assert machine_speed(None) is None


def test_the_error_is_that_of_independent_probes() -> None:
    draw = random.Random(1)
    speed = machine_speed(facts(*(1 / draw.gauss(1000.0, 100.0) for _ in range(400))))
    assert speed is not None
    assert speed.error == pytest.approx(0.1 / 20, rel=0.15)


def test_a_machine_that_slows_down_half_way_is_no_noise_of_the_probe() -> None:
    draw = random.Random(1)
    rates = [draw.gauss(level, 10.0) for level in (1000.0, 500.0) for _ in range(200)]
    speed = machine_speed(facts(*(1 / rate for rate in rates)))
    assert speed is not None
    assert speed.error < 0.002


def test_a_series_is_relative_to_the_median_and_has_gaps_where_nothing_was_probed() -> None:
    probes = SpeedFacts(at_s=(0.01, 0.02, 0.03, 0.31, 0.9), work_s=(0.001, 0.001, 0.001, 0.002, 0.001))
    assert speed_series(probes, [0.0, 0.1, 0.2, 0.4]) == (None, 1.0, None, 0.5)
    assert speed_series(None, [0.0, 0.1]) == ()


def speeds(*rates: float, error: float = 0.002) -> list[MachineSpeed]:
    return [MachineSpeed(rate=rate, error=error, probes=50) for rate in rates]


def test_runs_on_a_slower_machine_are_counted_against_the_median() -> None:
    assert str(slow_runs(speeds(100.0, 101.0, 99.0, 90.0, 100.0))) == "the machine was 10% slower in 1 of 5 runs"


def test_what_the_probe_cannot_tell_from_chance_is_no_slow_run() -> None:
    assert slow_runs(speeds(100.0, 100.0, 92.0, error=0.05)) is None
    assert slow_runs(speeds(100.0, 100.0, 97.0)) is None


def test_two_speeds_are_too_few_to_tell_which_one_is_usual() -> None:
    assert slow_runs(speeds(100.0, 50.0)) is None
    assert slow_runs([None, *speeds(100.0, 50.0)]) is None
