"""What a shell completes, asked as its script asks."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from s3bench.clients.registry import known_clients
from tests.cli.conftest import Here

Completed = Callable[[str], list[str]]


@pytest.fixture
def completed(here: Here, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Completed:
    """The completions of the last word of a command line."""
    monkeypatch.setenv("S3BENCH_HOME", str(tmp_path))
    monkeypatch.setenv("_S3BENCH_COMPLETE", "bash_complete")

    def run(line: str) -> list[str]:
        words = line.split(" ")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
        finished = here()
        assert (finished.returncode, finished.stderr) == (0, "")
        return finished.stdout.split()

    return run


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("s3bench hist", ["plain,history"]),
        ("s3bench history tr", ["plain,trend"]),
        ("s3bench load mer", ["plain,merge"]),
        ("s3bench load merge --for", ["plain,--force"]),
        ("s3bench load --matrix-t", ["plain,--matrix-threads"]),
        ("s3bench load --keys z", ["plain,zipf"]),
        ("s3bench load --operation mul", ["plain,multipart"]),
        ("s3bench load --cluster ", ["plain,auto"]),
        ("s3bench load --ca-bundle ce", ["file,ce"]),
        ("s3bench load pro", ["file,pro"]),
        ("s3bench run --suite f", ["plain,full"]),
        ("s3bench run -o re", ["file,re"]),
        ("s3bench run --client cli-cr", ["plain,cli-crt"]),
        ("s3bench tune upload --clients s5cmd,cli-cr", ["plain,s5cmd,cli-crt"]),
        ("s3bench serve --data-dir da", ["dir,da"]),
        ("s3bench clients install aws", ["plain,aws-cli", "plain,awscrt"]),
        ("s3bench completion z", ["plain,zsh"]),
    ],
)
def test_commands_options_choices_files_and_clients_are_completed(
    completed: Completed, line: str, expected: list[str]
) -> None:
    assert completed(line) == expected


def test_installed_versions_of_a_client_are_completed(completed: Completed, tmp_path: Path) -> None:
    (tmp_path / "clients" / "aws-cli" / "2.36.0").mkdir(parents=True)
    assert completed("s3bench gate --baseline cli-crt") == ["plain,cli-crt", "plain,cli-crt@2.36.0"]
    names = [f"plain,{name}" for name in known_clients()]
    assert [each for each in completed("s3bench bisect --client ") if "@" not in each] == names


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_each_shell_is_printed_and_is_one(here: Here, shell: str, tmp_path: Path) -> None:
    finished = here("completion", shell)
    assert (finished.returncode, finished.stderr) == (0, "")
    assert "_S3BENCH_COMPLETE" in finished.stdout
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    script = tmp_path / "script"
    script.write_text(finished.stdout)
    subprocess.run((shell, "-n", str(script)), check=True, timeout=60, env={"PATH": os.environ["PATH"]})


def test_another_shell_is_refused(here: Here) -> None:
    finished = here("completion", "tcsh")
    assert finished.returncode == 2
    assert "'tcsh' is not one of 'bash', 'zsh', 'fish'" in finished.stderr
