"""Trends on the page: every release a point, every change where it lies."""

from dataclasses import replace

import pytest

from s3bench.report.page.drawing import draw
from s3bench.report.page.trend.chart import POINTS_MAX, TABLE_MAX, trend_chart, trend_figure
from s3bench.report.page.trend.section import DRAWN_POINTS_MAX, trend_section
from s3bench.report.page.trend.series import TrendSeries
from s3bench.report.table import Tone
from s3bench.results.metrics import METRICS_BY_NAME, render_figure
from s3bench.trend.metric_trend import Trend, trend_of
from tests.report.page.chart_reader import assert_is_drawn
from tests.report.page.forest_reader import drawn, drawn_layers, labels, layers
from tests.trend.test_adjustment import CPU_TIME, drift
from tests.trend.test_adjustment import points as adjustable
from tests.trend.test_metric_trend import MEMORY, TIME, points


def step(*levels: tuple[int, float], title: str = "s3.cp on cli-crt") -> TrendSeries:
    return TrendSeries(title=title, trend=trend_of(TIME, points(*levels)))


@pytest.fixture(scope="module")
def slower() -> Trend:
    return trend_of(TIME, points((20, 0.3), (20, 0.36)))


def test_each_release_is_a_point_with_its_figure(slower: Trend) -> None:
    chart = trend_chart(slower)
    dots = layers(chart, "point")[0]
    assert [value["release"] for value in dots] == [point.label for point in slower.points]
    assert [value["figure"] for value in dots] == pytest.approx([1e3 * value for value in slower.figures])
    assert labels(chart)[0] == f"2.0.0: {render_figure(slower.figures[0], TIME.unit)}"
    (y,) = {layer["encoding"]["y"]["axis"]["title"] for layer in drawn_layers(chart) if layer["mark"]["type"] == "line"}
    assert y == "total_time (ms)"


def test_a_change_is_marked_and_the_releases_that_may_have_brought_it_are_shaded(slower: Trend) -> None:
    (change,) = slower.changes
    chart = trend_chart(slower)
    ((span,),) = layers(chart, "rect")
    assert (span["release"], span["until"]) == (change.last_before, change.releases[-1])
    mark = layers(chart, "point")[-1][0]
    assert (mark["release"], mark["kind"]) == (slower.points[change.point.index].label, "worse")
    assert mark["label"] == f"change {change.words}"
    assert mark["size"] == change.words.split(": ")[1].split(" (")[0]


def test_levels_are_the_medians_between_changes(slower: Trend) -> None:
    (levels,) = layers(trend_chart(slower), "rule")
    assert [level["figure"] for level in levels] == pytest.approx([300, 360], rel=0.01)
    assert [(level["release"], level["until"]) for level in levels] == [("2.0.0", "2.19.0"), ("2.20.0", "2.39.0")]


def test_without_a_change_there_is_neither_shade_nor_level() -> None:
    chart = trend_chart(trend_of(TIME, points((20, 0.3))))
    assert layers(chart, "rect") == layers(chart, "rule") == []


def test_ratios_to_a_reference_have_no_unit() -> None:
    beside = [replace(point, reference=0.29) for point in points((20, 0.3))]
    figure = trend_figure(TrendSeries(title="t", trend=trend_of(TIME, beside)), name="x")
    assert labels(figure.chart)[0].endswith(" times the reference")
    assert figure.table is not None
    assert [column.heading for column in figure.table.columns] == ["release", "times the reference", "total_time"]


def test_adjusted_figures_are_drawn_over_those_that_were_measured() -> None:
    trend = trend_of(CPU_TIME, adjustable(drift(40)))
    assert trend.adjustment is not None
    figure = trend_figure(TrendSeries(title="t", trend=trend), name="x")
    figure.chart.to_dict(validate=True)
    raw, adjusted = layers(figure.chart, "line")
    assert [value["figure"] for value in raw] == pytest.approx([point.value for point in trend.points])
    assert [value["figure"] for value in adjusted] == pytest.approx(list(trend.figures))
    assert "The pale line has them as measured." in figure.description
    assert figure.table is not None
    assert [column.heading for column in figure.table.columns] == ["release", "adjusted", "cpu_time"]
    section = trend_section(CPU_TIME, [TrendSeries(title="t", trend=trend)])
    assert trend.adjustment.words in [line.text for line in section.lines]


def test_a_single_release_is_told_as_one() -> None:
    figure = trend_figure(TrendSeries(title="t", trend=trend_of(MEMORY, points((1, 1e8)))), name="x")
    assert figure.description.startswith("max_memory (MiB), 1 release. ")


def test_memory_is_drawn_in_binary_units() -> None:
    figure = trend_figure(TrendSeries(title="t", trend=trend_of(MEMORY, points((20, 1e8)))), name="x")
    assert figure.description.startswith("max_memory (MiB), 20 releases.")


def test_the_series_that_are_worse_come_first_and_the_summary_counts_them() -> None:
    series = [step((20, 0.3)), step((20, 0.3), (20, 0.25), title="better"), step((20, 0.3), (20, 0.36), title="worse")]
    section = trend_section(TIME, series)
    assert [part.title for part in section.parts] == ["better", "s3.cp on cli-crt"]
    assert section.figures[0].title == "worse"
    assert section.headline is not None
    assert section.headline.text.startswith("total_time of worse: since 2.20.0: ")
    assert section.headline.tone is Tone.BAD
    assert section.lines[0].text == "2 of 3 series changed, 1 of them for the worse at last"
    assert section.lines[0].tone is Tone.BAD
    assert [row[0].text for row in section.tables[0].rows] == ["worse", "better", "s3.cp on cli-crt"]
    assert section.tables[0].rows[0][3].text.startswith("since 2.20.0: ")
    assert section.tables[0].rows[2][3].text == "no change found in 20 releases"
    assert section.lines[1].tone is Tone.BAD
    assert [part.lines[0].tone for part in section.parts] == [Tone.GOOD, Tone.PLAIN]


def test_nothing_kept_and_too_little_kept_are_said() -> None:
    assert trend_section(TIME, []).lines[0].text == "no stored figures match"
    few = trend_section(TIME, [step((5, 0.3))])
    assert few.lines[0].tone is Tone.WARNING
    assert few.lines[1].text == "too few to find a change: 5 releases"
    empty = trend_section(TIME, [TrendSeries(title="t", trend=trend_of(TIME, []))])
    assert empty.figures == empty.parts == ()
    assert empty.tables[0].rows[0][2].text == "-"


def test_a_change_in_doubt_says_so() -> None:
    slowed = [slow + 0.2 * (release >= 30) for release, slow in enumerate(drift(60, size=0.0))]
    section = trend_section(CPU_TIME, [TrendSeries(title="t", trend=trend_of(CPU_TIME, adjustable(slowed)))])
    assert "the machine changed at the same time and may be the cause" in [line.text for line in section.lines]


def test_a_thousand_releases_are_a_line_with_the_newest_as_points() -> None:
    figure = trend_figure(step((500, 0.3), (500, 0.33)), name="x")
    assert len(layers(figure.chart, "line")[0]) == 1000
    assert len(layers(figure.chart, "point")[0]) == POINTS_MAX
    assert f"The newest {POINTS_MAX} have points" in figure.description
    assert figure.table is None
    assert len(draw(figure, element_id="x")) < 100_000
    assert TABLE_MAX < 1000


def test_so_many_series_are_not_all_drawn_and_it_is_said() -> None:
    one = step((200, 0.3))
    section = trend_section(TIME, [replace(one, title=f"series {number}") for number in range(30)])
    assert len(section.figures) + len(section.parts) == DRAWN_POINTS_MAX // 200
    assert section.lines[1].text.startswith("10 of 30 series are not drawn")
    assert len(section.tables[0].rows) == 30


def test_two_documents_of_the_same_minute_keep_their_places() -> None:
    same = [replace(point, label="2026-11-21 00:00") for point in points((20, 0.3))]
    dots = layers(trend_chart(trend_of(TIME, same)), "point")[0]
    assert len({value["release"] for value in dots}) == 20


def test_hostile_labels_do_no_harm() -> None:
    hostile = points((20, 1.0), (20, 1.3))
    hostile[20] = replace(hostile[20], label="<script>: (x\x1b[2J\n\u202e" + "😀" * 100_000)
    title = "<script>\x1b" + "y" * 100_000
    section = trend_section(TIME, [TrendSeries(title=title, trend=trend_of(TIME, hostile))])
    svg = drawn(section.figures[0])
    assert "<script" not in svg
    assert "\x1b" not in svg
    assert "\u202e" not in svg
    assert section.figures[0].title.isprintable()
    assert len(section.figures[0].title) <= 200


def test_every_unit_can_be_drawn() -> None:
    for name in ("total_time", "peak_memory", "throughput", "load.operations_rate", "wire.requests", "average_cpu"):
        if name in METRICS_BY_NAME:
            trend = trend_of(METRICS_BY_NAME[name], points((12, 1000.0)))
            figure = trend_figure(TrendSeries(title="t", trend=trend), name="x")
            assert_is_drawn(figure)
