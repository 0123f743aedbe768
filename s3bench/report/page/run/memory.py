"""Chart of memory and CPU over time: the runs of a client over one another, the clients side by side."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from s3bench.report.page import theme
from s3bench.report.page.chart import inline
from s3bench.report.page.run.axis import client_marks
from s3bench.report.page.run.benchmark import ClientResults
from s3bench.report.page.unit import AxisUnit, bytes_unit, seconds_unit
from s3bench.results.measurement import Measurement
from s3bench.results.metrics import Unit as MetricUnit
from s3bench.results.metrics import render_figure
from s3bench.results.timeline import UsageSeries

_COLUMNS_MAX = 4
_GAP = 30
_HEIGHT = 110
_MEDIAN_RUN, _OTHER_RUN = (2.0, 1.0), (0.8, 0.5)  # width and opacity of a line


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledRun:
    """One run whose samples were kept, and whether it is its client's run of median total time."""

    client: str
    measurement: Measurement
    series: UsageSeries
    is_median: bool

    @property
    def name(self) -> str:
        """`cli-crt run 3`."""
        return f"{self.client} run {self.measurement.iteration}"


def sampled_runs(rows: Sequence[ClientResults], *, runs_max: int) -> tuple[SampledRun, ...]:
    """Of each client the run of median total time, and the first others, `runs_max` together."""
    return tuple(run for row in rows for run in _runs(row, runs_max))


def memory_chart(runs: Sequence[SampledRun], *, clients: list[str], is_narrow: bool = False) -> alt.VConcatChart:
    """Draw memory above the cores in use; each pane has the same axes. A narrow chart has one client below another."""
    time = seconds_unit(max(run.series.at) for run in runs)
    memory = bytes_unit(max(run.series.memory) for run in runs)
    lines = (list(_memory_lines(runs, time, memory)), list(_cores_lines(runs, time)))
    titles = (f"resident memory ({memory.name})", "CPU (cores in use)")
    drawn = [(each, title) for each, title in zip(lines, titles, strict=True) if each]
    panes = []
    for place, (values, title) in enumerate(drawn, 1):
        time_title = f"time since the spawn ({time.name})" if place == len(drawn) else None
        panes.append(_pane(values, clients, title, time_title, is_narrow=is_narrow))
    chart: alt.VConcatChart = alt.vconcat(*panes)
    return chart


def memory_words(rows: Sequence[ClientResults], runs: Sequence[SampledRun]) -> str:
    """What the chart shows and what it leaves out."""
    words = [
        "Memory and CPU of the whole process tree over time, a line for each run.",
        "The thick line is the client's run of median total time.",
        "Each step holds the largest memory sampled in it, and the mean of the cores in use.",
    ]
    kept = sum(each.series is not None for row in rows for each in row.result.runs)
    if len(runs) < kept:
        words.append(f"Of {kept:,} runs {len(runs):,} are drawn: of each client that one and the first.")
    return " ".join((*words, "The figures of every step are in the results document."))


def _runs(row: ClientResults, runs_max: int) -> Iterator[SampledRun]:
    median = row.result.median_iteration
    kept = [each for each in row.result.runs if each.series is not None]
    chosen = sorted(kept, key=lambda each: each is not median)[:runs_max]
    for each in reversed(chosen):  # the last is drawn above the others
        assert each.series is not None  # they were chosen by that
        yield SampledRun(client=row.client, measurement=each, series=each.series, is_median=each is median)


def _memory_lines(runs: Sequence[SampledRun], time: AxisUnit, memory: AxisUnit) -> Iterator[dict[str, Any]]:
    for run in runs:
        at, values = run.series.at, run.series.memory
        most = max(values)
        words = f"at most {render_figure(most, MetricUnit.BYTES)}, by {_seconds(at[values.index(most)])}"
        yield _line(run, words, [time.of(each) for each in at], [memory.of(each) for each in values])


def _cores_lines(runs: Sequence[SampledRun], time: AxisUnit) -> Iterator[dict[str, Any]]:
    """The first point has no cores: nothing went before it."""
    for run in runs:
        at, values = run.series.at[1:], run.series.cores[1:]
        known = [value for value in values if value is not None]
        if known:
            most = max(known)
            words = (
                f"at most {render_figure(most, MetricUnit.CORES)} over a step, by {_seconds(at[values.index(most)])}"
            )
            yield _line(run, words, [time.of(each) for each in at], list(values))


def _seconds(at_s: float) -> str:
    return render_figure(at_s, MetricUnit.SECONDS)


def _line(run: SampledRun, words: str, at: Sequence[float | None], values: Sequence[float | None]) -> dict[str, Any]:
    """A line as one datum, which Vega flattens: a datum for each point would be several times as long."""
    width, opacity = _MEDIAN_RUN if run.is_median else _OTHER_RUN
    return {
        "client": run.client,
        "run": run.name,
        "width": width,
        "opacity": opacity,
        "label": f"{run.name}: {words}",
        "at": list(at),
        "value": list(values),
    }


def _pane(
    values: list[dict[str, Any]], clients: list[str], title: str, time_title: str | None, *, is_narrow: bool
) -> alt.FacetChart:
    shown = list(dict.fromkeys(value["client"] for value in values))
    columns = 1 if is_narrow else min(len(shown), _COLUMNS_MAX)
    width = theme.plot_width(theme.NARROW if is_narrow else theme.WIDTH)
    line = alt.Chart().transform_flatten(["at", "value"]).mark_line(interpolate="step-before")
    encoded = line.encode(
        x=alt.X("at:Q", title=time_title, axis=alt.Axis(tickCount=4, grid=False)),
        y=alt.Y("value:Q", title=None, axis=alt.Axis(tickCount=4)),
        color=client_marks(clients, shown)[0].legend(None),
        detail=alt.Detail("run:N"),
        strokeWidth=alt.StrokeWidth("width:Q", scale=None, legend=None),
        opacity=alt.Opacity("opacity:Q", scale=None, legend=None),
        description=alt.Description("label:N"),
    ).properties(width=(width - _GAP * (columns - 1)) // columns, height=_HEIGHT)
    header = alt.Header(labelAnchor="start")
    facet = alt.Facet("client:N", title=None, sort=shown, header=header)
    chart: alt.FacetChart = encoded.facet(facet=facet, columns=columns, data=inline(values), spacing=_GAP)
    return chart.properties(title=title)
