"""Runs clients as processes of this machine: workspace, endpoint, process and sampler around each run.

This module has the order of events around one run, and decides what is an error.
"""

import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from os import environ
from pathlib import Path
from typing import TypeVar

import msgspec

from s3bench.bench.endpoints import EndpointOpener
from s3bench.bench.runner import PLAIN, Conditions, RunnerFactory, Settings, StackSize
from s3bench.clients.awsconfig import block_settings
from s3bench.clients.client import FoundClient
from s3bench.clients.confinement import CRT_LOCKS, lock_causes, prepare_confinement
from s3bench.clients.environment import Sandbox
from s3bench.clients.identity import program_files
from s3bench.clients.inprocess import check_in_process, log_of
from s3bench.clients.interpreter import script_words
from s3bench.clients.invocation import invocation
from s3bench.clients.padding import pad, stack_bytes, stack_entries
from s3bench.clients.pagecache import reread
from s3bench.clients.plan import expected_engine
from s3bench.clients.registry import known_client
from s3bench.results.measurement import Failure, Measurement
from s3bench.results.redaction import mask_file
from s3bench.run.download_check import DownloadCheck
from s3bench.run.ending import named_signal, redacted_tail
from s3bench.run.endpoint import Endpoint
from s3bench.run.facts import measure_run, read_milestones
from s3bench.run.owner import workspace_parent
from s3bench.run.process import Launch, ProcessRecord, Spawner
from s3bench.run.wire_checks import (
    downloaded_paths,
    engine_errors,
    request_errors,
    served_files,
    transfer_warnings,
    upload_errors,
)
from s3bench.run.workspace import Workspace, Workspaces
from s3bench.s3.wirelog import WireLog
from s3bench.spec.awsconfig_value import size_of
from s3bench.spec.command import Transfer, parse_transfer
from s3bench.spec.definition import DEFAULT_RESPONSES, Definition, Environment, Response
from s3bench.spec.listing import expand_listings

Outcome = TypeVar("Outcome", Measurement, Failure)

STDERR_TAIL_CHARACTERS = 2000
"""How much of the end of a failed client's stderr goes into the document."""

_PART_SIZE = "multipart_chunksize"

ERRORS_MAX = 10
"""How many errors of one iteration are reported; of thousands, the first ones suffice."""


@contextmanager
def open_bench(
    endpoint: EndpointOpener,
    *,
    parent: Path | None = None,
    keep: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> Iterator["LocalBench"]:
    """Open everything that runs need: workspaces, the endpoint that `endpoint` opens in a directory, and the spawner.

    Workspaces are made in `parent`, by default where `workspace_parent` says, and stay there with `keep`. `say` is
    given what a user should know of them.
    """
    with Workspaces(parent=parent or workspace_parent(environ), keep=keep) as workspaces:
        for swept in workspaces.swept:
            say(f"removed what a crashed run left behind: {swept}")
        if keep:
            say(f"the working directories stay in {workspaces.root}")
        directory = workspaces.root / "server"
        directory.mkdir(mode=0o700)
        with endpoint(directory) as opened, Spawner() as spawner:
            yield LocalBench(spawner=spawner, endpoint=opened, workspaces=workspaces)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalBench:
    """A `Bench` of real processes. `prepared` are the clients that are ready to be confined to a workspace."""

    spawner: Spawner
    endpoint: Endpoint
    workspaces: Workspaces
    prepared: set[FoundClient] = field(default_factory=set)

    @property
    def root(self) -> Path:
        """The directory of this run of s3bench."""
        return self.workspaces.root

    def reload_programs(self, clients: Iterable[FoundClient]) -> None:
        """Read the programs of `clients` from the disk anew."""
        for client in clients:
            reread(program_files(client))

    @contextmanager
    def workspace(self, environment: Environment) -> Iterator[RunnerFactory]:
        """Make a workspace with the fixtures of `environment`."""
        with self.workspaces.open(environment) as workspace:
            yield lambda definition, client: LocalRunner(
                bench=self, definition=definition, client=client, workspace=workspace
            )


@dataclass(slots=True, kw_only=True)
class LocalRunner:
    """A `ClientRunner` of real processes; remembers when the last one ended."""

    bench: LocalBench
    definition: Definition
    client: FoundClient
    workspace: Workspace
    transfer: Transfer | None = field(init=False)
    responses: tuple[Response, ...] = field(init=False)
    download_check: DownloadCheck = field(init=False)
    last_ended_ns: int | None = None

    def __post_init__(self) -> None:
        self.definition = self.bench.endpoint.adapted(self.definition)
        if self.bench.endpoint.script is not None:
            check_in_process(self.client.kind)
        if self.client not in self.bench.prepared:
            prepare_confinement(self.client)
            self.bench.prepared.add(self.client)
        self.transfer = parse_transfer(self.definition.command)
        self.download_check = DownloadCheck(
            self.transfer,
            self.definition.environment,
            self.definition.responses or (),
            work=self.workspace.work,
            served_from=self.workspace.pristine,
        )
        given = self.definition.responses
        self.responses = expand_listings(DEFAULT_RESPONSES if given is None else given, self.definition.environment)

    def run_once(
        self, iteration: int, settings: Settings, debug_name: str, conditions: Conditions = PLAIN
    ) -> Measurement | Failure:
        """Run it once in its restored workspace: what that showed, or why it gave no measurement."""
        workspace = self.workspace
        workspace.restore()
        probe_file = self._probe_file(settings)
        self.bench.endpoint.arm(self.responses, workspace=workspace.pristine, verify=settings.verify)
        launch = self._launch(settings, probe_file, conditions)
        if conditions.prepare is not None:
            conditions.prepare()
        try:
            record = self.bench.spawner.run(launch)
        finally:
            self._mask_output(launch)
        log = self.bench.endpoint.collect(self.download_check.look_ahead)
        turnaround_ns = None if self.last_ended_ns is None else record.started_ns - self.last_ended_ns
        self.last_ended_ns = record.ended_ns
        warning = _keep_output(launch, settings.debug_dir / debug_name) if settings.debug_dir else ""
        failure = self._failure(iteration, record, log, launch)
        if failure is not None:
            return _warned(failure, warning)
        if not self.bench.workspaces.keep:
            self.bench.spawner.remove(workspace.work, workspace.strangers(self.download_check.landed()))
        measured = measure_run(
            record,
            log,
            read_milestones(probe_file, started_ns=record.started_ns) if probe_file else {},
            iteration=iteration,
            turnaround_s=None if turnaround_ns is None else turnaround_ns / 1e9,
            network=self.bench.endpoint.network,
            keeps_timeline=settings.keeps_timeline,
            warnings=() if log is None else self._transfer_warnings(log),
        )
        return _warned(measured, warning)

    def _mask_output(self, launch: Launch) -> None:
        """Take the endpoint's keys out of what the client wrote, before anything else looks at it or keeps it."""
        if self.bench.endpoint.secrets:
            for path in filter(Path.exists, (launch.stdout, launch.stderr)):
                mask_file(path, self.bench.endpoint.secrets)

    def stack_size(self, settings: Settings) -> StackSize:
        """What execve(2) would put on the client's stack without padding."""
        launch, script = self._launch(settings, self._probe_file(settings), PLAIN), script_words(self.client.executable)
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
        call = invocation(self.client, definition, self.transfer, self.bench.endpoint.facts, sandbox)
        workspace.write_config(call.config_text)
        env = {**call.env, **conditions.env}
        if conditions.stack is not None:
            env = pad(
                call.argv,
                env,
                size_bytes=conditions.stack.size_bytes,
                entries=conditions.stack.entries,
                script=script_words(self.client.executable),
            )
        script = self.bench.endpoint.script
        also_writable = (CRT_LOCKS, *conditions.writable, *((log_of(script),) if script else ()))
        return Launch(
            argv=(*conditions.prefix, *call.argv),
            env=env,
            cwd=workspace.work,
            stdout=workspace.output / "stdout",
            stderr=workspace.output / "stderr",
            timeout_s=settings.timeout_of(definition),
            interval_s=settings.interval_s,
            measures_speed=settings.measures_speed,
            writable=(*workspace.writable, *also_writable),
        )

    def _failure(self, iteration: int, record: ProcessRecord, log: WireLog | None, launch: Launch) -> Failure | None:
        """Why this iteration gives no measurement. A client's own failure comes first: it explains the others."""
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
        return (*on_the_wire, *self.download_check.errors(self._served(log)))

    def _served(self, log: WireLog | None) -> dict[str, str]:
        """The files behind the paths that the client has read, or has to read."""
        stored = self.bench.endpoint.served()
        if self.transfer is not None and self.transfer.may_leave_out:
            read = frozenset[str]() if log is None else downloaded_paths(log)
            stored = {path: file for path, file in stored.items() if path in read}
        return stored | ({} if log is None else served_files(log))

    def _transfer_warnings(self, log: WireLog) -> tuple[str, ...]:
        part_bytes = _asked_part_bytes(self.definition.environment.config, known_client(self.client.kind).config_block)
        return transfer_warnings(log, self.transfer, compared=self._served(log), part_bytes=part_bytes)

    def _wire_errors(self, log: WireLog) -> tuple[str, ...]:
        if self.definition.responses is None:
            # The default response answers any request; a command without requests is not an error.
            log = msgspec.structs.replace(log, leftover=())
        client = known_client(self.client.kind)
        wrong_engine = engine_errors(log, self.transfer, expected_engine(self.definition, self.client.kind))
        causes = lock_causes(client.crt_lock) if wrong_engine and client.crt_lock else ()
        return (
            *("; ".join((error, *causes)) for error in wrong_engine),
            *request_errors(log),
            *upload_errors(log, self.transfer, self.definition.environment),
        )


def _asked_part_bytes(config: str, own_block: str) -> int | None:
    """The part size that the block `s3` asks for; `None` if the client's own block may have another."""
    if own_block != "s3" and block_settings(config, own_block):
        return None
    text = block_settings(config, "s3").get(_PART_SIZE)
    return None if text is None else size_of(_PART_SIZE, text)


def _bad_ending(record: ProcessRecord, launch: Launch) -> str | None:
    if record.exit_code is None:
        return f"timed out after {launch.timeout_s:g} s"
    if record.exit_code < 0:
        return f"ended by {named_signal(-record.exit_code)}"
    return f"exited {record.exit_code}" if record.exit_code else None


def _keep_output(launch: Launch, directory: Path) -> str:
    """Copy what the client wrote to `directory`; returns a warning where that fails."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for file in filter(Path.exists, (launch.stdout, launch.stderr)):
            shutil.copyfile(file, directory / file.name)
    except OSError as error:
        return f"its output could not be kept: {directory}: {error.strerror or error}"
    return ""


def _warned(outcome: Outcome, warning: str) -> Outcome:
    """The outcome with a warning, if there is one; that of a failure stands below its reason."""
    if not warning:
        return outcome
    if isinstance(outcome, Failure):
        return msgspec.structs.replace(outcome, why=f"{outcome.why}\n{warning}".strip())
    return msgspec.structs.replace(outcome, warnings=(*outcome.warnings, warning))


def _tail(path: Path) -> str:
    """The end of what the client wrote; at a tiny timeout it is killed before there is a file."""
    if not path.exists():
        return ""
    with path.open("rb") as file:
        return redacted_tail(file, STDERR_TAIL_CHARACTERS)
