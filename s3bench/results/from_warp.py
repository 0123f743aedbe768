"""What `warp analyze --json` prints as a results document: each kind of operation is a phase under load.

Two formats of https://github.com/minio/warp: its aggregated results (`Realtime` and `LiveAggregate` in
pkg/aggregate/live.go), and the analysis of earlier versions (`Aggregated` and `Operation` in
pkg/aggregate/aggregate.go). Both tell of the window that warp measured, without its first and last seconds. warp stores
milliseconds and bytes. What it does not tell is null: attempts of its SDK, how busy its own machine was, operations in
flight.

Aggregated results have latencies of stretches of ten seconds. Their means are joined by their numbers of requests, and
their extremes exactly. Percentiles do not follow from percentiles of parts: they are read from histograms, where warp
wrote such (pkg/bench, `LatencyHistogram`: the upper ends of buckets), or from a stretch that is the only one.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import ceil
from typing import Annotated, Any

import msgspec

from s3bench.results.bins import carries
from s3bench.results.document import Client, Document, Result
from s3bench.results.foreign_tree import foreign_document, foreign_result, parse_moment, refuse, shaped
from s3bench.results.load import Latency, Load, LoadMeasurement
from s3bench.results.redaction import redact
from s3bench.units import exact_bytes

WHAT = "warp analysis"

_VERSION_MAX = 2
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)  # Go's zero time, which lies before it, means that there is none
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
    """One kind of operation in the words of both formats. `operations` ended well within `window_s`."""

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
    """Read warp's JSON of either format. Raises `BadInput` with the path of what is wrong, or where nothing is told."""
    if "by_op_type" in tree:
        results = shaped(tree, _Results, source=source, what=WHAT)
        _check(results, source)
        phases = tuple(_of_aggregate(kind, each) for kind, each in sorted(results.by_op_type.items()))
        version, words = results.warp_version, redact(results.commandline.split())
    else:
        analysis = shaped(tree, _Analysis, source=source, what=WHAT)
        phases = tuple(_of_operation(each) for each in analysis.operations or () if not each.skipped)
        version, words = "", ()
    told = tuple(phase for phase in phases if phase.window_s > 0)
    if not told:
        said = "no kind of operation ran long enough for warp to measure it"
        raise refuse(source, "$.by_op_type" if "by_op_type" in tree else "$.operations", said, what=WHAT)
    client = Client(name="warp", version=version, label="warp")
    return foreign_document(
        [_result(phase, client) for phase in told],
        source=source,
        what=f"a {WHAT}",
        started=min((phase.started for phase in told if phase.started), default=None),
        ended=max((phase.ended for phase in told if phase.ended), default=None),
        command_line=words,
        warnings=_doubts(phases),
    )


def _check(results: _Results, source: str) -> None:
    if not 0 <= results.v <= _VERSION_MAX:
        raise refuse(source, "$.v", f"it is {results.v}, and up to {_VERSION_MAX} can be read", what=WHAT)
    if not results.final:
        raise refuse(source, "$.final", "it is false: the run was not over", what=WHAT)


def _of_aggregate(kind: str, each: _Aggregate) -> _Phase:
    window, by_client = each.throughput, each.requests_by_client or {}
    stretches = (stretch.single_sized_requests for of_client in by_client.values() for stretch in of_client or ())
    window_s = window.measure_duration_millis / 1e3
    well = max(0, window.ops - window.errors)
    return _Phase(
        kind=kind,
        threads=each.concurrency,
        window_s=window_s,
        operations=well,
        operations_rate=well / window_s if window_s else 0.0,
        failed=window.errors,
        bytes_rate=window.bytes / window_s if window_s else 0.0,
        started=_moment(each.start_time),
        ended=_moment(each.end_time),
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
        started=_moment(each.start_time),
        ended=_moment(each.end_time),
        first_errors=each.first_errors or (),
        stretches=(requests,) if requests and not requests.skipped and requests.requests else (),
    )


def _moment(text: str) -> datetime | None:
    moment = parse_moment(text)
    return moment if moment and moment >= _EPOCH else None


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
    ended = phase.operations + phase.failed
    latency = _latency(phase.stretches)
    figures: dict[str, Any] = {
        "kind": phase.kind.lower(),
        "operations": phase.operations,
        "attempts": None,
        "failed": phase.failed,
        "retried": None,
        "repeated": None,
        "error_rate": phase.failed / ended if ended else 0.0,
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
    alone = stretches[0] if len(stretches) == 1 else None
    known = {} if alone is None else {50: alone.dur_median_millis, 90: alone.dur_90_millis, 99: alone.dur_99_millis}
    return _joined(
        [(each.requests, each.dur_avg_millis, each.fastest_millis, each.slowest_millis) for each in stretches],
        known,
        [each.dur_hist for each in stretches],
    )


def _first_byte(stretches: Sequence[_Requests]) -> Latency:
    told = [(each.requests, each.first_byte) for each in stretches if each.first_byte]
    alone = told[0][1] if len(told) == 1 else None
    known = (
        {}
        if alone is None
        else {
            25: alone.p25_millis,
            50: alone.median_millis,
            75: alone.p75_millis,
            90: alone.p90_millis,
            99: alone.p99_millis,
        }
    )
    return _joined(
        [(count, each.average_millis, each.fastest_millis, each.slowest_millis) for count, each in told],
        known,
        [each.ttfb_hist for _, each in told],
    )


def _joined(
    parts: Sequence[tuple[int, float, float, float]],
    known: Mapping[int, float],
    histograms: Sequence[tuple[_Bucket, ...]],
) -> Latency:
    """Join parts of count, mean, least and greatest in ms; `known` are percentiles of a part that is the only one."""
    count = sum(each[0] for each in parts)
    mean_ms = sum(each[0] * each[1] for each in parts) / count if count else 0.0
    merged = _merged(histograms)

    def at(percent: float) -> float | None:
        value_ms = known.get(round(percent)) if known else _rank_ms(merged, percent)
        return _seconds(value_ms) if carries(count, percent) else None

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
    """Seconds of `millis`; nothing takes no time, so that a 0 is a figure that is not there, or was rounded to it."""
    return millis / 1e3 if millis else None


def _merged(histograms: Sequence[tuple[_Bucket, ...]]) -> Counter[float]:
    """How many operations there are up to each bucket's end in ms; empty where a part has no histogram."""
    merged: Counter[float] = Counter()
    if all(histograms):
        for histogram in histograms:
            for bucket in histogram:
                merged[bucket.millis] += bucket.n
    return merged


def _rank_ms(merged: Counter[float], percent: float) -> float | None:
    """The percentile by nearest rank, to the end of its bucket."""
    rank = ceil(merged.total() * percent / 100)
    for end_ms in sorted(merged):
        rank -= merged[end_ms]
        if rank <= 0:
            return end_ms
    return None


def _doubts(phases: Iterable[_Phase]) -> Iterator[str]:
    for phase in phases:
        kind = phase.kind.lower()
        if phase.window_s <= 0:
            yield f"{kind} was left out: it ran too short for warp to measure it"
            continue
        if len(phase.stretches) > 1:
            yield (
                f"{kind}: percentiles are the upper ends of warp's buckets, which are up to a tenth wide"
                if all(each.dur_hist for each in phase.stretches)
                else f"{kind}: warp told percentiles of stretches of ten seconds alone, from which none follow"
            )
        for error in phase.first_errors[:1]:
            yield f"{kind}: {phase.failed} operations failed in the window; one error is {error[:_ERROR_LENGTH_MAX]}"
