"""Runs whose memory is looked at, on a scripted bench: the moment of the peak is learned first."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from s3bench.bench.runner import ClientRunner, Conditions, Settings
from s3bench.errors import MachineError
from s3bench.profiling.allocations import AllocationProfile
from s3bench.profiling.memory import TIMEOUT_FACTOR, profile_memory
from s3bench.results.measurement import Failure, Measurement
from s3bench.run.inspection import Unavailable
from tests.bench.scripted_bench import Run, ScriptedBench, failed, measured, one_runner

SETTINGS = Settings(interval_s=0.01, timeout_s=7)


MOMENTS = [[["/usr/lib/x/a.py", 7, "f"], 3]]


def client_whose_moment_comes(*comes: bool) -> Callable[[Run], Measurement | Failure]:
    """A client that reaches its peak at `MOMENTS`, which come again or not in the runs after it was learned."""
    left = iter(comes)

    def script(run: Run) -> Measurement:
        report: dict[str, Any] = {"version": 2, "start": "imports", "python": "3.14.0"}
        if moments := run.conditions.env.get("S3BENCH_ALLOCATIONS_MOMENTS"):
            assert json.loads(moments) == MOMENTS
            taken = 990 if next(left) else 0
            report |= {"taken_bytes": taken, "held": [[taken, []]]}
        else:
            report |= {"peak_bytes": 2000, "moments": MOMENTS}
        Path(run.conditions.env["S3BENCH_ALLOCATIONS_FILE"]).write_text(json.dumps(report))
        return measured()

    return script


@pytest.fixture
def bench(tmp_path: Path) -> ScriptedBench:
    (tmp_path / "observed").mkdir()
    return ScriptedBench(root=tmp_path, script=client_whose_moment_comes(True))


runner = one_runner


def looked_at(
    bench: ScriptedBench, runner: ClientRunner, conditions: Conditions | None = None
) -> AllocationProfile | Failure | Unavailable:
    return profile_memory(runner, SETTINGS, conditions or Conditions(), bench.root / "observed")


def test_the_second_run_is_looked_at_when_the_first_reached_its_peak(
    bench: ScriptedBench, runner: ClientRunner
) -> None:
    found = looked_at(bench, runner)
    assert isinstance(found, AllocationProfile)
    assert (found.peak_bytes, found.taken_bytes, len(bench.runs)) == (2000, 990, 2)


def test_where_the_moment_does_not_come_both_runs_are_repeated(bench: ScriptedBench, runner: ClientRunner) -> None:
    bench.script = client_whose_moment_comes(False, True)
    found = looked_at(bench, runner)
    assert isinstance(found, AllocationProfile)
    assert (found.taken_bytes, len(bench.runs)) == (990, 4)


def test_a_client_whose_moment_never_comes_again_is_given_up(bench: ScriptedBench, runner: ClientRunner) -> None:
    bench.script = client_whose_moment_comes(False, False, False)
    found = looked_at(bench, runner)
    assert isinstance(found, Unavailable)
    assert "at the same call" in found.reason
    assert len(bench.runs) == 6


def test_a_client_whose_peak_is_that_of_its_parent_cannot_be_looked_at(
    bench: ScriptedBench, runner: ClientRunner
) -> None:
    def script(run: Run) -> Measurement:
        report = {"version": 2, "start": "imports", "python": "3.14.0"}
        Path(run.conditions.env["S3BENCH_ALLOCATIONS_FILE"]).write_text(json.dumps(report))
        return measured()

    bench.script = script
    found = looked_at(bench, runner)
    assert isinstance(found, Unavailable)
    assert "below that of the process" in found.reason


def test_a_run_under_the_probe_is_not_sampled_and_has_more_time(bench: ScriptedBench, runner: ClientRunner) -> None:
    looked_at(bench, runner, Conditions(env={"OWN": "1", "PYTHONHASHSEED": "7"}, writable=(bench.root,)))
    run = bench.runs[-1]
    assert (run.settings.interval_s, run.settings.timeout_of(run.definition)) == (None, 7 * TIMEOUT_FACTOR)
    assert (run.conditions.env["OWN"], run.conditions.env["PYTHONHASHSEED"]) == ("1", "0")
    assert run.conditions.writable == (bench.root, bench.root / "observed")


def test_a_failed_run_is_a_failure(bench: ScriptedBench, runner: ClientRunner) -> None:
    bench.script = lambda _: failed()
    assert isinstance(looked_at(bench, runner), Failure)


def test_a_client_without_the_probe_cannot_be_looked_at(bench: ScriptedBench, runner: ClientRunner) -> None:
    (bench.root / "observed" / "allocations").write_text("of a run before")
    bench.script = lambda _: measured()
    found = looked_at(bench, runner)
    assert isinstance(found, Unavailable)
    assert "written in Python" in found.reason


def test_a_report_that_is_too_large_is_not_read(
    bench: ScriptedBench, runner: ClientRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("s3bench.profiling.probe_output._SIZE_MAX_BYTES", 100)
    with pytest.raises(MachineError, match="the allocations of the client cannot be read"):
        looked_at(bench, runner)
