"""Counts latencies, bytes and losses of each kind of each job, and makes an interval record of them every second.

In the hot path a latency is one integer appended to an array; once a second numpy puts them into
bins, one kind of a job at a time, since what is due meanwhile waits. Seconds in which nothing ended give records too,
so that stalls are visible.
"""

import time
from array import array
from collections.abc import Callable
from functools import partial

import msgspec
import numpy as np
import numpy.typing as npt

from s3bench.load.engine.interval_record import IntervalRecord, Loss, Stream
from s3bench.load.engine.loop import EngineLoop
from s3bench.load.operation import OperationKind
from s3bench.results.bins import Bins
from s3bench.results.histogram import Histogram

SECOND_NS = 1_000_000_000
SLOT_NS = 100_000_000
"""Successes and failures are checked once in this time, not for each response, which costs the hot path nothing."""

_SLOTS = SECOND_NS // SLOT_NS
_SECOND_OF_SLOTS = (1 << _SLOTS) - 1
_UPWARDS = frozenset({OperationKind.PUT, OperationKind.MULTIPART, OperationKind.MULTIPART_PART})
_DOWNWARDS = frozenset({OperationKind.GET, OperationKind.RANGE, OperationKind.LIST})


class IntervalCounter:
    """The counts of one kind of one job in the current second.

    A latency in `quick` is service time, time to the first byte and response time in one, as for a response
    that comes in one piece to the first attempt of a closed loop. Others go to `service`, `first_byte` and `response`.
    """

    __slots__ = (
        "_losses", "_withdrawn", "bytes_down", "bytes_up", "failed", "first_byte", "job", "kind", "quick", "repeated",
        "response", "service",
    )  # fmt: skip

    def __init__(self, job: int, kind: OperationKind) -> None:
        self.job = job
        self.kind = kind
        self.quick = array("q")
        self.service = array("q")
        self.first_byte = array("q")
        self.response = array("q")
        self.bytes_up = 0
        self.bytes_down = 0
        self.repeated = 0
        self.failed = 0  # attempts
        self._withdrawn = 0
        self._losses: dict[str, list[int]] = {}

    @property
    def succeeded(self) -> int:
        """The number of successful requests."""
        return len(self.quick) + len(self.service)

    def lose(self, label: str, *, retried: bool, lost_ns: int, body_bytes: int, count: int = 1) -> None:
        """Count an attempt that failed, or several together."""
        counts = self._counts(label)
        self.failed += count
        counts[0] += count
        counts[1] += retried * count
        counts[2] += lost_ns
        counts[3] += body_bytes

    def lose_time(self, label: str, lost_ns: int) -> None:
        """Add the wait between an attempt that failed and the next one."""
        self._counts(label)[2] += lost_ns

    def pause(self, label: str, paused_ns: int) -> None:
        """Add how long a virtual user waited after an attempt that failed before it began another operation."""
        self._counts(label)[4] += paused_ns

    def withdraw(self, label: str, body_bytes: int) -> None:
        """Count an operation as failed that was counted as a success; its latencies stay."""
        self._withdrawn += 1
        if self.kind in _UPWARDS:
            self.bytes_up -= body_bytes
        elif self.kind in _DOWNWARDS:
            self.bytes_down -= body_bytes
        self.lose(label, retried=False, lost_ns=0, body_bytes=body_bytes)

    def _counts(self, label: str) -> list[int]:
        return self._losses.setdefault(label, [0, 0, 0, 0, 0])

    def take(self) -> Callable[[], Stream] | None:
        """Take the counts, and reset them; gives what puts the latencies into bins, or `None` without any."""
        operations = self.succeeded - self._withdrawn
        if not self.succeeded and not self._losses:
            return None
        counted = Stream(
            job=self.job,
            kind=self.kind,
            operations=operations,
            repeated=self.repeated,
            bytes_up=self.bytes_up,
            bytes_down=self.bytes_down,
            losses=tuple(Loss(label, *counts) for label, counts in self._losses.items()),
        )
        stream = partial(
            _with_bins, counted, _copy(self.quick), _copy(self.service), _copy(self.first_byte), _copy(self.response)
        )
        # Emptied in place: callers that append keep references to the arrays.
        for samples in (self.quick, self.service, self.first_byte, self.response):
            del samples[:]
        self.bytes_up = self.bytes_down = self.repeated = self.failed = self._withdrawn = 0
        self._losses = {}
        return stream


_Latencies = npt.NDArray[np.int64]


def _copy(samples: "array[int]") -> _Latencies:
    """A copy: an array with an exported buffer cannot be emptied."""
    return np.array(samples, np.int64)


def _with_bins(
    counted: Stream, quick: _Latencies, service: _Latencies, first_byte: _Latencies, response: _Latencies
) -> Stream:
    bins = _bins(quick, service)
    return msgspec.structs.replace(
        counted,
        service=bins,
        first_byte=_bins(quick, first_byte) if len(service) else bins,
        response=_bins(quick, response) if len(service) else bins,
    )


def _bins(quick: _Latencies, others: _Latencies) -> Bins:
    histogram = Histogram()
    histogram.add(quick)
    histogram.add(others)
    return histogram.bins()


class CountedInterval:
    """An interval record in the making: all is counted, and the latencies of some streams are not in bins yet."""

    __slots__ = ("_counted", "_left", "_streams")

    def __init__(self, counted: IntervalRecord, streams: list[Callable[[], Stream]]) -> None:
        self._counted = counted
        self._left = streams[::-1]
        self._streams: list[Stream] = []

    def bin_one(self) -> bool:
        """Put the latencies of the next stream into bins; whether there is another one."""
        if self._left:
            self._streams.append(self._left.pop()())
        return bool(self._left)

    def record(self) -> IntervalRecord:
        """Finish it."""
        while self.bin_one():
            pass
        return msgspec.structs.replace(self._counted, streams=tuple(self._streams))


class IntervalRecorder:
    """The counters of one phase, and its seconds: second k begins at `start_ns` + k seconds.

    `cpu_ns` is the clock of the recorded CPU time.
    """

    def __init__(
        self, loop: EngineLoop, *, worker: int, start_ns: int, cpu_ns: Callable[[], int] = time.process_time_ns
    ) -> None:
        self._loop = loop
        self._worker = worker
        self._cpu_clock = cpu_ns
        self._lanes: dict[tuple[int, OperationKind], IntervalCounter] = {}
        self._second = 0
        self._begun_ns = start_ns
        self.due_ns = start_ns + SECOND_NS
        self.slot_due_ns = start_ns + SLOT_NS
        self._seen = (0, 0)
        self._served = self._failed = self._wanted = 0  # bit 0 is the first slot of the current second
        self.waiting_max = 0
        self._begin(start_ns)

    def lane(self, job: int, kind: OperationKind) -> IntervalCounter:
        """The counter of `kind` of `job`."""
        lane = self._lanes.get((job, kind))
        if lane is None:
            lane = self._lanes[job, kind] = IntervalCounter(job, kind)
        return lane

    def mark(self, now_ns: int, *, is_wanted: bool) -> None:
        """Mark the slots that have ended. If there are several, the worker did not run in time."""
        has_run = now_ns - self.slot_due_ns < SLOT_NS
        while self.slot_due_ns <= now_ns:
            self._mark(is_wanted=is_wanted and has_run)
            self.slot_due_ns += SLOT_NS

    def end_second(self) -> CountedInterval:
        """End the second that is over at `due_ns`, and begin the next."""
        self.mark(self.due_ns, is_wanted=False)
        counted = self._interval(self.due_ns)
        self._second += 1
        self.due_ns += SECOND_NS
        return counted

    def end(self, end_ns: int, *, is_wanted: bool = False) -> CountedInterval | None:
        """End the rest until `end_ns`, including its last slot; `None` without a rest."""
        if end_ns <= self._begun_ns:
            return None
        self.mark(end_ns, is_wanted=is_wanted)
        if end_ns > self.slot_due_ns - SLOT_NS:
            self._mark(is_wanted=is_wanted)
        return self._interval(end_ns)

    def _mark(self, *, is_wanted: bool) -> None:
        bit = 1 << (self.slot_due_ns - self._begun_ns) // SLOT_NS - 1
        lanes = self._lanes.values()
        seen = sum(lane.succeeded for lane in lanes), sum(lane.failed for lane in lanes)
        self._served |= bit * (seen[0] > self._seen[0])
        self._failed |= bit * (seen[1] > self._seen[1])
        self._wanted |= bit * is_wanted
        self._seen = seen

    def _interval(self, end_ns: int) -> CountedInterval:
        loop = self._loop
        streams = list(filter(None, (lane.take() for lane in self._lanes.values())))
        counted = IntervalRecord(
            worker=self._worker,
            second=self._second,
            length_ns=end_ns - self._begun_ns,
            in_flight_ns=loop.integral_ns(end_ns) - self._integral_ns,
            in_flight_max=max(loop.in_flight_max, loop.in_flight),
            waiting_max=self.waiting_max,
            cpu_ns=self._cpu_clock() - self._cpu_ns,
            wait_ns=loop.wait_ns - self._wait_ns,
            connects=loop.connects - self._connects,
            cut=loop.cut - self._cut,
            paused_ns=loop.paused_until(end_ns) - self._paused_ns,
            served=self._served & _SECOND_OF_SLOTS,
            failed=self._failed & _SECOND_OF_SLOTS,
            wanted=self._wanted & _SECOND_OF_SLOTS,
        )
        self._seen = (0, 0)
        self._served >>= _SLOTS
        self._failed >>= _SLOTS
        self._wanted >>= _SLOTS
        self._begin(end_ns)
        return CountedInterval(counted, streams)

    def _begin(self, begun_ns: int) -> None:
        loop = self._loop
        self._begun_ns = begun_ns
        self._integral_ns = loop.integral_ns(begun_ns)
        self._cpu_ns = self._cpu_clock()
        self._wait_ns = loop.wait_ns
        self._connects = loop.connects
        self._cut = loop.cut
        self._paused_ns = loop.paused_until(begun_ns)
        loop.in_flight_max = loop.in_flight
        self.waiting_max = 0
