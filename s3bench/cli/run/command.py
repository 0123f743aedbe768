"""`s3bench run`: its options, the suite that it runs here or on a cluster, and its exit codes."""

import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import msgspec

import s3bench
from s3bench.bench.endpoints import EndpointOpener, emulator, live, stub_in_process, stub_server
from s3bench.bench.local import open_bench
from s3bench.bench.suite import ReadyCell, run_suite
from s3bench.cli.client_resolution import ready_cells
from s3bench.cli.definitions import read_suite
from s3bench.cli.progress import Ticker, ticker_for
from s3bench.cli.run.options import RunOptions, check_options
from s3bench.cli.run.output import RunOutput
from s3bench.cli.sandbox import check_wall, unsandboxed_option, wall_warnings
from s3bench.errors import ExitCode
from s3bench.report.run.table import result_line
from s3bench.results.document import Client, Document, Result, render_time
from s3bench.results.file import check_output
from s3bench.results.redaction import redact
from s3bench.run.machine import machine_facts, machine_warnings
from s3bench.spec.definition import Definition
from s3bench.spec.plan import Plan, parse_client_spec, plan_runs
from s3bench.spec.suite import Suite

_POSITIVE_SECONDS = click.FloatRange(min=0, min_open=True)


@click.command("run", context_settings={"max_content_width": 120})
@click.argument("files", nargs=-1, type=click.Path(path_type=Path), metavar="[DEFINITIONS]...")
@click.option(
    "--benchmark-definitions", "named_files", multiple=True, type=click.Path(path_type=Path), metavar="FILE",
    help="The same as DEFINITIONS.  [default: the shipped benchmarks.json]",
)  # fmt: skip
@click.option(
    "-n",
    "--num-iterations",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Measured runs of each benchmark and client.",
)
@click.option(
    "--warmup", type=click.IntRange(min=0), default=0, show_default=True, help="Runs before them that are not measured."
)
@click.option(
    "-k",
    "select",
    metavar="EXPRESSION",
    help="Only what matches, in name, dimensions, client or tags: 'cp and 32MB and not crt'.",
)
@click.option(
    "--suite",
    type=click.Choice([suite.value for suite in Suite]),
    help="Benchmarks by tag: `default` leaves out those tagged `full`.  [default: default; with -k: full]",
)
@click.option(
    "--client",
    "clients",
    multiple=True,
    metavar="NAME[@VERSION|@PATH]",
    help="Only on this client; repeat for several.",
)
@click.option("--num-chunks", type=int, default=1, help="Split the benchmarks into this many chunks ...")
@click.option("--chunk-id", type=int, default=0, help="... and run this one, counted from 0.")
@click.option(
    "--cluster",
    metavar="auto|ray://HOST:PORT",
    help="Share the benchmarks among equal machines of this Ray cluster; `auto`: the one that this machine is part of.",
)
@click.option("--nodes", type=click.IntRange(min=1), metavar="N", help="With --cluster: so many.  [default: all equal]")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the results document here, anew after every iteration.",
)
@click.option("--force", is_flag=True, help="Let -o replace a file that exists.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print the results document to stdout (the default in a pipe without -o)."
)
@click.option(
    "--data-interval",
    type=_POSITIVE_SECONDS,
    default=0.001,
    show_default=True,
    metavar="SECONDS",
    help="Time between samples of memory and CPU.",
)
@click.option(
    "--timeout",
    type=_POSITIVE_SECONDS,
    default=600,
    show_default=True,
    metavar="SECONDS",
    help="End a run that takes longer, unless its definition says otherwise.",
)
@click.option(
    "--endpoint",
    type=click.Choice(["stub", "emulator"]),
    default="stub",
    show_default=True,
    help="What answers: the definitions' responses, or an S3 in memory that holds the objects they tell of.",
)
@click.option("--network", metavar="MODEL", help="Impose a network model on the emulator, e.g. ec2:c5.large.")
@click.option("--tls", is_flag=True, help="Stub or emulator over HTTPS, with a certificate of our own.")
@click.option(
    "--verify/--no-verify",
    default=True,
    show_default=True,
    help="Let the stub recompute every checksum that clients send.",
)
@click.option(
    "--stub",
    type=click.Choice(["server", "in-process"]),
    default="server",
    show_default=True,
    help="Where the stub is: a real server, or inside a Classic client's process, without sockets.",
)
@click.option(
    "--endpoint-url", metavar="URL", help="Run against this live S3 instead of the stub, with your own credentials."
)
@click.option("--bucket", metavar="NAME", help="The bucket for --endpoint-url; only a prefix s3bench/... is touched.")
@unsandboxed_option()
@click.option(
    "--debug-dir",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Keep stdout and stderr of every run here.",
)
@click.option("--keep-workspace", is_flag=True, help="Leave the working directories; says where they are.")
@click.option(
    "--audit", is_flag=True, help="Pair every run with one without sampling and probes; report what measuring changes."
)
@click.option("--list", "list_only", is_flag=True, help="Print what would run, and run nothing.")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
def run_command(**options: Any) -> None:
    """Run the benchmarks of DEFINITIONS (by default the shipped ones), each in fresh processes of each client.

    \b
    s3bench run -n 10 -k 'cp and upload' -o results.json     keep the results in a file
    s3bench run -n 5 --client cli-classic --client cli-crt   Classic against CRT
    s3bench run mine.json > results.json                     a pipe gets the results document
    s3bench run --endpoint emulator --network ec2:c5.large   an S3 in memory, behind a link of 949 MB/s
    s3bench run --cluster auto -n 20 -o results.json         shared among the machines of a Ray cluster
    s3bench run --list -k sync                               what would run

    Exit code 4 when any run failed; its error stands in the results, the others are whole.
    """
    _run(RunOptions.of(options))


def _run(options: RunOptions) -> None:
    check_options(options)
    definitions = read_suite((*options.files, *options.named_files))
    plan = _plan(options, definitions)
    if options.list_only:
        _print_plan(plan)
        return
    if options.endpoint_url is not None and options.cluster is None:
        check_wall(allow_unsandboxed=options.allow_unsandboxed)
    if options.output is not None:
        check_output(options.output, force=options.force)
    sink = RunOutput(options)
    if options.cluster is not None:
        from s3bench.cli.run.cluster import run_on_cluster

        run_on_cluster(options, plan, _plan(replace(options, num_chunks=1, chunk_id=0), definitions), sink)
        return
    with ticker_for(quiet=options.quiet) as progress:
        for line in plan.skipped:
            progress.say(f"skipped: {line}")
        cells = ready_cells(plan, progress)
        document = _new_document(options, cells)
        for line in document.warnings:
            progress.say(f"warning: {line}")
        try:
            document = _measure(document, options, plan, cells, sink, progress)
        except BaseException as error:
            if sink.latest is not None or isinstance(error, KeyboardInterrupt):
                sink.finish(sink.latest or document)
            raise
    sink.finish(document)
    if document.has_failures:
        raise click.exceptions.Exit(ExitCode.CLIENT_FAILED)


def _plan(options: RunOptions, definitions: tuple[Definition, ...]) -> Plan:
    suite = Suite(options.suite) if options.suite else (Suite.FULL if options.select else Suite.DEFAULT)
    return plan_runs(
        suite.of(definitions),
        clients=tuple(parse_client_spec(text) for text in options.clients),
        select=options.select,
        num_chunks=options.num_chunks,
        chunk_id=options.chunk_id,
        iterations=options.num_iterations,
        warmup=options.warmup,
    )


def _print_plan(plan: Plan) -> None:
    for cell in plan.cells:
        dimensions = " ".join(f"{name}={value}" for name, value in cell.definition.dimensions)
        click.echo(f"{cell.definition.name} {dimensions}".rstrip() + f"\t{cell.client}")
    for line in plan.skipped:
        click.echo(f"skipped: {line}", err=True)


def _new_document(options: RunOptions, cells: tuple[ReadyCell, ...]) -> Document:
    facts = machine_facts()
    found = {cell.found.label: cell.found for cell in cells if cell.found is not None}
    return Document(
        s3bench=s3bench.__version__,
        started_at=render_time(datetime.now(UTC)),
        command_line=("s3bench", *redact(sys.argv[1:])),
        machine=msgspec.to_builtins(facts),
        clients=tuple(Client(name=client.kind, version=client.version, label=label) for label, client in found.items()),
        options=options.recorded,
        warnings=(*machine_warnings(facts), *wall_warnings()),
    )


def _measure(
    document: Document,
    options: RunOptions,
    plan: Plan,
    cells: tuple[ReadyCell, ...],
    sink: RunOutput,
    progress: Ticker,
) -> Document:
    with open_bench(_endpoint(options), keep=options.keep_workspace, say=progress.say) as bench:
        for status in run_suite(bench, cells, options.settings, plan, document, audit=options.audit):
            document, result = status.document, status.result
            if result.is_running:
                progress.stands(_doing(result), done=status.done, total=status.total)
            else:
                progress.say(result_line(result))
            sink.save(document, durable=not result.is_running)
    return document.ended(datetime.now(UTC))


def _doing(result: Result) -> str:
    dimensions = (value for dimension in result.dimensions for value in dimension.values())
    return " ".join((result.name, *dimensions, "on", result.client.label))


def _endpoint(options: RunOptions) -> EndpointOpener:
    if options.endpoint_url:
        assert options.bucket is not None
        return live(options.endpoint_url, bucket=options.bucket)
    if options.endpoint == "emulator":
        return emulator(options.network, tls=options.tls)
    return stub_in_process() if options.stub == "in-process" else stub_server(tls=options.tls)
