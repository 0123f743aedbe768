"""Time against memory: every setting as a point, and the front of those that no other beats in both.

Owns the drawing; which settings make the front is `s3bench.tune.pareto`'s.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt

from s3bench.report.label import clipped
from s3bench.report.page import theme
from s3bench.report.page.section import ChartFigure
from s3bench.report.page.unit import AxisUnit, bytes_unit, log_axis, log_ticks, log_y, seconds_unit
from s3bench.report.tune.cells import (
    bytes_text,
    front_of,
    roles,
    setting_words,
    value_text,
)
from s3bench.tune.study_result import SettingFigures, StudyResult
from s3bench.units import render_bytes

POINTS_MAX = 300
"""The most settings that are drawn, the best first."""

_HEIGHT = 260
_ROWS_MIN = 2
_OTHER, _FAILED = "other settings", "some runs failed"
_QUIET = (_OTHER, _FAILED)
_POINT_SIZE, _ROLE_SIZE = 36, 120


def front_figure(answer: StudyResult) -> ChartFigure | None:
    """The chart; `None` where of fewer than two settings both time and memory are known."""
    rows = _drawn(answer)
    if len(rows) < _ROWS_MIN:
        return None
    unit = (
        seconds_unit([row.value or 0.0 for row in rows]) if answer.unit == "s" else AxisUnit(name=answer.unit, size=1.0)
    )
    memory = bytes_unit([float(row.peak_memory or 0) for row in rows])
    values = [_value(row, role, answer, unit, memory) for row, role in _with_roles(rows, answer)]
    front = [_place(row, unit, memory) for row in front_of(answer)]
    limit = answer.max_memory_bytes
    x, y = _axes(values, answer, unit, memory)
    names = list(dict.fromkeys((*(role for role, _ in roles(answer)), *_QUIET)))
    names = [name for name in names if any(each["role"] == name for each in values)]
    points = alt.Chart(alt.InlineData(values=values)).mark_point(
        filled=True, opacity=1, stroke=theme.PAPER, strokeWidth=0.7
    )
    layers = [
        *_limit_rule(limit, memory, x),
        alt.Chart(alt.InlineData(values=front)).mark_line(
            interpolate="step-after", color=theme.MUTED, strokeWidth=1.5, aria=False
        ).encode(x=x, y=y, order="memory:Q"),
        points.encode(
            x=x,
            y=y,
            color=alt.Color("role:N", sort=None, scale=_colors(names), title=None),
            shape=alt.Shape("role:N", sort=None, scale=theme.shape_scale(names), title=None),
            size=alt.Size("size:Q", scale=None, legend=None),
            description="label:N",
        ),
    ]  # fmt: skip
    return ChartFigure(
        name="time-against-memory",
        title=f"{answer.objective.capitalize()} against memory",
        description=_description(answer, len(rows)),
        chart=alt.layer(*layers).properties(width=theme.WIDTH, height=_HEIGHT),
    )


def _drawn(answer: StudyResult) -> tuple[SettingFigures, ...]:
    """Settings with whole runs and known memory, those that were verified with the figures of that."""
    known = {each.setting: each for each in answer.table[:POINTS_MAX]}
    known |= {each.setting: each for _, each in roles(answer)}
    return tuple(each for each in known.values() if each.value and each.peak_memory and not each.was_capped)


def _with_roles(rows: Sequence[SettingFigures], answer: StudyResult) -> Iterator[tuple[SettingFigures, str]]:
    """Each setting with the part that it has; those that have one come last, and are drawn above the others."""
    named = {each.setting: role for role, each in roles(answer)}
    for row in sorted(rows, key=lambda row: row.setting in named):
        yield row, named.get(row.setting, _FAILED if row.failures else _OTHER)


def _value(row: SettingFigures, role: str, answer: StudyResult, unit: AxisUnit, memory: AxisUnit) -> dict[str, Any]:
    part = "" if role in _QUIET else f"{role}: "
    figures = f"{value_text(row, unit=answer.unit)}, {bytes_text(row.peak_memory)}"
    label = f"{part}{clipped(setting_words(row, answer))}: {figures}"
    size = _POINT_SIZE if role in _QUIET else _ROLE_SIZE
    return {**_place(row, unit, memory), "role": role, "size": size, "label": label}


def _place(row: SettingFigures, unit: AxisUnit, memory: AxisUnit) -> dict[str, Any]:
    return {"memory": memory.of(row.peak_memory), "value": unit.of(row.value)}


def _axes(
    values: Sequence[dict[str, Any]], answer: StudyResult, unit: AxisUnit, memory: AxisUnit
) -> tuple[alt.X, alt.Y]:
    ticks = log_ticks([each["memory"] for each in values])
    scale = alt.Scale(type="log", domain=[ticks[0], ticks[-1]], nice=False)
    x = alt.X("memory:Q", title=f"peak memory ({memory.name})", scale=scale, axis=log_axis(ticks))
    return x, log_y("value", [each["value"] for each in values], f"{answer.objective} ({unit.name})")


def _limit_rule(limit_bytes: int | None, memory: AxisUnit, x: alt.X) -> Iterator[alt.Chart]:
    if limit_bytes:
        base = alt.Chart(alt.InlineData(values=[{"memory": memory.of(limit_bytes), "name": "allowed"}])).encode(x=x)
        yield base.mark_rule(strokeDash=[4, 3], color=theme.BAD, aria=False)
        words = base.mark_text(align="left", baseline="top", dx=3, fontSize=10, color=theme.BAD, aria=False)
        yield words.encode(text="name:N", y=alt.value(0))


def _colors(names: Sequence[str]) -> alt.Scale:
    """A colour for each part, and quiet ones for all others."""
    quiet = {_OTHER: theme.MUTED, _FAILED: theme.BAD}
    colors = [quiet.get(name, theme.SERIES[number]) for number, name in enumerate(names)]
    return alt.Scale(domain=list(names), range=colors)


def _description(answer: StudyResult, count: int) -> str:
    told = [
        f"{count} settings by their peak memory and {answer.objective}; the line joins those that none beats in both."
    ]
    if len(answer.table) > POINTS_MAX:
        told.append(f"Of {len(answer.table):,} settings the best {POINTS_MAX} are drawn.")
    if answer.max_memory_bytes:
        told.append(f"Dashed: the {render_bytes(answer.max_memory_bytes)} that were allowed.")
    return " ".join(told)
