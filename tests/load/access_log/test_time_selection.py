"""The part of a log that is used, by times and lengths."""

import pytest

from s3bench.errors import BadInput
from s3bench.load.access_log.logged_request import LoggedRequest
from s3bench.load.access_log.time_selection import TimeSelection

NOON_S = 1_772_366_400.0  # 2026-03-01T12:00:00Z
LOG = [LoggedRequest(at_s=NOON_S + minute * 60, kind=None, operation="x") for minute in range(60)]


def minutes(selection: TimeSelection) -> list[int]:
    return [round(request.at_s - NOON_S) // 60 for request in selection.of(LOG)]


def begun(selection: TimeSelection, log: list[LoggedRequest]) -> TimeSelection:
    return selection.from_earliest(log) if selection.needs_earliest else selection


@pytest.mark.parametrize(
    ("from_minute", "to_minute", "span_s", "first", "last"),
    [
        (None, None, None, 0, 59),
        (10, None, None, 10, 59),
        (10, 20, None, 10, 19),
        (10, None, 120.0, 10, 11),
        (10, 11, 120.0, 10, 10),
        (None, None, 120.0, 0, 1),
        (None, 30, None, 0, 29),
    ],
)
def test_requests_are_selected_by_times_and_lengths(
    from_minute: int | None, to_minute: int | None, span_s: float | None, first: int, last: int
) -> None:
    from_s, to_s = (None if minute is None else NOON_S + minute * 60 for minute in (from_minute, to_minute))
    selection = begun(TimeSelection(from_s=from_s, to_s=to_s, span_s=span_s), LOG)
    assert minutes(selection) == list(range(first, last + 1))


def test_a_length_begins_with_the_earliest_request_wherever_its_line_is() -> None:
    late_first = LOG[30:] + LOG[:30]
    selection = begun(TimeSelection(span_s=120.0), late_first)
    assert [request.at_s - NOON_S for request in selection.of(late_first)] == [0.0, 60.0]


def test_seconds_for_a_log_with_dates_are_refused_with_a_date_of_it() -> None:
    with pytest.raises(BadInput, match="are seconds, and the times of the log are dates") as refused:
        minutes(TimeSelection(from_s=10.0))
    assert "2026-03-01T12:00:00+00:00" in str(refused.value)


def test_dates_for_a_trace_that_counts_seconds_are_refused() -> None:
    trace = [LoggedRequest(at_s=1.5, kind=None, operation="x")]
    with pytest.raises(BadInput, match="the times of the log have none"):
        list(TimeSelection(to_s=NOON_S).of(trace))
