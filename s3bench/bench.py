"""Runs a plan: wires workspace, endpoint, process and sampler together, and yields what each iteration showed.

Owns the order of events around one iteration, and decides what is an error. Nothing of what happens inside: fixtures
are `run.workspace`'s, the client's command line `clients`', the responses `s3`'s, the figures `results`'.
"""

import re
import shutil
import signal
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from s3bench.clients.client import FoundClient
from s3bench.clients.confinement import CRT_LOCKS, prepare_confinement
from s3bench.clients.environment import Sandbox
from s3bench.clients.inprocess import check_in_process, log_of
from s3bench.clients.interpreter import script_words
from s3bench.clients.invocation import invocation
from s3bench.clients.padding import pad, stack_bytes, stack_entries
from s3bench.errors import S3BenchError
from s3bench.results.audit import compare_observed
from s3bench.results.document import Client, Result
from s3bench.results.measurement import Failure, Measurement, measure
from s3bench.results.redaction import mask_file
from s3bench.run.download_check import DownloadCheck
from s3bench.run.endpoint import Endpoint
from s3bench.run.facts import gather_facts, read_milestones
from s3bench.run.process import Launch, ProcessRecord, Spawner
from s3bench.run.wire_checks import (
    engine_errors,
    request_errors,
    served_files,
    upload_errors,
)
from s3bench.run.workspace import Workspace, Workspaces
from s3bench.s3.wirelog import TransferEngine, WireLog
from s3bench.spec.command import Transfer, parse_transfer
from s3bench.spec.definition import DEFAULT_RESPONSES, Definition, Response
from s3bench.spec.listing import expand_listings
from s3bench.spec.plan import Cell, Plan

STDERR_TAIL_BYTES = 2000
"""How much of the end of a failed client's stderr goes into the document."""

ERRORS_MAX = 10
"""How many contradictions of one iteration are told; of thousands, the first say it all."""

FAILURES_MAX = 3
"""A client that failed this often, and never once succeeded, is not run again: the reason is known by then."""

TRANSFER_CLIENT = "S3TransferClient"
TRANSFER_CLIENTS = {TransferEngine.PYTHON: "Classic", TransferEngine.CRT: "CRT"}
"""The dimension that tells Classic from CRT, added where a definition leaves it to the client."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How to measure. An `interval_s` of `None` takes no samples; `debug_dir` keeps stdout and stderr of everything.

    `keeps_timeline` keeps samples and requests of each measurement for charts.
    """

    interval_s: float | None = 0.001
    verify: bool = True
    probes: bool = True
    keeps_timeline: bool = False
    timeout_s: float = 600.0
    debug_dir: Path | None = None

    def unobserved(self) -> "Settings":
        """The same without sampling and probes: what `--audit` compares with."""
        return replace(self, interval_s=None, probes=False, keeps_timeline=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What one run has beside its client's own command line and environment.

    `env` is added to its variables, `prefix` is the program that executes it, in front of its command line; that may
    write to `writable` too. With `stack`, variables pad what execve(2) puts on its stack to that size.
    """

    env: Mapping[str, str] = field(default_factory=dict)
    prefix: tuple[str, ...] = ()
    writable: tuple[Path, ...] = ()
    stack: "StackSize | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StackSize:
    """What execve(2) puts on a stack: the bytes of all arguments and variables, and their number."""

    size_bytes: int
    entries: int


PLAIN = Conditions()


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Everything that a run holds open. `prepared` are the clients that are ready to be confined to a workspace."""

    spawner: Spawner
    endpoint: Endpoint
    workspaces: Workspaces
    prepared: set[FoundClient] = field(default_factory=set)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyCell:
    """One definition, and its client as found; or why it cannot be run here."""

    cell: Cell
    client: FoundClient | S3BenchError

    @property
    def found(self) -> FoundClient | None:
        """The client, if it was found."""
        return self.client if isinstance(self.client, FoundClient) else None


def run_cells(
    bench: Bench, cells: tuple[ReadyCell, ...], settings: Settings, plan: Plan, *, audit: bool
) -> Iterator[Result]:
    """Run every cell in turn; yield its result after every iteration, and once more when it is closed.

    What fails is an error in its result, and the others run all the same. Requests are in the iteration that is of
    median time so far. With `audit` every iteration has a twin without sampling and probes, in the order ABBA, and the
    result tells what measuring changed.
    """
    for number, ready in enumerate(cells):
        if isinstance(ready.client, S3BenchError):
            yield _unrunnable(ready.cell, ready.client)
            continue
        yield from _run_cell(bench, ready.cell, ready.client, _schedule(settings, plan, audit=audit), number)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """One iteration to come. `number` counts what is measured from 0, and is `None` for a warm-up."""

    settings: Settings
    number: int | None
    is_observed: bool = True


def _schedule(settings: Settings, plan: Plan, *, audit: bool) -> tuple[_Step, ...]:
    steps = [_Step(settings=settings, number=None) for _ in range(plan.warmup)]
    for number in range(plan.iterations):
        step = _Step(settings=settings, number=number)
        twin = _Step(settings=settings.unobserved(), number=number, is_observed=False)
        steps += ([step, twin] if number % 2 == 0 else [twin, step]) if audit else [step]
    return tuple(steps)


def _run_cell(bench: Bench, cell: Cell, found: FoundClient, steps: tuple[_Step, ...], number: int) -> Iterator[Result]:
    result = new_result(cell, Client(name=found.kind, version=found.version, label=found.label), found.engine)
    unobserved: dict[int, Measurement] = {}
    # A name may hold anything that can be printed; as a directory's name it must stay inside --debug-dir.
    debug_name = re.sub(r"[^\w.-]+", "_", f"{number:03d}-{cell.definition.name}-{found.label}")
    try:
        with bench.workspaces.open(cell.definition.environment) as workspace:
            bout = ClientRunner(bench=bench, definition=cell.definition, found=found, workspace=workspace)
            for step in steps:
                outcome = bout.once(step.number or 0, step.settings, debug_name)
                if isinstance(outcome, Failure):
                    result = result.with_failure(outcome)
                elif not step.is_observed:
                    unobserved[outcome.iteration] = outcome
                elif step.number is not None:
                    result = result.with_measurement(outcome)
                yield result.with_requests_of_one()
                if len(result.errors) >= FAILURES_MAX and not result.measurements:
                    break
    except S3BenchError as error:
        result = result.with_failure(_failure_of(error))
    if unobserved:
        result = result.with_audit(compare_observed(result.measurements, unobserved))
    yield result.completed()


def new_result(cell: Cell, client: Client, engine: TransferEngine | None) -> Result:
    """The result of a cell before anything was measured; `engine` is the one that its client must show."""
    definition = cell.definition
    dimensions = [{name: value} for name, value in definition.dimensions]
    named = {name for name, _ in definition.dimensions}
    if engine in TRANSFER_CLIENTS and TRANSFER_CLIENT not in named and parse_transfer(definition.command):
        dimensions.append({TRANSFER_CLIENT: TRANSFER_CLIENTS[engine]})
    return Result(name=definition.name, dimensions=tuple(dimensions), client=client, tags=definition.tags)


def _unrunnable(cell: Cell, error: S3BenchError) -> Result:
    client = Client(name=cell.client.kind, version=cell.client.version or "", label=str(cell.client))
    return new_result(cell, client, None).with_failure(_failure_of(error)).completed()


def _failure_of(error: S3BenchError) -> Failure:
    return Failure(iteration=0, what=error.what, why=f"{error.why} {error.fix}".strip())


@dataclass(slots=True, kw_only=True)
class ClientRunner:
    """One client running one benchmark again and again; remembers when it last stopped."""

    bench: Bench
    definition: Definition
    found: FoundClient
    workspace: Workspace
    transfer: Transfer | None = field(init=False)
    responses: tuple[Response, ...] = field(init=False)
    landing: DownloadCheck = field(init=False)
    last_ended_ns: int | None = None

    def __post_init__(self) -> None:
        self.definition = self.bench.endpoint.adapted(self.definition)
        if self.bench.endpoint.script is not None:
            check_in_process(self.found.kind)
        if self.found not in self.bench.prepared:
            prepare_confinement(self.found)
            self.bench.prepared.add(self.found)
        self.transfer = parse_transfer(self.definition.command)
        self.landing = DownloadCheck(
            self.transfer,
            self.definition.environment,
            work=self.workspace.work,
            served_from=self.workspace.pristine,
        )
        given = self.definition.responses
        self.responses = expand_listings(DEFAULT_RESPONSES if given is None else given, self.definition.environment)

    def once(
        self, iteration: int, settings: Settings, debug_name: str, conditions: Conditions = PLAIN
    ) -> Measurement | Failure:
        """Run it once in its restored workspace: what that showed, or why it showed nothing."""
        workspace = self.workspace
        workspace.restore()
        probe_file = self._probe_file(settings)
        self.bench.endpoint.arm(self.responses, workspace=workspace.pristine, verify=settings.verify)
        launch = self._launch(settings, probe_file, conditions)
        try:
            record = self.bench.spawner.run(launch)
        finally:
            self._mask_output(launch)
        log = self.bench.endpoint.collect(self.landing.look_ahead)
        turnaround_ns = None if self.last_ended_ns is None else record.started_ns - self.last_ended_ns
        self.last_ended_ns = record.ended_ns
        if settings.debug_dir is not None:
            _keep_output(launch, settings.debug_dir / debug_name / str(iteration))
        failure = self._failure(iteration, record, log, launch)
        if failure is not None:
            return failure
        return measure(
            gather_facts(
                record,
                log,
                read_milestones(probe_file, started_ns=record.started_ns) if probe_file else {},
                iteration=iteration,
                interval_s=settings.interval_s,
                turnaround_s=None if turnaround_ns is None else turnaround_ns / 1e9,
                network=self.bench.endpoint.network,
                keeps_timeline=settings.keeps_timeline,
            )
        )

    def _mask_output(self, launch: Launch) -> None:
        """Take the endpoint's keys out of what the client wrote, before anything else looks at it or keeps it."""
        if self.bench.endpoint.secrets:
            for path in filter(Path.exists, (launch.stdout, launch.stderr)):
                mask_file(path, self.bench.endpoint.secrets)

    def stack_size(self, settings: Settings) -> StackSize:
        """What execve(2) would put on the client's stack without padding."""
        launch, script = self._launch(settings, self._probe_file(settings), PLAIN), script_words(self.found.executable)
        return StackSize(
            size_bytes=stack_bytes(launch.argv, launch.env, script=script),
            entries=stack_entries(launch.argv, launch.env, script=script),
        )

    def _probe_file(self, settings: Settings) -> Path | None:
        return self.workspace.output / "milestones" if settings.probes else None

    def _launch(self, settings: Settings, probe_file: Path | None, conditions: Conditions) -> Launch:
        workspace, definition = self.workspace, self.definition
        sandbox = Sandbox(
            home=workspace.home,
            temporary=workspace.tmp,
            work=workspace.work,
            probe_file=probe_file,
            stub_script=self.bench.endpoint.script,
        )
        call = invocation(self.found, definition, self.transfer, self.bench.endpoint.facts, sandbox)
        workspace.write_config(call.config_text)
        env = {**call.env, **conditions.env}
        if conditions.stack is not None:
            env = pad(
                call.argv,
                env,
                size_bytes=conditions.stack.size_bytes,
                entries=conditions.stack.entries,
                script=script_words(self.found.executable),
            )
        script = self.bench.endpoint.script
        beside = (CRT_LOCKS, *conditions.writable, *((log_of(script),) if script else ()))
        return Launch(
            argv=(*conditions.prefix, *call.argv),
            env=env,
            cwd=workspace.work,
            stdout=workspace.output / "stdout",
            stderr=workspace.output / "stderr",
            timeout_s=definition.timeout_s or settings.timeout_s,
            interval_s=settings.interval_s,
            writable=(*workspace.writable, *beside),
        )

    def _failure(self, iteration: int, record: ProcessRecord, log: WireLog | None, launch: Launch) -> Failure | None:
        """Why this iteration gives no measurement. A client's own failure comes first: it explains the rest."""
        errors = self._errors(log)
        ending = _bad_ending(record, launch)
        if ending is not None:
            return Failure(
                iteration=iteration,
                what=ending,
                exit_code=record.exit_code,
                why=_tail(launch.stderr) or _tail(launch.stdout),
                request=errors[0] if errors else "",
            )
        if errors:
            return Failure(iteration=iteration, what=errors[0], exit_code=0, why="; ".join(errors[1:ERRORS_MAX]))
        return None

    def _errors(self, log: WireLog | None) -> tuple[str, ...]:
        on_the_wire = () if log is None else self._wire_errors(log)
        served = self.bench.endpoint.served() | ({} if log is None else served_files(log))
        return (*on_the_wire, *self.landing.errors(served))

    def _wire_errors(self, log: WireLog) -> tuple[str, ...]:
        if self.definition.responses is None:
            # The default response is there for whoever asks; a command that asks nothing leaves no riddle.
            log = msgspec.structs.replace(log, leftover=())
        return (
            *engine_errors(log, self.transfer, self.found.engine),
            *request_errors(log),
            *upload_errors(log, self.transfer, self.definition.environment),
        )


def _bad_ending(record: ProcessRecord, launch: Launch) -> str | None:
    if record.exit_code is None:
        return f"timed out after {launch.timeout_s:g} s"
    if record.exit_code < 0:
        return f"ended by signal {-record.exit_code} ({signal.Signals(-record.exit_code).name})"
    return f"exited {record.exit_code}" if record.exit_code else None


def _keep_output(launch: Launch, directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for file in (launch.stdout, launch.stderr):
        shutil.copyfile(file, directory / file.name)


def _tail(path: Path) -> str:
    """The end of what the client wrote, without terminal controls' meaning: undecodable bytes are escaped."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - STDERR_TAIL_BYTES))
        return file.read().decode("utf-8", "backslashreplace").strip()
