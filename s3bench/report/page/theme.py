"""Colours and fonts of all charts, for light paper and for dark.

Charts are drawn in the light colours; in the page each of them becomes a CSS variable, so that one picture serves both.
Every colour of a mark stands out from its paper by 3:1 at least (WCAG 2.2, 1.4.11), and no chart relies on colour
alone: series differ in shape or dash as well.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import altair as alt

FONT = "Arial, Liberation Sans, Helvetica, sans-serif"
"""Fonts of equal widths, so that labels take the room for which the chart was laid out."""


@dataclass(frozen=True, slots=True)
class Ink:
    """A colour on light and on dark paper, as `#rrggbb`."""

    light: str
    dark: str


INKS: Mapping[str, Ink] = MappingProxyType(
    {
        "page": Ink("#f4f6f8", "#0d1014"),
        "paper": Ink("#ffffff", "#161a1f"),
        "text": Ink("#1c2126", "#e6e9ec"),
        "muted": Ink("#59636e", "#9ba5b0"),
        "grid": Ink("#e1e5e9", "#2d343c"),
        "zone": Ink("#edf0f3", "#232a31"),
        "good": Ink("#1a7f37", "#4cc26a"),
        "bad": Ink("#c4292f", "#ff7b72"),
        "warning": Ink("#875a00", "#d9a536"),
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

_FONT_SLACK = 14
"""Room in pixels for readers whose fonts are wider than those that the layout was made with."""

WIDTH, NARROW = 1040, 360
"""The widths of a chart in CSS pixels, axes included: as wide as the text of the page, and as a telephone."""

PADDING = 8
"""The room in pixels beside a chart."""

LEGEND_OFFSET = 26
"""Between a legend and the chart: the title of the y axis is there."""

EXTENT = 54
"""The room of a y axis of figures in pixels: the same for all, so that charts below each other have one left edge."""


def color_scale(domain: list[str]) -> alt.Scale:
    """The colours of series by their names, in this order; the seventh has the first's colour again."""
    return alt.Scale(domain=domain, range=[SERIES[number % len(SERIES)] for number in range(len(domain))])


def dash_scale(domain: list[str]) -> alt.Scale:
    """The dashes of lines, so that series differ without colours too."""
    return alt.Scale(domain=domain, range=[list(DASHES[number % len(DASHES)]) for number in range(len(domain))])


def plot_width(width: int) -> int:
    """The width in pixels within the axes of a chart that is `width` pixels wide."""
    return width - EXTENT - 2 * PADDING


def config() -> alt.Config:
    """What all charts have in common: quiet axes, titles of y axes above them, and no words in colours."""
    return alt.Config(
        background=PAPER,
        font=FONT,
        padding={"left": PADDING, "right": PADDING, "top": 5, "bottom": 5},
        view=alt.ViewConfig(stroke=None),
        axis=alt.AxisConfig(
            labelColor=MUTED,
            titleColor=TEXT,
            titleFontWeight="normal",
            gridColor=GRID,
            domainColor=MUTED,
            tickColor=MUTED,
            labelFontSize=12,
            titleFontSize=12,
            labelPadding=5,
            titlePadding=8,
        ),
        axisX=alt.AxisConfig(labelOverlap="greedy", labelSeparation=6, labelFlush=False),
        axisQuantitative=alt.AxisConfig(labelLimit=0),  # figures are short: no need to measure each against a limit
        axisYQuantitative=alt.AxisConfig(
            minExtent=EXTENT,
            maxExtent=EXTENT,
            titleAngle=0,
            titleAlign="left",
            titleAnchor="end",
            titleBaseline="bottom",
            titleX=-EXTENT,
            titleY=-9,
            domain=False,
            ticks=False,
            labelOverlap="greedy",
        ),
        legend=alt.LegendConfig(
            labelColor=TEXT,
            titleColor=TEXT,
            titleFontWeight="normal",
            titlePadding=_FONT_SLACK,
            columnPadding=_FONT_SLACK,
            labelLimit=400,
            labelFontSize=12,
            titleFontSize=12,
            orient="top",
            offset=LEGEND_OFFSET,
        ),
        header=alt.HeaderConfig(labelColor=TEXT, titleColor=TEXT, labelFontSize=12, labelLimit=400),
        title=alt.TitleConfig(color=TEXT, fontSize=12, fontWeight="bold", anchor="start", frame="group"),
        text=alt.MarkConfig(color=TEXT),
        rule=alt.MarkConfig(color=MUTED),
    )
