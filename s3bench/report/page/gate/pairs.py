"""The raw pairs of one row of a gate: the change of each pair in run order, and the estimate at each look.

Estimates and intervals are calculated again from the pairs in the record.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

import altair as alt
from msgspec.structs import replace

from s3bench.gate.evidence import CellEvidence, Role
from s3bench.gate.indifference_zone import log_worsening
from s3bench.gate.paired_series import series_of
from s3bench.gate.record import GateRecord
from s3bench.gate.row import GateRow
from s3bench.report.gate import digest as words
from s3bench.report.label import clipped
from s3bench.report.page import theme
from s3bench.report.page.chart import chart_of, layered
from s3bench.report.page.forest import ForestRow, domain, ways
from s3bench.report.page.forest_axis import change_axis, change_scale
from s3bench.report.page.section import ChartFigure
from s3bench.report.table import Table, column
from s3bench.results.metrics import METRICS_BY_NAME, Direction, Metric, render_figure

_HEIGHT = 240
_SURPLUS = " Pale pairs were run after this row was decided, for other rows of its benchmark; they are not counted."
_ORDERS: Mapping[str, str] = {"AB": "baseline first", "BA": "candidate first"}
_ORDER_SHAPES = ("circle", "triangle-up")


class ZoneOfRow(TypedDict):
    """The indifference zone as a `ForestRow` has it: increases over the better side."""

    d0: float | None
    d1: float | None
    is_two_sided: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PairChange:
    """One pair: its number from 1 in run order, who ran first, both figures in the metric's unit, the change.

    `explained` is the part of the log-ratio that the speed of the machine explains.
    """

    number: int
    order: str
    baseline: float
    candidate: float
    explained: float

    @property
    def change(self) -> float:
        """The relative change of the metric, adjusted for the machine."""
        return self.candidate / self.baseline * math.exp(-self.explained) - 1


def pair_changes(cell: CellEvidence, metric: str, *, is_adjusted: bool = True) -> tuple[PairChange, ...]:
    """The pairs in which both sides have the metric: those that the gate used."""
    used = [
        (number, pair)
        for number, pair in enumerate(cell.pairs, start=1)
        if series_of(replace(cell, pairs=(pair,)), metric).count
    ]
    series = series_of(cell, metric, is_adjusted=is_adjusted)
    explained = series.explained or (0.0,) * series.count
    return tuple(
        PairChange(number=number, order=pair.order, baseline=baseline, candidate=candidate, explained=part)
        for (number, pair), baseline, candidate, part in zip(
            used, series.baseline, series.candidate, explained, strict=True
        )
    )


def pairs_figure(row: GateRow, record: GateRecord, number: int) -> ChartFigure | None:
    """Draw the pairs of a measured row; `None` where the record has none. `number` makes its name unique."""
    cell = next((each for each in record.cells if (each.title, each.role) == (row.benchmark, row.role)), None)
    changes = pair_changes(cell, row.metric, is_adjusted=record.policy.adjusts) if cell else ()
    if cell is None or not changes:
        return None
    metric = METRICS_BY_NAME[row.metric]
    looks = _looks(cell, row, record)
    return ChartFigure(
        name=f"pairs-{number}",
        title=f"Pairs: {clipped(words.subject(row))}",
        description=(
            f"The change of {metric.name} in each of {len(changes)} pairs, in run order. Dashed lines are looks, with "
            "the Hodges-Lehmann estimate of the pairs so far and its 95 % interval. Shaded are the limits."
        )
        + _SURPLUS * (len(changes) > row.pairs),
        chart=_chart(changes, looks, row, metric),
        table=_table(changes, metric),
    )


def _looks(cell: CellEvidence, row: GateRow, record: GateRecord) -> list[ForestRow]:
    """What was known at each look that was reached, and at the end."""
    counts = [pairs for pairs in record.policy.looks.pairs if pairs < row.pairs]
    found = []
    for pairs in (*counts, row.pairs):
        series = series_of(cell, row.metric, pairs_max=pairs, is_adjusted=record.policy.adjusts)
        if not series.count:
            continue
        low, high = series.interval()
        known = replace(row, pairs=pairs, change=series.change(), low=low, high=high)
        text = f"{words.change(known)}, 95 % interval {words.interval(known)}"
        found.append(
            ForestRow(
                name=f"{pairs}",
                figures=text,
                label=f"after {pairs} pairs: {text}",
                word="",
                change=known.change,
                low=low,
                high=high,
                **zone_of(row),
            )
        )
    return found


def _chart(
    changes: Sequence[PairChange], looks: Sequence[ForestRow], row: GateRow, metric: Metric
) -> alt.TopLevelMixin:
    drawn = [
        ForestRow(name="", figures="", label="", word="", change=each.change, low=None, high=None) for each in changes
    ]
    low, high = domain([*drawn, *looks], metric=metric)
    title = f"change of {metric.name} (log scale; up: {ways(metric)[1].removesuffix(' →')})"
    y_axis, y_scale = change_axis(low, high, title=title), change_scale(low, high)
    x_scale = alt.Scale(domain=[0.25, changes[-1].number + 1], nice=False)
    x_axis = alt.Axis(title="pair, in run order", tickMinStep=1, grid=False)

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q", scale=x_scale, axis=x_axis)

    def y(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", scale=y_scale, axis=y_axis)

    layers = [
        *(chart_of([zone]).mark_rect(color=ink, aria=False).encode(y=y("top"), y2=alt.Y2("bottom:Q"))
          for zone, ink in _zones(row, metric)),
        chart_of([{"ratio": 1}]).mark_rule(color=theme.MUTED, aria=False).encode(y=y("ratio")),
        chart_of([{"at": float(look.name) + 0.5} for look in looks])
        .mark_rule(color=theme.MUTED, strokeDash=[4, 3], aria=False)
        .encode(x=x("at")),
        *_dots(changes, x("pair"), y("ratio"), row, metric),
    ]  # fmt: skip
    known = [_known(look, low=low, high=high) for look in looks]
    bounded = [each for each in known if "from" in each]
    if bounded:
        interval = chart_of(bounded).mark_rule(color=theme.TEXT, strokeWidth=2, aria=False)
        layers.append(interval.encode(x=x("at"), y=y("from"), y2=alt.Y2("to:Q")))
    estimate = chart_of(known).mark_point(filled=True, size=80, color=theme.TEXT, shape="diamond", opacity=1)
    layers.append(estimate.encode(x=x("at"), y=y("ratio"), description=alt.Description("label:N")))
    return layered(layers, height=_HEIGHT)


def _dots(changes: Sequence[PairChange], x: alt.X, y: alt.Y, row: GateRow, metric: Metric) -> Iterator[alt.Chart]:
    """The pairs that count, and pale those that came later."""
    shape = alt.Shape(
        "order:N",
        scale=alt.Scale(domain=list(_ORDERS.values()), range=list(_ORDER_SHAPES)),
        legend=alt.Legend(title="each point a pair:", titleOrient="left", symbolFillColor=theme.SERIES[0]),
    )
    for group, color in ((changes[: row.pairs], theme.SERIES[0]), (changes[row.pairs :], theme.MUTED)):
        if group:
            dots = chart_of([_dot(each, metric) for each in group])
            pale = 1 if color != theme.MUTED else 0.5
            marked = dots.mark_point(filled=True, size=45, color=color, opacity=pale)
            yield marked.encode(x=x, y=y, shape=shape, description=alt.Description("label:N"))


def zone_of(row: GateRow) -> ZoneOfRow:
    """The limits of a row for a forest plot; neither side of a negative control may be better."""
    ends = (None if each is None else math.expm1(log_worsening(each, is_drop=row.is_drop)) for each in (row.d0, row.d1))
    return ZoneOfRow(d0=next(ends), d1=next(ends), is_two_sided=row.role is Role.NEGATIVE_CONTROL)


def _zones(row: GateRow, metric: Metric) -> Iterator[tuple[dict[str, str | float], str]]:
    sign = -1 if metric.direction is Direction.HIGHER else 1
    zone = zone_of(row)
    if zone["d0"] is not None and zone["d1"] is not None:
        worst, near = 1 + zone["d1"], 1 + zone["d0"]
        yield {"top": worst**sign, "bottom": worst**-sign if zone["is_two_sided"] else 1}, theme.ZONE
        yield {"top": near, "bottom": 1 / near}, theme.GRID


def _dot(each: PairChange, metric: Metric) -> dict[str, str | float]:
    figures = f"{render_figure(each.baseline, metric.unit)} -> {render_figure(each.candidate, metric.unit)}"
    order = _order(each)
    return {
        "pair": each.number,
        "ratio": 1 + each.change,
        "order": order,
        "label": f"pair {each.number}: {each.change:+.1%} ({figures}), {order}",
    }


def _known(look: ForestRow, *, low: float, high: float) -> dict[str, str | float]:
    assert look.change is not None
    known: dict[str, str | float] = {"at": float(look.name) + 0.5, "ratio": 1 + look.change, "label": look.label}
    if look.low is not None or look.high is not None:
        known["from"] = low if look.low is None else max(low, 1 + look.low)
        known["to"] = high if look.high is None else min(high, 1 + look.high)
    return known


def _table(changes: Sequence[PairChange], metric: Metric) -> Table:
    return Table(
        caption="Each pair, in run order",
        columns=(
            column("pair", changes, lambda each: f"{each.number}", value=lambda each: each.number),
            column("order", changes, _order),
            column(
                "baseline",
                changes,
                lambda each: render_figure(each.baseline, metric.unit),
                value=lambda each: each.baseline,
            ),
            column(
                "candidate",
                changes,
                lambda each: render_figure(each.candidate, metric.unit),
                value=lambda each: each.candidate,
            ),
            column("change", changes, lambda each: f"{each.change:+.1%}", value=lambda each: each.change),
            *([column("unadjusted", changes, _unadjusted)] if any(each.explained for each in changes) else ()),
        ),
    )


def _unadjusted(each: PairChange) -> str:
    return f"{each.candidate / each.baseline - 1:+.1%}"


def _order(each: PairChange) -> str:
    return _ORDERS.get(each.order, _ORDERS["AB"])
