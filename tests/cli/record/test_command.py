"""Bad input to `s3bench record` ends with exit code 2, says how to mend it, and runs nothing; recordings are kept."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from s3bench.cli.main import s3bench_command
from s3bench.errors import BadInput

RAN = "ran"
TOUCH = ("--as", "s3 ls", "--", "touch", RAN)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(*arguments: str) -> BadInput:
    outcome = CliRunner().invoke(s3bench_command, ["record", *arguments])
    assert isinstance(outcome.exception, BadInput)
    assert not Path(RAN).exists()
    assert outcome.exception.fix
    return outcome.exception


def test_a_command_is_needed() -> None:
    assert "no command" in refused().what


def test_a_file_that_exists_is_not_overwritten(folder: Path) -> None:
    (folder / "d.json").write_text("mine")
    assert "exists" in refused("-o", "d.json", *TOUCH).what
    assert (folder / "d.json").read_text() == "mine"


def test_force_needs_a_file() -> None:
    assert "--force needs -o" in refused("--force", *TOUCH).what


def test_the_emulator_is_not_filled_for_another_endpoint() -> None:
    assert "--bucket" in refused("--endpoint-url", "http://127.0.0.1:1", "--bucket", "b", *TOUCH).what


def test_a_bucket_needs_a_name_that_s3_allows() -> None:
    assert refused("--bucket", "Not_A_Bucket", *TOUCH).what == "--bucket Not_A_Bucket: not a valid bucket name"
    assert "BASE--ZONE-ID--x-s3" in refused("--bucket", "logs--x-s3", *TOUCH).why


@pytest.mark.parametrize(
    "url",
    [
        "127.0.0.1:9000",
        "http://",
        "http://127.0.0.1:port",
        "http://127.0.0.1:99999",
        "http://127.0.0.1:9000/prefix",
        "http://127.0.0.1:9000/?query",
        "http://user:pass@127.0.0.1:9000",
    ],
)
def test_an_endpoint_is_a_url_of_a_host_without_a_password(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-key")
    assert "pass" not in refused("--endpoint-url", url, *TOUCH).what.partition("password")[0]


def test_a_data_dir_has_to_exist() -> None:
    assert "--data-dir missing: no such directory" in refused("--data-dir", "missing", *TOUCH).what


def test_a_data_dir_without_buckets_is_refused(folder: Path) -> None:
    (folder / "data").mkdir()
    (folder / "data" / "object").write_text("not in a bucket")
    error = refused("--data-dir", "data", *TOUCH)
    assert error.what == "--data-dir data has no subdirectories"


def test_a_command_that_is_understood_needs_no_other_to_stand_for_it() -> None:
    error = refused("--as", "s3 cp data s3://bucket/x", "--", "aws", "s3", "ls")
    assert error.what == "--as cannot be combined with a command of aws"


def test_a_path_outside_of_the_folder_is_refused_with_the_way_to_name_it() -> None:
    error = refused("--as", "s3 sync /etc s3://bucket/x", "--", "touch", RAN)
    assert "leaves the workspace" in error.why
    assert "change to the folder" in error.fix


@pytest.mark.parametrize("parameter", ["--cli-input-json file://p.json", "--metadata a@=file://p.json"])
def test_parameters_in_a_file_need_their_contents(folder: Path, parameter: str) -> None:
    (folder / "p.json").write_text("{}")
    error = refused("--as", f"s3api put-object {parameter}", "--", "touch", RAN)
    assert "--contents" in error.fix


def test_a_command_that_stands_for_it_has_its_quotes_closed() -> None:
    assert "not a command line" in refused("--as", "s3 cp 'a s3://b/c", "--", "touch", RAN).what


@pytest.mark.parametrize("name", ["", "a\tb"])
def test_a_name_that_no_benchmark_can_have_is_bad_input(name: str) -> None:
    assert refused("--name", name, *TOUCH).what.startswith("--name ")


def test_a_command_of_another_program_needs_one_of_aws_cli() -> None:
    assert "--as" in refused("--", "touch", RAN).fix


def test_a_program_that_is_missing_is_bad_input() -> None:
    assert "cannot be started" in refused("--as", "s3 ls", "--", "no-such-program-here").what


def test_a_folder_to_upload_that_is_missing_is_bad_input() -> None:
    assert "no such file" in refused("--as", "s3 sync ./data s3://bucket/x", "--", "touch", RAN).what


GET = """
import os, sys, urllib.request
with urllib.request.urlopen(os.environ["AWS_ENDPOINT_URL"] + sys.argv[1]) as response:
    response.read()
"""
GETS = ("--as", "s3api get-object --bucket bucket --key key file", "--", sys.executable, "-c", GET)
RECORD = (sys.executable, "-c", "from s3bench.cli.main import main; main()", "record")


@pytest.fixture
def objects(folder: Path) -> Path:
    (folder / "objects" / "bucket").mkdir(parents=True)
    (folder / "objects" / "bucket" / "key").write_text("content")
    return folder / "objects"


def test_a_file_below_the_data_dir_whose_name_is_not_utf_8_is_skipped_with_a_warning(objects: Path) -> None:
    Path(os.fsdecode(os.fsencode(objects / "bucket") + b"/\xff")).write_text("no key")
    outcome = CliRunner().invoke(s3bench_command, ["record", "--data-dir", "objects", *GETS, "/bucket/key"])
    assert outcome.exit_code == 0, outcome.exception
    assert json.loads(outcome.stdout)[0]["name"] == "s3api.get-object"
    assert "warning: not served, since their names are not UTF-8: bucket/\\udcff\n" in outcome.stderr


LEAVES = "import os, shutil, sys; exec(os.environ['GET']); shutil.rmtree('out')"


@pytest.mark.parametrize("to", ["file", "stdout"])
def test_a_definition_that_cannot_be_written_to_its_place_is_saved_elsewhere(
    objects: Path, tmp_path: Path, to: str
) -> None:
    del objects
    (tmp_path / "out").mkdir()
    (tmp_path / "saved").mkdir()
    place = ("-o", "out/d.json") if to == "file" else ()
    with Path("/dev/full" if to == "stdout" else os.devnull).open("wb") as stdout:
        finished = subprocess.run(
            [*RECORD, "--data-dir", "objects", *place, *GETS[:-1], LEAVES, "/bucket/key"],
            env={**os.environ, "TMPDIR": str(tmp_path / "saved"), "GET": GET},
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert finished.returncode == 4, finished.stderr
    [saved] = (tmp_path / "saved").glob("s3bench-results-*")
    assert str(saved) in finished.stderr
    assert json.loads(saved.read_text())[0]["name"] == "s3api.get-object"
