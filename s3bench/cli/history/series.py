"""Series of releases, built from stored figures: which figures belong together, in which order, and their titles.

The figures of load runs are of one series only if they are of one workload at one endpoint. A release is a version of
the client, or a document: for load runs a document, since their client is s3bench and not what is measured. Of a
run that was stored before it ended, and again later, only the more complete document counts.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

import msgspec

from s3bench.clients.client import release_of
from s3bench.history.point import Point
from s3bench.report.page.trend.series import TrendSeries
from s3bench.report.terminal import printable
from s3bench.results.document import Status
from s3bench.results.machine_speed import log_lengthening
from s3bench.results.metrics import METRICS_BY_NAME
from s3bench.trend.adjustment import MachineFigures
from s3bench.trend.change_point import release_value
from s3bench.trend.metric_trend import TrendPoint, trend_of
from s3bench.units import counted

VERSION = "version"
DATE = "date"
BESIDE = ("machine_speed.rate", "runqueue_wait_time", "cpu_time", "total_time")
"""The metrics of the machine in the same runs, for adjustment."""

_WORDS_SHOWN = 60
_LABELS_SHOWN = 3


def series_of(
    points: Sequence[Point], metric: str, beside: "Beside", *, by: str | None, reference: str | None
) -> Iterator[TrendSeries]:
    """The series of `points`, of which a release is what `by` says, or `releases_of` without."""
    ordered = sorted(points, key=lambda point: (repr(point.series), point.at))
    differing = _differing(ordered)
    for _, own in groupby(ordered, key=lambda point: repr(point.series)):
        line = tuple(own)
        whole = _of_whole_runs(line)
        releases = (_by_version if releases_of(line[0], by) == VERSION else _by_date)(whole)
        references = {point.document: point.value for point in whole if point.client_version == reference}
        trend = trend_of(
            METRICS_BY_NAME[metric], [_trend_point(each, beside, references, reference) for each in releases]
        )
        warnings = (*_left_out(len(line) - len(whole)), *_unsound(releases), *trend.warnings)
        yield TrendSeries(
            title=_title(line[0], differing[line[0].family]), trend=msgspec.structs.replace(trend, warnings=warnings)
        )


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Release:
    """A release by its label, and its figures: one for each document."""

    label: str
    points: tuple[Point, ...]


def _of_whole_runs(points: Sequence[Point]) -> tuple[Point, ...]:
    """Of a run that was stored several times, the figures of the document that is complete, or else of the longest.

    They are of one document for all clients, so that a reference stays beside what was measured with it.
    """
    runs: dict[datetime, dict[str, list[Point]]] = {}
    for point in points:
        runs.setdefault(point.at, {}).setdefault(point.document, []).append(point)
    kept: list[list[Point]] = []
    for documents in runs.values():
        complete = [own for own in documents.values() if not own[0].was_cut_short]
        kept += complete or [max(documents.values(), key=lambda own: sum(point.n for point in own))]
    return tuple(point for own in kept for point in own)


def _left_out(count: int) -> Iterator[str]:
    if count:
        yield f"{counted(count, 'figure')} left out: a more complete document of the same run is stored"


def _unsound(releases: Sequence[_Release]) -> Iterator[str]:
    """A warning about the releases whose figures come from results with failures or warnings."""
    failed = [each.label for each in releases if any(point.status is Status.FAILED for point in each.points)]
    warned = [each.label for each in releases if any(point.doubtful for point in each.points)]
    words = [f"{what} in {_named(labels)}" for what, labels in (("failures", failed), ("warnings", warned)) if labels]
    if words:
        yield f"{', '.join(words)}: s3bench history show has them"


def _named(labels: Sequence[str]) -> str:
    """`3 releases (2.1.0, 2.2.0, 2.3.0)`, the first few of many."""
    shown = ", ".join(label[:_WORDS_SHOWN] for label in labels[:_LABELS_SHOWN])
    more = f" and {len(labels) - _LABELS_SHOWN:,} more" if len(labels) > _LABELS_SHOWN else ""
    return f"{counted(len(labels), 'release')} ({shown}{more})"


def _by_version(points: Sequence[Point]) -> tuple[_Release, ...]:
    """One release for each version, with the figures of all its documents."""
    versions: dict[str, list[Point]] = {}
    for point in points:
        versions.setdefault(point.client_version, []).append(point)
    ordered = sorted(versions, key=release_of)
    return tuple(_Release(label=version, points=tuple(versions[version])) for version in ordered)


def _by_date(points: Sequence[Point]) -> tuple[_Release, ...]:
    """One release for each document, with the figure of the newest version in it."""
    newest: dict[str, Point] = {}
    for point in sorted(points, key=lambda point: release_of(point.client_version)):
        newest[point.document] = point
    ordered = sorted(newest.values(), key=lambda point: point.at)
    return tuple(_Release(label=f"{point.at:%Y-%m-%d %H:%M}", points=(point,)) for point in ordered)


def _trend_point(
    release: _Release, beside: Beside, references: Mapping[str, float], reference: str | None
) -> TrendPoint:
    """The medians of a release's figures, and of the reference version's in the same documents (`references`).

    The reference version itself gets no reference, since its ratio to itself is no evidence.
    """
    points = release.points
    is_reference = points[0].client_version == reference
    measured_beside = (references[point.document] for point in points if point.document in references)
    return TrendPoint(
        label=release.label,
        value=release_value([point.value for point in points]),
        machine=points[0].machine,
        reference=None if is_reference else _median(measured_beside),
        beside=beside.figures(points),
    )


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
