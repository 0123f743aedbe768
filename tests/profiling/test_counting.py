"""A run whose calls are counted, on a bench that starts no process."""

from pathlib import Path

import pytest

from s3bench.bench.runner import ClientRunner, Conditions, Settings
from s3bench.errors import MachineError
from s3bench.profiling.call_counts import CallCounts
from s3bench.profiling.counting import count_calls
from s3bench.results.measurement import Failure, Measurement
from s3bench.run.inspection import Unavailable
from tests.bench.scripted_bench import Run, ScriptedBench, failed, measured, one_runner

COUNTS = "s3bench-call-counts 1\nobserved\tsys.monitoring\timports\t3.14.0\nf\tm\tf\t\ne\t-1\t0\t0\t3\n"
SETTINGS = Settings(timeout_s=10, probes=False)


def script(run: Run) -> Measurement:
    Path(run.conditions.env["S3BENCH_CALL_COUNTS_FILE"]).write_text(COUNTS)
    return measured()


@pytest.fixture
def bench(tmp_path: Path) -> ScriptedBench:
    (tmp_path / "counted").mkdir()
    return ScriptedBench(root=tmp_path, script=script)


runner = one_runner


def test_one_run_is_counted_unsampled_with_the_probe_more_time_and_steady_hashes(
    bench: ScriptedBench, runner: ClientRunner
) -> None:
    conditions = Conditions(prefix=("own",), env={"OWN": "1", "PYTHONHASHSEED": "7"}, writable=(Path("/own"),))
    seen = count_calls(runner, SETTINGS, conditions, bench.root / "counted")
    assert isinstance(seen, CallCounts)
    assert [edge.count for edge in seen.edges] == [3]
    [run] = bench.runs
    assert (run.settings.interval_s, run.settings.probes, run.settings.measures_speed) == (None, True, False)
    assert run.settings.timeout_of(run.definition) > 2 * SETTINGS.timeout_s
    assert (run.hash_seed, run.conditions.env["OWN"]) == ("0", "1")
    assert run.conditions.prefix[0] == "/bin/sh"
    assert run.conditions.prefix[-1] == "own"
    assert run.conditions.writable == (Path("/own"), bench.root / "counted")


def test_a_run_that_fails_is_its_failure(bench: ScriptedBench, runner: ClientRunner) -> None:
    bench.script = lambda _: failed("exited 7")
    seen = count_calls(runner, SETTINGS, Conditions(), bench.root / "counted")
    assert isinstance(seen, Failure)
    assert seen.what == "exited 7"


def test_a_client_that_counts_nothing_is_said_so_and_the_run_before_is_not_read_again(
    bench: ScriptedBench, runner: ClientRunner
) -> None:
    count_calls(runner, SETTINGS, Conditions(), bench.root / "counted")
    bench.script = lambda _: measured()
    seen = count_calls(runner, SETTINGS, Conditions(), bench.root / "counted")
    assert isinstance(seen, Unavailable)
    assert "Python" in str(seen)


def test_a_file_that_is_too_large_is_not_parsed(
    bench: ScriptedBench, runner: ClientRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("s3bench.profiling.probe_output._SIZE_MAX_BYTES", len(COUNTS) - 1)
    with pytest.raises(MachineError, match="the call counts of the client cannot be read"):
        count_calls(runner, SETTINGS, Conditions(), bench.root / "counted")
