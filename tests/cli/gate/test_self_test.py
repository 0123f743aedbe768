"""`s3bench gate --self-test`: what it refuses, what it prints and keeps, and its exit codes."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest

from s3bench.cli.client_resolution import found_clients
from s3bench.cli.gate import self_test
from s3bench.cli.gate.command import gate_command
from s3bench.clients.client import ClientSpec, FoundClient
from s3bench.clients.finding import find_client
from s3bench.errors import BadInput, ClientNotFound, ExitCode, MachineError
from s3bench.gate.planted_fault import SelfTest
from s3bench.gate.self_test import CALIBRATING_RUNS
from s3bench.results.measurement import Failure, Measurement
from tests.bench.scripted_bench import TURN_S, Run, ScriptedBench, measured


@dataclass
class Told:
    code: int
    out: str


Gate = Callable[..., Told]


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Gate:
    monkeypatch.setenv("COLUMNS", "120")

    def run(*arguments: str) -> Told:
        try:
            code = gate_command.main(["--self-test", "-q", *arguments], standalone_mode=False)
        except click.exceptions.Exit as stop:
            code = stop.exit_code
        return Told(code=int(code), out=capfdbinary.readouterr().out.decode())

    return run


QUICK = ("--rounds", "1", "--pairs", "10", "--metric", "total_time", "--no-exact", "--seed", "1")
"""Gates on faults of more work alone, each decided at its first look."""

FAULTS = 5
RUNS_OF_CALIBRATION = 1 + 2 + 2 * CALIBRATING_RUNS
"""One that shows the probe, two with more work each, then pairs."""

RUNS_OF_A_GATE = 2 + 3 * 2 * 10


@pytest.fixture(autouse=True)
def machine(bench: ScriptedBench) -> ScriptedBench:
    """A quiet machine, on which a fault takes the time it says."""
    bench.script = lambda _: measured(0.1 + 1e-5 * (len(bench.runs) * 7 % 11))
    return bench


def at_run(bench: ScriptedBench, number: int, error: BaseException) -> None:
    """Raise `error` in that run."""
    usual = bench.script

    def script(run: Run) -> Measurement | Failure:
        if len(bench.runs) == number:
            raise error
        return usual(run)

    bench.script = script


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--baseline", "s5cmd"), "no fault can be planted into s5cmd"),
        (("--candidate", "crt-python"), "--self-test and --candidate contradict each other"),
        (("--strict", "--junit", "x.xml"), "--self-test and --strict contradict each other"),
        (("--replay", "x.json"), "--self-test and --replay contradict each other"),
        (("--verbose",), "--self-test and --verbose contradict each other"),
        (("--no-explain",), "--self-test and --no-explain contradict each other"),
        (("--no-instructions",), "--self-test and --no-instructions contradict each other"),
        (("--no-exact", "--metric", "throughput"), "no fault would show in the metrics that decide"),
        (("--tls", "--exact", "requests", "--metric", "throughput"), "no fault would show in the metrics that decide"),
        (("--baseline", "crt-python", "-k", "nonsense"), "no benchmark is selected"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_runs(
    gate: Gate, bench: ScriptedBench, arguments: tuple[str, ...], words: str
) -> None:
    with pytest.raises(BadInput, match=words) as caught:
        gate(*arguments)
    assert caught.value.fix
    assert not bench.runs


def test_without_a_choice_it_is_the_shortest_transfer_on_the_client_of_the_shortest_runs(
    gate: Gate, bench: ScriptedBench
) -> None:
    assert gate(*QUICK).code == 0
    assert {run.client.kind for run in bench.runs} == {"crt-python"}
    assert {(run.definition.name, run.definition.dimensions) for run in bench.runs} == {
        ("s3.cp.upload", (("FileSize", "4KB"),))
    }


def test_where_that_client_is_not_here_the_next_one_is_taken(
    gate: Gate, bench: ScriptedBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_crt(spec: ClientSpec, *rest: Any) -> FoundClient:
        if spec.kind == "crt-python":
            raise ClientNotFound("no awscrt here")
        return find_client(spec, *rest)

    monkeypatch.setattr(self_test, "find_client", without_crt)
    gate(*QUICK, "--max-time", "1s")
    assert bench.runs[0].client.kind == "boto3-classic"


def test_client_and_benchmarks_can_be_chosen(gate: Gate, bench: ScriptedBench) -> None:
    gate(*QUICK, "--max-time", "1s", "--baseline", "boto3-classic", "-k", "rm")
    assert {run.client.kind for run in bench.runs} == {"boto3-classic"}
    assert {run.definition.name for run in bench.runs} == {"s3.rm"}


def test_exit_code_and_words_say_whether_the_gate_can_be_believed(gate: Gate, bench: ScriptedBench) -> None:
    believed = gate(*QUICK)
    assert (believed.code, "the gate can be trusted on this machine" in believed.out) == (0, True)
    usual = bench.script
    bench.script = lambda run: usual(run) if run.debug_name == "calibration" else shorter(usual(run), run.fault)
    doubted = gate(*QUICK)
    assert (doubted.code, "the gate cannot be trusted on this machine" in doubted.out) == (
        ExitCode.CLIENT_FAILED,
        True,
    )


def shorter(outcome: Measurement | Failure, fault: dict[str, Any]) -> Measurement:
    """A run whose fault takes no time."""
    assert isinstance(outcome, Measurement)
    return msgspec.structs.replace(outcome, total_time=outcome.total_time - TURN_S * fault.get("turns", 0))


def test_json_and_the_file_hold_the_whole_record(gate: Gate, tmp_path: Path) -> None:
    told = gate(*QUICK, "--json", "-o", str(tmp_path / "out.json"))
    assert json.loads(told.out)["is_believed"] is True
    assert (tmp_path / "out.json").read_text() == told.out
    with pytest.raises(BadInput, match="will not be overwritten"):
        gate(*QUICK, "-o", str(tmp_path / "out.json"))


def test_ctrl_c_prints_and_keeps_what_is_known_by_then(
    bench: ScriptedBench, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    at_run(bench, RUNS_OF_CALIBRATION + 2 * RUNS_OF_A_GATE + 5, KeyboardInterrupt())
    with pytest.raises((KeyboardInterrupt, click.Abort)):
        gate_command.main(["--self-test", "-q", *QUICK, "-o", str(tmp_path / "out.json")], standalone_mode=False)
    out = capfd.readouterr().out
    assert f"stopped: interrupted after 2 of {FAULTS} gates" in out
    kept = msgspec.json.decode((tmp_path / "out.json").read_bytes(), type=SelfTest)
    assert (kept.stopped, kept.ended_at is not None) == (f"interrupted after 2 of {FAULTS} gates", True)
    assert sum(each.gates for each in kept.tallies) == 2


def test_ctrl_c_before_the_first_gate_leaves_no_record(bench: ScriptedBench, tmp_path: Path) -> None:
    at_run(bench, 3, KeyboardInterrupt())
    with pytest.raises((KeyboardInterrupt, click.Abort)):
        gate_command.main(["--self-test", "-q", *QUICK, "-o", str(tmp_path / "out.json")], standalone_mode=False)
    assert not (tmp_path / "out.json").exists()


def test_a_crash_prints_and_keeps_what_is_known_by_then(
    bench: ScriptedBench, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    at_run(bench, RUNS_OF_CALIBRATION + RUNS_OF_A_GATE + 5, MachineError("the helper has died"))
    with pytest.raises(MachineError):
        gate_command.main(["--self-test", "-q", *QUICK, "-o", str(tmp_path / "out.json")], standalone_mode=False)
    assert f"stopped: the helper has died after 1 of {FAULTS} gates" in capfd.readouterr().out
    kept = msgspec.json.decode((tmp_path / "out.json").read_bytes(), type=SelfTest)
    assert sum(each.gates for each in kept.tallies) == 1


def test_the_time_that_a_client_takes_to_install_is_part_of_the_time_limit(
    gate: Gate, bench: ScriptedBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slowly(*given: Any) -> list[FoundClient]:
        bench.now_s += 60.0
        return found_clients(*given)

    monkeypatch.setattr(self_test, "found_clients", slowly)
    assert f"--max-time 1m has passed after 0 of {FAULTS} gates" in gate(*QUICK, "--max-time", "1m").out


def test_instructions_of_a_client_whose_counts_do_not_repeat_are_refused(
    gate: Gate, machine: ScriptedBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = self_test.known_client
    monkeypatch.setattr(self_test, "known_client", lambda kind: replace(known(kind), instructions_repeat=False))
    with pytest.raises(BadInput, match="equal runs of crt-python are not known to execute equally many"):
        gate("--baseline", "crt-python", "--exact", "instructions")
    assert not machine.runs
