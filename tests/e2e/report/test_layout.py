"""The layout of every kind of page, measured in a browser on wide and narrow screens, in light and dark colours."""

from pathlib import Path

import pytest
from playwright.sync_api import Page

from s3bench.report.page.fitting import PAGE_BYTES_MAX
from tests.e2e.report.browsing import Open, Opened, Rules, serious_faults
from tests.e2e.report.conftest import PageOfKind
from tests.report.page.kinds import PAGES, one_cell_page

SCREENS = ((1280, "light"), (400, "dark"))
# All kinds share their colours, which test_page.py looks at: their contrast in every kind is for `--all`, and so is the
# wide screen. On the narrow one tables scroll.
ACCESSIBLE = [
    *(pytest.param(kind, SCREENS[-1], Rules.ALL_BUT_CONTRAST, id=kind) for kind in PAGES),
    *(
        pytest.param(kind, screen, Rules.ALL, id=f"{kind}-{screen[1]}", marks=pytest.mark.campaign)
        for kind in PAGES
        for screen in SCREENS
    ),
]
OPEN_ALL = """() => {
  for (const each of document.querySelectorAll("details")) each.open = true;
  for (const each of document.querySelectorAll(".is-away")) each.classList.remove("is-away");
}"""
FAULTS = """() => {
  const faults = [];
  const column = document.querySelector("main").getBoundingClientRect();
  for (const chart of document.querySelectorAll("svg.chart")) {
    const frame = chart.getBoundingClientRect();
    if (!frame.width) continue;
    const name = chart.closest("figure").querySelector(".title").textContent;
    if (frame.left < column.left - 1 || frame.right > column.right + 1) faults.push(`${name}: beyond the column`);
    const texts = [...chart.querySelectorAll("text")].filter((each) => each.textContent.trim());
    const boxes = texts.map((each) => each.getBoundingClientRect());
    boxes.forEach((box, place) => {
      const words = texts[place].textContent;
      if (box.left < frame.left - 1 || box.right > frame.right + 1
          || box.top < frame.top - 1 || box.bottom > frame.bottom + 1) faults.push(`${name}: cut: ${words}`);
      if (/~[0-9a-f]{8}$|…$/.test(words)) faults.push(`${name}: not whole: ${words}`);
      for (let other = 0; other < place; other += 1) {
        const across = Math.min(box.right, boxes[other].right) - Math.max(box.left, boxes[other].left);
        const down = Math.min(box.bottom, boxes[other].bottom) - Math.max(box.top, boxes[other].top);
        if (across > 1 && down > 3) faults.push(`${name}: '${words}' over '${texts[other].textContent}'`);
      }
    });
  }
  return faults;
}"""


def faults(page: Page) -> list[str]:
    found: list[str] = page.evaluate(FAULTS)
    return found


def test_no_label_is_cut_or_covered_and_nothing_scrolls_sideways(page_of_kind: PageOfKind, opened_kind: Opened) -> None:
    assert page_of_kind.path.stat().st_size < PAGE_BYTES_MAX
    page = opened_kind.page
    assert page.locator(".answer").is_visible()
    page.evaluate(OPEN_ALL)
    for width, scheme in SCREENS:
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)
        assert faults(page) == [], (page_of_kind.kind, width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(("page_of_kind", "screen", "rules"), ACCESSIBLE, indirect=["page_of_kind"])
@pytest.mark.usefixtures("page_of_kind")
def test_axe_finds_nothing_serious(screen: tuple[int, str], rules: Rules, opened_kind: Opened) -> None:
    width, scheme = screen
    page = opened_kind.page
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme)
    page.evaluate(OPEN_ALL)
    assert serious_faults(page, rules) == []


@pytest.mark.parametrize("page_of_kind", ["trend"], indirect=True)
def test_the_measurement_finds_labels_that_are_cut_and_covered(page_of_kind: PageOfKind, opened: Open) -> None:
    page = opened(page_of_kind.path).page
    page.evaluate("document.querySelector('svg.wide text').setAttribute('x', '-400')")
    page.evaluate("const [, a, b] = document.querySelectorAll('svg.wide text'); b.replaceWith(a.cloneNode(true))")
    assert {"cut" in each for each in faults(page)} == {True, False}


def test_a_map_of_one_cell_is_a_sentence(opened: Open, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(one_cell_page().html, encoding="utf-8")
    page = opened(path).page
    assert page.locator("svg.chart").count() == 0
    assert "with objects of 1 MiB on 8 threads" in page.locator(".answer").inner_text()


@pytest.mark.parametrize("page_of_kind", ["bisect"], indirect=True)
def test_without_script_the_answer_and_the_charts_are_there(page_of_kind: PageOfKind, opened: Open) -> None:
    page = opened(page_of_kind.path, java_script_enabled=False).page
    assert page.locator(".answer").inner_text().startswith("FOUND cli-crt 2.41.0 is the first that changed total_time")
    assert page.locator("svg.wide").first.is_visible()
    assert page.locator("svg.narrow").first.is_hidden()
