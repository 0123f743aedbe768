"""Runs or resumes the search of `s3bench bisect`, and keeps its record."""

import math
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from os import environ
from pathlib import Path
from time import monotonic

import click
import msgspec
from msgspec.structs import replace

from s3bench.bench.endpoints import stub_server
from s3bench.bench.local import open_bench
from s3bench.bench.runner import Bench, Settings
from s3bench.bisect.explaining import may_be_explained, with_explanation
from s3bench.bisect.live import BisectStatus, Provider, measurer, recorded, run_bisection, title_of
from s3bench.bisect.record import BisectRecord, SearchOptions, digest_of, encode_bisect, parse_bisect
from s3bench.bisect.search import Ending, VersionComparison
from s3bench.cli.bisect.options import BisectOptions
from s3bench.cli.definitions import runnable
from s3bench.cli.keeping import GrowingFile, why_stopped
from s3bench.cli.pair_options import seed_or_random
from s3bench.cli.progress import Ticker, ticker_for
from s3bench.cli.provenance import command_origin, machine_origin
from s3bench.cli.streams import print_styled, print_whole
from s3bench.cli.terminal import stdout_paints, stdout_width
from s3bench.clients.client import ClientSpec
from s3bench.clients.package import by_line
from s3bench.clients.plan import parse_client_spec
from s3bench.clients.registry import known_client
from s3bench.clients.releases import base_of, combinable, installed_combination, installed_release, releases_between
from s3bench.clients.store import ClientStore
from s3bench.clients.versions import published_between
from s3bench.errors import BadInput, ExitCode
from s3bench.gate.explaining import BENCHMARK_LIMIT_S
from s3bench.profiling.explaining import Explainer
from s3bench.report.bisection import answer_line, render_bisection
from s3bench.results.document import render_time
from s3bench.results.file import check_distinct, check_output, read_whole, rescue
from s3bench.run.machine import machine_facts
from s3bench.spec.definition import Definition
from s3bench.spec.suite import Suite

_KEEP_EVERY_S = 5.0


def search(options: BisectOptions) -> ExitCode:
    """Search, and show what was found."""
    check_distinct([("-o", options.output)], read=[("", file) for file in options.files])
    if options.output is not None:
        check_output(options.output, force=options.force)
    record = _searched(options)
    _print(options, record)
    return _exit_code(record)


def _exit_code(record: BisectRecord) -> ExitCode:
    if record.found is None:
        return ExitCode.INCONCLUSIVE
    match record.found.ending:
        case Ending.FOUND | Ending.NO_CHANGE:
            return ExitCode.DONE
        case Ending.SUSPECTS | Ending.UNSETTLED:
            return ExitCode.INCONCLUSIVE
    return ExitCode.CLIENT_FAILED


def _print(options: BisectOptions, record: BisectRecord) -> None:
    if options.as_json:
        print_whole(encode_bisect(record), is_measured=True)
        return
    width, color = stdout_width(), stdout_paints()
    unsaved = None if options.kept else partial(encode_bisect, record)
    print_styled(render_bisection(record, width=width, color=color, kept=options.kept), unsaved=unsaved)


def _searched(options: BisectOptions) -> BisectRecord:
    """Run or resume a search to its end; the record is kept after every comparison, and after any error.

    Bad input leaves a record that it was to be resumed from as it is.
    """
    record, file = None, GrowingFile(options.kept)
    try:
        with ticker_for("pairs", quiet=options.quiet) as progress:
            record, definitions = _resumed(options.resume) if options.resume else _begun(options, progress)
            for line in (*record.left_out, *record.warnings):
                progress.say(line)
            kept_at_s = monotonic()
            for record in _measured(options, record, definitions, progress):  # noqa: B020 (it grows)
                if not record.unfinished or monotonic() - kept_at_s > _KEEP_EVERY_S:
                    file.save(encode_bisect(record), durable=not record.unfinished)
                    kept_at_s = monotonic()
    except BaseException as error:
        if record is not None and (record.answers or record.unfinished) and not isinstance(error, BadInput):
            record = replace(record, stopped=why_stopped(error))
            file.save(encode_bisect(record))
            if options.kept is None and not options.as_json:
                click.echo(f"s3bench: {rescue(encode_bisect(record))}", err=True)
            _print(options, record)
        raise
    record = replace(record, ended_at=render_time(datetime.now(UTC))).concluded()
    file.save(encode_bisect(record))
    return record


def _begun(options: BisectOptions, progress: Ticker) -> tuple[BisectRecord, tuple[Definition, ...]]:
    assert options.client
    spec = parse_client_spec(options.client)
    definitions = runnable(ClientSpec(kind=spec.kind), options.files, select=options.select, suite=options.suite)
    record = BisectRecord(
        **command_origin(),
        **machine_origin(),
        options=SearchOptions(
            files=tuple(map(str, options.files)),
            select=options.select,
            suite=Suite(options.suite or Suite.DEFAULT),
            timeout=options.timeout,
            tls=options.tls,
        ),
        client=str(spec.kind),
        versions=(),
        benchmarks=tuple(title_of(definition) for definition in definitions),
        benchmarks_digest=digest_of(definitions),
        policy=options.policy,
        error=options.error,
        seed=seed_or_random(options.seed),
    )
    record = _with_versions(record, options, spec, progress)
    record.bisection.check(len(definitions))
    return record, definitions


def _with_versions(record: BisectRecord, options: BisectOptions, spec: ClientSpec, progress: Ticker) -> BisectRecord:
    """Add the versions between the ends."""
    assert options.good
    assert options.bad
    store, note = ClientStore.from_environment(environ), by_line(progress.say)
    if spec.path or (spec.version and not options.dependency):
        raise BadInput(
            f"--client {spec}: the versions are those of --good and --bad",
            fix=f"write --client {spec.kind}; --client takes a version only with --dependency, and never a path",
        )
    if options.dependency is None:
        versions = releases_between(spec.kind, options.good, options.bad, store, note)
        return replace(record, versions=versions)
    base = base_of(spec.kind, spec.version, options.dependency, store, note)
    all_between = published_between(options.dependency, options.good, options.bad)
    found = combinable(base, options.dependency, all_between)
    if not {all_between[0], all_between[-1]} <= set(found.versions):
        raise BadInput(
            f"{options.dependency} {options.good} and {options.bad} cannot both be combined with {base.name}",
            "\n".join(found.left_out),
            f"name other ends, or another version of the client: --client {spec.kind}@VERSION",
        )
    return replace(
        record,
        versions=found.versions,
        left_out=found.left_out,
        warnings=(*record.warnings, *found.notes),
        dependency=options.dependency,
        base=base.version,
        options=replace(record.options, pins=base.pins),
    )


def _resumed(path: Path) -> tuple[BisectRecord, tuple[Definition, ...]]:
    record = parse_bisect(read_whole(path, of="the record of a bisection"), source=str(path))
    asked = record.options
    client = ClientSpec(kind=known_client(record.client, said=f"{path}: $.client").name)
    suite = asked.suite or (Suite.FULL if asked.select else Suite.DEFAULT)
    definitions = runnable(client, tuple(map(Path, asked.files)), select=asked.select, suite=suite)
    are_others = record.benchmarks_digest not in {"", digest_of(definitions)}
    if are_others or tuple(title_of(definition) for definition in definitions) != record.benchmarks:
        raise BadInput(
            f"{path}: the benchmarks are not those of the record",
            "results of different benchmarks cannot be combined",
            "start a new search with -o FILE",
        )
    if isinstance(record.bisection.next(record.answers), VersionComparison):
        record.bisection.check(len(definitions))
    facts = msgspec.to_builtins(machine_facts())
    others = [name for name in ("cpu_model", "kernel") if record.machine.get(name) != facts.get(name)]
    if others and record.answers:
        words = f"continued on another machine: it has another {' and '.join(others)}"
        record = replace(record, warnings=tuple(dict.fromkeys((*record.warnings, words))))
    return replace(record, ended_at=None, stopped="", unfinished=(), found=None), definitions


def _provider(record: BisectRecord, progress: Ticker) -> Provider:
    store, note, kind = ClientStore.from_environment(environ), by_line(progress.say), record.client
    if not record.dependency:
        return lambda place: installed_release(kind, record.versions[place], store, note)
    base = base_of(kind, record.base, record.dependency, store, note)
    if base.pins != record.options.pins:
        raise BadInput(
            f"{base.name} has other dependencies than in the record",
            "results with different ones cannot be combined",
            "start a new search with -o FILE",
        )
    return lambda place: installed_combination(base, record.dependency, record.versions[place], store, note)


def _measured(
    options: BisectOptions, record: BisectRecord, definitions: tuple[Definition, ...], progress: Ticker
) -> Iterator[BisectRecord]:
    """Yield the record as it grows."""
    deadline_s = None if options.max_time is None else monotonic() + options.max_time
    progress.say(f"{record.subject}: {len(record.versions)} versions, {record.versions[0]} to {record.versions[-1]}")
    with open_bench(stub_server(tls=record.options.tls), say=progress.say) as bench:
        provide = _provider(record, progress)
        settings = Settings(interval_s=None, timeout_s=record.options.timeout)
        measure = measurer(bench, definitions, provide, settings, now=monotonic, deadline_s=deadline_s)
        statuses = run_bisection(record.bisection, record.answers, measure, seed=record.seed, now=monotonic)
        out_of_time = f"--max-time {options.max_time} has passed"
        grown = record
        for grown, status in recorded(record, statuses, out_of_time=out_of_time):
            _show(grown, status, progress)
            yield grown
        grown = grown.concluded()
        if may_be_explained(grown) and options.explains:
            until_s = min(monotonic() + BENCHMARK_LIMIT_S, math.inf if deadline_s is None else deadline_s)
            yield _explained(grown, bench, definitions, provide, settings, progress, until_s=until_s)


def _explained(
    record: BisectRecord,
    bench: Bench,
    definitions: Sequence[Definition],
    provide: Provider,
    settings: Settings,
    progress: Ticker,
    *,
    until_s: float,
) -> BisectRecord:
    """Look for what the version that was found does differently; Ctrl-C ends that alone."""
    progress.say("looking for the cause")
    explainer = Explainer(directory=bench.root / "explanation", now=monotonic)
    try:
        return with_explanation(record, bench, definitions, provide, explainer.explain, settings, until_s=until_s)
    except KeyboardInterrupt:
        interrupted = "the search for causes was interrupted; what was found is not affected"
        return replace(record, warnings=(*record.warnings, interrupted))


def _show(record: BisectRecord, status: BisectStatus, progress: Ticker) -> None:
    comparing, gate = _compared_versions(record, status.comparison), status.gate
    if status.answer is not None:
        progress.say(answer_line(record, status.answer))
    elif gate is None:
        progress.say(f"comparing {comparing}")
    elif gate.undecided:
        doing = f"{comparing}, look {gate.look} at {gate.goal} pairs"
        progress.update(doing, done=gate.pairs_done, total=gate.pairs_planned)
    elif not gate.look:
        progress.update(f"{comparing}, warming up", done=0, total=None)


def _compared_versions(record: BisectRecord, comparison: VersionComparison) -> str:
    return f"{record.versions[comparison.newer]} with {record.versions[comparison.older]}"
