"""A real browser for the pages of `s3bench report`, over file://, and a page of each kind, rendered once."""

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from s3bench.report.page.section import Section
from tests.e2e.report.browsing import Open, Opened
from tests.report.page.kinds import PAGES, RenderedPage

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


@pytest.fixture(scope="session")
def context(browser: Browser) -> Iterator[BrowserContext]:
    """One for all pages without options of their own: each new one starts a process, which takes most of a test."""
    with browser.new_context() as context:
        yield context


def _opened(page: Page, path: Path) -> Opened:
    one = Opened(page)
    page.on("request", lambda request: one.requests.append(request.url))
    page.on("console", lambda message: one.complaints.append(message.text))
    page.on("pageerror", lambda error: one.complaints.append(str(error)))
    page.goto(path.as_uri())
    return one


@pytest.fixture
def opened(browser: Browser, context: BrowserContext) -> Iterator[Open]:
    pages: list[Opened] = []

    def open_page(path: Path, *, width: int = 1200, **options: object) -> Opened:
        page = browser.new_page(**options) if options else context.new_page()  # type: ignore[arg-type]  # (its own)
        page.set_viewport_size({"width": width, "height": 800})
        one = _opened(page, path)
        pages.append(one)
        return one

    yield open_page
    for each in pages:
        each.page.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class PageOfKind:
    """The file of a page of this kind, and the sections that it was rendered from."""

    kind: str
    sections: Sequence[Section]
    path: Path


@cache
def _rendered(kind: str) -> RenderedPage:
    return PAGES[kind]()


@pytest.fixture(scope="session", params=PAGES)
def page_of_kind(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> PageOfKind:
    page = _rendered(request.param)
    path = tmp_path_factory.mktemp(request.param) / "page.html"
    path.write_text(page.html, encoding="utf-8")
    return PageOfKind(kind=request.param, sections=page.sections, path=path)


@pytest.fixture(scope="session")
def opened_kind(page_of_kind: PageOfKind, context: BrowserContext) -> Iterator[Opened]:
    """The page of a kind in the browser, for all tests that change no more of it than screen, colours and what is open.

    A test sets the screen and the colours that it needs.
    """
    page = context.new_page()
    page.set_viewport_size({"width": 1200, "height": 800})
    yield _opened(page, page_of_kind.path)
    page.close()
