"""Small charts with our labels, and what takes the place of their pictures, for the tests of the page."""

from collections.abc import Sequence

import altair as alt

from s3bench.report.page import theme
from s3bench.report.page.section import ChartFigure
from s3bench.report.table import Table, column

HOSTILE = "</script><script>alert(1)</script>\x00\x1b[31m\u202e \"'&]]> {{ 7*7 }} url(http://x.example/)"


def dots(labels: Sequence[str], *, name: str = "dots", table: bool = True, clip: bool = False) -> ChartFigure:
    """A dot for each label, in two series of different shapes, above a band and beside a median."""
    values = [
        {"run": number, "value": (number * 7) % 5 + 1, "label": label, "series": "ab"[number % 2]}
        for number, label in enumerate(labels)
    ]
    points = (
        alt.Chart(alt.Data(values=values))
        .mark_point(filled=True, size=40, clip=clip)
        .encode(
            x=alt.X("run:Q", title="run"),
            y=alt.Y("value:Q", title="total time [s]"),
            color=alt.Color("series:N", scale=theme.color_scale(["a", "b"])),
            shape=alt.Shape("series:N", scale=alt.Scale(domain=["a", "b"], range=list(theme.SHAPES[:2]))),
            description=alt.Description("label:N"),
        )
    )
    band = alt.Chart(alt.Data(values=[{"low": 2, "high": 3}])).mark_rect(color=theme.ZONE, aria=False)
    shaded = band.encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q"))
    return ChartFigure(
        name=name,
        title="Total time of every run",
        description="Every run in order.",
        chart=(shaded + points).properties(width=theme.WIDTH, height=120),
        table=rows(*labels) if table else None,
    )


def rows(*names: str, caption: str = "Runs") -> Table:
    """A table with a number for each name; the third has none."""
    values = [None if number == 2 else 9.0 - number for number in range(len(names))]
    return Table(
        caption=caption,
        columns=(
            column("run", names, str),
            column(
                "total time", values, lambda value: "-" if value is None else f"{value:g} s", value=lambda value: value
            ),
        ),
    )


def undrawn(figure: ChartFigure, *, element_id: str) -> str:
    """Takes the place of `draw`, which takes most of a page's time: the chart is made, but no picture of it."""
    assert figure.chart.to_dict(validate=False)
    assert (figure.narrow or figure.chart).to_dict(validate=False)
    return f'<svg id="{element_id}"></svg>'
