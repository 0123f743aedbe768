"""The indifference zone of a metric: how large a change has to be to matter.

Limits are written as relative changes and compared as log-ratios of the two sides; positive is worse. Of a metric where
higher is better a limit is a decrease: 6 % is reached when the candidate has 94 % of the baseline's figure.
"""

import math
from dataclasses import dataclass

import msgspec
from msgspec.structs import replace

from s3bench.errors import BadInput
from s3bench.results.metrics import METRICS_BY_NAME, Direction, Metric, Unit
from s3bench.units import BadQuantity, parse_bytes, parse_seconds, render_bytes, render_seconds


class IndifferenceZone(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`d0` and `d1` are relative changes (0.02 is 2 %); `floor` is an absolute change in the metric's unit.

    A change up to `d0` is negligible, one of `d1` or more must not pass. A change below `floor` is negligible whatever
    its relative size. The floor of `d1` is as many times `floor` as `d1` is of `d0`, so that there is room for SMALL
    between the two limits of a short run as well; `floor_d1` is another one, in the metric's unit. Whatever the floors,
    the limit d1 is at least d0.

    With `is_drop` they are decreases from the baseline. Without it they are increases over the better side: over the
    baseline, or over the candidate where higher is better, as records before version 3 have it.
    """

    d0: float
    d1: float
    floor: float
    floor_d1: float | None = None
    is_drop: bool = False

    def limits(self, baseline: float) -> "Limits":
        """The zone around a baseline whose median is `baseline`, in the metric's unit."""
        least = self.floor / baseline if baseline > 0 else 0.0
        least_d1 = least * self.d1 / self.d0 if self.d0 > 0 else least + self.d1
        if self.floor_d1 is not None:
            least_d1 = self.floor_d1 / baseline if baseline > 0 else 0.0
        d0 = max(self.d0, least)
        ends = (log_worsening(each, is_drop=self.is_drop) for each in (d0, max(self.d1, least_d1, d0)))
        return Limits(d0=next(ends), d1=next(ends))

    def halved(self) -> "IndifferenceZone":
        """The zone for the mean over many benchmarks, where a smaller change matters because all of them share it."""
        floor_d1 = None if self.floor_d1 is None else self.floor_d1 / 2
        return replace(self, d0=self.d0 / 2, d1=self.d1 / 2, floor=self.floor / 2, floor_d1=floor_d1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The bounds of an indifference zone as log-ratios."""

    d0: float
    d1: float


def log_worsening(relative: float, *, is_drop: bool) -> float:
    """A relative worsening as a log-ratio; a decrease counts as at most 99.9 %."""
    return -math.log1p(-min(relative, _DROP_MAX)) if is_drop else math.log1p(relative)


def relative_worsening(log_ratio: float, *, is_drop: bool) -> float:
    """The reverse of `log_worsening`: a decrease, or an increase over the better side."""
    return -math.expm1(-log_ratio) if is_drop else math.expm1(log_ratio)


TIME_INDIFFERENCE_ZONE = IndifferenceZone(d0=0.02, d1=0.06, floor=0.0005)
MEMORY_INDIFFERENCE_ZONE = IndifferenceZone(d0=0.01, d1=0.03, floor=256 * 1024.0)
_FORMER_TIME_FLOOR = 0.002
_DROP_MAX = 0.999
_NO_FLOOR = IndifferenceZone(d0=0.02, d1=0.06, floor=0.0)
_ZONES = {
    Unit.SECONDS: TIME_INDIFFERENCE_ZONE,
    Unit.BYTES: MEMORY_INDIFFERENCE_ZONE,
    Unit.BYTES_PER_SECOND: _NO_FLOOR,
    Unit.PER_SECOND: _NO_FLOOR,
}


def default_indifference_zone(metric: Metric) -> IndifferenceZone | None:
    """The default zone of a metric; `None` for counts and for metrics without a better direction."""
    if metric.direction is Direction.NEUTRAL:
        return None
    if metric.unit is Unit.SECONDS and metric.name.startswith("load."):
        return _NO_FLOOR  # many latencies are shorter than the floor for the duration of a command
    zone = _ZONES.get(metric.unit)
    return replace(zone, is_drop=True) if zone and metric.direction is Direction.HIGHER else zone


def judged_by_size() -> tuple[str, ...]:
    """The metrics that can decide a gate by size: those with an indifference zone, except s3bench's own."""
    return tuple(
        name
        for name, metric in METRICS_BY_NAME.items()
        if default_indifference_zone(metric) and not name.startswith("harness.")
    )


def former_indifference_zone(zone: IndifferenceZone) -> IndifferenceZone:
    """The zone as it was in records of version 1: one floor of both limits, which was 2 ms by default for times."""
    floor = _FORMER_TIME_FLOOR if zone is TIME_INDIFFERENCE_ZONE else zone.floor
    return IndifferenceZone(d0=zone.d0, d1=zone.d1, floor=floor, floor_d1=floor)


def parse_indifference_zone(text: str) -> tuple[str, IndifferenceZone]:
    """Parse `METRIC=D0,D1[,FLOOR]`, as `total_time=2%,6%,500us` or `peak_memory=1%,3%,256KiB`. Raises `BadInput`."""
    name, _, limits = text.partition("=")
    able = judged_by_size()
    metric = METRICS_BY_NAME[name.strip()] if name.strip() in able else None
    default = None if metric is None else default_indifference_zone(metric)
    if metric is None or default is None:
        raise BadInput(
            f"--zone {text}: {name!r} is not a metric with an indifference zone", fix=f"use one of {', '.join(able)}"
        )
    try:
        return metric.name, _zone(limits.split(","), metric, default)
    except ValueError as error:
        raise BadInput(
            f"--zone {text}", str(error), f"write {metric.name}={render_indifference_zone(default, metric)}"
        ) from error


def _zone(words: list[str], metric: Metric, default: IndifferenceZone) -> IndifferenceZone:
    if len(words) not in {2, 3}:
        raise ValueError("a zone has two limits and optionally a floor")
    d0, d1 = _share(words[0].strip()), _share(words[1].strip())
    floor = default.floor if len(words) == 2 else _floor(words[2].strip(), metric.unit)  # noqa: PLR2004 (as above)
    if not 0 <= d0 < d1 < math.inf:
        raise ValueError("the first limit must be below the second, and no value negative or infinite")
    if default.is_drop and d1 >= 1:
        raise ValueError(f"the limits of {metric.name} are decreases, and must be below 100%")
    return replace(default, d0=d0, d1=d1, floor=floor)


def render_indifference_zone(zone: IndifferenceZone, metric: Metric) -> str:
    """Render a zone as `parse_indifference_zone` reads it."""
    floor = render_seconds(zone.floor) if metric.unit is Unit.SECONDS else render_bytes(zone.floor)
    return f"{zone.d0 * 100:g}%,{zone.d1 * 100:g}%,{floor.replace(' ', '')}"


def _share(text: str) -> float:
    if not text.endswith("%"):
        raise ValueError(f"{text!r} is not a percentage such as 2%")
    return float(text[:-1]) / 100


def _floor(text: str, unit: Unit) -> float:
    try:
        return parse_seconds(text, needs_unit=True) if unit is Unit.SECONDS else float(parse_bytes(text))
    except BadQuantity as bad:
        raise ValueError(f"the floor {bad}") from None
