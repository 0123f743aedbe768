"""Limits the request rate of each prefix with token buckets: beyond it the response is 503 SlowDown.

S3 documents its own limits per prefix: 3,500 writes and 5,500 reads a second
(https://docs.aws.amazon.com/AmazonS3/latest/userguide/optimizing-performance.html).
"""

from s3bench.s3.protocol.http import RequestHead

_READS = frozenset({"GET", "HEAD"})
_BURST_S = 1.0

PREFIXES_MAX = 10_000
"""The most prefixes and kinds of request that are remembered: those of the last requests."""


class RateLimits:
    """One bucket per prefix and kind of request, each full at first and holding one second's worth."""

    __slots__ = ("_buckets", "_reads_per_s", "_writes_per_s")

    def __init__(self, *, reads_per_s: float | None, writes_per_s: float | None) -> None:
        self._reads_per_s = reads_per_s
        self._writes_per_s = writes_per_s
        self._buckets: dict[tuple[str, bool], tuple[float, int]] = {}  # requests left, and when that was true

    def admits(self, head: RequestHead, now_ns: int) -> bool:
        """Count `head`, path-style, in; whether its prefix takes it. What is turned away is not counted."""
        reads = head.method in _READS
        rate = self._reads_per_s if reads else self._writes_per_s
        if rate is None:
            return True
        full = max(rate * _BURST_S, 1.0)
        key = (prefix_of(head), reads)
        left, since_ns = self._buckets.get(key, (full, now_ns))
        left = min(full, left + (now_ns - since_ns) * 1e-9 * rate)
        admitted = left >= 1
        if key not in self._buckets and len(self._buckets) >= PREFIXES_MAX:
            self._forget_full(now_ns)
        self._buckets[key] = (left - admitted, now_ns)
        return admitted

    def _forget_full(self, now_ns: int) -> None:
        """Drop buckets that are full again, which is what a missing one stands for; the oldest where none is."""
        limit_ns = now_ns - _BURST_S * 1e9
        kept = {key: bucket for key, bucket in self._buckets.items() if bucket[1] > limit_ns}
        if len(kept) >= PREFIXES_MAX:
            del kept[min(kept, key=lambda key: kept[key][1])]
        self._buckets = kept


def prefix_of(head: RequestHead) -> str:
    """Give the bucket and the key up to its last slash; `head` names its bucket in the path."""
    path = head.path
    return path.rpartition("/")[0] if path.count("/") > 1 else path
