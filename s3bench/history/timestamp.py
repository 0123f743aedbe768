"""Converts times to and from those of the database: milliseconds since 1970, UTC."""

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def milliseconds_of(at: datetime) -> int:
    """The time `at` in whole milliseconds; without a time zone it is taken as UTC."""
    aware = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return (aware - _EPOCH) // _MILLISECOND


def time_of(milliseconds: int) -> datetime:
    """The time of `milliseconds`. Raises `OverflowError` outside of the years 1 to 9999."""
    return _EPOCH + milliseconds * _MILLISECOND


def parse_milliseconds(text: str) -> int:
    """Parse ISO 8601. Raises `ValueError` for anything else, and for a time that `time_of` cannot convert."""
    milliseconds = milliseconds_of(datetime.fromisoformat(text))
    try:
        time_of(milliseconds)
    except OverflowError as error:
        raise ValueError(f"{text!r} is outside of the years 1 to 9999") from error
    return milliseconds
