"""`s3bench gate --self-test`: its client and benchmarks, and where the result goes."""

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from os import environ
from time import monotonic

from msgspec.structs import replace

from s3bench.bench.local import open_bench
from s3bench.bench.runner import Bench
from s3bench.cli.client_resolution import found_clients
from s3bench.cli.definitions import runnable
from s3bench.cli.gate.options import GateOptions
from s3bench.cli.gate.output import check_written
from s3bench.cli.keeping import GrowingFile, why_stopped
from s3bench.cli.pair_options import seed_or_random
from s3bench.cli.progress import Ticker, ticker_for
from s3bench.cli.provenance import command_origin, machine_origin
from s3bench.cli.streams import print_styled, print_whole
from s3bench.cli.terminal import stdout_paints, stdout_width
from s3bench.clients.client import ClientSpec, FoundClient
from s3bench.clients.finding import find_client
from s3bench.clients.plan import parse_client_spec, title
from s3bench.clients.registry import known_client, known_clients
from s3bench.clients.staging import stage
from s3bench.clients.store import ClientStore
from s3bench.errors import BadInput, ClientNotFound, ExitCode
from s3bench.gate.evidence import Side
from s3bench.gate.inspection import find_inspector
from s3bench.gate.live import GateRules, program_identity
from s3bench.gate.planted_fault import FaultKind, PlantedFault, SelfTest, encode_self_test, faults_for
from s3bench.gate.policy import Policy
from s3bench.gate.self_test import (
    CALIBRATING_RUNS,
    SelfTestStep,
    Usual,
    calibrate,
    gate_runner,
    recorded,
    run_self_test,
    stub_with_injection,
)
from s3bench.report.gate.self_test import render_self_test, verdict_line
from s3bench.results.document import render_time
from s3bench.spec.definition import Definition

_USUAL_BENCHMARK = ("s3.cp.upload", (("FileSize", "4KB"),))


def self_test(options: GateOptions) -> ExitCode:
    """Test the gate on a real client, print what it caught, and say whether it can be trusted."""
    deadline_s = None if options.max_time is None else monotonic() + options.max_time
    policy = options.policy
    check_written(options)
    _check_visible(options, policy)
    test, file = None, GrowingFile(options.output)
    try:
        with ticker_for("gates", quiet=options.quiet) as progress:
            found = _client(options, progress)
            definitions = _definitions(options, found.kind)
            options.check_pairs(len(definitions))
            for test in _tested(options, policy, found, definitions, deadline_s, progress):
                file.save(encode_self_test(test.concluded()), durable=False)
    except BaseException as error:
        if test is not None:
            _finish(options, test.stopped_by(why_stopped(error)), file)
        raise
    assert test is not None, "a self-test ends with what it showed"
    return ExitCode.DONE if _finish(options, test, file).is_believed else ExitCode.CLIENT_FAILED


def _check_visible(options: GateOptions, policy: Policy) -> None:
    """Refuse rules under which no fault could be seen. Raises `BadInput`."""
    kinds = [kind for kind in FaultKind if not (options.tls and kind is FaultKind.REQUEST)]
    if not any(PlantedFault(kind=kind, amount=1).watchers(policy) for kind in kinds):
        raise BadInput(
            "--self-test: no fault would show in the metrics that decide",
            f"these are {', '.join((*policy.metrics, *policy.exact)) or 'none'}",
            "let total_time, peak_memory, requests or modules decide",
        )


def _finish(options: GateOptions, test: SelfTest, file: GrowingFile) -> SelfTest:
    done = replace(test, ended_at=render_time(datetime.now(UTC))).concluded()
    file.save(encode_self_test(done))
    if options.as_json:
        print_whole(encode_self_test(done), is_measured=True)
    else:
        width, color = stdout_width(), stdout_paints()
        unsaved = None if options.output else partial(encode_self_test, done)
        print_styled(render_self_test(done, width=width, color=color), unsaved=unsaved)
    return done


def _tested(
    options: GateOptions,
    policy: Policy,
    found: FoundClient,
    definitions: tuple[Definition, ...],
    deadline_s: float | None,
    progress: Ticker,
) -> Iterator[SelfTest]:
    """Yield what is known after every gate; the last one is the end."""
    with open_bench(stub_with_injection(known_client(found.kind).engine, tls=options.tls), say=progress.say) as bench:
        inspector = find_inspector(bench.root / "inspection", policy)
        clients = {side: stage(found, bench.root / f"stage-{side.value[:1]}").client for side in Side}
        progress.say(f"measuring {found.label} without a fault")
        test, faults, usual = _prepared(options, policy, found, definitions, bench, clients[Side.BASELINE])
        seed = seed_or_random(options.seed)
        test = replace(
            test,
            options={**test.options, "seed": seed},
            warnings=(*test.warnings, *(inspector.warnings if inspector else ())),
        )
        rules = GateRules(policy=policy, settings=options.settings, seed=seed, deadline_s=deadline_s)
        steps = run_self_test(
            gate_runner(bench, definitions, clients, rules, inspector, usual, now=monotonic),
            faults,
            policy,
            rounds=options.self_test_rounds,
            seed=seed,
            deadline_s=deadline_s,
            today=datetime.now(UTC).date(),
            now=monotonic,
        )
        grown = recorded(test, faults, steps, out_of_time=f"--max-time {options.max_time} has passed")
        for test, step in grown:
            _show(test, step, progress)
            yield test


def _show(test: SelfTest, step: SelfTestStep | None, progress: Ticker) -> None:
    if step is None:
        return
    if step.answer is not None:
        progress.say(verdict_line(step.fault, step.answer))
        return
    done = sum(each.gates for each in test.tallies)
    progress.update(f"round {step.round}, {step.fault.title}", done=done, total=test.rounds * len(test.tallies))


def _prepared(
    options: GateOptions,
    policy: Policy,
    found: FoundClient,
    definitions: tuple[Definition, ...],
    bench: Bench,
    staged: FoundClient,
) -> tuple[SelfTest, tuple[PlantedFault, ...], Usual]:
    """Measure the client as it is, and choose the faults by that."""
    origin = command_origin()
    usual = calibrate(bench, definitions[0], staged, options.settings)
    faults, left_out = faults_for(policy, usual_s=usual.total_s, usual_bytes=usual.peak_bytes)
    if options.tls:
        faults = tuple(fault for fault in faults if fault.kind is not FaultKind.REQUEST)
        left_out = (*left_out, f"{FaultKind.REQUEST}: the planted one is of plain HTTP, and --tls asks for HTTPS")
    test = SelfTest(
        **origin,
        **machine_origin(),
        options={**options.recorded, "rounds": options.self_test_rounds},
        policy=policy,
        client=program_identity(found),
        benchmarks=tuple(title(definition) for definition in definitions),
        calibrating_runs=CALIBRATING_RUNS,
        usual_s=usual.total_s,
        usual_bytes=usual.peak_bytes,
        rounds=options.self_test_rounds,
        left_out=left_out,
    )
    return test, faults, usual


def _client(options: GateOptions, progress: Ticker) -> FoundClient:
    """The client asked for, or the one found here whose runs are shortest."""
    spec = _usual_client() if options.baseline is None else parse_client_spec(options.baseline)
    if known_client(spec.kind).self_test_rank is None:
        raise BadInput(
            f"--self-test: no fault can be planted into {spec.kind}",
            f"a fault is a few lines of Python inside the client's process; {spec.kind} cannot run them",
            f"leave --baseline out, or name another client: what the test shows of the machine holds for {spec.kind} "
            "too",
        )
    options.check_instructions((known_client(spec.kind),))
    return found_clients((spec,), progress)[0]


def _usual_client() -> ClientSpec:
    """The first client that is here, in the order of how long their runs take. Raises `ClientNotFound`."""
    store, missing = ClientStore.from_environment(environ), None
    ranked = [each for each in known_clients().values() if each.self_test_rank is not None]
    for spec in (ClientSpec(kind=each.name) for each in sorted(ranked, key=lambda each: each.self_test_rank or 0)):
        try:
            find_client(spec, store)
        except ClientNotFound as error:
            missing = missing or error
        else:
            return spec
    assert missing is not None
    raise missing


def _definitions(options: GateOptions, kind: str) -> tuple[Definition, ...]:
    """The benchmarks asked for; without a choice the shortest transfer."""
    definitions = runnable(ClientSpec(kind=kind), options.files, select=options.select, suite=options.suite)
    if options.files or options.select or options.suite:
        return definitions
    return tuple(each for each in definitions if (each.name, each.dimensions) == _USUAL_BENCHMARK)
