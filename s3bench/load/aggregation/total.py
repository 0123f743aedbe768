"""The sums of one kind of operation of one job over the measured window, all workers and seconds together."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Self

from s3bench.load.aggregation.second import NS, response_bins, seconds
from s3bench.load.engine.interval_record import Loss, Stream
from s3bench.results.bins import Bins
from s3bench.results.histogram import Histogram
from s3bench.results.load import Failures, Latency, error_rate


@dataclass(slots=True)
class Total:
    """Sums and histograms; exact however they were split over workers and seconds."""

    operations: int = 0
    repeated: int = 0
    bytes_up: int = 0
    bytes_down: int = 0
    service: Histogram = field(default_factory=Histogram)
    first_byte: Histogram = field(default_factory=Histogram)
    response: Histogram = field(default_factory=Histogram)
    losses: dict[str, Loss] = field(default_factory=dict)
    lost_ns_max: float = 0.0

    @classmethod
    def joined(cls, totals: Iterable["Total"]) -> Self:
        """Several together."""
        whole = cls()
        for total in totals:
            whole._count(total.operations, total.repeated, total.bytes_up, total.bytes_down)
            whole.service.join(total.service)
            whole.first_byte.join(total.first_byte)
            whole.response.join(total.response)
            whole._lose(total.losses.values())
            whole.lost_ns_max = max(whole.lost_ns_max, total.lost_ns_max)
        return whole

    def add(self, stream: Stream) -> None:
        """Add the sums of one worker in one second."""
        self._count(stream.operations, stream.repeated, stream.bytes_up, stream.bytes_down)
        service = Histogram()
        service.merge(stream.service)
        self.service.join(service)
        for histogram, bins in ((self.first_byte, stream.first_byte), (self.response, response_bins(stream))):
            if bins == stream.service:  # as for responses that come in one piece to first attempts
                histogram.join(service)
            else:
                histogram.merge(bins)
        self._lose(stream.losses)
        # Attempts that fail in the same way in the same second take about as long as each other.
        self.lost_ns_max = max(self.lost_ns_max, *(loss.lost_ns / max(1, loss.count) for loss in stream.losses), 0.0)

    @property
    def attempts(self) -> int:
        """All requests, successful or not."""
        return self.operations + sum(loss.count for loss in self.losses.values())

    @property
    def retried(self) -> int:
        """Failed attempts that were tried again."""
        return sum(loss.retried for loss in self.losses.values())

    @property
    def failed(self) -> int:
        """Failed operations: attempts that failed and were not tried again."""
        return sum(loss.count - loss.retried for loss in self.losses.values())

    @property
    def ended(self) -> int:
        """Operations that ended, successful or not."""
        return self.operations + self.failed

    @property
    def error_rate(self) -> float | None:
        """Failed ones among those that ended."""
        return error_rate(self.operations, self.failed)

    @property
    def time_ns(self) -> int:
        """The time of all that ended, including the time lost in failed attempts, without pauses."""
        return self.service.sum_ns + sum(loss.lost_ns for loss in self.losses.values())

    @property
    def longest_ns(self) -> float:
        """The longest time of an operation; for failed ones the largest mean of a second."""
        return max(float(self.service.max_ns), self.lost_ns_max)

    @property
    def has_responses(self) -> bool:
        """Whether response times differ from service times."""
        return self.response.bins() != self.service.bins()

    @property
    def response_bins(self) -> Bins:
        """The histogram of response times; empty if it equals that of the service times."""
        return self.response.bins() if self.has_responses else Bins()

    @property
    def failures(self) -> tuple[Failures, ...]:
        """The failed attempts by label, the most frequent first."""
        return tuple(
            Failures(
                label=loss.label,
                count=loss.count,
                retried=loss.retried,
                time_lost=(loss.lost_ns + loss.paused_ns) / NS,
                body_bytes=loss.body_bytes,
            )
            for loss in sorted(self.losses.values(), key=lambda loss: (-loss.count, loss.label))
        )

    def _count(self, operations: int, repeated: int, bytes_up: int, bytes_down: int) -> None:
        self.operations += operations
        self.repeated += repeated
        self.bytes_up += bytes_up
        self.bytes_down += bytes_down

    def _lose(self, losses: Iterable[Loss]) -> None:
        for loss in losses:
            old = self.losses.get(loss.label, Loss(loss.label))
            self.losses[loss.label] = Loss(
                loss.label,
                old.count + loss.count,
                old.retried + loss.retried,
                old.lost_ns + loss.lost_ns,
                old.body_bytes + loss.body_bytes,
                old.paused_ns + loss.paused_ns,
            )


def latency_of(histogram: Histogram) -> Latency:
    """The figures of a histogram, in seconds; percentiles that need more samples are `None`."""
    is_known = histogram.count > 0
    return Latency(
        count=histogram.count,
        mean=seconds(histogram.mean_ns),
        min=histogram.min_ns / NS if is_known else None,
        p25=seconds(histogram.percentile_ns(25)),
        p50=seconds(histogram.percentile_ns(50)),
        p75=seconds(histogram.percentile_ns(75)),
        p90=seconds(histogram.percentile_ns(90)),
        p99=seconds(histogram.percentile_ns(99)),
        p999=seconds(histogram.percentile_ns(99.9)),
        max=histogram.max_ns / NS if is_known else None,
    )
