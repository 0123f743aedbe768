"""Colours and fonts of all charts, for light paper and for dark.

Charts are drawn in the light colours; in the page each of them becomes a CSS variable, so that one picture serves both.
Every colour of a mark stands out from its paper by 3:1 at least (WCAG 2.2, 1.4.11), and no chart relies on colour
alone: series differ in shape or dash as well.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import altair as alt

FONT = "system-ui, sans-serif"


@dataclass(frozen=True, slots=True)
class Ink:
    """A colour on light and on dark paper, as `#rrggbb`."""

    light: str
    dark: str


INKS: Mapping[str, Ink] = MappingProxyType(
    {
        "paper": Ink("#ffffff", "#15181c"),
        "text": Ink("#1c2126", "#e6e9ec"),
        "muted": Ink("#59636e", "#9ba5b0"),
        "grid": Ink("#e1e5e9", "#2c333a"),
        "zone": Ink("#edf0f3", "#22282e"),
        "good": Ink("#1a7f37", "#4cc26a"),
        "bad": Ink("#c4292f", "#ff7b72"),
        "warning": Ink("#9a6700", "#d9a536"),
        "series-1": Ink("#2160c4", "#6cacff"),
        "series-2": Ink("#b8500c", "#f0883e"),
        "series-3": Ink("#0b7a75", "#3fc1b8"),
        "series-4": Ink("#8a3fb5", "#c994f0"),
        "series-5": Ink("#b3307a", "#f783bd"),
        "series-6": Ink("#6b6f00", "#c0c535"),
    }
)
"""The colours by their names. No two have the same light colour, so that each can be recognised in a drawn picture."""

PAPER, TEXT, MUTED, GRID, ZONE = (INKS[name].light for name in ("paper", "text", "muted", "grid", "zone"))
GOOD, BAD, WARNING = (INKS[name].light for name in ("good", "bad", "warning"))
SERIES = tuple(INKS[f"series-{number}"].light for number in range(1, 7))
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
DASHES = ((1, 0), (6, 3), (2, 2), (8, 2, 2, 2), (4, 4), (10, 3))

_FONT_SLACK = 20
"""Room in pixels for readers whose fonts are wider than those that the layout was made with."""

WIDTH = 640
"""A chart's usual width in CSS pixels, without its axes."""


def color_scale(domain: list[str]) -> alt.Scale:
    """The colours of series by their names, in this order; the seventh has the first's colour again."""
    return alt.Scale(domain=domain, range=[SERIES[number % len(SERIES)] for number in range(len(domain))])


def shape_scale(domain: list[str]) -> alt.Scale:
    """The shapes of points, so that series differ without colours too."""
    return alt.Scale(domain=domain, range=[SHAPES[number % len(SHAPES)] for number in range(len(domain))])


def dash_scale(domain: list[str]) -> alt.Scale:
    """The dashes of lines, so that series differ without colours too."""
    return alt.Scale(domain=domain, range=[list(DASHES[number % len(DASHES)]) for number in range(len(domain))])


def config() -> alt.Config:
    """What all charts have in common: quiet axes, and no words in colours."""
    return alt.Config(
        background=PAPER,
        font=FONT,
        padding={"left": _FONT_SLACK, "right": _FONT_SLACK, "top": 5, "bottom": 5},
        view=alt.ViewConfig(stroke=None),
        axis=alt.AxisConfig(
            labelColor=MUTED,
            titleColor=TEXT,
            titleFontWeight="normal",
            gridColor=GRID,
            domainColor=MUTED,
            tickColor=MUTED,
            labelFontSize=11,
            titleFontSize=12,
        ),
        legend=alt.LegendConfig(
            labelColor=TEXT,
            titleColor=TEXT,
            titleFontWeight="normal",
            titlePadding=_FONT_SLACK,
            columnPadding=_FONT_SLACK,
            labelLimit=400,
            orient="top",
        ),
        header=alt.HeaderConfig(labelColor=TEXT, titleColor=TEXT, labelLimit=400),
        title=alt.TitleConfig(color=TEXT, fontSize=13, fontWeight="normal", anchor="start"),
        text=alt.MarkConfig(color=TEXT),
        rule=alt.MarkConfig(color=MUTED),
    )
