"""Whole numbers in logs: sizes, times and counts."""

_DIGITS_MAX = 18  # below 2**63


def whole_number(text: str) -> int | None:
    """The number that `text` is, without a sign; `None` for any other text."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _DIGITS_MAX else None
