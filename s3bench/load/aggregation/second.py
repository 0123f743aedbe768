"""Per-second statistics: the interval records of all workers of one second joined, and what is kept of a closed one."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field

import msgspec

from s3bench.load.aggregation.live_status import KindStatus
from s3bench.load.engine.interval_record import IntervalRecord, Stream
from s3bench.load.operation import MIXABLE, OperationKind
from s3bench.results.bins import Bins
from s3bench.results.histogram import Histogram
from s3bench.results.load import Second

NS = 1_000_000_000
WHOLE_NS = 990_000_000
"""A second counts as whole from this length on: workers may close it a little early."""

ALL = "all"
"""The kind of all kinds together."""


def is_operation(kind: OperationKind) -> bool:
    """Whether the kind is a whole operation, and not one request of a multipart upload."""
    return kind in MIXABLE


def response_bins(stream: Stream) -> Bins:
    """The response times; those of the attempts if they are the same."""
    return stream.response if stream.response.indexes else stream.service


@dataclass(slots=True)
class _Kind:
    """The operations of one kind that ended in a second."""

    operations: int = 0
    bytes: int = 0
    failures: int = 0
    response: Histogram = field(default_factory=Histogram)


@dataclass(slots=True, kw_only=True)
class SecondStatistics:
    """The interval records of one second, added up. `cpu_share` is that of the busiest worker.

    `served`, `failed` and `wanted` have a bit for each tenth of it (`IntervalRecord`), set where it is for any worker.
    `by_node` has the successful operations of each node and their bytes, both ways.
    """

    second: int
    length_ns: int = 0
    kinds: dict[OperationKind, _Kind] = field(default_factory=dict)
    failures: dict[str, int] = field(default_factory=dict)
    in_flight_ns: int = 0
    in_flight_max: int = 0
    paused_ns: int = 0
    served: int = 0
    failed: int = 0
    wanted: int = 0
    waiting: int = 0
    cpu_share: float = 0.0
    by_node: defaultdict[int, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0]))

    def add(self, record: IntervalRecord, node: int = 0) -> None:
        """Add the part of one worker, which is on `node`."""
        self.length_ns = max(self.length_ns, record.length_ns)
        self.in_flight_ns += record.in_flight_ns
        self.in_flight_max += record.in_flight_max
        self.paused_ns += record.paused_ns
        self.served |= record.served
        self.failed |= record.failed
        self.wanted |= record.wanted
        self.waiting += record.waiting_max
        self.cpu_share = max(self.cpu_share, record.cpu_ns / record.length_ns if record.length_ns else 0.0)
        for stream in record.streams:
            if is_operation(stream.kind):
                self._add(stream)
                self.by_node[node][0] += stream.operations
                self.by_node[node][1] += stream.bytes_up + stream.bytes_down

    def _add(self, stream: Stream) -> None:
        known = self.kinds.setdefault(stream.kind, _Kind())
        known.operations += stream.operations
        known.bytes += stream.bytes_up + stream.bytes_down
        known.response.merge(response_bins(stream))
        for loss in filter(lambda loss: loss.count, stream.losses):  # others only add to the time lost before
            known.failures += loss.count
            self.failures[loss.label] = self.failures.get(loss.label, 0) + loss.count

    @property
    def operations(self) -> int:
        """The number of successful operations."""
        return sum(kind.operations for kind in self.kinds.values())

    @property
    def bytes(self) -> int:
        """Their bytes, both ways."""
        return sum(kind.bytes for kind in self.kinds.values())

    @property
    def length_s(self) -> float:
        """How long it was: less than a second at a phase's end."""
        return self.length_ns / NS

    @property
    def in_flight(self) -> float:
        """The mean number of operations in flight."""
        return self.in_flight_ns / self.length_ns if self.length_ns else 0.0

    @property
    def pausing(self) -> float:
        """The mean number of virtual users that paused after a failed connection."""
        return self.paused_ns / self.length_ns if self.length_ns else 0.0

    def kind_statuses(self) -> tuple[KindStatus, ...]:
        """The live status of each kind."""
        return tuple(self._status(kind) for kind in MIXABLE if kind in self.kinds)

    def _status(self, kind: OperationKind) -> KindStatus:
        known, length_s = self.kinds[kind], self.length_s or 1.0
        return KindStatus(
            kind=kind,
            operations=known.operations,
            size_bytes=known.bytes,
            rate=known.operations / length_s,
            bytes_rate=known.bytes / length_s,
            p50_s=seconds(known.response.percentile_ns(50)),
            p99_s=seconds(known.response.percentile_ns(99)),
            failures=known.failures,
        )

    def rows(self, whole: Second, declared: Collection[OperationKind]) -> tuple[tuple[str, Second], ...]:
        """The figures of all kinds together, which are `whole`, and of each kind if several are `declared`."""
        stalled = not whole.operations and bool(self.wanted or self.failed)
        name = next(iter(declared)).value if len(declared) == 1 else ALL
        rows = [(name, msgspec.structs.replace(whole, stalled=stalled))]
        if len(declared) > 1:
            rows += [(kind, self._second(kind)) for kind in MIXABLE if kind in self.kinds]
        return tuple(rows)

    def _figures(self, operations: int, failures: int, size_bytes: int, response: Histogram) -> Second:
        return Second(
            second=self.second,
            operations=max(0, operations),
            failures=failures,
            bytes=max(0, size_bytes),
            p50=seconds(response.percentile_ns(50)),
            p99=seconds(response.percentile_ns(99)),
            max=response.max_ns / NS if response.count else None,
            in_flight=self.in_flight,
            pausing=self.pausing,
            stalled=False,
        )

    def _second(self, kind: OperationKind) -> Second:
        known = self.kinds[kind]
        return self._figures(known.operations, known.failures, known.bytes, known.response)

    def closed(self) -> "ClosedSecond":
        """What is kept of it; its histograms are not."""
        whole = Histogram()
        for kind in self.kinds.values():
            whole.join(kind.response)
        figures = self._figures(self.operations, sum(self.failures.values()), self.bytes, whole)
        return ClosedSecond(
            figures=figures, length_ns=self.length_ns, served=self.served, failed=self.failed, wanted=self.wanted
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedSecond:
    """A complete second: its figures, stalls not marked yet, its true length, and its tenths (`IntervalRecord`)."""

    figures: Second
    length_ns: int
    served: int
    failed: int
    wanted: int

    @property
    def is_whole(self) -> bool:
        """Whether it lasted a whole second."""
        return self.length_ns >= WHOLE_NS


def seconds(value_ns: float | None) -> float | None:
    """Convert nanoseconds to seconds; `None` stays `None`."""
    return None if value_ns is None else value_ns / NS
