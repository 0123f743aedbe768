"""Bad input to `s3bench record` ends with exit code 2, says how to mend it, and runs nothing."""

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


@pytest.mark.parametrize("url", ["127.0.0.1:9000", "http://user:pass@127.0.0.1:9000"])
def test_an_endpoint_is_a_url_without_a_password(url: str) -> None:
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


def test_parameters_in_a_file_need_their_contents(folder: Path) -> None:
    (folder / "p.json").write_text("{}")
    error = refused("--as", "s3api put-object --cli-input-json file://p.json", "--", "touch", RAN)
    assert "--contents" in error.fix


def test_a_command_of_another_program_needs_one_of_aws_cli() -> None:
    assert "--as" in refused("--", "touch", RAN).fix


def test_a_program_that_is_missing_is_bad_input() -> None:
    assert "cannot be started" in refused("--as", "s3 ls", "--", "no-such-program-here").what


def test_a_folder_to_upload_that_is_missing_is_bad_input() -> None:
    assert "no such file" in refused("--as", "s3 sync ./data s3://bucket/x", "--", "touch", RAN).what
