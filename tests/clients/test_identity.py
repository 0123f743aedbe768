"""Identity: the same program wherever it lies, and another one as soon as a byte of its code or data differs."""

import shutil
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from s3bench.clients import identity
from s3bench.clients.client import FoundClient
from s3bench.clients.identity import program_digest, same_program
from s3bench.clients.staging import stage
from s3bench.errors import MachineError


def frozen(root: Path) -> FoundClient:
    (root / "awscli").mkdir(parents=True)
    (root / "aws").write_bytes(b"\x7fELF program")
    (root / "base_library.zip").write_bytes(b"PK")
    (root / "awscli" / "cli.json").write_text("{}")
    (root / ".s3bench-origin.json").write_text(str(root))
    return FoundClient(kind="cli-crt", version="2.38.5", executable=root / "aws", asked_path=str(root))


def packages(root: Path, python: str = sys.executable) -> FoundClient:
    """aws-cli v1 as pip installs it into a directory."""
    for name, text in {
        "bin/aws": f"#!{python}\nimport awscli\n",
        "awscli/__init__.py": "VERSION = 1\n",
        "awscli/__pycache__/__init__.cpython-311.pyc": str(root),
        "awscli-1.46.2.dist-info/RECORD": str(root),
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return FoundClient(kind="cli-classic", version="1.46.2", executable=root / "bin" / "aws", site=root)


def same(left: FoundClient, right: FoundClient) -> bool:
    """Digest and comparison have to agree, both ways round."""
    result = same_program(left, right)
    assert same_program(right, left) == result
    assert (program_digest(left) == program_digest(right)) == result
    return result


@pytest.mark.parametrize("make", [frozen, packages])
def test_copies_are_the_same_program_whatever_the_installer_noted(
    make: Callable[[Path], FoundClient], tmp_path: Path
) -> None:
    assert same(make(tmp_path / "one"), make(tmp_path / "other"))


@pytest.mark.parametrize("make", [frozen, packages])
def test_a_staged_client_is_the_same_program(make: Callable[[Path], FoundClient], tmp_path: Path) -> None:
    client = make(tmp_path / "one")
    assert same(client, stage(client, tmp_path / "stage").client)


def test_a_binary_under_another_name_is_the_same_program(tmp_path: Path) -> None:
    for name in ("s5cmd", "s5cmd-new"):
        (tmp_path / name).write_bytes(b"\x7fELF program")
    one, other = (
        FoundClient(kind="s5cmd", version="2.3.0", executable=tmp_path / name) for name in ("s5cmd", "s5cmd-new")
    )
    assert same(one, other)


def _append(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\n")


def _flip(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-2] + b"!!")


def _rename(path: Path) -> None:
    path.rename(path.with_name("renamed"))


@pytest.mark.parametrize("change", [_append, _flip, _rename])
@pytest.mark.parametrize(
    ("make", "name"),
    [(frozen, "aws"), (frozen, "awscli/cli.json"), (packages, "awscli/__init__.py"), (packages, "bin/aws")],
)
def test_a_change_of_size_content_or_name_makes_another_program(
    make: Callable[[Path], FoundClient], name: str, change: Callable[[Path], None], tmp_path: Path
) -> None:
    one, other = make(tmp_path / "one"), make(tmp_path / "other")
    if change is _rename and name in {"aws", "bin/aws"}:
        (tmp_path / "other" / name).with_name("added").touch()
    else:
        change(tmp_path / "other" / name)
    assert not same(one, other)


def test_the_path_in_a_scripts_first_line_is_no_difference_but_the_interpreter_is(tmp_path: Path) -> None:
    (tmp_path / "python").symlink_to(sys.executable)
    (tmp_path / "python3").write_bytes(b"\x7fELF another interpreter")
    one = packages(tmp_path / "one")
    assert same(one, packages(tmp_path / "other", str(tmp_path / "python")))
    assert not same(one, packages(tmp_path / "third", str(tmp_path / "python3")))


def test_another_kind_of_client_is_another_program(tmp_path: Path) -> None:
    client = frozen(tmp_path / "one")
    assert same_program(client, replace(client, version="2.0", asked_path=None))
    assert not same_program(client, replace(client, kind="cli-classic"))


def test_one_file_under_two_names_is_not_read_nor_are_files_of_other_sizes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, larger = frozen(tmp_path / "one"), frozen(tmp_path / "other")
    _append(tmp_path / "other" / "base_library.zip")
    staged = stage(client, tmp_path / "stage").client
    monkeypatch.setattr(identity, "_CHUNK_BYTES", "unreadable")
    assert same_program(client, staged)
    assert not same_program(client, larger)


def test_binaries_of_s5cmd_are_compared_alone(tmp_path: Path) -> None:
    for name, content in {"a": b"\x7fELF 1", "b": b"\x7fELF 1", "c": b"\x7fELF 2"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "s5cmd").write_bytes(content)
        (tmp_path / name / "beside").write_text(name)
    one, two, three = (
        FoundClient(kind="s5cmd", version="2.3.0", executable=tmp_path / name / "s5cmd") for name in "abc"
    )
    assert same(one, two)
    assert not same(one, three)


def test_wrappers_in_other_languages_are_like_themselves_alone(tmp_path: Path) -> None:
    """What they start may depend on where they lie."""
    clients = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "aws").write_text('#!/bin/sh\nexec "$(dirname "$0")/real" "$@"\n')
        clients.append(FoundClient(kind="cli", version="2.1", executable=tmp_path / name / "aws"))
    assert same_program(clients[0], clients[0])
    assert not same_program(*clients)


def test_a_script_that_starts_what_it_likes_has_no_digest(tmp_path: Path) -> None:
    """A shim stays as it is while another version is behind it."""
    shim = tmp_path / "aws"
    shim.write_text('#!/usr/bin/env bash\nexec pyenv exec aws "$@"\n')
    assert program_digest(FoundClient(kind="cli", version="2.1", executable=shim)) == ""


def environment(root: Path, boto3: str) -> FoundClient:
    """A virtual environment as Python's own `venv` lays it out, with a boto3 and a neighbour that differs."""
    site = root / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages"
    (site / "boto3").mkdir(parents=True)
    (site / "boto3" / "__init__.py").write_text(boto3)
    (site / "neighbour.py").write_text(f"PLACE = {str(root)!r}\n")
    (root / "bin").mkdir()
    (root / "bin" / "python").symlink_to(Path(sys.executable).resolve())
    home = Path(sys.executable).resolve().parent
    (root / "pyvenv.cfg").write_text(f"home = {home}\ninclude-system-site-packages = false\n")
    return FoundClient(kind="boto3-classic", version="1.40.0", executable=root / "bin" / "python")


def test_environments_are_the_same_when_interpreter_and_packages_are(tmp_path: Path) -> None:
    one, two = environment(tmp_path / "one", "A = 1\n"), environment(tmp_path / "two", "A = 1\n")
    assert same(one, two)
    assert not same_program(one, environment(tmp_path / "three", "A = 2\n"))


def test_awscrt_by_itself_is_the_same_program_beside_another_boto3(tmp_path: Path) -> None:
    one, other = environment(tmp_path / "one", "A = 1\n"), environment(tmp_path / "other", "A = 2\n")
    assert same(replace(one, kind="crt-python"), replace(other, kind="crt-python"))


def test_scripts_of_environments_are_told_apart_by_the_packages_they_import(tmp_path: Path) -> None:
    clients = []
    for name, text in {"a": "A = 1\n", "b": "A = 1\n", "c": "A = 2\n"}.items():
        python = environment(tmp_path / name, "").executable
        package = next((tmp_path / name).glob("lib/python*/site-packages")) / "awscli"
        package.mkdir()
        (package / "__init__.py").write_text(text)
        (python.parent / "aws").write_text(f"#!{python}\nimport awscli\n")
        clients.append(FoundClient(kind="cli", version="1.46.2", executable=python.parent / "aws"))
    assert same_program(clients[0], clients[1])
    assert not same_program(clients[0], clients[2])


def test_files_that_are_gone_are_an_error_and_no_difference(tmp_path: Path) -> None:
    one, other = packages(tmp_path / "one"), packages(tmp_path / "other")
    shutil.rmtree(tmp_path / "other")
    with pytest.raises(MachineError, match="same program"):
        same_program(one, other)
