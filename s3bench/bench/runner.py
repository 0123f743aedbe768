"""The seam between what decides which runs are made and what makes them: one definition on one client, run once.

`s3bench.bench.local` implements it with real processes. Tests script it, on a clock of their own.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from s3bench.clients.client import FoundClient
from s3bench.results.measurement import Failure, Measurement
from s3bench.run.workspace import Workspace
from s3bench.spec.definition import Definition, Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How to measure. An `interval_s` of `None` takes no samples; `debug_dir` keeps stdout and stderr of every run.

    `measures_speed` probes the speed of the core on which the client runs. `keeps_timeline` keeps samples and requests
    of each measurement for charts. A run may take the timeout of its definition (`timeout_s` if that has none);
    one under observation, which is slower, `timeout_factor` times that, and `limit_s` at most.
    """

    interval_s: float | None = 0.001
    verify: bool = True
    probes: bool = True
    measures_speed: bool = True
    keeps_timeline: bool = False
    timeout_s: float = 600.0
    timeout_factor: float = 1.0
    limit_s: float = math.inf
    debug_dir: Path | None = None

    def unobserved(self) -> "Settings":
        """The same without sampling and probes: what `--audit` compares with."""
        return replace(self, interval_s=None, probes=False, measures_speed=False, keeps_timeline=False)

    def timeout_of(self, definition: Definition) -> float:
        """The seconds after which a run of `definition` is ended."""
        timeout_s = definition.timeout_s or self.timeout_s
        return timeout_s if self.timeout_factor == 1 else min(timeout_s * self.timeout_factor, self.limit_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class StackSize:
    """What execve(2) puts on a stack: the bytes of all arguments and variables, and their number."""

    size_bytes: int
    entries: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What one run has beside its client's own command line and environment.

    `env` is added to its variables. `prefix` is the program that executes it, in front of its command line, and may
    write to `writable` too. With `stack`, variables pad what execve(2) puts on its stack to that size. `prepare` is
    called right before it starts, when its workspace and endpoint are ready; what it raises ends the run.
    """

    env: Mapping[str, str] = field(default_factory=dict)
    prefix: tuple[str, ...] = ()
    writable: tuple[Path, ...] = ()
    stack: StackSize | None = None
    prepare: Callable[[], None] | None = None


PLAIN = Conditions()


class ClientRunner(Protocol):
    """One client running one definition again and again, one process after the other."""

    @property
    def definition(self) -> Definition:
        """The definition as it runs on this bench's endpoint."""
        ...

    @property
    def client(self) -> FoundClient:
        """The client."""
        ...

    @property
    def workspace(self) -> Workspace:
        """Where it runs; restored before every run."""
        ...

    def run_once(
        self, iteration: int, settings: Settings, debug_name: str, conditions: Conditions = PLAIN
    ) -> Measurement | Failure:
        """Run it once: what that showed, or why it gave no measurement.

        Raises `S3BenchError` where it cannot be run at all.
        """
        ...

    def stack_size(self, settings: Settings) -> StackSize:
        """What execve(2) would put on the client's stack without padding."""
        ...


RunnerFactory = Callable[[Definition, FoundClient], ClientRunner]
"""Makes runners that share one workspace. Raises `BadInput` where the endpoint cannot serve the definition."""


class Bench(Protocol):
    """Everything that runs need, held open."""

    @property
    def root(self) -> Path:
        """A private directory, removed at the end, for what else a command needs while it runs."""
        ...

    def reload_programs(self, clients: Iterable[FoundClient]) -> None:
        """Read the programs of `clients` from the disk anew, so that the page cache holds them alike."""
        ...

    def workspace(self, environment: Environment) -> AbstractContextManager[RunnerFactory]:
        """Make a workspace with the fixtures of `environment`; removed at the end.

        Raises `MachineError` when there is no room for them.
        """
        ...
