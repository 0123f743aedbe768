"""The policy of a gate: which metrics decide, their indifference zones, and the allowed error probabilities."""

import difflib
import math
from typing import Annotated

import msgspec
from msgspec.structs import replace

from s3bench.errors import BadInput
from s3bench.gate.indifference_zone import (
    IndifferenceZone,
    default_indifference_zone,
    former_indifference_zone,
    judged_by_size,
)
from s3bench.gate.looks import Looks, Spending
from s3bench.results.metrics import METRICS, METRICS_BY_NAME

GATING_METRICS = ("total_time", "peak_memory")
"""The metrics that decide by default, together with the exact ones."""

LOAD_GATING_METRICS = ("load.operations_rate", "load.latency.p50", "load.latency.p99")
"""The same for load runs, whose duration is chosen and whose memory is that of the load generator."""

CONTROL_METRIC = "total_time"
"""The metric in which a planted delay must show."""

_WEIGHT_OF_MEMORY = 0.1
"""Pairs vary less in peak memory than in time: by 0.3 % with boto3-classic, 0.8 % with crt-python and 1.0 % with s5cmd
(medians of the standard deviations in benchmarks/data/gate_truth), against limits of 1 % and 3 %. So a stricter level
costs its tests little, and what they leave helps those of time.
"""

_FLOOR_OF_D1_SINCE, _DROPS_SINCE = 2, 3
_FROM_THE_SPAWN = frozenset({"total_time", "throughput", "first_client_invocation_time"})

_Chance = Annotated[float, msgspec.Meta(gt=0, lt=1)]
_Weight = Annotated[float, msgspec.Meta(gt=0)]


class Policy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The rules of one gate, declared before it runs and stored in its record.

    `metrics` decide by size, each with its indifference zone in `zones`; `exact` names the exact metrics that decide.
    `false_alarm` is the probability that any test by size FAILs although no true change exceeds `d0` (half of it for
    the mean over all benchmarks), over all looks and tests together, which share it by the `alarm_weights` of their
    metrics (1 for one that is not named); exact metrics are not part of it. `miss` is the probability that a metric
    PASSes whose true change is `d1` or more, over all looks. `adjusts`: times are adjusted for the speed of the
    machine, where it was measured.
    """

    metrics: tuple[str, ...] = GATING_METRICS
    exact: tuple[str, ...] = ()
    zones: dict[str, IndifferenceZone] = {}
    looks: Looks = Looks(spending=Spending.BY_USE)
    false_alarm: _Chance = 0.01
    alarm_weights: dict[str, _Weight] = msgspec.field(default_factory=lambda: {"peak_memory": _WEIGHT_OF_MEMORY})
    miss: _Chance = 0.05
    adjusts: bool = True

    def indifference_zone(self, metric: str) -> IndifferenceZone | None:
        """The zone of `metric`: the declared one, else the default of its unit."""
        return self.zones.get(metric) or default_indifference_zone(METRICS_BY_NAME[metric])

    def of_record(self, version: int) -> "Policy":
        """The policy of a record of this version, of a gate or a bisection, with the zones declared it had by default.

        In version 1 both limits had the same floor; since version 3 limits are decreases where higher is better, and
        false alarms have weights.
        """
        if version >= _DROPS_SINCE:
            return self
        former = self._with_former_limits() if version < _FLOOR_OF_D1_SINCE else self._with_limits_as_ratios()
        return replace(former, alarm_weights={})

    def _with_former_limits(self) -> "Policy":
        zones = ((name, self.indifference_zone(name)) for name in judged_by_size())
        return replace(self, zones={name: former_indifference_zone(zone) for name, zone in zones if zone is not None})

    def _with_limits_as_ratios(self) -> "Policy":
        zones = ((name, self.indifference_zone(name)) for name in judged_by_size())
        former = {name: replace(zone, is_drop=False) for name, zone in zones if zone is not None and zone.is_drop}
        return replace(self, zones={**self.zones, **former})

    @property
    def shows_delay(self) -> bool:
        """Whether a deciding metric worsens with a later start, so that the gate must detect a planted delay."""
        return any(name in _FROM_THE_SPAWN or name.startswith("milestones.") for name in self.metrics)

    @property
    def informational(self) -> tuple[str, ...]:
        """The metrics that are shown if they changed, but decide nothing."""
        able = frozenset(judged_by_size()).difference(self.metrics)
        return tuple(metric.name for metric in METRICS if metric.name in able)

    def tests_by_size(self, benchmarks: int) -> int:
        """The number of tests that share `false_alarm`: every metric of each benchmark, and of the mean of several."""
        return len(self.metrics) * (benchmarks + (benchmarks > 1))

    def alarm_weight(self, metric: str) -> float:
        """The weight of a test of `metric`."""
        return self.alarm_weights.get(metric, 1.0)

    def _first_level(self, benchmarks: int) -> float:
        """The highest level at which Holm's procedure rejects the first of the tests of so many benchmarks."""
        weights = [self.alarm_weight(metric) for metric in self.metrics]
        return self.false_alarm * max(weights) / (sum(weights) * (benchmarks + (benchmarks > 1)))

    def can_fail_by_size(self, benchmarks: int) -> bool:
        """Whether any look has enough pairs to FAIL anything among so many benchmarks; true if counts alone decide.

        The p-value of a signed-rank test is at least 0.5 to the power of the pairs, and the strictest level of Holm's
        procedure is that of the first rejection.
        """
        if not self.metrics:
            return True
        level = self._first_level(benchmarks)
        shares = self.looks.alarm_shares(level)
        return any(0.5**pairs <= level * share for pairs, share in zip(self.looks.pairs, shares, strict=True))

    def pairs_to_fail(self, benchmarks: int) -> int:
        """The least even number of pairs with which a last look can FAIL anything among so many benchmarks."""
        return 2 * math.ceil(-math.log2(self._first_level(benchmarks)) / 2)


def check_gating(names: tuple[str, ...]) -> tuple[str, ...]:
    """Check that each of `names` has an indifference zone; raises `BadInput` with the nearest valid name."""
    able = judged_by_size()
    for name in names:
        if name not in able:
            near = difflib.get_close_matches(name, able, n=1)
            raise BadInput(
                f"{name!r} is not a metric that can decide a gate",
                fix=f"did you mean {near[0]}?" if near else f"use one of {', '.join(able)}",
            )
    return tuple(dict.fromkeys(names))
