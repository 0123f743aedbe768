"""Markdown shows every text as it is."""

import pytest

from s3bench.report.markdown import cell, code, escaped, fenced_lines, folded_lines, list_lines, table_lines


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
    assert [cell(text) for text in ("8.00 s", "-", "+12", "> 4.2 s")] == ["8.00 s", "-", "+12", "&#62; 4.2 s"]


def test_code_is_in_backticks_unless_they_do_harm() -> None:
    assert code("cli@2.38.5 defaults") == "`cli@2.38.5 defaults`"
    assert code("a`b|c") == "<code>a&#96;b&#124;c</code>"


def test_a_fence_is_longer_than_any_in_the_lines() -> None:
    assert list(fenced_lines(["a ```` b"], language="sh")) == ["`````sh", "a ```` b", "`````"]
    assert list(fenced_lines(["a"], language="sh")) == ["```sh", "a", "```"]


def test_a_table_has_its_texts_to_the_left() -> None:
    assert list(table_lines(["a", "b"], [("x", "1")], texts=frozenset({0}))) == [
        "| a | b |", "| --- | ---: |", "| x | 1 |",
    ]  # fmt: skip


def test_nothing_to_fold_away_is_nothing() -> None:
    assert list(folded_lines("title", [])) == []
    assert list_lines([]) == ()
