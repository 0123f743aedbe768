"""The part of a log that is used: from one time to another, or for so long."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Self

from s3bench.load.access_log.logged_request import LoggedRequest
from s3bench.load.access_log.timestamps import check_times


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeSelection:
    """The requests from `from_s` on, and before `to_s` or for `span_s`; all of them without any.

    A span without `from_s` begins with the earliest request, which may be anywhere in a log: `from_earliest` finds it.
    """

    from_s: float | None = None
    to_s: float | None = None
    span_s: float | None = None

    @property
    def needs_earliest(self) -> bool:
        """Whether it takes a look at the whole log to know where the selection begins."""
        return self.span_s is not None and self.from_s is None

    def from_earliest(self, requests: Iterable[LoggedRequest]) -> Self:
        """The selection that begins with the earliest of all requests of a log."""
        return replace(self, from_s=min(request.at_s for request in requests))

    def of(self, requests: Iterable[LoggedRequest]) -> Iterator[LoggedRequest]:
        """Yield the selected ones of a log's requests. Raises `BadInput` for times that it cannot have."""
        assert not self.needs_earliest, "a span begins somewhere"
        since_s = -math.inf if self.from_s is None else self.from_s
        until_s = math.inf if self.to_s is None else self.to_s
        if self.span_s is not None:
            until_s = min(until_s, since_s + self.span_s)
        is_checked = False
        for request in requests:
            if not is_checked:
                check_times((self.from_s, self.to_s), request.at_s)
                is_checked = True
            if since_s <= request.at_s < until_s:
                yield request
