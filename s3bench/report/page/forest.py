"""Forest plots: relative changes as points with their intervals, over the indifference zone."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from s3bench.report.label import clipped, unique
from s3bench.report.page import theme
from s3bench.report.page.chart import (
    LINE_HEIGHT,
    MarkerStyle,
    chart_of,
    color_and_shape,
    constant,
    layered,
    narrow_lines,
    present,
)
from s3bench.report.page.forest_axis import change_axis, change_scale
from s3bench.report.page.section import ChartFigure
from s3bench.report.terminal import printable
from s3bench.results.metrics import Direction, Metric, Unit
from s3bench.units import counted

ROWS_MAX = 60
"""The most rows of one chart: more cannot be read."""

_ROW_HEIGHT = 22
_MARK_HEIGHT = 20
_NAME_MAX = 78
_SPAN_LEAST = 0.02  # of the logarithms: changes of less than a percent fill no chart
_MARGIN = 0.04


@dataclass(frozen=True, slots=True, kw_only=True)
class ForestRow:
    """One row: a change and its interval, relative (0.05: 5 % more), `None` where there is none.

    `figures` are the change and its interval in words, `label` the whole row. `word` is one of the chart's styles. `d0`
    and `d1` bound the indifference zone, as relative worsenings, where there is one; it is mirrored if `is_two_sided`.
    """

    name: str
    figures: str
    label: str
    word: str
    change: float | None
    low: float | None
    high: float | None
    d0: float | None = None
    d1: float | None = None
    is_two_sided: bool = False


def forest_figure(
    rows: Sequence[ForestRow], *, metric: Metric, styles: Mapping[str, MarkerStyle], closing: str, name: str = "forest"
) -> ChartFigure | None:
    """Draw the changes of one metric, in the order given; `None` where no row has a change that can be drawn.

    `closing` ends the description: what the zone is and where the figures stand as numbers.
    """
    able = [row for row in rows if _is_drawable(row)]
    if not able:
        return None
    shown = able[:ROWS_MAX]
    words = [f"Relative change of {metric.name} with its 95 % interval, {counted(len(shown), 'row')}."]
    if len(able) > len(shown):
        words.append(f"The first {len(shown)} of {len(able)}; the table has all.")
    if len(rows) > len(able):
        words.append(f"{counted(len(rows) - len(able), 'row')} without a change to draw: see the table.")
    return ChartFigure(
        name=f"{name}-{''.join(each if each.isalnum() else '-' for each in metric.name)}",
        title=f"Changes of {metric.name}",
        description=" ".join((*words, closing)),
        chart=forest_chart(shown, metric=metric, styles=styles),
        narrow=forest_chart(shown, metric=metric, styles=styles, is_narrow=True),
    )


def forest_chart(
    rows: Sequence[ForestRow], *, metric: Metric, styles: Mapping[str, MarkerStyle], is_narrow: bool = False
) -> alt.TopLevelMixin:
    """The picture alone, of rows that all have a change; a narrow one has names and figures above the marks."""
    low, high = domain(rows, metric=metric)
    # Names are cut here and by no `labelLimit`: Vega cuts halfway through characters beyond 16 bits, and fails then.
    names = list(unique(_short(row.name) for row in rows))
    values = [
        _datum(row, name, low=low, high=high, sign=-1 if metric.direction is Direction.HIGHER else 1)
        for row, name in zip(rows, names, strict=True)
    ]
    y = alt.Y(
        "name:N",
        scale=alt.Scale(domain=names, paddingInner=0, paddingOuter=0),
        sort=None,
        axis=None if is_narrow else alt.Axis(title=None, labelLimit=0, ticks=False, domain=False, labelPadding=8),
    )
    height = _ROW_HEIGHT
    if is_narrow:
        for value, name in zip(values, names, strict=True):
            value["words"] = [*narrow_lines(name), *((figures,) if (figures := value["figures"]) else ())]
        height = LINE_HEIGHT * max(len(value["words"]) for value in values) + _MARK_HEIGHT
    axis = change_axis(low, high, title=axis_title(metric, is_narrow=is_narrow))
    used = present(styles, (row.word for row in rows))
    layers = _layers(values, y=y, scale=change_scale(low, high), axis=axis, styles=used, height=height)
    return layered(layers, height=height * len(rows))


def axis_title(metric: Metric, *, is_narrow: bool = False) -> str | list[str]:
    """The axis in words, with which way is better; in two lines for a narrow chart."""
    less, more = ways(metric)
    words = f"change of {metric.name}, log scale"
    return [words, f"{less}  ·  {more}"] if is_narrow else f"{less}  ·  {words}  ·  {more}"


def ways(metric: Metric) -> tuple[str, str]:
    """What lies towards less and towards more, with which of them is better."""
    less, more = _way(metric)
    return f"← {less}", f"{more} →"


def domain(rows: Sequence[ForestRow], *, metric: Metric) -> tuple[float, float]:
    """The ratios at which the axis begins and ends.

    All points and zones lie inside; intervals may reach beyond by as much as these take up, and are cut there.
    """
    sign = -1 if metric.direction is Direction.HIGHER else 1
    inner = [0.0]
    for row in rows:
        inner += [math.log1p(row.change)] if row.change is not None else []
        near, far = math.log1p(row.d0 or 0.0), math.log1p(row.d1 or row.d0 or 0.0)
        inner += [sign * far, -sign * (far if row.is_two_sided else near)]
    first, last = min(inner), max(inner)
    span = max(last - first, _SPAN_LEAST)
    ends = [math.log1p(end) for row in rows for end in (row.low, row.high) if end is not None and end > -1]
    first = max(first - span, min([first, *ends])) - _MARGIN * span
    last = min(last + span, max([last, *ends])) + _MARGIN * span
    return math.exp(first), math.exp(last)


def _short(name: str) -> str:
    """The name without its middle if it is too long: rows often differ at their ends."""
    if len(name) <= _NAME_MAX:
        return printable(name)
    head = _NAME_MAX // 2
    tail = _NAME_MAX - head - 1
    return f"{printable(name[:head])}…{printable(name[-tail:])}"


def _is_drawable(row: ForestRow) -> bool:
    return row.change is not None and math.isfinite(row.change) and row.change > -1


def _datum(row: ForestRow, name: str, *, low: float, high: float, sign: int) -> dict[str, Any]:
    """What is drawn of a row. What is not there has no field: Vega leaves its mark out."""
    assert row.change is not None
    datum: dict[str, Any] = {
        "name": name,
        "word": row.word,
        "label": clipped(row.label, most=600),
        "figures": row.figures,
        "ratio": 1 + row.change,
    }
    if row.low is not None or row.high is not None:
        start, stop = (None if end is None else 1 + end for end in (row.low, row.high))
        datum["from"] = low if start is None else max(start, low)
        datum["to"] = high if stop is None else min(stop, high)
        if start is None or start < low:
            datum["cut_low"] = low
        if stop is None or stop > high:
            datum["cut_high"] = high
        if "cut_low" in datum or "cut_high" in datum:
            datum["label"] = f"{datum['label']}; the interval goes on beyond the axis"
    for limit, each in (("d0", row.d0), ("d1", row.d1)):
        if each is not None:
            worse, better = (1 + each) ** sign, (1 + each) ** -sign
            datum[f"{limit}_worse"] = worse
            datum[f"{limit}_better"] = better if limit == "d0" or row.is_two_sided else 1
    return datum


def _layers(
    values: list[dict[str, Any]],
    *,
    y: alt.Y,
    scale: alt.Scale,
    axis: alt.Axis,
    styles: Mapping[str, MarkerStyle],
    height: float,
) -> Iterator[alt.Chart]:
    """From the ground up: zones, the line of no change, intervals, points, words.

    Of rows that hold words, the marks are below these.
    """
    is_narrow = any("words" in value for value in values)
    down: dict[str, Any] = {"yOffset": (height - _MARK_HEIGHT) / 2} if is_narrow else {}

    def base(field: str) -> alt.Chart:
        return chart_of(value for value in values if field in value).encode(y=y)

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q", scale=scale, axis=axis)

    color, shape = color_and_shape("word", styles, offset=10)
    for limit, ink in (("d1", theme.ZONE), ("d0", theme.GRID)):
        area = base(f"{limit}_worse").mark_rect(color=ink, aria=False)
        yield area.encode(x=x(f"{limit}_worse"), x2=alt.X2(f"{limit}_better:Q"))
    edge = base("d1_worse").mark_tick(color=theme.MUTED, size=height, thickness=1, orient="vertical", aria=False)
    yield edge.encode(x=x("d1_worse"))
    yield chart_of([{"ratio": 1}]).mark_rule(color=theme.MUTED, aria=False).encode(x=x("ratio"))
    interval = base("from").mark_rule(strokeWidth=2, aria=False, **down)
    yield interval.encode(x=x("from"), x2=alt.X2("to:Q"), color=color)
    for field, arrow in (("cut_low", "triangle-left"), ("cut_high", "triangle-right")):
        if any(field in value for value in values):
            mark = base(field).mark_point(shape=arrow, filled=True, size=45, aria=False, **down)
            yield mark.encode(x=x(field), color=color)
    point = base("ratio").mark_point(filled=True, size=70, opacity=1, **down)
    yield point.encode(x=x("ratio"), color=color, shape=shape, description=alt.Description("label:N"))
    if is_narrow:
        words = base("ratio").mark_text(align="left", baseline="top", fontSize=12, yOffset=2 - height / 2, aria=False)
        yield words.encode(x=constant(alt.XValue, 2), text=alt.Text("words:N"))
    else:
        figures = base("ratio").mark_text(align="left", dx=8, fontSize=12, aria=False)
        yield figures.encode(x=constant(alt.XValue, "width"), text=alt.Text("figures:N"))


def _way(metric: Metric) -> tuple[str, str]:
    """What lies to the left and what to the right."""
    if metric.direction is Direction.NEUTRAL:
        return "less", "more"
    if metric.direction is Direction.HIGHER:
        return "lower (worse)", "higher (better)"
    is_time = metric.unit is Unit.SECONDS and "cpu" not in metric.name
    return ("faster (better)", "slower (worse)") if is_time else ("less (better)", "more (worse)")
