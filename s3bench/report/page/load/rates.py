"""Chart of the latency over the planned rate, of phases that differ in it, such as those of an SLO search."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from s3bench.report.label import clipped
from s3bench.report.load.cells import LoadRow, latency_of, latency_text, latency_value, rate_text
from s3bench.report.page import theme
from s3bench.report.page.chart import chart_of, color_and_shape, series_styles
from s3bench.report.page.section import ChartFigure
from s3bench.report.page.unit import log_x, log_y, seconds_unit

_HEIGHT = 220
_RATES_MIN = 2
_POINTS = ("p50", "p99", "max")


def rate_figure(rows: Sequence[LoadRow]) -> ChartFigure | None:
    """The latencies of whole phases by their planned rates; `None` where there are not at least two of these."""
    planned = [(row, rate) for row in rows if row.is_whole and (rate := row.median(lambda load: load.rate_planned))]
    found = [
        (row, rate, name, value_s)
        for name in _POINTS
        for row, rate in planned
        if (value_s := latency_value(row, latency_of, name)) is not None
    ]
    if len({rate for _, rate, _, _ in found}) < _RATES_MIN:
        return None
    unit = seconds_unit(value_s for *_, value_s in found)
    names = [name for name in _POINTS if any(each[2] == name for each in found)]
    values: list[dict[str, Any]] = [
        {"rate": rate, "value": value_s / unit.size, "series": name, "label": _label(row, rate, name)}
        for row, rate, name, value_s in found
    ]
    color, shape = color_and_shape("series", series_styles(names))
    points = chart_of(values).mark_point(filled=True, size=50, opacity=1)
    chart = points.encode(
        x=log_x("rate", [rate for _, rate in planned], "planned rate (operations/s)"),
        y=log_y("value", [each["value"] for each in values], f"latency ({unit.name})"),
        color=color,
        shape=shape,
        description=alt.Description("label:N"),
    )
    return ChartFigure(
        name="latency-by-rate",
        title="Latency by planned rate",
        description="The latency from the planned start, of each phase by the rate that was planned for it.",
        chart=chart.properties(width=theme.plot_width(theme.WIDTH), height=_HEIGHT),
    )


def _label(row: LoadRow, rate: float, name: str) -> str:
    reached = rate_text(row.median(lambda load: load.operations_rate))
    latency = f"{name} {latency_text(row, latency_of, name)}"
    return f"{clipped(row.phase)}: {rate_text(rate)}/s planned, {reached}/s reached, {latency}"
