"""The part of a log that is used, by times, offsets and lengths."""

import pytest

from s3bench.errors import BadInput
from s3bench.load.access_log.logged_request import LoggedRequest
from s3bench.load.access_log.time_selection import LogTime, TimeSelection, parse_log_time
from s3bench.units import BadQuantity

NOON_S = 1_772_366_400.0  # 2026-03-01T12:00:00Z
LOG = [LoggedRequest(at_s=NOON_S + minute * 60, kind=None, operation="x") for minute in range(60)]


def minutes(selection: TimeSelection) -> list[int]:
    return [round(request.at_s - NOON_S) // 60 for request in selection.of(LOG)]


@pytest.mark.parametrize(
    ("since", "until", "length_s", "first", "last"),
    [
        (None, None, None, 0, 59),
        ("2026-03-01T12:10:00Z", None, None, 10, 59),
        ("2026-03-01 12:10", "2026-03-01T13:20:00+01:00", None, 10, 19),
        ("10m", "1h", None, 10, 59),
        ("10m", None, 120.0, 10, 11),
        (None, None, 120.0, 0, 1),
        (None, "30m", None, 0, 29),
    ],
)
def test_requests_are_selected_by_times_and_offsets(
    since: str | None, until: str | None, length_s: float | None, first: int, last: int
) -> None:
    selection = TimeSelection(
        since=(since and parse_log_time(since)) or None,
        until=(until and parse_log_time(until)) or None,
        length_s=length_s,
    )
    assert minutes(selection) == list(range(first, last + 1))


def test_an_end_before_the_beginning_is_refused() -> None:
    with pytest.raises(BadInput, match="--to is not after --from"):
        minutes(TimeSelection(since=parse_log_time("10m"), until=parse_log_time("5m")))


def test_a_bare_number_is_an_offset_in_seconds() -> None:
    assert parse_log_time("90") == LogTime(seconds=90.0, is_offset=True)


def test_what_is_no_time_is_refused_with_one() -> None:
    with pytest.raises(BadQuantity, match="2026-03-01T12:00:00Z"):
        parse_log_time("yesterday")
