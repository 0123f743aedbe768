"""Staging: what is brought where, what stays and says so, and that real clients run from there."""

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from s3bench.clients.client import FoundClient
from s3bench.clients.environment import EndpointFacts, Sandbox, sealed_environment
from s3bench.clients.staging import stage
from s3bench.errors import MachineError
from tests.e2e.programs import found, found_aws_v1

Distribution = Callable[[Path, str, str], None]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "stage" / "a"


@pytest.fixture
def frozen(tmp_path: Path) -> FoundClient:
    """AWS's own build as its installer lays it out, found by the path that users give."""
    dist = tmp_path / "aws-cli" / "v2" / "2.38.5" / "dist"
    (dist / "awscli" / "data").mkdir(parents=True)
    (dist / "aws").write_bytes(b"\x7fELF program")
    (dist / "aws").chmod(0o755)
    (dist / "base_library.zip").write_bytes(b"PK")
    (dist / "awscli" / "data" / "cli.json").write_text("{}")
    (dist.parent / "bin").mkdir()
    (dist.parent / "bin" / "aws").symlink_to("../dist/aws")
    (dist.parent.parent / "current").symlink_to(dist.parent)
    program = dist.parent.parent / "current" / "bin" / "aws"
    return FoundClient(
        kind="cli-crt", version="2.38.5", executable=program, detail="Python 3.14.8", asked_path=str(program)
    )


def inodes(root: Path) -> dict[str, int]:
    return {path.relative_to(root).as_posix(): path.stat().st_ino for path in root.rglob("*") if path.is_file()}


def facts(root: Path) -> dict[str, tuple[bytes, int, int]]:
    """All of a file that a program could change, and the directory's own list of files."""
    return {
        path.relative_to(root).as_posix(): (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_mode)
        for path in root.rglob("*")
        if path.is_file()
    }


def test_a_frozen_build_behind_links_is_staged_whole_with_its_libraries(frozen: FoundClient, place: Path) -> None:
    staged = stage(frozen, place)
    assert staged.is_staged
    assert staged.reason == ""
    assert staged.client.executable == place / "aws"
    assert inodes(place) == inodes(frozen.executable.resolve().parent)


def test_a_staged_client_is_still_called_what_it_was(frozen: FoundClient, place: Path) -> None:
    client = stage(frozen, place).client
    for name in ("kind", "label", "version", "detail", "asked_path"):
        assert getattr(client, name) == getattr(frozen, name)


def test_a_build_with_its_libraries_in_a_directory_is_known_as_frozen(frozen: FoundClient, place: Path) -> None:
    dist = frozen.executable.resolve().parent
    (dist / "_internal").mkdir()
    (dist / "base_library.zip").rename(dist / "_internal" / "base_library.zip")
    assert stage(frozen, place).is_staged
    assert (place / "_internal" / "base_library.zip").is_file()


@pytest.mark.parametrize("number", [errno.EXDEV, errno.EPERM, errno.EMLINK, errno.EOPNOTSUPP])
def test_what_cannot_be_linked_is_copied_with_its_times_and_rights(
    number: int, frozen: FoundClient, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "link", refuse)
    dist = frozen.executable.resolve().parent
    os.utime(dist / "aws", ns=(1, 1_600_000_000_123_456_789))
    assert stage(frozen, place).is_staged
    assert facts(place) == facts(dist)
    assert not set(inodes(place).values()) & set(inodes(dist).values())


def test_a_failure_is_explained_and_leaves_nothing(
    frozen: FoundClient, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(MachineError, match="cannot make") as caught:
        stage(frozen, place)
    assert "No space left" in caught.value.why
    assert not place.exists()


def test_a_place_that_is_taken_is_refused_and_kept(frozen: FoundClient, place: Path) -> None:
    place.mkdir(parents=True)
    (place / "mine").touch()
    with pytest.raises(MachineError):
        stage(frozen, place)
    assert [path.name for path in place.iterdir()] == ["mine"]


def test_links_point_into_the_staged_tree_or_to_the_same_file_outside(
    frozen: FoundClient, place: Path, tmp_path: Path
) -> None:
    dist = frozen.executable.resolve().parent
    (tmp_path / "outside").write_text("outside")
    (dist / "awscli" / "inside").symlink_to("../aws")
    (dist / "awscli" / "absolute").symlink_to(dist / "aws")
    (dist / "awscli" / "leaving").symlink_to("../../../../../outside")
    (dist / "awscli" / "directory").symlink_to("data")
    (dist / "awscli" / "dangling").symlink_to("nowhere")
    stage(frozen, place)
    links = place / "awscli"
    assert (links / "inside").readlink() == Path("../aws")
    assert (links / "absolute").readlink() == place / "aws"
    assert (links / "leaving").read_text() == "outside"
    assert (links / "directory" / "cli.json").is_file()
    assert (links / "directory").is_symlink()
    assert (links / "dangling").readlink() == Path("nowhere")


def test_a_directory_of_packages_moves_and_its_interpreter_stays(
    tmp_path: Path, place: Path, with_distribution: Distribution
) -> None:
    with_distribution(tmp_path / "site", "boto3", "1.40.0")
    python = Path(sys.executable)
    client = FoundClient(kind="boto3-classic", version="1.40.0", executable=python, site=tmp_path / "site", detail="x")
    staged = stage(client, place)
    assert (staged.client.executable, staged.client.site) == (python, place)
    assert inodes(place) == inodes(tmp_path / "site")


def test_the_script_of_an_aws_cli_made_of_packages_moves_with_them(tmp_path: Path, place: Path) -> None:
    script = tmp_path / "1.46.2" / "bin" / "aws"
    script.parent.mkdir(parents=True)
    script.write_text(f"#!{sys.executable}\n")
    site = script.parent.parent
    client = FoundClient(kind="cli-classic", version="1.46.2", executable=script, site=site)
    staged = stage(client, place).client
    assert (staged.executable, staged.site) == (place / "bin" / "aws", place)


def test_an_s5cmd_is_staged_alone(tmp_path: Path, place: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "s5cmd").write_bytes(b"\x7fELF")
    (tmp_path / "bin" / "another").touch()
    client = FoundClient(kind="s5cmd", version="2.3.0", executable=tmp_path / "bin" / "s5cmd")
    assert stage(client, place).client.executable == place / "s5cmd"
    assert [path.name for path in place.iterdir()] == ["s5cmd"]


@pytest.mark.parametrize(
    ("kind", "content", "reason"),
    [
        ("cli-classic", b"#!/venv/bin/python -s\n", "its first line names: /venv/bin/python -s"),
        ("s5cmd", b"#!/venv/bin/python\n", "its first line names: /venv/bin/python"),
        ("cli-classic", b"\x7fELF", "a build not known"),
        ("boto3-crt", b"\x7fELF", "interpreter of a Python environment"),
    ],
)
def test_what_cannot_be_moved_stays_and_says_why(
    kind: str, content: bytes, reason: str, tmp_path: Path, place: Path
) -> None:
    (tmp_path / "program").write_bytes(content)
    client = FoundClient(kind=kind, version="1.0", executable=tmp_path / "program")
    staged = stage(client, place)
    assert staged.client is client
    assert not staged.is_staged
    assert reason in staged.reason
    assert not place.exists()


def test_byte_code_that_a_read_only_installation_lacks_is_made_at_the_first_run_and_only_in_the_staged_one(
    tmp_path: Path, place: Path
) -> None:
    site = tmp_path / "site"
    (site / "there" / "__pycache__").mkdir(parents=True)
    (site / "there" / "__init__.py").write_text("import there.inner\n")
    (site / "there" / "inner.py").write_text("NUMBER = 1\n")
    before = facts(site)
    for folder in (site / "there" / "__pycache__", site / "there"):
        folder.chmod(0o555)
    client = FoundClient(kind="boto3-classic", version="1.0", executable=Path(sys.executable), site=site)
    staged = stage(client, place).client
    runs = []
    for _ in range(2):
        _run(staged, tmp_path, "-c", "import there")
        runs.append({name: number for name, number in inodes(place).items() if name.endswith(".pyc")})
    assert len(runs[0]) == 2
    assert runs[0] == runs[1]
    for folder in (site / "there", site / "there" / "__pycache__"):
        folder.chmod(0o755)
    assert facts(site) == before


def test_byte_code_comes_along_valid_and_is_replaced_without_touching_the_original(tmp_path: Path, place: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    for name in ("good", "stale"):
        (site / f"{name}.py").write_text("NUMBER = 1\n")
    client = FoundClient(kind="boto3-classic", version="1.0", executable=Path(sys.executable), site=site)
    _run(client, tmp_path, "-c", "import good, stale")
    os.utime(site / "stale.py", (1, 1))
    before = facts(site)
    staged = stage(client, place).client
    linked = inodes(place)
    _run(staged, tmp_path, "-c", "import good, stale")
    changed = [name for name, number in inodes(place).items() if number != linked.get(name)]
    assert [Path(name).name.partition(".")[0] for name in changed] == ["stale"]
    assert facts(site) == before


def _run(client: FoundClient, home: Path, *arguments: str) -> str:
    """Run a client in the environment that iterations have."""
    sandbox = Sandbox(home=home, temporary=home, work=home)
    env = sealed_environment(sandbox, EndpointFacts(url="http://127.0.0.1:9"))
    if client.site:
        env["PYTHONPATH"] = str(client.site)
    argv = [str(client.executable), *arguments]
    done = subprocess.run(argv, env=env, cwd=home, capture_output=True, text=True, timeout=200, check=True)
    return done.stdout + done.stderr


@pytest.mark.parametrize("spec", ["cli", "s5cmd"])
def test_real_programs_run_staged(spec: str, tmp_path: Path, place: Path) -> None:
    client = found(spec)
    staged = stage(client, place)
    if not staged.is_staged:
        pytest.skip(staged.reason)
    arguments = ["version"] if spec == "s5cmd" else ["--version"]
    assert _run(staged.client, tmp_path, *arguments) == _run(client, tmp_path, *arguments)


def test_a_real_aws_cli_v1_of_the_store_runs_staged(tmp_path: Path, place: Path) -> None:
    client = found_aws_v1()
    staged = stage(client, place)
    if not staged.is_staged:
        pytest.skip(staged.reason)
    assert f"aws-cli/{client.version}" in _run(staged.client, tmp_path, "--version")
