"""Chart of the requests of one run of each client: a row for each connection, a bar for each request.

A bar goes from the start of a request to the end of its response; it is solid while a body moves: the request's from
its start, the response's from its first byte on.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from s3bench.report.page import theme
from s3bench.report.page.chart import Layered, chart_of, layered, narrow_lines
from s3bench.report.page.run.wire import LANES_MAX, ShownRequest, WireRun
from s3bench.report.page.unit import AxisUnit, seconds_unit
from s3bench.results import metrics
from s3bench.results.metrics import render_figure

_KINDS_MAX = 6
_OTHER = "other kinds"
_LANE_HEIGHTS = ((8, 18), (24, 11), (LANES_MAX, 7))  # lanes at most, and the height of one in pixels
_WORD_SIZE, _CHARACTER_WIDTH, _WORD_MARGIN = 9, 5.2, 8  # pixels
_LABEL_HEIGHT = 15
_WORDS_FROM = 11  # a lane of this height has room for words
_BAND = {"band": 0.85}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scale:
    """What all clients' panes have in common: the axis of time, and the colours of kinds of request."""

    unit: AxisUnit
    last_s: float
    kinds: Mapping[str, str]
    is_narrow: bool

    def x(self, title: str | None) -> alt.X:
        """Time; the axis has figures where it has a title."""
        domain = alt.Scale(domain=[0, self.unit.of(self.last_s)], nice=False)
        axis = alt.Axis(labels=title is not None, ticks=title is not None, tickCount=6)
        return alt.X("start:Q", title=title, scale=domain, axis=axis)

    def color(self) -> alt.Color:
        """The colour of a kind."""
        legend = alt.Legend(title=None, values=self._names)
        return alt.Color("kind:N", scale=theme.color_scale(self._names), legend=legend)

    def stroke(self) -> alt.Stroke:
        """The same colour for outlines."""
        return alt.Stroke("kind:N", scale=theme.color_scale(self._names), legend=None)

    @property
    def _names(self) -> list[str]:
        return list(dict.fromkeys(self.kinds.values()))

    def bar(self, run: WireRun, shown: ShownRequest, start_s: float, end_s: float) -> dict[str, Any]:
        """A bar on the request's lane; times are since the spawn."""
        return {
            "lane": _lane(shown),
            "kind": self.kinds[shown.kind],
            "start": self.unit.of(start_s - run.first_s),
            "end": self.unit.of(end_s - run.first_s),
        }

    def width(self, shown: ShownRequest) -> float:
        """How many pixels the request's bar is wide."""
        return (shown.span.end - shown.span.start) / self.last_s * self._plot_width if self.last_s > 0 else 0.0

    @property
    def _plot_width(self) -> int:
        return theme.plot_width(theme.NARROW if self.is_narrow else theme.WIDTH)


def requests_chart(runs: Sequence[WireRun], *, is_narrow: bool = False) -> alt.VConcatChart:
    """Draw the clients one below the other, each from its own first request on, on the same axis of time."""
    last_s = max(each.span.end - run.first_s for run in runs for each in run.requests)
    kinds = list(dict.fromkeys(each.kind for run in runs for each in run.requests))
    most = _KINDS_MAX if len(kinds) <= _KINDS_MAX else _KINDS_MAX - 1
    named = {kind: kind if number < most else _OTHER for number, kind in enumerate(kinds)}
    scale = _Scale(unit=seconds_unit([last_s]), last_s=last_s, kinds=named, is_narrow=is_narrow)
    panes = [_pane(run, scale, is_last=run is runs[-1]) for run in runs]
    chart: alt.VConcatChart = alt.vconcat(*panes, spacing=12)
    return chart


def _pane(run: WireRun, scale: _Scale, *, is_last: bool) -> Layered:
    height = next(height for lanes, height in _LANE_HEIGHTS if run.lanes <= lanes)
    time_title = f"time since the client's first request ({scale.unit.name})" if is_last else None
    lane = alt.Y("lane:O", title=None, axis=_lanes_axis(run, height))
    values = [
        {**scale.bar(run, each, each.span.start, each.span.end), "label": f"{run.client} {each.label}"}
        for each in run.requests
    ]
    whole = chart_of(values).mark_bar(fillOpacity=0.2, strokeWidth=0.8, height=_BAND)
    layers = [
        *_bodies(run, scale),
        whole.encode(
            x=scale.x(time_title),
            x2=alt.X2("end:Q"),
            y=lane,
            color=scale.color(),
            stroke=scale.stroke(),
            description=alt.Description("label:N"),
        ),
        *(_words(run, scale) if height >= _WORDS_FROM else ()),
        *_troubles(run, scale),
    ]
    first = render_figure(run.first_s, metrics.Unit.SECONDS)
    title_text = f"{run.client} run {run.iteration}, first request {first} after the spawn"
    title = alt.TitleParams(narrow_lines(title_text) if scale.is_narrow else title_text)
    return layered(layers, height=alt.Step(height), title=title)


def _lanes_axis(run: WireRun, height: int) -> alt.Axis:
    """The numbers of connections, as many as have room."""
    lanes = sorted({_lane(each) for each in run.requests})
    shown = lanes[:: -(-_LABEL_HEIGHT // height)]
    return alt.Axis(values=shown, grid=True, ticks=False, minExtent=theme.EXTENT, maxExtent=theme.EXTENT)


def _lane(shown: ShownRequest) -> int:
    return shown.lane if shown.span.connection is None else shown.span.connection


def _bodies(run: WireRun, scale: _Scale) -> Iterator[alt.Chart]:
    """The solid parts of the bars, where there are any."""
    values = [scale.bar(run, each, start_s, end_s) for each in run.requests for start_s, end_s in _moving_spans_s(each)]
    if values:
        solid = chart_of(values).mark_bar(aria=False, height=_BAND)
        yield solid.encode(x=alt.X("start:Q"), x2=alt.X2("end:Q"), y=alt.Y("lane:O"), color=scale.color())


def _moving_spans_s(shown: ShownRequest) -> Iterator[tuple[float, float]]:
    span = shown.span
    if span.bytes_up:
        yield span.start, span.body_end
    if span.bytes_down and span.first_byte is not None:
        yield span.first_byte, span.end


def _words(run: WireRun, scale: _Scale) -> Iterator[alt.Chart]:
    """The kind of request within each bar that has room for it."""
    fitting = [
        each
        for each in run.requests
        if scale.width(each) >= len(scale.kinds[each.kind]) * _CHARACTER_WIDTH + _WORD_MARGIN
    ]
    for is_solid, ink in ((True, theme.PAPER), (False, theme.TEXT)):
        values = [
            scale.bar(run, each, each.span.start, each.span.end) for each in fitting if _is_solid(each) is is_solid
        ]
        if values:
            mark = chart_of(values).mark_text(align="left", dx=4, fontSize=_WORD_SIZE, color=ink, aria=False)
            yield mark.encode(x=alt.X("start:Q"), y=alt.Y("lane:O"), text=alt.Text("kind:N"))


def _is_solid(shown: ShownRequest) -> bool:
    """Whether words at its start lie on a moving body."""
    span = shown.span
    return any(
        start_s == span.start and (end_s - start_s) * 2 > span.end - span.start
        for start_s, end_s in _moving_spans_s(shown)
    )


def _troubles(run: WireRun, scale: _Scale) -> Iterator[alt.Chart]:
    values = [
        {**scale.bar(run, each, each.span.start, each.span.end), "label": f"{run.client} {each.label}"}
        for each in run.requests
        if each.is_trouble
    ]
    if values:
        mark = chart_of(values).mark_point(shape="triangle-down", size=45, filled=True, opacity=1, color=theme.BAD)
        yield mark.encode(x=alt.X("start:Q"), y=alt.Y("lane:O"), description=alt.Description("label:N"))
