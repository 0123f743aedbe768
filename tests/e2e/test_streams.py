"""Closed, full and abandoned standard streams: nothing that was measured is lost, and no exit code means another."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import COMMAND, upload

Shell = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """Run a line of bash in which `s3bench` is the command line; its temporary files go below `tmp_path`."""
    program, option, code = COMMAND
    environment = {**os.environ, "TMPDIR": str(tmp_path)}

    def run(line: str) -> "subprocess.CompletedProcess[str]":
        script = f"s3bench() {{ '{program}' {option} '{code}' \"$@\"; }}; set -o pipefail; {line}"
        return subprocess.run(
            ("bash", "-c", script),
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )

    return run


@pytest.fixture
def benchmark_file(tmp_path: Path) -> str:
    path = tmp_path / "definitions.json"
    zeros = {"files": [{"name": "file", "size": 1000}]}
    path.write_text(json.dumps([upload(1000, clients=["s5cmd"], environment=zeros)]))
    return path.name


def measured(path: Path) -> list[Any]:
    [result] = json.loads(path.read_text())["results"]
    assert result["errors"] == []
    found: list[Any] = result["measurements"]
    return found


def test_a_run_without_any_standard_stream_measures_and_keeps_the_results(
    shell: Shell, benchmark_file: str, tmp_path: Path
) -> None:
    finished = shell(f"s3bench run {benchmark_file} -n 2 -o results.json <&- >&- 2>&-")
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, "", "")
    assert len(measured(tmp_path / "results.json")) == 2


@pytest.mark.parametrize(
    ("stdout", "why"),
    [
        (">/dev/full", "No space left on device"),
        pytest.param(">&-", "it is closed", marks=pytest.mark.campaign),  # below, there is one of another command
    ],
)
def test_results_that_stdout_does_not_take_are_kept_in_a_file_that_the_error_names(
    shell: Shell, benchmark_file: str, tmp_path: Path, stdout: str, why: str
) -> None:
    finished = shell(f"s3bench run -q {benchmark_file} {stdout}")
    assert finished.returncode == 4
    what, reason, kept = finished.stderr.splitlines()
    assert (what, reason) == ("s3bench: cannot write to stdout", f"  {why}")
    assert len(measured(Path(kept.removeprefix("  the results were saved in ")))) == 1
    assert kept.removeprefix("  the results were saved in ").startswith(str(tmp_path))


def test_a_matrix_as_csv_that_stdout_does_not_take_is_kept_too(shell: Shell, tmp_path: Path) -> None:
    matrix = "--matrix-sizes 1KiB --matrix-threads 1 --matrix-samples 4 --objects 2 --format csv"
    finished = shell(f"s3bench load -q {matrix} >/dev/full")
    assert finished.returncode == 4
    kept = finished.stderr.splitlines()[-1].removeprefix("  the results were saved in ")
    assert kept.startswith(str(tmp_path))
    assert json.loads(Path(kept).read_text())["results"]


def test_messages_that_stderr_does_not_take_are_dropped(shell: Shell, benchmark_file: str, tmp_path: Path) -> None:
    finished = shell(f"s3bench run {benchmark_file} -o results.json 2>/dev/full")
    assert (finished.returncode, finished.stdout) == (0, "")
    assert len(measured(tmp_path / "results.json")) == 1


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("s3bench --help >/dev/full", 4),
        ("s3bench validate --schema >&-", 4),
        pytest.param("s3bench validate missing.json 2>&-", 2, marks=pytest.mark.campaign),
        ("s3bench validate missing.json 2>/dev/full", 2),
        ("s3bench nonsense 2>&-", 2),
        ("s3bench validate --json broken.json 2>/dev/null | head -n 1", 2),
        ("s3bench validate --schema | head -n 1", 0),
    ],
)
def test_no_stream_changes_what_the_exit_code_means(shell: Shell, tmp_path: Path, line: str, code: int) -> None:
    broken = [{"name": f"{number}", "command": 1} for number in range(1000)]  # more than a pipe holds
    (tmp_path / "broken.json").write_text(json.dumps(broken))
    finished = shell(line)
    assert finished.returncode == code
    assert "Traceback" not in finished.stderr
    assert "Exception ignored" not in finished.stderr


def test_what_nobody_flushed_is_not_lost_in_silence(shell: Shell) -> None:
    program = (
        "import sys; from s3bench.cli import main, validate; "
        'validate.plan_runs = lambda *_, **__: sys.stdout.write("x"); '
        'validate.read_file = lambda *_: (); sys.argv = ["s3bench", "validate", "x"]; '
        "main.main()"
    )
    finished = shell(f"'{sys.executable}' -c '{program}' >/dev/full")
    assert (finished.returncode, "cannot write to stdout" in finished.stderr) == (4, True)


def test_descriptors_that_were_missing_are_there_for_children_too(shell: Shell) -> None:
    program = (
        "import subprocess, sys; from s3bench.cli.streams import open_missing_descriptors; "
        'open_missing_descriptors(); sys.exit(subprocess.call(("sh", "-c", "true <&0 && true >&1 && true >&2")))'
    )
    assert shell(f"'{sys.executable}' -c '{program}' <&- >&- 2>&-").returncode == 0
