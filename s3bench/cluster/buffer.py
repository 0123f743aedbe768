"""What a node has to tell, kept until the driver says that it has it.

Owns the bound: tallies that find no room are dropped and counted, all else is kept. Nobody who adds ever waits.
"""

import threading
from collections import deque

from s3bench.cluster.message import NodeReport, Reports
from s3bench.load.engine.interval_record import IntervalRecord

BUFFERED_MAX = 4096
"""Tallies that wait at most; a node of 64 workers fills it in a minute, and its driver asks several times a second."""


class Buffer:
    """Reports in their order, numbered from 0; for several threads. `most` tallies wait at a time."""

    def __init__(self, most: int = BUFFERED_MAX) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._reports: deque[NodeReport] = deque()
        self._first = 0
        self._dropped = 0

    def add(self, report: NodeReport) -> None:
        """Keep a report, or count a tally for which there is no room."""
        with self._lock:
            if isinstance(report, IntervalRecord) and len(self._reports) >= self._most:
                self._dropped += 1
            else:
                self._reports.append(report)

    def since(self, number: int) -> Reports:
        """The reports from `number` on; those before it have arrived, and are forgotten."""
        with self._lock:
            while self._reports and self._first < number:
                self._reports.popleft()
                self._first += 1
            return Reports(reports=tuple(self._reports), dropped=self._dropped)
