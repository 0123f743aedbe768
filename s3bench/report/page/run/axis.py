"""The axis of a metric's figures: its unit by the largest of them, and logarithmic where they lie far apart.

Owns what the metrics of a run are called on the page, and when an axis is logarithmic.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias

import altair as alt

from s3bench.report.page import theme
from s3bench.report.page.unit import AxisUnit, bytes_unit, log_axis, log_ticks, seconds_unit
from s3bench.results import metrics
from s3bench.results.metrics import METRICS_BY_NAME, Metric

Layered: TypeAlias = alt.LayerChart | alt.FacetChart
"""What `alt.layer` makes."""

HEADINGS = MappingProxyType(
    {
        "total_time": "total time",
        "cpu_time": "CPU time",
        "peak_memory": "peak memory",
        "first_client_invocation_time": "first call",
        "throughput": "throughput",
    }
)
"""What the metrics of a run's summary are called."""

TOTAL_TIME = METRICS_BY_NAME["total_time"]
WIDE_FROM = 5.0
"""The ratio of the largest figure to the least from which on an axis is logarithmic: below it both can be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureAxis:
    """An axis in `unit`; `ticks` are those of a logarithmic one."""

    heading: str
    unit: AxisUnit
    ticks: tuple[float, ...] = ()

    @property
    def title(self) -> str:
        """`total time (ms)`."""
        remarks = (*((self.unit.name,) if self.unit.name else ()), *(("logarithmic",) if self.ticks else ()))
        return f"{self.heading} ({', '.join(remarks)})" if remarks else self.heading

    @property
    def words(self) -> str:
        """What has to be known of it to read lengths."""
        return "The axis is logarithmic." if self.ticks else "The axis does not begin at 0."

    def y(self, field: str) -> alt.Y:
        """`field` from below to above."""
        return alt.Y(field, type="quantitative", title=self.title, scale=self._scale, axis=self._axis)

    def x(self, field: str) -> alt.X:
        """`field` from left to right."""
        return alt.X(field, type="quantitative", title=self.title, scale=self._scale, axis=self._axis)

    @property
    def _scale(self) -> alt.Scale:
        if self.ticks:
            return alt.Scale(type="log", domain=[self.ticks[0], self.ticks[-1]], nice=False)
        return alt.Scale(zero=False)

    @property
    def _axis(self) -> alt.Axis:
        return log_axis(list(self.ticks)) if self.ticks else alt.Axis(tickCount=5)


def metric_axis(metric: Metric, values: Sequence[float]) -> FigureAxis:
    """The axis for these figures of a metric in its own unit, seconds or bytes."""
    match metric.unit:
        case metrics.Unit.SECONDS:
            unit = seconds_unit(values)
        case metrics.Unit.BYTES_PER_SECOND:
            unit = bytes_unit(values, per="/s")
        case _:
            unit = bytes_unit(values)
    return FigureAxis(heading=HEADINGS[metric.name], unit=unit, ticks=_ticks([value / unit.size for value in values]))


def ratio_axis(heading: str, ratios: Sequence[float]) -> FigureAxis:
    """The axis for ratios, which have no unit."""
    return FigureAxis(heading=heading, unit=AxisUnit(name="", size=1.0), ticks=_ticks(ratios))


def inline(values: Sequence[Mapping[str, Any]]) -> alt.InlineData:
    """Data of a chart, taken as they are: to hold thousands of dots against the schema takes seconds."""
    data = alt.InlineData(values=[])
    data["values"] = values
    return data


def client_color(clients: list[str], shown: Iterable[str]) -> alt.Color:
    """The colour of a client, the same in all charts; the legend tells those that are shown."""
    legend = alt.Legend(title=None, values=list(shown), symbolOpacity=1)
    return alt.Color("client:N", scale=theme.color_scale(clients), legend=legend)


def client_shape(clients: list[str], shown: Iterable[str]) -> alt.Shape:
    """The shape of a client's points."""
    legend = alt.Legend(title=None, values=list(shown), symbolOpacity=1)
    return alt.Shape("client:N", scale=theme.shape_scale(clients), legend=legend)


def _ticks(values: Sequence[float]) -> tuple[float, ...]:
    if min(values, default=0.0) <= 0 or max(values) / min(values) < WIDE_FROM:
        return ()
    return tuple(log_ticks(values))
