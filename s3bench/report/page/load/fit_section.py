"""The page of a fitted workload: the log and its profile side by side, and what the profile leaves out."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import altair as alt

from s3bench.load.fitting.fitted_profile import fitted_profile, summary
from s3bench.load.fitting.fitted_workload import QUANTILES, FittedJob, FittedSizes, FittedWorkload
from s3bench.load.profile.profile import Job, Rate
from s3bench.report.page import theme
from s3bench.report.page.chart import chart_of
from s3bench.report.page.section import ChartFigure, Headline, Line, Section
from s3bench.report.page.unit import bytes_unit, log_x, log_y
from s3bench.report.table import Table, Tone, column
from s3bench.units import render_bytes, render_duration

_LOG, _PROFILE = "log", "profile"
_SERIES = [_LOG, _PROFILE]
_HEIGHT = 220
_TIMES = ((3600.0, "h"), (60.0, "min"))


def fit_section(workload: FittedWorkload) -> Section:
    """The section with its figures and tables."""
    found = dict(summary(workload))
    return Section(
        name="fit",
        title="Access log and fitted profile",
        headline=Headline(
            text=f"{workload.requests:,} requests, fitted by a profile of {len(workload.jobs)} jobs.",
            figures=tuple(found.items()),
        ),
        lines=tuple(Line(text=f"Left out: {each}", tone=Tone.WARNING) for each in workload.left_out),
        tables=(_mix_table(workload),),
        figures=tuple(_figures(workload)),
    )


def _figures(workload: FittedWorkload) -> Iterator[ChartFigure]:
    yield _rate_figure(workload)
    for job in workload.jobs:
        if job.sizes is not None and job.sizes.steps:
            yield _size_figure(job, job.sizes)
    if workload.popularity is not None:
        yield _popularity_figure(workload)


def _rate_figure(workload: FittedWorkload) -> ChartFigure:
    arrivals = workload.arrivals
    phase = fitted_profile(workload).phases[0]
    assert phase.duration_s is not None, "a fitted phase has a duration"
    scale, unit = next((each for each in _TIMES if phase.duration_s >= 2 * each[0]), (1.0, "s"))
    values = [
        _value(_LOG, (index + 0.5) * arrivals.window_s / scale, per_s, index)
        for index, per_s in enumerate(arrivals.per_s)
    ]
    for index, (since_s, until_s) in enumerate(pairwise([*_times(phase.jobs), phase.duration_s])):
        rate = sum(job.rate.mean_per_s(since_s, until_s) for job in phase.jobs if job.rate is not None)
        values += [
            _value(_PROFILE, at_s / scale, rate, 2 * index + place) for place, at_s in enumerate((since_s, until_s))
        ]
    return ChartFigure(
        name="rate",
        title="Rate over time",
        description=(
            f"Arrivals per second in the log, in windows of {render_duration(arrivals.window_s)}, and the rate of the "
            "profile, which is constant between its changes."
        ),
        chart=_lines(values, x=alt.X("x:Q", title=f"time ({unit})"), y=alt.Y("y:Q", title="operations/s")),
    )


def _times(jobs: Sequence[Job]) -> list[float]:
    rates = [job.rate for job in jobs if job.rate is not None]
    return sorted({0.0, *(change.after_s for rate in rates for change in rate.changes)})


def _size_figure(job: FittedJob, sizes: FittedSizes) -> ChartFigure:
    unit = bytes_unit([sizes.steps[-1][0]])
    slots = sizes.sizes.slots
    values = [
        _value(_LOG, size_bytes / unit.size, 100 * share, index)
        for index, (size_bytes, share) in enumerate(sizes.steps)
        if size_bytes
    ]
    values += [
        _value(_PROFILE, size_bytes / unit.size, 100 * (index + 1) / len(slots), index)
        for index, size_bytes in enumerate(slots)
        if size_bytes
    ]
    counted = "each key counted once" if sizes.is_by_key else "each request counted"
    return ChartFigure(
        name=f"sizes-{job.name}",
        title=f"Sizes of {job.name}",
        description=f"The share of objects that are at most so large, {counted}: in the log and in the profile.",
        chart=_lines(
            values,
            x=log_x("x", [each["x"] for each in values] or [1.0], f"size ({unit.name})"),
            y=alt.Y("y:Q", title="objects of at most this size (%)", scale=alt.Scale(domain=[0, 100])),
            interpolate="step-after",
        ),
        table=_size_table(sizes),
    )


def _size_table(sizes: FittedSizes) -> Table:
    slots = sizes.sizes.slots
    rows = [
        (f"p{100 * share:g}", of_log, slots[min(int(share * len(slots)), len(slots) - 1)])
        for share, of_log in zip(QUANTILES, sizes.quantiles_bytes, strict=True)
    ]
    rows.append(("mean", round(sizes.mean_bytes), round(sizes.profile_mean_bytes)))
    return Table(
        caption="Sizes in the log and in the profile",
        columns=(
            column("size", rows, lambda row: row[0]),
            column(_LOG, rows, lambda row: render_bytes(row[1]), value=lambda row: row[1]),
            column(_PROFILE, rows, lambda row: render_bytes(row[2]), value=lambda row: row[2]),
        ),
    )


def _popularity_figure(workload: FittedWorkload) -> ChartFigure:
    least = 0.5  # a rank below means that no key is expected to be read so often
    values = [_value(_LOG, rank, count, index) for index, (count, rank, _) in enumerate(workload.frequencies)]
    values += [
        _value(_PROFILE, rank, count, index)
        for index, (count, _, rank) in enumerate(workload.frequencies)
        if rank >= least
    ]
    return ChartFigure(
        name="popularity",
        title="Popularity of keys",
        description=(
            "Reads of a key over its rank, the most popular key first: in the log, and as expected of the profile "
            "in as many reads."
        ),
        chart=_lines(
            values,
            x=log_x("x", [each["x"] for each in values], "rank"),
            y=log_y("y", [each["y"] for each in values], "reads of a key"),
        ),
    )


def _mix_table(workload: FittedWorkload) -> Table:
    counts = workload.counts
    total = sum(counts.values())
    jobs = fitted_profile(workload).phases[0].jobs
    length_s = workload.arrivals.length_s
    rates = {
        str(share.kind): _mean(job.rate, length_s) * share.weight / sum(each.weight for each in job.mix)
        for job in jobs
        for share in job.mix
    }
    rows = sorted(counts, key=lambda kind: -counts[kind])
    whole_per_s = sum(rates.values())
    return Table(
        caption="Mix of operations",
        columns=(
            column("operation", rows, str),
            column("requests", rows, lambda kind: f"{counts[kind]:,}", value=lambda kind: counts[kind]),
            column(_LOG, rows, lambda kind: f"{counts[kind] / total:.2%}", value=lambda kind: counts[kind]),
            column(
                _PROFILE,
                rows,
                lambda kind: f"{rates.get(kind, 0.0) / whole_per_s:.2%}",
                value=lambda kind: rates.get(kind, 0.0),
            ),
        ),
    )


def _mean(rate: Rate | None, length_s: float) -> float:
    assert rate is not None, "the jobs of a fitted profile have rates"
    return rate.mean_per_s(0.0, length_s)


def _value(series: str, x: float, y: float, order: int) -> dict[str, Any]:
    return {"series": series, "x": x, "y": y, "order": order, "label": series}


def _lines(values: Sequence[dict[str, Any]], *, x: alt.X, y: alt.Y, interpolate: Any = "linear") -> alt.Chart:
    chart: alt.Chart = (
        chart_of(values)
        .mark_line(strokeWidth=2, interpolate=interpolate)
        .encode(
            x=x,
            y=y,
            order=alt.Order("order:Q"),
            color=alt.Color(
                "series:N", scale=theme.color_scale(_SERIES), legend=alt.Legend(title=None, symbolOpacity=1)
            ),
            strokeDash=alt.StrokeDash("series:N", scale=theme.dash_scale(_SERIES)),
            description=alt.Description("label:N"),
        )
        .properties(width=theme.plot_width(theme.WIDTH), height=_HEIGHT)
    )
    return chart
