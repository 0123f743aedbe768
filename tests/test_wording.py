"""The words of docs, help, messages and docstrings: none of the sentences that made readers stop, and short lines."""

import re
from pathlib import Path

import pytest

from tests.documented import ROOT

PROSE = (
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
)
SOURCES = (
    *sorted((ROOT / "s3bench").rglob("*.py")),
    *(path for path in sorted((ROOT / "examples").rglob("*")) if path.suffix in {".py", ".md", ".yml", ".yaml", ".sh"}),
)
LINE_CHARACTERS_MAX = 120

STOPPERS = (
    # of docs
    "doubt travels",
    "only what ended well",
    "it says when it was itself the limit",
    "goes on only with what is undecided",
    "since when is a figure different",
    "; none counts",
    "are asked for once",
    "contents follow from",
    "sizes as they are found",
    "what finds no thread waits",
    "and is told",
    "are told as",
    "for nothing",
    "gave out",
    "the words say so",
    "days want runs",
    "matters to nobody",
    "pass is earned",
    "earn its pass",
    "take a fail as a question",
    "what cannot be told",
    "held against",
    "is no difference of benchmark",
    "has no better way",
    "what speaks against it",
    "take the luck of a single run",
    "one has to be named",
    "shows who works",
    "too narrowly",
    "is told by its identity",
    "are two stories",
    "it means to us what any other does",
    "is told with that doubt",
    "a ramp is told as steps",
    "in the way of the s3-benchmark tools",
    "came and went between",
    "what counts is tallies",
    # of messages and help
    "it is not said as what",
    "charts are of the page",
    "goes without",
    "are the stub's",
    "is no promise",
    "nothing says what is to go",
    "is none of aws-cli's",
    "is known to",
    "of the client's outlived",
    "with moods",
    "whether ray is well",
    "ended well",
    "not kept; with -o",
    "stop what else runs",
    "such as: ",
    "how hard",
    # of docstrings and comments
    "whole run and bounds are good for",
    "costs a version its place",
    "whoever looks several times",
    "freed of the mood",
    "came to nothing",
    "no lost time tells of",
    "what an heir does",
    "whoever waits for a time",
    "leaves no riddle",
    "keep company",
    "search for garbage",
    "what stays of it",
    "each step said once",
)
"""The distinctive part of each sentence."""

_CONTINUED = re.compile(r"""["']\s*\n\s*[fr]?["']""")


def flowing(text: str) -> str:
    """Text without line ends and the quotes between the parts of one string, in lower case."""
    return " ".join(_CONTINUED.sub("", text).replace("#", " ").split()).lower()


def test_no_sentence_is_left_that_made_a_reader_stop() -> None:
    texts = {path: flowing(path.read_text(encoding="utf-8")) for path in (*PROSE, *SOURCES)}
    assert [(path.name, phrase) for path, text in texts.items() for phrase in STOPPERS if phrase in text] == []


@pytest.mark.parametrize("path", PROSE, ids=lambda path: str(path.relative_to(ROOT)))
def test_lines_of_prose_are_short(path: Path) -> None:
    long = [
        line
        for line in path.read_text(encoding="utf-8").splitlines()
        if len(line) > LINE_CHARACTERS_MAX and not line.lstrip().startswith("|") and not is_one_url(line)
    ]
    assert long == []


def is_one_url(line: str) -> bool:
    """Whether a line is a URL that cannot be broken, with nothing before it but the mark of a list."""
    return re.fullmatch(r"\s*(- )?\S*https?://\S+", line) is not None


def test_a_sentence_across_lines_and_strings_is_found() -> None:
    assert "what gave out" in flowing('("what " \n    f"gave out")')
    assert "held against" in flowing("# held\n    # against")
