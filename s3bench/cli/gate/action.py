"""Measures, reads or replays the evidence of `s3bench gate`, and returns the exit code of its verdict."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic

import click
from msgspec.structs import replace

from s3bench.bench.endpoints import stub_server
from s3bench.bench.local import open_bench
from s3bench.cli.client_resolution import found_clients
from s3bench.cli.definitions import read_suite, runnable_on_all
from s3bench.cli.gate.options import GateOptions
from s3bench.cli.gate.output import GateOutput
from s3bench.cli.gate.progress import GateProgress
from s3bench.cli.pair_options import seed_or_random
from s3bench.cli.progress import Ticker, ticker_for
from s3bench.cli.provenance import command_origin, machine_origin
from s3bench.clients.client import ClientSpec, FoundClient
from s3bench.clients.identity import same_program
from s3bench.clients.plan import parse_client_spec
from s3bench.clients.registry import known_client
from s3bench.errors import BadInput, ExitCode
from s3bench.gate.conclusion import Conclusion
from s3bench.gate.evidence import ClientCellEvidence, Side
from s3bench.gate.explaining import Conclude, Explaining
from s3bench.gate.inspection import find_inspector
from s3bench.gate.instruction_counting import InstructionCounting, reserved_s
from s3bench.gate.instruction_rows import gates_time
from s3bench.gate.live import GateRules, program_identity, recorded, run_gate, stage_sides
from s3bench.gate.policy import Policy
from s3bench.gate.record import GateRecord, ProgramIdentity, parse_record
from s3bench.gate.row import Verdict
from s3bench.gate.size import SIZING_PAIRS
from s3bench.gate.unpaired import unpaired_record
from s3bench.gate.waiver import Waiver, parse_waivers
from s3bench.profiling.explaining import Explainer
from s3bench.results.document import render_time
from s3bench.results.file import read_document, read_whole
from s3bench.spec.definition import Definition
from s3bench.units import render_seconds

_EXPLAINING_INTERRUPTED = "the search for causes was interrupted; the verdict is not affected"


def decide(options: GateOptions) -> ExitCode:
    """Draw the verdict of what was measured here, of two documents or of a record, and show it."""
    deadline_s = None if options.max_time is None else monotonic() + options.max_time
    policy = options.policy  # refused before anything is read or run
    output = GateOutput(options)
    if options.replay is not None:
        record = parse_record(read_whole(options.replay, of="a gate's record"), source=str(options.replay))
        replayed = record.concluded()
        assert replayed.conclusion is not None
        if record.conclusion is not None and (words := replayed.conclusion.difference_from(record.conclusion)):
            click.echo(f"s3bench: {words} of s3bench {record.s3bench}", err=True)
        if options.strict:
            replayed = replace(replayed, options={**replayed.options, "strict": True})
    elif options.is_live:
        replayed = _live(options, _record(options, policy), output, deadline_s)
    else:
        replayed = _documents(options, _record(options, policy))
    output.finish(replayed)
    return _exit_code(replayed)


def _exit_code(record: GateRecord) -> ExitCode:
    assert record.conclusion is not None
    match record.conclusion.verdict:
        case Verdict.PASS:
            return ExitCode.DONE
        case Verdict.SMALL:
            return ExitCode.FAIL if record.is_strict else ExitCode.DONE
        case Verdict.FAIL:
            return ExitCode.FAIL
        case Verdict.INCONCLUSIVE:
            return ExitCode.INCONCLUSIVE
    return ExitCode.CLIENT_FAILED


def _record(options: GateOptions, policy: Policy) -> GateRecord:
    nobody = ProgramIdentity(label="", name="", version="")
    return GateRecord(
        **command_origin(),
        options=options.recorded,
        policy=policy,
        baseline=nobody,
        candidate=nobody,
        today=datetime.now(UTC).date(),
        waivers=_waivers(options.waivers),
    )


def _waivers(path: Path | None) -> tuple[Waiver, ...]:
    return () if path is None else parse_waivers(read_whole(path, of="a waiver file"), source=str(path))


def _documents(options: GateOptions, record: GateRecord) -> GateRecord:
    before, after = ((str(path), read_document(path).without_parts()) for path in options.files)
    record = unpaired_record(record, before, after, are_metrics_declared=bool(options.metrics))
    return replace(record, ended_at=render_time(datetime.now(UTC))).concluded()


def _live(options: GateOptions, record: GateRecord, output: GateOutput, deadline_s: float | None) -> GateRecord:
    assert options.baseline is not None
    assert options.candidate is not None
    specs = {Side.BASELINE: parse_client_spec(options.baseline), Side.CANDIDATE: parse_client_spec(options.candidate)}
    options.check_instructions(known_client(spec.kind) for spec in specs.values())
    definitions, skipped = _definitions(options, specs)
    options.check_pairs(len(definitions))
    with ticker_for("pairs", quiet=options.quiet) as progress:
        for line in skipped:
            progress.say(f"skipped: {line}")
        clients = dict(zip(Side, found_clients(tuple(specs.values()), progress), strict=True))
        is_same = same_program(clients[Side.BASELINE], clients[Side.CANDIDATE])
        if is_same and specs[Side.BASELINE] != specs[Side.CANDIDATE]:
            raise BadInput(
                f"{options.baseline} and {options.candidate} are the same program",
                "all files of the two are equal, so there is no difference to find",
                "name two versions that differ; `s3bench gate --self-test` shows what a gate can detect here",
            )
        seed = seed_or_random(options.seed)
        record = replace(
            record,
            **machine_origin(),
            options={**record.options, "seed": seed},
            baseline=program_identity(clients[Side.BASELINE]),
            candidate=program_identity(clients[Side.CANDIDATE]),
            same_program=is_same,
        )
        try:
            growing = _measured(options, record, definitions, clients, seed, deadline_s, output, progress)
            for record in growing:
                output.keep(record)
            return replace(record, ended_at=render_time(datetime.now(UTC))).concluded()
        except BaseException as error:
            output.stopped(record, error)
            raise


def _measured(
    options: GateOptions,
    record: GateRecord,
    definitions: tuple[Definition, ...],
    clients: dict[Side, FoundClient],
    seed: int,
    deadline_s: float | None,
    output: GateOutput,
    progress: Ticker,
) -> Iterator[GateRecord]:
    with open_bench(stub_server(tls=options.tls), say=progress.say) as bench:
        inspector = find_inspector(bench.root / "inspection", record.policy)
        staged, warnings = stage_sides(clients, bench.root)
        record = replace(record, warnings=(*record.warnings, *warnings, *(inspector.warnings if inspector else ())))
        for line in record.warnings:
            progress.say(f"warning: {line}")
        output.said(record.warnings)
        counting = None
        if may_count_instructions(record.policy, clients, is_switched_off=options.no_instructions):
            counting = InstructionCounting(directory=bench.root / "instructions", deadline_s=deadline_s)
        pairs_end_s, out_of_time = deadline_s, f"--max-time {options.max_time} has passed"
        if deadline_s is not None and options.max_time is not None and counting is not None and counting.is_possible:
            reserve_s = reserved_s(options.max_time)
            pairs_end_s = deadline_s - reserve_s
            out_of_time += f" (the last {render_seconds(reserve_s)} are for counting instructions)"
        rules = GateRules(
            policy=record.policy,
            settings=options.settings,
            seed=seed,
            deadline_s=pairs_end_s,
            sizing_pairs=SIZING_PAIRS,
        )
        explaining = None
        if options.explains:
            explainer = Explainer(directory=bench.root / "explanations", now=monotonic)
            explaining = Explaining(
                explain=explainer.explain, conclude=_concluding(record, out_of_time), deadline_s=deadline_s
            )
        statuses = run_gate(
            bench, definitions, staged, rules, inspector, now=monotonic, counting=counting, explaining=explaining
        )
        shown = GateProgress(progress, deadline_s=pairs_end_s, now=monotonic)
        grown, status = record, None
        try:
            for grown, status in recorded(record, statuses, out_of_time=out_of_time):
                shown.show(status)
                yield grown
        except KeyboardInterrupt:
            if status is None or not status.explaining:
                raise
            yield replace(grown, warnings=(*grown.warnings, _EXPLAINING_INTERRUPTED))


def _concluding(record: GateRecord, out_of_time: str) -> Conclude:
    def conclude(cells: tuple[ClientCellEvidence, ...], is_over: bool) -> Conclusion:  # noqa: FBT001 (a callable's type has no names)
        stopped = out_of_time if is_over else ""
        concluded = replace(record, cells=cells, stopped=stopped, is_out_of_time=is_over).concluded().conclusion
        assert concluded is not None
        return concluded

    return conclude


def may_count_instructions(policy: Policy, clients: dict[Side, FoundClient], *, is_switched_off: bool) -> bool:
    """Whether instructions are counted where a time is undecided: their counts must repeat."""
    if is_switched_off or not gates_time(policy):
        return False
    return all(known_client(client.kind).instructions_repeat for client in clients.values())


def _definitions(options: GateOptions, specs: dict[Side, ClientSpec]) -> tuple[tuple[Definition, ...], tuple[str, ...]]:
    """What both sides can run, and how many benchmarks are left out."""
    both = runnable_on_all(specs.values(), options.files, select=options.select, suite=options.suite)
    if not both:
        raise BadInput(
            f"no benchmark runs on both {options.baseline} and {options.candidate}",
            fix="name one client in two versions, or definitions for both",
        )
    left_out = len(read_suite(options.files)) - len(both)
    reasons = "not selected, not in the suite or not for these clients"
    return both, ((f"{left_out} benchmark{'s' * (left_out != 1)}, {reasons}",) if left_out else ())
