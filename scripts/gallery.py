#!/usr/bin/env python3
"""Makes the pictures of docs/gallery.md: the top of a page of each kind, from the figures that the tests use.

Run it as `.venv/bin/python scripts/gallery.py` after `scripts/install`; it needs a Chromium on the PATH.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.e2e.report.conftest import CHROMIUMS  # noqa: E402 (needs the path above)
from tests.report.page.kinds import PAGES  # noqa: E402

FOLDER = ROOT / "docs" / "gallery"
SIZE_BYTES_MAX = 150_000
VIEW = {"width": 1160, "height": 700}
NARROW_VIEW = {"width": 400, "height": 720}
DARK = "load"
NARROW = "gate"


def main() -> int:
    """Write a picture of each kind; 1 where one is larger than it may be."""
    chromium = next(filter(None, map(shutil.which, CHROMIUMS)), None)
    if chromium is None:
        print("no Chromium on the PATH: install your system's chromium package", file=sys.stderr)
        return 2
    FOLDER.mkdir(exist_ok=True)
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as directory:
        browser = playwright.chromium.launch(executable_path=chromium, args=[*sandbox, "--disable-lcd-text"])
        for kind, make in PAGES.items():
            page = Path(directory) / f"{kind}.html"
            page.write_text(make().html, encoding="utf-8")
            picture(browser, page, FOLDER / f"{kind}.png", view=VIEW)
            if kind == DARK:
                picture(browser, page, FOLDER / f"{kind}-dark.png", view=VIEW, scheme="dark")
            if kind == NARROW:
                picture(browser, page, FOLDER / f"{kind}-narrow.png", view=NARROW_VIEW)
        browser.close()
    large = [path.name for path in FOLDER.glob("*.png") if path.stat().st_size > SIZE_BYTES_MAX]
    print(f"too large: {', '.join(large)}" if large else f"{len(PAGES)} kinds of pages in {FOLDER.relative_to(ROOT)}")
    return int(bool(large))


def picture(browser: Browser, page: Path, to: Path, *, view: dict[str, int], scheme: str = "light") -> None:
    """Take a picture of the top of a page."""
    shown = browser.new_page(viewport=view, color_scheme=scheme)  # type: ignore[arg-type]  # (a viewport and a scheme)
    shown.goto(page.as_uri())
    shown.screenshot(path=to)
    shown.close()


if __name__ == "__main__":
    sys.exit(main())
