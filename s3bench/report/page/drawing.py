"""Draws charts as still pictures: small inline SVG for the page, SVG and PNG for files.

Vega-Lite lays them out (Altair describes them, vl-convert runs it); no browser, no network.
"""

import re
from functools import cache
from textwrap import wrap
from typing import Any
from xml.sax.saxutils import quoteattr

import altair as alt
import vl_convert

from s3bench.report.label import clipped
from s3bench.report.page import theme
from s3bench.report.page.chart import CHARACTER_WIDTH
from s3bench.report.page.picture import Picture, shrink
from s3bench.report.page.section import ChartFigure

_BEYOND_BMP = re.compile("[\U00010000-\U0010ffff]")

_LEGEND_SYMBOL = 40
"""What the symbol of an entry of a legend takes, with the gaps around it, in pixels."""

TEXT_MAX = 500
"""The most characters of any text in a chart."""


def draw(figure: ChartFigure, *, element_id: str) -> str:
    """The chart as two inline `<svg>` in the page's colours, for wide and for narrow screens: the style shows one.

    `element_id` is the page's for this figure: ids in the pictures begin with it. The elements that name and describe
    the pictures are expected as `<element_id>-title` and `<element_id>-description`. Marks of the narrow picture have
    the words of those of the wide one, in the same order, and do not repeat them.
    """
    wide_chart = _vega_lite(figure.chart)
    narrow_chart = wide_chart if figure.narrow is None else _vega_lite(figure.narrow)
    wide = shrink(_svg(_spec(wide_chart, theme.WIDTH)), prefix=f"{element_id}-")
    narrow = shrink(_svg(_spec(narrow_chart, theme.NARROW)), prefix=f"{element_id}-n-", has_labels=False)
    return _element(wide, "wide", element_id) + _element(narrow, "narrow", element_id)


def _element(picture: Picture, width_class: str, element_id: str) -> str:
    width, height = f"{picture.width:g}", f"{picture.height:g}"
    return (
        f'<svg class="chart {width_class}" role="img" aria-labelledby={quoteattr(f"{element_id}-title")}'
        f" aria-describedby={quoteattr(f'{element_id}-description')}"
        f' width="{width}" height="{height}" viewBox="0 0 {width} {height}">{picture.inside}</svg>'
    )


def svg_bytes(figure: ChartFigure) -> bytes:
    """The chart as an SVG file, in light colours on their paper."""
    return _svg(_spec(_vega_lite(figure.chart), theme.WIDTH)).encode()


def png_bytes(figure: ChartFigure) -> bytes:
    """The chart as a PNG file, in light colours on their paper, with two pixels for each of the chart's."""
    spec = _spec(_vega_lite(figure.chart), theme.WIDTH)
    return bytes(vl_convert.vegalite_to_png(spec, vl_version=_version(), scale=2.0, allowed_base_urls=[]))


def _svg(spec: dict[str, Any]) -> str:
    return str(vl_convert.vegalite_to_svg(spec, vl_version=_version(), allowed_base_urls=[]))


def _vega_lite(chart: alt.TopLevelMixin) -> dict[str, Any]:
    """The chart in Vega-Lite. Tests validate charts, so they are not validated here."""
    chart_json: dict[str, Any] = chart.to_dict(validate=False)
    return chart_json


def _spec(chart: dict[str, Any], width: int) -> dict[str, Any]:
    """The chart `width` pixels wide, with the page's theme."""
    spec: dict[str, Any] = _harmless(chart)  # a copy
    spec["config"] = _config()
    _fit_texts(spec, width)
    return _as_wide(spec, width)


def _fit_texts(spec: Any, width: int) -> None:
    """Put legends into as many columns as have room, and titles of axes into as many lines as they need."""
    match spec:
        case {"scale": {"domain": [str(), *_] as names}, "legend": dict() as legend}:
            shown = legend.get("values", names)
            entries = [_LEGEND_SYMBOL + CHARACTER_WIDTH * len(name) for name in shown]
            room = width - theme.EXTENT - CHARACTER_WIDTH * len(legend.get("title") or "")
            legend["columns"] = 0 if sum(entries) <= room else max(1, int(room // max(entries)))
        case {"x": {"title": str(title)} as channel} if len(title) * CHARACTER_WIDTH > width:
            channel["title"] = wrap(title, int(width / CHARACTER_WIDTH))
    for each in spec.values() if isinstance(spec, dict) else spec if isinstance(spec, list) else ():
        _fit_texts(each, width)


def _as_wide(spec: dict[str, Any], width: int) -> dict[str, Any]:
    """The chart with its axes `width` pixels wide; panes below each other have the same room for their axes.

    What stands side by side is as wide as its builder made it.
    """
    if "mark" in spec or "layer" in spec:
        return {**spec, "width": width, "autosize": {"type": "fit-x", "contains": "padding"}}
    if "vconcat" in spec:
        panes = [
            {**pane, "width": theme.plot_width(width)} if "mark" in pane or "layer" in pane else pane
            for pane in spec["vconcat"]
        ]
        return {**spec, "vconcat": panes}
    return spec


def _harmless(value: Any) -> Any:
    """The same with every text printable and of a bounded length: XML holds no control characters.

    What lies beyond the Basic Multilingual Plane, as emoji do, is replaced: vl-convert fails on a label that Vega cuts
    in the middle of such a character's two UTF-16 units.
    """
    match value:
        case str():
            fits = len(value) <= TEXT_MAX and value.isprintable()
            return _BEYOND_BMP.sub("\ufffd", value if fits else clipped(value, most=TEXT_MAX))
        case dict():
            return {_harmless(key): _harmless(each) for key, each in value.items()}
        case list() | tuple():
            return [_harmless(each) for each in value]
    return value


@cache
def _config() -> dict[str, Any]:
    made: dict[str, Any] = theme.config().to_dict()
    return made


@cache
def _version() -> str:
    """The version of Vega-Lite that Altair writes for, as vl-convert names it: `6.4`."""
    return ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
