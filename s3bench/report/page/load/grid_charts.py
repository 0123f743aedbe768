"""Charts of a matrix: heat-maps, and throughput and latencies over threads and over sizes.

They are the charts of https://github.com/dvassallo/s3-benchmark.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import altair as alt

from s3bench.report.page import theme
from s3bench.report.page.chart import chart_of, color_and_shape, layered, series_styles
from s3bench.report.page.heat_map import HeatCell, heat_chart
from s3bench.report.page.load.backdrop import SOURCE, Instance, instance_rules
from s3bench.report.page.load.grid import RATE, THROUGHPUT, Grid, Measure, count_number, latency_measure, size_number
from s3bench.report.page.section import ChartFigure
from s3bench.report.page.unit import AxisUnit, bytes_unit, log_title, log_y, seconds_unit

_HEIGHT = 260
_MAPPED = (
    THROUGHPUT,
    RATE,
    latency_measure("first byte", "p50"),
    *(latency_measure("last byte", point) for point in ("p50", "p99")),
)
_LATENCIES = tuple(latency_measure(group, "p90") for group in ("first byte", "last byte"))
_LINES_MAX = 20
_KINDS = len(theme.SERIES)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Axis:
    """One of the two dimensions: which of a cell's places it is, its title, its texts and their numbers."""

    place: int
    title: str
    singular: str
    texts: tuple[str, ...]
    number: Callable[[str], float | None]

    @property
    def is_numeric(self) -> bool:
        """Whether all texts are numbers, so that they stand on a logarithmic axis."""
        return all(self.number(text) is not None for text in self.texts)

    def x(self) -> alt.X:
        """The axis: logarithmic with its texts as marks, or the texts side by side."""
        if not self.is_numeric:
            return alt.X("name:N", sort=None, title=self.title, scale=alt.Scale(domain=list(self.texts)))
        axis = alt.Axis(values=self._numbers(), labelExpr=self._labels(), grid=False)
        return alt.X("at:Q", title=log_title(self.title), scale=alt.Scale(type="log", base=2, nice=False), axis=axis)

    def _numbers(self) -> list[float]:
        return [number for text in self.texts if (number := self.number(text)) is not None]

    def _labels(self) -> str:
        """The numbers with binary units, as an expression of Vega: of numbers alone, never of a document's text."""
        texts = (f"datum.value === {number!r} ? '{_short(number)}'" for number in self._numbers())
        return f"{' : '.join(texts)} : ''"


def grid_figures(grid: Grid, instances: tuple[Instance, ...]) -> Iterator[ChartFigure]:
    """All charts of a grid; those of lines only along a dimension that has several values."""
    for measure in _MAPPED:
        if len(list(grid.found(measure))) > 1:  # a map of one cell is a sentence: that of the section
            yield _heat_map(grid, measure)
    sizes = _Axis(place=0, title="object size", singular="object size", texts=grid.sizes, number=size_number)
    threads = _Axis(place=1, title="threads", singular="number of threads", texts=grid.threads, number=count_number)
    for axis, other in ((threads, sizes), (sizes, threads)):
        for measure in (THROUGHPUT, *_LATENCIES) if axis is threads else (THROUGHPUT,):
            if len(axis.texts) > 1 and next(grid.found(measure), None) is not None:
                yield _lines(grid, measure, axis, other, instances if measure is THROUGHPUT else ())


def _heat_map(grid: Grid, measure: Measure) -> ChartFigure:
    found = list(grid.found(measure))
    logs = [math.log(value) if value > 0 else None for _, value in found]
    known = [each for each in logs if each is not None]
    cells = [
        HeatCell(
            row=size,
            column=threads,
            text=measure.text(value),
            label=_label(size, threads, measure, value),
            share=None if log is None else _share(log, known),
        )
        for ((size, threads), value), log in zip(found, logs, strict=True)
    ]
    chart = partial(
        heat_chart, cells, rows=grid.sizes, columns=grid.threads, row_title="object size", column_title="threads"
    )
    return ChartFigure(
        name=f"map-{_name(measure)}",
        title=f"{grid.title}: {measure.title}",
        description=f"{measure.title.capitalize()} by object size and number of threads; deeper is more.",
        chart=chart(),
        narrow=chart(is_narrow=True),
    )


def _lines(grid: Grid, measure: Measure, axis: _Axis, other: _Axis, instances: tuple[Instance, ...]) -> ChartFigure:
    names = other.texts[:_LINES_MAX]
    found = [(place, value) for place, value in grid.found(measure) if place[other.place] in names]
    unit = _unit([value for _, value in found], measure)
    values: list[dict[str, Any]] = [
        {
            "at": axis.number(place[axis.place]),
            "name": place[axis.place],
            "value": value / unit.size,
            "series": place[other.place],
            "label": _label(*place, measure, value),
        }
        for place, value in found
    ]
    color, shape = color_and_shape("series", series_styles(names), title=f"{other.title}:", titleOrient="left")
    base = chart_of(values).encode(
        x=axis.x(),
        y=_y(values, measure, unit, instances),
        color=color,
    )
    dash = theme.dash_scale(list(names))
    lines = base.mark_line(strokeWidth=2, aria=False).encode(
        strokeDash=alt.StrokeDash("series:N", sort=None, scale=dash, legend=None)
    )
    dots = base.mark_point(filled=True, size=40, opacity=1).encode(shape=shape, description=alt.Description("label:N"))
    chart = layered([lines, dots, *instance_rules(instances, unit)], height=_HEIGHT)
    return ChartFigure(
        name=f"{_name(measure)}-by-{axis.title.replace(' ', '-')}",
        title=f"{grid.title}: {measure.title} by {axis.title}",
        description=_description(measure, axis, other, instances),
        chart=chart,
    )


def _y(values: Sequence[dict[str, Any]], measure: Measure, unit: AxisUnit, instances: Sequence[Instance]) -> alt.Y:
    title = f"{measure.title} ({unit.name})"
    if not measure.is_throughput:
        return log_y("value", [each["value"] for each in values], title)
    top = max([*(each["value"] for each in values), *(each.bytes_per_s / unit.size for each in instances)])
    return alt.Y(
        "value:Q", title=title, scale=alt.Scale(domain=[0, top * 1.05 or 1.0], nice=False), axis=alt.Axis(tickCount=6)
    )


def _unit(values: Sequence[float], measure: Measure) -> AxisUnit:
    return bytes_unit(values, per="/s") if measure.is_throughput else seconds_unit(values)


def _description(measure: Measure, axis: _Axis, other: _Axis, instances: Sequence[Instance]) -> str:
    sentences = [f"{measure.title.capitalize()} by {axis.title}, a line for each {other.singular}."]
    if len(other.texts) > _LINES_MAX:
        sentences.append(f"The first {_LINES_MAX} of {len(other.texts)}; all are in the table.")
    if instances:
        sentences.append(f"Dashed: {'; '.join(each.text for each in instances)} ({SOURCE}).")
    return " ".join(sentences)


def _label(size: str, threads: str, measure: Measure, value: float) -> str:
    return f"{size}, {threads} threads: {measure.title} {measure.text(value)}"


def _share(log: float, known: Sequence[float]) -> float:
    low, high = min(known), max(known)
    return (log - low) / (high - low) if high > low else 0.5


def _name(measure: Measure) -> str:
    return measure.title.replace("/", "-per-").replace(" ", "-")


def _short(number: float) -> str:
    """`32 KiB` of 32768 where it divides evenly; small numbers as they are."""
    for power, unit in ((3, "Gi"), (2, "Mi"), (1, "Ki")):
        if number >= 1024**power and number % 1024**power == 0:
            return f"{number / 1024**power:g} {unit}B"
    return f"{number:g}"
