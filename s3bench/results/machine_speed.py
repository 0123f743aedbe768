"""The speed of the machine during one iteration, from probes of the core on which the client ran.

A probe is a fixed piece of work that is timed. Its rate is one over its time. A client that does work W at a changing
rate r(t) needs the time T with W = the integral of r over T, so that its time is proportional to one over the mean of
the rate over time: rates are averaged, not times. A probe that was interrupted then counts as a moment of almost no
speed, as it was for the client.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median
from typing import Annotated

import msgspec

SLOWER_MIN = 0.05
"""A smaller loss of speed is not reported."""

CLIENT_SLOPE = 1.2
"""Python clients slow down by 0.8 to 1.9 % where the probe's work does by 1 % (benchmarks/machine_speed.py)."""

_PROBES_MIN = 4
_RUNS_MIN = 3
_SPEED_DIGITS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedFacts:
    """Probes in the order they were taken, at least one: when, in seconds since the spawn, and how long each took."""

    at_s: Sequence[float]
    work_s: Sequence[float]


@dataclass(frozen=True, slots=True)
class SlowRuns:
    """In `count` of so many runs the machine was slower than usual, by the share `slower` at their median."""

    count: int
    of: int
    slower: float

    def __str__(self) -> str:
        """As a sentence."""
        return f"the machine was {self.slower:.0%} slower in {self.count} of {self.of} runs"


class MachineSpeed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How fast the machine was while the client ran.

    `rate` is the mean of the probes' rates, in probes per second; `error` its relative standard error, and `probes`
    their number. Rates can be compared between runs of one s3bench on one Python on one machine.
    """

    rate: Annotated[float, msgspec.Meta(gt=0)]
    error: float
    probes: int


def machine_speed(facts: SpeedFacts | None) -> MachineSpeed | None:
    """The speed from at least four probes; `None` from fewer.

    The standard error comes from differences of neighbouring probes (von Neumann, Annals of Mathematical Statistics 12,
    1941), so that a machine whose speed changed during the iteration is not taken for a noisy probe.
    """
    if facts is None or len(facts.work_s) < _PROBES_MIN:
        return None
    rates = [1 / each for each in facts.work_s]
    mean = fmean(rates)
    squares = fmean((after - before) ** 2 for before, after in pairwise(rates))
    return MachineSpeed(rate=mean, error=math.sqrt(squares / 2 / len(rates)) / mean, probes=len(rates))


def slow_runs(speeds: Iterable[MachineSpeed | None]) -> SlowRuns | None:
    """The runs in which the machine was at least 5 % slower than at their median, and by more than chance explains.

    `None` without such runs, or with fewer than three speeds.
    """
    known = [speed for speed in speeds if speed is not None]
    if len(known) < _RUNS_MIN:
        return None
    usual = median(speed.rate for speed in known)
    losses = [1 - speed.rate / usual for speed in known if 1 - speed.rate / usual > max(SLOWER_MIN, 3 * speed.error)]
    return SlowRuns(count=len(losses), of=len(known), slower=median(losses)) if losses else None


def speed_series(facts: SpeedFacts | None, at_s: Sequence[float]) -> tuple[float | None, ...]:
    """The mean rate since the point before, for each of the points `at_s`, relative to the median of all probes.

    `None` for a stretch without a probe; empty without any.
    """
    if facts is None:
        return ()
    usual = 1 / median(facts.work_s)
    stretches: list[list[float]] = [[] for _ in at_s]
    point = 0
    for when_s, work_s in zip(facts.at_s, facts.work_s, strict=True):
        while point < len(at_s) and at_s[point] < when_s:
            point += 1
        if point < len(at_s):
            stretches[point].append(1 / work_s / usual)
    return tuple(round(fmean(rates), _SPEED_DIGITS) if rates else None for rates in stretches)


def log_lengthening(total_s: float, waited_s: float | None) -> float | None:
    """How far waiting for a core lengthened a run: the logarithm of its time over its time without waiting."""
    return None if waited_s is None or not 0 <= waited_s < total_s else -math.log1p(-waited_s / total_s)
