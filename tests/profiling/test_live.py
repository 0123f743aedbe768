"""Runs under a profiler: their order, what is kept of them, and how they end."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from s3bench.bench.runner import Settings
from s3bench.errors import MachineError
from s3bench.profiling import live
from s3bench.profiling.live import Profiler, SampledSide, find_profiler, find_python_profiler, sample_stacks
from s3bench.profiling.observed_change import ProfiledSide
from s3bench.profiling.stack_profile import Sampled
from s3bench.results.measurement import Failure, Measurement
from s3bench.run.inspection import Unavailable
from s3bench.run.perf import Perf
from s3bench.run.py_spy import PySpy
from s3bench.spec.definition import Definition
from tests.bench.scripted_bench import Run, ScriptedBench, client, failed, measured
from tests.run.fake_perf import fake_perf

LIST = Definition(name="list", command=("s3", "ls"))
SPY = PySpy(executable="py-spy", rate_hz=500)
STACKS = "thread (7): MainThread;f (a.py:1) 3\nthread (8): Thread-1;g (a.py:2) 1\n"


def output_of(run: Run) -> Path | None:
    """Where the profiler of a run writes; `None` of one without."""
    prefix = run.conditions.prefix
    return Path(prefix[prefix.index("-o") + 1]) if "-o" in prefix else None


def sampled(run: Run) -> Measurement | Failure:
    """A run that takes longer under the profiler, which writes its stacks."""
    output = output_of(run)
    if output is None:
        return measured(1.0)
    output.write_text(STACKS)
    return measured(1.5, cpu_time=0.9)


@pytest.fixture
def bench(tmp_path: Path) -> ScriptedBench:
    return ScriptedBench(root=tmp_path, script=sampled)


def rounds(
    bench: ScriptedBench,
    *versions: str,
    what: Sampled = Sampled.WALL_TIME,
    plain_runs: int = 0,
    profiler: Profiler = SPY,
) -> Iterator[tuple[SampledSide, ...] | Failure]:
    with bench.workspace(LIST.environment) as runner_of:
        sides = [ProfiledSide(runner=runner_of(LIST, client(bench.root, version))) for version in versions]
        yield from sample_stacks(sides, Settings(), profiler, what, bench.root, plain_runs=plain_runs)


def test_modules_of_a_package_that_is_in_no_known_directory_have_its_name(bench: ScriptedBench, tmp_path: Path) -> None:
    package = tmp_path / "plug-ins" / "extension"
    (package / "rules").mkdir(parents=True)
    for file in (package / "__init__.py", package / "rules" / "__init__.py", package / "rules" / "a.py"):
        file.touch()

    def plugged(run: Run) -> Measurement | Failure:
        output = output_of(run)
        assert output is not None
        output.write_text(f"thread (7): MainThread;f ({package}/__init__.py:1);g ({package}/rules/a.py:2) 3\n")
        return measured(1.5)

    bench.script = plugged
    (side,) = next(rounds(bench, "1"))  # type: ignore[misc]
    assert {frame.module for frame in side.profile.frames} == {"extension", "extension.rules.a"}


def test_both_sides_run_in_turn_with_the_same_hash_seed(bench: ScriptedBench) -> None:
    *_, last = islice(rounds(bench, "a", "b"), 3)
    assert [run.client.version for run in bench.runs] == ["a", "b", "b", "a", "a", "b"]
    seeds = [run.hash_seed for run in bench.runs]
    assert seeds[0] == seeds[1] != seeds[2] == seeds[3]
    assert not isinstance(last, Failure)
    assert [len(side.profile.runs) for side in last] == [3, 3]


def test_nothing_else_observes_these_runs(bench: ScriptedBench) -> None:
    next(rounds(bench, "a"))
    (run,) = bench.runs
    assert (run.settings.interval_s, run.settings.measures_speed) == (None, False)
    assert bench.root in run.conditions.writable


def test_a_profile_has_times_and_samples_of_every_run(bench: ScriptedBench) -> None:
    (side,) = next(rounds(bench, "a"))  # type: ignore[misc]
    assert side.profile.interval_s == 0.002
    (run,) = side.profile.runs
    assert (run.total_time, run.cpu_time, sum(run.samples.values())) == (1.5, 0.9, 3)


def test_cpu_time_is_that_of_all_threads(bench: ScriptedBench) -> None:
    (side,) = next(rounds(bench, "a", what=Sampled.CPU_TIME))  # type: ignore[misc]
    assert sum(side.profile.runs[0].samples.values()) == 4
    assert "-i" not in bench.runs[0].conditions.prefix


def test_runs_without_the_profiler_show_how_much_it_slows_down(bench: ScriptedBench) -> None:
    *_, last = islice(rounds(bench, "a", plain_runs=2), 3)
    (side,) = last  # type: ignore[misc]
    assert side.plain_times == (1.0, 1.0)
    assert side.slowdown == 1.5
    assert [output_of(run) is None for run in bench.runs] == [True, False, True, False, False]


def test_a_run_that_fails_is_the_last(bench: ScriptedBench) -> None:
    bench.script = lambda run: failed() if len(bench.runs) > 2 else sampled(run)
    found = list(rounds(bench, "a"))
    assert [isinstance(each, Failure) for each in found] == [False, False, True]


def test_a_profiler_that_writes_nothing_is_explained_by_what_it_said(bench: ScriptedBench) -> None:
    def silent(run: Run) -> Measurement:
        logging("Error: Unsupported version of Python: 3.99\n", run, log="py-spy.log")
        return measured()

    bench.script = silent
    with pytest.raises(MachineError) as error:
        next(rounds(bench, "a"))
    assert "does not know the Python of this program" in str(error.value)


def logging(said: str, run: Run, *, log: str) -> None:
    next(Path(word) for word in run.conditions.prefix if word.endswith(log)).write_text(said)


def test_a_client_that_fails_says_why_in_the_log(bench: ScriptedBench) -> None:
    def failing(run: Run) -> Failure:
        logging("no such bucket", run, log="py-spy.log")
        return failed("exited 1")

    bench.script = failing
    (found,) = rounds(bench, "a")
    assert isinstance(found, Failure)
    assert found.why == "no such bucket"


def perf_rounds(bench: ScriptedBench) -> Iterator[tuple[SampledSide, ...] | Failure]:
    """Runs under a perf that shows what was recorded as it stands."""
    perf = Perf(executable=fake_perf(bench.root), rate_hz=1000)
    return rounds(bench, "a", what=Sampled.CPU_TIME, plain_runs=1, profiler=perf)


def test_what_perf_recorded_is_read(bench: ScriptedBench) -> None:
    def recorded(run: Run) -> Measurement:
        if output := output_of(run):
            output.write_text("s5cmd 7/7 \n\tb0 f (/opt/s5cmd)\n\tc0 main (/opt/s5cmd)\n\n" * 3)
        return measured(1.0, cpu_time=0.9)

    bench.script = recorded
    (side,) = next(perf_rounds(bench))  # type: ignore[misc]
    assert [frame.name for frame in side.profile.frames] == ["s5cmd:main", "s5cmd:f"]
    assert (side.profile.sampled, side.profile.interval_s) == (Sampled.CPU_TIME, 0.001)
    assert sum(side.profile.runs[0].samples.values()) == 3
    assert side.plain_cpu_times == (0.9,)


def test_a_perf_that_samples_nothing_is_explained(bench: ScriptedBench) -> None:
    def empty(run: Run) -> Measurement:
        if output := output_of(run):
            output.write_text("")
        return measured()

    bench.script = empty
    with pytest.raises(MachineError) as error:
        next(perf_rounds(bench))
    assert "perf sampled nothing" in str(error.value)


def test_a_perf_that_writes_nothing_is_explained_by_what_it_said(bench: ScriptedBench) -> None:
    def silent(run: Run) -> Measurement:
        if output_of(run):
            logging("Error:\nNo permission to enable cpu-clock event.\n", run, log="perf.log")
        return measured()

    bench.script = silent
    with pytest.raises(MachineError) as error:
        next(perf_rounds(bench))
    assert "the kernel does not permit it" in str(error.value)


def test_a_program_that_is_not_python_is_sampled_by_perf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    perf = Perf(executable="perf")
    monkeypatch.setattr(live, "find_perf", lambda: perf)
    monkeypatch.setattr(live, "find_py_spy", lambda: SPY)
    assert find_profiler(client(tmp_path, kind="s5cmd")) == perf
    assert find_profiler(client(tmp_path, kind="cli-classic")) == SPY


def test_without_perf_a_program_that_is_not_python_is_refused_with_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "find_perf", lambda: Unavailable(reason="perf is not installed", fix="install it"))
    found = find_profiler(client(tmp_path, kind="s5cmd"))
    assert isinstance(found, Unavailable)
    assert (found.reason, found.fix) == ("s5cmd is not written in Python, and perf is not installed", "install it")


def test_changes_of_the_total_time_are_explained_for_python_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "find_perf", lambda: Perf(executable="perf"))
    monkeypatch.setattr(live, "find_py_spy", lambda: SPY)
    found = find_python_profiler(client(tmp_path, kind="s5cmd"))
    assert isinstance(found, Unavailable)
    assert "py-spy sees Python alone" in found.reason
    assert "s3bench profile" in found.fix
    assert find_python_profiler(client(tmp_path, kind="cli-classic")) == SPY
