"""Markdown shows every text as it is."""

import pytest

from s3bench.report.markdown import code, escaped, fenced_lines, folded_lines, list_lines, row_lines, table_lines
from s3bench.report.table import Table, Tone, column


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1. first", "&#49;. first"),
        ("- item", "&#45; item"),
        ("+12", "&#43;12"),
        ("a_b _c_", "a_b &#95;c&#95;"),
        ("a|b", "a&#124;b"),
        ("mail@2.38.5", "mail&#64;<!-- -->2.38.5"),
        ("two\nlines ", "two lines"),
    ],
)
def test_a_sentence_has_no_marks(text: str, shown: str) -> None:
    assert escaped(text) == shown


def test_figures_in_a_cell_stay_as_they_are() -> None:
    cells = [*row_lines(Table(columns=(column("a", ("8.00 s", "-", "+12", "> 4.2 s"), str),)))]
    assert cells == ["| 8.00 s |", "| - |", "| +12 |", "| &#62; 4.2 s |"]


@pytest.mark.parametrize("text", [":smile:", "https://example.com", ":100:"])
def test_colons_make_no_emoji_and_no_link(text: str) -> None:
    assert escaped(text).count("&#58;") == 1


def test_times_of_day_keep_their_colons() -> None:
    assert escaped("2026-11-21T00:00:00") == "2026-11-21T00:00:00"


def test_code_is_in_backticks_unless_they_do_harm() -> None:
    assert code("cli@2.38.5 defaults") == "`cli@2.38.5 defaults`"
    assert code("a`b|c") == "<code>a&#96;b&#124;c</code>"


def test_a_fence_is_longer_than_any_in_the_lines() -> None:
    assert list(fenced_lines(["a ```` b"], language="sh")) == ["`````sh", "a ```` b", "`````"]
    assert list(fenced_lines(["a"], language="sh")) == ["```sh", "a", "```"]


def test_a_table_has_its_numbers_to_the_right_and_its_notes_beneath() -> None:
    columns = (column("a", ("x",), str, is_code=True), column("b", ("1",), str, is_number=True))
    assert list(table_lines(Table(columns=columns, notes=("b: medians",)))) == [
        "| a | b |", "| --- | ---: |", "| `x` | 1 |", "", "b: medians",
    ]  # fmt: skip


def test_a_cell_with_a_tone_is_bold_with_all_that_follows_its_text() -> None:
    failed = column("a", ("x",), str, more=lambda _: " (of 3)", tone=lambda _: Tone.BAD, is_code=True)
    assert list(row_lines(Table(columns=(failed,)))) == ["| **`x` (of 3)** |"]


def test_nothing_to_fold_away_is_nothing() -> None:
    assert list(folded_lines("title", [])) == []
    assert list_lines([]) == ()
