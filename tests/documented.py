"""The code blocks of the README, of docs/ and of examples/, and the command lines that they let a reader type."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = (
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").rglob("*.md")),
    *sorted((ROOT / "examples").rglob("*.sh")),
)
_BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"(^| {2,})#[ !].*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A fenced code block: what follows the fence, and the lines between."""

    language: str
    text: str


def blocks_of(page: Path) -> Iterator[Block]:
    """The code blocks of a page; a script is one block."""
    if page.suffix == ".sh":
        yield Block(language="sh", text=page.read_text(encoding="utf-8"))
        return
    for _, language, text in _BLOCK.findall(page.read_text(encoding="utf-8")):
        yield Block(language=language, text=text)


def lines_of(page: Path) -> Iterator[str]:
    """The command lines of a page without comments and prompts; a continued line is one line."""
    for block in blocks_of(page):
        if block.language in {"sh", "console"}:
            yield from command_lines(block)


def command_lines(block: Block) -> Iterator[str]:
    """The command lines of a block: all lines of `sh`, and those with a prompt of `console`."""
    prompt = "$ " if block.language == "console" else ""
    for line in re.sub(r" *\\\n *", " ", block.text).splitlines():
        typed = _COMMENT.sub("", line.removeprefix(prompt)).strip()
        if line.startswith(prompt) and typed:
            yield typed
