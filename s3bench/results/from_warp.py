"""Reads the output of `warp analyze --json` as a results document: each kind of operation becomes a load phase.

Two formats of https://github.com/minio/warp: its aggregated results (`Realtime` and `LiveAggregate` in
pkg/aggregate/live.go), and the analysis of earlier versions (`Aggregated` and `Operation` in
pkg/aggregate/aggregate.go). Both cover the window that warp measured, without its first and last seconds. warp stores
milliseconds and bytes. Figures that it does not have are null: attempts of its SDK, the CPU use of its own machine,
operations in flight.

Aggregated results have latencies per stretch of ten seconds. Means are combined by the numbers of requests, extremes
exactly. Percentiles cannot be computed from percentiles of parts: they are read from histograms, if warp wrote them
(pkg/bench, `LatencyHistogram`: the upper ends of buckets), or from the stretch if there is only one.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import ceil
from typing import Annotated, Any

import msgspec

from s3bench.results.bins import suffices_for
from s3bench.results.document import Client, Document, Result
from s3bench.results.foreign_tree import foreign_document, foreign_result, parse_time, shaped, unreadable
from s3bench.results.load import Latency, Load, LoadMeasurement, error_rate
from s3bench.results.redaction import redact
from s3bench.units import exact_bytes

WHAT = "warp analysis"

_VERSION_MAX = 2
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)  # Go's zero time, which is earlier, means that there is none
_DOWNLOADS = ("GET", "SELECT")
_ERROR_LENGTH_MAX = 200

_Count = Annotated[int, msgspec.Meta(ge=0)]
_Millis = Annotated[float, msgspec.Meta(ge=0)]
_Amount = Annotated[float, msgspec.Meta(ge=0)]


class _Bucket(msgspec.Struct, frozen=True):
    millis: _Millis
    n: _Count


class _FirstByte(msgspec.Struct, frozen=True):
    average_millis: _Millis
    median_millis: _Millis
    fastest_millis: _Millis
    slowest_millis: _Millis
    p25_millis: _Millis = 0.0
    p75_millis: _Millis = 0.0
    p90_millis: _Millis = 0.0
    p99_millis: _Millis = 0.0
    ttfb_hist: tuple[_Bucket, ...] = ()


class _Requests(msgspec.Struct, frozen=True):
    """Operations of one size."""

    requests: _Count
    obj_size: _Count = 0
    skipped: bool = False
    dur_avg_millis: _Millis = 0.0
    dur_median_millis: _Millis = 0.0
    dur_90_millis: _Millis = 0.0
    dur_99_millis: _Millis = 0.0
    fastest_millis: _Millis = 0.0
    slowest_millis: _Millis = 0.0
    first_byte: _FirstByte | None = None
    dur_hist: tuple[_Bucket, ...] = ()


class _Stretch(msgspec.Struct, frozen=True):
    single_sized_requests: _Requests | None = None


class _Window(msgspec.Struct, frozen=True):
    """The throughput of aggregated results: sums over a window."""

    measure_duration_millis: _Count
    bytes: _Amount
    objects: _Amount
    ops: _Count
    errors: _Count


class _Aggregate(msgspec.Struct, frozen=True):
    """One kind of operation in aggregated results."""

    total_requests: _Count
    total_errors: _Count
    concurrency: _Count
    throughput: _Window
    start_time: str = ""
    end_time: str = ""
    first_errors: tuple[str, ...] | None = None
    requests_by_client: dict[str, tuple[_Stretch, ...] | None] | None = None


class _Results(msgspec.Struct, frozen=True):
    by_op_type: dict[str, _Aggregate]
    final: bool
    v: int = 0
    commandline: str = ""
    warp_version: str = ""


class _Rates(msgspec.Struct, frozen=True):
    """The throughput of an analysis: rates over a window, `average_ops` of objects."""

    measure_duration_millis: _Count
    average_bps: _Amount
    average_ops: _Amount
    errors: _Count = 0


class _Operation(msgspec.Struct, frozen=True):
    """One kind of operation in an analysis."""

    type: str
    skipped: bool
    concurrency: _Count
    throughput: _Rates
    objects_per_operation: _Count = 0
    errors: _Count = 0
    first_errors: tuple[str, ...] | None = None
    start_time: str = ""
    end_time: str = ""
    single_sized_requests: _Requests | None = None


class _Analysis(msgspec.Struct, frozen=True):
    operations: tuple[_Operation, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Phase:
    """One kind of operation, common to both formats. `operations` is the number of successful ones in `window_s`."""

    kind: str
    threads: int
    window_s: float
    operations: int
    operations_rate: float
    failed: int
    bytes_rate: float
    started: datetime | None
    ended: datetime | None
    first_errors: tuple[str, ...]
    stretches: tuple[_Requests, ...]


def is_warp(tree: dict[str, Any]) -> bool:
    """Whether the keys are those of one of warp's formats."""
    return "by_op_type" in tree or {"mixed", "operations"} <= tree.keys() or {"mixed", "type"} <= tree.keys()


def from_warp(tree: dict[str, Any], *, source: str) -> Document:
    """Read warp's JSON of either format. Raises `BadInput` with the JSON path of the error, or without any result."""
    if "by_op_type" in tree:
        results = shaped(tree, _Results, source=source, what=WHAT)
        _check(results, source)
        phases = tuple(_of_aggregate(kind, each) for kind, each in sorted(results.by_op_type.items()))
        version, words = results.warp_version, redact(results.commandline.split())
    else:
        analysis = shaped(tree, _Analysis, source=source, what=WHAT)
        phases = tuple(_of_operation(each) for each in analysis.operations or () if not each.skipped)
        version, words = "", ()
    measured = tuple(phase for phase in phases if phase.window_s > 0)
    if not measured:
        problem = "no kind of operation ran long enough for warp to measure it"
        raise unreadable(source, "$.by_op_type" if "by_op_type" in tree else "$.operations", problem, what=WHAT)
    client = Client(name="warp", version=version, label="warp")
    return foreign_document(
        [_result(phase, client) for phase in measured],
        source=source,
        what=f"a {WHAT}",
        started=min((phase.started for phase in measured if phase.started), default=None),
        ended=max((phase.ended for phase in measured if phase.ended), default=None),
        command_line=words,
        warnings=_warnings(phases),
    )


def _check(results: _Results, source: str) -> None:
    if not 0 <= results.v <= _VERSION_MAX:
        raise unreadable(
            source, "$.v", f"it is {results.v}, but only versions up to {_VERSION_MAX} can be read", what=WHAT
        )
    if not results.final:
        raise unreadable(source, "$.final", "it is false: the run had not ended", what=WHAT)


def _of_aggregate(kind: str, each: _Aggregate) -> _Phase:
    window, by_client = each.throughput, each.requests_by_client or {}
    stretches = (stretch.single_sized_requests for of_client in by_client.values() for stretch in of_client or ())
    window_s = window.measure_duration_millis / 1e3
    successful = max(0, window.ops - window.errors)
    return _Phase(
        kind=kind,
        threads=each.concurrency,
        window_s=window_s,
        operations=successful,
        operations_rate=successful / window_s if window_s else 0.0,
        failed=window.errors,
        bytes_rate=window.bytes / window_s if window_s else 0.0,
        started=_time(each.start_time),
        ended=_time(each.end_time),
        first_errors=each.first_errors or (),
        stretches=tuple(stretch for stretch in stretches if stretch and not stretch.skipped and stretch.requests),
    )


def _of_operation(each: _Operation) -> _Phase:
    window_s = each.throughput.measure_duration_millis / 1e3
    rate = each.throughput.average_ops / (each.objects_per_operation or 1)
    requests = each.single_sized_requests
    return _Phase(
        kind=each.type,
        threads=each.concurrency,
        window_s=window_s,
        operations=round(rate * window_s),
        operations_rate=rate,
        failed=each.throughput.errors,
        bytes_rate=each.throughput.average_bps,
        started=_time(each.start_time),
        ended=_time(each.end_time),
        first_errors=each.first_errors or (),
        stretches=(requests,) if requests and not requests.skipped and requests.requests else (),
    )


def _time(text: str) -> datetime | None:
    time = parse_time(text)
    return time if time and time >= _EPOCH else None


def _result(phase: _Phase, client: Client) -> Result:
    sizes = {stretch.obj_size for stretch in phase.stretches}
    size = (("size", exact_bytes(sizes.pop())),) if len(sizes) == 1 else ()
    name = f"load.{phase.kind.lower()}"
    dimensions = (*size, ("threads", f"{phase.threads}"))
    return foreign_result(name, client, dimensions=dimensions, measurements=(_measurement(phase),))


def _measurement(phase: _Phase) -> LoadMeasurement:
    return LoadMeasurement(
        iteration=0,
        total_time=phase.window_s,
        cpu_time=None,
        peak_memory=None,
        throughput=phase.bytes_rate or None,
        engine="",
        load=_load(phase),
        warnings=(),
    )


def _load(phase: _Phase) -> Load:
    moved = round(phase.bytes_rate * phase.window_s)
    downloads = phase.kind.upper() in _DOWNLOADS
    latency = _latency(phase.stretches)
    figures: dict[str, Any] = {
        "kind": phase.kind.lower(),
        "operations": phase.operations,
        "attempts": None,
        "failed": phase.failed,
        "retried": None,
        "repeated": None,
        "error_rate": error_rate(phase.operations, phase.failed),
        "operations_rate": phase.operations_rate,
        "bytes_up": 0 if downloads else moved,
        "bytes_down": moved if downloads else 0,
        "latency": latency,
        "first_byte": _first_byte(phase.stretches),
        "in_flight": None,
        "in_flight_by_littles_law": None if latency.mean is None else phase.operations_rate * latency.mean,
        "client_cpu_share": None,
    }
    return Load(**figures)


def _latency(stretches: Sequence[_Requests]) -> Latency:
    single = stretches[0] if len(stretches) == 1 else None
    known = {} if single is None else {50: single.dur_median_millis, 90: single.dur_90_millis, 99: single.dur_99_millis}
    return _combined(
        [(each.requests, each.dur_avg_millis, each.fastest_millis, each.slowest_millis) for each in stretches],
        known,
        [each.dur_hist for each in stretches],
    )


def _first_byte(stretches: Sequence[_Requests]) -> Latency:
    measured = [(each.requests, each.first_byte) for each in stretches if each.first_byte]
    single = measured[0][1] if len(measured) == 1 else None
    known = (
        {}
        if single is None
        else {
            25: single.p25_millis,
            50: single.median_millis,
            75: single.p75_millis,
            90: single.p90_millis,
            99: single.p99_millis,
        }
    )
    return _combined(
        [(count, each.average_millis, each.fastest_millis, each.slowest_millis) for count, each in measured],
        known,
        [each.ttfb_hist for _, each in measured],
    )


def _combined(
    parts: Sequence[tuple[int, float, float, float]],
    known: Mapping[int, float],
    histograms: Sequence[tuple[_Bucket, ...]],
) -> Latency:
    """Combine parts of count, mean, minimum and maximum in ms; `known` are percentiles if there is only one part."""
    count = sum(each[0] for each in parts)
    mean_ms = sum(each[0] * each[1] for each in parts) / count if count else 0.0
    merged = _merged(histograms)

    def at(percent: float) -> float | None:
        value_ms = known.get(round(percent)) if known else _rank_ms(merged, percent)
        return _seconds(value_ms) if suffices_for(count, percent) else None

    return Latency(
        count=count,
        mean=_seconds(mean_ms),
        min=_seconds(min((each[2] for each in parts), default=0.0)),
        p25=at(25),
        p50=at(50),
        p75=at(75),
        p90=at(90),
        p99=at(99),
        p999=None if known else at(99.9),
        max=_seconds(max((each[3] for each in parts), default=0.0)),
    )


def _seconds(millis: float | None) -> float | None:
    """Convert milliseconds to seconds; 0 means that the figure is missing or was rounded down, and gives `None`."""
    return millis / 1e3 if millis else None


def _merged(histograms: Sequence[tuple[_Bucket, ...]]) -> Counter[float]:
    """The number of operations in each bucket, by its end in ms; empty if a part has no histogram."""
    merged: Counter[float] = Counter()
    if all(histograms):
        for histogram in histograms:
            for bucket in histogram:
                merged[bucket.millis] += bucket.n
    return merged


def _rank_ms(merged: Counter[float], percent: float) -> float | None:
    """The percentile by nearest rank, as the end of its bucket."""
    rank = ceil(merged.total() * percent / 100)
    for end_ms in sorted(merged):
        rank -= merged[end_ms]
        if rank <= 0:
            return end_ms
    return None


def _warnings(phases: Iterable[_Phase]) -> Iterator[str]:
    for phase in phases:
        kind = phase.kind.lower()
        if phase.window_s <= 0:
            yield f"{kind} was left out: it was too short for warp to measure it"
            continue
        if len(phase.stretches) > 1:
            yield (
                f"{kind}: percentiles are the upper ends of warp's buckets, which are up to a tenth wide"
                if all(each.dur_hist for each in phase.stretches)
                else f"{kind}: warp reported percentiles only per ten seconds, which cannot be combined"
            )
        for error in phase.first_errors[:1]:
            yield f"{kind}: {phase.failed} operations failed in the window; one error is {error[:_ERROR_LENGTH_MAX]}"
