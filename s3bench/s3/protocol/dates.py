"""Reads the dates of HTTP headers, in all three forms of RFC 9110 5.6.7. Pure."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def parse_date(text: str) -> datetime:
    """Read a date; one that names no zone is in UTC, as that of asctime is. Raises `ValueError`, `OverflowError`."""
    at = parsedate_to_datetime(text)
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
