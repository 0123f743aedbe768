"""Draws charts as still pictures: small inline SVG for the page, SVG and PNG for files.

Vega-Lite lays them out (Altair describes them, vl-convert runs it); no browser, no network.
"""

import re
from functools import cache
from typing import Any
from xml.sax.saxutils import quoteattr

import altair as alt
import vl_convert

from s3bench.report.label import clipped
from s3bench.report.page.picture import shrink
from s3bench.report.page.section import ChartFigure
from s3bench.report.page.theme import config

_BEYOND_BMP = re.compile("[\U00010000-\U0010ffff]")

TEXT_MAX = 500
"""The most characters of any text in a chart."""


def draw(figure: ChartFigure, *, element_id: str) -> str:
    """The chart as an inline `<svg>` in the page's colours.

    `element_id` is the page's for this figure: ids in the picture begin with it. The elements that name and describe
    the picture are expected as `<element_id>-title` and `<element_id>-description`.
    """
    picture = shrink(_svg(figure), prefix=f"{element_id}-")
    width, height = f"{picture.width:g}", f"{picture.height:g}"
    return (
        f'<svg class="chart" role="img" aria-labelledby={quoteattr(f"{element_id}-title")}'
        f" aria-describedby={quoteattr(f'{element_id}-description')}"
        f' width="{width}" height="{height}" viewBox="0 0 {width} {height}">{picture.inside}</svg>'
    )


def svg_bytes(figure: ChartFigure) -> bytes:
    """The chart as an SVG file, in light colours on their paper."""
    return _svg(figure).encode()


def png_bytes(figure: ChartFigure, *, scale: float = 2.0) -> bytes:
    """The chart as a PNG file, in light colours on their paper; `scale` is its pixels for each of the chart's."""
    return bytes(vl_convert.vegalite_to_png(_spec(figure), vl_version=_version(), scale=scale, allowed_base_urls=[]))


def _svg(figure: ChartFigure) -> str:
    return str(vl_convert.vegalite_to_svg(_spec(figure), vl_version=_version(), allowed_base_urls=[]))


def _spec(figure: ChartFigure) -> dict[str, Any]:
    """The chart in Vega-Lite, with the page's theme. Tests validate charts; here they are taken as they are."""
    spec: dict[str, Any] = _harmless(figure.chart.to_dict(validate=False))
    spec["config"] = _config()
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
    made: dict[str, Any] = config().to_dict()
    return made


@cache
def _version() -> str:
    """The version of Vega-Lite that Altair writes for, as vl-convert names it: `6.4`."""
    return ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
