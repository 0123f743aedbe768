"""Chart of a trend: a point for each release, the levels between the changes, and where each change may lie."""

from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import Any

import altair as alt

from s3bench.report.label import clipped, unique
from s3bench.report.page import theme
from s3bench.report.page.chart import MarkerStyle, chart_of, color_and_shape, constant, layered, present
from s3bench.report.page.section import ChartFigure
from s3bench.report.page.trend.series import TrendSeries
from s3bench.report.page.unit import AxisUnit, metric_unit
from s3bench.report.table import Table, column
from s3bench.results.metrics import render_figure
from s3bench.trend.metric_trend import Trend, TrendChange, TrendPoint
from s3bench.units import counted

POINTS_MAX = 400
"""The most releases that are drawn as points; of a longer series the newest ones, and the line goes on before them."""
TABLE_MAX = 200
"""The most releases whose figures stand in the chart's table."""

_HEIGHT = 240
_NAMED_MAX = 6
_LARGE_MAX = 100  # so many points of the larger size have room
_TICKS_MAX = 12
_NAME_MAX = 28
_CHARACTER_WIDTH = 7
_TICK_GAP = 16

_STYLES = {
    "worse": MarkerStyle(color=theme.BAD, shape="square"),
    "better": MarkerStyle(color=theme.GOOD, shape="triangle-up"),
    "neither": MarkerStyle(color=theme.MUTED, shape="diamond"),
}

_Value = dict[str, str | float]


def trend_figure(series: TrendSeries, *, name: str) -> ChartFigure:
    """The chart of one series, which has a point at least."""
    trend = series.trend
    count = len(trend.points)
    words = [f"{_axis_title(trend)[0]}, {counted(count, 'release')}. {trend.words.replace(chr(10), '; ')}."]
    if trend.changes:
        words.append(
            "Shaded are the releases between which each change lies; level lines are the medians between changes."
        )
    if trend.adjustment is not None:
        words.append(f"Figures are {trend.adjustment.words}. The pale line has them as measured.")
    if count > POINTS_MAX:
        words.append(f"The newest {POINTS_MAX} have points, the others are on the line.")
    if count > TABLE_MAX:
        words.append("s3bench history trend --json has the figures.")
    return ChartFigure(
        name=name,
        title=clipped(series.title),
        description=" ".join(words),
        chart=trend_chart(trend),
        narrow=trend_chart(trend, is_narrow=True),
        table=_table(trend) if count <= TABLE_MAX else None,
    )


def figure_words(trend: Trend, place: int) -> str:
    """The figure of one release: in the metric's unit, adjusted if all are, or as a ratio to the reference."""
    value = trend.figures[place]
    return f"{value:.3f} times the reference" if trend.is_ratio else render_figure(value, trend.metric.unit)


def trend_chart(trend: Trend, *, is_narrow: bool = False) -> alt.TopLevelMixin:
    """The picture alone."""
    names = list(unique(clipped(point.label, most=_NAME_MAX) for point in trend.points))
    title, unit = _axis_title(trend)
    figures = [value / unit.size for value in trend.figures]
    axis = _x_axis(names, is_narrow=is_narrow)
    x = alt.X("release:N", scale=alt.Scale(type="point", domain=names, padding=0.5), sort=None, axis=axis)
    y = alt.Y("figure:Q", scale=alt.Scale(zero=False, nice=True), axis=alt.Axis(title=title, titleY=-24, tickCount=6))
    drawn: list[_Value] = [
        {"release": name, "figure": figure, "label": f"{name}: {figure_words(trend, place)}"}
        for place, (name, figure) in enumerate(zip(names, figures, strict=True))
    ]
    line = chart_of(drawn).mark_line(color=theme.SERIES[0], strokeWidth=1, opacity=0.5, aria=False)
    points = chart_of(drawn[-POINTS_MAX:]).mark_point(
        filled=True, size=30 if len(drawn) <= _LARGE_MAX else 12, color=theme.SERIES[0], opacity=1
    )
    layers = [
        *_spans(trend, names, x),
        *_raw_line(trend, names, unit, x, y),
        line.encode(x=x, y=y),
        points.encode(x=x, y=y, description=alt.Description("label:N")),
        *_levels(trend, names, figures, x, y),
        *_marks(trend, names, x),
    ]
    return layered(layers, height=_HEIGHT)


def _raw_line(trend: Trend, names: Sequence[str], unit: AxisUnit, x: alt.X, y: alt.Y) -> list[alt.Chart]:
    """The figures as measured, where others are drawn."""
    if trend.adjustment is None:
        return []
    values: list[_Value] = [
        {"release": name, "figure": figure / unit.size}
        for name, figure in zip(names, trend.adjustment.figures_raw, strict=True)
    ]
    return [chart_of(values).mark_line(color=theme.MUTED, strokeWidth=1, opacity=0.5, aria=False).encode(x=x, y=y)]


def _spans(trend: Trend, names: Sequence[str], x: alt.X) -> list[alt.Chart]:
    """From the last release before a change to the last one that may have brought it."""
    values: list[_Value] = [
        {"release": names[change.point.first - 1], "until": names[change.point.last]} for change in trend.changes
    ]
    return (
        [
            chart_of(values)
            .mark_rect(color=theme.GRID, stroke=theme.GRID, strokeWidth=2, aria=False)
            .encode(x=x, x2=alt.X2("until:N"))
        ]
        if values
        else []
    )


def _levels(trend: Trend, names: Sequence[str], figures: Sequence[float], x: alt.X, y: alt.Y) -> list[alt.Chart]:
    """The median between each change and the next, where there is a change."""
    if not trend.changes:
        return []
    edges = [0, *(change.point.index for change in trend.changes), len(figures)]
    values: list[_Value] = [
        {"release": names[start], "until": names[stop - 1], "figure": median(figures[start:stop])}
        for start, stop in pairwise(edges)
    ]
    rule = chart_of(values).mark_rule(color=theme.TEXT, strokeWidth=2, aria=False)
    return [rule.encode(x=x, x2=alt.X2("until:N"), y=y)]


def _marks(trend: Trend, names: Sequence[str], x: alt.X) -> list[alt.Chart]:
    """Each change above its first likely release: which way, and for the worse or the better."""
    if not trend.changes:
        return []
    values: list[_Value] = [
        {
            "release": names[change.point.index],
            "kind": _kind(change),
            "label": f"change {change.words}",
            "size": change.words.rpartition(": ")[2].partition(" (")[0],
        }
        for change in trend.changes
    ]
    styles = present(_STYLES, (_kind(change) for change in trend.changes))
    color, shape = color_and_shape("kind", styles, title="change:", titleOrient="left", offset=42)
    point = chart_of(values).mark_point(filled=True, size=80, opacity=1)
    charts = [
        point.encode(x=x, y=constant(alt.YValue, -8), color=color, shape=shape, description=alt.Description("label:N"))
    ]
    if len(values) <= _NAMED_MAX:
        early = [value for value in values if names.index(str(value["release"])) * 2 < len(names)]
        late = values[len(early) :]
        sides: tuple[tuple[list[_Value], dict[str, Any]], ...] = (
            (early, {"align": "left", "dx": 9}),
            (late, {"align": "right", "dx": -9}),
        )
        for group, look in sides:
            if group:
                text = chart_of(group).mark_text(fontSize=12, aria=False, **look)
                charts.append(text.encode(x=x, y=constant(alt.YValue, -8), text=alt.Text("size:N")))
    return charts


def _kind(change: TrendChange) -> str:
    if change.is_worse is None:
        return "neither"
    return "worse" if change.is_worse else "better"


def _axis_title(trend: Trend) -> tuple[str, AxisUnit]:
    """What is drawn upwards, and the unit of its figures."""
    name = trend.metric.name
    if trend.is_ratio:
        return f"{name}, times the reference", AxisUnit(name="", size=1.0)
    unit = metric_unit(trend.metric, trend.figures)
    adjusted = "" if trend.adjustment is None else ", adjusted"
    return f"{name}{adjusted} ({unit.name})", unit


def _x_axis(names: Sequence[str], *, is_narrow: bool) -> alt.Axis:
    """The releases' axis, with as many names as have room."""
    width = _CHARACTER_WIDTH * max((len(name) for name in names), default=1) + _TICK_GAP
    count = max(2, min(_TICKS_MAX, (theme.NARROW if is_narrow else theme.WIDTH) // width))
    step = max(1, -(-len(names) // count))
    return alt.Axis(title="release", values=list(names[::step]), labelAngle=0, labelLimit=0, labelOverlap=True)


def _table(trend: Trend) -> Table:
    unit = trend.metric.unit
    rows = tuple(zip(trend.points, trend.figures, strict=True))

    def value_text(row: tuple[TrendPoint, float]) -> str:
        return render_figure(row[0].value, unit)

    columns = [column("release", rows, lambda row: clipped(row[0].label))]
    if trend.is_ratio:
        columns.append(column("times the reference", rows, lambda row: f"{row[1]:.3f}", value=lambda row: row[1]))
    if trend.adjustment is not None:
        adjusted = column("adjusted", rows, lambda row: render_figure(row[1], unit), value=lambda row: row[1])
        columns.append(adjusted)
    columns.append(column(trend.metric.name, rows, value_text, value=lambda row: row[0].value))
    return Table(caption="Each release", columns=tuple(columns))
