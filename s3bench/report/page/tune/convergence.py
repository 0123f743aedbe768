"""Chart of the search: every trial over the time spent on measuring, and the fastest run so far.

A run that was ended as too slow stands where it was ended: it is slower than that.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import altair as alt

from s3bench.report.label import clipped
from s3bench.report.page import theme
from s3bench.report.page.chart import MarkerStyle, chart_of, color_and_shape, layered, present
from s3bench.report.page.section import ChartFigure
from s3bench.report.page.unit import AxisUnit, log_y, objective_unit, seconds_unit
from s3bench.report.tune.cells import amount_text, value_heading
from s3bench.tune.study import Header, Stage, Study, Trial
from s3bench.units import render_seconds

TRIALS_MAX = 400
"""The most trials that are drawn one by one; of more, those that were the fastest so far."""

_HEIGHT = 240
_FAILED, _CAPPED = "failed", "ended as too slow"
_STYLES = {
    Stage.PROBE.value: MarkerStyle(color=theme.MUTED, shape="diamond"),
    Stage.SEARCH.value: MarkerStyle(color=theme.SERIES[0], shape="circle"),
    Stage.VERIFICATION.value: MarkerStyle(color=theme.SERIES[1], shape="square"),
    _CAPPED: MarkerStyle(color=theme.MUTED, shape="triangle-up"),
    _FAILED: MarkerStyle(color=theme.BAD, shape="cross"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Point:
    """A trial that ended after `at_s` of measuring; `value` is the objective's, or a lower bound, or unknown."""

    trial: Trial
    at_s: float
    value: float | None
    series: str

    @property
    def is_whole(self) -> bool:
        return self.series not in {_FAILED, _CAPPED}


def convergence_figure(study: Study) -> ChartFigure | None:
    """The chart; `None` where no run came to its end."""
    points = tuple(_points(study))
    best = tuple(_best_so_far(points))
    if not best:
        return None
    has_all = len(points) <= TRIALS_MAX
    shown = points if has_all else tuple(each for each, is_best in _with_records(points) if is_best)
    objective = study.header.objective
    values_s = [each.value for each in shown if each.value]
    unit = objective_unit(objective.unit, values_s)
    time = seconds_unit([points[-1].at_s])
    y = log_y("value", [value / unit.size for value in values_s], f"{value_heading(objective.aim)} ({unit.name})")
    x = alt.X(
        "at:Q",
        title=f"time spent on measuring ({time.name})",
        scale=alt.Scale(zero=True),
        axis=alt.Axis(grid=False, tickCount=8),
    )
    line = [{"at": time.of(at_s), "value": unit.of(value)} for at_s, value in (*best, (points[-1].at_s, best[-1][1]))]
    worst = max(values_s)
    values = [_value(each, study.header, time, unit, worst) for each in shown]
    best_line = chart_of(line).mark_line(interpolate="step-after", color=theme.TEXT, strokeWidth=1.5, aria=False)
    return ChartFigure(
        name="convergence",
        title="Trials and the fastest so far",
        description=" ".join(_sentences(points, best, study.header, has_all=has_all)),
        chart=layered([best_line.encode(x=x, y=y), _dots(values).encode(x=x, y=y)], height=_HEIGHT),
    )


def _points(study: Study) -> Iterator[_Point]:
    ends_s = accumulate(trial.took_s for trial in study.trials)
    for trial, at_s in zip(study.trials, ends_s, strict=True):
        if trial.measurement is not None:
            value = study.header.objective.value(trial.measurement)
            yield _Point(trial=trial, at_s=at_s, value=value, series=trial.stage.value)
        elif trial.was_capped:
            is_time = study.header.objective.unit == "s"
            yield _Point(trial=trial, at_s=at_s, value=trial.cap_s if is_time else None, series=_CAPPED)
        else:
            yield _Point(trial=trial, at_s=at_s, value=None, series=_FAILED)


def _with_records(points: Sequence[_Point]) -> Iterator[tuple[_Point, bool]]:
    """Each trial, and whether it was the best until then."""
    best: float | None = None
    for each in points:
        is_best = each.is_whole and each.value is not None and (best is None or each.value < best)
        best = each.value if is_best else best
        yield each, is_best


def _best_so_far(points: Sequence[_Point]) -> Iterator[tuple[float, float]]:
    return ((each.at_s, each.value) for each, is_best in _with_records(points) if is_best and each.value is not None)


def _value(each: _Point, header: Header, time: AxisUnit, unit: AxisUnit, worst: float) -> dict[str, Any]:
    """A dot; one without a value stands at the top, by its shape."""
    value = each.value if each.value is not None else worst
    return {
        "at": time.of(each.at_s),
        "value": unit.of(value),
        "series": each.series,
        "label": f"trial {each.trial.number}, {each.trial.stage}, {clipped(str(each.trial.setting))}: "
        f"{_outcome(each, header)}",
    }


def _outcome(each: _Point, header: Header) -> str:
    if each.series == _FAILED:
        return _FAILED
    if each.series == _CAPPED:
        cap_s = each.trial.cap_s
        return _CAPPED if cap_s is None else f"{_CAPPED}, after {render_seconds(cap_s)}"
    return amount_text(each.value or 0.0, unit=header.objective.unit)


def _dots(values: Sequence[dict[str, Any]]) -> alt.Chart:
    color, shape = color_and_shape("series", present(_STYLES, (each["series"] for each in values)))
    dots = chart_of(values).mark_point(filled=True, size=34, opacity=1, stroke=theme.PAPER, strokeWidth=0.5)
    encoded: alt.Chart = dots.encode(color=color, shape=shape, description=alt.Description("label:N"))
    return encoded


def _sentences(
    points: Sequence[_Point], best: Sequence[tuple[float, float]], header: Header, *, has_all: bool
) -> Iterator[str]:
    unit = header.objective.unit
    first, last = amount_text(best[0][1], unit=unit), amount_text(best[-1][1], unit=unit)
    yield f"{len(points):,} trials; the line is the best single run so far, from {first} to {last}."
    if not has_all:
        yield "Drawn are those that were the best until then; all are in the study."
    if any(each.series == _CAPPED for each in points):
        yield "Runs that were ended as too slow stand where they were ended."
    if any(each.value is None for each in points):
        yield "What has no value stands at the top."
