"""Heat-maps: cells with their figures in them, readable on light and on dark paper.

Their sequential colours are not the theme's: a cell looks the same on both papers, and its text is black or white,
whichever stands out more, by 4.5:1 at least (WCAG 2.2, 1.4.3).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from s3bench.report.page.chart import chart_of, layered

PLAIN = "#d5d9de"
"""The colour of a cell that has no figure to be compared."""

_PALE, _DEEP = (0xDC, 0xE9, 0xFA), (0x12, 0x3A, 0x7D)
_BLACK, _WHITE = "#000000", "#fffffe"  # the theme's own white would turn dark with the paper
_CELL_HEIGHT, _NARROW_CELL_HEIGHT = 36, 40
_NARROW_COLUMNS_MAX = 7
"""More columns of a narrow map have no room for texts in their cells."""

_NARROW_SIZE = 10.5


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatCell:
    """A cell by its row and column. `share` from 0 (pale) to 1 (deep); `None` where there is nothing to compare.

    `text` is what stands in it, `label` tells all of it.
    """

    row: str
    column: str
    text: str
    label: str
    share: float | None = None


def heat_chart(
    cells: Sequence[HeatCell],
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    row_title: str,
    column_title: str,
    is_narrow: bool = False,
) -> alt.LayerChart | alt.FacetChart:
    """Draw cells, rows from above and columns from the left in these orders.

    In a narrow chart a figure stands above its unit.
    """
    values = [
        {
            "row": cell.row,
            "column": cell.column,
            "text": cell.text.split(" ", 1) if is_narrow else cell.text,
            "label": cell.label,
            "fill": (fill := heat_color(cell.share)),
            "ink": text_color(fill),
        }
        for cell in cells
    ]
    base = chart_of(values).encode(
        x=alt.X(
            "column:N",
            sort=None,
            title=column_title,
            scale=alt.Scale(domain=list(columns), padding=0.04),
            axis=alt.Axis(orient="top", labelAngle=0, domain=False, ticks=False, labelOverlap="greedy"),
        ),
        y=alt.Y(
            "row:N",
            sort=None,
            title=row_title,
            scale=alt.Scale(domain=list(rows), padding=0.06),
            axis=alt.Axis(
                domain=False,
                ticks=False,
                titleAngle=0,
                titleAlign="right",
                titleAnchor="end",
                titleBaseline="bottom",
                titleX=-6,
                titleY=-8,
            ),
        ),
    )
    boxes = base.mark_rect(cornerRadius=2).encode(
        color=alt.Color("fill:N", scale=None), description=alt.Description("label:N")
    )
    if is_narrow and len(columns) > _NARROW_COLUMNS_MAX:
        return layered([boxes], height=_CELL_HEIGHT * len(rows))
    look = {"fontSize": _NARROW_SIZE, "lineHeight": 12, "yOffset": -6} if is_narrow else {"fontSize": 13}
    texts = base.mark_text(aria=False, **look).encode(text=alt.Text("text:N"), color=alt.Color("ink:N", scale=None))
    return layered([boxes, texts], height=(_NARROW_CELL_HEIGHT if is_narrow else _CELL_HEIGHT) * len(rows))


def heat_color(share: float | None) -> str:
    """The colour of a share, as `#rrggbb`: from pale to deep in even steps of one hue."""
    if share is None:
        return PLAIN
    bounded = min(1.0, max(0.0, share))
    parts = (round(pale + (deep - pale) * bounded) for pale, deep in zip(_PALE, _DEEP, strict=True))
    return "#" + "".join(f"{part:02x}" for part in parts)


def text_color(fill: str) -> str:
    """Black or white: what stands out more from `fill`."""
    return max((_BLACK, _WHITE), key=lambda ink: contrast(ink, fill))


def contrast(first: str, second: str) -> float:
    """The contrast of two colours by WCAG 2.2: 1 to 21."""
    darker, lighter = sorted((_luminance(first), _luminance(second)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(color: str) -> float:
    """The relative luminance of an sRGB colour (WCAG 2.2, definition of relative luminance)."""
    red, green, blue = (_linear(int(color[start : start + 2], 16) / 255) for start in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(part: float) -> float:
    return float(part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4)  # noqa: PLR2004 (sRGB)
