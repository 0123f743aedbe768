"""`s3bench history trend`: prints the trends of stored figures, and writes their page."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from s3bench.cli.history.series import BESIDE, VERSION, Beside, releases_of, series_of
from s3bench.cli.history.store import open_store, store_address
from s3bench.cli.streams import print_whole
from s3bench.clients.client import release_of
from s3bench.errors import BadInput, ExitCode
from s3bench.extras import needs_extra
from s3bench.history.entry import Filters
from s3bench.history.point import Point
from s3bench.report.page.trend.series import TrendSeries
from s3bench.report.terminal import printable
from s3bench.results.encoding import pretty_json
from s3bench.results.file import check_distinct, check_output, write_whole
from s3bench.results.metrics import METRICS_BY_NAME, Direction
from s3bench.spec.reader import nearest
from s3bench.trend.adjustment import ADJUSTED_METRICS
from s3bench.trend.metric_trend import Trend

USUAL_METRICS = ("total_time", "load.latency.p50")
"""The metric without `--metric`: the first that has figures. The time of a load run follows from its options."""

_WORDS_SHOWN = 60
_VERSIONS_SHOWN = 8
_REMEDY = "choose fewer series with -k, --client and --machine."


def print_trends(
    metric: str | None,
    *,
    by: str | None,
    reference: str | None,
    adjusts: bool,
    fail_on_change: bool,
    as_json: bool,
    output: Path | None,
    force: bool,
    filters: Filters,
    store: str | None,
) -> None:
    """Find the changes of `metric`, print them, and write their page.

    With `fail_on_change` the exit code is 1 if the newest is for the worse, and 3 if no series has enough releases.
    """
    _check_metric(metric, fail_on_change=fail_on_change)
    check_distinct([("-o", output)], read=[("--store", store_address(store).file)])
    if output is not None:
        check_output(output, force=force)
    with open_store(store) as history:
        stored = history.metrics(filters)
        shown = metric or next((each for each in USUAL_METRICS if each in stored), USUAL_METRICS[0])
        names = (shown, *(BESIDE if adjusts and shown in ADJUSTED_METRICS else ()))
        points, *beside = (history.points(name, filters) for name in names)
        if reference is not None and points and not _has(points, reference):
            is_stored = filters != Filters() and _has(history.points(shown), reference)
            raise _no_reference(reference, points, is_stored=is_stored)
    found = tuple(series_of(points, shown, Beside.of(beside), by=by, reference=reference))
    if output is not None:
        write_whole(trend_page(found, shown, over=_over(points, by), reference=reference).encode(), output)
    if as_json:
        print_whole(pretty_json(found))
    else:
        click.echo("".join(f"{line}\n" for line in _lines(found)), nl=False)
    for line in _hints(metric, shown, stored, found):
        click.echo(f"s3bench: {line}", err=True)
    if fail_on_change and any(_is_worse(series.trend) for series in found):
        raise click.exceptions.Exit(ExitCode.FAIL)
    if fail_on_change and not any(series.trend.is_tested for series in found):
        click.echo("s3bench: --fail-on-change: no series has enough releases to find a change", err=True)
        raise click.exceptions.Exit(ExitCode.INCONCLUSIVE)


def _check_metric(metric: str | None, *, fail_on_change: bool) -> None:
    """Refuse a metric that does not exist, and with `fail_on_change` one that cannot get worse. Raises `BadInput`."""
    if metric is None:
        return
    if metric not in METRICS_BY_NAME:
        near = nearest(metric, list(METRICS_BY_NAME))
        raise BadInput(
            f"--metric {metric}: unknown metric",
            fix=f"did you mean {near}?" if near else "docs/results.md lists the metrics",
        )
    if fail_on_change and METRICS_BY_NAME[metric].direction is Direction.NEUTRAL:
        raise BadInput(
            f"--fail-on-change cannot be combined with --metric {metric}",
            "neither more nor less of it is for the worse",
            "leave out --fail-on-change, or pass another metric",
        )


def _has(points: Sequence[Point], version: str) -> bool:
    return any(point.client_version == version for point in points)


def _no_reference(reference: str, points: Sequence[Point], *, is_stored: bool) -> BadInput:
    """The error for a reference that no matching result has; `is_stored`: results that do not match have it."""
    newest = sorted({point.client_version for point in points}, key=release_of, reverse=True)
    named = ", ".join(printable(version)[:_WORDS_SHOWN] for version in newest[:_VERSIONS_SHOWN])
    return BadInput(
        f"--reference {reference}: none of the results that match is of this version",
        "the store has it, and -k, --client or --machine leaves it out" if is_stored else "",
        "select its results as well; --client without a version takes every version"
        if is_stored
        else f"pass one of {named}{', or an older one' if len(newest) > _VERSIONS_SHOWN else ''}",
    )


def _hints(metric: str | None, shown: str, stored: Sequence[str], found: Sequence[TrendSeries]) -> Iterator[str]:
    """What else could be shown, where nothing is, or where the metric was chosen and load runs do not have it."""
    if not found and not stored:
        yield "no stored figures match; s3bench history list shows what is stored"
    elif not found:
        yield f"the results that match have no {shown}; pass one of these with --metric: {', '.join(stored)}"
    elif metric is None and shown != USUAL_METRICS[1] and USUAL_METRICS[1] in stored:
        yield f"load runs match as well; show them with --metric {USUAL_METRICS[1]}"


def _over(points: Sequence[Point], by: str | None) -> str:
    kinds = {releases_of(point, by) for point in points}
    if len(kinds) > 1:
        return "versions, and of load runs documents by date"
    return "versions" if kinds <= {VERSION} else "documents by date"


def trend_page(found: Sequence[TrendSeries], metric: str, *, over: str, reference: str | None) -> str:
    """The page of these series. Charts are imported here: they take a while, and no other command has to wait."""
    with needs_extra("a page with charts", "charts"):
        from s3bench.report.page.page import render_page  # noqa: PLC0415 (as said)
        from s3bench.report.page.trend.section import trend_section  # noqa: PLC0415

    facts = [("Metric", metric), ("Releases", over)]
    if reference is not None:
        facts.append(("Ratios to", printable(reference)[:_WORDS_SHOWN]))
    section = trend_section(METRICS_BY_NAME[metric], found)
    title = f"Trend of {metric} over {over if over == 'versions' else 'time'}"
    return render_page(title, (section,), facts=facts, remedy=_REMEDY)


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
