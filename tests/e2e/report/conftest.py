"""A real browser for the pages of `s3bench report`, over file://, and a page of each kind, rendered once."""

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from s3bench.report.page.section import Section
from tests.e2e.report.browsing import Open, Opened
from tests.report.page.kinds import PAGES, RenderedPage

CHROMIUMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The first that is installed is used: Chromium without a user interface of its own takes half the time."""

Tab = Callable[[str], Page]


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
def tab(browser: Browser) -> Tab:
    """Tabs by what they are for. Each shows one file after another: to open a tab takes most of a test."""
    return cache(lambda purpose: browser.new_page(java_script_enabled=purpose != "without script"))


@contextmanager
def _showing(page: Page, path: Path) -> Iterator[Opened]:
    """The file in this tab; afterwards nothing of it is left there."""
    one = Opened(page)
    listeners = {
        "request": lambda request: one.requests.append(request.url),
        "console": lambda message: one.complaints.append(message.text),
        "pageerror": lambda error: one.complaints.append(str(error)),
    }
    for event, listener in listeners.items():
        page.on(event, listener)  # type: ignore[call-overload]  # (by any name)
    page.goto(path.as_uri())
    yield one
    page.mouse.move(0, 0)
    page.goto("about:blank")
    for event, listener in listeners.items():
        page.remove_listener(event, listener)


@pytest.fixture
def opened(tab: Tab) -> Iterator[Open]:
    """Opens files, one at a time: a further one takes the place of the former."""
    with ExitStack() as shown:

        def open_page(
            path: Path,
            *,
            width: int = 1200,
            color_scheme: Literal["light", "dark"] = "light",
            java_script_enabled: bool = True,
        ) -> Opened:
            shown.close()
            page = tab("one test" if java_script_enabled else "without script")
            page.set_viewport_size({"width": width, "height": 800})
            page.emulate_media(media="screen", color_scheme=color_scheme)
            return shown.enter_context(_showing(page, path))

        yield open_page


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
def opened_kind(page_of_kind: PageOfKind, tab: Tab) -> Iterator[Opened]:
    """The page of a kind in the browser, for all tests that change no more of it than screen, colours and what is open.

    A test sets the screen and the colours that it needs.
    """
    page = tab("a kind")
    page.set_viewport_size({"width": 1200, "height": 800})
    with _showing(page, page_of_kind.path) as one:
        yield one
