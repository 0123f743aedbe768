"""Charts as small pictures: what they keep, what they lose, and that nothing harmful passes."""

import re
from xml.etree import ElementTree as ET

import altair as alt
import pytest

from s3bench.report.page import theme
from s3bench.report.page.drawing import draw, png_bytes, svg_bytes
from s3bench.report.page.section import ChartFigure
from s3bench.report.page.theme import INKS
from tests.report.page.charts import HOSTILE, dots

LABELS = [f"run {number}: {number}.5 s" for number in range(40)]


@pytest.fixture(scope="module")
def pictures() -> tuple[str, str]:
    return both(dots(LABELS), "part-1-chart-1")


@pytest.fixture(scope="module")
def picture(pictures: tuple[str, str]) -> str:
    return pictures[0]


@pytest.fixture(scope="module")
def whole_picture() -> str:
    return svg_bytes(dots(LABELS)).decode()


@pytest.fixture(scope="module")
def clipped_pictures() -> tuple[str, str]:
    """The wide pictures of two elements, `one` and `two`."""
    figure = dots(LABELS[:2], clip=True)
    return wide(figure, "one"), wide(figure, "two")


def both(figure: ChartFigure, element_id: str = "one") -> tuple[str, str]:
    """The pictures for wide and for narrow screens."""
    first, second = draw(figure, element_id=element_id).split("</svg>")[:2]
    return f"{first}</svg>", f"{second}</svg>"


def wide(figure: ChartFigure, element_id: str = "one") -> str:
    return both(figure, element_id)[0]


def labels_of(svg: str) -> list[str]:
    return [each.attrib["data-label"] for each in ET.fromstring(svg).iter() if "data-label" in each.attrib]


def test_each_mark_keeps_its_words_and_nothing_else_has_any(picture: str) -> None:
    assert labels_of(picture) == LABELS


def test_a_narrow_chart_has_the_same_marks_and_does_not_repeat_their_words(pictures: tuple[str, str]) -> None:
    first, second = pictures
    assert labels_of(second) == [""] * len(labels_of(first))
    assert [ET.fromstring(each).get("width") for each in (first, second)] == ["1040", "360"]


def test_lines_of_a_text_begin_where_the_text_does() -> None:
    chart = alt.Chart(alt.Data(values=[{"a": 1, "words": ["one", "two"]}])).mark_text(align="left", aria=False)
    figure = ChartFigure(
        name="a", title="a", description="a", chart=chart.encode(x=alt.XValue(40), text=alt.Text("words:N"))
    )
    lines = list(ET.fromstring(wide(figure)).iter("tspan"))
    assert [(each.text, each.get("x")) for each in lines] == [("one", None), ("two", "40")]


def test_a_legend_and_a_title_that_are_too_wide_become_several_lines() -> None:
    names = [f"a client with a long name {number}" for number in range(4)]
    points = alt.Chart(alt.Data(values=[{"a": 1, "name": names[0]}])).mark_point(aria=False)
    color = alt.Color("name:N", scale=theme.color_scale(names), legend=alt.Legend(title=None))
    encoded = points.encode(x=alt.X("a:Q", title="a title of an axis that has many words " * 2), color=color)
    first, second = both(ChartFigure(name="a", title="a", description="a", chart=encoded))
    heights = [float(str(ET.fromstring(each).get("height"))) for each in (first, second)]
    assert heights[1] > heights[0] + 3 * 12


def test_a_chart_of_forty_dots_is_small(picture: str, whole_picture: str) -> None:
    assert len(picture) < len(whole_picture) / 2.5


def test_no_mark_is_lost_and_texts_stay_texts(picture: str) -> None:
    tree = ET.fromstring(picture)
    assert len(list(tree.iter("circle"))) == 20 + 1  # and the legend's
    assert {"run", "total time [s]", "a", "b"} <= {each.text for each in tree.iter("text")}


def test_colours_of_the_theme_are_classes_of_the_page(picture: str) -> None:
    assert not [ink.light for ink in INKS.values() if ink.light in picture]
    used = {name for group in re.findall(r'class="([^"]+)"', picture) for name in group.split()} - {"chart", "wide"}
    assert used <= {f"{kind}-{name}" for kind in "fs" for name in INKS}
    assert {"f-series-1", "f-series-2", "f-zone", "s-grid", "f-text"} <= used


def test_the_picture_is_named_and_described_by_the_page(picture: str) -> None:
    root = ET.fromstring(picture)
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == "part-1-chart-1-title"
    assert root.get("aria-describedby") == "part-1-chart-1-description"


def test_no_style_no_reference_and_no_handler_is_in_a_picture(picture: str) -> None:
    for word in ("style", "href", "<script", "onload", "http", "font-family"):
        assert word not in picture


def test_ids_of_two_pictures_never_collide(clipped_pictures: tuple[str, str]) -> None:
    ids = [set(re.findall(r'id="([^"]+)"', each)) for each in clipped_pictures]
    for name, own in zip(("one", "two"), ids, strict=True):
        assert own
        assert all(each.startswith(f"{name}-") for each in own)
    for picture, own in zip(clipped_pictures, ids, strict=True):
        assert set(re.findall(r"url\(#([^)]+)\)", picture)) <= own


def test_the_shape_of_a_clip_stays(clipped_pictures: tuple[str, str]) -> None:
    clip = next(ET.fromstring(clipped_pictures[0]).iter("clipPath"))
    assert len(clip) == 1


def test_hostile_words_stay_words() -> None:
    picture = wide(dots([HOSTILE, "x" * 1_000_000]))
    first, second = labels_of(picture)
    assert first.startswith("</script><script>alert(1)</script>")
    assert first.isprintable()
    assert len(second) <= 500
    assert "<script" not in picture


def test_emoji_in_a_label_that_is_cut_do_no_harm() -> None:
    chart = alt.Chart(alt.Data(values=[{"name": "\U0001f600" * 400, "a": 1, "label": "one"}])).mark_point()
    encoded = chart.encode(
        x=alt.X("a:Q"), y=alt.Y("name:N", axis=alt.Axis(labelLimit=33)), description=alt.Description("label:N")
    )
    assert labels_of(wide(ChartFigure(name="a", title="a", description="a", chart=encoded))) == ["one"]


def test_a_mark_that_is_not_seen_but_has_words_can_still_be_met() -> None:
    chart = alt.Chart(alt.Data(values=[{"a": 1, "label": "one"}])).mark_point(opacity=0)
    figure = ChartFigure(
        name="a", title="a", description="a", chart=chart.encode(x=alt.X("a:Q"), description=alt.Description("label:N"))
    )
    assert labels_of(wide(figure)) == ["one"]


def test_files_are_whole_pictures_in_light_colours_on_their_paper(whole_picture: str) -> None:
    assert INKS["paper"].light in whole_picture
    assert INKS["series-1"].light in whole_picture
    assert ET.fromstring(whole_picture).tag.endswith("svg")
    figure = dots(LABELS[:2])
    png, svg = png_bytes(figure), ET.fromstring(svg_bytes(figure))
    assert png.startswith(b"\x89PNG")
    assert int.from_bytes(png[16:20]) == 2 * float(svg.attrib["width"]), "two pixels for each of the chart's"
