"""The timeline of one iteration: memory and CPU over time from samples, and its requests as the server saw them.

Both are bounded for charts.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import msgspec

from s3bench.results.machine_speed import SpeedFacts, speed_series

POINTS_MAX = 40
"""The most points of one series: a chart of one column shows no more, and 40 iterations are drawn at once."""

REQUESTS_MAX = 2000
"""The most requests of one iteration; the first ones are kept."""

_SHORT_WINDOW_SHARE = 0.5
_AT_DIGITS, _CORES_DIGITS = 3, 2  # milliseconds, and hundredths of a core
_APART_MIN_S = 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesFacts:
    """Samples of the whole process tree, in the order they were taken.

    `at_s`: seconds since the spawn. `rss_bytes`: resident memory of all its processes. `cpu_s`: CPU time of all its
    processes so far, including those that ended. The three are equally long. `interval_s` is the requested interval,
    doubled each time that every two samples were made one. `cores` is the number of cores that the process may use,
    `left_out` the number of samples that were merged into others.
    """

    at_s: Sequence[float]
    rss_bytes: Sequence[float]
    cpu_s: Sequence[float]
    interval_s: float
    cores: int
    left_out: int = 0


class UsageSeries(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """Memory and CPU of the whole process tree over time; the three are equally long, and never empty.

    `at` is in seconds since the spawn, from the first sample to the last. `memory` is the largest sample after the
    previous point, in bytes. `cores` is the average number of cores in use since the previous point; null for the first
    point, and if the two clocks contradict each other. `speed` is the mean speed of the machine since the previous
    point, relative to its median in this iteration; null where it was not probed, empty if it never was.
    """

    at: tuple[float, ...]
    memory: tuple[int, ...]
    cores: tuple[float | None, ...]
    speed: tuple[float | None, ...] = ()


class RequestSpan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """One request and its response as the server saw them; times in seconds since the spawn.

    `connection` is the number of the connection at the server; null if there are no sockets. `kind` is that of
    `requests_by_kind`. The request was read from `start` to `body_end`; its response was sent from `first_byte` to
    `end`. `status` and `first_byte` are null without a response. `bytes_up` and `bytes_down` are bodies without
    framing. `attempt` is 1 for the first. `fault` is a fault injected by a network model, `error` what was wrong.
    """

    connection: int | None
    kind: str
    start: float
    body_end: float
    first_byte: float | None
    end: float
    bytes_up: int
    bytes_down: int
    status: int | None
    attempt: int
    fault: str
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """The data of one iteration for charts. `requests_left_out` is the number beyond `REQUESTS_MAX`."""

    series: UsageSeries | None = None
    requests: tuple[RequestSpan, ...] = ()
    requests_left_out: int = 0


def thinned(series: SeriesFacts, speed: SpeedFacts | None = None) -> UsageSeries | None:
    """Reduce samples to at most `POINTS_MAX` points, including the first and the last sample; `None` without samples.

    The time is divided into equal parts of at least a millisecond. Each part gives one point if a window of
    `cores_in_use` ends in it, at least a millisecond from any other point. For each stretch between two points the
    largest memory is kept, so that no peak is lost, and the mean of the cores, from the CPU time at both ends. The last
    stretch is merged with those before it until it shows no more cores than the process may use.
    """
    if not series.at_s:
        return None
    points = _points(series)
    stretches = tuple(pairwise(points))
    peaks = (max(series.rss_bytes[start + 1 : end + 1]) for start, end in stretches)
    return UsageSeries(
        at=tuple(round(series.at_s[point], _AT_DIGITS) for point in points),
        speed=speed_series(speed, [series.at_s[point] for point in points]),
        memory=tuple(int(peak) for peak in (series.rss_bytes[0], *peaks)),
        cores=(None, *(_cores(series, start, end) for start, end in stretches)),
    )


def cores_in_use(series: SeriesFacts) -> list[float]:
    """Compute the cores in use over each data interval: CPU seconds used over seconds passed.

    A late sampler takes two samples in quick succession, and one that is interrupted between reading the clock and the
    CPU time assigns CPU time to the wrong window. So a window lasts at least half an interval, and one that shows more
    cores than the process may use is merged with the one before it, or else the one after.
    """
    return [max(0.0, _rate(series, start, end)) for start, end in pairwise(_edges(series))]


def _edges(series: SeriesFacts) -> list[int]:
    """The samples at which a window ends and the next begins, including the first sample."""
    edges: list[int] = []
    for sample, at_s in enumerate(series.at_s):
        if edges and at_s - series.at_s[edges[-1]] < series.interval_s * _SHORT_WINDOW_SHARE:
            continue
        while len(edges) > 1 and _rate(series, edges[-1], sample) > series.cores:
            edges.pop()
        if not edges or _rate(series, edges[-1], sample) <= series.cores:
            edges.append(sample)
    return edges


def _points(series: SeriesFacts) -> list[int]:
    """The samples to keep: the first, the first edge in each part of the time, the last."""
    at_s, last = series.at_s, len(series.at_s) - 1
    part_s = max((at_s[last] - at_s[0]) / (POINTS_MAX - 1), _APART_MIN_S)
    points = [0]
    for edge in _edges(series):
        is_first = (at_s[points[-1]] - at_s[0]) // part_s < (at_s[edge] - at_s[0]) // part_s
        if is_first and _are_apart(at_s, points[-1], edge) and _are_apart(at_s, edge, last):
            points.append(edge)
    while len(points) > 1 and _rate(series, points[-1], last) > series.cores:
        points.pop()
    return [*points, last] if last else points


def _are_apart(at_s: Sequence[float], before: int, after: int) -> bool:
    return at_s[after] - at_s[before] >= _APART_MIN_S


def _cores(series: SeriesFacts, start: int, end: int) -> float | None:
    rate = _rate(series, start, end)
    return None if rate > series.cores else round(max(0.0, rate), _CORES_DIGITS)


def _rate(series: SeriesFacts, start: int, end: int) -> float:
    passed_s = series.at_s[end] - series.at_s[start]
    return (series.cpu_s[end] - series.cpu_s[start]) / passed_s if passed_s > 0 else math.inf
