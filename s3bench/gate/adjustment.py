"""The adjustment of a metric's pairs for the speed of the machine and for waiting for a core.

Two covariates are measured in every run. The speed of the core on which the client ran affects CPU time, and of total
time the part that is CPU time. The time that its first thread was ready to run and had no core lengthens total time.
Neither can be changed by what is compared, unless the candidate itself slows the core down, fills the machine, or waits
for its own threads: their own paired differences are tested, and where one is not zero, nothing is adjusted.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, median

import msgspec

from s3bench.gate.evidence import RunPair
from s3bench.results.machine_speed import CLIENT_SLOPE, log_lengthening
from s3bench.results.measurement import Measurement
from s3bench.stats.covariate import Covariate, explained
from s3bench.stats.signed_rank import SignedRankTest, hodges_lehmann

MOVED_LEVEL = 0.004
"""The two-sided level at which a covariate counts as moved by the candidate."""

_PAIRS_MIN = 4
KNOWN_SHARE_MIN = 0.95
"""The share of pairs that must have a covariate. It is the shortest runs that lack the speed, and that is no random
choice: where a change of 2 % is true, a test of 5 % that there is no more found more in 5.3 % of simulations with 95 %
of pairs known, in 6.5 % with 90 %, and in 7.5 % with 81 % (40 pairs; the model is in tests/stats/test_covariate.py)."""

_SPEED, _WAIT = "the speed of the machine", "the wait for a core"
_CPU_TIMES = frozenset({"cpu_time", "user_cpu_time", "system_cpu_time"})
_DIRECTION_OF_WALL_TIMES = {"total_time": 1.0, "throughput": -1.0}


class AdjustmentFacts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was adjusted, and how it stands without.

    `speed_slope` and `wait_slope` are changes of the metric's logarithm per change of the covariate's; 0 where it was
    not measured. `machine_shift` is the relative change of the machine's speed from the baseline's runs to the
    candidate's. `moved` names the covariate that the candidate moved, in which case nothing is adjusted.
    `sigma` is the standard deviation of the adjusted log-ratios, and `sigma_raw`, `change_raw`, `low_raw` and
    `high_raw` are the figures of the same pairs without the adjustment.
    """

    speed_slope: float = 0.0
    wait_slope: float = 0.0
    machine_shift: float | None = None
    moved: str = ""
    sigma: float | None = None
    sigma_raw: float | None = None
    change_raw: float | None = None
    low_raw: float | None = None
    high_raw: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Adjustment:
    """What the covariates explain of each pair's log-ratio of the metric, and the facts about it."""

    log_ratios: tuple[float, ...]
    facts: AdjustmentFacts


def adjustment_of(pairs: Sequence[RunPair], metric: str, log_ratios: Sequence[float]) -> Adjustment | None:
    """The adjustment of `metric`, whose log-ratios in `pairs` these are.

    `None` for metrics that are neither CPU time nor the time of a whole run, for fewer than four pairs, and where more
    than one pair in twenty lacks each covariate.
    """
    direction = _DIRECTION_OF_WALL_TIMES.get(metric)
    if len(pairs) < _PAIRS_MIN or (direction is None and metric not in _CPU_TIMES):
        return None
    speed = _speed(pairs, direction)
    wait = None if direction is None else _wait(pairs, direction)
    known = {name: covariate for name, covariate in ((_SPEED, speed), (_WAIT, wait)) if covariate is not None}
    if not known:
        return None
    shift = None if speed is None else math.expm1(-hodges_lehmann(speed.known))
    moved = next((name for name, covariate in known.items() if is_moved(covariate)), "")
    if moved:
        nothing = (0.0,) * len(pairs)
        return Adjustment(log_ratios=nothing, facts=AdjustmentFacts(machine_shift=shift, moved=moved))
    found = explained(log_ratios, tuple(known.values()))
    slopes = dict(zip(known, found.slopes, strict=True))
    return Adjustment(
        log_ratios=found.differences,
        facts=AdjustmentFacts(
            speed_slope=slopes.get(_SPEED, 0.0), wait_slope=slopes.get(_WAIT, 0.0), machine_shift=shift
        ),
    )


def is_moved(covariate: Covariate) -> bool:
    """Whether the two sides of the pairs differ in the covariate, by the signed-rank test."""
    test = SignedRankTest(covariate.known)
    tail = min(test.p_above(0.0), test.p_below(0.0))
    return 2 * tail <= MOVED_LEVEL


def _speed(pairs: Sequence[RunPair], direction: float | None) -> Covariate | None:
    """The slowness of the machine: the logarithm of one over its speed. `direction` is that of a wall time, if any."""
    differences = _differences(pairs, _slowness)
    if differences is None:
        return None
    expected_slope = CLIENT_SLOPE if direction is None else direction * CLIENT_SLOPE * _cpu_share(pairs)
    runs = (run for pair in pairs for run in (pair.baseline, pair.candidate))
    noise = 2 * fmean(run.machine_speed.error**2 for run in runs if run.machine_speed)
    return Covariate(differences=differences, expected_slope=expected_slope, noise=noise)


def _slowness(run: Measurement) -> float | None:
    return None if run.machine_speed is None else -math.log(run.machine_speed.rate)


def _wait(pairs: Sequence[RunPair], expected_slope: float) -> Covariate | None:
    """How far waiting for a core lengthened the run: the logarithm of its time over its time without waiting."""
    differences = _differences(pairs, _lengthening)
    return Covariate(differences=differences, expected_slope=expected_slope) if differences else None


def _lengthening(run: Measurement) -> float | None:
    return log_lengthening(run.total_time, run.runqueue_wait_time)


def _differences(pairs: Sequence[RunPair], value_of: Callable[[Measurement], float | None]) -> tuple[float, ...] | None:
    """The candidate's value less the baseline's in every pair, 0 where one of the two lacks it.

    `None` if too few pairs have it, or none differs.
    """
    values = [(value_of(pair.baseline), value_of(pair.candidate)) for pair in pairs]
    if sum(None not in both for both in values) < KNOWN_SHARE_MIN * len(pairs):
        return None
    differences = tuple(0.0 if before is None or after is None else after - before for before, after in values)
    return differences if any(differences) else None


def _cpu_share(pairs: Sequence[RunPair]) -> float:
    """The part of the total time that is CPU time, 1 where several cores were used."""
    runs = [run for pair in pairs for run in (pair.baseline, pair.candidate)]
    return min(1.0, median((run.cpu_time or run.total_time) / run.total_time for run in runs))
