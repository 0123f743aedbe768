"""Clients are declared in their folders alone, or by other packages; nothing else in s3bench names one."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, EntryPoint, PathDistribution
from pathlib import Path

import pytest

import s3bench
from s3bench.clients import registry
from s3bench.clients.registry import BrokenClientPlugin, collect_clients, known_client, known_clients
from s3bench.errors import BadInput

ROOT = Path(s3bench.__file__).parent
CLIENTS = ROOT / "clients"
FOLDERS = sorted(path.parent for path in CLIENTS.glob("*/__init__.py") if "CLIENTS = " in path.read_text())


def modules(*, but: Path) -> Iterator[Path]:
    return (path for path in sorted(ROOT.rglob("*.py")) if not path.is_relative_to(but))


def strings(tree: ast.AST) -> Iterator[str]:
    """Return the string constants of a module; not those of `examples=`, which a schema or a help shows."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.keyword) and node.arg == "examples":
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        yield from strings(node)


def named(path: Path, names: set[str]) -> set[str]:
    """Return those of `names` that are strings of a module; it is parsed only where they are in its text at all."""
    text = path.read_text()
    return names & set(strings(ast.parse(text))) if any(f'"{name}"' in text for name in names) else set()


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def test_no_module_outside_of_clients_names_a_client() -> None:
    """By a string that is a client's name and nothing else; prose (help, messages, docstrings) may give examples."""
    names = set(known_clients())
    assert {str(path.relative_to(ROOT)): found for path in modules(but=CLIENTS) if (found := named(path, names))} == {}


def test_modules_that_clients_share_name_none() -> None:
    names = set(known_clients())
    shared = [path for path in CLIENTS.rglob("*.py") if not any(path.is_relative_to(folder) for folder in FOLDERS)]
    assert {path.name: found for path in shared if (found := named(path, names))} == {}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_only_its_own_modules_import_a_clients_folder(folder: Path) -> None:
    own = f"s3bench.clients.{folder.name}"
    naming = [path for path in modules(but=folder) if own in path.read_text()]
    assert [path for path in naming if any(f"{name}.".startswith(f"{own}.") for name in imports(path))] == []


def test_every_folder_brings_clients_in_alphabetical_order() -> None:
    assert {folder.name for folder in FOLDERS} >= {"aws_cli", "boto3", "crt_python", "s5cmd"}
    assert list(known_clients())[:3] == ["cli", "cli-classic", "cli-crt"]
    assert [name for name, client in known_clients().items() if client.is_default] == ["cli"]


def test_an_unknown_client_is_bad_input_with_the_nearest_name_and_all_names() -> None:
    with pytest.raises(BadInput) as caught:
        known_client("cli-ctr", said="cli-ctr@2")
    assert caught.value.what == "`cli-ctr@2`: there is no client `cli-ctr`"
    assert caught.value.fix.startswith("did you mean `cli-crt`? The clients are `cli`, `cli-classic`, ")


def package(folder: Path, name: str) -> Distribution:
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    return PathDistribution(info)


def brought(value: str, folder: Path, name: str = "their-client") -> EntryPoint:
    point = EntryPoint(name="any", value=value, group=registry.GROUP)
    vars(point).update(dist=package(folder, name))
    return point


def test_another_package_brings_a_client(tmp_path: Path) -> None:
    own = tuple(client for client in known_clients().values() if client.name != "s5cmd")
    clients = collect_clients(own, [brought("s3bench.clients.s5cmd:CLIENTS", tmp_path)])
    assert list(clients)[-1] == "s5cmd"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("there_is_no_such_module:CLIENTS", "ModuleNotFoundError: No module named 'there_is_no_such_module'"),
        ("s3bench.clients.s5cmd:NOTHING", "AttributeError: "),
        ("s3bench.clients.registry:GROUP", "which is not a ClientDescriptor"),
        ("s3bench.clients.registry:known_clients", "TypeError: "),
    ],
)
def test_a_package_whose_clients_cannot_be_loaded_is_left_out_with_a_warning(
    value: str, reason: str, tmp_path: Path
) -> None:
    own = tuple(known_clients().values())
    with pytest.warns(BrokenClientPlugin) as warned:
        clients = collect_clients(own, [brought(value, tmp_path)])
    assert list(clients) == list(known_clients())
    message = str(warned[0].message)
    assert message.startswith("the clients of the package their-client 1.0 cannot be loaded and are left out: ")
    assert reason in message


def test_a_command_prints_the_warning_and_goes_on(tmp_path: Path) -> None:
    info = package(tmp_path, "their-client")
    assert info.version == "1.0"
    points = tmp_path / "their-client-1.0.dist-info" / "entry_points.txt"
    points.write_text(f"[{registry.GROUP}]\nx = nowhere:CLIENTS\n")
    program = "from s3bench.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "validate", "--schema"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert done.stderr.startswith("s3bench: warning: the clients of the package their-client 1.0 cannot be loaded")
    assert "s5cmd" in done.stdout


def test_two_clients_of_one_name_are_an_error_that_names_both_packages(tmp_path: Path) -> None:
    own = tuple(known_clients().values())
    with pytest.raises(BadInput) as caught:
        collect_clients(own, [brought("s3bench.clients.s5cmd:CLIENTS", tmp_path)])
    assert caught.value.what == "two packages bring a client named `s5cmd`: s3bench and their-client 1.0"
    assert "pip uninstall their-client" in caught.value.fix
