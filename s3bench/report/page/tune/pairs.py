"""Chart of the verification of a tuning: the change in each pair of neighbouring runs, and the interval of the gain."""

from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt

from s3bench.report.label import clipped
from s3bench.report.page import theme
from s3bench.report.page.chart import chart_of, layered
from s3bench.report.page.section import ChartFigure
from s3bench.report.table import Table, column
from s3bench.report.tune.cells import change_words, percent_text, slower_than
from s3bench.tune.objective import Objective
from s3bench.tune.setting import Setting
from s3bench.tune.study import Stage, Study
from s3bench.tune.study_result import StudyResult
from s3bench.tune.verification import Change

_HEIGHT = 200
_INTERVAL_OPACITY = 0.22


def pairs_figure(result: StudyResult, study: Study) -> ChartFigure | None:
    """The pairs behind `StudyResult.gain`; `None` where nothing was verified."""
    reference = result.default.setting
    compared = result.candidate if result.candidate.setting != reference else result.runner_up
    if compared is None or result.gain is None:
        return None
    pairs = tuple(_verified_changes(study, compared.setting, reference))
    if not pairs:
        return None
    title = f"{slower_than(result.objective)} than the default (%)"
    words = clipped(f"{compared.setting} against {reference}", most=400)
    return ChartFigure(
        name="verification",
        title="Verification, pair by pair",
        description=f"{words}, in runs next to each other: {change_words(result.gain, result.objective)}. Below 0 is "
        "better than the default; shaded around the dashed estimate: its interval.",
        chart=_chart(pairs, result.gain, title, result.objective),
        table=_table(pairs, words, result.objective),
    )


def _verified_changes(study: Study, setting: Setting, other: Setting) -> Iterator[float]:
    """By which share the value of `setting` is above the other's in each block in which both have a whole run."""
    objective = study.header.objective
    first, second = _values(study, setting, objective), _values(study, other, objective)
    for block, value in first.items():
        if block in second:
            yield value / second[block] - 1


def _values(study: Study, setting: Setting, objective: Objective) -> dict[int, float]:
    return {
        trial.block: objective.value(trial.measurement)
        for trial in study.of(Stage.VERIFICATION)
        if trial.setting == setting and trial.measurement is not None
    }


def _chart(pairs: Sequence[float], gain: Change, title: str, objective: str) -> alt.LayerChart | alt.FacetChart:
    values: list[dict[str, Any]] = [
        {"pair": number, "change": change * 100, "label": f"pair {number}: {_change_text(change, objective)}"}
        for number, change in enumerate(pairs, 1)
    ]
    x = alt.X(
        "pair:Q",
        title="pair, in the order of the runs",
        scale=alt.Scale(domain=[0.5, len(pairs) + 0.5], nice=False),
        axis=alt.Axis(grid=False, tickMinStep=1, format="d"),
    )
    y = alt.Y("change:Q", title=title, scale=alt.Scale(zero=True))
    dots = chart_of(values).mark_point(filled=True, size=50, opacity=1, color=theme.SERIES[0])
    layers = [
        *_gain_layers(gain),
        _rule(0.0, theme.TEXT, []),
        dots.encode(x=x, y=y, description=alt.Description("label:N")),
    ]
    return layered(layers, height=_HEIGHT)


def _gain_layers(gain: Change) -> Iterator[alt.Chart]:
    if gain.low is not None and gain.high is not None:
        band = chart_of([{"low": gain.low * 100, "high": gain.high * 100}])
        yield band.mark_rect(color=theme.SERIES[1], opacity=_INTERVAL_OPACITY, aria=False).encode(
            y=alt.Y("low:Q"), y2=alt.Y2("high:Q")
        )
    if gain.pairs:
        yield _rule(gain.estimate * 100, theme.SERIES[1], [6, 3])


def _rule(at: float, color: str, dash: list[int]) -> alt.Chart:
    rule: alt.Chart = (
        chart_of([{"change": at}])
        .mark_rule(color=color, strokeDash=dash or [1, 0], aria=False)
        .encode(y=alt.Y("change:Q"))
    )
    return rule


def _change_text(change: float, objective: str) -> str:
    """`4.2 % less time`."""
    more = slower_than(objective)
    words = more.replace("more", "less").replace("higher", "lower") if change < 0 else more
    return f"{percent_text(abs(change))} {words}"


def _table(pairs: Sequence[float], words: str, objective: str) -> Table:
    rows = tuple(enumerate(pairs, 1))
    return Table(
        caption=words,
        columns=(
            column("pair", rows, lambda row: f"{row[0]}", value=lambda row: row[0]),
            column("change", rows, lambda row: _change_text(row[1], objective), value=lambda row: row[1]),
        ),
    )
