"""The part of a log that is used: from one time to another, or for so long."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from s3bench.errors import BadInput
from s3bench.load.access_log.logged_request import LoggedRequest
from s3bench.units import BadQuantity, parse_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class LogTime:
    """A time in a log: `seconds` since the epoch, or with `is_offset` since the first request of the log."""

    seconds: float
    is_offset: bool

    def at_s(self, first_s: float) -> float:
        """The time as the log has it, whose first request was at `first_s`."""
        return first_s + self.seconds if self.is_offset else self.seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeSelection:
    """The requests from `since` on, and before `until` or for `length_s`; all of them without any."""

    since: LogTime | None = None
    until: LogTime | None = None
    length_s: float | None = None

    def of(self, requests: Iterable[LoggedRequest]) -> Iterator[LoggedRequest]:
        """Yield the selected ones of a log's requests. Raises `BadInput` if it ends before it begins."""
        bounds: tuple[float, float] | None = None
        for request in requests:
            if bounds is None:
                bounds = self._bounds(request.at_s)
            if bounds[0] <= request.at_s < bounds[1]:
                yield request

    def _bounds(self, first_s: float) -> tuple[float, float]:
        since_s = -float("inf") if self.since is None else self.since.at_s(first_s)
        until_s = float("inf") if self.until is None else self.until.at_s(first_s)
        if self.length_s is not None:
            until_s = min(until_s, (first_s if self.since is None else since_s) + self.length_s)
        if until_s <= since_s:
            raise BadInput("--to is not after --from", "no request is between them", "pass a later --to")
        return since_s, until_s


def parse_log_time(text: str) -> LogTime:
    """Parse a date and time such as `2026-03-01T12:00:00Z` (UTC without an offset), or an offset such as `10m`."""
    try:
        return LogTime(seconds=parse_seconds(text), is_offset=True)
    except BadQuantity:
        pass
    try:
        at = datetime.fromisoformat(text.strip())
    except ValueError:
        fix = "write it like 2026-03-01T12:00:00Z, or 10m after the first request of the log"
        raise BadQuantity.of(text, "which is not a time", fix) from None
    return LogTime(seconds=(at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp(), is_offset=False)
