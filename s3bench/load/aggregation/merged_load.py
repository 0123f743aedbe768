"""The figures of one phase that several load runs made at the same time, merged from the figures of each.

Counts and histograms are added, which is exact. The window is the longest of the runs', and rates are counts over it,
so that the rates of windows of equal length add. What the figures of single runs do not determine is null.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec

from s3bench.load.aggregation.littles_law import Flow, contradiction
from s3bench.load.aggregation.total import latency_of
from s3bench.results.bins import Bins
from s3bench.results.histogram import Histogram
from s3bench.results.load import Load, LoadMeasurement, Second, error_rate, failures_together

_UNMERGED = {"waiting_max": "the most planned operations that waited", "ceiling": "what the machines can reach"}
_WITHOUT_SERVICE = "the time without service"


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseWindow:
    """When a phase began, and its measured window, in seconds of Unix time."""

    began_s: float
    since_s: float
    until_s: float

    @property
    def length_s(self) -> float:
        """How long the window is."""
        return self.until_s - self.since_s


def window_of(measurement: LoadMeasurement) -> PhaseWindow | None:
    """The window of a phase whose seconds are known; `None` if it was not recorded when it began."""
    if measurement.started_at is None or not measurement.load.seconds:
        return None
    began_s = datetime.fromisoformat(measurement.started_at).timestamp()
    # The window begins with a whole second and ends within the last one, or with it.
    first = math.floor(measurement.load.seconds[-1].second + 1 - measurement.total_time)
    since_s = began_s + first
    return PhaseWindow(began_s=began_s, since_s=since_s, until_s=since_s + measurement.total_time)


def overlap_share(windows: Sequence[PhaseWindow]) -> float:
    """The part of the longest window in which all of them were open: 1 if they are the same, 0 without any."""
    common_s = min(each.until_s for each in windows) - max(each.since_s for each in windows)
    return max(0.0, common_s) / max(each.length_s for each in windows)


def merged_load(parts: Sequence[LoadMeasurement], *, window_s: float) -> Load:
    """The figures of one kind of operation over all runs, without the seconds."""
    loads = [part.load for part in parts]
    first = loads[0]
    operations, failed = sum(each.operations for each in loads), sum(each.failed for each in loads)
    service = Histogram.merged(each.bins for each in loads)
    first_byte = Histogram.merged(each.first_byte_bins for each in loads)
    response = Histogram.merged(each.response_bins if each.response else each.bins for each in loads)
    has_responses = any(each.response for each in loads)
    planned = _total(loads, lambda load: load.rate_planned)

    def mean(pick: Callable[[Load], float | None]) -> float | None:
        """The sum of what each run had on average, weighted by the length of its window."""
        times = [None if (value := pick(part.load)) is None else value * part.total_time for part in parts]
        return None if None in times else sum(time for time in times if time is not None) / window_s

    return Load(
        kind=first.kind,
        job=first.job,
        operations=operations,
        attempts=_count(loads, lambda load: load.attempts),
        failed=failed,
        retried=_count(loads, lambda load: load.retried),
        repeated=_count(loads, lambda load: load.repeated),
        error_rate=error_rate(operations, failed),
        operations_rate=operations / window_s,
        rate_planned=planned,
        bytes_up=sum(each.bytes_up for each in loads),
        bytes_down=sum(each.bytes_down for each in loads),
        latency=latency_of(service),
        first_byte=latency_of(first_byte),
        response=latency_of(response) if has_responses else None,
        in_flight=mean(lambda load: load.in_flight),
        in_flight_by_littles_law=mean(lambda load: load.in_flight_by_littles_law),
        pausing=mean(lambda load: load.pausing),
        waiting_max=0 if all(each.waiting_max == 0 for each in loads) else None,
        without_service=0.0 if all(map(_is_without_gaps, loads)) else None,
        unfinished=_count(loads, lambda load: load.unfinished),
        late=_count(loads, lambda load: load.late),
        oldest=_most(each.oldest for each in loads),
        oldest_attempt=_most(each.oldest_attempt for each in loads),
        connects=_count(loads, lambda load: load.connects),
        client_cpu_share=_most(each.client_cpu_share for each in loads),
        client_run_delay_share=_most(each.client_run_delay_share for each in loads),
        cores_awake=first.cores_awake if len({each.cores_awake for each in loads}) == 1 else None,
        bottleneck=first.bottleneck if len({each.bottleneck for each in loads}) == 1 else "",
        failures=failures_together(loads),
        bins=service.bins(),
        first_byte_bins=first_byte.bins(),
        response_bins=response.bins() if has_responses else Bins(),
    )


def with_seconds(load: Load, parts: Sequence[tuple[PhaseWindow, Load]]) -> Load:
    """Add the seconds of all runs, each put to the nearest second of the run that began first.

    Percentiles of a second in which several runs had operations are null: its histograms were not kept. A second is
    stalled if no run had an operation in it and one of them counts it as stalled.
    """
    began_s = min(window.began_s for window, _ in parts)
    by_second: dict[int, list[Second]] = {}
    for window, each in parts:
        shift = round(window.began_s - began_s)
        for second in each.seconds:
            by_second.setdefault(second.second + shift, []).append(second)
    seconds = tuple(_merged_second(number, by_second[number]) for number in sorted(by_second))
    stalls = tuple(each.second for each in seconds if each.stalled)
    return msgspec.structs.replace(load, seconds=seconds, stalls=stalls)


def merge_warnings(loads: Sequence[Load]) -> tuple[str, ...]:
    """What the figures of these runs leave open when they are merged."""
    unknown = [
        words
        for name, words in _UNMERGED.items()
        if any(getattr(each, name) for each in loads)  # 0 and null need no words
    ]
    if not all(map(_is_without_gaps, loads)):
        unknown.append(_WITHOUT_SERVICE)
    warnings = []
    if unknown:
        words = ", ".join(unknown)
        warnings.append(f"null, since the results of single runs do not determine it: {words}")
    named = dict.fromkeys(each.bottleneck or "none" for each in loads)
    if len(named) > 1:
        warnings.append(f"the runs do not name the same bottleneck: {', '.join(named)}")
    if {True, False} <= {each.cores_awake for each in loads}:
        warnings.append("not all runs kept the cores out of idle states, which delays operations (see cores_awake)")
    return tuple(warnings)


def merged_contradiction(load: Load, *, window_s: float) -> str:
    """Describe how merged figures violate Little's law; empty if they agree.

    What was in flight at the edges is known by upper bounds only.
    """
    if load.in_flight is None or load.in_flight_by_littles_law is None:
        return ""
    failed_s = max((each.time_lost / each.count for each in load.failures if each.count), default=0.0)
    return contradiction(
        Flow(
            window_s=window_s,
            integral_s=load.in_flight * window_s,
            time_s=load.in_flight_by_littles_law * window_s,
            at_start=math.ceil(max((each.in_flight for each in load.seconds), default=0.0)),
            longest_s=max(load.latency.max or 0.0, failed_s),
            open_s=(load.unfinished or 0) * (load.oldest_attempt or 0.0),
        )
    )


def _merged_second(number: int, parts: Sequence[Second]) -> Second:
    busy = [each for each in parts if each.operations]
    alone = busy[0] if len(busy) == 1 else None
    pausing = [each.pausing for each in parts]
    return Second(
        second=number,
        operations=sum(each.operations for each in parts),
        failures=sum(each.failures for each in parts),
        bytes=sum(each.bytes for each in parts),
        p50=alone.p50 if alone else None,
        p99=alone.p99 if alone else None,
        max=_most(each.max for each in parts),
        in_flight=sum(each.in_flight for each in parts),
        pausing=None if None in pausing else sum(each for each in pausing if each is not None),
        stalled=not busy and any(each.stalled for each in parts),
    )


def _is_without_gaps(load: Load) -> bool:
    """Whether a run had no time without service, nor failures that could make one together with another run's."""
    return load.without_service == 0 and load.attempts == load.operations


def _count(loads: Iterable[Load], pick: Callable[[Load], int | None]) -> int | None:
    values = [pick(load) for load in loads]
    return None if None in values else sum(value for value in values if value is not None)


def _total(loads: Iterable[Load], pick: Callable[[Load], float | None]) -> float | None:
    values = [pick(load) for load in loads]
    return None if None in values else math.fsum(value for value in values if value is not None)


def _most(values: Iterable[float | None]) -> float | None:
    """The largest of the values that are known."""
    return max((value for value in values if value is not None), default=None)
