"""Ctrl-C and failures of the machine in commands that run clients: what is on disk and printed then."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from s3bench.cli import keeping
from s3bench.errors import MachineError
from s3bench.gate.record import GateRecord, parse_record
from s3bench.results.file import read_document
from s3bench.results.measurement import Failure, Measurement
from s3bench.run.disk import Disk
from tests.bench.scripted_bench import Run, ScriptedBench, measured
from tests.cli.conftest import Here

SMALL = "upload and 4KB and cp and not 100 and not 5,000"
INTERRUPTED = 130


def stopping_at(bench: ScriptedBench, number: int, error: BaseException) -> Callable[[Run], Measurement | Failure]:
    """A quiet machine until the run of that number."""

    def script(_run: Run) -> Measurement:
        if len(bench.runs) == number:
            raise error
        return measured(0.1 + 1e-5 * (len(bench.runs) * 7 % 11))

    return script


class TestRun:
    ARGUMENTS = ("run", "-q", "--client", "s5cmd", "-k", SMALL, "-n", "5")

    def test_ctrl_c_keeps_every_iteration_by_then(self, here: Here, bench: ScriptedBench, tmp_path: Path) -> None:
        bench.script = stopping_at(bench, 4, KeyboardInterrupt())
        finished = here(*self.ARGUMENTS, "-o", str(tmp_path / "out.json"))
        assert finished.returncode == INTERRUPTED
        (result,) = read_document(tmp_path / "out.json").results
        assert (len(result.measurements), result.status) == (3, "running")

    def test_ctrl_c_before_the_first_iteration_prints_a_document_without_results(
        self, here: Here, bench: ScriptedBench
    ) -> None:
        bench.script = stopping_at(bench, 1, KeyboardInterrupt())
        finished = here(*self.ARGUMENTS)
        assert finished.returncode == INTERRUPTED
        assert json.loads(finished.stdout)["results"] == []

    def test_an_error_of_the_machine_is_in_the_results(self, here: Here, bench: ScriptedBench) -> None:
        bench.script = stopping_at(bench, 3, MachineError("the helper has died"))
        finished = here(*self.ARGUMENTS)
        assert finished.returncode == 4
        (result,) = json.loads(finished.stdout)["results"]
        assert (len(result["measurements"]), result["errors"][0]["what"]) == (2, "the helper has died")


class TestGate:
    ARGUMENTS = ("gate", "-q", "--baseline", "s5cmd", "--candidate", "s5cmd", "-k", SMALL, "--no-exact", "--seed", "1")

    def record(self, path: Path) -> GateRecord:
        return parse_record(path.read_bytes(), source=str(path))

    def test_ctrl_c_keeps_all_pairs_by_then_with_the_verdict_that_they_allow(
        self, here: Here, bench: ScriptedBench, tmp_path: Path
    ) -> None:
        bench.script = stopping_at(bench, 30, KeyboardInterrupt())
        finished = here(*self.ARGUMENTS, "-o", str(tmp_path / "gate.json"))
        assert finished.returncode == INTERRUPTED
        record = self.record(tmp_path / "gate.json")
        assert record.stopped == "interrupted"
        assert record.conclusion is not None
        assert sum(len(cell.pairs) for cell in record.cells) == (29 - 2) // 4 * 2

    def test_an_error_of_the_machine_loses_no_pair(self, here: Here, bench: ScriptedBench, tmp_path: Path) -> None:
        bench.script = stopping_at(bench, 30, MachineError("strace left no output"))
        finished = here(*self.ARGUMENTS, "-o", str(tmp_path / "gate.json"))
        assert finished.returncode == 4
        record = self.record(tmp_path / "gate.json")
        assert record.stopped == "strace left no output"
        assert record.conclusion is not None
        assert sum(len(cell.pairs) for cell in record.cells) == (29 - 2) // 4 * 2

    @pytest.mark.parametrize("error", [MachineError("strace left no output"), KeyboardInterrupt()])
    def test_without_a_file_what_was_measured_is_in_a_temporary_one(
        self, here: Here, bench: ScriptedBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
    ) -> None:
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        bench.script = stopping_at(bench, 30, error)
        finished = here(*self.ARGUMENTS)
        [file] = tmp_path.glob("s3bench-results-*")
        assert f"s3bench: the results were saved in {file}\n" in finished.stderr
        assert sum(len(cell.pairs) for cell in self.record(file).cells) == (29 - 2) // 4 * 2

    def test_a_verdict_that_cannot_be_drawn_loses_no_pair(
        self, here: Here, bench: ScriptedBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def concluded(_: GateRecord) -> GateRecord:
            raise ZeroDivisionError

        monkeypatch.setattr(GateRecord, "concluded", concluded)
        bench.script = stopping_at(bench, 30, KeyboardInterrupt())
        assert here(*self.ARGUMENTS, "-o", str(tmp_path / "gate.json")).returncode == INTERRUPTED
        record = self.record(tmp_path / "gate.json")
        assert (record.stopped, record.conclusion) == ("interrupted", None)
        assert sum(len(cell.pairs) for cell in record.cells) == (29 - 2) // 4 * 2

    @pytest.mark.parametrize(
        "arguments", [ARGUMENTS, ("gate", "--self-test", "-q", "--rounds", "1", "--pairs", "10", "--no-exact")]
    )
    def test_a_file_that_cannot_be_written_leaves_one_copy(
        self,
        here: Here,
        bench: ScriptedBench,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        arguments: tuple[str, ...],
    ) -> None:
        tried = []

        def failing(_: bytes, path: Path, **__: bool) -> None:
            tried.append(path)
            raise MachineError(f"cannot write to {path}", "disk full", "the results were saved in /tmp/x")

        monkeypatch.setattr(keeping, "write_whole", failing)
        bench.script = stopping_at(bench, -1, KeyboardInterrupt())
        finished = here(*arguments, "-o", str(tmp_path / "gate.json"))
        assert finished.returncode == 4
        assert finished.stderr.count("the results were saved in /tmp/x") == 1
        assert tried == [tmp_path / "gate.json"]

    def test_the_end_of_its_time_is_inconclusive_and_said(
        self, here: Here, bench: ScriptedBench, tmp_path: Path
    ) -> None:
        bench.script = stopping_at(bench, -1, KeyboardInterrupt())
        finished = here(*self.ARGUMENTS, "-o", str(tmp_path / "gate.json"), "--max-time", "2s")
        assert finished.returncode == 3
        assert self.record(tmp_path / "gate.json").stopped == "--max-time 2s has passed"

    def test_a_gate_to_its_end_is_concluded(self, here: Here, bench: ScriptedBench, tmp_path: Path) -> None:
        bench.script = stopping_at(bench, -1, KeyboardInterrupt())
        finished = here(*self.ARGUMENTS, "-o", str(tmp_path / "gate.json"))
        record = self.record(tmp_path / "gate.json")
        assert finished.returncode in {0, 3, 4}
        assert (record.stopped, record.ended_at is not None) == ("", True)
        assert [cell.role for cell in record.cells] == ["benchmark", "negative control", "positive control"]


class TestTune:
    ARGUMENTS = ("tune", "upload", "--size", "8MiB", "--network", "nic=50MB/s", "--clients", "s5cmd", "-q")

    @pytest.fixture(autouse=True)
    def _disk(self, monkeypatch: pytest.MonkeyPatch) -> None:
        speed = Disk(kind="tmpfs", size_bytes=1, write_bytes_per_s=1e9, read_bytes_per_s=None)
        monkeypatch.setattr("s3bench.cli.tune.action.measure_disk", lambda *_, **__: speed)

    def test_ctrl_c_keeps_every_trial_and_says_how_to_continue(
        self, here: Here, bench: ScriptedBench, tmp_path: Path
    ) -> None:
        bench.script = stopping_at(bench, 5, KeyboardInterrupt())
        study = tmp_path / "study.jsonl"
        finished = here(*self.ARGUMENTS, "--study", str(study), "--budget", "60s", "--seed", "1")
        assert finished.returncode == INTERRUPTED
        assert len(study.read_bytes().splitlines()) == 1 + 4
        assert f"4 trials are saved; continue with: s3bench tune --resume {study}" in finished.stderr
        before = study.read_bytes()
        bench.script = stopping_at(bench, -1, KeyboardInterrupt())
        resumed = here("tune", "-q", "--resume", str(study), "--budget", "5s")
        assert resumed.returncode in {0, 3}, resumed.stderr
        assert study.read_bytes().startswith(before)
        numbers = [json.loads(line)["number"] for line in study.read_text().splitlines()[1:]]
        assert len(numbers) > 4
        assert numbers == list(range(len(numbers)))

    def test_clients_are_compared_in_as_many_rounds_as_were_asked_for(self, here: Here, bench: ScriptedBench) -> None:
        bench.script = stopping_at(bench, -1, KeyboardInterrupt())
        finished = here(*self.ARGUMENTS, "--files", "3", "--compare-clients", "--rounds", "2", "--json")
        assert finished.returncode == 0, finished.stderr
        assert len(bench.runs) == 2 * (1 + 2)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands see no other directory."""
    monkeypatch.chdir(tmp_path)
