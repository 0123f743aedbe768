"""Chart of the latency over the planned rate, of phases that differ in it, such as those of an SLO search."""

from collections.abc import Callable, Sequence
from typing import Any

import altair as alt

from s3bench.report.label import clipped
from s3bench.report.load.cells import LoadRow, latency_of, rate_text, seconds_text
from s3bench.report.page import theme
from s3bench.report.page.chart import chart_of, color_and_shape, series_styles
from s3bench.report.page.section import ChartFigure
from s3bench.report.page.unit import log_x, log_y, seconds_unit
from s3bench.results.load import Latency, Load

_HEIGHT = 220
_RATES_MIN = 2
_POINTS: tuple[tuple[str, Callable[[Latency], float | None]], ...] = (
    ("p50", lambda latency: latency.p50),
    ("p99", lambda latency: latency.p99),
    ("max", lambda latency: latency.max),
)


def rate_figure(rows: Sequence[LoadRow]) -> ChartFigure | None:
    """The latencies of whole phases by their planned rates; `None` where there are not at least two of these."""
    planned = [(row, rate) for row in rows if row.is_whole and (rate := row.median(lambda load: load.rate_planned))]
    found = [
        (row, rate, name, value_s)
        for name, pick in _POINTS
        for row, rate in planned
        if (value_s := row.median(_at(pick))) is not None
    ]
    if len({rate for _, rate, _, _ in found}) < _RATES_MIN:
        return None
    unit = seconds_unit(value_s for *_, value_s in found)
    names = [name for name, _ in _POINTS if any(each[2] == name for each in found)]
    values: list[dict[str, Any]] = [
        {"rate": rate, "value": value_s / unit.size, "series": name, "label": _label(row, rate, name, value_s)}
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


def _at(pick: Callable[[Latency], float | None]) -> Callable[[Load], float | None]:
    return lambda load: pick(latency_of(load))


def _label(row: LoadRow, rate: float, name: str, value_s: float) -> str:
    reached = rate_text(row.median(lambda load: load.operations_rate))
    return f"{clipped(row.phase)}: {rate_text(rate)}/s planned, {reached}/s reached, {name} {seconds_text(value_s)}"
