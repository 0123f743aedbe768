"""Series of releases, built from stored figures: which figures belong together, in which order, and their titles.

The figures of load runs are of one series only if they are of one workload at one endpoint. A build of the client that
a document has beside another one of its version is a series of its own. A release is a version of the client, or a
document: for load runs a document, since their client is s3bench and not what is measured. Of a run that was stored
before it ended, and again later, only the more complete document counts.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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
from s3bench.results.metrics import METRICS_BY_NAME, Metric
from s3bench.trend.adjustment import MachineFigures
from s3bench.trend.change_point import release_value
from s3bench.trend.metric_trend import Trend, TrendPoint, trend_of
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
        builds = _separate_builds(line)
        references = _References.of(whole, builds, reference)
        is_by_version = releases_of(line[0], by) == VERSION
        for build in sorted({_build(point, builds) for point in whole}):
            stored, used = ([point for point in each if _build(point, builds) == build] for each in (line, whole))
            releases = _by_version(used) if is_by_version else _by_date(used, reference)
            trend = _trend(releases, METRICS_BY_NAME[metric], beside, references.for_build(build))
            superseded = _left_out(len(stored) - len(used), "a more complete document of the same run is stored")
            yield TrendSeries(
                title=_title(line[0], build, differing[line[0].family]),
                trend=msgspec.structs.replace(trend, warnings=(*superseded, *trend.warnings)),
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _References:
    """The figures of the reference `version` by document; without a `version` the series does not contain it."""

    version: str | None
    values: Mapping[str, float]

    @classmethod
    def of(cls, points: Iterable[Point], builds: Collection[str], version: str | None) -> "_References":
        """Take them from `points`; one of the `builds` that are series of their own is never the reference."""
        found = (point for point in points if point.client_version == version and point.client_label not in builds)
        return cls(version=version, values={point.document: point.value for point in found})

    def for_build(self, build: str) -> "_References":
        """The same for the series of a build, which may be of the reference's version without being the reference."""
        return _References(version=None, values=self.values) if build else self

    def with_those(self, release: _Release) -> _Release:
        """The figures of the documents that have the reference too; all of them where none has it.

        The speed of the machine differs from document to document, so the other figures have no reference.
        """
        beside = tuple(point for point in release.points if point.document in self.values)
        return _Release(label=release.label, points=beside or release.points)


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


def _separate_builds(points: Iterable[Point]) -> frozenset[str]:
    """The labels of the builds that are series of their own: a document has them beside another of their version.

    A published version, whose label has no path, stays in the series of all versions.
    """
    labels: dict[tuple[str, str], set[str]] = {}
    for point in points:
        labels.setdefault((point.document, point.client_version), set()).add(point.client_label)
    published = {f"{point.client}@{point.client_version}" for point in points}
    return frozenset(label for own in labels.values() if len(own) > 1 for label in own - published)


def _build(point: Point, builds: Collection[str]) -> str:
    """The label of the build that is the series of `point`; empty in the series of all versions."""
    return point.client_label if point.client_label in builds else ""


def _left_out(count: int, why: str) -> Iterator[str]:
    if count:
        yield f"{counted(count, 'figure')} left out: {why}"


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


def _by_date(points: Sequence[Point], reference: str | None) -> tuple[_Release, ...]:
    """One release for each document, with the figure of the newest version in it other than the `reference` version.

    That of the reference version itself only where the document has no other.
    """
    newest: dict[str, Point] = {}
    for point in sorted(
        points, key=lambda point: (point.client_version != reference, release_of(point.client_version))
    ):
        newest[point.document] = point
    ordered = sorted(newest.values(), key=lambda point: point.at)
    return tuple(_Release(label=f"{point.at:%Y-%m-%d %H:%M}", points=(point,)) for point in ordered)


def _trend(releases: Sequence[_Release], metric: Metric, beside: Beside, references: _References) -> Trend:
    """The trend over `releases`, with warnings about figures that are left out and about unsound ones."""
    compared = tuple(map(references.with_those, releases))
    alone = sum(len(release.points) for release in releases) - sum(len(release.points) for release in compared)
    trend = trend_of(metric, [_trend_point(release, beside, references) for release in compared])
    left_out = _left_out(alone, "their documents do not have the reference release")
    return msgspec.structs.replace(trend, warnings=(*left_out, *_unsound(compared), *trend.warnings))


def _trend_point(release: _Release, beside: Beside, references: _References) -> TrendPoint:
    """The medians of a release's figures, and of the reference version's in the same documents.

    The reference version itself gets no reference, since its ratio to itself is no evidence.
    """
    points = release.points
    is_reference = points[0].client_version == references.version
    measured_beside = (references.values[point.document] for point in points if point.document in references.values)
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


def _title(point: Point, build: str, differing: Sequence[str]) -> str:
    words = (point.benchmark, *(f"{name}={value}" for name, value in point.dimensions), f"on {build or point.client}")
    workload = dict(point.workload or ())
    properties = (f"{what} {workload.get(what, 'none')}" for what in differing)
    start = " ".join(printable(word)[:_WORDS_SHOWN] for word in words)
    more = (printable(each)[:_WORDS_SHOWN] for each in properties)
    return ", ".join((start, *more, f"machine {point.machine[:8]}"))
