"""Runs `s3bench load`: opens the endpoint and the workers, shows progress and writes the results."""

import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import click
import msgspec

from s3bench.cli.load.checks import check_key_file, check_options
from s3bench.cli.load.fit import fit
from s3bench.cli.load.options import LoadOptions
from s3bench.cli.load.output import LoadOutput
from s3bench.cli.load.plan import LoadPlan, plan_load
from s3bench.cli.load.replay import plan_replayed, replayed
from s3bench.cli.load.stress_view import StressView
from s3bench.cli.load.view import LoadView, load_view
from s3bench.cli.stop import StopSignal
from s3bench.cluster.engineprocess import connect
from s3bench.cluster.preflight import run_preflight
from s3bench.cluster.worker_pool import ClusterWorkerPool
from s3bench.errors import BadInput, ExitCode, S3BenchError
from s3bench.load.aggregation.nodes import node_name
from s3bench.load.aggregation.phase_aggregation import PhaseAggregation
from s3bench.load.aggregation.slo import SloOutcome, SloVerdict
from s3bench.load.profile.file import render_profile
from s3bench.load.session.bucket import CleanUpResult, new_run, root_of
from s3bench.load.session.capacity import check_capacity, check_ports
from s3bench.load.session.session import Beginning, Measured, Session, Terms
from s3bench.load.session.site import Site, emulated_site, is_on_this_machine, live_site
from s3bench.load.session.slo_search import HighestRate
from s3bench.report.terminal import printable
from s3bench.run.owner import workspace_parent
from s3bench.run.workspace import Workspaces
from s3bench.system.portable import IS_PORTABLE
from s3bench.system.processes import cores_allowed
from s3bench.units import counted

_CODES = {
    SloOutcome.HOLDS: ExitCode.DONE,
    SloOutcome.BROKEN: ExitCode.FAIL,
    SloOutcome.UNRESOLVED: ExitCode.INCONCLUSIVE,
    SloOutcome.NO_EVIDENCE: ExitCode.INCONCLUSIVE,
}
_BY_WEIGHT = (ExitCode.DONE, ExitCode.INCONCLUSIVE, ExitCode.FAIL, ExitCode.CLIENT_FAILED)  # of several, the last one


def load(options: LoadOptions) -> None:
    """Run the load, print the profile that would run, fit one to a log, or clean up after an earlier run."""
    if options.fit is not None:
        check_options(options)
        fit(options)
        return
    plan = plan_load(options, environment=os.environ)
    if plan.options.show_profile:
        click.echo(render_profile(plan.placed), nl=False)
        if outside := plan.options.outside_profile:
            click.echo(f"s3bench: not in a profile: {printable(outside)}", err=True)
    elif plan.options.clean_up is not None:
        _clean_up_only(plan, plan.options.clean_up)
    else:
        if plan.options.key_file is not None:
            check_key_file(plan.options.key_file)
        _load(plan)


def _clean_up_only(plan: LoadPlan, run: str) -> None:
    """Delete what a run left, through the first endpoint: another one may be down."""
    placement = msgspec.structs.replace(plan.placement, endpoint_urls=plan.placement.endpoint_urls[:1])
    bucket = live_site(placement, plan.credentials).bucket
    removed = bucket.remove_run(run)
    if removed == CleanUpResult():
        click.echo(f"s3bench: nothing under {root_of(run)} in bucket {bucket.name}: check the run ID", err=True)
    else:
        click.echo(f"s3bench: {removed}")


def _load(plan: LoadPlan) -> None:
    if IS_PORTABLE:
        raise BadInput(
            "`s3bench load` needs Linux",
            "it measures its own cost and that of the server by what only Linux reports",
            "run it on Linux, without S3BENCH_PORTABLE=1",
        )
    with LoadOutput(plan) as output, StopSignal() as stop, ExitStack() as stack:
        workers = _workers(plan)
        if plan.options.cluster is None:
            check_capacity(plan.profile, output.capacity, workers=workers, emulated=not plan.placement.endpoint_urls)
        view = stack.enter_context(load_view(quiet=plan.options.quiet))
        for line in output.document.warnings:
            view.say(f"warning: {line}")
        root = stack.enter_context(Workspaces(parent=workspace_parent(os.environ))).root
        replay = None if plan.options.replay is None else plan_replayed(plan, root, view, stop, shares=workers)
        if replay is not None:
            plan = replayed(plan, replay)
            output.replay(plan, replay.summary)
        site = _site(plan, root, stack)
        if plan.options.cluster is None:
            check_ports(plan.profile, output.capacity, workers=workers, addresses=len(site.target.addresses))
        pool = _cluster_pool(plan, view, stack, site, is_over=lambda: stop.wait(0))
        session = Session(
            site,
            plan.profile,
            replace(
                _terms(plan, stop, root, pool.workers if pool else workers),
                preparing=None if replay is None else replay.preparing,
            ),
            directory=_new_directory(root / "session"),
            make_pool=None if pool is None else lambda *_: pool,
        )
        terms = session.terms
        output.begin(site, terms, pool)
        if not site.is_emulated:  # cleaning up after a crash needs the name of the run
            reads = "" if terms.reused is None else f"reads the objects of run {terms.reused}, and "
            view.say(f"run {terms.run} {reads}writes under {root_of(terms.run)} in bucket {site.bucket.name}")
        stack.callback(_clean_up, plan, session, site, view, output)
        code = _watch(stack.enter_context(session), output, view, plan)
        if plan.options.object_log is not None:
            session.close()
            view.say(f"{session.log_objects(plan.options.object_log):,} objects in {plan.options.object_log}")
        is_interrupted = stop.wait(0)
        if is_interrupted:
            output.interrupted()
    if is_interrupted:
        raise KeyboardInterrupt
    raise click.exceptions.Exit(code)


def _watch(session: Session, output: LoadOutput, view: LoadView, plan: LoadPlan) -> ExitCode:
    """Show the events of the session, store its results, and return the exit code."""
    code, phase, shown = ExitCode.DONE, None, view
    for event in session.events():
        match event:
            case Beginning():
                phase = event if event.number else None
                shown = output.view(view) if phase else view
                shown.phase(event.name, number=event.number, count=event.count or 1)
            case PhaseAggregation():
                shown.show(event.status())
                if phase:
                    loop = (phase.number - 1) // len(plan.profile.phases)
                    output.write_seconds(event, phase=phase.name, loop=loop)
            case Measured():
                is_interrupted = session.terms.is_over()
                output.add_phase(event, is_interrupted=is_interrupted)
                for loss in event.result.losses:
                    view.conclude(f"{event.phase.name}: {loss}")
                if isinstance(shown, StressView):
                    shown.total(event.result.whole, window_s=event.result.window_s)
                code = _weightier(code, _exit_code(event, plan, view, is_interrupted=is_interrupted))
            case HighestRate():
                output.add_highest_rate(event, is_interrupted=session.terms.is_over())
                view.conclude(event.words)
                code = _weightier(code, _code_of_search(event))
            case SloVerdict():
                output.add_verdict(event)
                view.conclude(event.sentence)
                code = _weightier(code, _CODES[event.outcome])
    return code


def _weightier(*codes: ExitCode) -> ExitCode:
    return max(codes, key=_BY_WEIGHT.index)


def _exit_code(measured: Measured, plan: LoadPlan, view: LoadView, *, is_interrupted: bool) -> ExitCode:
    whole = measured.result.whole
    if measured.result.contradiction:
        view.conclude(f"{measured.phase.name}: {measured.result.contradiction}")
        return ExitCode.CLIENT_FAILED
    if measured.result.losses:
        return ExitCode.CLIENT_FAILED
    error_rate = whole.error_rate
    if error_rate is not None and error_rate > plan.profile.max_error_rate and plan.slo is None:
        view.conclude(
            f"{measured.phase.name}: {error_rate:.2%} of the operations failed, "
            f"more than the {plan.profile.max_error_rate:.2%} of --max-error-rate"
        )
        return ExitCode.FAIL
    if error_rate is None and plan.slo is None and not is_interrupted:
        what = f"no operation ended in the {measured.result.window_s:.1f} s that were measured"
        if not whole.unfinished:
            why = "none was begun: pass a longer --duration, or a higher rate"
            view.conclude(f"{measured.phase.name}: {what}; {why}")
            return ExitCode.INCONCLUSIVE
        why = f"{whole.unfinished:,} were still unfinished: check the endpoint, or pass a longer --duration"
        view.conclude(f"{measured.phase.name}: {what}; {why}")
        return ExitCode.FAIL
    return ExitCode.DONE


def _code_of_search(found: HighestRate) -> ExitCode:
    if found.is_undecided:
        return ExitCode.INCONCLUSIVE
    return ExitCode.FAIL if found.rate_per_s is None else ExitCode.DONE


def _site(plan: LoadPlan, root: Path, stack: ExitStack) -> Site:
    if plan.placement.endpoint_urls:
        site = live_site(plan.placement, plan.credentials)
        return replace(site, is_loaded_from_here=plan.options.cluster is None)
    return stack.enter_context(
        emulated_site(_new_directory(root / "server"), network=plan.network, express=plan.placement.express)
    )


def _cluster_pool(
    plan: LoadPlan, view: LoadView, stack: ExitStack, site: Site, *, is_over: Callable[[], bool]
) -> ClusterWorkerPool | None:
    """Start the workers of the cluster, if there is one, and print which node is which."""
    options = plan.options
    if options.cluster is None:
        return None
    nodes = stack.enter_context(connect(options.cluster, nodes=options.nodes, is_over=is_over))
    checked = run_preflight(nodes, workers_per_node=options.workers_per_node, threads=_threads(plan), is_over=is_over)
    pool = ClusterWorkerPool(nodes, checked, is_over=is_over)
    for node, facts in enumerate(checked.nodes):
        check_capacity(plan.profile, facts.capacity, workers=pool.workers, nodes=pool.nodes, name=node_name(node))
        addresses = len(site.target.addresses)
        check_ports(plan.profile, facts.capacity, workers=pool.workers, nodes=pool.nodes, addresses=addresses)
    view.say(f"load from {pool.nodes} nodes; workers on each: {pool.workers // pool.nodes}")
    view.say(", ".join(f"{node_name(node)} is {host}" for node, host in enumerate(nodes.hosts)))
    for line in checked.warnings:
        view.say(f"warning: {line}")
    return pool


def _threads(plan: LoadPlan) -> int:
    return max(sum(job.threads for job in phase.jobs) for phase in plan.profile.phases)


def _workers(plan: LoadPlan) -> int:
    """The number of workers on this machine: one per core, where no server needs cores as well."""
    if plan.placement.workers:
        return plan.placement.workers
    cores = cores_allowed() or 1
    if not plan.placement.endpoint_urls:
        usual = cores - 1  # the S3 in memory uses one
    elif is_on_this_machine(plan.placement.endpoint_urls):
        usual = cores // 2  # a request costs most servers more than it costs a worker
    else:
        usual = cores
    return max(1, min(usual, _threads(plan)))


def _terms(plan: LoadPlan, stop: StopSignal, root: Path, workers: int) -> Terms:
    options = plan.options
    terms = Terms(
        workers=workers,
        run=new_run(),
        reused=options.reuse,
        key_file=options.key_file,
        existing=options.list_existing,
        slo=plan.slo,
        calibrates=options.calibrate,
        trace=options.trace or (None if options.object_log is None else root / "trace"),
        is_over=lambda: stop.wait(0),
        keeps_rows=options.csv is not None,
    )
    return terms if options.seed is None else replace(terms, seed=options.seed)


def _clean_up(plan: LoadPlan, session: Session, site: Site, view: LoadView, output: LoadOutput) -> None:
    """Delete the objects of the run, or print how to reuse and delete them.

    What a server writes after that stays; a message and a warning say how many objects that may be.
    """
    run = session.terms.run
    if site.is_emulated:
        return
    if plan.options.keep:
        if session.terms.reused:
            view.say(f"what run {run} wrote is kept: --clean-up {run} deletes it")
        else:
            view.say(f"run {run} is kept: --reuse {run} reads its objects, --clean-up {run} deletes them")
        return
    try:
        view.say(str(session.clean_up()))
        if session.unanswered:
            objects, them = ("its object", "it") if session.unanswered == 1 else ("their objects", "them")
            words = (
                f"{counted(session.unanswered, 'write')} had no response, and {objects} may appear later: "
                f"s3bench load ... --clean-up {run} deletes {them}"
            )
            view.say(words)
            output.warn(words)
    except KeyboardInterrupt:
        view.conclude(f"objects of run {run} remain: s3bench load ... --clean-up {run} deletes them")
        raise
    except Exception as error:
        raise S3BenchError(
            f"the objects of run {run} could not be deleted", str(error), f"run s3bench load ... --clean-up {run}"
        ) from error


def _new_directory(path: Path) -> Path:
    path.mkdir(mode=0o700)
    return path
