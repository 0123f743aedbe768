"""A chart of time against memory: every setting as a point, and the Pareto front."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import altair as alt

from s3bench.report.label import clipped
from s3bench.report.page import theme
from s3bench.report.page.chart import MarkerStyle, chart_of, color_and_shape, constant, layered, present, series_styles
from s3bench.report.page.section import ChartFigure
from s3bench.report.page.unit import AxisUnit, bytes_unit, log_x, log_y, objective_unit
from s3bench.report.tune.cells import bytes_text, front_of, roles, setting_words, value_heading, value_text
from s3bench.tune.study_result import SettingFigures, StudyResult
from s3bench.units import render_bytes

POINTS_MAX = 300
"""The most settings that are drawn, the best first."""

_HEIGHT = 260
_ROWS_MIN = 2
_OTHER, _FAILED = "other settings", "some runs failed"
_QUIET = (_OTHER, _FAILED)
_POINT_SIZE, _ROLE_SIZE = 36, 120


def front_figure(result: StudyResult) -> ChartFigure | None:
    """The chart; `None` where of fewer than two settings both time and memory are known."""
    rows = _drawn(result)
    if len(rows) < _ROWS_MIN:
        return None
    name, unit = value_heading(result.objective), objective_unit(result.unit, [row.value or 0.0 for row in rows])
    memory = bytes_unit([float(row.peak_memory or 0) for row in rows])
    values = [_value(row, role, result, unit, memory) for row, role in _with_roles(rows, result)]
    front = [_place(row, unit, memory) for row in front_of(result)]
    limit = result.max_memory_bytes
    x = log_x("memory", [each["memory"] for each in values], f"peak memory ({memory.name})")
    y = log_y("value", [each["value"] for each in values], f"{name} ({unit.name})")
    color, shape = color_and_shape("role", _styles([role for role, _ in roles(result)], values))
    points = chart_of(values).mark_point(filled=True, opacity=1, stroke=theme.PAPER, strokeWidth=0.7)
    line = chart_of(front).mark_line(interpolate="step-after", color=theme.MUTED, strokeWidth=1.5, aria=False)
    size = alt.Size("size:Q", scale=None, legend=None)
    layers = [
        *_limit_rule(limit, memory, x),
        line.encode(x=x, y=y, order=alt.Order("memory:Q")),
        points.encode(x=x, y=y, color=color, shape=shape, size=size, description=alt.Description("label:N")),
    ]
    return ChartFigure(
        name="time-against-memory",
        title=f"{name.capitalize()} against memory",
        description=_description(result, len(rows)),
        chart=layered(layers, height=_HEIGHT),
    )


def _drawn(result: StudyResult) -> tuple[SettingFigures, ...]:
    """Settings with whole runs and known memory, those that were verified with the figures of that."""
    known = {each.setting: each for each in result.table[:POINTS_MAX]}
    known |= {each.setting: each for _, each in roles(result)}
    return tuple(each for each in known.values() if each.value and each.peak_memory and not each.was_capped)


def _with_roles(rows: Sequence[SettingFigures], result: StudyResult) -> Iterator[tuple[SettingFigures, str]]:
    """Each setting with the part that it has; those that have one come last, and are drawn above the others."""
    named = {each.setting: role for role, each in roles(result)}
    for row in sorted(rows, key=lambda row: row.setting in named):
        yield row, named.get(row.setting, _FAILED if row.failures else _OTHER)


def _value(row: SettingFigures, role: str, result: StudyResult, unit: AxisUnit, memory: AxisUnit) -> dict[str, Any]:
    part = "" if role in _QUIET else f"{role}: "
    figures = f"{value_text(row, unit=result.unit)}, {bytes_text(row.peak_memory)}"
    label = f"{part}{clipped(setting_words(row, result))}: {figures}"
    size = _POINT_SIZE if role in _QUIET else _ROLE_SIZE
    return {**_place(row, unit, memory), "role": role, "size": size, "label": label}


def _place(row: SettingFigures, unit: AxisUnit, memory: AxisUnit) -> dict[str, Any]:
    return {"memory": memory.of(row.peak_memory), "value": unit.of(row.value)}


def _limit_rule(limit_bytes: int | None, memory: AxisUnit, x: alt.X) -> Iterator[alt.Chart]:
    if limit_bytes:
        base = chart_of([{"memory": memory.of(limit_bytes), "name": "allowed"}]).encode(x=x)
        yield base.mark_rule(strokeDash=[4, 3], color=theme.BAD, aria=False)
        words = base.mark_text(align="left", baseline="top", dx=3, fontSize=11, color=theme.BAD, aria=False)
        yield words.encode(text=alt.Text("name:N"), y=constant(alt.YValue, 0))


def _styles(names: Sequence[str], values: Sequence[dict[str, Any]]) -> dict[str, MarkerStyle]:
    """A colour for each role, and quiet ones for all other settings."""
    styles = series_styles(list(dict.fromkeys((*names, *_QUIET))))
    for name, color in ((_OTHER, theme.MUTED), (_FAILED, theme.BAD)):
        styles[name] = replace(styles[name], color=color)
    return present(styles, (each["role"] for each in values))


def _description(result: StudyResult, count: int) -> str:
    name = value_heading(result.objective)
    sentences = [f"{count} settings; the line joins those that no other beats in both {name} and peak memory."]
    if len(result.table) > POINTS_MAX:
        sentences.append(f"Of {len(result.table):,} settings the best {POINTS_MAX} are drawn.")
    if result.max_memory_bytes:
        sentences.append(f"Dashed: the {render_bytes(result.max_memory_bytes)} that were allowed.")
    return " ".join(sentences)
