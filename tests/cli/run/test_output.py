"""Where the results of a run go, and what -q leaves on stderr."""

from pathlib import Path

import pytest

from s3bench.cli.run.command import run_command
from s3bench.cli.run.options import RunOptions
from s3bench.cli.run.output import RunOutput
from s3bench.results.document import Client, Document, Result
from s3bench.results.measurement import Failure

S5CMD = Client(name="s5cmd", version="2", label="s5cmd@2")


def document(failed: int) -> Document:
    """A result that did not fail, and so many that did."""
    failure = Failure(iteration=0, what="exited 1", exit_code=1, why="no such bucket")
    bad = tuple(Result(name=f"bad {number}", client=S5CMD, errors=(failure,)) for number in range(failed))
    return Document(s3bench="0", started_at="", results=(Result(name="good", client=S5CMD), *bad))


def finished(output: Path | None, *typed: str, failed: int = 1, losses: tuple[str, ...] = ()) -> None:
    arguments = [*typed, *(("-o", str(output)) if output else ())]
    options = RunOptions.of(run_command.make_context("run", arguments).params)
    RunOutput(options).finish(document(failed), losses=losses)


def test_failures_are_on_stderr_with_q_whether_the_document_is_in_a_file_or_on_stdout(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for output in (tmp_path / "out.json", None):
        finished(output, "-q")
        assert capsys.readouterr().err == "s3bench: bad 0 on s5cmd@2: 1 failed: exited 1: no such bucket\n"


def test_without_q_they_were_told_when_they_happened(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    finished(tmp_path / "out.json")
    assert capsys.readouterr().err == ""


def test_a_run_without_failures_says_nothing_with_q(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    finished(tmp_path / "out.json", "-q", failed=0)
    assert capsys.readouterr().err == ""


def test_of_many_failed_results_ten_are_told_and_where_the_others_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    finished(tmp_path / "out.json", "-q", failed=13)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 11
    assert lines[-1] == f"s3bench: the failures of 3 more results are in {tmp_path / 'out.json'}"
    finished(None, "-q", failed=11)
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == "s3bench: the failures of 1 more result are in the document on stdout"


def test_a_node_that_was_lost_is_told_with_q(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    finished(tmp_path / "out.json", "-q", failed=0, losses=("node-2 was removed: it does not respond",))
    assert capsys.readouterr().err == "s3bench: node-2 was removed: it does not respond\n"
