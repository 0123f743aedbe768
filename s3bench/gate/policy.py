"""What a gate is asked to guard, and how sure it has to be: declared before it runs, kept in its record."""

import difflib
from typing import Annotated

import msgspec

from s3bench.errors import BadInput
from s3bench.gate.indifference_zone import IndifferenceZone, default_zone
from s3bench.gate.looks import Looks
from s3bench.results.metrics import METRICS, METRICS_BY_NAME

GATING_METRICS = ("total_time", "peak_memory")
"""The metrics that decide unless others are declared; the exact ones decide beside them."""

LOAD_GATING_METRICS = ("load.operations_rate", "load.latency.p50", "load.latency.p99")
"""The same for load runs, whose duration was chosen and whose memory is the load generator's."""

_FROM_THE_SPAWN = frozenset({"total_time", "throughput", "first_client_invocation_time"})

_Chance = Annotated[float, msgspec.Meta(gt=0, lt=1)]


class Policy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The rules of one gate.

    `metrics` decide by size, each with its zone in `zones`; `exact` names the exact metrics that decide. `false_alarm`
    is the chance that anything at all FAILs by its size whose true change is `d0` or less (half of it for the mean over
    all benchmarks), over all looks and all tests together; exact counts have no part in it.
    `miss` is the chance that one metric PASSes whose true change is `d1` or more, over all looks.
    """

    metrics: tuple[str, ...] = GATING_METRICS
    exact: tuple[str, ...] = ()
    zones: dict[str, IndifferenceZone] = {}
    looks: Looks = Looks()
    false_alarm: _Chance = 0.01
    miss: _Chance = 0.05

    def zone(self, metric: str) -> IndifferenceZone | None:
        """The zone of `metric`: the declared one, else its unit's."""
        return self.zones.get(metric) or default_zone(METRICS_BY_NAME[metric])

    @property
    def shows_delay(self) -> bool:
        """Whether a metric that decides worsens with a later start, so that a planted delay has to be found."""
        return any(name in _FROM_THE_SPAWN or name.startswith("milestones.") for name in self.metrics)

    @property
    def informing(self) -> tuple[str, ...]:
        """The metrics that are shown where they changed, but decide nothing."""
        return tuple(m.name for m in METRICS if m.name not in self.metrics and _informs(m.name) and self.zone(m.name))


def _informs(name: str) -> bool:
    return not name.startswith("harness.")


def check_gating(names: tuple[str, ...]) -> tuple[str, ...]:
    """Check that each of `names` can be judged by its size; raises `BadInput` with the nearest right name."""
    able = [name for name, metric in METRICS_BY_NAME.items() if default_zone(metric) and _informs(name)]
    for name in names:
        if name not in able:
            near = difflib.get_close_matches(name, able, n=1)
            raise BadInput(
                f"{name!r} is no metric that a gate can judge by its size",
                fix=f"did you mean {near[0]}?" if near else f"use one of {', '.join(able)}",
            )
    return tuple(dict.fromkeys(names))
