"""Where `s3bench gate` writes: refused before anything runs, and a report that fails late loses no verdict."""

import datetime as dt
import os
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from s3bench.cli import keeping
from s3bench.cli.gate import output
from s3bench.errors import BadInput, MachineError
from s3bench.gate.policy import Policy
from s3bench.gate.record import GateRecord, ProgramIdentity, encode_record, parse_record
from s3bench.results.file import write_whole
from tests.bench.scripted_bench import ScriptedBench
from tests.cli.conftest import Here
from tests.gate.evidence_maker import paired, ratios

LIVE = ("--baseline", "s5cmd", "--candidate", "s5cmd", "-k", "4KB")


def record(worsening: float, *, is_strict: bool = False) -> bytes:
    sides = {
        side: ProgramIdentity(label=f"s5cmd@{version}", name="s5cmd", version=version)
        for side, version in (("baseline", "1"), ("candidate", "2"))
    }
    made = GateRecord(
        s3bench="0",
        started_at="2026-11-21T00:00:00.000Z",
        options={"strict": is_strict},
        policy=Policy(),
        today=dt.date(2026, 11, 21),
        cells=(paired(ratios(worsening, 0.01)),),
        **sides,
    )
    return encode_record(made.concluded())


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current directory with records that end with SMALL, with and without --strict, and with FAIL."""
    (tmp_path / "small.json").write_bytes(record(0.04))
    (tmp_path / "strict.json").write_bytes(record(0.04, is_strict=True))
    (tmp_path / "fail.json").write_bytes(record(0.10))
    (tmp_path / "directory").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("option", ["-o", "--junit", "--markdown", "--comment"])
@pytest.mark.parametrize("path", ["directory", "missing/file"])
def test_a_file_that_cannot_be_written_is_refused_before_anything_runs(
    here: Here, place: Path, bench: ScriptedBench, option: str, path: str
) -> None:
    for arguments in (LIVE, ("--replay", "small.json")):
        finished = here("gate", *arguments, option, path)
        assert (finished.returncode, finished.stdout) == (2, "")
        assert f"cannot write to {path}" in finished.stderr
    assert not bench.runs
    assert not list((place / "directory").iterdir())


def test_a_summary_that_may_not_be_appended_to_is_refused_at_the_start(
    here: Here, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "summary.md").write_text("# Summary\n")
    monkeypatch.setattr(
        "s3bench.cli.gate.output.os.access", lambda path, mode: (path, mode) != (Path("summary.md"), os.W_OK)
    )
    finished = here("gate", "--replay", "small.json", "--markdown", "summary.md")
    assert (finished.returncode, finished.stdout) == (2, "")
    assert "cannot write to summary.md: it is not writable" in finished.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--replay", "small.json", "-o", "o.json", "--junit", "o.json"), "-o and --junit both write to o.json"),
        (
            ("--replay", "small.json", "-o", "o.json", "--markdown", "./o.json"),
            "-o and --markdown both write to o.json",
        ),
        (
            ("--replay", "small.json", "--comment", "link.md", "--markdown", "new.md"),
            "--markdown and --comment both write to",
        ),
        (("--replay", "small.json", "-o", "small.json"), "-o small.json would overwrite an input file of --replay"),
        (
            ("--replay", "small.json", "--markdown", "small.json"),
            "--markdown small.json would overwrite an input file of --replay",
        ),
        (
            ("--waivers", "w.json", *LIVE, "--junit", "w.json"),
            "--junit w.json would overwrite an input file of --waivers",
        ),
        (("fail.json", "small.json", "--markdown", "fail.json"), "--markdown fail.json would overwrite an input file"),
        (("--self-test", "-o", "fail.json", "fail.json"), "-o fail.json would overwrite an input file"),
    ],
)
def test_one_file_for_two_purposes_is_refused_even_with_force(
    here: Here, place: Path, bench: ScriptedBench, arguments: tuple[str, ...], said: str
) -> None:
    (place / "w.json").write_text('{"waivers": []}')
    (place / "link.md").symlink_to("new.md")
    before = {path.name: path.read_bytes() for path in place.glob("*.json")}
    finished = here("gate", *arguments, "--force")
    assert (finished.returncode, finished.stdout) == (2, "")
    assert said in finished.stderr
    assert "pass another file" in finished.stderr
    assert not bench.runs
    assert {path.name: path.read_bytes() for path in place.glob("*.json")} == before


def test_reports_into_files_of_their_own_are_all_written(here: Here, place: Path) -> None:
    (place / "summary.md").write_text("# Summary\n")
    reports = ("-o", "o.json", "--junit", "j.xml", "--markdown", "summary.md", "--comment", "c.md")
    finished = here("gate", "--replay", "fail.json", *reports)
    assert finished.returncode == 1, finished.stderr
    assert finished.stdout.startswith("FAIL: s5cmd@2 against s5cmd@1")
    parse_record((place / "o.json").read_bytes(), source="o.json")
    assert ET.fromstring((place / "j.xml").read_bytes()).tag == "testsuites"
    assert (place / "summary.md").read_text().startswith("# Summary\n")
    assert "FAIL" in (place / "summary.md").read_text()
    assert "FAIL" in (place / "c.md").read_text()


@pytest.mark.parametrize(
    "error", [MachineError("cannot write to j.xml", "disk full"), BadInput("cannot write to j.xml")]
)
def test_a_report_that_fails_late_loses_neither_the_verdict_nor_the_other_reports(
    here: Here, place: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def written(content: bytes, path: Path, **rest: Any) -> None:
        if path.name == "j.xml":
            raise error
        write_whole(content, path, **rest)

    def replaced_by_a_directory(*_: object) -> str:
        (place / "summary.md").mkdir()
        return "summary"

    monkeypatch.setattr(output, "write_whole", written)
    monkeypatch.setattr(output, "render_summary", replaced_by_a_directory)
    reports = ("-o", "o.json", "--junit", "j.xml", "--markdown", "summary.md", "--comment", "c.md", "--annotations")
    finished = here("gate", "--replay", "fail.json", *reports)
    assert finished.returncode == 4
    assert finished.stdout.startswith("FAIL: s5cmd@2 against s5cmd@1")
    assert "::error title=FAIL" in finished.stderr
    assert "s3bench: cannot write to j.xml" in finished.stderr
    assert "cannot write to summary.md" in finished.stderr
    assert "Is a directory" in finished.stderr
    parse_record((place / "o.json").read_bytes(), source="o.json")
    assert "FAIL" in (place / "c.md").read_text()


def test_a_record_that_cannot_be_written_at_the_end_is_rescued_and_its_verdict_shown(
    here: Here, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object, **__: object) -> None:
        raise MachineError("cannot write to o.json", "disk full", "the results were saved in /tmp/x")

    monkeypatch.setattr(keeping, "write_whole", failing)
    finished = here("gate", "--replay", "fail.json", "-o", "o.json")
    assert finished.returncode == 4
    assert finished.stdout.startswith("FAIL: ")
    assert "the results were saved in /tmp/x" in finished.stderr
    assert "--replay o.json" not in finished.stdout


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--replay", "small.json"), 0),
        (("--replay", "small.json", "--strict"), 1),
        (("--replay", "strict.json"), 1),
        (("--replay", "fail.json", "--strict"), 1),
    ],
)
def test_every_report_is_red_where_the_gate_is(here: Here, place: Path, arguments: tuple[str, ...], code: int) -> None:
    finished = here("gate", *arguments, "--junit", "j.xml", "--annotations", "-o", "again.json")
    assert finished.returncode == code, finished.stderr
    assert (ET.fromstring((place / "j.xml").read_bytes()).get("failures") != "0") is bool(code)
    assert ("::error " in finished.stderr) is bool(code)
    assert here("gate", "--replay", "again.json").returncode == code
