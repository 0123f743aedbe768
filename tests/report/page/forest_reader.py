"""Reads charts back: what each layer draws, and which words its marks carry."""

from typing import Any

import altair as alt

from s3bench.report.page.drawing import draw
from s3bench.report.page.section import ChartFigure


def drawn_layers(chart: alt.TopLevelMixin) -> list[dict[str, Any]]:
    """The layers from the ground up, each with its values."""
    spec = chart.to_dict(validate=False)
    sets = spec.get("datasets", {})
    return [
        {**layer, "values": layer["data"].get("values") or sets.get(layer["data"].get("name"), [])}
        for layer in spec["layer"]
    ]


def drawn(figure: ChartFigure) -> str:
    """The pictures of a chart, which is valid by the schema of Vega-Lite."""
    figure.chart.to_dict(validate=True)
    return draw(figure, element_id="x")


def layers(chart: alt.TopLevelMixin, mark: str) -> list[list[dict[str, Any]]]:
    """The values of each layer of this mark."""
    return [layer["values"] for layer in drawn_layers(chart) if layer["mark"]["type"] == mark]


def labels(chart: alt.TopLevelMixin) -> list[str]:
    """What the marks say of themselves, in the order of drawing."""
    found = []
    for layer in drawn_layers(chart):
        if "description" in layer["encoding"]:
            found += [value["label"] for value in layer["values"]]
        else:
            assert layer["mark"]["aria"] is False, "what says nothing is a decoration"
    return found
