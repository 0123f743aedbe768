"""Axes of a run's metrics: the unit by the largest figure, and logarithmic where figures lie far apart."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import altair as alt

from s3bench.report.page.chart import color_and_shape, series_styles
from s3bench.report.page.theme import LEGEND_OFFSET
from s3bench.report.page.unit import AxisUnit, log_axis, log_scale, log_ticks, metric_unit
from s3bench.results.metrics import METRICS_BY_NAME, Metric

HEADINGS = MappingProxyType(
    {
        "total_time": "total time",
        "cpu_time": "CPU time",
        "peak_memory": "peak memory",
        "first_client_invocation_time": "first call",
        "throughput": "throughput",
        "wire.requests": "requests",
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
        remarks = (*((self.unit.name,) if self.unit.name else ()), *(("log scale",) if self.ticks else ()))
        return f"{self.heading} ({', '.join(remarks)})" if remarks else self.heading

    @property
    def words(self) -> str:
        """What has to be known of it to read lengths."""
        return "The axis is logarithmic." if self.ticks else "The axis does not begin at 0."

    def y(self, field: str) -> alt.Y:
        """`field` from below to above."""
        return alt.Y(field, type="quantitative", title=self.title, scale=self._scale, axis=self._axis)

    def x(self, field: str, *, room: int = 0) -> alt.X:
        """`field` from left to right, with `room` pixels right of the last figure."""
        scale = self._scale
        if room:
            scale["range"] = [0, alt.ExprRef(f"width - {room}")]
        return alt.X(field, type="quantitative", title=self.title, scale=scale, axis=self._axis)

    @property
    def _scale(self) -> alt.Scale:
        return log_scale(self.ticks) if self.ticks else alt.Scale(zero=False)

    @property
    def _axis(self) -> alt.Axis:
        return log_axis(self.ticks) if self.ticks else alt.Axis(tickCount=5)


def metric_axis(metric: Metric, values: Sequence[float]) -> FigureAxis:
    """The axis for these figures of a metric in its own unit, seconds or bytes."""
    unit = metric_unit(metric, values)
    return FigureAxis(heading=HEADINGS[metric.name], unit=unit, ticks=_ticks([value / unit.size for value in values]))


def ratio_axis(heading: str, ratios: Sequence[float]) -> FigureAxis:
    """The axis for ratios, which have no unit."""
    return FigureAxis(heading=heading, unit=AxisUnit(name="", size=1.0), ticks=_ticks(ratios))


def client_marks(
    clients: Sequence[str], shown: Iterable[str], *, offset: float = LEGEND_OFFSET
) -> tuple[alt.Color, alt.Shape]:
    """The colour and the shape of a client, the same in all charts; the legend has those that are shown."""
    return color_and_shape("client", series_styles(clients), values=list(shown), offset=offset)


def _ticks(values: Sequence[float]) -> tuple[float, ...]:
    if min(values, default=0.0) <= 0 or max(values) / min(values) < WIDE_FROM:
        return ()
    return tuple(log_ticks(values))
