"""`s3bench history trend`: builds series of releases from stored figures, and prints their trends."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import click
import msgspec

from s3bench.cli.history.store import open_store
from s3bench.cli.streams import print_whole
from s3bench.clients.client import release_of
from s3bench.errors import BadInput, ExitCode
from s3bench.extras import needs_extra
from s3bench.history.entry import Filters
from s3bench.history.point import Point
from s3bench.report.page.trend.series import TrendSeries
from s3bench.report.terminal import printable
from s3bench.results.file import check_output, write_whole
from s3bench.results.machine_speed import log_lengthening
from s3bench.results.metrics import METRICS_BY_NAME
from s3bench.spec.reader import nearest
from s3bench.trend.adjustment import ADJUSTED_METRICS, MachineFigures
from s3bench.trend.change_point import release_value
from s3bench.trend.metric_trend import Trend, TrendPoint, trend_of

_INDENT = 2
_WORDS_SHOWN = 60
_BESIDE = ("machine_speed.rate", "runqueue_wait_time", "cpu_time", "total_time")
_REMEDY = "choose fewer series with -k, --client and --machine."


def print_trends(
    metric: str,
    *,
    by: str,
    reference: str | None,
    adjusts: bool,
    fail_on_change: bool,
    as_json: bool,
    output: Path | None,
    force: bool,
    filters: Filters,
    store: str | None,
) -> None:
    """Find the changes of `metric`, print them, and write their page; exit code 1 with `fail_on_change`."""
    if metric not in METRICS_BY_NAME:
        near = nearest(metric, list(METRICS_BY_NAME))
        raise BadInput(
            f"--metric {metric}: unknown metric",
            fix=f"did you mean {near}?" if near else "docs/results.md lists the metrics",
        )
    if output is not None:
        check_output(output, force=force)
    with open_store(store) as history:
        names = (metric, *(_BESIDE if adjusts and metric in ADJUSTED_METRICS else ()))
        points, *beside = (
            history.points(name, benchmarks=filters.benchmarks, client=filters.client, machine=filters.machine)
            for name in names
        )
    found = tuple(_series(points, metric, _Beside.of(beside), by=by, reference=reference))
    if output is not None:
        write_whole(trend_page(found, metric, by=by, reference=reference).encode(), output)
    if as_json:
        print_whole(msgspec.json.format(msgspec.json.encode(found), indent=_INDENT) + b"\n")
    else:
        click.echo("".join(f"{line}\n" for line in _lines(found)) or "no stored figures match\n", nl=False)
    if fail_on_change and any(_is_worse(series.trend) for series in found):
        raise click.exceptions.Exit(ExitCode.FAIL)


def trend_page(found: Sequence[TrendSeries], metric: str, *, by: str, reference: str | None) -> str:
    """The page of these series. Charts are imported here: they take a while, and no other command has to wait."""
    with needs_extra("a page with charts", "charts"):
        from s3bench.report.page.page import render_page  # noqa: PLC0415 (as said)
        from s3bench.report.page.trend.section import trend_section  # noqa: PLC0415

    facts = [("Metric", metric), ("Releases", "versions" if by == "version" else "documents, by date")]
    if reference is not None:
        facts.append(("Ratios to", printable(reference)[:_WORDS_SHOWN]))
    section = trend_section(METRICS_BY_NAME[metric], found)
    return render_page(
        f"Trend of {metric} over {'versions' if by == 'version' else 'time'}", (section,), facts=facts, remedy=_REMEDY
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Beside:
    """The figures of the machine in the same runs, by metric and result."""

    values: Mapping[tuple[object, ...], float]

    @classmethod
    def of(cls, points: Iterable[Sequence[Point]]) -> "_Beside":
        return cls(values={(point.metric, *_result(point)): point.value for series in points for point in series})

    def figures(self, points: Sequence[Point]) -> MachineFigures | None:
        """The medians over `points`; `None` unless one of them has the speed of the machine or the wait for a core."""
        speed, waited_s, cpu_s, total_s = (
            _median(self.values[key] for point in points if (key := (name, *_result(point))) in self.values)
            for name in _BESIDE
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


def _series(
    points: Sequence[Point], metric: str, beside: _Beside, *, by: str, reference: str | None
) -> Iterator[TrendSeries]:
    ordered = sorted(points, key=lambda point: (repr(point.series), point.at))
    for _, own in groupby(ordered, key=lambda point: repr(point.series)):
        line = tuple(own)
        releases = (_by_version if by == "version" else _by_date)(line, beside, reference)
        yield TrendSeries(title=_title(line[0]), trend=trend_of(METRICS_BY_NAME[metric], releases))


def _by_version(points: Sequence[Point], beside: _Beside, reference: str | None) -> tuple[TrendPoint, ...]:
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


def _by_date(points: Sequence[Point], beside: _Beside, reference: str | None) -> tuple[TrendPoint, ...]:
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


def _is_worse(trend: Trend) -> bool:
    return bool(trend.changes) and trend.changes[-1].is_worse is True


def _lines(found: Sequence[TrendSeries]) -> Iterator[str]:
    for series in found:
        yield series.title
        for line in series.trend.words.splitlines():
            yield f"  {line}"
        if series.trend.adjustment is not None:
            yield f"  {series.trend.adjustment.words}"
        yield from (f"  warning: {printable(warning)}" for warning in series.warnings)


def _title(point: Point) -> str:
    words = (point.benchmark, *(f"{name}={value}" for name, value in point.dimensions), f"on {point.client}")
    text = " ".join(printable(word)[:_WORDS_SHOWN] for word in words)
    return f"{text}, machine {point.machine[:8]}"
