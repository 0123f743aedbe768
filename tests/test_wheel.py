"""The wheel as users install it: nothing is missing that a checkout has, and commands find their data files."""

import fcntl
import json
import os
import re
import site
import subprocess
import sys
import venv
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

import s3bench
from s3bench.cli.main import s3bench_command
from s3bench.results.document import encode_document, parse_document
from tests.cli.test_first_examples import commands, first_example
from tests.compare.documents import BASE, document, result

CHECKOUT = Path(__file__).parents[1]

Command = Callable[..., str]


@contextmanager
def built_once(factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory of this test run, for one of its workers at a time: the others find what the first has built."""
    own = factory.getbasetemp()
    shared = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "wheel"
    shared.mkdir(exist_ok=True)
    with (shared / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield shared


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    with built_once(tmp_path_factory) as shared:
        directory = shared / "dist"
        build = (sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(directory))
        if not directory.exists():
            subprocess.run(build, cwd=CHECKOUT, check=True, capture_output=True, timeout=200)
    (built,) = directory.iterdir()
    return built


@pytest.fixture(scope="module")
def program(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel's `s3bench` in an environment of its own, beside this environment's libraries but not its s3bench."""
    with built_once(tmp_path_factory) as shared:
        python = shared / "venv" / "bin" / "python"
        if not python.exists():
            venv.create(shared / "venv", symlinks=True)
            pip = (sys.executable, "-m", "pip", "--python", str(python))
            install = ("install", "--quiet", "--no-index", "--no-deps", "--no-compile", str(wheel))
            subprocess.run((*pip, *install), check=True, capture_output=True, timeout=200)
            (packages,) = (shared / "venv").glob("lib/python*/site-packages")
            (packages / "libraries.pth").write_text("\n".join(site.getsitepackages()))
    return python.parent / "s3bench"


@pytest.fixture(scope="module")
def installed(program: Path) -> Command:
    """Runs the wheel's `s3bench`, which has to end with exit code 0; gives its stdout."""

    def run(*arguments: str) -> str:
        command = (str(program), *arguments)
        finished = subprocess.run(command, cwd=program.parent, check=False, capture_output=True, text=True, timeout=200)
        assert finished.returncode == 0, finished.stderr
        return finished.stdout

    return run


def test_the_wheel_holds_every_file_of_the_package_the_shipped_definitions_and_the_manual_page(wheel: Path) -> None:
    files = {str(path.relative_to(CHECKOUT)) for path in (CHECKOUT / "s3bench").rglob("*") if path.is_file()}
    expected = {name for name in files if "__pycache__" not in name} | {"s3bench/benchmarks.json"}
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    manual = {name for name in names if name.endswith(".data/data/share/man/man1/s3bench.1")}
    assert len(manual) == 1
    assert names - manual == expected


def test_a_server_says_its_address_and_ends_when_it_is_stopped(program: Path, tmp_path: Path) -> None:
    """By the first example of its help, in an empty directory."""
    words = first_example(commands(s3bench_command)["serve"])
    with subprocess.Popen((program, *words), cwd=tmp_path, text=True, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        process.terminate()
        said += process.stdout.read()
        assert (process.wait(), "http://127.0.0.1:" in said) == (0, True), said
    assert list(tmp_path.iterdir()) == []


def test_links_of_the_readme_in_its_metadata_work_outside_of_the_repository(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = archive.read(name).decode()
    links = re.findall(r"\]\(([^)]+)\)", metadata)
    repository = "https://github.com/s3bench/s3bench/blob/main/"
    assert f"{repository}docs/gate.md" in links
    assert [link for link in links if not link.startswith("https://")] == []
    pages = [link.removeprefix(repository) for link in links if link.startswith(repository)]
    assert [page for page in pages if not (CHECKOUT / page).is_file()] == []


def test_its_command_says_the_version(installed: Command) -> None:
    assert installed("--version") == f"s3bench, version {s3bench.__version__}\n"


def test_it_lists_the_shipped_definitions(installed: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(CHECKOUT)
    listed = CliRunner().invoke(s3bench_command, ["run", "--list"]).stdout
    assert listed
    assert installed("run", "--list") == listed


def test_it_finds_the_templates_of_a_page_and_the_tables_of_a_history(installed: Command, tmp_path: Path) -> None:
    results, page, store = tmp_path / "results.json", tmp_path / "page.html", tmp_path / "history.db"
    results.write_bytes(encode_document(document(result(BASE))))
    installed("report", str(results), "-o", str(page))
    assert "</html>" in page.read_text()
    assert "added" in installed("history", "add", str(results), "--store", str(store))


def test_it_finds_the_programs_that_run_beside_it(installed: Command, tmp_path: Path) -> None:
    """The helper that starts clients, the stub's server and the probe inside the client."""
    upload = {
        "name": "upload",
        "command": ["s3", "cp", "file", "s3://bucket/key"],
        "clients": ["boto3-classic"],
        "environment": {"files": [{"name": "file", "size": 4096}]},
    }
    definition = tmp_path / "upload.json"
    definition.write_text(json.dumps([upload]))
    printed = installed("run", str(definition), "--client", f"boto3-classic@{sys.prefix}")
    (measured,) = parse_document(printed.encode(), source="stdout").results
    assert len(measured.measurements) == 1
