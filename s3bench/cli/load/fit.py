"""Runs `s3bench load --fit`: reads an access log, and writes the profile that was fitted to it."""

from collections.abc import Iterator
from pathlib import Path

import click
import msgspec

import s3bench
from s3bench.cli.load.options import LoadOptions
from s3bench.cli.progress import Ticker, ticker_for
from s3bench.cli.streams import print_whole
from s3bench.errors import BadInput
from s3bench.load.access_log.logged_request import LoggedRequest
from s3bench.load.access_log.nginx import COMBINED
from s3bench.load.access_log.reading import LogReading, read_log
from s3bench.load.access_log.time_selection import TimeSelection
from s3bench.load.fitting.fitted_profile import fitted_profile, render_fitted, summary
from s3bench.load.fitting.fitted_workload import FittedWorkload
from s3bench.load.fitting.log_observer import LogObserver
from s3bench.load.fitting.workload_fitting import fit_workload
from s3bench.results.file import check_distinct, check_output, write_whole

_REQUESTS_A_MESSAGE = 100_000


def fit(options: LoadOptions) -> None:
    """Fit the log, write the profile or print it, and summarize what was fitted. Raises `BadInput`."""
    assert options.fit is not None, "there is a log to fit"
    check_distinct([("-o", options.output), ("--html", options.html)], read=options.logs)
    for path in (options.output, options.html):
        if path is not None:
            check_output(path, force=options.force)
    workload = _fitted(options, options.fit)
    profile = render_fitted(workload, version=s3bench.__version__).encode()
    if options.output is not None:
        write_whole(profile, options.output)
    if options.html is not None:
        write_whole(_page(workload).encode(), options.html)
    _print(options, workload, profile)
    for path in (options.output, options.html):
        if path is not None:
            click.echo(f"s3bench: wrote {path}", err=True)


def _print(options: LoadOptions, workload: FittedWorkload, profile: bytes) -> None:
    if options.as_json:
        print_whole(msgspec.json.format(msgspec.json.encode(workload), indent=1) + b"\n")
        return
    if options.output is None:
        print_whole(profile)
        return
    for name, text in summary(workload):
        click.echo(f"{name}: {text}")
    for sentence in workload.left_out:
        click.echo(f"left out: {sentence}")


def _fitted(options: LoadOptions, log: Path) -> FittedWorkload:
    reading = read_log(log, options.log_format, nginx_format=options.nginx_format or COMBINED)
    selection = TimeSelection(from_s=options.from_s, to_s=options.to_s, span_s=options.span_s)
    observer = LogObserver()
    with ticker_for("lines", quiet=options.quiet) as progress:
        if selection.needs_earliest:
            selection = selection.from_earliest(_requests(reading, progress, "looking for the earliest request"))
        for request in selection.of(_requests(reading, progress, "reading the log")):
            observer.observe(request)
        for sentence in reading.report.words:
            progress.say(f"warning: {sentence}")
    workload = fit_workload(observer)
    if not fitted_profile(workload).phases[0].jobs:
        raise BadInput(
            "no request of the log can be made by a profile",
            "it has deletes alone, and a profile deletes only what it has written",
            "pass a log with reads or writes of objects",
        )
    return workload


def _requests(reading: LogReading, progress: Ticker, doing: str) -> Iterator[LoggedRequest]:
    for number, request in enumerate(reading):
        if number % _REQUESTS_A_MESSAGE == 0:
            progress.update(doing, done=number, total=None)
        yield request


def _page(workload: FittedWorkload) -> str:
    from s3bench.report.page.load.fit_section import fit_section  # noqa: PLC0415 (templates take time to load)
    from s3bench.report.page.page import render_page  # noqa: PLC0415 (as above)

    section = fit_section(workload)
    return render_page(section.title, (section,), facts=(("s3bench", s3bench.__version__),))
