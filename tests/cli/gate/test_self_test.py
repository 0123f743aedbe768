"""`s3bench gate --self-test`: what it refuses, what it prints and keeps, and its exit codes."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest

from s3bench.cli.gate import self_test
from s3bench.cli.gate.command import gate_command
from s3bench.clients.client import ClientSpec, FoundClient
from s3bench.clients.finding import find_client
from s3bench.errors import BadInput, ClientNotFound, ExitCode
from s3bench.gate.planted_fault import (
    FaultKind,
    FaultVerdict,
    PlantedFault,
    SelfTest,
    count_verdicts,
)
from s3bench.gate.policy import Policy
from s3bench.gate.record import ProgramIdentity
from s3bench.gate.row import Verdict
from s3bench.spec.definition import Definition

NOTHING = PlantedFault(kind=FaultKind.WORK, amount=0.0)
REQUEST = PlantedFault(kind=FaultKind.REQUEST, amount=1, is_required=True)


def answers(verdict: Verdict, found_in: str, count: int = 1) -> list[FaultVerdict]:
    one = FaultVerdict(
        round=1, seed=1, verdict=verdict, reasons=(), found_in=(found_in,), pairs=10, sigma=None, elapsed_s=1.0
    )
    return [one] * count


def made(*, caught: Verdict = Verdict.FAIL, rounds: int = 1) -> SelfTest:
    return SelfTest(
        s3bench="0.1.0",
        started_at="2026-11-21T00:00:00.000Z",
        policy=Policy(exact=("requests",)),
        client=ProgramIdentity(label="crt-python@1", name="crt-python", version="1"),
        benchmarks=("s3.cp.upload",),
        calibrating_runs=15,
        usual_s=0.1,
        usual_bytes=1e8,
        rounds=rounds,
        tallies=(
            count_verdicts(NOTHING, answers(Verdict.PASS, "")),
            count_verdicts(REQUEST, answers(caught, "requests")),
        ),
    )


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


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[tuple[FoundClient, tuple[Definition, ...]]]:
    """What would have been tested: nothing is run, and everything is caught."""
    seen: list[tuple[FoundClient, tuple[Definition, ...]]] = []

    def tested(_options: Any, _policy: Any, found: FoundClient, definitions: Any, _progress: Any) -> Iterator[SelfTest]:
        seen.append((found, definitions))
        yield made()

    monkeypatch.setattr(self_test, "_tested", tested)
    return seen


def playing(monkeypatch: pytest.MonkeyPatch, *tests: SelfTest | BaseException) -> None:
    def tested(*_: Any) -> Iterator[SelfTest]:
        for test in tests:
            if isinstance(test, BaseException):
                raise test
            yield test

    monkeypatch.setattr(self_test, "_tested", tested)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--baseline", "s5cmd"), "no fault can be planted into s5cmd"),
        (("--candidate", "crt-python"), "--self-test and --candidate contradict each other"),
        (("--strict", "--junit", "x.xml"), "--self-test and --strict contradict each other"),
        (("--replay", "x.json"), "--self-test and --replay contradict each other"),
        (("--no-exact", "--metric", "throughput"), "no fault would show in the metrics that decide"),
        (("--tls", "--exact", "requests", "--metric", "throughput"), "no fault would show in the metrics that decide"),
        (("--max-time", "soon"), '--max-time is "soon", which is not a duration'),
        (("--baseline", "crt-python", "-k", "nonsense"), "no benchmark is selected"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_runs(
    gate: Gate, given: list[Any], arguments: tuple[str, ...], words: str
) -> None:
    with pytest.raises(BadInput, match=words) as caught:
        gate(*arguments)
    assert caught.value.fix
    assert not given


def test_without_a_choice_it_is_the_shortest_transfer_on_the_client_of_the_shortest_runs(
    gate: Gate, given: list[tuple[FoundClient, tuple[Definition, ...]]]
) -> None:
    assert gate().code == 0
    [(found, definitions)] = given
    assert found.kind == "crt-python"
    assert [(each.name, each.dimensions) for each in definitions] == [("s3.cp.upload", (("FileSize", "4KB"),))]


def test_where_that_client_is_not_here_the_next_one_is_taken(
    gate: Gate, given: list[tuple[FoundClient, tuple[Definition, ...]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_crt(spec: ClientSpec, *rest: Any) -> FoundClient:
        if spec.kind == "crt-python":
            raise ClientNotFound("no awscrt here")
        return find_client(spec, *rest)

    monkeypatch.setattr(self_test, "find_client", without_crt)
    gate()
    assert given[0][0].kind == "boto3-classic"


def test_client_and_benchmarks_can_be_chosen(
    gate: Gate, given: list[tuple[FoundClient, tuple[Definition, ...]]]
) -> None:
    gate("--baseline", "boto3-classic", "-k", "rm")
    [(found, definitions)] = given
    assert found.kind == "boto3-classic"
    assert {each.name for each in definitions} == {"s3.rm"}


def test_exit_code_and_words_say_whether_the_gate_can_be_believed(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    playing(monkeypatch, made())
    told = gate()
    assert (told.code, "the gate can be believed on this machine" in told.out) == (0, True)
    playing(monkeypatch, made(), made(caught=Verdict.PASS))
    told = gate()
    assert (told.code, "the gate cannot be believed on this machine" in told.out) == (ExitCode.CLIENT_FAILED, True)


def test_json_and_the_file_hold_the_whole_record(gate: Gate, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    playing(monkeypatch, made())
    told = gate("--json", "-o", str(tmp_path / "out.json"))
    assert json.loads(told.out)["is_believed"] is True
    assert (tmp_path / "out.json").read_text() == told.out
    with pytest.raises(BadInput, match="will not be overwritten"):
        gate("-o", str(tmp_path / "out.json"))


def test_ctrl_c_prints_and_keeps_what_is_known_by_then(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    playing(monkeypatch, made(rounds=2), KeyboardInterrupt())
    with pytest.raises((KeyboardInterrupt, click.Abort)):
        gate_command.main(["--self-test", "-q", "-o", str(tmp_path / "out.json")], standalone_mode=False)
    out = capfd.readouterr().out
    assert "1 more request" in out
    assert "stopped: interrupted after 2 of 4 gates" in out
    kept = msgspec.json.decode((tmp_path / "out.json").read_bytes(), type=SelfTest)
    assert (kept.stopped, kept.is_believed, kept.ended_at is not None) == ("interrupted after 2 of 4 gates", True, True)


def test_a_crash_leaves_what_was_kept_by_then(gate: Gate, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    playing(monkeypatch, made(), RuntimeError("a fault of ours"))
    with pytest.raises(RuntimeError):
        gate("-o", str(tmp_path / "out.json"))
    assert msgspec.json.decode((tmp_path / "out.json").read_bytes(), type=SelfTest).tallies[1].caught == 1
