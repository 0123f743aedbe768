"""`s3bench compare`: what it prints, and its exit codes."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from s3bench.cli.compare.command import compare_command
from s3bench.compare.comparison import Comparison
from s3bench.errors import ExitCode, S3BenchError
from s3bench.results.file import write_document
from tests.cli.conftest import Here
from tests.compare.documents import BASE, client, document, result, slower


@pytest.fixture
def files(tmp_path: Path) -> Path:
    classic, crt = (
        result(times, of=client(f"cli-{name.lower()}"), dimensions={"FileSize": "4KB", "S3TransferClient": name})
        for name, times in (("Classic", BASE), ("CRT", slower(BASE, 0.5)))
    )
    write_document(document(classic, crt), tmp_path / "before.json", durable=False)
    late = msgspec.structs.replace(crt, measurements=result(slower(BASE, 0.8)).measurements)
    write_document(document(classic, late), tmp_path / "after.json", durable=False)
    write_document(document(result(name="s3.rm")), tmp_path / "else.json", durable=False)
    (tmp_path / "broken.json").write_text("{", encoding="utf-8")
    return tmp_path


@dataclass(frozen=True)
class Finished:
    stdout: str
    error: S3BenchError | None


Compare = Callable[..., Finished]


@pytest.fixture
def compare(files: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Compare:
    monkeypatch.chdir(files)

    def run(*arguments: str) -> Finished:
        error = None
        try:
            compare_command.main(list(arguments), standalone_mode=False)
        except S3BenchError as caught:
            error = caught
        sys.stdout.flush()
        return Finished(stdout=capfdbinary.readouterr().out.decode(), error=error)

    return run


def test_the_command_itself_says_what_is_wrong_and_exits_2(here: Here, files: Path) -> None:
    finished = here("compare", "before.json", cwd=files)
    assert (finished.returncode, finished.stdout) == (2, "")
    assert finished.stderr.splitlines() == [
        "s3bench: compare needs two results documents",
        "  add a second one, or add --by DIMENSION to compare within this one, for example --by client",
    ]


def test_in_a_pipe_there_is_no_color_and_a_regression_is_no_failure(here: Here, files: Path) -> None:
    finished = here("compare", "before.json", "after.json", cwd=files)
    assert (finished.returncode, finished.stderr) == (0, "")
    assert "\x1b" not in finished.stdout
    assert "slower" in finished.stdout


def test_a_regression_is_told_first(compare: Compare) -> None:
    finished = compare("before.json", "after.json")
    assert finished.error is None
    assert finished.stdout.splitlines()[0] == (
        "1 slower, 1 with more CPU time, 4 without difference, 10 counts equal (after.json against before.json)"
    )


def test_a_document_against_itself_shows_exactly_no_difference(compare: Compare) -> None:
    finished = compare("before.json", "before.json", "--metric", "all")
    assert finished.stdout.startswith("no difference: the same measurements on both sides (before.json against")
    assert len(finished.stdout.splitlines()) == 3


def test_transfer_clients_within_one_document(compare: Compare) -> None:
    finished = compare("before.json", "--by", "S3TransferClient", "--baseline", "CRT", "--metric", "total_time")
    assert finished.stdout.startswith("1 slower (S3TransferClient=Classic against S3TransferClient=CRT)\n")
    by_client = compare("before.json", "--by", "client", "--metric", "total_time")
    assert by_client.stdout.startswith("1 faster (client=cli-crt against client=cli-classic)\n")


def test_json_holds_every_row_and_can_be_read_back(compare: Compare) -> None:
    finished = compare("before.json", "after.json", "--json")
    comparison = msgspec.json.decode(finished.stdout, type=Comparison)
    assert comparison.schema_version == 3
    assert [row.word for row in comparison.others[0].rows][:3] == ["slower", "more CPU time", "no difference"]
    assert len(comparison.others[0].rows) == 16
    assert json.loads(finished.stdout)["others"][0]["rows"][0]["change"] == pytest.approx(0.6)


def test_markdown_is_a_table(compare: Compare) -> None:
    finished = compare("before.json", "after.json", "--markdown")
    assert finished.stdout.startswith("**1 slower")
    assert "| --- | --- | ---: |" in finished.stdout


def test_all_shows_all(compare: Compare) -> None:
    short, long = (compare("before.json", "after.json", *flags).stdout for flags in ((), ("--all",)))
    assert "not shown" in short
    assert "not shown" not in long
    assert len(long) > len(short)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "no results document was given"),
        (("before.json",), "--by client"),
        (("before.json", "missing.json"), "cannot read missing.json"),
        (("before.json", "."), "cannot read"),
        (("before.json", "broken.json"), "broken.json is not JSON"),
        (("before.json", "else.json"), "no benchmark in common"),
        (("before.json", "after.json", "--metric", "totaltime"), "did you mean `total_time`?"),
        (("before.json", "--by", "Size"), "The documents have `FileSize`, `S3TransferClient` or `client`"),
        (("before.json", "--by", "client", "--baseline", "s5"), "client has the values `cli-classic` or `cli-crt`"),
        (("before.json", "after.json", "--baseline", "x"), "--baseline needs --by"),
        (("before.json", "after.json", "--json", "--markdown"), "remove one of them"),
    ],
)
def test_bad_input_is_exit_code_2_and_says_what_to_do(compare: Compare, arguments: tuple[str, ...], said: str) -> None:
    finished = compare(*arguments)
    assert finished.error is not None
    assert finished.error.exit_code is ExitCode.BAD_INPUT
    assert said in str(finished.error)
    assert finished.stdout == ""
