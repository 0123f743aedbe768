"""Charts of every run as a dot, in run order: they show drifts, outliers and failures, which a median hides.

Below the dots of a client are its median and the 95 % interval of it.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt

from s3bench.compare.sample import figures_of
from s3bench.report.label import one_line
from s3bench.report.page import theme
from s3bench.report.page.chart import Layered, chart_of, constant, layered
from s3bench.report.page.run.axis import HEADINGS, FigureAxis, client_marks, metric_axis
from s3bench.report.page.run.benchmark import ClientResults
from s3bench.report.page.section import ChartFigure
from s3bench.report.run.figures import MedianEstimate, estimate
from s3bench.results.metrics import METRICS_BY_NAME, Metric, render_figure
from s3bench.units import counted

_DOT_SIZE = 36
_BAND_OPACITY = 0.13
_FAILED_SHAPE = "M-1,-1L1,1M1,-1L-1,1"
_FAILED_ABOVE, _FAILED_APART = 6, 9  # pixels: the lowest above the axis, and each client's above the one before
_WORDS_MAX = 120

_USAGE = tuple(METRICS_BY_NAME[name] for name in ("peak_memory", "cpu_time"))
_USAGE_GAP, _USAGE_HEIGHT = 24, 150

Values = list[dict[str, Any]]


def dots_chart(
    rows: Sequence[ClientResults], metric: Metric, *, clients: list[str], height: int, width: int | None = None
) -> Layered | None:
    """Draw the runs of a benchmark; `None` where no run has a figure. `clients` are those of the document."""
    dots = run_dots(rows, metric)
    if not dots:
        return None
    axis = metric_axis(metric, [dot["figure"] for dot in dots])
    for dot in dots:
        dot["value"] = axis.unit.of(dot.pop("figure"))
    shown = [row.client for row in rows]
    color, shape = client_marks(clients, shown)
    points = chart_of(dots).mark_point(filled=True, size=_DOT_SIZE, opacity=0.85)
    layers = [
        *_centers(rows, metric, axis, color),
        points.encode(
            x=_runs(rows), y=axis.y("value"), color=color, shape=shape, description=alt.Description("label:N")
        ),
        *_failures(rows, color, height),
    ]
    return layered(layers, width=width, height=height)


def usage_figure(rows: Sequence[ClientResults], *, clients: list[str], closing: str) -> Iterator[ChartFigure]:
    """Charts of memory and CPU time, as far as any run has figures of them. `closing` ends the description."""
    width = (theme.plot_width(theme.WIDTH) - theme.EXTENT - _USAGE_GAP) // len(_USAGE)
    charts = {
        HEADINGS[metric.name]: chart
        for metric in _USAGE
        if (chart := dots_chart(rows, metric, clients=clients, width=width, height=_USAGE_HEIGHT)) is not None
    }
    if not charts:
        return
    names = " and ".join(charts)
    yield ChartFigure(
        name="memory-cpu",
        title=f"{names[:1].upper()}{names[1:]} of every run",
        description=f"The {names} of each run, in run order, with medians and their 95 % intervals. "
        f"An axis that is not logarithmic does not begin at 0.{closing}",
        chart=alt.hconcat(*charts.values(), spacing=_USAGE_GAP),
        narrow=alt.vconcat(*charts.values()),
    )


def run_dots(rows: Sequence[ClientResults], metric: Metric) -> Values:
    """Each run that has a figure of the metric: its client, its number, the figure, and all of it in words."""
    return [
        {
            "client": row.client,
            "run": iteration,
            "figure": value,
            "label": f"{row.client} run {iteration}: {render_figure(value, metric.unit)}",
        }
        for row in rows
        for value, iteration in _figures(row, metric)
    ]


def failed_runs(row: ClientResults) -> dict[int, str]:
    """The iterations that failed, and what failed first in each."""
    failed: dict[int, str] = {}
    for failure in row.result.errors:
        if failure.iteration is None:  # of a warm-up, for example, which has no place on the axis
            continue
        failed.setdefault(failure.iteration, one_line(failure.what, characters_max=_WORDS_MAX))
    return failed


def center_text(row: ClientResults, found: MedianEstimate) -> str:
    """`cli-crt median of 8 runs: 1.05 s (95 % interval 1.01 s to 1.10 s)`."""
    interval = f" (95 % interval {found.interval})" if found.interval else ""
    return f"{row.client} median of {counted(found.count, 'run')}: {found.text}{interval}"


def dots_words(rows: Sequence[ClientResults], metric: Metric) -> str:
    """What the chart shows, in sentences."""
    axis = metric_axis(metric, [dot["figure"] for dot in run_dots(rows, metric)])
    found = [each for row in rows if (each := estimate(row.result, metric)) is not None]
    words = [f"Each dot is the {HEADINGS[metric.name]} of one run, in run order; the line is the median of a client."]
    if any(each.low is not None for each in found):
        words.append("The band is the 95 % interval of the median.")
    elif any(each.count > 1 for each in found):
        words.append("An interval needs six runs.")
    if any(row.result.errors for row in rows):
        words.append("A saltire above the axis is a run that failed.")
    return " ".join((*words, axis.words))


def _figures(row: ClientResults, metric: Metric) -> Iterator[tuple[float, int]]:
    figures = figures_of(row.result, metric.name)
    return zip(figures.values, figures.iterations, strict=True)


def _runs(rows: Sequence[ClientResults]) -> alt.X:
    measured = [each.iteration for row in rows for each in row.result.measurements]
    numbers = measured + [run for row in rows for run in failed_runs(row)]
    scale = alt.Scale(domain=[min(numbers) - 0.5, max(numbers) + 0.5], nice=False)
    axis = alt.Axis(tickMinStep=1, format="d", grid=False)
    return alt.X("run:Q", title="run (number of its iteration)", scale=scale, axis=axis)


def _centers(rows: Sequence[ClientResults], metric: Metric, axis: FigureAxis, color: alt.Color) -> Iterator[alt.Chart]:
    """The medians of clients with two runs or more, and their intervals where there are any."""
    values = [
        {
            "client": row.client,
            "low": axis.unit.of(found.low),
            "high": axis.unit.of(found.high),
            "median": axis.unit.of(found.median),
            "label": center_text(row, found),
        }
        for row in rows
        if (found := estimate(row.result, metric)) is not None and found.count > 1
    ]
    bands = [value for value in values if value["low"] is not None]
    if bands:
        band = chart_of(bands).mark_rect(opacity=_BAND_OPACITY, aria=False)
        yield band.encode(y=axis.y("low"), y2=alt.Y2("high:Q"), color=color)
    if values:
        line = chart_of(values).mark_rule(strokeWidth=1.5)
        yield line.encode(y=axis.y("median"), color=color, description=alt.Description("label:N"))


def _failures(rows: Sequence[ClientResults], color: alt.Color, height: int) -> Iterator[alt.Chart]:
    for place, row in enumerate(rows):
        values = [
            {"client": row.client, "run": run, "label": f"{row.client} run {run} failed: {words}"}
            for run, words in failed_runs(row).items()
        ]
        if values:
            mark = chart_of(values).mark_point(shape=_FAILED_SHAPE, size=60, strokeWidth=2, filled=False, opacity=1)
            y = constant(alt.YValue, height - _FAILED_ABOVE - place * _FAILED_APART)
            yield mark.encode(x=_runs(rows), y=y, color=color, description=alt.Description("label:N"))
