"""Untrusted text as it is shown: nothing in it steers a terminal or reorders a line, and JSON stays the same JSON."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3bench.visible import visible, visible_styled

_TITLE, _CLEAR, _RED = "\x1b]0;title\x07", "\x1b[2J", "\x1b[31m"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (_TITLE, "\\u001b]0;title\\u0007"),
        ("\x9b2J\x7f", "\\u009b2J\\u007f"),
        ("a\u202eb\u2066c\u200fd\u061c", "a\\u202eb\\u2066c\\u200fd\\u061c"),
        ("\u2028\u2029", "\\u2028\\u2029"),
        ("\udcff", "\\udcff"),
        ("over\rwritten\r\n", "over\\u000dwritten\r\n"),
        ("::error::x\n  ::stop-commands::y\na ::1", "\\u003a:error::x\n  \\u003a:stop-commands::y\na ::1"),
        ("##[error]x ## [", "\\u0023#[error]x ## ["),
        ("tab\tline\nümläut 日本語 🦀", "tab\tline\nümläut 日本語 🦀"),
    ],
)
def test_controls_are_shown_and_other_text_stays(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_styles_stay_where_they_are_wanted_and_nothing_else_does() -> None:
    assert visible_styled(f"{_RED}red\x1b[0m{_CLEAR}{_TITLE}") == (f"{_RED}red\x1b[0m\\u001b[2J\\u001b]0;title\\u0007")
    assert "\x1b" not in visible(_RED)


@given(st.text())
def test_json_keeps_its_meaning(text: str) -> None:
    shown = visible(json.dumps([text, {text: 1}], ensure_ascii=False, indent=1))
    assert json.loads(shown) == [text, {text: 1}]
    assert re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]", shown) is None


@given(st.text())
def test_what_is_visible_is_shown_as_it_is(text: str) -> None:
    assert visible(visible(text)) == visible(text)
