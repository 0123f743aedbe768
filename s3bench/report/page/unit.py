"""Axes of charts: one unit for all figures of an axis, and the marks of logarithmic ones."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import altair as alt

from s3bench.results.metrics import Metric, Unit

_BINARY = ("B", "KiB", "MiB", "GiB", "TiB")
_STEP = 1024.0
_FINENESSES = (
    (1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0),
    (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0),
    (1.0, 2.0, 5.0),
    (1.0,),
)
"""The marks of a logarithmic axis within a decade, the finest first."""

_TICKS_MAX = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisUnit:
    """What the figures of an axis are counted in: `size` is one of it in seconds, bytes or bytes per second."""

    name: str
    size: float

    def of(self, value: float | None) -> float | None:
        """`value` in this unit; what was not measured stays so."""
        return None if value is None else value / self.size


def seconds_unit(values_s: Iterable[float]) -> AxisUnit:
    """`s`, `ms` or `us`, by the largest of these."""
    largest_s = max(values_s, default=0.0)
    for name, size in (("s", 1.0), ("ms", 1e-3)):
        if largest_s >= size:
            return AxisUnit(name=name, size=size)
    return AxisUnit(name="us", size=1e-6)


def bytes_unit(values_bytes: Iterable[float], *, per: str = "") -> AxisUnit:
    """The binary unit that suits the largest of these; `per` is joined to its name: `/s`."""
    largest, power = max(values_bytes, default=0.0), 0
    while power < len(_BINARY) - 1 and largest >= _STEP ** (power + 1):
        power += 1
    return AxisUnit(name=f"{_BINARY[power]}{per}", size=_STEP**power)


def log_ticks(values: Iterable[float]) -> list[float]:
    """Marks of a logarithmic axis from below the least to above the largest of `values`: round, and at most ten.

    Of more than ten decades there are as many. Values have to be above 0; others are passed over.
    """
    positive = [value for value in values if value > 0] or [1.0]
    first, last = math.floor(math.log10(min(positive))) - 1, math.floor(math.log10(max(positive))) + 1
    ticks: list[float] = []
    for steps in _FINENESSES:
        ticks = _within([float(f"{step}e{power}") for power in range(first, last + 1) for step in steps], positive)
        if len(ticks) <= _TICKS_MAX:
            break
    return ticks


def metric_unit(metric: Metric, values: Sequence[float]) -> AxisUnit:
    """The unit for these figures of a metric."""
    match metric.unit:
        case Unit.SECONDS:
            return seconds_unit(values)
        case Unit.BYTES:
            return bytes_unit(values)
        case Unit.BYTES_PER_SECOND:
            return bytes_unit(values, per="/s")
    return AxisUnit(name=metric.unit.value, size=1.0)


def objective_unit(unit: str, values: Sequence[float]) -> AxisUnit:
    """The unit for values of a tuning's objective: scaled seconds, or the objective's own."""
    return seconds_unit(values) if unit == "s" else AxisUnit(name=unit, size=1.0)


def log_y(field: str, values: Iterable[float], title: str) -> alt.Y:
    """A logarithmic axis of `field` that holds all of `values`, from below to above."""
    ticks = log_ticks(values)
    return alt.Y(field, type="quantitative", title=log_title(title), scale=log_scale(ticks), axis=log_axis(ticks))


def log_x(field: str, values: Iterable[float], title: str) -> alt.X:
    """The same from left to right."""
    ticks = log_ticks(values)
    return alt.X(field, type="quantitative", title=log_title(title), scale=log_scale(ticks), axis=log_axis(ticks))


def log_title(title: str) -> str:
    """The title of a logarithmic axis: `latency (ms, log scale)`."""
    return f"{title[:-1]}, log scale)" if title.endswith(")") else f"{title} (log scale)"


def log_scale(ticks: Sequence[float]) -> alt.Scale:
    """The scale from the first of these marks to the last."""
    return alt.Scale(type="log", domain=[ticks[0], ticks[-1]], nice=False)


def log_axis(ticks: Sequence[float]) -> alt.Axis:
    """An axis with these marks, and figures without zeros behind them."""
    return alt.Axis(values=list(ticks), format="~r")


def _within(ticks: list[float], values: list[float]) -> list[float]:
    """From the last mark that is not above the least value to the first one above the largest."""
    first = max(number for number, tick in enumerate(ticks) if tick <= min(values))
    last = min(number for number, tick in enumerate(ticks) if tick > max(values))
    return ticks[first : last + 1]
