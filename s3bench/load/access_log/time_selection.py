"""The part of a log that is used: from one time to another, or for so long."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from s3bench.load.access_log.logged_request import LoggedRequest
from s3bench.load.access_log.timestamps import check_times


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeSelection:
    """The requests from `from_s` on, and before `to_s` or for `span_s`; all of them without any."""

    from_s: float | None = None
    to_s: float | None = None
    span_s: float | None = None

    def of(self, requests: Iterable[LoggedRequest]) -> Iterator[LoggedRequest]:
        """Yield the selected ones of a log's requests. Raises `BadInput` for times that it cannot have."""
        since_s = -math.inf if self.from_s is None else self.from_s
        until_s = math.inf if self.to_s is None else self.to_s
        begins_s, is_checked = self.from_s, False
        for request in requests:
            if not is_checked:
                check_times((self.from_s, self.to_s), request.at_s)
                is_checked = True
            if begins_s is None:
                begins_s = request.at_s
            is_within = self.span_s is None or request.at_s < begins_s + self.span_s
            if is_within and since_s <= request.at_s < until_s:
                yield request
