"""Runs the plan of `s3bench run`, here or on a cluster, and keeps its results."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from time import monotonic

import click

from s3bench.bench.endpoints import EndpointOpener, check_live, emulator, live, stub_in_process, stub_server
from s3bench.bench.local import open_bench
from s3bench.bench.runner import Settings
from s3bench.bench.suite import Hooks, ReadyCell, run_suite
from s3bench.cli.client_resolution import ready_cells
from s3bench.cli.progress import Ticker, ticker_for
from s3bench.cli.provenance import command_origin, machine_origin
from s3bench.cli.run.announcement import TimeEstimate, introduction, runs_of_cell
from s3bench.cli.run.options import RunOptions
from s3bench.cli.run.output import RunOutput
from s3bench.cli.run.plan import read_plan
from s3bench.cli.sandbox import check_confinement
from s3bench.clients.client import FoundClient
from s3bench.clients.identity import program_digest
from s3bench.clients.plan import Plan
from s3bench.errors import BadInput, ClientNotFound, ExitCode, S3BenchError
from s3bench.report.run.text import result_line
from s3bench.results.document import Client, Document
from s3bench.results.file import check_distinct, check_output
from s3bench.run.shell_command import run_shell_command

_NOT_TIMED = "how long they take is not known yet"


def run_here_or_on_cluster(options: RunOptions, plan: Plan) -> None:
    """Run `plan` and write its results; exit code 4 when a run failed."""
    if options.endpoint_url is not None and options.cluster is None:
        check_confinement(allow_unsandboxed=options.allow_unsandboxed)
    named = (("--benchmark-definitions", file) for file in options.named_files)
    check_distinct([("-o", options.output)], read=[*(("", file) for file in options.files), *named])
    if options.output is not None:
        check_output(options.output, force=options.force)
    sink = RunOutput(options)
    if options.cluster is not None:
        from s3bench.cli.run.cluster import run_on_cluster  # noqa: PLC0415 (a tenth of a second, for clusters alone)

        run_on_cluster(options, plan, read_plan(replace(options, num_chunks=1, chunk_id=0)), sink)
        return
    if options.endpoint_url is not None:
        assert options.bucket is not None
        check_live(options.endpoint_url, bucket=options.bucket)
    with ticker_for(quiet=options.quiet) as progress:
        for line in plan.skipped:
            progress.say(f"skipped: {line}")
        cells = ready_cells(plan, progress)
        _refuse_unusable(cells)
        runnable = tuple(each.cell for each in cells if each.found)
        progress.say(f"{introduction(runnable, plan, audit=options.audit)}; {_NOT_TIMED}")
        document = _new_document(options, cells)
        for line in document.warnings:
            progress.say(f"warning: {line}")
        sink.said(document.warnings)
        try:
            document = _measure(document, options, plan, cells, sink, progress)
        except BaseException as error:
            if sink.latest is not None or isinstance(error, KeyboardInterrupt):
                sink.finish(sink.latest or document)
            raise
    sink.finish(document)
    if document.has_failures:
        raise click.exceptions.Exit(ExitCode.CLIENT_FAILED)


def _refuse_unusable(cells: tuple[ReadyCell, ...]) -> None:
    """Raise why no client can be run, if there is none: `BadInput` if a path was given, else `ClientNotFound`."""
    reasons = {each.cell.client: each.client for each in cells if isinstance(each.client, S3BenchError)}
    if not reasons or any(each.found for each in cells):
        return
    kind = BadInput if any(spec.path for spec in reasons) else ClientNotFound
    first, *more = reasons.values()
    if more:
        raise kind(f"none of {len(reasons)} clients can be run", "\n".join(map(str, reasons.values())))
    raise kind(first.what, first.why, first.fix)


def _new_document(options: RunOptions, cells: tuple[ReadyCell, ...]) -> Document:
    found = {cell.found.label: cell.found for cell in cells if cell.found is not None}
    return Document(
        **command_origin(),
        **machine_origin(),
        clients=tuple(map(_named, found.values())),
        options=options.recorded,
    ).with_warnings(_samples(cells))


def _named(found: FoundClient) -> Client:
    """The client as the document names it; without a digest if its files cannot be read, which its runs will show."""
    try:
        digest = program_digest(found)
    except S3BenchError:
        digest = ""
    return Client(name=found.kind, version=found.version, label=found.label, digest=digest)


def _samples(cells: tuple[ReadyCell, ...]) -> Iterator[str]:
    """What samples of sizes (`environment.like`) leave out."""
    for definition in (ready.cell.definition for ready in cells):
        for directory in definition.environment.file_dirs:
            if directory.left_out is not None:
                yield f"{definition.name}: {directory.name} is {directory.left_out}"


def _measure(
    document: Document,
    options: RunOptions,
    plan: Plan,
    cells: tuple[ReadyCell, ...],
    sink: RunOutput,
    progress: Ticker,
) -> Document:
    estimate = TimeEstimate(cells, runs_of_cell(plan, audit=options.audit), now=monotonic)
    with open_bench(_endpoint(options), keep=options.keep_workspace, say=progress.say) as bench:
        statuses = run_suite(
            bench, cells, _settings(options), plan, document, audit=options.audit, hooks=_hooks(options)
        )
        for status in statuses:
            document, result = status.document, status.result
            news = estimate.after(status)
            if result.is_running:
                progress.update(result.label, done=status.done, total=status.total)
            else:
                progress.say(result_line(result))
            if news is not None:
                progress.say(news)
            sink.save(document, durable=not result.is_running)
    return document.ended(datetime.now(UTC))


def _settings(options: RunOptions) -> Settings:
    return Settings(
        interval_s=options.data_interval,
        verify=options.verify,
        keeps_timeline=True,
        timeout_s=options.timeout,
        debug_dir=options.debug_dir,
    )


def _hooks(options: RunOptions) -> Hooks:
    run = partial(run_shell_command, timeout_s=options.timeout)
    return Hooks(
        prepare=partial(run, "--prepare", options.prepare) if options.prepare else None,
        cleanup=partial(run, "--cleanup", options.cleanup) if options.cleanup else None,
    )


def _endpoint(options: RunOptions) -> EndpointOpener:
    if options.endpoint_url is not None:
        assert options.bucket is not None
        return live(options.endpoint_url, bucket=options.bucket)
    if options.endpoint == "emulator":
        return emulator(options.network, tls=options.tls)
    return stub_in_process() if options.stub == "in-process" else stub_server(tls=options.tls)
