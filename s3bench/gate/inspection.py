"""Runs a client under observation, apart from everything that is timed, to list what it imports, opens and executes."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from s3bench.bench.runner import ClientRunner, Conditions, Settings
from s3bench.errors import MachineError
from s3bench.gate.evidence import Inspection
from s3bench.gate.exact_metric import EXACT_BY_NAME, INSTRUCTIONS
from s3bench.gate.policy import Policy
from s3bench.results.measurement import Failure
from s3bench.run.inspection import STEADY_VARIABLES, Unavailable, inspection_variables, read_modules, read_output
from s3bench.run.instructions import PerfCounter, ValgrindCounter, instruction_counter
from s3bench.run.tracing import TIMING_DEPENDENT, Traced, Tracer, find_tracer, parse_strace

_TIMEOUT_FACTOR = 60
"""A run under observation may take this many times the timeout: valgrind takes up to 30 times as long."""

_TRACED = frozenset({"files", "system_calls"})

Counter = ValgrindCounter | PerfCounter


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspector:
    """What is observed. `directory` holds what the observers write, `warnings` say what cannot be observed.

    `tracer` sees system calls and files. With a `counter`, instructions are counted, in a run of their own; with
    `counts_alone`, nothing else is looked at.
    """

    directory: Path
    tracer: Tracer | None = None
    counter: Counter | None = None
    counts_alone: bool = False
    warnings: tuple[str, ...] = ()

    @property
    def counter_name(self) -> str:
        """What counts instructions."""
        return self.counter.name if self.counter else "nothing"

    def inspect(self, runner: ClientRunner, settings: Settings, conditions: Conditions) -> Inspection | Failure:
        """Run it as often as needed; a run that failed is a `Failure`."""
        seen = Inspection() if self.counts_alone else self._observe(runner, settings, conditions)
        if self.counter is None or isinstance(seen, Failure):
            return seen
        counted = self._count(self.counter, runner, settings, conditions)
        return counted if isinstance(counted, Failure) else msgspec.structs.replace(seen, instructions=counted)

    def _observe(self, runner: ClientRunner, settings: Settings, conditions: Conditions) -> Inspection | Failure:
        modules_file = runner.workspace.output / "modules"
        variables = {**conditions.env, **STEADY_VARIABLES, **inspection_variables(modules_file=modules_file)}
        trace = self.directory / "trace"
        trace.unlink(missing_ok=True)
        prefix = self.tracer.prefix(trace) if self.tracer else ()
        failure = _run(runner, settings, self._observed(conditions, variables, prefix))
        if failure:
            return failure
        traced = parse_strace(read_output(trace, of="strace"), roots=_roots(runner)) if self.tracer else None
        return Inspection(
            modules=read_modules(modules_file),
            files=traced.files_opened if traced else None,
            system_calls=_steady(traced) if traced else None,
        )

    def _count(
        self, counter: Counter, runner: ClientRunner, settings: Settings, conditions: Conditions
    ) -> int | Failure:
        place = self.directory / "counts"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        observed = self._observed(conditions, {**conditions.env, **counter.env}, counter.prefix(place))
        return _run(runner, settings, observed) or counter.read(place)

    def _observed(self, conditions: Conditions, variables: Mapping[str, str], prefix: tuple[str, ...]) -> Conditions:
        """The conditions with an observer in front, which writes to our directory."""
        return replace(conditions, env=variables, prefix=prefix, writable=(self.directory,))


def find_inspector(directory: Path, policy: Policy) -> Inspector | None:
    """Find out what can be observed here of what `policy` asks for; `None` when that needs no observing.

    `directory` is made. Raises `MachineError` where instructions are asked for and cannot be counted.
    """
    asked = {name for name in policy.exact if EXACT_BY_NAME[name].needs_inspection}
    if not asked:
        return None
    directory.mkdir(mode=0o700)
    tracer = find_tracer() if asked & _TRACED else None
    counter = instruction_counter() if INSTRUCTIONS in asked else None
    if isinstance(counter, Unavailable):
        raise MachineError("instructions cannot be counted here", counter.reason, counter.fix)
    missing = (f"system calls and opened files are not compared: {tracer}",) if isinstance(tracer, Unavailable) else ()
    found = None if isinstance(tracer, Unavailable) else tracer
    return Inspector(
        directory=directory,
        tracer=found,
        counter=counter,
        counts_alone=asked == {INSTRUCTIONS},
        warnings=(*missing, *(found.warnings if found else ()), *(counter.warnings if counter else ())),
    )


def _run(runner: ClientRunner, settings: Settings, conditions: Conditions) -> Failure | None:
    patient = replace(settings, interval_s=None, measures_speed=False, timeout_factor=_TIMEOUT_FACTOR)
    outcome = runner.run_once(0, patient, "inspection", conditions)
    return outcome if isinstance(outcome, Failure) else None


def _steady(traced: Traced) -> dict[str, int]:
    return {name: count for name, count in traced.system_calls.items() if name not in TIMING_DEPENDENT}


def _roots(runner: ClientRunner) -> dict[str, str]:
    """Directories that have other names on the other side, or in another gate."""
    workspace, client = runner.workspace, runner.client
    program = client.site or client.executable.resolve().parent
    return {
        str(workspace.work): "$WORK",
        str(workspace.home): "$HOME",
        str(workspace.tmp): "$TMPDIR",
        str(workspace.output): "$OUTPUT",
        str(program): "$PROGRAM",
    }
