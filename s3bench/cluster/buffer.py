"""The buffer of a node's reports, which keeps them until the driver has received them.

It is bounded: interval records without room are dropped and counted, other reports are always kept. Adding never waits.
"""

import threading
from collections import deque

from s3bench.cluster.message import NodeReport, Reports
from s3bench.load.engine.interval_record import IntervalRecord

BUFFERED_MAX = 4096
"""The most buffered interval records; 64 workers fill it in a minute, and the driver asks several times a second."""


class Buffer:
    """Reports in order, numbered from 0; thread-safe. It holds at most `most` interval records."""

    def __init__(self, most: int = BUFFERED_MAX) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._reports: deque[NodeReport] = deque()
        self._first = 0
        self._dropped = 0

    def add(self, report: NodeReport) -> None:
        """Keep a report, or count an interval record for which there is no room."""
        with self._lock:
            if isinstance(report, IntervalRecord) and len(self._reports) >= self._most:
                self._dropped += 1
            else:
                self._reports.append(report)

    def since(self, number: int) -> Reports:
        """The reports from `number` on; those before it have been received and are removed."""
        with self._lock:
            while self._reports and self._first < number:
                self._reports.popleft()
                self._first += 1
            return Reports(reports=tuple(self._reports), dropped=self._dropped)
