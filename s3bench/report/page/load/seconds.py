"""The seconds of a phase as points of a chart: one for each second, or for several where there are too many."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from s3bench.report.load.cells import LoadRow, bytes_rate_text, count_text, rate_text, seconds_text
from s3bench.report.table import Table, column
from s3bench.results.document import Document
from s3bench.results.load import Second

SPANS_MAX = 300
"""The most points of a line; of longer phases several seconds are put together."""

PERCENTILES = ("p50", "p99", "max")
"""The latencies that a second has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondsSpan:
    """`length_s` seconds from `first` on: rates are means, latencies the highest of any of its seconds.

    `pausing` threads waited after a failed connection, on average. `stalled` are those of its seconds that were.
    """

    first: int
    length_s: int
    operations: int
    failures: int
    size_bytes: int
    in_flight: float
    pausing: float
    latencies: Mapping[str, float | None]
    stalled: tuple[int, ...]

    @property
    def middle_s(self) -> float:
        """Where it stands on the axis of time."""
        return self.first + self.length_s / 2

    @property
    def rate(self) -> float:
        """Successful operations per second."""
        return self.operations / self.length_s

    @property
    def bytes_per_s(self) -> float:
        """Bytes a second, both ways."""
        return self.size_bytes / self.length_s

    @property
    def name(self) -> str:
        """`second 3`, or `seconds 4-7`."""
        if self.length_s == 1:
            return f"second {self.first}"
        return f"seconds {self.first}-{self.first + self.length_s - 1}"

    @property
    def flow_text(self) -> str:
        """What ended in it, and how many operations were in flight."""
        parts = [f"{rate_text(self.rate)} operations/s", f"{self.in_flight:.1f} in flight"]
        if self.pausing:
            parts.append(f"{self.pausing:.1f} pausing")
        if self.size_bytes:
            parts.insert(1, bytes_rate_text(self.bytes_per_s))
        if self.stalled:
            parts.append("stalled")
        return f"{self.name}: {', '.join(parts)}"

    @property
    def failures_text(self) -> str:
        """How many attempts failed in it."""
        return f"{self.name}: {count_text(self.failures)} failed attempt{'s' * (self.failures != 1)}"

    def latency_text(self, percentile: str) -> str:
        """One of its latencies; the highest of its seconds."""
        most = "highest " if self.length_s > 1 else ""
        return f"{self.name}: {most}{percentile} {seconds_text(self.latencies[percentile])}"


def spans(seconds: Sequence[Second]) -> tuple[SecondsSpan, ...]:
    """Put seconds together so that at most `SPANS_MAX` are left, each of as many seconds but the last."""
    size = max(1, math.ceil(len(seconds) / SPANS_MAX))
    return tuple(_span(seconds[start : start + size]) for start in range(0, len(seconds), size))


def warmup_s(document: Document, row: LoadRow) -> int:
    """The whole seconds at the beginning of a phase that are not measured, by the options in force; 0 if not known."""
    phases = document.options.get("phases")
    known = [phase for phase in phases if isinstance(phase, Mapping)] if isinstance(phases, Sequence) else []
    own = [phase for phase in known if len(known) == 1 or _is_of(phase, row)]
    warmup = own[0].get("warmup") if own else None
    return math.ceil(warmup) if isinstance(warmup, int | float) else 0


def seconds_table(seconds: Sequence[Second], *, warmup: int) -> Table:
    """All figures of the seconds, as the document has them."""
    return Table(
        caption="Every second: what ended in it, and the latencies of that",
        columns=(
            column("second", seconds, lambda each: f"{each.second}", value=lambda each: each.second),
            column("operations", seconds, lambda each: count_text(each.operations), value=lambda each: each.operations),
            column("throughput", seconds, lambda each: bytes_rate_text(each.bytes), value=lambda each: each.bytes),
            column(
                "failed attempts", seconds, lambda each: count_text(each.failures), value=lambda each: each.failures
            ),
            column("in flight", seconds, lambda each: f"{each.in_flight:.1f}", value=lambda each: each.in_flight),
            column("p50", seconds, lambda each: seconds_text(each.p50), value=lambda each: each.p50),
            column("p99", seconds, lambda each: seconds_text(each.p99), value=lambda each: each.p99),
            column("max", seconds, lambda each: seconds_text(each.max), value=lambda each: each.max),
            column("remarks", seconds, lambda each: _remarks(each, is_warmup=each.second < warmup)),
        ),
    )


def _span(seconds: Sequence[Second]) -> SecondsSpan:
    def most(percentile: str) -> float | None:
        return max((known for each in seconds if (known := getattr(each, percentile)) is not None), default=None)

    return SecondsSpan(
        first=seconds[0].second,
        length_s=len(seconds),
        operations=sum(each.operations for each in seconds),
        failures=sum(each.failures for each in seconds),
        size_bytes=sum(each.bytes for each in seconds),
        in_flight=sum(each.in_flight for each in seconds) / len(seconds),
        pausing=sum(each.pausing or 0.0 for each in seconds) / len(seconds),
        latencies={percentile: most(percentile) for percentile in PERCENTILES},
        stalled=tuple(each.second for each in seconds if each.stalled),
    )


def _is_of(phase: Mapping[str, Any], row: LoadRow) -> bool:
    """Whether the options of a phase are those of a row: by its own dimensions, or by its name as the only one."""
    known = phase.get("dimensions")
    if isinstance(known, Sequence) and known:
        return {name: value for each in known if isinstance(each, Mapping) for name, value in each.items()} == dict(
            row.dimensions
        )
    return row.dimensions == {"phase": phase.get("name")}


def _remarks(second: Second, *, is_warmup: bool) -> str:
    return ", ".join((*("warm-up",) * is_warmup, *("stalled",) * second.stalled))
