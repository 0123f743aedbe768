"""What limited a phase, claimed only where the evidence leaves nothing else."""

import math
from dataclasses import replace

import pytest

from s3bench.load.aggregation.bottleneck import PhaseLimit, Signs, Yardsticks, find

EASY = Signs(
    window_s=10.0,
    cpu_share=0.3,
    wait_share=0.7,
    ended_per_s=1000,
    bytes_per_s=1e6,
    threads=16,
    in_flight=16.0,
    latency_p50_s=0.016,
)
LOOPBACK = Yardsticks(link_bytes_per_s=math.inf)


@pytest.mark.parametrize(
    ("signs", "known", "words"),
    [
        (replace(EASY, cpu_share=0.95), Yardsticks(), "the load generator was busy for 95% of the time"),
        (replace(EASY, wait_share=0.04), Yardsticks(), "waited for only 4% of the time"),
        (replace(EASY, ended_per_s=801), Yardsticks(ceiling=1000), "801 operations a second are near the 1,000"),
    ],
)
def test_a_busy_generator_is_the_limit_and_its_figures_are_its_own(signs: Signs, known: Yardsticks, words: str) -> None:
    found = find(signs, replace(known, latency_floor_s=0.001, link_bytes_per_s=1.0))
    assert found.limit is PhaseLimit.CLIENT
    assert words in found.warning
    assert "these figures show its own limit; add --workers" in found.warning


def test_a_worker_that_other_programs_keep_from_its_core_is_told_apart_from_a_busy_one() -> None:
    starved = replace(EASY, cpu_share=0.4, wait_share=0.02, run_delay_share=0.55)
    found = find(starved, LOOPBACK)
    assert found.limit is PhaseLimit.OTHER_PROGRAMS
    assert "waited for a core for 55% of the time" in found.warning
    assert "--workers than cores" in found.warning
    assert (
        find(replace(starved, wait_share=0.5), LOOPBACK).limit is PhaseLimit.OTHER_PROGRAMS
    )  # waiting has the delay in it
    assert find(replace(EASY, cpu_share=0.75, run_delay_share=0.15), LOOPBACK).limit is PhaseLimit.OTHER_PROGRAMS
    busy = replace(starved, cpu_share=0.95, run_delay_share=0.04)
    assert find(busy, LOOPBACK).limit is PhaseLimit.CLIENT
    assert find(replace(busy, run_delay_share=0.2), LOOPBACK).limit is PhaseLimit.CLIENT  # another worker's delay
    assert find(replace(EASY, run_delay_share=0.3), LOOPBACK).limit is PhaseLimit.NONE
    assert find(replace(starved, run_delay_share=None), LOOPBACK).limit is PhaseLimit.CLIENT


def test_just_below_its_limits_the_generator_is_not_blamed() -> None:
    signs = replace(EASY, cpu_share=0.89, wait_share=0.05, ended_per_s=799)
    assert find(signs, Yardsticks(ceiling=1000)).limit is PhaseLimit.NONE


def test_a_link_that_is_full_is_the_network() -> None:
    assert find(replace(EASY, bytes_per_s=1.13e8), Yardsticks(link_bytes_per_s=1.25e8)).limit is PhaseLimit.NETWORK
    assert find(replace(EASY, bytes_per_s=1.12e8), Yardsticks(link_bytes_per_s=1.25e8)).limit is not PhaseLimit.NETWORK


def test_threads_that_wait_for_an_unhurried_server_are_too_few() -> None:
    assert find(EASY, replace(LOOPBACK, latency_floor_s=0.015)).limit is PhaseLimit.CONNECTIONS


def test_threads_that_queue_far_above_the_floor_wait_for_the_server() -> None:
    known = replace(LOOPBACK, latency_floor_s=0.008)
    assert find(EASY, known).limit is PhaseLimit.SERVER
    assert find(replace(EASY, cpu_share=0.75), known).limit is PhaseLimit.NONE


def test_between_the_two_or_without_a_yardstick_nothing_is_claimed() -> None:
    assert find(EASY, replace(LOOPBACK, latency_floor_s=0.0100)).limit is PhaseLimit.NONE
    assert find(EASY, LOOPBACK).limit is PhaseLimit.NONE
    assert find(EASY, Yardsticks(latency_floor_s=0.008)).limit is PhaseLimit.NONE
    assert find(replace(EASY, latency_p50_s=None), replace(LOOPBACK, latency_floor_s=0.008)).limit is PhaseLimit.NONE


def test_threads_that_idle_limit_nothing() -> None:
    signs = replace(EASY, in_flight=4.0, rate_planned=1000.0)
    found = find(signs, replace(LOOPBACK, latency_floor_s=0.001))
    assert (found.limit, found.warning) == (PhaseLimit.NONE, "")


def test_a_rate_that_was_not_reached_is_told_with_the_cure() -> None:
    signs = replace(EASY, rate_planned=2000.0, waiting_max=7)
    assert find(signs, LOOPBACK).warning == (
        "2,000 operations a second were planned and 1,000 ended; add --threads to see whether the server could do more"
    )
    assert find(replace(signs, waiting_max=0), LOOPBACK).warning.endswith("1,000 ended")
    assert find(replace(signs, rate_planned=1050.0), LOOPBACK).warning == ""


@pytest.mark.parametrize(("ended", "is_told"), [(18.0, False), (10.0, True)])
def test_what_chance_takes_from_few_planned_starts_is_no_warning(ended: float, *, is_told: bool) -> None:
    """Of 80 starts that a Poisson process has in 4 s on average, 53 are within three standard deviations."""
    signs = replace(EASY, rate_planned=20.0, ended_per_s=ended, window_s=4.0)
    assert bool(find(signs, LOOPBACK).warning) is is_told
