"""The page of a fitted profile: log and profile in each figure, and what is left out."""

import pytest

from s3bench.load.operation import OperationKind
from s3bench.report.page.load.fit_section import fit_section
from s3bench.report.page.page import render_page
from s3bench.report.page.section import ChartFigure, Section
from tests.load.fitting.logs import fitted, many, request
from tests.report.page.chart_reader import assert_is_drawn, labels, marks
from tests.report.page.charts import undrawn


@pytest.fixture(scope="module")
def section() -> Section:
    reads = [request(OperationKind.GET, n / 10, key=f"k{rank}") for rank in range(1, 500) for n in range(2000 // rank)]
    return fit_section(fitted([*reads, *many(OperationKind.PUT, 100, keys=100, size=9000)]))


def figure(section: Section, name: str) -> ChartFigure:
    [found] = [each for each in section.figures if each.name == name]
    return found


def points(section: Section, name: str, series: str) -> list[tuple[float, float]]:
    [line] = marks(figure(section, name).chart)
    return [(each["x"], each["y"]) for each in line["values"] if each["series"] == series]


def test_every_figure_has_the_log_and_the_profile_and_is_drawn(section: Section) -> None:
    assert [each.name for each in section.figures] == ["rate", "sizes-reads", "sizes-writes", "popularity"]
    for each in section.figures:
        assert labels(each.chart) == ["log", "profile"]
        assert_is_drawn(each)


def test_the_rate_of_the_profile_covers_the_whole_log(section: Section) -> None:
    profile = points(section, "rate", "profile")
    assert profile[0][0] == 0
    assert profile[-1][0] == pytest.approx(200 / 60, rel=0.01)


def test_the_popularity_of_the_profile_is_near_that_of_the_log(section: Section) -> None:
    ranks = {count: rank for rank, count in points(section, "popularity", "log")}
    expected = {count: rank for rank, count in points(section, "popularity", "profile")}
    assert expected[10] == pytest.approx(ranks[10], rel=0.15)


def test_the_mix_is_shown_of_both(section: Section) -> None:
    [table] = section.tables
    first = [cell.text for cell in table.rows[0]]
    assert first[0] == "get"
    assert first[2] == first[3]


def test_what_is_left_out_is_on_the_page(section: Section, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("s3bench.report.page.page.draw", undrawn)
    page = render_page("Fit", (section,))
    assert section.lines
    assert all(line.text.partition(" and ")[0] in page for line in section.lines)
