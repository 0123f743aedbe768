"""Takes in the requests of a log one by one, in bounded memory.

It keeps a sample of 131,072 keys, 131,072 seconds with arrivals, and a few histograms: 100 MB at most, however long the
log is. Lines need not be in the order of their times.
"""

from collections import Counter

from s3bench.load.access_log.logged_request import LoggedRequest
from s3bench.load.fitting.arrival_counts import ArrivalCounts
from s3bench.load.fitting.fitted_workload import JobName
from s3bench.load.fitting.key_sample import KeySample
from s3bench.load.fitting.log_histogram import LogHistogram
from s3bench.load.operation import OperationKind

JOBS = {
    OperationKind.GET: JobName.READS,
    OperationKind.RANGE: JobName.READS,
    OperationKind.HEAD: JobName.READS,
    OperationKind.COPY: JobName.READS,
    OperationKind.LIST: JobName.READS,
    OperationKind.PUT: JobName.WRITES,
    OperationKind.DELETE: JobName.WRITES,
    OperationKind.MULTIPART: JobName.UPLOADS,
}
"""The job that makes each kind of operation. The end of a multipart upload counts as the upload."""

JOB_NAMES = tuple(JobName)

READS_OF_KEYS = frozenset({OperationKind.GET, OperationKind.RANGE, OperationKind.HEAD})
"""What shows the popularity of a key; the key of a COPY is the one that it writes."""
_KEYLESS = frozenset({OperationKind.LIST, OperationKind.DELETE})
_WHOLE_BODY = frozenset({0, 200})  # statuses of a GET that returned the whole object
_NAMES_MAX = 100
_US = 1e6


class LogObserver:
    """What was seen of a log: `observe` its requests, then fit a workload to it (`workload_fitting`).

    `counts` has the operations that succeeded, `failed` the others by status, redirects too. `others` is what no
    profile has, by its name in the log. `sizes` are by job and request.
    """

    def __init__(self) -> None:
        self.counts: Counter[OperationKind] = Counter()
        self.failed: Counter[int] = Counter()
        self.others: Counter[str] = Counter()
        self.arrivals = ArrivalCounts(len(JOB_NAMES))
        self.keys = KeySample()
        self.sizes = {name: LogHistogram() for name in JOB_NAMES}
        self.ranges = LogHistogram()
        self.parts = LogHistogram()
        self.elapsed_us = LogHistogram()
        self.puts = 0  # to keys of the sample
        self.puts_again = 0  # of these, to keys that were known

    def observe(self, request: LoggedRequest) -> None:
        """Take in a request."""
        kind = request.kind
        if kind is None:
            known = request.operation in self.others or len(self.others) < _NAMES_MAX
            self.others[request.operation if known else "others"] += 1
        elif not request.succeeded:
            self.failed[request.status] += 1
        elif kind is OperationKind.MULTIPART_PART:
            self.parts.add(request.body_bytes or 0)
        elif kind is OperationKind.MULTIPART_ABORT:
            self.others["multipart uploads that were aborted"] += 1
        elif kind is OperationKind.MULTIPART_COMPLETE:
            self._observe_operation(OperationKind.MULTIPART, request)
        elif kind in JOBS:
            self._observe_operation(kind, request)

    def _observe_operation(self, kind: OperationKind, request: LoggedRequest) -> None:
        job = JOBS[kind]
        self.counts[kind] += 1
        self.arrivals.add(request.at_s, JOB_NAMES.index(job))
        if request.elapsed_s is not None:
            self.elapsed_us.add(round(request.elapsed_s * _US))
        size_bytes = _size_of(kind, request)
        if size_bytes is not None:
            self.sizes[job].add(size_bytes)
        if kind is OperationKind.RANGE and request.body_bytes:
            self.ranges.add(request.body_bytes)
        if request.key and kind not in _KEYLESS:
            self._observe_key(kind, request, size_bytes)

    def _observe_key(self, kind: OperationKind, request: LoggedRequest, size_bytes: int | None) -> None:
        key = self.keys.at(request.bucket, request.key)
        if key is None:
            return
        if size_bytes is not None:
            key.size_bytes = size_bytes
        if kind in READS_OF_KEYS:
            key.read(request.at_s)
            return
        if kind is OperationKind.PUT:
            self.puts += 1
            self.puts_again += bool(key.writes or key.reads)
        key.written(request.at_s)


def _size_of(kind: OperationKind, request: LoggedRequest) -> int | None:
    """The size of the whole object, where the request shows it."""
    if request.object_bytes is not None or kind is OperationKind.DELETE:
        return request.object_bytes if kind is not OperationKind.DELETE else None
    if kind is OperationKind.PUT or (kind is OperationKind.GET and request.status in _WHOLE_BODY):
        return request.body_bytes
    return None
