"""Decimal numbers, against the grammar of RFC 9110 and against Python's own int()."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3bench.s3.protocol.decimals import DECIMAL_MAX, parse_decimal


@pytest.mark.parametrize(
    "text", ["", " ", "+5", "-5", " 5", "5 ", "5\n", "1_0", "5.0", "0x5", "1e3", "\u0663", "\u00b2"]
)
def test_what_int_takes_and_the_grammar_does_not_is_no_number(text: str) -> None:
    assert parse_decimal(text) is None


@pytest.mark.parametrize("digits", [20, 4300, 4301, 60_000])
def test_numbers_of_any_length_are_read_without_an_error(digits: int) -> None:
    assert parse_decimal("9" * digits) == DECIMAL_MAX
    assert parse_decimal("0" * digits + "7") == 7


@given(st.integers(0, 10**22))
def test_a_number_is_itself_or_the_largest(number: int) -> None:
    assert parse_decimal(str(number)) == min(number, DECIMAL_MAX)
