"""Runs under a profiler: their order, what is kept of them, and how they end."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from s3bench.bench.runner import Settings
from s3bench.errors import MachineError
from s3bench.profiling.live import SampledSide, find_profiler, sample_stacks
from s3bench.profiling.observed_change import ProfiledSide
from s3bench.profiling.stack_profile import Sampled
from s3bench.results.measurement import Failure, Measurement
from s3bench.run.inspection import Unavailable
from s3bench.run.py_spy import PySpy
from s3bench.spec.definition import Definition
from tests.bench.scripted_bench import Run, ScriptedBench, client, failed, measured

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
    bench: ScriptedBench, *versions: str, what: Sampled = Sampled.WALL_TIME, plain_runs: int = 0
) -> Iterator[tuple[SampledSide, ...] | Failure]:
    with bench.workspace(LIST.environment) as runner_of:
        sides = [ProfiledSide(runner=runner_of(LIST, client(bench.root, version))) for version in versions]
        yield from sample_stacks(sides, Settings(), SPY, what, bench.root, plain_runs=plain_runs)


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
        log = next(Path(word) for word in run.conditions.prefix if word.endswith("py-spy.log"))
        log.write_text("Error: Unsupported version of Python: 3.99\n")
        return measured()

    bench.script = silent
    with pytest.raises(MachineError) as error:
        next(rounds(bench, "a"))
    assert "does not know the Python of this program" in str(error.value)


def test_a_program_that_is_not_python_is_refused_with_a_remedy(tmp_path: Path) -> None:
    found = find_profiler(client(tmp_path, kind="s5cmd"))
    assert isinstance(found, Unavailable)
    assert "s5cmd is not written in Python" in found.reason
    assert "perf record" in found.fix
