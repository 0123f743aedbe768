"""The search for causes: what it runs for which metric, and what it says where something cannot be looked at."""

from collections.abc import Callable
from pathlib import Path

import pytest

from s3bench.bench.runner import Settings
from s3bench.profiling.explaining import COMPARING_HZ, Explainer
from s3bench.profiling.explanation import CauseKind, Explanation
from s3bench.profiling.observed_change import ObservedChange, ProfiledSide
from s3bench.results.measurement import Failure, Measurement
from s3bench.results.metrics import Unit
from s3bench.run.inspection import Unavailable
from s3bench.run.py_spy import PySpy
from s3bench.spec.definition import Definition
from tests.bench.scripted_bench import Run, ScriptedBench, client, failed, measured
from tests.profiling.test_live import output_of

LIST = Definition(name="list", command=("s3", "ls"))
SPY = PySpy(executable="py-spy")
SLOWER = 30


def answer(run: Run) -> Measurement | Failure:
    """The candidate takes 40 ms more, in one function, and the profiler half as long again; no probe counts calls."""
    is_candidate = run.client.version == "candidate"
    output = output_of(run)
    if output is None:
        return measured(1.04 if is_candidate else 1.0)
    more = SLOWER if is_candidate else 0
    varying = len(run.hash_seed) + int(run.hash_seed) % 3
    output.write_text(
        f"thread (7): MainThread;main (a.py:1);f (a.py:5) {10 + varying + more}\n"
        f"thread (7): MainThread;main (a.py:1) {740 - varying}\n"
    )
    return measured(1.56 if is_candidate else 1.5)


@pytest.fixture
def bench(tmp_path: Path) -> ScriptedBench:
    return ScriptedBench(root=tmp_path, script=answer)


def explained(
    bench: ScriptedBench,
    *,
    change: float | None = 0.04,
    unit: Unit = Unit.SECONDS,
    metric: str = "total_time",
    spy: PySpy | Unavailable = SPY,
    until_s: float = 1000.0,
) -> Explanation:
    with bench.workspace(LIST.environment) as runner_of:
        baseline, candidate = (
            ProfiledSide(runner=runner_of(LIST, client(bench.root, version))) for version in ("baseline", "candidate")
        )
        explainer = Explainer(
            directory=bench.root / "explaining", now=bench.now, find=lambda _: spy, pairs_max=8, fix="take longer"
        )
        return explainer.explain(
            ObservedChange(
                benchmark="list",
                metric=metric,
                unit=unit,
                change=change,
                baseline=baseline,
                candidate=candidate,
                settings=Settings(),
                until_s=until_s,
            )
        )


def test_the_function_that_carries_a_change_of_time_is_told_with_its_share(bench: ScriptedBench) -> None:
    found = explained(bench)
    (cause,) = found.causes
    assert (cause.kind, cause.place, cause.caller) == (CauseKind.CALL, "a:f", "a:main")
    assert cause.change == pytest.approx(SLOWER / COMPARING_HZ / 1.5, rel=0.02), "without the profiler"
    assert cause.share == pytest.approx(1.0, rel=0.02)
    assert found.unexplained == pytest.approx(0.0, abs=0.001)
    assert found.runs == 8
    assert found.slowdown == pytest.approx(1.5)
    assert found.candidate is not None
    assert found.without_profiles().candidate is None


def test_what_could_not_be_counted_is_a_note(bench: ScriptedBench) -> None:
    assert any(note.startswith("calls were not counted") for note in explained(bench).notes)


def test_without_a_profiler_that_is_a_note_and_nothing_is_told(bench: ScriptedBench) -> None:
    found = explained(bench, spy=Unavailable(reason="py-spy is not installed", fix="install it"))
    assert found.causes == ()
    assert not found.is_compared
    assert "stacks were not sampled: py-spy is not installed; install it" in found.notes
    assert not any(output_of(run) for run in bench.runs)


def test_a_client_that_fails_under_the_profiler_is_a_note(bench: ScriptedBench) -> None:
    bench.script = lambda run: failed("exited 9", why="no such bucket") if output_of(run) else answer(run)
    found = explained(bench)
    assert "stacks were not sampled: run 1 failed: s5cmd@baseline: exited 9; no such bucket" in found.notes
    assert found.change == 0.04


def test_a_failure_after_runs_that_went_well_is_a_note_and_those_are_kept(bench: ScriptedBench) -> None:
    def fails_in(number: str) -> Callable[[Run], Measurement | Failure]:
        def fails(run: Run) -> bool:
            return run.hash_seed == number and run.client.version == "candidate"

        return lambda run: failed("exited 9", why="two\nlines") if fails(run) else answer(run)

    bench.script = fails_in("7")
    found = explained(bench)
    assert (found.runs, found.is_compared) == (6, True)
    assert [cause.place for cause in found.causes] == ["a:f"]
    assert "run 7 failed: s5cmd@candidate: exited 9; two lines" in found.notes
    bench.script = fails_in("3")
    found = explained(bench)
    assert (found.runs, found.is_compared) == (2, False)
    assert found.notes[-2:] == (
        "run 3 failed: s5cmd@candidate: exited 9; two lines",
        "times were not compared: 2 runs of each side are too few to compare (5 needed)",
    )


def test_a_change_that_is_not_known_is_that_of_runs_without_the_profiler(bench: ScriptedBench) -> None:
    found = explained(bench, change=None)
    assert found.change == pytest.approx(0.04)
    assert found.interval is not None
    assert found.interval.low == pytest.approx(0.04)
    assert found.is_change_detected
    assert [cause.share for cause in found.causes] == [pytest.approx(1.0, rel=0.02)]


def test_of_a_change_that_may_be_noise_nothing_is_a_share(bench: ScriptedBench) -> None:
    def noisy(run: Run) -> Measurement | Failure:
        if output_of(run):
            return answer(run)
        return measured(1.04 if run.client.version == "candidate" and int(run.hash_seed) % 2 else 1.0)

    bench.script = noisy
    found = explained(bench, change=None)
    assert not found.is_change_detected
    (cause,) = found.causes
    assert (cause.place, cause.share, found.unexplained) == ("a:f", None, None)


def test_a_change_that_was_tested_before_has_no_interval_of_its_own(bench: ScriptedBench) -> None:
    found = explained(bench)
    assert found.interval is None
    assert found.is_change_detected
    assert found.is_compared


def test_calls_that_are_counted_differently_are_a_note(bench: ScriptedBench) -> None:
    def counting(run: Run) -> Measurement | Failure:
        if file := run.conditions.env.get("S3BENCH_CALL_COUNTS_FILE"):
            mechanism = "sys.monitoring" if run.client.version == "candidate" else "sys.setprofile"
            Path(file).write_text(f"s3bench-call-counts 1\nobserved\t{mechanism}\timports\t3.14.0\n")
        return answer(run)

    bench.script = counting
    assert explained(bench).notes == (
        "calls were not compared: the baseline's are counted by sys.setprofile, the candidate's by sys.monitoring",
    )


def test_lines_of_the_profiler_that_cannot_be_read_are_a_note(bench: ScriptedBench) -> None:
    def garbled(run: Run) -> Measurement | Failure:
        answered = answer(run)
        if output := output_of(run):
            output.write_text(output.read_text() + "a newer format 7\n")
        return answered

    bench.script = garbled
    assert any(note.startswith("8 lines of what the profiler wrote cannot be read") for note in explained(bench).notes)


def test_it_ends_when_the_time_is_over(bench: ScriptedBench) -> None:
    found = explained(bench, until_s=0.0)
    assert found.runs == 1
    assert found.notes == (
        "calls were not counted: there was no time left",
        "times were not compared: 1 run of each side is too few to compare (5 needed); take longer",
    )
    assert not found.is_compared


def test_memory_is_not_explained_by_stacks(bench: ScriptedBench) -> None:
    found = explained(bench, unit=Unit.BYTES, metric="peak_memory", change=8e6)
    assert not any(output_of(run) for run in bench.runs)
    assert any(note.startswith("allocations were not looked at") for note in found.notes)
    assert not found.is_compared
