"""Charts of many benchmarks on one axis: each time as a multiple of the median of its benchmark's fastest client.

Times of different benchmarks lie orders of magnitude apart; as multiples they share an axis. The median by which all
are divided is taken as exact.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from s3bench.compare.sample import figures_of
from s3bench.report.label import clipped
from s3bench.report.page import theme
from s3bench.report.page.chart import CHARACTER_WIDTH, LINE_HEIGHT, Layered, chart_of, constant, layered, narrow_lines
from s3bench.report.page.run.axis import TOTAL_TIME, FigureAxis, client_marks, metric_axis, ratio_axis
from s3bench.report.page.run.benchmark import Benchmark, ClientResults
from s3bench.report.page.run.dots import center_text, run_dots
from s3bench.report.run.figures import MedianEstimate, estimate
from s3bench.results.metrics import render_figure

STRIPS_MAX = 40
"""The most rows of one chart."""

_ROW_HEIGHT = 16
_GAP = 10
_FIGURE_GAP = 9
_NAME_MAX, _CLIENT_MAX = 90, 40
_RATIO_HEADING = "total time / median of the benchmark's fastest client"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedClient:
    """A client on a benchmark whose runs were timed. `fastest_s` is the least median of the benchmark's clients."""

    benchmark: str
    row: ClientResults
    found: MedianEstimate
    fastest_s: float

    @property
    def name(self) -> str:
        """The benchmark and the client; if both are too long, the benchmark is cut."""
        client = clipped(f" · {self.row.client}", most=_CLIENT_MAX)
        return clipped(self.benchmark, most=_NAME_MAX - len(client)) + client

    def ratio(self, value_s: float) -> float:
        """A time as a multiple of the fastest client's median."""
        return value_s / self.fastest_s if self.fastest_s > 0 else 1.0

    @property
    def label(self) -> str:
        """The median and its interval, in its unit and as a multiple."""
        words = center_text(self.row, self.found)
        return f"{self.benchmark}, {words}, {self.ratio(self.found.median):.3g} times the fastest"


def timed_rows(benchmarks: Sequence[Benchmark]) -> tuple[TimedClient, ...]:
    """The clients of all benchmarks that have a total time, in the document's order."""
    return tuple(timed for benchmark in benchmarks for timed in _timed(benchmark))


def overview_chart(timed: Sequence[TimedClient], *, clients: list[str], is_narrow: bool = False) -> Layered:
    """Draw medians with their intervals: as multiples where several clients are compared, else in seconds.

    A narrow chart has the names of benchmarks above their clients.
    """
    is_ratio = len({each.row.client for each in timed}) > 1
    if is_ratio:
        axis = ratio_axis(_RATIO_HEADING, [each.ratio(end) for each in timed for end in _ends(each.found)])
    else:
        axis = metric_axis(TOTAL_TIME, [end for each in timed for end in _ends(each.found)])
    values = [_median_value(each, axis, is_ratio=is_ratio) for each in timed]
    room = _FIGURE_GAP + math.ceil(CHARACTER_WIDTH * max(len(value["figure"]) for value in values))
    shown = list(dict.fromkeys(each.row.client for each in timed))
    color, shape = client_marks(clients, shown, offset=10)
    names = list(dict.fromkeys(each.benchmark for each in timed))
    gap = _GAP + is_narrow * LINE_HEIGHT * max(len(narrow_lines(name)) for name in names)
    row = _ROW_HEIGHT * max(2, len(shown)) + gap
    benchmarks = _names_axis("benchmark", names, gap=gap / row, is_narrow=is_narrow)
    place = {"y": benchmarks, "yOffset": alt.YOffset("client:N", sort=shown)}
    layers = []
    if intervals := [value for value in values if value["low"] is not None]:
        rule = chart_of(intervals).mark_rule(strokeWidth=2, aria=False)
        layers.append(rule.encode(x=axis.x("low", room=room), x2=alt.X2("high:Q"), color=color, **place))
    points = chart_of(values).mark_point(filled=True, size=60, opacity=1)
    layers.append(
        points.encode(
            x=axis.x("median", room=room),
            color=color,
            shape=shape,
            description=alt.Description("label:N"),
            **place,
        )
    )
    figures = chart_of(values).mark_text(align="left", dx=_FIGURE_GAP, fontSize=12, aria=False)
    layers.append(figures.encode(x=axis.x("end", room=room), text=alt.Text("figure:N"), **place))
    if is_narrow:
        layers.append(_names(names, benchmarks, lead="benchmark"))
    height = row * (len(names) + gap / row)
    return layered(layers, height=height)


def strip_charts(
    timed: Sequence[TimedClient], *, clients: list[str], with_runs: bool, is_narrow: bool = False
) -> Iterator[Layered]:
    """Draw `STRIPS_MAX` rows a chart, all on one axis: every run, or only the range from the fastest to the slowest."""
    ratios = [each.ratio(value) for each in timed for value in figures_of(each.row.result, TOTAL_TIME.name).values]
    axis = ratio_axis(_RATIO_HEADING, [min(ratios), max(ratios)])
    bounds = alt.Scale(domain=[min(ratios), max(ratios)], nice=True, zero=False)
    for start in range(0, len(timed), STRIPS_MAX):
        shown = timed[start : start + STRIPS_MAX]
        yield _strip_chart(
            shown, axis, None if axis.ticks else bounds, clients, with_runs=with_runs, is_narrow=is_narrow
        )


def _timed(benchmark: Benchmark) -> Iterator[TimedClient]:
    found = [(row, each) for row in benchmark.rows if (each := estimate(row.result, TOTAL_TIME)) is not None]
    fastest_s = min((each.median for _, each in found), default=0.0)
    for row, each in found:
        yield TimedClient(benchmark=benchmark.title, row=row, found=each, fastest_s=fastest_s)


def _ends(found: MedianEstimate) -> Iterator[float]:
    yield from (end for end in (found.low, found.median, found.high) if end is not None)


def _median_value(timed: TimedClient, axis: FigureAxis, *, is_ratio: bool) -> dict[str, Any]:
    def scaled(value_s: float | None) -> float | None:
        return timed.ratio(value_s) if is_ratio and value_s is not None else axis.unit.of(value_s)

    found = timed.found
    return {
        "benchmark": timed.benchmark,
        "client": timed.row.client,
        "low": scaled(found.low),
        "median": scaled(found.median),
        "high": scaled(found.high),
        "end": scaled(found.median if found.high is None else found.high),
        "figure": found.text,
        "label": timed.label,
    }


def _names_axis(field: str, names: Iterable[str], *, gap: float, is_narrow: bool) -> alt.Y:
    """Rows by name; `gap` is the share of a row above its marks. A narrow chart has no labels beside it."""
    axis = None if is_narrow else alt.Axis(labelLimit=0, ticks=False, domain=False, labelPadding=10)
    scale = alt.Scale(paddingInner=gap, paddingOuter=gap)
    return alt.Y(f"{field}:N", title=None, sort=list(dict.fromkeys(names)), scale=scale, axis=axis)


def _names(names: Iterable[str], rows: alt.Y, *, lead: str) -> alt.Chart:
    """The names above the marks of their rows; the last line of each stands next to them."""
    text = chart_of({lead: name, "words": narrow_lines(name)} for name in names)
    up = alt.ExprRef(f"-3 - {LINE_HEIGHT} * (length(datum.words) - 1)")  # Vega draws further lines below the first
    mark = text.mark_text(align="left", baseline="bottom", fontSize=12, dy=up, lineHeight=LINE_HEIGHT, aria=False)
    encoded: alt.Chart = mark.encode(x=constant(alt.XValue, 0), y=rows.bandPosition(0), text=alt.Text("words:N"))
    return encoded


def _strip_chart(
    timed: Sequence[TimedClient],
    axis: FigureAxis,
    bounds: alt.Scale | None,
    clients: list[str],
    *,
    with_runs: bool,
    is_narrow: bool,
) -> Layered:
    shown = list(dict.fromkeys(each.row.client for each in timed))
    color, shape = client_marks(clients, shown)
    values = [value for each in timed for value in (_run_values(each) if with_runs else _range_values(each))]
    x = axis.x("value") if bounds is None else axis.x("value").scale(bounds)
    names = list(dict.fromkeys(each.name for each in timed))
    gap = LINE_HEIGHT * max(len(narrow_lines(name)) for name in names) if is_narrow else 2
    height = gap + _ROW_HEIGHT
    row = _names_axis("row", names, gap=gap / height, is_narrow=is_narrow)
    base = chart_of(values).encode(x=x, y=row, color=color)
    if with_runs:
        marks = base.mark_point(filled=True, size=14, opacity=0.7).encode(
            shape=shape, description=alt.Description("label:N")
        )
    else:
        marks = base.mark_rule(strokeWidth=3).encode(x2=alt.X2("end:Q"), description=alt.Description("label:N"))
    medians = chart_of([_strip_median(each) for each in timed])
    ticks = medians.mark_tick(thickness=2, height=11, color=theme.TEXT).encode(
        x=x, y=row, description=alt.Description("label:N")
    )
    words = [_names(names, row, lead="row")] if is_narrow else []
    return layered([marks, ticks, *words], height=height * (len(names) + gap / height))


def _run_values(timed: TimedClient) -> Iterator[dict[str, Any]]:
    for dot in run_dots((timed.row,), TOTAL_TIME):
        figure = dot.pop("figure")
        yield {"row": timed.name, "value": timed.ratio(figure), "client": dot["client"], "label": dot["label"]}


def _range_values(timed: TimedClient) -> Iterator[dict[str, Any]]:
    sample = figures_of(timed.row.result, TOTAL_TIME.name).sample
    assert sample.minimum is not None  # it has a median
    assert sample.maximum is not None
    least, most = (render_figure(value, TOTAL_TIME.unit) for value in (sample.minimum, sample.maximum))
    yield {
        "row": timed.name,
        "client": timed.row.client,
        "value": timed.ratio(sample.minimum),
        "end": timed.ratio(sample.maximum),
        "label": f"{timed.name}: {sample.n:,} runs, from {least} to {most}",
    }


def _strip_median(timed: TimedClient) -> dict[str, Any]:
    return {"row": timed.name, "value": timed.ratio(timed.found.median), "label": timed.label}
