"""The front door: help, exit codes, errors in words, pipes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from s3bench.cli.main import COMMANDS
from tests.cli.conftest import Finished, Here

COMMAND = (sys.executable, "-c", "from s3bench.cli.main import main; main()")
SHIPPED = Path(__file__).parents[2] / "benchmarks.json"


def s3bench(*arguments: str, cwd: Path | None = None) -> Finished:
    return subprocess.run((*COMMAND, *arguments), capture_output=True, text=True, timeout=200, check=False, cwd=cwd)


def test_it_is_the_same_in_this_process_and_in_its_own(here: Here, tmp_path: Path) -> None:
    for arguments in (("run", "--client", "cli-ctr"), ("load", "--help")):
        mine, own = here(*arguments), s3bench(*arguments, cwd=tmp_path)
        assert (mine.returncode, mine.stdout, mine.stderr) == (own.returncode, own.stdout, own.stderr)


def test_help_names_every_command_and_every_exit_code(here: Here) -> None:
    finished = here("--help")
    assert finished.returncode == 0
    for name in COMMANDS:
        assert name in finished.stdout
    for code in ("0 success", "1 a regression", "2 bad input", "3 inconclusive", "4 a client", "130 interrupted"):
        assert code in " ".join(finished.stdout.split())


def test_the_shell_completes_commands_options_and_files(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    def completed(line: str) -> str:
        monkeypatch.setenv("_S3BENCH_COMPLETE", "bash_complete")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(line.count(" ")))
        return here().stdout

    assert completed("s3bench val") == "plain,validate\n"
    assert "plain,--client\n" in completed("s3bench run --cl")
    assert completed("s3bench validate be") == "file,be\n"


@pytest.mark.parametrize("command", list(COMMANDS))
def test_every_command_has_help_with_an_example(here: Here, command: str) -> None:
    finished = here(command, "--help")
    assert finished.returncode == 0
    assert f"  s3bench {command}" in finished.stdout
    assert "\\b" not in finished.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nonsense",), "No such command"),
        (("raport",), "No such command 'raport'. Did you mean 'report'?"),
        (("history", "trnd"), "No such command 'trnd'. Did you mean 'trend'?"),
        (("clients", "instal"), "Did you mean one of: 'install', 'list'?"),
        (("run", "--num-iteration", "2"), "No such option '--num-iteration'. Did you mean '--num-iterations'?"),
        (("run", "--num-iterations", "0"), "num-iterations"),
        (("run", "--client", "cli-ctr"), "did you mean `cli-crt`?"),
        (("run", "-k", "cp and ("), "-k"),
        (("run", "missing.json"), "missing.json"),
        (("run", "--num-chunks", "2", "--chunk-id", "2"), "--chunk-id"),
        (("run", "--endpoint-url", "http://127.0.0.1:9"), "--bucket"),
        (("run", "--tls", "--stub", "in-process"), "--tls"),
        (("run", "-o", "."), "directory"),
        (("validate",), "no definition file"),
        (("validate", "--schema", "mine.json"), "--schema checks no file"),
        (("run", "--network", "ec2:c5.large"), "--endpoint emulator"),
        (("run", "--endpoint", "emulator", "--network", "ec2:c5.lrge"), "ec2:c5.large"),
        (("run", "--endpoint", "emulator", "--stub", "in-process"), "--stub in-process"),
        (("run", "--endpoint", "emulator", "--endpoint-url", "http://127.0.0.1:9", "--bucket", "b"), "--endpoint-url"),
        (("run", "--endpoint", "emulator", "--no-verify"), "verifies"),
    ],
)
def test_bad_input_is_told_in_words_with_exit_code_2(
    here: Here, arguments: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    finished = here(*arguments, cwd=tmp_path)
    assert finished.returncode == 2
    assert finished.stdout == ""
    assert said in finished.stderr
    assert "Traceback" not in finished.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    program = f"{sys.executable} -c 'from s3bench.cli.main import main; main()' validate --schema | head -n 1"
    finished = subprocess.run(
        program, shell=True, capture_output=True, text=True, timeout=200, check=False, cwd=tmp_path
    )
    assert finished.stdout == "{\n"
    assert finished.stderr == ""


class TestValidate:
    def test_the_shipped_definitions_are_right(self, here: Here) -> None:
        finished = here("validate", str(SHIPPED))
        assert finished.returncode == 0
        assert "no problem" in finished.stderr

    def test_every_problem_of_every_file_is_told(self, here: Here, tmp_path: Path) -> None:
        (tmp_path / "one.json").write_text('[{"name": "a", "comand": ["x"]}]')
        (tmp_path / "two.json").write_text('[{"name": 1, "command": ["x"]}]')
        finished = here("validate", "--json", "one.json", "two.json", cwd=tmp_path)
        assert finished.returncode == 2
        rows = json.loads(finished.stdout)
        assert {(row["source"], row["path"]) for row in rows} >= {
            ("one.json", "$[0].comand"),
            ("two.json", "$[0].name"),
        }

    def test_the_schema_is_json(self, here: Here) -> None:
        assert json.loads(here("validate", "--schema").stdout)["type"] == "array"


class TestList:
    def test_the_default_suite_leaves_the_slow_ones_out_and_the_full_one_has_them(self, here: Here) -> None:
        default = here("run", "--list").stdout.splitlines()
        full = here("run", "--list", "--suite", "full").stdout.splitlines()
        assert set(default) < set(full)
        assert any("FileSize=256MB" in line for line in default)
        assert any("secretsmanager" in line for line in full)
        assert not any("secretsmanager" in line for line in default)

    @pytest.mark.parametrize(
        "select", ["cp and upload and 4KB", "FileSize=4KB", "not ec2", "256MB", "s5cmd and not sync"]
    )
    def test_a_selection_never_runs_what_the_default_suite_does_not_have(self, here: Here, select: str) -> None:
        default, picked = (set(here("run", "--list", *of).stdout.splitlines()) for of in ((), ("-k", select)))
        assert picked
        assert picked < default
        assert picked < set(here("run", "--list", "--suite", "full", "-k", select).stdout.splitlines())

    def test_a_selection_that_only_the_full_suite_has_names_the_option(self, here: Here) -> None:
        finished = here("run", "--list", "-k", "secretsmanager")
        assert (finished.returncode, finished.stdout) == (2, "")
        assert finished.stderr.endswith("add --suite full\n")

    def test_chunks_share_out_everything(self, here: Here) -> None:
        chunks = [here("run", "--list", "--num-chunks", "3", "--chunk-id", str(i)).stdout for i in range(3)]
        lines = [line for chunk in chunks for line in chunk.splitlines()]
        assert sorted(lines) == sorted(here("run", "--list").stdout.splitlines())
