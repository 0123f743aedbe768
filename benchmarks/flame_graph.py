#!/usr/bin/env python3
"""How large a flame graph of 5,000 distinct stacks is, how long it takes to make, and to draw in Chromium.

Makes profiles of up to 60 frames a stack, one alone and two against each other, and opens their pages over file://.
"drawn" is from the start of the navigation to the first picture after the graph is there; "zoom" and "search" are a
click and a letter, with the picture after it. Medians of five. The bars: 400 KB a page, drawn in less than a second.
"""

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1]))

from s3bench.report.page.page import render_page
from s3bench.report.page.profile.section import profile_section
from tests.report.page.profile.stack_profiles import large_profile

SIZE_BYTES_MAX = 400_000
DRAWN_MS_MAX = 1_000
STACKS = (500, 5_000)
ROUNDS = 5
CHROMIUMS = ("chromium", "chromium-browser", "google-chrome")
WATCH = """
addEventListener("DOMContentLoaded", () => new MutationObserver((_, watch) => {
  if (!document.querySelector(".flame-view svg")) return;
  watch.disconnect();
  requestAnimationFrame(() => setTimeout(() => { document.documentElement.dataset.drawnMs = performance.now(); }));
}).observe(document.body, { childList: true, subtree: true }));
"""
ACT = """(action) => new Promise((done) => {
  const started = performance.now();
  if (action === "zoom") {
    const wide = [...document.querySelectorAll(".flame-view rect")].filter((rect) => rect.y.baseVal.value > 36);
    wide[0].dispatchEvent(new MouseEvent("click", { bubbles: true }));
  } else {
    const input = document.querySelector(".flame-controls input");
    input.value = "loader";
    input.dispatchEvent(new Event("input"));
  }
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - started)));
})"""


def times_ms(browser: Browser, file: Path) -> dict[str, float]:
    """The medians of drawing, searching and zooming."""
    found: dict[str, list[float]] = {"drawn": [], "search": [], "zoom": []}
    for _ in range(ROUNDS):
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.add_init_script(WATCH)
        page.goto(file.as_uri())
        drawn_ms = page.locator("html[data-drawn-ms]").get_attribute("data-drawn-ms")
        found["drawn"].append(float(drawn_ms or "nan"))
        found["search"].append(page.evaluate(ACT, "search"))
        found["zoom"].append(page.evaluate(ACT, "zoom"))
        page.close()
    return {name: statistics.median(each) for name, each in found.items()}


def main() -> int:
    """Print a line for each page; 1 when a bar is missed."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    chromium = next(filter(None, map(shutil.which, CHROMIUMS)), None)
    if chromium is None:
        print("no Chromium on the PATH: install your system's chromium package", file=sys.stderr)
        return 2
    is_missed = False
    print("stacks  profiles  made [s]    bytes  drawn [ms]  search [ms]  zoom [ms]")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as directory:
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=chromium, args=sandbox)
        for stacks in STACKS:
            baseline, candidate = large_profile(stacks), large_profile(stacks, seed=2, slower=1.5)
            for other in (None, baseline):
                started_s = time.perf_counter()
                html = render_page("A profile", [profile_section("s3.ls", candidate, other)])
                made_s = time.perf_counter() - started_s
                file = Path(directory) / "page.html"
                size_bytes = file.write_text(html, encoding="utf-8")
                took = times_ms(browser, file)
                print(
                    f"{stacks:6,}  {1 if other is None else 2:8}  {made_s:8.2f}  {size_bytes:7,}"
                    f"  {took['drawn']:10.0f}  {took['search']:11.0f}  {took['zoom']:9.0f}"
                )
                is_missed |= size_bytes >= SIZE_BYTES_MAX or took["drawn"] >= DRAWN_MS_MAX
        browser.close()
    return int(is_missed)


if __name__ == "__main__":
    sys.exit(main())
