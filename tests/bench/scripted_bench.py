"""A bench that starts no process: a script says what each run shows, and its clock advances by that.

`test_contract` holds it to the real one.
"""

import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace

from s3bench.bench.runner import PLAIN, Conditions, RunnerFactory, Settings, StackSize
from s3bench.clients.client import FoundClient
from s3bench.gate.live_cell import DELAY
from s3bench.results.measurement import Failure, Measurement, measure
from s3bench.run.fixture import plan_tree
from s3bench.run.workspace import Workspace
from s3bench.spec.definition import Definition, Environment

STACK = StackSize(size_bytes=4096, entries=30)
MODULES = ("os", "sys")
_Status = TypeVar("_Status")
_TEMPLATE = measure(iteration=0, total_s=1.0)

TURN_S = 50e-6
"""Seconds that a turn of the planted work takes."""


def measured(total_s: float = 1.0, **figures: Any) -> Measurement:
    """What a run shows that takes so long; figures that are not named were not measured."""
    return replace(_TEMPLATE, total_time=total_s, **figures)


def failed(what: str = "exited 1", exit_code: int | None = 1, why: str = "") -> Failure:
    """A run that came to nothing."""
    return Failure(iteration=0, what=what, exit_code=exit_code, why=why)


def client(root: Path, version: str = "1", kind: str = "s5cmd") -> FoundClient:
    """A client whose program is a file of its own."""
    program = root / f"{kind}-{version}" / "program"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f"{kind} {version}")
    return FoundClient(kind=kind, version=version, executable=program)


@pytest.fixture
def one_runner(bench: "ScriptedBench") -> Iterator["ScriptedRunner"]:
    """A runner of boto3 on the fixture `bench`, in a workspace that is open; a module gives it a name of its own."""
    definition = Definition(name="one", command=("s3", "ls"))
    with bench.workspace(definition.environment) as runner_of:
        yield runner_of(definition, client(bench.root, kind="boto3-classic"))


def until_stopped(statuses: Iterator[_Status]) -> list[_Status]:
    """What was yielded before Ctrl-C came through."""
    seen: list[_Status] = []
    try:
        for status in statuses:
            seen.append(status)  # noqa: PERF402 (a list made of it would be lost with the exception)
    except KeyboardInterrupt:
        return seen
    raise AssertionError("Ctrl-C did not come through")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run that was asked for; `at_s` is when, on the clock of the bench."""

    definition: Definition
    client: FoundClient
    workspace: Workspace
    iteration: int
    settings: Settings
    debug_name: str
    conditions: Conditions
    at_s: float

    @property
    def hash_seed(self) -> str:
        """The PYTHONHASHSEED of its conditions."""
        return self.conditions.env["PYTHONHASHSEED"]

    @property
    def delay_s(self) -> float:
        """How much later its conditions have it start."""
        prefix = self.conditions.prefix
        return float(prefix[len(DELAY)]) if prefix[: len(DELAY)] == DELAY else 0.0

    @property
    def fault(self) -> dict[str, Any]:
        """The fault injection of its conditions."""
        injected: dict[str, Any] = json.loads(self.conditions.env.get("S3BENCH_FAULT_INJECTION", "{}"))
        return injected


@dataclass(kw_only=True)
class ScriptedBench:
    """A `Bench` whose runs show what `script` says, later or larger by what their conditions inject.

    A run takes its total time on the clock `now_s`, or the timeout where that is shorter, and `between_s` pass before
    it. `modules` are what a client in Python imports. `runs` are all that were asked
    for, `reloaded` the clients whose programs were read anew, with the number of runs before.
    """

    root: Path
    script: Callable[[Run], Measurement | Failure] = lambda _: measured()
    modules: Callable[[Run], tuple[str, ...]] = lambda _: MODULES
    between_s: float = 0.0
    now_s: float = 0.0
    runs: list[Run] = field(default_factory=list)
    reloaded: list[tuple[FoundClient, int]] = field(default_factory=list)
    workspaces: int = 0
    workspaces_open: int = 0

    def now(self) -> float:
        """The clock."""
        return self.now_s

    def reload_programs(self, clients: Iterable[FoundClient]) -> None:
        """Remember whose programs were read, before any run of theirs."""
        self.reloaded += [(each, len(self.runs)) for each in clients]

    @contextmanager
    def workspace(self, environment: Environment) -> Iterator[RunnerFactory]:
        """Make a workspace that has directories, and no fixtures."""
        self.workspaces += 1
        self.workspaces_open += 1
        workspace = Workspace(root=self.root / f"{self.workspaces:03d}", tree=plan_tree(environment))
        workspace.output.mkdir(parents=True)
        try:
            yield lambda definition, found: ScriptedRunner(
                bench=self, definition=definition, client=found, workspace=workspace
            )
        finally:
            shutil.rmtree(workspace.root)
            self.workspaces_open -= 1


@dataclass(kw_only=True)
class ScriptedRunner:
    """A `ClientRunner` of a `ScriptedBench`."""

    bench: ScriptedBench
    definition: Definition
    client: FoundClient
    workspace: Workspace

    def stack_size(self, settings: Settings) -> StackSize:  # noqa: ARG002 (as the real one)
        """The same for all."""
        return STACK

    def run_once(
        self, iteration: int, settings: Settings, debug_name: str, conditions: Conditions = PLAIN
    ) -> Measurement | Failure:
        """Ask the script, and let the time pass."""
        if conditions.prepare is not None:
            conditions.prepare()
        self.bench.now_s += self.bench.between_s
        run = Run(
            definition=self.definition,
            client=self.client,
            workspace=self.workspace,
            iteration=iteration,
            settings=settings,
            debug_name=debug_name,
            conditions=conditions,
            at_s=self.bench.now_s,
        )
        self.bench.runs.append(run)
        timeout_s = settings.timeout_of(self.definition)
        outcome = replace(self.bench.script(run), iteration=iteration)
        if isinstance(outcome, Measurement):
            outcome = _with_fault(replace(outcome, total_time=outcome.total_time + run.delay_s), run.fault)
            self._write_modules(run)
            if outcome.total_time > timeout_s:
                outcome = Failure(iteration=iteration, what=f"timed out after {timeout_s:g} s")
        if isinstance(outcome, Measurement):
            self.bench.now_s += outcome.total_time
        elif outcome.exit_code is None:
            self.bench.now_s += timeout_s
        return outcome

    def _write_modules(self, run: Run) -> None:
        file = run.conditions.env.get("S3BENCH_MODULES_FILE")
        if file is not None and run.client.kind != "s5cmd":
            injected = tuple(f"injected_{number}" for number in range(run.fault.get("imports", 0)))
            Path(file).write_text("\n".join(sorted((*self.bench.modules(run), *injected))))


def _with_fault(outcome: Measurement, fault: dict[str, Any]) -> Measurement:
    kinds = dict(outcome.requests_by_kind)
    if fault.get("requests"):
        kinds["GET"] = kinds.get("GET", 0) + fault["requests"]
    return replace(
        outcome,
        total_time=outcome.total_time + TURN_S * fault.get("turns", 0),
        peak_memory=None if outcome.peak_memory is None else outcome.peak_memory + fault.get("hold_bytes", 0),
        requests_by_kind=kinds,
    )
