"""The layout of every kind of page, measured in a browser on wide and narrow screens, in light and dark colours."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page

from s3bench.report.page.fitting import PAGE_BYTES_MAX
from tests.e2e.report.browsing import Open, serious_faults
from tests.report.page.kinds import PAGES, one_cell_page

SCREENS = ((1280, "light"), (400, "dark"))
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


@pytest.mark.parametrize("kind", PAGES)
def test_no_label_is_cut_or_covered_and_nothing_scrolls_sideways(kind: str, opened: Open, tmp_path: Path) -> None:
    path = _written(PAGES[kind], tmp_path)
    assert path.stat().st_size < PAGE_BYTES_MAX
    page = opened(path).page
    assert page.locator(".answer").is_visible()
    page.evaluate(OPEN_ALL)
    for width, scheme in SCREENS:
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)
        assert faults(page) == [], (kind, width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert serious_faults(page) == [], (kind, width, scheme)


def test_the_measurement_finds_labels_that_are_cut_and_covered(opened: Open, tmp_path: Path) -> None:
    page = opened(_written(PAGES["trend"], tmp_path)).page
    page.evaluate("document.querySelector('svg.wide text').setAttribute('x', '-400')")
    page.evaluate("const [, a, b] = document.querySelectorAll('svg.wide text'); b.replaceWith(a.cloneNode(true))")
    assert {"cut" in each for each in faults(page)} == {True, False}


def test_a_map_of_one_cell_is_a_sentence(opened: Open, tmp_path: Path) -> None:
    page = opened(_written(one_cell_page, tmp_path)).page
    assert page.locator("svg.chart").count() == 0
    assert "with objects of 1 MiB on 8 threads" in page.locator(".answer").inner_text()


def test_without_script_the_answer_and_the_charts_are_there(opened: Open, tmp_path: Path) -> None:
    page = opened(_written(PAGES["bisect"], tmp_path), java_script_enabled=False).page
    assert page.locator(".answer").inner_text().startswith("FOUND cli-crt 2.41.0 is the first that changed total_time")
    assert page.locator("svg.wide").first.is_visible()
    assert page.locator("svg.narrow").first.is_hidden()


def _written(page: Callable[[], str], directory: Path) -> Path:
    path = directory / "page.html"
    path.write_text(page(), encoding="utf-8")
    return path
