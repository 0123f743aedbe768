"""Charts as small pictures: what they keep, what they lose, and that nothing harmful passes."""

import re
from xml.etree import ElementTree as ET

import altair as alt
import pytest

from s3bench.report.page.drawing import draw, png_bytes, svg_bytes
from s3bench.report.page.section import ChartFigure
from s3bench.report.page.theme import INKS
from tests.report.page.charts import HOSTILE, dots

LABELS = [f"run {number}: {number}.5 s" for number in range(40)]


@pytest.fixture(scope="module")
def picture() -> str:
    return draw(dots(LABELS), element_id="part-1-chart-1")


def labels_of(svg: str) -> list[str]:
    return [each.attrib["data-label"] for each in ET.fromstring(svg).iter() if "data-label" in each.attrib]


def test_each_mark_keeps_its_words_and_nothing_else_has_any(picture: str) -> None:
    assert labels_of(picture) == LABELS


def test_a_chart_of_forty_dots_is_small(picture: str) -> None:
    raw = svg_bytes(dots(LABELS))
    assert len(picture) < len(raw) / 2.5


def test_no_mark_is_lost_and_texts_stay_texts(picture: str) -> None:
    tree = ET.fromstring(picture)
    assert len(list(tree.iter("circle"))) == 20 + 1  # and the legend's
    assert {"run", "total time [s]", "a", "b"} <= {each.text for each in tree.iter("text")}


def test_colours_of_the_theme_are_classes_of_the_page(picture: str) -> None:
    assert not [ink.light for ink in INKS.values() if ink.light in picture]
    used = {name for group in re.findall(r'class="([^"]+)"', picture) for name in group.split()} - {"chart"}
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


def test_ids_of_two_pictures_never_collide() -> None:
    first, second = (draw(dots(LABELS, clip=True), element_id=name) for name in ("one", "two"))
    ids = [set(re.findall(r'id="([^"]+)"', each)) for each in (first, second)]
    assert ids[0]
    assert not ids[0] & ids[1]
    for picture, own in zip((first, second), ids, strict=True):
        assert set(re.findall(r"url\(#([^)]+)\)", picture)) <= own


def test_the_shape_of_a_clip_stays() -> None:
    clip = next(ET.fromstring(draw(dots(LABELS, clip=True), element_id="one")).iter("clipPath"))
    assert len(clip) == 1


def test_hostile_words_stay_words() -> None:
    picture = draw(dots([HOSTILE, "x" * 1_000_000]), element_id="one")
    first, second = labels_of(picture)
    assert first.startswith("</script><script>alert(1)</script>")
    assert first.isprintable()
    assert len(second) <= 500
    assert "<script" not in picture


def test_emoji_in_a_label_that_is_cut_do_no_harm() -> None:
    chart = alt.Chart(alt.Data(values=[{"name": "\U0001f600" * 400, "a": 1, "label": "one"}])).mark_point()
    encoded = chart.encode(x="a:Q", y=alt.Y("name:N", axis=alt.Axis(labelLimit=33)), description="label:N")
    assert labels_of(draw(ChartFigure(name="a", title="a", description="a", chart=encoded), element_id="one")) == [
        "one"
    ]


def test_a_mark_that_is_not_seen_but_has_words_can_still_be_met() -> None:
    chart = alt.Chart(alt.Data(values=[{"a": 1, "label": "one"}])).mark_point(opacity=0)
    figure = ChartFigure(name="a", title="a", description="a", chart=chart.encode(x="a:Q", description="label:N"))
    assert labels_of(draw(figure, element_id="one")) == ["one"]


def test_files_are_whole_pictures_in_light_colours_on_their_paper() -> None:
    svg = svg_bytes(dots(LABELS)).decode()
    assert INKS["paper"].light in svg
    assert INKS["series-1"].light in svg
    assert ET.fromstring(svg).tag.endswith("svg")
    small, large = png_bytes(dots(LABELS), scale=1), png_bytes(dots(LABELS))
    assert small.startswith(b"\x89PNG")
    widths = [int.from_bytes(each[16:20]) for each in (small, large)]
    assert widths[1] == 2 * widths[0]
