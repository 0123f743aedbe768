"""Chart of throughput and latency over time: two panes that share the axis of seconds.

Warm-up and stalled seconds have a shaded ground and a word, failures are crosses.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from s3bench.report.load.cells import LoadRow, bytes_rate_text, ranges_text, rate_text, seconds_text
from s3bench.report.page import theme
from s3bench.report.page.chart import Layered, chart_of, color_and_shape, constant, layered, series_styles
from s3bench.report.page.load.backdrop import SOURCE, Instance, instance_rules
from s3bench.report.page.load.seconds import PERCENTILES, SecondsSpan, seconds_table, spans
from s3bench.report.page.section import ChartFigure
from s3bench.report.page.unit import AxisUnit, bytes_unit, log_y, seconds_unit
from s3bench.results.load import Load

_HEIGHT = 170
_HEADROOM = 1.3  # crosses of failures and words stand above the highest value
_STALL_OPACITY = 0.18
_FLOW = "throughput"
_COUNTS_MAX = 12  # more would run into each other


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadTimeline:
    """The seconds of one loop of a phase, of which `warmup` are not measured.

    `is_detailed`: every second is a mark with a text of its own and stands in the table.
    """

    row: LoadRow
    load: Load
    loop: int
    warmup: int = 0
    instances: tuple[Instance, ...] = ()
    is_detailed: bool = True

    @property
    def figure(self) -> ChartFigure:
        """The chart with its words."""
        shown = spans(self.load.seconds)
        panes = [self._flow(shown)]
        if any(each.latencies[name] is not None for each in shown for name in PERCENTILES):
            panes.append(self._latency(shown))
        loop = f", loop {self.loop}" if len(self.row.loops) > 1 else ""
        return ChartFigure(
            name=f"over-time-{self.loop}",
            title=f"Throughput and latency over time{loop}",
            description=" ".join(self._sentences(shown)),
            chart=alt.vconcat(*panes, spacing=16).resolve_scale(
                color="independent", shape="independent", strokeDash="independent"
            ),
            table=seconds_table(self.load.seconds, warmup=self.warmup) if self.is_detailed else None,
        )

    def _flow(self, shown: Sequence[SecondsSpan]) -> Layered:
        has_bytes = any(each.size_bytes for each in shown)
        rates = [each.bytes_per_s if has_bytes else each.rate for each in shown]
        unit = bytes_unit(rates, per="/s") if has_bytes else AxisUnit(name="operations/s", size=1.0)
        instances = self.instances if has_bytes else ()
        top = max([*rates, *(each.bytes_per_s for each in instances)]) / unit.size * _HEADROOM or 1.0
        text = bytes_rate_text if has_bytes else rate_text
        span = f"{_FLOW}: {text(min(rates))} to {text(max(rates))}"
        values = [
            {
                "at": each.middle_s,
                "value": rate / unit.size,
                "series": _FLOW,
                "label": each.flow_text if self.is_detailed else span,
            }
            for each, rate in zip(shown, rates, strict=True)
        ]
        y = alt.Y("value:Q", title=f"{_FLOW} ({unit.name})", scale=alt.Scale(domain=[0, top], nice=False))
        encoded = {"x": _time(shown, title=""), "y": y, "color": constant(alt.ColorValue, theme.SERIES[0])}
        layers = [*self._grounds(shown, top), *self._curves(values, encoded), *_failures(shown, top)]
        return _pane([*layers, *instance_rules(instances, unit)])

    def _latency(self, shown: Sequence[SecondsSpan]) -> Layered:
        known = {name: [value for each in shown if (value := each.latencies[name]) is not None] for name in PERCENTILES}
        names = [name for name in PERCENTILES if known[name]]
        every = [value for name in names for value in known[name]]
        unit = seconds_unit(every)
        values = [
            {
                "at": each.middle_s,
                "value": unit.of(each.latencies[name]),
                "series": name,
                "label": each.latency_text(name) if self.is_detailed else _span_text(name, known[name]),
            }
            for name in names
            for each in shown
        ]
        color, shape = color_and_shape("series", series_styles(names))
        encoded = {
            "x": _time(shown, title="time (s)"),
            "y": log_y("value", [value / unit.size for value in every], f"latency ({unit.name})"),
            "color": color,
            "strokeDash": alt.StrokeDash("series:N", scale=theme.dash_scale(names), legend=None),
        }
        return _pane([*self._grounds(shown), *self._curves(values, encoded, shape)])

    def _curves(
        self, values: Sequence[Mapping[str, Any]], encoded: Mapping[str, Any], shape: alt.Shape | None = None
    ) -> Iterator[alt.Chart]:
        """Lines, broken where a value is missing, and a dot for each value where there is room for them."""
        line = chart_of(values).encode(**encoded, detail=alt.Detail("series:N"))
        if not self.is_detailed:
            yield line.mark_line(strokeWidth=2).encode(description=alt.Description("label:N"))
            return
        yield line.mark_line(strokeWidth=2, aria=False)
        dots = chart_of([each for each in values if each["value"] is not None])
        channels = {name: channel for name, channel in encoded.items() if name != "strokeDash"}
        more = {} if shape is None else {"shape": shape}
        yield dots.mark_point(filled=True, size=24, opacity=1).encode(
            **channels, **more, description=alt.Description("label:N")
        )

    def _grounds(self, shown: Sequence[SecondsSpan], top: float | None = None) -> Iterator[alt.Chart]:
        """Warm-up and stalls, with words at `top` where that is given."""
        first = shown[0].first
        if self.warmup > first:
            end = min(self.warmup, shown[-1].first + shown[-1].length_s)
            yield from _ground([(first, end, "warm-up")], {"color": theme.ZONE}, top)
        stalled = [second for each in shown for second in each.stalled]
        grounds = [(start, end, "stalled") for start, end in _runs(stalled)]
        yield from _ground(grounds, {"color": theme.BAD, "opacity": _STALL_OPACITY}, top)

    def _sentences(self, shown: Sequence[SecondsSpan]) -> Iterator[str]:
        length = shown[0].length_s
        yield f"{self.row.label} over {len(self.load.seconds):,} seconds: what ended in each, and its latencies."
        if length > 1:
            yield f"Each point stands for {length} seconds: their mean throughput, and the highest of their latencies."
        if not self.is_detailed:
            yield "The figure of every second is in the results document."
        if self.warmup:
            yield f"The first {self.warmup} s are warm-up and count in no figure of the phase."
        if self.load.stalls:
            yield f"Stalled, shaded: {ranges_text(self.load.stalls)}."
        if failed := sum(each.failures for each in shown):
            yield f"Crosses: {failed:,} failed attempts."
        if self.instances:
            yield f"Dashed: {'; '.join(each.text for each in self.instances)} ({SOURCE})."


def _span_text(name: str, known_s: Sequence[float]) -> str:
    return f"{name}: {seconds_text(min(known_s))} to {seconds_text(max(known_s))}"


def _time(shown: Sequence[SecondsSpan], *, title: str) -> alt.X:
    last = shown[-1]
    domain = alt.Scale(domain=[shown[0].first, last.first + last.length_s], nice=False)
    axis = alt.Axis(grid=False, tickMinStep=1, labels=bool(title), ticks=bool(title))
    return alt.X("at:Q", title=title or None, scale=domain, axis=axis)


def _failures(shown: Sequence[SecondsSpan], top: float) -> Iterator[alt.Chart]:
    values = [
        {"at": each.middle_s, "value": top * 0.78, "label": each.failures_text, "count": f"{each.failures:,}"}
        for each in shown
        if each.failures
    ]
    if values:
        base = chart_of(values).encode(x=alt.X("at:Q"), y=alt.Y("value:Q"))
        yield base.mark_point(
            shape="cross", angle=45, filled=True, size=60, opacity=1, color=theme.BAD
        ).encode(description=alt.Description("label:N"))  # fmt: skip
        if len(values) <= _COUNTS_MAX:
            yield base.mark_text(dx=7, align="left", fontSize=11, color=theme.BAD, aria=False).encode(
                text=alt.Text("count:N")
            )


def _ground(
    spans_s: Sequence[tuple[float, float, str]], look: Mapping[str, Any], top: float | None
) -> Iterator[alt.Chart]:
    values = [{"at": start, "end": end, "words": words, "value": top} for start, end, words in spans_s]
    if not values:
        return
    base = chart_of(values).encode(x=alt.X("at:Q"))
    yield base.mark_rect(aria=False, **look).encode(x2=alt.X2("end:Q"))
    if top is not None:
        words = base.mark_text(align="left", baseline="top", dx=4, dy=3, fontSize=11, color=theme.MUTED, aria=False)
        yield words.encode(text=alt.Text("words:N"), y=alt.Y("value:Q"))


def _runs(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Ascending numbers as runs of neighbours: the first, and the one behind the last."""
    start = 0
    for place in range(1, len(numbers) + 1):
        if place == len(numbers) or numbers[place] != numbers[place - 1] + 1:
            yield numbers[start], numbers[place - 1] + 1
            start = place


def _pane(layers: Sequence[alt.Chart]) -> Layered:
    return layered(layers, height=_HEIGHT)
