"""`s3bench gate`: its options, the record that it measures, reads or replays, and its exit codes."""

from collections.abc import Iterator
from datetime import UTC, datetime
from os import environ
from pathlib import Path
from random import SystemRandom
from sys import argv
from time import monotonic
from typing import Any

import click
import msgspec
from msgspec.structs import replace

import s3bench
from s3bench.bench.endpoints import stub_server
from s3bench.bench.local import open_bench
from s3bench.cli.client_resolution import find_or_install
from s3bench.cli.definitions import read_suite
from s3bench.cli.gate.options import GateOptions
from s3bench.cli.gate.output import GateOutput
from s3bench.cli.progress import Ticker, ticker_for
from s3bench.cli.sandbox import wall_warnings
from s3bench.clients.client import FoundClient
from s3bench.clients.identity import program_digest, same_program
from s3bench.clients.store import ClientStore
from s3bench.errors import BadInput, ExitCode, S3BenchError
from s3bench.gate.evidence import Side
from s3bench.gate.exact_metric import EXACT_BY_NAME
from s3bench.gate.inspection import find_inspector
from s3bench.gate.live import GateRules, GateStatus, recorded, run_gate, stage_sides
from s3bench.gate.policy import LOAD_GATING_METRICS, Policy
from s3bench.gate.record import GateRecord, ProgramIdentity, parse_record
from s3bench.gate.row import Verdict
from s3bench.gate.unpaired import doubts, program_of, unpaired_cells
from s3bench.gate.waiver import Waiver, parse_waivers
from s3bench.results.document import render_time
from s3bench.results.file import read_document, read_whole
from s3bench.results.redaction import redact
from s3bench.run.machine import machine_facts, machine_warnings
from s3bench.spec.definition import Definition
from s3bench.spec.plan import ClientSpec, parse_client_spec, plan_runs
from s3bench.spec.suite import Suite

_POSITIVE_SECONDS = click.FloatRange(min=0, min_open=True)
_CHANCE = click.FloatRange(min=0, max=0.5, min_open=True, max_open=True)
_SEEDS = 2**32


@click.command("gate", context_settings={"max_content_width": 120})
@click.argument("files", nargs=-1, type=click.Path(path_type=Path), metavar="[DEFINITIONS... | BASE CANDIDATE]")
@click.option("--baseline", metavar="NAME[@VERSION|@PATH]", help="The client to measure against.")
@click.option("--candidate", metavar="NAME[@VERSION|@PATH]", help="The client to be judged.")
@click.option("-k", "select", metavar="EXPRESSION", help="Only benchmarks that match, as in `s3bench run`.")
@click.option(
    "--suite",
    type=click.Choice([suite.value for suite in Suite]),
    help="Benchmarks by tag: `default` leaves out those tagged `full`.  [default: default; with -k: full]",
)
@click.option(
    "--pairs",
    default="10,20,40",
    show_default=True,
    metavar="N,N,...",
    help="Pairs at which the gate looks and decides.",
)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="Let this metric decide; repeat for several. `instructions` counts them.  [default: total_time, peak_memory]",
)
@click.option(
    "--exact", multiple=True, metavar="NAME", help=f"Exact metrics that decide, of {', '.join(EXACT_BY_NAME)}."
)  # fmt: skip
@click.option("--no-exact", is_flag=True, help="Let no exact metric decide, and inspect nothing.")
@click.option(
    "--zone",
    "zones",
    multiple=True,
    metavar="METRIC=D0,D1[,FLOOR]",
    help="Changes of no interest and changes that must not pass, as total_time=2%,6%,2ms.",
)
@click.option(
    "--false-alarm", type=_CHANCE, default=0.01, show_default=True, help="Chance of any FAIL without a regression."
)
@click.option(
    "--miss", type=_CHANCE, default=0.05, show_default=True, help="Chance of a PASS for a change that must not pass."
)
@click.option("--max-time", metavar="DURATION", help="Stop after 90s, 30m or 2h; what is undecided is INCONCLUSIVE.")
@click.option("--seed", type=int, metavar="N", help="Order of runs and hash seeds.  [default: random, and recorded]")
@click.option("--timeout", type=_POSITIVE_SECONDS, default=600, show_default=True, metavar="SECONDS", help="Per run.")
@click.option(
    "--data-interval", type=_POSITIVE_SECONDS, metavar="SECONDS", help="Sample memory and CPU too.  [default: do not]"
)
@click.option("--tls", is_flag=True, help="Stub over HTTPS.")
@click.option(
    "--waivers", type=click.Path(path_type=Path), metavar="FILE", help="Regressions that may pass for a while."
)
@click.option("--strict", is_flag=True, help="Exit code 1 for SMALL too.")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Keep the record here, as JSON.")
@click.option("--force", is_flag=True, help="Let files that exist be replaced.")
@click.option("--json", "as_json", is_flag=True, help="Print the record to stdout instead of the table.")
@click.option("--junit", type=click.Path(path_type=Path), metavar="FILE", help="Write JUnit XML.")
@click.option("--markdown", type=click.Path(path_type=Path), metavar="FILE", help="Append a step summary.")
@click.option("--comment", type=click.Path(path_type=Path), metavar="FILE", help="Write a pull-request comment.")
@click.option("--annotations", is_flag=True, help="Print GitHub annotations to stderr.")
@click.option("--replay", type=click.Path(path_type=Path), metavar="FILE", help="Make the verdict of a record again.")
@click.option("--self-test", is_flag=True, help="Plant faults into the baseline and print which are caught.")
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    metavar="N",
    help="Gates on each fault, with --self-test.",
)
@click.option("--verbose", is_flag=True, help="Print every row.")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
def gate_command(**options: Any) -> None:
    """Judge whether CANDIDATE got slower or hungrier than BASELINE: PASS, SMALL, FAIL or INCONCLUSIVE.

    Both run in turn, in pairs, until the verdict is sure or 40 pairs are done.

    \b
    s3bench gate --baseline cli-crt@2.38.5 --candidate cli-crt@./build/aws
    s3bench gate --baseline boto3-classic@1.40.0 --candidate boto3-classic@./venv -k 'cp and 32MB' -o gate.json
    s3bench gate base.json candidate.json                 two results documents (weaker: not interleaved)
    s3bench gate --replay gate.json --verbose             the same verdict again, every row
    s3bench gate --self-test                              what this gate would catch on this machine

    Exit code 0 for PASS and SMALL, 1 for FAIL, 3 for INCONCLUSIVE, 4 when a control or a client failed.
    """
    given = GateOptions.of(options)
    if given.self_test:
        from s3bench.cli.gate.self_test import self_test

        raise click.exceptions.Exit(self_test(given))
    policy = given.policy  # refused before anything is read or run
    output = GateOutput(given)
    if given.replay is not None:
        record = parse_record(read_whole(given.replay, of="a gate's record"), source=str(given.replay))
        replayed = record.concluded()
        if record.conclusion is not None and replayed.conclusion != record.conclusion:
            click.echo(f"s3bench: the verdict differs from the one that s3bench {record.s3bench} drew", err=True)
    elif given.is_live:
        replayed = _live(given, _record(given, policy), output)
    else:
        replayed = _documents(given, _record(given, policy))
    output.finish(replayed)
    raise click.exceptions.Exit(_exit_code(replayed, strict=given.strict))


def _exit_code(record: GateRecord, *, strict: bool) -> ExitCode:
    assert record.conclusion is not None
    match record.conclusion.verdict:
        case Verdict.PASS:
            return ExitCode.DONE
        case Verdict.SMALL:
            return ExitCode.FAIL if strict else ExitCode.DONE
        case Verdict.FAIL:
            return ExitCode.FAIL
        case Verdict.INCONCLUSIVE:
            return ExitCode.INCONCLUSIVE
    return ExitCode.CLIENT_FAILED


def _record(options: GateOptions, policy: Policy) -> GateRecord:
    nobody = ProgramIdentity(label="", name="", version="")
    now = datetime.now(UTC)
    return GateRecord(
        s3bench=s3bench.__version__,
        started_at=render_time(now),
        command_line=("s3bench", *redact(argv[1:])),
        options=options.recorded,
        policy=policy,
        baseline=nobody,
        candidate=nobody,
        today=now.date(),
        waivers=_waivers(options.waivers),
    )


def _waivers(path: Path | None) -> tuple[Waiver, ...]:
    return () if path is None else parse_waivers(read_whole(path, of="a waiver file"), source=str(path))


def _documents(options: GateOptions, record: GateRecord) -> GateRecord:
    baseline, candidate = (read_document(path).without_parts() for path in options.files)
    before, after = program_of(baseline), program_of(candidate)
    is_of_load = baseline.is_of_load and candidate.is_of_load
    if is_of_load and not options.metrics:
        record = replace(record, policy=replace(record.policy, metrics=LOAD_GATING_METRICS))
    return replace(
        record,
        is_paired=False,
        machine=candidate.machine,
        baseline=before,
        candidate=after,
        same_program=before == after and not is_of_load,  # the endpoint is what may have changed
        warnings=doubts((str(options.files[0]), baseline), (str(options.files[1]), candidate)),
        cells=unpaired_cells(baseline, candidate),
        ended_at=render_time(datetime.now(UTC)),
    ).concluded()


def _live(options: GateOptions, record: GateRecord, output: GateOutput) -> GateRecord:
    assert options.baseline is not None
    assert options.candidate is not None
    specs = {Side.BASELINE: parse_client_spec(options.baseline), Side.CANDIDATE: parse_client_spec(options.candidate)}
    definitions, skipped = _definitions(options, specs)
    with ticker_for("pairs", quiet=options.quiet) as progress:
        for line in skipped:
            progress.say(f"skipped: {line}")
        clients = _clients(specs, progress)
        seed = SystemRandom().randrange(_SEEDS) if options.seed is None else options.seed
        facts = machine_facts()
        record = replace(
            record,
            machine=msgspec.to_builtins(facts),
            options={**record.options, "seed": seed},
            baseline=_program(clients[Side.BASELINE]),
            candidate=_program(clients[Side.CANDIDATE]),
            same_program=same_program(clients[Side.BASELINE], clients[Side.CANDIDATE]),
            warnings=(*machine_warnings(facts), *wall_warnings()),
        )
        try:
            for record in _measured(options, record, definitions, clients, seed, progress):  # noqa: B020 (it grows)
                output.keep(record)
        except KeyboardInterrupt:
            output.interrupted(record)
            raise
    return replace(record, ended_at=render_time(datetime.now(UTC))).concluded()


def _measured(
    options: GateOptions,
    record: GateRecord,
    definitions: tuple[Definition, ...],
    clients: dict[Side, FoundClient],
    seed: int,
    progress: Ticker,
) -> Iterator[GateRecord]:
    with open_bench(stub_server(tls=options.tls), say=progress.say) as bench:
        inspector = find_inspector(bench.root / "inspection", record.policy)
        staged, warnings = stage_sides(clients, bench.root)
        record = replace(record, warnings=(*record.warnings, *warnings, *(inspector.warnings if inspector else ())))
        for line in record.warnings:
            progress.say(f"warning: {line}")
        deadline_s = None if options.max_time_s is None else monotonic() + options.max_time_s
        rules = GateRules(policy=record.policy, settings=options.settings, seed=seed, deadline_s=deadline_s)
        statuses = run_gate(bench, definitions, staged, rules, inspector, now=monotonic)
        look = 0
        out_of_time = f"--max-time {options.max_time} was over"
        for grown, status in recorded(record, statuses, out_of_time=out_of_time):
            _show(status, look, progress)
            look = status.look
            yield grown


def _show(status: GateStatus, look_before: int, progress: Ticker) -> None:
    if status.look > look_before and status.undecided:
        what = "benchmark or control" if status.undecided == 1 else "benchmarks and controls"
        progress.say(f"look {status.look}: {status.goal} pairs of {status.undecided} {what}")
    if status.undecided:
        doing = f"look {status.look} at {status.goal} pairs"
        progress.stands(doing, done=status.pairs_done, total=status.pairs_planned)
    elif not status.look:
        progress.stands("warming up", done=0, total=None)


def _definitions(options: GateOptions, specs: dict[Side, ClientSpec]) -> tuple[tuple[Definition, ...], tuple[str, ...]]:
    """What both sides can run."""
    definitions = read_suite(options.files)
    suite = Suite(options.suite) if options.suite else (Suite.FULL if options.select else Suite.DEFAULT)
    plans = [
        plan_runs(
            suite.of(definitions),
            clients=(spec,),
            select=options.select,
            num_chunks=1,
            chunk_id=0,
            iterations=1,
            warmup=1,
        )
        for spec in specs.values()
    ]
    first, second = ([cell.definition for cell in plan.cells] for plan in plans)
    both = tuple(definition for definition in first if definition in second)
    if not both:
        raise BadInput(
            f"no benchmark runs on both {options.baseline} and {options.candidate}",
            fix="name one client in two versions, or definitions for both",
        )
    left_out = len(definitions) - len(both)
    return both, ((f"{left_out} benchmarks, not selected or not for these clients",) if left_out else ())


def _clients(specs: dict[Side, ClientSpec], progress: Ticker) -> dict[Side, FoundClient]:
    store = ClientStore.from_environment(environ)
    clients = {}
    for side, spec in specs.items():
        found = find_or_install(spec, store, progress.say)
        if isinstance(found, S3BenchError):
            raise found
        progress.say(f"{side}: {found.label}: {found.executable}")
        clients[side] = found
    return clients


def _program(found: FoundClient) -> ProgramIdentity:
    return ProgramIdentity(label=found.label, name=found.kind, version=found.version, digest=program_digest(found))
