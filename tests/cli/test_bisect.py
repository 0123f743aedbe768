"""`s3bench bisect`: what it refuses, what it prints and keeps, how it goes on, and its exit codes."""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest

from s3bench.cli import keeping
from s3bench.cli.bisect import action
from s3bench.cli.bisect.command import bisect_command
from s3bench.clients.client import FoundClient
from s3bench.clients.releases import Base, Combinable
from s3bench.errors import BadInput, ClientNotFound, MachineError
from s3bench.results.measurement import Measurement
from tests.bench.scripted_bench import Run, ScriptedBench, client, measured

SPREAD = (0.0, 1.0, -0.75, 0.25, -0.25, 0.5, -1.0, 0.75, 0.1)
VERSIONS = tuple(f"0.{place}" for place in range(8))
ENDS = ("--client", "s5cmd", "--good", "0.0", "--bad", "0.7", "-k", "upload and 4KB and cp and not 100 and not 5,000")


@dataclass
class Machine:
    """What runs show: versions from `first` on are slower. In the comparison numbered `stops_at` it raises `by`."""

    first: int = 5
    broken: tuple[int, ...] = ()
    stops_at: int = 99
    by: BaseException | None = None
    sigma: float = 0.002
    runs: int = 0

    def __call__(self, run: Run) -> Measurement:
        self.runs += 1
        if self.by is not None and self.comparisons_done(run) == self.stops_at and self.runs % 20 == 0:
            raise self.by
        noise = self.sigma * SPREAD[self.runs % len(SPREAD)]
        return measured(math.exp(noise) * (1.2 if int(run.client.version[2:]) >= self.first else 1.0))

    def comparisons_done(self, run: Run) -> int:
        return int(run.workspace.root.name) - 1

    def provide(self, version: str, root: Path) -> FoundClient:
        if int(version[2:]) in self.broken:
            raise ClientNotFound(f"{version} is gone")
        return client(root, version)


@dataclass
class Told:
    code: int
    out: str
    err: str


Bisect = Callable[..., Told]


@pytest.fixture
def machine(bench: ScriptedBench, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine()
    bench.script = machine
    programs = tmp_path_factory.mktemp("programs")
    monkeypatch.setattr(action, "releases_between", lambda *_: VERSIONS)
    monkeypatch.setattr(action, "installed_release", lambda _, version, *__: machine.provide(version, programs))
    monkeypatch.setattr(action, "installed_combination", lambda *args: machine.provide(args[2], programs))
    return machine


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Bisect:
    monkeypatch.setenv("COLUMNS", "120")

    def call(*arguments: object) -> Told:
        try:
            code = bisect_command.main([str(each) for each in arguments], standalone_mode=False)
        except click.exceptions.Exit as stop:
            code = stop.exit_code
        captured = capfdbinary.readouterr()
        return Told(code=int(code), out=captured.out.decode(), err=captured.err.decode())

    return call


@pytest.mark.usefixtures("machine")
def test_it_prints_the_first_version_and_keeps_the_record(run: Bisect, tmp_path: Path) -> None:
    reported = run(*ENDS, "-o", tmp_path / "out.json", "--seed", 3)
    assert reported.code == 0
    assert reported.out.startswith("found: s5cmd 0.5 is the first that changed total_time of ")
    record = json.loads((tmp_path / "out.json").read_text())
    assert (record["found"]["first"], record["seed"], record["versions"]) == (5, 3, list(VERSIONS))
    assert record["ended_at"]
    assert record["unfinished"] == []
    assert "comparing 0.7 with 0.0" in reported.err
    assert "0.4 against 0.0: unchanged" in reported.err


@pytest.mark.usefixtures("machine")
def test_json_is_the_record_and_quiet_is_quiet(run: Bisect) -> None:
    reported = run(*ENDS, "--json", "-q")
    assert json.loads(reported.out)["found"]["ending"] == "found"
    assert reported.err == ""


@pytest.mark.parametrize(
    ("change", "code", "said"),
    [
        ({"first": 99}, 0, "no change"),
        ({"broken": (4, 5)}, 3, "suspects"),
        ({"sigma": 0.9}, 3, "not settled"),
        ({"broken": (7,)}, 4, "failed"),
    ],
)
def test_exit_codes_say_how_it_ended(
    change: dict[str, Any], code: int, said: str, run: Bisect, machine: Machine
) -> None:
    for name, value in change.items():
        setattr(machine, name, value)
    reported = run(*ENDS, "-q")
    assert (reported.code, reported.out.startswith(said)) == (code, True)


def test_what_was_measured_is_kept_on_ctrl_c_and_gone_on_with(run: Bisect, machine: Machine, tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    machine.stops_at, machine.by = 2, KeyboardInterrupt()
    with pytest.raises((KeyboardInterrupt, click.Abort)):
        run(*ENDS, "-o", file)
    kept = json.loads(file.read_text())
    assert (len(kept["answers"]), kept["stopped"], kept["found"]) == (2, "interrupted", None)
    assert len(kept["unfinished"]) == 1
    machine.stops_at = 99
    reported = run("--resume", file)
    assert (reported.code, "found: s5cmd 0.5" in reported.out) == (0, True)
    resumed = json.loads(file.read_text())
    assert resumed["answers"][:2] == kept["answers"]
    assert (resumed["unfinished"], resumed["stopped"], resumed["seed"]) == ([], "", kept["seed"])
    assert run("--resume", file).code == 0


def test_a_crash_of_the_machine_loses_at_most_the_running_comparison(
    run: Bisect, machine: Machine, tmp_path: Path
) -> None:
    machine.stops_at, machine.by = 2, MachineError("the disk is full")
    with pytest.raises(MachineError):
        run(*ENDS, "-q", "-o", tmp_path / "out.json")
    kept = json.loads((tmp_path / "out.json").read_text())
    assert (len(kept["answers"]), kept["stopped"]) == (2, "the disk is full")


def test_without_a_file_what_was_measured_until_an_error_is_in_a_temporary_one(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    machine.stops_at, machine.by = 2, MachineError("the disk is full")
    with pytest.raises(MachineError):
        bisect_command.main([*ENDS, "-q"], standalone_mode=False)
    [file] = tmp_path.glob("s3bench-results-*")
    assert f"s3bench: the results were saved in {file}\n" in capfd.readouterr().err
    assert len(json.loads(file.read_text())["answers"]) == 2


def test_bad_input_leaves_the_record_that_was_to_be_resumed(
    run: Bisect, machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise BadInput("s5cmd has other dependencies than in the record")

    file = tmp_path / "out.json"
    machine.stops_at, machine.by = 2, KeyboardInterrupt()
    with pytest.raises((KeyboardInterrupt, click.Abort)):
        run(*ENDS, "-q", "-o", file)
    before = file.read_bytes()
    monkeypatch.setattr(action, "_provider", refused)
    with pytest.raises(BadInput):
        run("--resume", file, "-q")
    assert file.read_bytes() == before


def test_a_file_that_cannot_be_written_is_tried_once(
    run: Bisect, machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []

    def failing(_: bytes, path: Path, **__: bool) -> None:
        tried.append(path)
        raise MachineError(f"cannot write to {path}")

    monkeypatch.setattr(keeping, "write_whole", failing)
    with pytest.raises(MachineError):
        run(*ENDS, "-q", "-o", tmp_path / "out.json")
    assert len(tried) == 1


def test_the_end_of_its_time_is_not_settled_and_tells_how_to_go_on(
    run: Bisect, machine: Machine, tmp_path: Path
) -> None:
    reported = run(*ENDS, "-q", "--max-time", "1m", "-o", tmp_path / "out.json")
    assert reported.code == 3
    assert reported.out.startswith("not done: s5cmd: --max-time 1m has passed")
    assert f"--resume {tmp_path}/out.json" in reported.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "a client and two of its versions"),
        (("--client", "s5cmd", "--good", "0.1"), "a client and two of its versions"),
        (("--resume", "x.json", "--seed", "1", "-k", "4KB"), "-k, --seed cannot be changed now"),
        (("--resume", "missing.json"), "missing.json"),
        ((*ENDS, "--metric", "total_tme"), "did you mean total_time?"),
        ((*ENDS, "--metric", "p95_memory"), "bisect does not measure it"),
        ((*ENDS, "--metric", "load.latency.p99"), "bisect does not measure it"),
        ((*ENDS, "--pairs", "10,9"), "ascend"),
        ((*ENDS, "--pairs", "4"), "too few to show any change"),
        ((*ENDS, "--zone", "total_time=1"), "--zone"),
        ((*ENDS, "-o", "."), "directory"),
        ((*ENDS, "--client", "s5cmd@0.3"), "--good and --bad"),
        ((*ENDS, "--client", "s5cmd@./here"), "--good and --bad"),
        ((*ENDS, "--client", "s5cm"), "did you mean `s5cmd`?"),
        ((*ENDS, "-k", "nothing-like-it"), "-k"),
    ],
)
@pytest.mark.usefixtures("machine")
def test_bad_input_is_reported_before_anything_runs(
    arguments: tuple[str, ...], said: str, run: Bisect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput) as caught:
        run(*arguments)
    assert said in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("machine")
def test_the_record_does_not_replace_the_definitions(run: Bisect, tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_text("[]")
    with pytest.raises(BadInput, match=r"mine\.json would overwrite an input file"):
        run(*ENDS, file, "-o", file, "--force")
    assert file.read_text() == "[]"


def test_other_benchmarks_cannot_be_gone_on_with(run: Bisect, machine: Machine, tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    run(*ENDS, "-o", file, "--max-time", "1m")
    record = json.loads(file.read_text())
    record["options"]["select"] = "download and 4KB"
    file.write_text(json.dumps(record))
    with pytest.raises(BadInput, match="not those of the record"):
        run("--resume", file)


def test_a_record_of_a_client_that_is_not_there_is_refused(run: Bisect, machine: Machine, tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    run(*ENDS, "-o", file, "--max-time", "1m")
    record = json.loads(file.read_text())
    file.write_text(json.dumps({**record, "client": "nope"}))
    with pytest.raises(BadInput, match="there is no client `nope`"):
        run("--resume", file)


def test_a_search_selects_from_the_default_suite_and_a_former_record_continues_with_its_own_benchmarks(
    run: Bisect, machine: Machine, tmp_path: Path
) -> None:
    file, ends = tmp_path / "out.json", (*ENDS[:6], "-k", "upload and 4KB and cp")
    run(*ends, "-o", file, "--max-time", "1m")
    record = json.loads(file.read_text())
    assert (record["benchmarks"], record["options"]["suite"]) == (["s3.cp.upload FileSize=4KB"], "default")
    former = tmp_path / "former.json"
    run(*ends, "--suite", "full", "-o", former, "--max-time", "1m")
    record = json.loads(former.read_text())
    assert len(record["benchmarks"]) == 3
    record["options"]["suite"] = None
    former.write_text(json.dumps(record))
    run("--resume", former, "--max-time", "1m")


@pytest.fixture
def with_botocore(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A client with a dependency, some versions of which it allows."""
    del machine
    allowed = SimpleNamespace(versions=VERSIONS, asked=[])

    def base(kind: str, version: str | None, *_: object) -> Base:
        allowed.asked.append(version)
        return Base(kind=kind, version=version or "1.44.5", site=Path("/site"), pins={"botocore": "0.3"})

    monkeypatch.setattr(action, "base_of", base)
    monkeypatch.setattr(action, "published_between", lambda *_: VERSIONS)
    monkeypatch.setattr(
        action,
        "combinable",
        lambda *_: Combinable(versions=allowed.versions, left_out=("0.9: no",), notes=("an extra",)),
    )
    return allowed


OF_BOTOCORE = (
    "--client", "boto3-classic@1.43.0", "--dependency", "botocore", "--good", "0.0", "--bad", "0.7",
    "-k", "upload and 4KB and cp and not 100 and not 5,000",
)  # fmt: skip


def test_of_a_dependency_what_cannot_be_combined_is_left_out_and_said(
    run: Bisect, with_botocore: SimpleNamespace
) -> None:
    with_botocore.versions = tuple(version for version in VERSIONS if version != "0.3")
    reported = run(*OF_BOTOCORE)
    assert reported.out.startswith("found: botocore 0.5 under boto3-classic 1.43.0 is the first")
    assert "left out: 0.9: no" in reported.out
    assert "warning: an extra" in reported.out
    assert with_botocore.asked[0] == "1.43.0"


@pytest.mark.usefixtures("with_botocore")
def test_other_dependencies_cannot_be_gone_on_with(run: Bisect, machine: Machine, tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    run(*OF_BOTOCORE, "-o", file, "--max-time", "1m")
    record = json.loads(file.read_text())
    record["options"]["pins"] = {"botocore": "0.2"}
    file.write_text(json.dumps(record))
    with pytest.raises(BadInput, match="other dependencies"):
        run("--resume", file)


def test_ends_that_cannot_be_combined_are_refused(run: Bisect, with_botocore: SimpleNamespace) -> None:
    with_botocore.versions = VERSIONS[1:]
    with pytest.raises(BadInput) as caught:
        run(*OF_BOTOCORE)
    assert "cannot both be combined with boto3 1.43.0" in str(caught.value)
    assert "0.9: no" in str(caught.value)


@pytest.mark.usefixtures("machine")
def test_the_cause_is_looked_for_after_the_result_unless_it_is_not_wanted(run: Bisect, tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    assert "Why total_time" not in run(*ENDS, "--no-explain", "-o", file).out
    resumed = run("--resume", file)
    assert (resumed.code, "Why total_time of s3.cp.upload FileSize=4KB changed by +" in resumed.out) == (0, True)
    assert "looking for the cause" in resumed.err
    assert json.loads(file.read_text())["explanation"]["benchmark"] == "s3.cp.upload FileSize=4KB"


@pytest.mark.usefixtures("machine")
def test_ctrl_c_during_that_keeps_what_was_found(run: Bisect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_args: object, **_options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(action, "with_explanation", interrupt)
    reported = run(*ENDS, "-o", tmp_path / "out.json")
    assert reported.code == 0
    assert "the search for causes was interrupted" in reported.out
