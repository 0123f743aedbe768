"""The results of a load run as rows and phases, and its figures as text.

A row is one kind of operation in one phase, with one `Load` for each loop. The rows of single nodes of a cluster belong
to the row of all of them together.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median
from types import MappingProxyType

from s3bench.report.label import clipped
from s3bench.report.terminal import printable
from s3bench.results.document import NODE, Document, Result, Status
from s3bench.results.load import Latency, Load
from s3bench.units import render_bytes, render_seconds

NOTHING = "-"
_AT_LEAST = "≥"
ALL = "all"
"""The kind of all kinds together."""

SIZE, THREADS, PURPOSE = "size", "threads", "purpose"
"""The dimensions of a matrix; the last is that of phases which prepare it."""

_JOB = "job"  # a dimension that tells rows of one phase apart

GBIT_BYTES = 125e6
"""A gigabit, as a rate per second."""

_GBIT_LEAST = 0.01
_WHOLE_PERCENTS_FROM = 0.0995  # 9.95 % is "10%"

LatencyOf = Callable[[Load], Latency]
Pick = Callable[[Load], float | None]

POINTS: Mapping[str, Callable[[Latency], float | None]] = MappingProxyType(
    {
        "avg": lambda latency: latency.mean,
        "min": lambda latency: latency.min,
        "p25": lambda latency: latency.p25,
        "p50": lambda latency: latency.p50,
        "p75": lambda latency: latency.p75,
        "p90": lambda latency: latency.p90,
        "p99": lambda latency: latency.p99,
        "p99.9": lambda latency: latency.p999,
        "max": lambda latency: latency.max,
    }
)
"""The points of a latency's distribution, by their headings; a matrix has a column for each."""

LATENCY_POINTS = ("p50", "p90", "p99", "p99.9", "max")
"""Those that other tables show."""

FIRST_BYTE_POINTS = ("p50", "p99")
"""Those that they show of first bytes."""

_OVER_LOOPS: Mapping[str, Callable[[Iterable[float]], float]] = MappingProxyType({"min": min, "max": max})
"""How points become one figure for several loops; of all others it is the median."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadRow:
    """One kind of operation in one phase: a result of the document, and what each of its loops showed.

    `nodes` are the rows of single nodes, where there are several.
    """

    result: Result
    loops: tuple[Load, ...]
    nodes: tuple["LoadRow", ...] = ()

    @property
    def kind(self) -> str:
        """The kind of operation."""
        return self.loops[0].kind

    @property
    def label(self) -> str:
        """The kind, behind the name of its job where it has one."""
        return printable(f"{self.loops[0].job} {self.kind}".strip())

    @property
    def dimensions(self) -> Mapping[str, str]:
        """The dimensions of the phase."""
        return {name: value for each in self.result.dimensions for name, value in each.items() if name != _JOB}

    @property
    def phase(self) -> str:
        """What tells the phase from others: its dimensions; empty without any."""
        return printable(" ".join(f"{name}={value}" for name, value in self.dimensions.items()))

    @property
    def node(self) -> str:
        """The node whose part it is."""
        return clipped(self.dimensions.get(NODE, ""))

    @property
    def is_whole(self) -> bool:
        """Whether it is all of a phase: all kinds together, or the only one."""
        return any(load.in_flight is not None for load in self.loops)

    def median(self, pick: Pick) -> float | None:
        """The median over the loops; `None` where no loop has the figure."""
        values = self._values(pick)
        return median(values) if values else None

    def point(self, name: str, pick: Pick) -> float | None:
        """A point of a latency over the loops: the least `min`, the greatest `max`, the median of any other."""
        values = self._values(pick)
        return _OVER_LOOPS.get(name, median)(values) if values else None

    def spread(self, pick: Pick) -> float | None:
        """The median absolute deviation over the loops, as a share of their median; `None` of a single loop."""
        values = self._values(pick)
        center = median(values) if len(values) > 1 else 0.0
        return median(abs(value - center) for value in values) / center if center else None

    def total(self, pick: Callable[[Load], int]) -> int:
        """The sum over the loops."""
        return sum(pick(load) for load in self.loops)

    def _values(self, pick: Pick) -> list[float]:
        return [value for load in self.loops if (value := pick(load)) is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPhase:
    """Rows of the same dimensions: those of a phase, and of the ones after it that nothing tells from it."""

    title: str
    rows: tuple[LoadRow, ...]

    @property
    def is_running(self) -> bool:
        """Whether loops are still to come, or never came."""
        return any(row.result.status is Status.RUNNING for row in self.rows)

    @property
    def kinds(self) -> tuple[LoadRow, ...]:
        """The rows of single kinds, each operation in one of them."""
        return tuple(row for row in self.rows if row.kind != ALL)


def load_rows(document: Document) -> tuple[LoadRow, ...]:
    """The document's results that are of a load run, in its order; parts of nodes behind the row of the whole."""
    parts: dict[tuple[object, ...] | None, list[LoadRow]] = {}
    whole = document.without_parts()
    if whole is not document:
        for result in document.results:
            parts.setdefault(result.whole_identity, []).append(LoadRow(result=result, loops=_loops(result)))
    rows = (
        LoadRow(result=result, loops=_loops(result), nodes=tuple(parts.get(result.identity, ())))
        for result in whole.results
    )
    return tuple(row for row in rows if row.loops)


def _loops(result: Result) -> tuple[Load, ...]:
    return tuple(each.load for each in result.loops)


def load_phases(rows: Sequence[LoadRow]) -> tuple[LoadPhase, ...]:
    """Put the rows together that stand side by side and have the same dimensions."""
    return tuple(LoadPhase(title=title, rows=tuple(each)) for title, each in groupby(rows, key=lambda row: row.phase))


def bytes_rate(load: Load) -> float:
    """The bytes a second, both ways, of successful operations."""
    return (load.bytes_up + load.bytes_down) / load.operations * load.operations_rate if load.operations else 0.0


def latency_of(load: Load) -> Latency:
    """The latency that a user of the service would see: from the planned start where there was a plan."""
    return load.response or load.latency


def service_of(load: Load) -> Latency:
    """The latency of each attempt by itself."""
    return load.latency


def first_byte_of(load: Load) -> Latency:
    """The time to the first byte of each attempt's response."""
    return load.first_byte


def point_of(latency: LatencyOf, name: str) -> Pick:
    """A point of a kind of latency, of operations that ended."""
    return lambda load: POINTS[name](latency(load))


def latency_value(row: LoadRow, latency: LatencyOf, name: str) -> float | None:
    """A point of a kind of latency over the loops; `max` is at least the age of what was unfinished at the end."""
    return row.point(name, _longest_of(latency) if name == "max" else point_of(latency, name))


def latency_text(row: LoadRow, latency: LatencyOf, name: str) -> str:
    """`1.23 s`, or `≥1.23 s` where an operation that was unfinished at the end had taken so long already."""
    value_s, ended_s = latency_value(row, latency, name), row.point(name, point_of(latency, name))
    is_open = value_s is not None and (ended_s is None or value_s > ended_s)
    return f"{_AT_LEAST * is_open}{seconds_text(value_s)}"


def _longest_of(latency: LatencyOf) -> Pick:
    """The greatest time of a kind of latency, or the age of the oldest that was unfinished at the end, if greater."""

    def longest_s(load: Load) -> float | None:
        is_of_attempts = latency is service_of and load.response is not None
        open_s = (load.oldest_attempt if is_of_attempts else load.oldest) if load.unfinished else None
        ended_s = latency(load).max
        return max(open_s, ended_s or 0.0) if open_s else ended_s

    return longest_s


def operations_rate_of(load: Load) -> float:
    """The successful operations per second."""
    return load.operations_rate


def legend_lines(rows: Sequence[LoadRow]) -> Iterator[str]:
    """What the columns of these rows mean."""
    yield "rate, throughput: of successful operations, per second; bodies both ways"
    if any(load.response for row in rows for load in row.loops):
        yield "latency: from the planned start, or the first attempt, to the last byte"
        yield "service: from each attempt's start to its last byte"
    else:
        yield "latency: from the start to the last byte"
    yield "errors: operations that failed for good; -: none, or too few for that figure"
    maxima = (latency_text(row, latency, "max") for row in rows for latency in (latency_of, service_of))
    if any(text.startswith(_AT_LEAST) for text in maxima):
        yield f"{_AT_LEAST}: an operation unfinished at the end had taken this long"
    if (loops := max((len(row.loops) for row in rows), default=0)) > 1:
        yield f"medians ± median absolute deviation of {loops} loops"
        yield "max: the greatest of all loops; ops, errors: of all together"


def count_text(count: float) -> str:
    """`1,234,567`."""
    return f"{count:,.0f}"


def rate_text(rate: float | None) -> str:
    """Operations a second: three digits at least, and none cut off a large figure."""
    if rate is None:
        return NOTHING
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.1f}" if rate >= 10 else f"{rate:.2f}"  # noqa: PLR2004 (digits)


def bytes_rate_text(rate: float | None) -> str:
    """Bytes a second with a binary unit; nothing where none moved."""
    return f"{render_bytes(rate)}/s" if rate else NOTHING


def gbit_text(rate: float | None) -> str:
    """Bytes a second as Gbit/s; nothing where none moved."""
    if not rate:
        return NOTHING
    gbit = rate / GBIT_BYTES
    return f"{gbit:,.2f}" if gbit >= _GBIT_LEAST else f"<{_GBIT_LEAST}"


def seconds_text(seconds: float | None) -> str:
    """`1.23 ms`."""
    return NOTHING if seconds is None else render_seconds(seconds)


def spread_text(share: float | None) -> str:
    """`±3.1%`; nothing of a single loop."""
    if share is None:
        return ""
    return f"±{share:.0%}" if share >= _WHOLE_PERCENTS_FROM else f"±{share:.1%}"


def ranges_text(numbers: Sequence[int]) -> str:
    """Ascending numbers, neighbours as ranges: `3, 7-9`."""
    return ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in _ranges(numbers))


def _ranges(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    for _, run in groupby(enumerate(numbers), key=lambda each: each[1] - each[0]):
        members = [number for _, number in run]
        yield members[0], members[-1]
