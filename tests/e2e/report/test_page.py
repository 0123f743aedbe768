"""The page of `s3bench report` in a real browser, over file://: nothing leaves it, and all of it can be used."""

from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Page

from s3bench.report.page.page import render_page
from s3bench.report.page.section import Line, Section
from s3bench.report.table import Tone
from tests.e2e.report.browsing import Open, Rules, serious_faults
from tests.report.page.charts import dots, rows

LABELS = [f"run {number}: {number}.5 s" for number in range(12)]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with all that a page can have."""
    folded = Section(name="one", title="One", lines=(Line(text="median 1 s", tone=Tone.WARNING),), is_folded=True)
    folded = Section(name="one", title="One", lines=folded.lines, figures=(dots(LABELS),), is_folded=True)
    sections = (
        Section(name="charts", title="Charts", figures=(dots(LABELS),), parts=(folded,)),
        Section(name="tables", title="Tables", tables=(rows("b", "a", "c", "d"),)),
        Section(name="machine", title="Machine", lines=(Line(text="the third part"),)),
    )
    lines = (Line(text="it got slower", tone=Tone.BAD), Line(text="all others are fast", tone=Tone.GOOD))
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(render_page("A run", sections, facts=(("Command", "x " * 200),), lines=lines), encoding="utf-8")
    return path


@pytest.fixture
def shown(opened: Open, made: Path) -> Open:
    return partial(opened, made)


def shown_parts(page: Page) -> list[str]:
    return [heading.inner_text() for heading in page.locator("h2").all() if heading.is_visible()]


def test_nothing_is_asked_for_and_nothing_complained_of(shown: Open, made: Path) -> None:
    one = shown()
    one.page.wait_for_load_state("networkidle")
    assert [url for url in one.requests if not url.startswith("data:")] == [made.as_uri()]
    assert one.complaints == []


def test_a_script_that_is_smuggled_in_does_not_run(opened: Open, made: Path, tmp_path: Path) -> None:
    for smuggled in ("<script>document.title = 'broken'</script>", "<img src=x onerror=\"document.title='broken'\">"):
        path = tmp_path / "smuggled.html"
        path.write_text(made.read_text(encoding="utf-8").replace("</main>", f"{smuggled}</main>"), encoding="utf-8")
        one = opened(path)
        assert one.page.title() == "A run"
        assert any("Content Security Policy" in complaint for complaint in one.complaints)


def test_tabs_show_one_part_by_mouse_and_by_keys(shown: Open) -> None:
    page = shown().page
    assert shown_parts(page) == ["Charts"]
    page.get_by_role("tab", name="Tables").click()
    assert shown_parts(page) == ["Tables"]
    for key, expected in (
        ("ArrowRight", "Machine"),
        ("ArrowRight", "Charts"),
        ("ArrowLeft", "Machine"),
        ("Home", "Charts"),
        ("End", "Machine"),
    ):
        page.keyboard.press(key)
        assert shown_parts(page) == [expected]
        assert page.locator(":focus").inner_text() == expected
        assert page.locator("[role=tab][aria-selected=true]").all_inner_texts() == [expected]


def test_an_anchor_opens_the_part_that_it_points_into(shown: Open) -> None:
    page = shown().page
    page.goto(page.url.partition("#")[0] + "#part-1-1-chart-1-title")
    page.reload()
    assert page.locator("#part-1-1-chart-1-title").is_visible()


def test_the_pointer_shows_what_a_mark_says(shown: Open) -> None:
    page = shown().page
    mark = page.locator("#part-1 > figure [data-label]").nth(4)
    box = mark.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2 + 4, box["y"] + box["height"] / 2 + 3)  # beside it is near enough
    assert page.locator(".tip").inner_text() == LABELS[4]
    page.keyboard.press("Escape")
    assert page.locator(".tip").is_hidden()
    page.mouse.move(2, 2)
    assert page.locator(".tip").is_hidden()


def test_arrow_keys_walk_over_the_marks_and_say_them(shown: Open) -> None:
    page = shown().page
    page.locator("#part-1 > figure .plot").focus()
    tip, heard = page.locator(".tip"), page.locator("[aria-live]")
    for key, at in (("ArrowRight", 0), ("ArrowRight", 1), ("End", 11), ("ArrowRight", 11), ("ArrowLeft", 10)):
        page.keyboard.press(key)
        assert tip.inner_text() == LABELS[at]
        assert heard.inner_text() == f"{LABELS[at]} ({at + 1} of 12)"
    page.keyboard.press("Escape")
    assert tip.is_hidden()


def test_on_a_narrow_screen_the_keys_bring_the_mark_into_sight(shown: Open) -> None:
    page = shown(width=400).page
    page.locator("#part-1 > figure .plot").focus()
    page.keyboard.press("End")
    box = page.locator(".is-shown").bounding_box()
    assert box is not None
    assert 0 <= box["x"] <= 400


def test_columns_sort_by_value_both_ways_and_back(shown: Open) -> None:
    page = shown().page
    page.get_by_role("tab", name="Tables").click()
    table, column = page.locator("#part-2 table"), page.locator("#part-2 th").nth(1)
    names = [["d", "a", "b", "c"], ["b", "a", "d", "c"], ["b", "a", "c", "d"]]  # c has no value and is last
    for order, expected in zip(("ascending", "descending", None), names, strict=True):
        column.locator("button").focus()
        page.keyboard.press("Enter")
        assert table.locator("tbody th").all_inner_texts() == expected
        assert column.get_attribute("aria-sort") == order
    page.locator("#part-2 th button").first.click()
    assert table.locator("tbody th").all_inner_texts() == ["a", "b", "c", "d"]


def test_without_script_every_part_can_be_read(shown: Open) -> None:
    page = shown(java_script_enabled=False).page
    assert shown_parts(page) == ["Charts", "Tables", "Machine"]
    assert page.locator("#part-1 > figure svg.wide").is_visible()
    assert page.locator(".colours").is_hidden()
    page.locator("#part-1-1 > details > summary").click()
    assert page.locator("#part-1-1 svg.wide").is_visible()


def test_colours_follow_the_system_until_the_button_says_otherwise(shown: Open) -> None:
    def paper(page: Page) -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    light = "rgb(244, 246, 248)"
    assert paper(shown(color_scheme="light").page) == light
    page = shown(color_scheme="dark").page
    dark = paper(page)
    assert dark != light
    button = page.locator(".colours")
    for words, expected in (("light", light), ("dark", dark), ("as the system", dark)):
        button.click()
        assert button.inner_text() == f"Colours: {words}"
        assert paper(page) == expected


def test_on_paper_everything_is_open_light_and_without_controls(shown: Open) -> None:
    page = shown(color_scheme="dark").page
    page.emulate_media(media="print", color_scheme="dark")
    assert shown_parts(page) == ["Charts", "Tables", "Machine"]
    assert page.locator("#part-1-1 svg.wide").is_visible()
    assert page.locator("#part-1-1 table").is_visible()
    assert page.locator(".tabs").is_hidden()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_a_narrow_screen_never_scrolls_sideways(shown: Open) -> None:
    page = shown(width=400).page
    for tab in page.get_by_role("tab").all():
        tab.click()
        assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_axe_finds_nothing_serious_and_colours_stand_out_on_light_and_on_dark_paper(shown: Open) -> None:
    page = shown().page
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    for tab in page.get_by_role("tab").all():
        tab.click()
        assert serious_faults(page) == []
    page.evaluate("document.querySelectorAll('.is-away').forEach((each) => { each.classList.remove('is-away'); })")
    assert shown_parts(page) == ["Charts", "Tables", "Machine"]
    page.emulate_media(color_scheme="dark")
    assert serious_faults(page, Rules.CONTRAST) == []  # all else is the same in the dark


@pytest.mark.campaign
def test_pictures_can_be_taken_of_every_form(shown: Open, tmp_path: Path) -> None:
    for name, options in {
        "light": {"color_scheme": "light"},
        "dark": {"color_scheme": "dark"},
        "narrow": {"width": 400},
    }.items():
        shown(**options).page.screenshot(path=tmp_path / f"{name}.png", full_page=True)
    page = shown().page
    page.emulate_media(media="print")
    page.screenshot(path=tmp_path / "print.png", full_page=True)
    sizes = {path.stem: path.read_bytes() for path in tmp_path.glob("*.png")}
    assert len(set(sizes.values())) == 4
