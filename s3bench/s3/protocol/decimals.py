"""Parses decimal numbers in requests, strictly.

All numbers that a client sends in decimal digits go through here. Python's int() takes signs, blanks, underscores and
the digits of every script, and raises `ValueError` for more than 4,300 digits.
"""

DECIMAL_MAX = 2**63
"""Given for this number and all larger ones. It is above every limit that a number in a request is compared with."""

_DIGITS_MAX = len(str(DECIMAL_MAX))


def parse_decimal(text: str) -> int | None:
    """Parse `1*DIGIT` (RFC 9110 8.6), at most `DECIMAL_MAX`; `None` for anything else, such as an empty text or +5."""
    if not (text.isascii() and text.isdigit()):
        return None
    digits = text.lstrip("0") or "0"
    return DECIMAL_MAX if len(digits) > _DIGITS_MAX else min(int(digits), DECIMAL_MAX)
