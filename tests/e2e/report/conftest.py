"""A real browser for the pages of `s3bench report`, over file://."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.e2e.report.browsing import Open, Opened

CHROMIUMS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    found = next(filter(None, map(shutil.which, CHROMIUMS)), None)
    if found is None:
        pytest.skip("no Chromium: install your system's chromium package")
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=sandbox)
        yield browser
        browser.close()


@pytest.fixture
def opened(browser: Browser) -> Iterator[Open]:
    pages: list[Opened] = []

    def open_page(path: Path, *, width: int = 1200, **options: object) -> Opened:
        page = browser.new_page(viewport={"width": width, "height": 800}, **options)  # type: ignore[arg-type]  # (its own)
        one = Opened(page)
        page.on("request", lambda request: one.requests.append(request.url))
        page.on("console", lambda message: one.complaints.append(message.text))
        page.on("pageerror", lambda error: one.complaints.append(str(error)))
        page.goto(path.as_uri())
        pages.append(one)
        return one

    yield open_page
    for each in pages:
        each.page.close()
