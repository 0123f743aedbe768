"""Chart of the empirical distribution function of the runs: a step for each run, unsmoothed."""

from collections.abc import Sequence

import altair as alt

from s3bench.compare.sample import MetricFigures, figures_of
from s3bench.report.page import theme
from s3bench.report.page.chart import chart_of
from s3bench.report.page.run.axis import FigureAxis, client_marks, metric_axis
from s3bench.report.page.run.benchmark import ClientResults
from s3bench.results.metrics import Metric, render_figure
from s3bench.units import counted

_POINTS_MIN = 2


def ecdf_chart(rows: Sequence[ClientResults], metric: Metric, *, clients: list[str], height: int) -> alt.Chart | None:
    """Draw a step line a client; `None` where no client has two runs, which no distribution has fewer than."""
    figures = {row.client: figures_of(row.result, metric.name) for row in rows}
    known = {client: each for client, each in figures.items() if len(each.values) >= _POINTS_MIN}
    if not known:
        return None
    axis = metric_axis(metric, [value for each in known.values() for value in each.values])
    values = [point for client, each in known.items() for point in _steps(client, each, metric, axis)]
    legend = alt.Legend(title=None, values=list(known), symbolOpacity=1)
    dash = alt.StrokeDash("client:N", scale=theme.dash_scale(clients), legend=legend)
    share = alt.Y(
        "share:Q", title="runs that took this at most (%)", scale=alt.Scale(domain=[0, 100]), axis=alt.Axis(tickCount=5)
    )
    line = chart_of(values).mark_line(interpolate="step-after", strokeWidth=2)
    chart: alt.Chart = line.encode(
        x=axis.x("value"),
        y=share,
        order=alt.Order("rank:Q"),
        color=client_marks(clients, known)[0],
        strokeDash=dash,
        description=alt.Description("label:N"),
    ).properties(width=theme.plot_width(theme.WIDTH), height=height)
    return chart


def _steps(client: str, figures: MetricFigures, metric: Metric, axis: FigureAxis) -> list[dict[str, object]]:
    ordered, count = sorted(figures.values), len(figures.values)
    least, median, most = (
        render_figure(value, metric.unit) for value in (ordered[0], _median_of(figures), ordered[-1])
    )
    label = f"{client}: {counted(count, 'run')}, from {least} to {most}, median {median}"
    return [
        {
            "client": client,
            "value": axis.unit.of(value),
            "share": rank * 100 / count,
            "rank": rank,
            "label": label,
        }
        for rank, value in enumerate((ordered[0], *ordered))
    ]


def _median_of(figures: MetricFigures) -> float:
    median = figures.sample.median
    assert median is not None  # there are two values at the least
    return median
