"""`s3bench clients`: the table, the JSON, and installing with its progress."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from s3bench.cli import clients as clients_module
from s3bench.cli.clients import clients_group
from s3bench.clients.client import FoundClient
from s3bench.clients.package import InstallProgress
from s3bench.clients.store import ClientStore
from s3bench.errors import BadInput


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("S3BENCH_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    place = tmp_path / "clients" / "aws-cli" / "2.38.5"
    place.mkdir(parents=True)
    (place / "aws").touch()
    return tmp_path


def call(*words: str) -> Result:
    return CliRunner().invoke(clients_group, words, catch_exceptions=False)


def test_the_table_shows_names_versions_and_defaults(home: Path) -> None:
    heading, first, *_ = call("list").stdout.splitlines()
    assert heading.split() == ["NAME", "VERSION", "RUNS", "AS", "PATH", "NOTES"]
    assert first.split()[:5] == ["aws-cli", "2.38.5", "cli*", "cli-classic*", "cli-crt*"]
    assert str(home) in first


def test_the_json_has_the_same(home: Path) -> None:
    programs = json.loads(call("list", "--json").stdout)
    assert programs[0] == {
        "name": "aws-cli",
        "version": "2.38.5",
        "path": str(home / "clients" / "aws-cli" / "2.38.5" / "aws"),
        "detail": "AWS's own build",
        "clients": ["cli", "cli-classic", "cli-crt"],
        "default_for": ["cli", "cli-classic", "cli-crt"],
        "problem": "",
    }


def test_a_missing_aws_cli_is_said_with_its_remedy_beside_the_data(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("S3BENCH_HOME", str(tmp_path / "empty"))
    result = call("list")
    assert "s3bench clients install aws-cli" in result.stderr
    assert "install" not in result.stdout


def test_installing_tells_its_steps_on_stderr_and_the_client_on_stdout(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def install(wanted: str, store: ClientStore, progress: InstallProgress) -> FoundClient:
        assert store.root == home
        progress(f"fetching {wanted}", 1, 2)
        progress(f"fetching {wanted}", 2, 2)
        return FoundClient(kind="cli", version="2.36.1", executable=Path("/place/aws"))

    monkeypatch.setattr(clients_module, "install", install)
    monkeypatch.setattr(clients_module, "check_wanted", lambda *_: None)
    result = call("install", "aws-cli@2.36.1", "boto3")
    assert result.stdout == "cli@2.36.1\t/place/aws\n" * 2
    assert result.stderr == "fetching aws-cli@2.36.1\nfetching boto3\n"


def test_nothing_is_installed_if_one_name_is_wrong(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed: list[str] = []
    monkeypatch.setattr(clients_module, "install", lambda wanted, *_: installed.append(wanted))
    with pytest.raises(BadInput, match="there is no client `nosuch`"):
        call("install", "boto3", "nosuch")
    assert installed == []


def test_installing_nothing_is_a_mistake(home: Path) -> None:
    assert call("install").exit_code == 2


@pytest.mark.parametrize("words", [(), ("list",), ("install",)])
def test_every_help_has_an_example(words: tuple[str, ...]) -> None:
    assert "s3bench clients" in call(*words, "--help").stdout
