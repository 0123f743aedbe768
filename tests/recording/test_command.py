"""What stands in a definition for the command that was typed."""

from pathlib import Path

import pytest

from s3bench.errors import BadInput
from s3bench.recording.command import parse_command


def words(*argv: str, folder: Path = Path("/home/user"), stands_for: str | None = None) -> tuple[str, ...]:
    return parse_command(argv, stands_for=stands_for, folder=folder).words


def test_the_command_of_aws_cli_is_its_arguments() -> None:
    assert words("/opt/aws", "s3", "cp", "a", "s3://b/k") == ("s3", "cp", "a", "s3://b/k")


def test_options_that_run_sets_itself_are_left_out_and_the_profile_is_kept_apart() -> None:
    command = parse_command(
        ("aws", "--profile", "me", "s3", "ls", "--ca-bundle=x", "--no-verify-ssl"), stands_for=None, folder=Path("/")
    )
    assert command.words == ("s3", "ls")
    assert command.profile == "me"


def test_the_profile_of_a_translated_command_is_kept() -> None:
    argv = ("s5cmd", "--profile", "me", "cp", "a", "s3://b/k")
    assert parse_command(argv, stands_for=None, folder=Path("/")).profile == "me"


def test_paths_get_their_shortest_form(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    assert words("aws", "s3", "sync", "./data/", "s3://b/x", folder=tmp_path) == ("s3", "sync", "data/", "s3://b/x")
    absolute = str(tmp_path / "data")
    assert words("aws", "s3", "sync", absolute, "s3://b/x", folder=tmp_path) == ("s3", "sync", "data", "s3://b/x")


def test_a_service_that_is_also_the_name_of_a_folder_stays(tmp_path: Path) -> None:
    (tmp_path / "s3").mkdir()
    assert words("aws", "s3", "ls", folder=tmp_path) == ("s3", "ls")


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("cp a s3://b/k", "s3 cp a s3://b/k"),
        ("cp folder/ s3://b/p/", "s3 cp folder/ s3://b/p/ --recursive"),
        ("cp s3://b/p/* down/", "s3 cp s3://b/p/ down/ --recursive"),
        ("sync --delete folder/ s3://b/p/", "s3 sync folder/ s3://b/p/ --delete"),
        ("--numworkers 8 rm s3://b/p/*", "s3 rm s3://b/p/ --recursive"),
    ],
)
def test_transfers_of_s5cmd_are_translated(typed: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    assert " ".join(words("s5cmd", *typed.split(), folder=tmp_path)) == expected


def test_settings_of_s5cmd_go_to_its_block() -> None:
    argv = ("s5cmd", "--numworkers=8", "cp", "-p", "16", "-c", "3", "a", "s3://b/k")
    command = parse_command(argv, stands_for=None, folder=Path("/"))
    assert command.blocks == {"s5cmd": {"numworkers": "8", "part_size": "16MB", "concurrency": "3"}}


def test_any_program_is_recorded_with_the_command_that_it_stands_for() -> None:
    assert words("python3", "up.py", stands_for="aws s3 cp a s3://b/k") == ("s3", "cp", "a", "s3://b/k")


@pytest.mark.parametrize(
    "argv",
    [
        ("aws", "--endpoint-url", "http://x", "s3", "ls"),
        ("aws",),
        ("aws", "s3", "cp", "-", "s3://b/k"),
        ("python3", "upload.py"),
        ("s5cmd", "ls"),
        ("s5cmd", "cp", "s3://b/*.gz", "down"),
        ("s5cmd", "cp", "--storage-class", "GLACIER", "a", "s3://b/k"),
    ],
)
def test_a_command_that_no_definition_can_hold_is_bad_input_with_a_remedy(argv: tuple[str, ...]) -> None:
    with pytest.raises(BadInput) as bad:
        words(*argv)
    assert bad.value.fix


def files_read(command: str) -> tuple[str, ...]:
    return parse_command(("aws", *command.split()), stands_for=None, folder=Path("/nowhere")).paths


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("s3 cp a s3://b/k", ("a",)),
        ("s3api list-objects-v2 --bucket folder", ()),
        ("s3api get-object --bucket folder --key file out", ()),
        ("s3api put-object --bucket folder --key k --body file", ("file",)),
        ("s3api put-object --bucket folder --key k --body=file", ("file",)),
        ("lambda update-function-code --function-name folder --zip-file fileb://file.zip", ("file.zip",)),
        ("s3api delete-objects --bucket b --delete=file://keys.json", ("keys.json",)),
        ("ebs put-snapshot-block --snapshot-id folder --block-data block.bin", ("block.bin",)),
        ("lambda publish-layer-version --layer-name folder --zip-file layer.zip", ("layer.zip",)),
        ("codeartifact publish-package-version --asset-content asset", ("asset",)),
        ("deploy push --application-name folder --source app", ("app",)),
        ("lexv2-runtime recognize-utterance --input-stream sound out", ("sound",)),
        ("kinesis get-clip --stream-name folder --outfile clip", ()),
        ("lambda update-function-configuration --environment Variables@=file://v.json", ("v.json",)),
        ("lambda invoke --payload fileb://p.bin out", ("p.bin",)),
    ],
)
def test_a_command_other_than_a_transfer_reads_what_is_named_as_a_file(command: str, files: tuple[str, ...]) -> None:
    assert files_read(command) == files


@pytest.mark.parametrize(
    "words",
    [
        ("--cli-input-json", "file://p.json"),
        ("--cli-input-json=file://p.json",),
        ("--environment", "Variables@=file://p.json"),
        ("--environment=Variables@=file://p.json",),
    ],
)
def test_a_parameter_in_a_file_may_follow_an_equals_sign(words: tuple[str, ...]) -> None:
    command = parse_command(("aws", "lambda", "invoke", *words), stands_for=None, folder=Path("/"))
    assert command.parameter_files == ("p.json",)


@pytest.mark.parametrize(
    ("value", "files"), [("file://prod config.json", ("prod config.json",)), ("see file://notes", ())]
)
def test_a_file_is_named_by_all_that_follows_and_by_no_other_text(value: str, files: tuple[str, ...]) -> None:
    words = ("aws", "lambda", "invoke", "--cli-input-json", value)
    assert parse_command(words, stands_for=None, folder=Path("/")).parameter_files == files


def test_the_content_of_a_binary_parameter_is_not_needed() -> None:
    argv = ("aws", "lambda", "update-function-code", "--zip-file", "fileb://file.zip")
    assert parse_command(argv, stands_for=None, folder=Path("/")).parameter_files == ()


def test_the_profile_of_the_command_that_stands_for_another_is_used() -> None:
    command = parse_command(("python3", "--profile", "x"), stands_for="s3 ls --profile=me", folder=Path("/"))
    assert (command.words, command.profile) == (("s3", "ls"), "me")
