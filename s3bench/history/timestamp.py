"""Moments as the database keeps them: milliseconds since 1970, UTC."""

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def milliseconds_of(at: datetime) -> int:
    """The moment `at`, cut to its millisecond; without a time zone it is taken as UTC."""
    aware = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return (aware - _EPOCH) // _MILLISECOND


def moment_of(milliseconds: int) -> datetime:
    """The other way round. Raises `OverflowError` outside of the years 1 to 9999."""
    return _EPOCH + milliseconds * _MILLISECOND


def parse_milliseconds(text: str) -> int:
    """Read ISO 8601. Raises `ValueError` for anything else, and for a moment that cannot be given back."""
    milliseconds = milliseconds_of(datetime.fromisoformat(text))
    try:
        moment_of(milliseconds)
    except OverflowError as error:
        raise ValueError(f"{text!r} lies outside of the years 1 to 9999") from error
    return milliseconds
