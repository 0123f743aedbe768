"""Charts of the distribution of latencies: histograms above each other, and the curve of their percentiles.

Of one kind of operation they show the first byte, the last byte and the time from the planned start; of several kinds
the last one of each. Loops are merged bin by bin.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import altair as alt
import numpy as np

from s3bench.report.load.cells import LoadPhase, LoadRow, count_text, seconds_text
from s3bench.report.page import theme
from s3bench.report.page.chart import LINE_HEIGHT, Layered, chart_of, color_and_shape, constant, layered, series_styles
from s3bench.report.page.section import ChartFigure
from s3bench.report.page.unit import AxisUnit, log_axis, log_ticks, log_y, seconds_unit
from s3bench.report.table import Table, TableColumn, column
from s3bench.results.bins import BINS_PER_OCTAVE, Bins, suffices_for
from s3bench.results.histogram import Histogram

SERIES_MAX = 6
"""The most distributions of a phase that are drawn."""

PERCENTS = (50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99, 99.999)

_NS = 1e-9
_BARS_MAX = 64
_BARS_PER_OCTAVE = (64, 32, 16, 8, 4, 2, 1)
_HEIGHT, _CURVE_HEIGHT = 100, 240
_CURVE_POINTS = 120
_HEADROOM = 1.45  # words stand above the bars
_FINEST_PERCENT = 0.001  # of `Histogram.percentile_ns`
_TITLES = {0.0: "0", 50.0: "50", 90.0: "90", 99.0: "99", 99.9: "99.9", 99.99: "99.99", 99.999: "99.999"}
_MARKED = (50.0, 99.0)


@dataclass(frozen=True)
class Distribution:
    """The latencies of one name over all loops."""

    name: str
    parts: tuple[Bins, ...]

    @cached_property
    def histogram(self) -> Histogram:
        """All loops together."""
        return Histogram.merged(self.parts)

    @property
    def percentiles(self) -> tuple[tuple[float, float], ...]:
        """The percents that so many samples carry, with seconds."""
        found = ((percent, self.histogram.percentile_ns(percent)) for percent in PERCENTS)
        return tuple((percent, value_ns * _NS) for percent, value_ns in found if value_ns is not None)

    def bars(self, per_octave: int) -> tuple[tuple[float, float, int], ...]:
        """Counts between two edges, in seconds: the bins put together to so many an octave, of nearly equal widths.

        Edges are those of bins, so that no sample is on the wrong side of one.
        """
        bins = self.histogram.bins()
        found: dict[int, int] = {}
        for index, count in zip(bins.indexes, bins.counts, strict=True):
            place = math.floor(_log2_middle(index) * per_octave)
            found[place] = found.get(place, 0) + count
        return tuple(
            (_edge_s(place, per_octave), _edge_s(place + 1, per_octave), each) for place, each in found.items()
        )


def distributions(phase: LoadPhase) -> tuple[Distribution, ...]:
    """What is shown of a phase: those with bins; nothing of documents that have none."""
    rows = phase.kinds
    found = _of_kind(rows[0]) if len(rows) == 1 else (_of_user(row) for row in rows)
    return tuple(each for each in found if any(part.indexes for part in each.parts))


def histogram_figure(shown: Sequence[Distribution]) -> ChartFigure:
    """Histograms above each other on one logarithmic axis; the median and the 99th percentile are marked."""
    drawn = shown[:SERIES_MAX]
    octaves = _octaves(drawn)
    per_octave = next((each for each in _BARS_PER_OCTAVE if octaves * each <= _BARS_MAX), 1)
    edges = [edge for each in drawn for low_s, high_s, _ in each.bars(per_octave) for edge in (low_s, high_s)]
    unit = seconds_unit(edges)
    panes = [
        _pane(each, number, per_octave, unit, edges, is_last=each is drawn[-1]) for number, each in enumerate(drawn)
    ]
    return ChartFigure(
        name="histogram",
        title="Distribution of latencies",
        description=(
            f"Operations by latency, on a logarithmic axis, for {_and([each.name for each in drawn])}. Bars are the "
            f"document's bins put together to {per_octave} an octave; dashed: the median and the 99th percentile."
        ),
        chart=alt.vconcat(*panes, spacing=10),
    )


def percentile_figure(shown: Sequence[Distribution]) -> ChartFigure:
    """Latency over percentiles, as far as the samples carry them (`histogram.carries`)."""
    drawn = shown[:SERIES_MAX]
    names = [each.name for each in drawn]
    known_s = [value_s for each in drawn for _, value_s in _curve(each)]
    unit = seconds_unit(known_s)
    base = {
        "x": _percent_axis(max((percent for each in drawn for percent, _ in _curve(each)), default=50.0)),
        "y": log_y("value", [value_s / unit.size for value_s in known_s], f"latency ({unit.name})"),
    }
    color, shape = color_and_shape("series", series_styles(names))
    lines = chart_of(_curve_values(drawn, unit)).mark_line(strokeWidth=2, aria=False)
    dots = chart_of(_dot_values(drawn, unit)).mark_point(filled=True, size=40, opacity=1)
    dash = alt.StrokeDash("series:N", scale=theme.dash_scale(names), legend=None)
    layers = [
        lines.encode(**base, color=color, strokeDash=dash),
        dots.encode(**base, color=color, shape=shape, description=alt.Description("label:N")),
    ]
    return ChartFigure(
        name="percentiles",
        title="Latency by percentile",
        description=(
            f"The latency that so many percent of operations did not exceed, for {_and(names)}. Each curve ends where "
            "its samples carry no higher percentile."
        ),
        chart=layered(layers, height=_CURVE_HEIGHT),
        table=_percentile_table(drawn),
    )


def _of_kind(row: LoadRow) -> Iterator[Distribution]:
    """First byte, last byte and response of one kind; the first byte not where it is the last one, as of a PUT."""
    first = tuple(load.first_byte_bins for load in row.loops)
    last = tuple(load.bins for load in row.loops)
    if first != last:
        yield Distribution("first byte", first)
    yield Distribution("last byte", last)
    yield Distribution("from the planned start", tuple(load.response_bins for load in row.loops))


def _of_user(row: LoadRow) -> Distribution:
    is_planned = any(load.response_bins.indexes for load in row.loops)
    return Distribution(row.label, tuple(load.response_bins if is_planned else load.bins for load in row.loops))


def _pane(
    shown: Distribution, number: int, per_octave: int, unit: AxisUnit, edges: Sequence[float], *, is_last: bool
) -> Layered:
    values: list[dict[str, Any]] = [
        {
            "low": low_s / unit.size,
            "high": high_s / unit.size,
            "count": count,
            "label": f"{shown.name}: {count_text(count)} from {seconds_text(low_s)} to {seconds_text(high_s)}",
        }
        for low_s, high_s, count in shown.bars(per_octave)
    ]
    domain = [min(edges) / unit.size, max(edges) / unit.size]
    ticks = [tick for tick in log_ticks(domain) if domain[0] <= tick <= domain[1]]
    x = alt.X(
        "low:Q",
        title=f"latency ({unit.name}, log scale)" if is_last else None,
        scale=alt.Scale(type="log", domain=domain, nice=False),
        axis=log_axis(ticks) if is_last else alt.Axis(values=ticks, labels=False, ticks=False),
    )
    top = max(value["count"] for value in values) * _HEADROOM
    y = alt.Y(
        "count:Q",
        title=None,
        scale=alt.Scale(domain=[0, top], nice=False),
        axis=alt.Axis(tickCount=3, tickMinStep=1, format=",d"),
    )
    bars = chart_of(values).mark_rect(
        color=theme.SERIES[number % len(theme.SERIES)], stroke=theme.PAPER, strokeWidth=0.5
    )
    layers = [
        bars.encode(x=x, x2=alt.X2("high:Q"), y=y, y2=constant(alt.Y2Datum, 0), description=alt.Description("label:N")),
        *_marks(shown, unit, domain),
    ]
    return layered(layers, height=_HEIGHT, title=f"{shown.name}: {count_text(shown.histogram.count)} operations")


def _marks(shown: Distribution, unit: AxisUnit, domain: Sequence[float]) -> Iterator[alt.Chart]:
    """The marked percentiles, each named in a line of its own, on the side where there is more room."""
    middle = math.sqrt(domain[0] * domain[1])
    found = [each for each in shown.percentiles if each[0] in _MARKED]
    for line, (percent, value_s) in enumerate(found):
        at = value_s / unit.size
        base = chart_of([{"at": at, "name": f"p{percent:g} {seconds_text(value_s)}"}]).encode(x=alt.X("at:Q"))
        yield base.mark_rule(strokeDash=[4, 3], color=theme.TEXT, aria=False)
        side: dict[str, Any] = {"align": "right", "dx": -4} if at > middle else {"align": "left", "dx": 4}
        words = base.mark_text(baseline="top", fontSize=11, color=theme.TEXT, aria=False, **side)
        yield words.encode(text=alt.Text("name:N"), y=constant(alt.YValue, line * LINE_HEIGHT))


def _percent_axis(highest: float) -> alt.X:
    """Percent on the usual axis of 1/(1-p), on which each further nine takes the same room."""
    shown = {_rarity(percent): text for percent, text in _TITLES.items() if percent <= highest}
    texts = " : ".join(f"abs(datum.value - {at:.6g}) < {at * 1e-6:.6g} ? '{text}'" for at, text in shown.items())
    axis = alt.Axis(values=list(shown), labelExpr=f"{texts} : ''")
    domain = [1.0, max(_rarity(highest), *shown) * 1.15]
    return alt.X(
        "rarity:Q", title="percent of operations", scale=alt.Scale(type="log", domain=domain, nice=False), axis=axis
    )


def _curve(shown: Distribution) -> tuple[tuple[float, float], ...]:
    """Percents, in even steps of the axis, with seconds; up to the last that the samples carry."""
    last = max((percent for percent in PERCENTS if suffices_for(shown.histogram.count, percent)), default=0.0)
    rarities = np.geomspace(1.0, _rarity(last), _CURVE_POINTS)
    grid = (round(100 - 100 / rarity, 3) for rarity in rarities)
    percents = sorted({_FINEST_PERCENT, *(percent for percent in (*grid, *PERCENTS) if 0 < percent <= last)})
    found = ((percent, shown.histogram.percentile_ns(percent)) for percent in percents)
    return tuple((percent, value_ns * _NS) for percent, value_ns in found if value_ns is not None)


def _curve_values(drawn: Sequence[Distribution], unit: AxisUnit) -> list[dict[str, Any]]:
    return [
        {"rarity": _rarity(percent), "value": value_s / unit.size, "series": each.name}
        for each in drawn
        for percent, value_s in _curve(each)
    ]


def _dot_values(drawn: Sequence[Distribution], unit: AxisUnit) -> list[dict[str, Any]]:
    return [
        {
            "rarity": _rarity(percent),
            "value": value_s / unit.size,
            "series": each.name,
            "label": f"{each.name}: p{percent:g} {seconds_text(value_s)}",
        }
        for each in drawn
        for percent, value_s in each.percentiles
    ]


def _percentile_table(drawn: Sequence[Distribution]) -> Table:
    known = [(each, dict(each.percentiles)) for each in drawn]

    def at(percent: float) -> TableColumn:
        values = [found.get(percent) for _, found in known]
        return column(f"p{percent:g}", values, seconds_text, value=lambda value: value)

    return Table(
        caption="Latency by percentile; -: too few operations for that figure",
        columns=(
            column("latency", drawn, lambda each: each.name),
            column(
                "operations",
                drawn,
                lambda each: count_text(each.histogram.count),
                value=lambda each: each.histogram.count,
            ),
            *(at(percent) for percent in PERCENTS if any(percent in found for _, found in known)),
        ),
    )


def _octaves(drawn: Sequence[Distribution]) -> int:
    """How many octaves lie between the first and the last bin of all."""
    indexes = [
        index for each in drawn for index in (each.histogram.bins().indexes[0], each.histogram.bins().indexes[-1])
    ]
    return math.ceil((max(indexes) - min(indexes) + 1) / BINS_PER_OCTAVE)


def _rarity(percent: float) -> float:
    """One in so many is above the percentile: 1/(1-p)."""
    return 100 / (100 - percent)


def _log2_middle(index: int) -> float:
    """The binary logarithm of a bin's middle, in nanoseconds: see `s3bench.results.bins`."""
    octave, step = divmod(index, BINS_PER_OCTAVE)
    return octave + math.log2(1 + (step + 0.5) / BINS_PER_OCTAVE)


def _edge_s(place: int, per_octave: int) -> float:
    """The lower edge of a bar: that of the first bin whose middle is above the bar's beginning, in seconds."""
    octave, part = divmod(place, per_octave)
    step = math.ceil((math.exp2(part / per_octave) - 1) * BINS_PER_OCTAVE - 0.5)
    return math.ldexp(_NS, octave) * (1 + step / BINS_PER_OCTAVE)


def _and(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
