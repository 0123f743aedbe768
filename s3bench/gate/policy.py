"""The policy of a gate: which metrics decide, their indifference zones, and the allowed error probabilities."""

import difflib
from typing import Annotated

import msgspec
from msgspec.structs import replace

from s3bench.errors import BadInput
from s3bench.gate.indifference_zone import (
    IndifferenceZone,
    default_indifference_zone,
    former_indifference_zone,
)
from s3bench.gate.looks import Looks, Spending
from s3bench.results.metrics import METRICS, METRICS_BY_NAME

GATING_METRICS = ("total_time", "peak_memory")
"""The metrics that decide by default, together with the exact ones."""

LOAD_GATING_METRICS = ("load.operations_rate", "load.latency.p50", "load.latency.p99")
"""The same for load runs, whose duration is chosen and whose memory is that of the load generator."""

_FROM_THE_SPAWN = frozenset({"total_time", "throughput", "first_client_invocation_time"})

_Chance = Annotated[float, msgspec.Meta(gt=0, lt=1)]


class Policy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The rules of one gate, declared before it runs and stored in its record.

    `metrics` decide by size, each with its indifference zone in `zones`; `exact` names the exact metrics that decide.
    `false_alarm` is the probability that any test by size FAILs although no true change exceeds `d0` (half of it for
    the mean over all benchmarks), over all looks and tests together; exact metrics are not part of it. `miss` is the
    probability that a metric PASSes whose true change is `d1` or more, over all looks. `adjusts`: times are
    adjusted for the speed of the machine, where it was measured.
    """

    metrics: tuple[str, ...] = GATING_METRICS
    exact: tuple[str, ...] = ()
    zones: dict[str, IndifferenceZone] = {}
    looks: Looks = Looks(spending=Spending.BY_USE)
    false_alarm: _Chance = 0.01
    miss: _Chance = 0.05
    adjusts: bool = True

    def indifference_zone(self, metric: str) -> IndifferenceZone | None:
        """The zone of `metric`: the declared one, else the default of its unit."""
        return self.zones.get(metric) or default_indifference_zone(METRICS_BY_NAME[metric])

    def with_former_limits(self) -> "Policy":
        """The policy with the zones declared that were in force while both limits had the same floor."""
        zones = ((name, self.indifference_zone(name)) for name in METRICS_BY_NAME if _is_of_client(name))
        return replace(self, zones={name: former_indifference_zone(zone) for name, zone in zones if zone is not None})

    @property
    def shows_delay(self) -> bool:
        """Whether a deciding metric worsens with a later start, so that the gate must detect a planted delay."""
        return any(name in _FROM_THE_SPAWN or name.startswith("milestones.") for name in self.metrics)

    @property
    def informational(self) -> tuple[str, ...]:
        """The metrics that are shown if they changed, but decide nothing."""
        return tuple(
            m.name
            for m in METRICS
            if m.name not in self.metrics and _is_of_client(m.name) and self.indifference_zone(m.name)
        )


def _is_of_client(name: str) -> bool:
    return not name.startswith("harness.")


def check_gating(names: tuple[str, ...]) -> tuple[str, ...]:
    """Check that each of `names` has an indifference zone; raises `BadInput` with the nearest valid name."""
    able = [
        name for name, metric in METRICS_BY_NAME.items() if default_indifference_zone(metric) and _is_of_client(name)
    ]
    for name in names:
        if name not in able:
            near = difflib.get_close_matches(name, able, n=1)
            raise BadInput(
                f"{name!r} is not a metric that can decide a gate",
                fix=f"did you mean {near[0]}?" if near else f"use one of {', '.join(able)}",
            )
    return tuple(dict.fromkeys(names))
