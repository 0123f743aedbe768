"""The flame graph of a page in a real browser: zoom, keys, search, and names that execute nothing."""

from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page

from s3bench.report.label import clipped
from s3bench.report.page.page import render_page
from s3bench.report.page.profile.section import profile_section
from tests.e2e.report.browsing import Open, serious_faults
from tests.report.page.charts import HOSTILE
from tests.report.page.profile.stack_profiles import profile

BASELINE = profile({"app:main;app:work": 50, "app:main;app:gone;lib:f": 10})
CANDIDATE = profile({"app:main;app:work": 50, "app:main;docs:<module>;lib:f": 25, "app:main;docs:<module>;lib:g": 15})
HOSTILE_NAME = HOSTILE.replace(":", " ").replace(";", " ")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    stacks = {f"a:{HOSTILE_NAME};</script><script>document.title='broken'</script>:\u2028{'x' * 5000}": 9}
    sections = (
        profile_section("s3.ls", CANDIDATE, BASELINE, labels=("1.0", "2.0")),
        profile_section("Hostile", profile(stacks)),
    )
    path = tmp_path_factory.mktemp("flame") / "page.html"
    path.write_text(render_page("A profile", sections), encoding="utf-8")
    return path


@pytest.fixture
def page(opened: Open, path: Path) -> Page:
    page = opened(path).page
    page.locator("#part-1 .flame-view svg").wait_for()
    return page


def frames(page: Page) -> list[str]:
    """The texts on the frames, from the top."""
    return page.locator("#part-1 .flame-view text").all_text_contents()


def frame(page: Page, text: str) -> Locator:
    """The rectangle behind a text: drawn in the same order where all frames are wide enough for one."""
    return page.locator("#part-1 .flame-view rect").nth([each.split(" +")[0] for each in frames(page)].index(text))


def width(page: Page, text: str) -> float:
    box = frame(page, text).bounding_box()
    assert box is not None
    return box["width"]


def test_a_click_zooms_and_the_path_leads_back(page: Page) -> None:
    assert frames(page) == ["all +150 ms", "main +150 ms", "work", "import docs +200 ms", "f +125 ms", "g +75.0 ms"]
    whole = width(page, "all")
    assert width(page, "import docs") == pytest.approx(whole * 40 / 90, abs=2)
    frame(page, "import docs").click()
    assert frames(page) == ["all +150 ms", "main +150 ms", "import docs +200 ms", "f +125 ms", "g +75.0 ms"]
    assert width(page, "import docs") == pytest.approx(whole, abs=2)
    path = page.locator("#part-1 .flame-path")
    assert path.get_by_role("button").all_inner_texts() == ["all", "main", "import docs"]
    path.get_by_role("button", name="main").click()
    assert "work" in frames(page)


def test_keys_move_and_zoom_and_the_frame_is_said_with_both_sides(page: Page) -> None:
    view, heard, tip = page.locator("#part-1 .flame-view"), page.locator("[aria-live]"), page.locator(".tip")
    view.focus()
    said = []
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight", "ArrowDown", "ArrowUp"):
        view.press(key)
        said.append(heard.inner_text().partition(",")[0])
    assert said == ["all", "app:main", "app:work", "docs:<module>", "lib:f", "docs:<module>"]
    assert page.locator("#part-1 .is-current").count() == 1
    assert tip.inner_text().split("\n") == [
        "docs:<module>",
        "docs.py:1",
        "total per run: +200 ms (0.00 ms with 1.0, 200 ms with 2.0)",
        "self per run: 0.00 ms (0.00 ms with 1.0, 0.00 ms with 2.0)",
    ]
    view.press("Enter")
    assert "work" not in frames(page)
    view.press("Escape")
    assert "work" in frames(page)


def test_a_search_marks_matches_and_counts_no_time_twice_and_widths_can_be_the_baselines(page: Page) -> None:
    search, told = page.locator("#part-1 input[type=search]"), page.locator("#part-1 [role=status]")
    search.fill("DOCS")
    assert told.inner_text() == (
        "1 frame matches: 44.4% of the time (200 ms per run) with 2.0, 0.0% of the time (0.00 ms per run) with 1.0"
    )
    assert page.locator("#part-1 rect.is-match").count() == 1
    search.fill("app:")  # main holds work
    assert "3 frames match: 100.0% of the time (450 ms per run) with 2.0" in told.inner_text()
    frame(page, "import docs").click()
    assert serious_faults(page) == []
    page.get_by_role("button", name="Show all").first.click()
    assert told.inner_text() == ""
    assert page.locator("#part-1 rect.is-match").count() == 0
    assert not any(each.startswith("gone") for each in frames(page))
    page.get_by_role("button", name="Widths: 1.0").click()
    assert "gone -50.0 ms" in frames(page)


def test_hostile_names_are_shown_and_execute_nothing(opened: Open, path: Path) -> None:
    one = opened(path)
    one.page.get_by_role("tab", name="Hostile").click()
    view, tip = one.page.locator("#part-2 .flame-view"), one.page.locator(".tip")
    view.locator("text").last.wait_for()
    assert view.locator("text").nth(1).text_content() == clipped(HOSTILE_NAME)
    for _ in range(3):
        view.press("ArrowDown")
    assert tip.inner_text().startswith("</script><script>document.title='broken'</script>:")
    for each in (view, tip, one.page.locator(".heard")):
        assert each.locator("script, img").count() == 0
    assert one.page.title() == "A profile"
    assert one.complaints == []


def test_without_script_the_table_has_the_figures(opened: Open, path: Path) -> None:
    page = opened(path, java_script_enabled=False).page
    assert page.locator("#part-1 .flame-view").is_hidden()
    assert page.locator("#part-1 .without-script").is_visible()
    page.locator("#part-1 .figures > summary").click()
    assert page.locator("#part-1 .figures tbody th").first.inner_text() == "import docs"
