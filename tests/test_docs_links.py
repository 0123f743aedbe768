"""Every relative link in the README and the docs leads to a file, and every anchor to a heading in it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.test_docs_installing import REPOSITORY

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")])
_FENCED = re.compile(r"^```.*?^```$", flags=re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def links(page: str) -> Iterator[str]:
    """The relative links of a page, outside of its code blocks."""
    return (link for link in _LINK.findall(_FENCED.sub("", page)) if not re.match(r"[a-z]+:", link))


def anchors(page: str) -> set[str]:
    """The anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", _FENCED.sub("", page), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.strip()).lower().replace(" ", "-") for heading in headings}


def broken(path: Path) -> list[str]:
    """The links of the page at `path` that lead nowhere."""
    found = []
    for link in links(path.read_text(encoding="utf-8")):
        name, _, anchor = link.partition("#")
        target = path.parent / name if name else path
        if not target.exists() or (anchor and anchor not in anchors(target.read_text(encoding="utf-8"))):
            found.append(link)
    return found


@pytest.mark.parametrize("path", PAGES, ids=[str(path.relative_to(ROOT)) for path in PAGES])
def test_every_relative_link_leads_to_a_file_and_a_heading(path: Path) -> None:
    assert broken(path) == []


def test_a_missing_file_and_a_missing_heading_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# `run`: a title\n[a](#run-a-title) [b](gone.md) [c](page.md#gone) [d](https://example.com/x)\n")
    assert broken(page) == ["gone.md", "page.md#gone"]


def test_the_site_has_every_page_of_the_docs_and_leads_to_the_repository() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert f"repo_url: {REPOSITORY}\n" in text  # links out of docs/ lead there
    navigation = text.partition("\nnav:\n")[2]
    added = {"index.md", "commands.md", "CHANGELOG.md", "CONTRIBUTING.md"}  # by scripts/site_pages.py
    assert set(leaves(yaml.safe_load(navigation))) - added == {path.name for path in (ROOT / "docs").glob("*.md")}


def leaves(tree: object) -> Iterator[str]:
    """The pages of a navigation."""
    for each in tree if isinstance(tree, list) else tree.values() if isinstance(tree, dict) else ():
        yield from [each] if isinstance(each, str) else leaves(each)
