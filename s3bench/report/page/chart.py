"""What charts have in common: data that are not validated, layers, and series that differ in colour and in shape."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any, TypeAlias, TypeVar

import altair as alt
from altair.utils.schemapi import disable_debug_mode

from s3bench.report.page import theme

disable_debug_mode()  # or Altair would validate each part of each chart when it is made; tests validate whole charts

Layered: TypeAlias = alt.LayerChart | alt.FacetChart
"""What `alt.layer` makes."""

_Channel = TypeVar("_Channel", bound=alt.SchemaBase)


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkerStyle:
    """How the marks of a series look: no two of a chart have the same shape."""

    color: str
    shape: str


class _SharingChart(alt.Chart):
    """A chart whose copies share its parts, which nothing changes: every step of building a chart makes copies."""

    def __deepcopy__(self, memo: object) -> alt.Chart:
        return self.copy(deep=False)


def chart_of(values: Iterable[Mapping[str, Any]]) -> alt.Chart:
    """A chart of these data."""
    return _SharingChart(inline(values))


def inline(values: Iterable[Mapping[str, Any]]) -> alt.InlineData:
    """Data as they are: to validate thousands of dots against Altair's schema takes seconds."""
    data = alt.InlineData(values=[])
    data["values"] = list(values)
    return data


def constant(channel: Callable[[Any], _Channel], value: float | str) -> _Channel:
    """A channel that has one value for all marks. `channel` is its class, such as `alt.XValue`.

    Altair finds the class itself for `alt.value`, but searches for it at each use, which takes some 10 ms.
    """
    return channel(value)


def layered(
    layers: Iterable[alt.Chart],
    *,
    height: float | alt.Step,
    width: int | None = None,
    title: str | alt.TitleParams | None = None,
) -> Layered:
    """Layers from the ground up, in one frame. Without `width` the chart takes all of the page's, axes included."""
    named = {} if title is None else {"title": title}
    # Not by `properties`, which would copy the chart and validate each property.
    return alt.layer(*layers, width=width or theme.plot_width(theme.WIDTH), height=height, **named)


CHARACTER_WIDTH = 6.6
"""About as many pixels are taken by a character of 12 px, digits and signs among them."""

NARROW_CHARACTERS = 52
"""The most characters in a line of a narrow chart."""

LINE_HEIGHT = 14


def narrow_lines(text: str) -> list[str]:
    """The lines of a text in a narrow chart."""
    return wrap(text, NARROW_CHARACTERS) or [""]


def series_styles(names: Sequence[str]) -> dict[str, MarkerStyle]:
    """The theme's colours and shapes for series of these names, in this order."""
    colors, shapes = theme.SERIES, theme.SHAPES
    return {
        name: MarkerStyle(color=colors[number % len(colors)], shape=shapes[number % len(shapes)])
        for number, name in enumerate(names)
    }


def color_and_shape(field: str, styles: Mapping[str, MarkerStyle], **legend: Any) -> tuple[alt.Color, alt.Shape]:
    """The encodings of series by `field`, with one legend of solid symbols; `legend` are further settings of that."""
    names = list(styles)
    look = alt.Legend(**{"title": None, "symbolOpacity": 1, **legend})
    colors = alt.Scale(domain=names, range=[each.color for each in styles.values()])
    shapes = alt.Scale(domain=names, range=[each.shape for each in styles.values()])
    return alt.Color(f"{field}:N", scale=colors, legend=look), alt.Shape(f"{field}:N", scale=shapes, legend=look)


def present(styles: Mapping[str, MarkerStyle], names: Iterable[str]) -> dict[str, MarkerStyle]:
    """The styles of the series that are in a chart, in their order."""
    shown = set(names)
    return {name: style for name, style in styles.items() if name in shown}
