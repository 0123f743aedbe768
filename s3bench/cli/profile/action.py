"""Profiles one client, or two in turn, and writes what was found."""

import dataclasses
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from time import monotonic

import click
from msgspec.structs import replace

from s3bench.bench.endpoints import stub_server
from s3bench.bench.local import open_bench
from s3bench.cli.client_resolution import found_clients
from s3bench.cli.definitions import runnable_on_all
from s3bench.cli.profile.memory import memory_difference, memory_of, refuse_native
from s3bench.cli.profile.options import ProfileOptions
from s3bench.cli.progress import Ticker, ticker_for
from s3bench.cli.provenance import command_origin, machine_origin
from s3bench.cli.streams import print_styled, print_whole
from s3bench.cli.terminal import stdout_paints, stdout_width
from s3bench.clients.client import ClientSpec, FoundClient
from s3bench.clients.plan import parse_client_spec, title
from s3bench.errors import BadInput, ClientFailed, MachineError
from s3bench.profiling.explaining import Explainer
from s3bench.profiling.live import Profiler, SampledSide, find_profiler, run_failed, sample_stacks
from s3bench.profiling.observed_change import ObservedChange, ProfiledSide
from s3bench.profiling.record import ClientMemory, ClientProfile, ProfileRecord, encode_profile
from s3bench.profiling.stack_formats import collapsed, speedscope
from s3bench.profiling.stack_profile import Sampled
from s3bench.profiling.tables import SHARE_KNOWN_TO, function_times, widest_share
from s3bench.report.profile.text import render_profile
from s3bench.results.file import check_distinct, check_output, write_whole
from s3bench.results.measurement import Failure
from s3bench.results.metrics import Unit
from s3bench.run.inspection import Unavailable
from s3bench.run.py_spy import PySpy
from s3bench.spec.definition import Definition

_RUNS_MIN = 5
_PLAIN_RUNS = 5
_NAMED_MAX = 5


def profile(options: ProfileOptions) -> None:
    """Profile, and write what was asked for."""
    written = [("-o", options.output), ("--html", options.html)]
    check_distinct(written, read=[("", file) for file in options.files])
    for path in (options.output, options.html):
        if path is not None:
            check_output(path, force=options.force)
    specs = [parse_client_spec(text) for text in options.clients]
    if options.memory:
        refuse_native(specs)
    definition = _definition(options, specs)
    with ticker_for("runs", quiet=options.quiet) as progress:
        clients = found_clients(specs, progress)
        profiler = None if options.memory else _profiler(options, clients)
        add = _with_memory if profiler is None else partial(_with_stacks, profiler)
        origin = machine_origin()
        origin["warnings"] = (*origin["warnings"], *(profiler.warnings if profiler else ()))
        for line in origin["warnings"]:
            progress.say(f"warning: {line}")
        with open_bench(stub_server(tls=options.tls), say=progress.say) as bench:
            bench.reload_programs(clients)
            directory = bench.root / "profiles"
            directory.mkdir(mode=0o700)
            record = ProfileRecord(
                **command_origin(),
                **origin,
                benchmark=title(definition),
                profiler=profiler.name if profiler else "tracemalloc",
            )
            with bench.workspace(definition.environment) as runner_of:
                sides = [ProfiledSide(runner=runner_of(definition, client)) for client in clients]
                for side in sides:  # the page cache is warm then, and the byte-code compiled
                    warm_up = side.runner.run_once(0, options.settings, "warm-up")
                    if isinstance(warm_up, Failure):
                        raise ClientFailed(warm_up.what, warm_up.why)
                record = add(record, options, sides, directory, progress)
    _write(options, record)


def _profiler(options: ProfileOptions, clients: Sequence[FoundClient]) -> Profiler:
    """What samples the stacks of all clients. Raises `MachineError` where one cannot be sampled here."""
    found = [find_profiler(client) for client in clients]
    profilers = []
    for each in found:
        if isinstance(each, Unavailable):
            raise MachineError("stacks cannot be sampled here", each.reason, each.fix)
        profilers.append(each)
    if len({each.name for each in profilers}) > 1:
        baseline, candidate = (client.label for client in clients)
        raise BadInput(
            "the two clients cannot be compared",
            f"{baseline} is sampled by {profilers[0].name}, {candidate} by {profilers[1].name}",
            "profile each with --client",
        )
    profiler = profilers[0]
    if isinstance(profiler, PySpy):
        return dataclasses.replace(profiler, native=options.native)
    if options.native:
        raise BadInput(
            f"--native cannot be combined with {clients[0].kind}",
            "its functions are native, and perf shows them all",
            "leave --native out",
        )
    return profiler


def _sampled(options: ProfileOptions, profiler: Profiler) -> Sampled:
    return options.sampled if profiler.sees_waiting else Sampled.CPU_TIME


def _definition(options: ProfileOptions, specs: Sequence[ClientSpec]) -> Definition:
    """The one benchmark that is selected."""
    found = runnable_on_all(specs, options.files, select=options.select, suite=options.suite)
    if len(found) != 1:
        titles = [title(definition) for definition in found]
        shown = "\n".join(titles[:_NAMED_MAX]) + (f"\nand {len(titles) - _NAMED_MAX} more" * (len(titles) > _NAMED_MAX))
        raise BadInput(
            f"a profile needs exactly one benchmark, and {len(found)} are selected",
            shown or "no benchmark runs on both clients",
            "select one with -k, such as -k 'upload and cp and 4KB'",
        )
    return found[0]


def _with_memory(
    record: ProfileRecord, options: ProfileOptions, sides: Sequence[ProfiledSide], directory: Path, progress: Ticker
) -> ProfileRecord:
    if len(sides) > 1:
        found = memory_difference(sides, record.benchmark, options.settings, directory, progress)
        return replace(record, explanation=found)
    [side] = sides
    allocations = memory_of(side, options.settings, directory)
    return replace(record, memory=ClientMemory(client=side.runner.client.label, allocations=allocations))


def _with_stacks(
    profiler: Profiler,
    record: ProfileRecord,
    options: ProfileOptions,
    sides: Sequence[ProfiledSide],
    directory: Path,
    progress: Ticker,
) -> ProfileRecord:
    if len(sides) == 1:
        sampled, warnings = _one(profiler, options, sides[0], directory, progress)
        label = sides[0].runner.client.label
        alone = ClientProfile(client=label, stacks=sampled.profile, plain_times=sampled.plain_times)
        for line in warnings:
            progress.say(f"warning: {line}")
        return replace(record, profiles=(alone,), warnings=(*record.warnings, *warnings))
    sampled_time = _sampled(options, profiler)
    explainer = Explainer(
        directory=directory,
        now=monotonic,
        find=lambda _: profiler,
        sampled=sampled_time,
        pairs_max=options.runs,
        say=lambda done: progress.update("runs of each side", done=done, total=options.runs),
        fix="pass a larger --max-time",
    )
    baseline, candidate = sides
    explanation = explainer.explain(
        ObservedChange(
            benchmark=record.benchmark,
            metric="total_time" if sampled_time is Sampled.WALL_TIME else "cpu_time",
            unit=Unit.SECONDS,
            change=None,
            baseline=baseline,
            candidate=candidate,
            settings=options.settings,
            until_s=monotonic() + options.max_time,
        )
    )
    made = tuple(
        ClientProfile(client=side.runner.client.label, stacks=stacks)
        for side, stacks in zip(sides, (explanation.baseline, explanation.candidate), strict=True)
        if stacks is not None
    )
    if not made:
        raise ClientFailed("nothing was sampled", "; ".join(explanation.notes))
    return replace(record, profiles=made, explanation=explanation.without_profiles())


def _one(
    profiler: Profiler, options: ProfileOptions, side: ProfiledSide, directory: Path, progress: Ticker
) -> tuple[SampledSide, tuple[str, ...]]:
    """Sample until the shares of the largest functions are known, or the runs or the time are used up; with warnings.

    A run that fails ends it with a warning, since those before it count.
    """
    until_s = monotonic() + options.max_time
    plain_runs = min(_PLAIN_RUNS, options.runs)
    sampled = _sampled(options, profiler)
    rounds = sample_stacks((side,), options.settings, profiler, sampled, directory, plain_runs=plain_runs)
    side_so_far: SampledSide | None = None
    for number, found in enumerate(rounds, start=1):
        if isinstance(found, Failure):
            if side_so_far is None:
                raise ClientFailed(found.what, found.why)
            return side_so_far, (*side_so_far.warnings, run_failed(number, found))
        [side_so_far] = found
        progress.update("runs", done=number, total=options.runs)
        is_known = widest_share(function_times(side_so_far.profile)) <= SHARE_KNOWN_TO
        if number >= options.runs or monotonic() >= until_s or (number >= _RUNS_MIN and is_known):
            return side_so_far, side_so_far.warnings
    raise AssertionError("rounds have no end")


def _write(options: ProfileOptions, record: ProfileRecord) -> None:
    if options.output is not None:
        write_whole(encode_profile(record), options.output, is_measured=True)
    if options.html is not None:
        write_whole(_page(record).encode(), options.html)
        click.echo(f"s3bench: wrote {options.html}", err=True)
    match options.form:
        case "json":
            print_whole(encode_profile(record), is_measured=True)
        case "collapsed":
            print_whole(collapsed(record.profiles[0].stacks).encode(), is_measured=True)
        case "speedscope":
            print_whole(
                speedscope([(f"{each.client}: {record.benchmark}", each.stacks) for each in record.profiles]),
                is_measured=True,
            )
        case _:
            unsaved = None if options.output else partial(encode_profile, record)
            print_styled(render_profile(record, width=stdout_width(), color=stdout_paints()), unsaved=unsaved)


def _page(record: ProfileRecord) -> str:
    from s3bench.report.page.page import render_page  # noqa: PLC0415 (templates take time to load)
    from s3bench.report.page.profile.section import record_section  # noqa: PLC0415 (as above)

    section = record_section(record)
    facts = (("s3bench", record.s3bench), ("started", record.started_at), ("profiler", record.profiler))
    return render_page(section.title, (section,), facts=facts)
