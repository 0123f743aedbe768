"""Series of releases, built from stored figures: which figures belong together, in which order, and their titles.

The figures of load runs are of one series only if they are of one workload at one endpoint. A release is a version of
the client, or a document: for load runs a document, since their client is s3bench and not what is measured.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from s3bench.clients.client import release_of
from s3bench.history.point import Point
from s3bench.report.page.trend.series import TrendSeries
from s3bench.report.terminal import printable
from s3bench.results.machine_speed import log_lengthening
from s3bench.results.metrics import METRICS_BY_NAME
from s3bench.trend.adjustment import MachineFigures
from s3bench.trend.change_point import release_value
from s3bench.trend.metric_trend import TrendPoint, trend_of

VERSION = "version"
DATE = "date"
BESIDE = ("machine_speed.rate", "runqueue_wait_time", "cpu_time", "total_time")
"""The metrics of the machine in the same runs, for adjustment."""

_WORDS_SHOWN = 60


def series_of(
    points: Sequence[Point], metric: str, beside: "Beside", *, by: str | None, reference: str | None
) -> Iterator[TrendSeries]:
    """The series of `points`, of which a release is what `by` says, or `releases_of` without."""
    ordered = sorted(points, key=lambda point: (repr(point.series), point.at))
    differing = _differing(ordered)
    for _, own in groupby(ordered, key=lambda point: repr(point.series)):
        line = tuple(own)
        is_by_version = releases_of(line[0], by) == VERSION
        releases = (_by_version if is_by_version else _by_date)(line, beside, reference)
        title = _title(line[0], differing[line[0].family])
        yield TrendSeries(title=title, trend=trend_of(METRICS_BY_NAME[metric], releases))


def releases_of(point: Point, by: str | None) -> str:
    """What a release is in the series of `point`: `VERSION` or `DATE`."""
    return by or (VERSION if point.workload is None else DATE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """The figures of the machine in the same runs, by metric and result."""

    values: Mapping[tuple[object, ...], float]

    @classmethod
    def of(cls, points: Iterable[Sequence[Point]]) -> "Beside":
        """Take them from the points of each metric of `BESIDE`."""
        return cls(values={(point.metric, *_result(point)): point.value for series in points for point in series})

    def figures(self, points: Sequence[Point]) -> MachineFigures | None:
        """The medians over `points`; `None` unless one of them has the speed of the machine or the wait for a core."""
        speed, waited_s, cpu_s, total_s = (
            _median(self.values[key] for point in points if (key := (name, *_result(point))) in self.values)
            for name in BESIDE
        )
        if total_s is None or (speed is None and waited_s is None):
            return None
        return MachineFigures(
            speed=speed,
            cpu_share=None if cpu_s is None else cpu_s / total_s,
            lengthening=log_lengthening(total_s, waited_s),
            s3bench=points[0].s3bench,
        )


def _result(point: Point) -> tuple[object, ...]:
    return point.document, point.benchmark, point.dimensions, point.client_label


def _by_version(points: Sequence[Point], beside: Beside, reference: str | None) -> tuple[TrendPoint, ...]:
    """One point for each version: the median of its documents, and of the references in these documents.

    The reference version itself gets no reference, since its ratio to itself is no evidence.
    """
    references = _references(points, reference)
    versions: dict[str, list[Point]] = {}
    for point in points:
        versions.setdefault(point.client_version, []).append(point)
    return tuple(
        TrendPoint(
            label=version,
            value=release_value([point.value for point in versions[version]]),
            machine=versions[version][0].machine,
            reference=None
            if version == reference
            else _median(references[point.document] for point in versions[version] if point.document in references),
            beside=beside.figures(versions[version]),
        )
        for version in sorted(versions, key=release_of)
    )


def _by_date(points: Sequence[Point], beside: Beside, reference: str | None) -> tuple[TrendPoint, ...]:
    """One point for each document, of the newest version in it."""
    references = _references(points, reference)
    newest: dict[str, Point] = {}
    for point in sorted(points, key=lambda point: release_of(point.client_version)):
        newest[point.document] = point
    return tuple(
        TrendPoint(
            label=f"{point.at:%Y-%m-%d %H:%M}",
            value=point.value,
            machine=point.machine,
            reference=None if point.client_version == reference else references.get(point.document),
            beside=beside.figures((point,)),
        )
        for point in sorted(newest.values(), key=lambda point: point.at)
    )


def _references(points: Iterable[Point], reference: str | None) -> dict[str, float]:
    """The reference version's figure, by document."""
    return {point.document: point.value for point in points if point.client_version == reference}


def _median(values: Iterable[float]) -> float | None:
    found = list(values)
    return release_value(found) if found else None


def _differing(points: Iterable[Point]) -> dict[tuple[object, ...], tuple[str, ...]]:
    """The properties of the workload in which the series of each family differ, in the order of the workload."""
    families: dict[tuple[object, ...], list[Mapping[str, str]]] = {}
    for point in points:
        families.setdefault(point.family, []).append(dict(point.workload or ()))
    return {
        family: tuple(
            what
            for what in dict.fromkeys(name for workload in workloads for name in workload)
            if len({workload.get(what) for workload in workloads}) > 1
        )
        for family, workloads in families.items()
    }


def _title(point: Point, differing: Sequence[str]) -> str:
    words = (point.benchmark, *(f"{name}={value}" for name, value in point.dimensions), f"on {point.client}")
    workload = dict(point.workload or ())
    properties = (f"{what} {workload.get(what, 'none')}" for what in differing)
    start = " ".join(printable(word)[:_WORDS_SHOWN] for word in words)
    more = (printable(each)[:_WORDS_SHOWN] for each in properties)
    return ", ".join((start, *more, f"machine {point.machine[:8]}"))
