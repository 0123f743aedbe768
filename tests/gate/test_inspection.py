"""Runs under observation on a scripted bench: what is put around a run, what is read of it, and what cannot be."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from s3bench.bench.runner import ClientRunner, Conditions, Settings
from s3bench.errors import MachineError
from s3bench.gate import inspection
from s3bench.gate.evidence import Inspection
from s3bench.gate.inspection import Counter, Inspector, find_inspector
from s3bench.gate.policy import Policy
from s3bench.results.measurement import Failure, Measurement
from s3bench.run.inspection import Unavailable
from s3bench.run.tracing import Tracer
from s3bench.spec.definition import Definition
from tests.bench.scripted_bench import Run, ScriptedBench, client, failed, measured, one_runner

SETTINGS = Settings(interval_s=0.01, timeout_s=7)
TRACER = Tracer(executable="strace", addresses=("setarch", "-R"), warnings=("addresses vary",))
TRACE = """\
1 openat(AT_FDCWD<{work}>, "fixture", O_RDONLY) = 3<{work}/fixture>
1 openat(AT_FDCWD<{work}>, "library", O_RDONLY) = 3<{program}/library>
1 futex(0x7f, 0x80) = 0
"""


@dataclass(frozen=True)
class FakeCounter:
    """Counts what the script writes down."""

    warnings: tuple[str, ...] = ("counts vary",)

    @property
    def env(self) -> Mapping[str, str]:
        return {"COUNTED": "1"}

    def prefix(self, output_directory: Path) -> tuple[str, ...]:
        return "counter", str(output_directory / "count")

    def read(self, output_directory: Path) -> int:
        return int((output_directory / "count").read_text())


COUNTER = cast("Counter", FakeCounter())


def script(run: Run) -> Measurement:
    """A client whose observers see it."""
    prefix = run.conditions.prefix
    if "strace" in prefix:
        trace = TRACE.format(work=run.workspace.work, program=run.client.executable.parent)
        Path(prefix[-1]).write_text(trace)
    if "counter" in prefix:
        assert not list(Path(prefix[-1]).parent.iterdir())
        Path(prefix[-1]).write_text("12345")
    return measured()


@pytest.fixture
def bench(tmp_path: Path) -> ScriptedBench:
    (tmp_path / "observed").mkdir()
    return ScriptedBench(root=tmp_path, script=script)


runner = one_runner


def inspector(bench: ScriptedBench, **observers: object) -> Inspector:
    return Inspector(directory=bench.root / "observed", **observers)  # type: ignore[arg-type]


def test_one_run_shows_modules_files_and_system_calls_under_stable_names(
    bench: ScriptedBench, runner: ClientRunner
) -> None:
    seen = inspector(bench, tracer=TRACER).inspect(runner, SETTINGS, Conditions())
    assert seen == Inspection(
        modules=("os", "sys"), files=("$PROGRAM/library", "$WORK/fixture"), system_calls={"openat": 2}
    )
    assert len(bench.runs) == 1


def test_instructions_are_counted_in_a_run_of_their_own(bench: ScriptedBench, runner: ClientRunner) -> None:
    observer = inspector(bench, tracer=TRACER, counter=COUNTER)
    for _ in range(2):
        seen = observer.inspect(runner, SETTINGS, Conditions(env={"OWN": "1"}))
        assert isinstance(seen, Inspection)
        assert (seen.instructions, seen.modules) == (12345, ("os", "sys"))
    traced, counted = bench.runs[-2:]
    assert (traced.conditions.prefix[:3], counted.conditions.prefix[0]) == (("setarch", "-R", "strace"), "counter")
    assert "COUNTED" not in traced.conditions.env
    assert counted.conditions.env == {"OWN": "1", "COUNTED": "1"}


def test_where_instructions_alone_are_asked_for_nothing_else_runs(bench: ScriptedBench, runner: ClientRunner) -> None:
    seen = inspector(bench, counter=COUNTER, counts_alone=True).inspect(runner, SETTINGS, Conditions())
    assert seen == Inspection(instructions=12345)
    assert len(bench.runs) == 1


def test_without_observers_the_modules_are_what_is_left(bench: ScriptedBench, runner: ClientRunner) -> None:
    seen = inspector(bench).inspect(runner, SETTINGS, Conditions())
    assert seen == Inspection(modules=("os", "sys"))


def test_a_run_under_observation_is_not_sampled_has_more_time_and_steady_hashes(
    bench: ScriptedBench, runner: ClientRunner
) -> None:
    inspector(bench, tracer=TRACER).inspect(runner, SETTINGS, Conditions(env={"PYTHONHASHSEED": "7", "OWN": "1"}))
    (run,) = bench.runs
    assert run.settings.interval_s is None
    assert run.settings.timeout_of(run.definition) >= 30 * SETTINGS.timeout_s
    assert (run.conditions.env["PYTHONHASHSEED"], run.conditions.env["OWN"]) == ("0", "1")
    assert run.conditions.writable == (bench.root / "observed",)


def test_the_timeout_of_a_definition_is_longer_under_observation_too(bench: ScriptedBench) -> None:
    bench.script = lambda run: measured(script(run).total_time + 60 * bool(run.conditions.prefix))
    definition = Definition(name="one", command=("s3", "ls"), timeout_s=5)
    with bench.workspace(definition.environment) as runner_of:
        runner = runner_of(definition, client(bench.root))
        seen = inspector(bench, tracer=TRACER, counter=COUNTER).inspect(runner, SETTINGS, Conditions())
    assert isinstance(seen, Inspection), seen


@pytest.mark.parametrize("failing", [0, 1])
def test_a_run_that_fails_is_its_failure(bench: ScriptedBench, runner: ClientRunner, failing: int) -> None:
    bench.script = lambda run: failed("exited 7") if len(bench.runs) == failing + 1 else script(run)
    seen = inspector(bench, tracer=TRACER, counter=COUNTER).inspect(runner, SETTINGS, Conditions())
    assert isinstance(seen, Failure)
    assert (seen.what, len(bench.runs)) == ("exited 7", failing + 1)


def test_a_trace_of_the_run_before_is_not_read_again(bench: ScriptedBench, runner: ClientRunner) -> None:
    observer = inspector(bench, tracer=TRACER)
    observer.inspect(runner, SETTINGS, Conditions())
    bench.script = lambda _: measured()
    with pytest.raises(MachineError, match="strace left no output"):
        observer.inspect(runner, SETTINGS, Conditions())


Found = Callable[..., Inspector | None]


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Found:
    """What is found for these exact metrics, on a machine that has these observers."""

    def find(
        *exact: str,
        tracer: Tracer | Unavailable = TRACER,
        counter: Counter | Unavailable = COUNTER,
    ) -> Inspector | None:
        monkeypatch.setattr(inspection, "find_tracer", lambda: tracer)
        monkeypatch.setattr(inspection, "instruction_counter", lambda: counter)
        return find_inspector(tmp_path / "made", Policy(exact=exact))

    return find


def test_what_needs_no_observing_has_no_inspector(found: Found, tmp_path: Path) -> None:
    assert found() is None
    assert found("requests") is None
    assert not (tmp_path / "made").exists()


def test_only_what_decides_is_looked_for(found: Found, tmp_path: Path) -> None:
    assert found("modules") == Inspector(directory=tmp_path / "made")
    assert (tmp_path / "made").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("metric", ["files", "system_calls"])
def test_files_and_system_calls_are_traced(found: Found, tmp_path: Path, metric: str) -> None:
    assert found("modules", metric) == Inspector(
        directory=tmp_path / "made", tracer=TRACER, warnings=("addresses vary",)
    )


def test_a_machine_that_cannot_trace_compares_the_rest_with_a_warning(found: Found) -> None:
    seen = found("modules", "files", tracer=Unavailable(reason="no strace", fix="install strace"))
    assert seen is not None
    assert seen.tracer is None
    assert seen.warnings == ("system calls and opened files are not compared: no strace; install strace",)


def test_instructions_are_counted_alone_or_beside(found: Found, tmp_path: Path) -> None:
    alone = found("instructions", "requests")
    assert alone == Inspector(
        directory=tmp_path / "made", counter=COUNTER, counts_alone=True, warnings=("counts vary",)
    )
    (tmp_path / "made").rmdir()
    beside = found("instructions", "modules")
    assert beside is not None
    assert not beside.counts_alone


def test_instructions_that_cannot_be_counted_are_refused(found: Found) -> None:
    with pytest.raises(MachineError, match="instructions cannot be counted here") as caught:
        found("instructions", counter=Unavailable(reason="no valgrind", fix="install valgrind"))
    assert (caught.value.why, caught.value.fix) == ("no valgrind", "install valgrind")
