"""Reads charts of any depth back: the values of every mark, what the marks say, and whether Vega-Lite draws them."""

from collections.abc import Iterator
from typing import Any

import altair as alt

from s3bench.report.page.drawing import svg_bytes
from s3bench.report.page.picture import shrink
from s3bench.report.page.section import ChartFigure, Section


def marks(chart: alt.TopLevelMixin) -> list[dict[str, Any]]:
    """Every mark of a chart with its `values`, however panes and layers hold it."""
    spec = chart.to_dict(validate=False)
    sets = spec.get("datasets", {})
    return [
        {**unit, "values": unit["data"].get("values") or sets.get(unit["data"].get("name"), [])}
        for unit in _units(spec, {})
    ]


def values(chart: alt.TopLevelMixin, mark: str) -> list[dict[str, Any]]:
    """The values of all marks of one type that say something."""
    return [value for each in told(chart) if each["mark"]["type"] == mark for value in each["values"]]


def labels(chart: alt.TopLevelMixin) -> list[str]:
    """What the marks say of themselves, in the order of drawing; a line says one thing for all of its points."""
    found: list[str] = []
    for each in told(chart):
        said = [value["label"] for value in each["values"]]
        found += dict.fromkeys(said) if each["mark"]["type"] == "line" else said
    return found


def told(chart: alt.TopLevelMixin) -> list[dict[str, Any]]:
    """The marks that say something; all others have to be decorations."""
    every = marks(chart)
    assert all(each["mark"]["aria"] is False for each in every if "description" not in each["encoding"])
    return [each for each in every if "description" in each["encoding"]]


def figures(section: Section) -> Iterator[ChartFigure]:
    """All figures of a section and of its parts."""
    yield from section.figures
    for part in section.parts:
        yield from figures(part)


def texts(section: Section) -> Iterator[str]:
    """All text of a section and its parts, that of the charts too."""
    yield from (section.title, *(line.text for line in section.lines))
    for table in section.tables:
        yield from (table.caption, *(cell.text for row in table.rows for cell in row))
    for figure in section.figures:
        yield from (figure.title, figure.description, *labels(figure.chart))
    for part in section.parts:
        yield from texts(part)


def assert_is_drawn(figure: ChartFigure) -> None:
    """Vega-Lite accepts the chart, every label is in the picture, and the page's picture holds text alone."""
    figure.chart.to_dict(validate=True)
    picture = svg_bytes(figure).decode()
    assert picture.startswith("<svg")
    assert "NaN" not in picture
    assert picture.count("aria-label=") >= len(labels(figure.chart))
    small = shrink(picture, prefix="x-").inside
    assert small.isprintable()
    assert "<script" not in small


def _units(spec: dict[str, Any], data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    own = spec.get("data", data)
    children = [each for key in ("layer", "concat", "vconcat", "hconcat") for each in spec.get(key, ())]
    for child in (*children, *([spec["spec"]] if "spec" in spec else [])):
        yield from _units(child, own)
    if "mark" in spec:
        yield {**spec, "data": own}
