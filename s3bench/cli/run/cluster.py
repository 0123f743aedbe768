"""`s3bench run --cluster`: shares a suite among the machines of a cluster, and keeps the results as one run."""

import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime

import click

from s3bench.bench.run_time import RunSize
from s3bench.cli.definitions import definition_files, sizes_files
from s3bench.cli.progress import Ticker, ticker_for
from s3bench.cli.provenance import command_origin
from s3bench.cli.run.announcement import ClusterTimeEstimate, introduction, runs_of_cell
from s3bench.cli.run.options import RunOptions
from s3bench.cli.run.output import RunOutput
from s3bench.cli.stop import StopSignal
from s3bench.clients.environment import own_credentials
from s3bench.clients.plan import Plan
from s3bench.cluster.engine import NodePurpose
from s3bench.cluster.engineprocess import connect
from s3bench.cluster.suite.document import SuiteDocument
from s3bench.cluster.suite.driver import Event, NodeRemoved, SuiteDriver, Task, UnitBegun, UnitEnded, closing
from s3bench.cluster.suite.preflight import run_suite_preflight
from s3bench.cluster.suite.unit import SuiteUnit, split_suite
from s3bench.errors import ExitCode
from s3bench.load.aggregation.nodes import node_name
from s3bench.results.document import Document
from s3bench.results.file import read_whole


def run_on_cluster(options: RunOptions, plan: Plan, whole: Plan, output: RunOutput) -> None:
    """Measure `plan` on the cluster of `options`; `whole` is the plan before it was cut into chunks.

    Raises `KeyboardInterrupt` when it was stopped, and exits as `s3bench run` does.
    """
    try:
        code = _run_on_cluster(options, plan, split_suite(whole.cells), output)
    except KeyboardInterrupt:
        if output.latest is not None:
            output.finish(output.latest)
        raise
    if code is not ExitCode.DONE:
        raise click.exceptions.Exit(code)


def _run_on_cluster(options: RunOptions, plan: Plan, units: tuple[SuiteUnit, ...], output: RunOutput) -> ExitCode:
    assert options.cluster is not None
    task = _task(options, num_chunks=len(units))
    own = tuple(unit for unit in units if unit.chunk % options.num_chunks == options.chunk_id)
    with ExitStack() as stack:
        stop = stack.enter_context(StopSignal())
        progress = stack.enter_context(ticker_for("benchmarks", quiet=options.quiet))
        for line in plan.skipped:
            progress.say(f"skipped: {line}")

        def is_over() -> bool:
            return stop.wait(0)

        node_group = stack.enter_context(
            connect(options.cluster, nodes=None, purpose=NodePurpose.SUITE, is_over=is_over)
        )
        stack.enter_context(closing(node_group))
        progress.say(introduction(plan.cells, plan, audit=options.audit))
        progress.say(", ".join(f"{node_name(node)} is {host}" for node, host in enumerate(node_group.hosts)))
        preflight = run_suite_preflight(
            node_group,
            tuple(dict.fromkeys(cell.client for cell in plan.cells)),
            nodes=options.nodes,
            is_over=is_over,
        )
        suite = SuiteDocument(_head(options), own, preflight, task, engine=node_group.facts)
        _introduce(suite.document, len(preflight.nodes), progress)
        output.said(suite.document.warnings)
        driver = SuiteDriver(node_group, preflight.nodes, task, pause=stop.wait)
        estimate = _estimate(own, runs_of_cell(plan, audit=options.audit))
        for event in driver.perform(own):
            for line in suite.take(event, is_stopped=driver.is_stopped):
                progress.say(line)
            left = _time_left(event, estimate, nodes=len(preflight.nodes) - len(driver.lost))
            if left is not None and not driver.is_stopped:
                progress.say(left)
            progress.update(suite.doing, done=suite.done, total=len(own))
            if not isinstance(event, UnitBegun):
                output.save(suite.document, durable=True)
    if driver.is_stopped:
        output.save(suite.document, durable=True)
        raise KeyboardInterrupt
    document = suite.document.ended(datetime.now(UTC))
    losses = (f"{node_name(node)} was removed: {why}" for node, why in driver.lost.items())
    output.finish(document, losses=tuple(losses))
    return ExitCode.CLIENT_FAILED if document.has_failures or driver.lost else ExitCode.DONE


def _estimate(units: tuple[SuiteUnit, ...], runs: int) -> ClusterTimeEstimate:
    # A node reports the time of a benchmark on all its clients together, so the client of a run does not matter.
    sizes = {unit.chunk: (runs * len(unit.cells), replace(RunSize.of(unit.cells[0]), client="")) for unit in units}
    return ClusterTimeEstimate(sizes, now=time.monotonic)


def _time_left(event: Event, estimate: ClusterTimeEstimate, *, nodes: int) -> str | None:
    match event:
        case UnitBegun(unit=unit):
            estimate.begun(unit.chunk)
        case UnitEnded(unit=unit, failure=None):
            return estimate.ended(unit.chunk, nodes=nodes)
        case UnitEnded(unit=unit) | NodeRemoved(unit=SuiteUnit() as unit):
            estimate.abandoned(unit.chunk)
    return None


def _head(options: RunOptions) -> Document:
    return Document(**command_origin(), options=options.recorded)


def _introduce(document: Document, nodes: int, progress: Ticker) -> None:
    for client in document.clients:
        progress.say(f"{client.label}: the same on {nodes} node{'' if nodes == 1 else 's'}")
    for line in document.warnings:
        progress.say(f"warning: {line}")


def _task(options: RunOptions, *, num_chunks: int) -> Task:
    """What the nodes are given: the files, all options that can change a figure, and the user's keys."""
    paths = definition_files((*options.files, *options.named_files))
    files = {f"definitions/{number}/{path.name}": path for number, path in enumerate(paths)}
    sizes = {
        f"definitions/{number}/{name}": path.parent / name
        for number, path in enumerate(paths)
        for name in sizes_files(path)
    }
    return Task(
        arguments=("run", *files, *_words(options), "--num-chunks", str(num_chunks)),
        files={name: read_whole(path, of="a definition file") for name, path in (files | sizes).items()},
        keys=_keys() if options.endpoint_url else {},
    )


def _words(options: RunOptions) -> Iterable[str]:
    """The options of a unit, as they are typed."""
    valued: Mapping[str, object] = {
        "--num-iterations": options.num_iterations,
        "--warmup": options.warmup,
        "-k": options.select,
        "--suite": options.suite,
        "--data-interval": options.data_interval,
        "--timeout": options.timeout,
        "--endpoint": options.endpoint,
        "--network": None if options.network is None else options.network.text,
        "--stub": options.stub,
        "--endpoint-url": options.endpoint_url,
        "--bucket": options.bucket,
    }
    for name, value in valued.items():
        if value is not None:
            yield from (name, str(value))
    for parameter in options.parameter_lists:
        yield from ("--parameter-list", parameter.name, ",".join(parameter.values))
    for client in options.clients:
        yield from ("--client", client)
    if not options.verify:
        yield "--no-verify"
    flags = {"--tls": options.tls, "--audit": options.audit, "--allow-unsandboxed": options.allow_unsandboxed}
    yield from (name for name, is_given in flags.items() if is_given)


def _keys() -> dict[str, str]:
    """The user's own credentials, as the variables that every AWS program reads."""
    keys = own_credentials()
    token = {} if keys.token is None else {"AWS_SESSION_TOKEN": keys.token}
    return {
        "AWS_ACCESS_KEY_ID": keys.access_key,
        "AWS_SECRET_ACCESS_KEY": keys.secret_key,
        "AWS_DEFAULT_REGION": keys.region,
        **token,
    }
