"""Runs a study of `s3bench tune`, resumes or replays one, or compares clients."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from os import environ
from pathlib import Path
from random import SystemRandom
from time import monotonic

from msgspec import to_builtins
from msgspec.structs import replace

import s3bench
from s3bench.bench.endpoints import EndpointOpener, check_live, emulator, live
from s3bench.bench.local import open_bench
from s3bench.bench.runner import Bench, Settings
from s3bench.cli.client_resolution import find_or_install, refuse_missing_paths
from s3bench.cli.progress import Ticker, ticker_for
from s3bench.cli.provenance import command_origin, machine_origin
from s3bench.cli.sandbox import check_confinement
from s3bench.cli.tune.options import SEEDS, TuneOptions
from s3bench.cli.tune.output import TuneOutput
from s3bench.cli.tune.study_file import StudyFile, read_study
from s3bench.clients.client import ClientSpec, FoundClient
from s3bench.clients.identity import program_digest
from s3bench.clients.plan import parse_client_spec
from s3bench.clients.store import ClientStore
from s3bench.clients.tuning.workload import Workload
from s3bench.errors import ClientNotFound, ExitCode, MachineError, S3BenchError
from s3bench.results.document import Client
from s3bench.run.disk import LIMIT_S, file_system_of, measure_disk, memory_directory
from s3bench.run.machine import machine_facts
from s3bench.run.owner import workspace_parent
from s3bench.s3.network.model import describe, parse_network
from s3bench.tune.live import TuneStatus, run_study
from s3bench.tune.space import Space
from s3bench.tune.study import DiskSpeed, Header, Search, Stage, Study
from s3bench.tune.tuner import Rounds, Tuner
from s3bench.tune.verification import TuneVerdict
from s3bench.units import counted, render_bytes, render_seconds

_DISK_SHARE = 0.05
"""Of the budget, that writing to the disk may take, and reading it."""

_COMPARED_FACTS = (("cpu_model", "CPU"), ("cores_allowed", "number of cores"), ("kernel", "kernel"))
_SPARE_BYTES = 512 << 20
_ROOM_SHARE = 2.5
"""Of all bytes, how many a workspace in memory needs: fixtures, what lands beside them, and the emulator's copy."""


def tune(options: TuneOptions) -> ExitCode:
    """Find the best settings and show them."""
    began_s = monotonic()
    if options.endpoint_url is not None:
        check_confinement(allow_unsandboxed=options.allow_unsandboxed)
    output = TuneOutput(options)
    if options.compare_clients:
        return _compare(options, output)
    study = _replayed(options, options.replay) if options.replay is not None else _tuned(options, output, began_s)
    answer = output.finish(study, has_ended=options.replay is None)
    return ExitCode.INCONCLUSIVE if answer.verdict is TuneVerdict.UNSETTLED else ExitCode.DONE


def _check_live(url: str | None, bucket: str | None) -> None:
    """Check, before a client is installed, that the bucket can be used, if there is a live endpoint."""
    if url is not None and bucket is not None:
        check_live(url, bucket=bucket)


def _check_predictions(options: TuneOptions, header: Header) -> None:
    """Refuse predictions that cannot be made for a study, before anything runs. Raises `BadInput`."""
    options.others(header.workload, is_live=header.network is None)


def _replayed(options: TuneOptions, path: Path) -> Study:
    study = read_study(path)
    _check_predictions(options, study.header)
    return study


def _resumed(options: TuneOptions, path: Path, output: TuneOutput, began_s: float) -> Study:
    with StudyFile.resume(path) as file:
        study = file.study
        _check_predictions(options, study.header)
        if study.header.endpoint_url is not None:
            check_confinement(allow_unsandboxed=options.allow_unsandboxed)
        _check_live(study.header.endpoint_url, study.header.bucket)
        if options.budget is not None:
            study = replace(study, header=replace(study.header, budget_s=options.budget_s))
        with ticker_for("s", quiet=options.quiet) as progress:
            clients = _clients([parse_client_spec(label) for label in study.header.clients], progress, is_picky=True)
            study = replace(study, header=_continued(study, clients, progress))
            return _run(options, study, clients, file, output, progress, began_s)


def _tuned(options: TuneOptions, output: TuneOutput, began_s: float) -> Study:
    if options.resume is not None:
        return _resumed(options, options.resume, output, began_s)
    workload, specs = options.workload, options.specs
    _check_memory(options, workload)
    _check_live(options.endpoint_url, options.bucket)
    with ExitStack() as stack:
        progress = stack.enter_context(ticker_for("s", quiet=options.quiet))
        clients = _clients(specs, progress, is_picky=options.clients is not None)
        disk = _disk_speed(workload, no_disk=options.no_disk, limit_s=_DISK_SHARE * options.budget_s)
        programs = tuple(map(_program, clients.values()))
        study = Study(header=replace(_header(options, workload, clients, disk), programs=programs))
        for line in study.header.warnings:
            progress.say(f"warning: {line}")
        if options.study is None:
            return _run(options, study, clients, None, output, progress, began_s)
        file = stack.enter_context(StudyFile.begin(options.study, study.header, force=options.force))
        return _run(options, study, clients, file, output, progress, began_s)


def _continued(study: Study, clients: Mapping[str, FoundClient], progress: Ticker) -> Header:
    """The header of a study that continues, with a warning if that adds runs of another machine, client or s3bench."""
    header, facts = study.header, to_builtins(machine_facts())
    kind = file_system_of(_parent(header.workload, no_disk=header.no_disk))
    changes = [f"another {words}" for name, words in _COMPARED_FACTS if header.machine.get(name) != facts.get(name)]
    if header.disk is not None and header.disk.kind != kind:
        changes.append(f"workspaces on {kind} instead of {header.disk.kind}")
    changes += _other_programs(header, clients)
    if header.s3bench != s3bench.__version__:
        changes.append(f"s3bench {s3bench.__version__} instead of {header.s3bench}")
    if not changes or not study.trials or _tuner(header).next_block(study.trials) is None:
        return header
    words = f"continued with {', '.join(changes)}: earlier runs may not be comparable with later ones"
    progress.say(f"warning: {words}")
    return replace(header, warnings=(*header.warnings, words))


def _other_programs(header: Header, clients: Mapping[str, FoundClient]) -> Iterator[str]:
    """Which clients are not those with which the study began; former studies do not tell."""
    programs = {program.label: program for program in header.programs}
    for label, found in clients.items():
        now = _program(found)
        before = programs.get(label, now)
        if now.version != before.version:
            yield f"{label} of version {now.version} instead of {before.version}"
        elif before.digest and now.digest and now.digest != before.digest:
            yield f"another build of {label}"


def _program(found: FoundClient) -> Client:
    """The client as a study keeps it; without a digest if its files cannot be read, which its runs will show."""
    try:
        digest = program_digest(found)
    except S3BenchError:
        digest = ""
    return Client(name=found.kind, version=found.version, label=found.label, digest=digest)


def _tuner(header: Header) -> Tuner:
    return Tuner(header=header, space=Space.of(header.clients, header.workload))


def _run(
    options: TuneOptions,
    study: Study,
    clients: Mapping[str, FoundClient],
    file: StudyFile | None,
    output: TuneOutput,
    progress: Ticker,
    began_s: float,
) -> Study:
    header = study.header
    tuner = _tuner(header)
    if tuner.next_block(study.trials) is None:
        progress.say(f"with a budget of {render_seconds(header.budget_s)} there is nothing left to run")
    try:
        with _bench(header, progress) as bench:
            for status in run_study(bench, clients, tuner, study, _settings(options), began_s=began_s, now=monotonic):
                study = status.study
                if file is not None:
                    file.append(status.trial)
                _show(progress, status)
    except KeyboardInterrupt:
        output.interrupted(study)
        raise
    return study


def _show(progress: Ticker, status: TuneStatus) -> None:
    study, trial, block = status.study, status.trial, status.block
    spent_s = sum(trial.cost_s for trial in study.trials)
    doing = f"{block.stage} {block.number + 1}: {trial.setting}"
    progress.update(doing, done=round(spent_s), total=max(round(study.header.budget_s), round(spent_s)))
    if trial.failure is not None:
        progress.say(f"{trial.setting}: {trial.failure.what}")
    if not status.left:
        progress.say(f"{block.stage} {block.number + 1}: {counted(len(study.trials), 'run')}, {spent_s:.0f} s")


def _compare(options: TuneOptions, output: TuneOutput) -> ExitCode:
    """Run every client at its defaults and show how they compare, after an interruption what was measured until then.

    The comparison is on one file and on many, or on files of different sizes alone.
    """
    many = options.workload
    _check_memory(options, many)
    _check_live(options.endpoint_url, options.bucket)
    one = Workload(action=many.action, size_bytes=many.size_bytes)
    workloads = [many] if many.sizes else [one, *([many] if many.files > 1 else [])]
    studies: dict[Workload, Study] = {}
    try:
        with ticker_for("runs", quiet=options.quiet) as progress:
            for study in _compared(options, workloads, progress):
                studies[study.header.workload] = study
    except KeyboardInterrupt:
        if any(study.of(Stage.SEARCH) for study in studies.values()):
            output.compared(tuple(studies.values()))
        raise
    table = output.compared(tuple(studies.values()))
    return ExitCode.DONE if table.has_runs else ExitCode.CLIENT_FAILED


def _compared(options: TuneOptions, workloads: Sequence[Workload], progress: Ticker) -> Iterator[Study]:
    """Run the rounds of each workload; yield its study after every run."""
    for line in options.warnings:
        progress.say(f"warning: {line}")
    clients = _clients(options.specs, progress, is_picky=options.clients is not None)
    total = (options.rounds + 1) * len(clients)  # the first round warms caches
    for workload in workloads:
        header = _header(options, workload, clients, disk=None)
        rounds, study = Rounds(header=header, rounds=options.rounds), Study(header=header)
        with _bench(header, progress) as bench:
            for status in run_study(bench, clients, rounds, study, _settings(options), now=monotonic):
                progress.update(str(status.trial.setting), done=len(status.study.trials), total=total)
                yield status.study


def _clients(specs: Sequence[ClientSpec], progress: Ticker, *, is_picky: bool) -> dict[str, FoundClient]:
    """The clients by their labels. Where nobody asked for them by name, those that are missing are left out."""
    store = ClientStore.from_environment(environ)
    refuse_missing_paths(specs)
    clients = {}
    for spec in specs:
        found = find_or_install(spec, store, progress)
        if isinstance(found, ClientNotFound):
            if is_picky:
                raise found
            progress.say(f"left out: {found.what}")
            continue
        clients[found.label] = found
    if not clients:
        raise ClientNotFound("no client is installed", fix="s3bench clients install aws-cli")
    return clients


def _header(
    options: TuneOptions, workload: Workload, clients: Mapping[str, FoundClient], disk: DiskSpeed | None
) -> Header:
    model = options.model
    here = machine_origin()
    return Header(
        **command_origin(),
        machine=here["machine"],
        workload=workload,
        clients=tuple(clients),
        network=None if model is None else model.text,
        endpoint=describe(model) if model is not None else "live",
        bucket=options.bucket,
        endpoint_url=options.endpoint_url,
        tls=options.tls,
        objective=options.aim,
        search=Search(options.search),
        budget_s=options.budget_s,
        seed=SystemRandom().randrange(SEEDS) if options.seed is None else options.seed,
        max_memory_bytes=options.max_memory,
        disk=disk,
        no_disk=options.no_disk,
        warnings=(*here["warnings"], *options.warnings),
    )


def _settings(options: TuneOptions) -> Settings:
    """How to measure: nothing is sampled and no probe is put in, so that runs are those of the user."""
    return Settings(interval_s=None, probes=False, timeout_s=options.timeout)


def _check_memory(options: TuneOptions, workload: Workload) -> None:
    """Refuse downloads that the emulator could not hold. Raises `MachineError`."""
    available_bytes = machine_facts().memory_available
    needed_bytes = workload.total_bytes + _SPARE_BYTES
    if options.network is not None and not workload.is_upload and needed_bytes > available_bytes:
        raise MachineError(
            f"not enough memory: objects of {render_bytes(workload.total_bytes)} have to be downloaded from it, and "
            f"{render_bytes(available_bytes)} are available",
            "the S3 behind --network is in memory",
            "tune smaller or fewer files and have the rest predicted (--predict size=...), or use --endpoint-url",
        )


def _disk_speed(workload: Workload, *, no_disk: bool, limit_s: float) -> DiskSpeed:
    disk = measure_disk(
        _parent(workload, no_disk=no_disk),
        size_bytes=workload.total_bytes,
        limit_s=min(limit_s, LIMIT_S),
        now=monotonic,
    )
    return DiskSpeed(
        kind=disk.kind, size_bytes=disk.size_bytes, write=disk.write_bytes_per_s, read=disk.read_bytes_per_s
    )


def _parent(workload: Workload, *, no_disk: bool) -> Path:
    return memory_directory(round(workload.total_bytes * _ROOM_SHARE)) if no_disk else workspace_parent(environ)


def _bench(header: Header, progress: Ticker) -> AbstractContextManager[Bench]:
    parent = _parent(header.workload, no_disk=header.no_disk)
    return open_bench(_endpoint(header), parent=parent, say=progress.say)


def _endpoint(header: Header) -> EndpointOpener:
    if header.endpoint_url is not None:
        assert header.bucket is not None
        return live(header.endpoint_url, bucket=header.bucket)
    assert header.network is not None
    return emulator(
        parse_network(header.network),
        tls=header.tls,
        memory_limit_bytes=header.workload.total_bytes + _SPARE_BYTES,
        discard_uploads=True,
    )
