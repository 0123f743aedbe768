"""Every command line of the README, the docs and the examples works as typed after the set-up of docs/installing.md.

Commands that only read documents run for real. Those that measure are stopped where they would start to act, after
everything that can be wrong with a command line was checked. The lines of a page run in their order, in one directory.
"""

import importlib
import re
import shlex
import zipfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner

from s3bench.cli.main import s3bench_command
from s3bench.history.indexing import index_document
from s3bench.results.document import encode_document
from tests.compare.documents import client, document, result
from tests.documented import PAGES, ROOT, blocks_of, lines_of

SET_UP = ". .venv/bin/activate"
ELSEWHERE = {
    SET_UP: "the set-up itself",
    "scripts/run-benchmarks --num-iterations 2": "measures for minutes; `s3bench run` is tested",
    "scripts/run-benchmarks --num-iterations 10 -k 'cp and upload and 32MB' -o results.json": "as above",
    "scripts/install": "set up the environment of this very test",
    "scripts/check": "takes minutes",
    "scripts/test": "runs this very test",
    "sh tune.sh": "tunes for three minutes; the lines of the script are tested",
    "set -eu": "an option of the shell, in scripts",
}
"""Lines that no test can run here, each with the reason."""

PROGRAMS_ELSEWHERE = {
    "ray": "needs a Ray cluster; tests/cluster/test_recipes.py checks the options",
    "RAY_USAGE_STATS_ENABLED=0": "as above",
    "aws": "needs an AWS account; tests/cluster/test_recipes.py checks operations and parameters",
    "helm": "needs Kubernetes",
    "kubectl": "needs Kubernetes; tests/cluster/test_recipes.py checks the embedded `s3bench load`",
    "head=$(kubectl": "needs Kubernetes",
    "pip": "installs; tests/test_docs_installing.py does it",
    "python": "as above",
    "python3": "as above",
    "~/s3bench/bin/python": "as above",
    "~/s3bench/bin/s3bench": "is in the environment that the line before installs",
    "benchmarks/s3_conformance.py": "needs two other servers",
    "mkdir": "prepares a line that needs a database server",
}
"""Programs that no test can run here, each with the reason."""

SERVERS_ELSEWHERE = {"postgresql://": "needs PostgreSQL"}

ACTS = {
    "run": ("cli.run.action", "ready_cells"),
    "run --endpoint-url": ("cli.run.action", "check_live"),
    "run --cluster": ("cli.run.cluster", "run_on_cluster"),
    "gate": ("cli.gate.action", "found_clients"),
    "profile": ("cli.profile.action", "found_clients"),
    "gate --self-test": ("cli.gate.self_test", "ticker_for"),
    "bisect": ("cli.bisect.action", "releases_between"),
    "bisect --dependency": ("cli.bisect.action", "base_of"),
    "bisect --resume": ("cli.bisect.action", "run_bisection"),
    "tune": ("cli.tune.action", "find_or_install"),
    "tune --endpoint-url": ("cli.tune.action", "check_live"),
    "load": ("cli.load.action", "StopSignal"),
    "load --fit": ("cli.load.fit", "read_log"),
    "load merge": ("cli.load.merge", "merge_runs"),
    "load --clean-up": ("cli.load.action", "live_site"),
    "serve": ("cli.serve.action", "StopSignal"),
    "record": ("cli.record.action", "run_and_record"),
    "clients install": ("cli.clients", "install"),
    "clients list": ("cli.clients", "take_inventory"),
    "doctor": ("cli.doctor.action", "machine_facts"),
    "report to a page": ("cli.report.page", "sections_of"),
}
"""Where a command stops deciding and starts to act, or to draw, which takes seconds and has its own tests."""

MADE_BY = {
    "run": "run.json",
    "report": "run.html",
    "load": "load_phases.json",
    "gate": "gate.json",
    "bisect": "bisect.json",
    "tune": "tune.jsonl",
    "record": "benchmarks.json",
}
MADE_AS = {"chunksize.json": "chunk_sizes.json", "profile.yaml": "profile.yaml"}
OUTPUT_OPTIONS = {"-o", "--output", "--study"}
OTHER_INPUTS = {
    "my-benchmarks.json": "benchmarks.json",
    "mine.json": "benchmarks.json",
    "results.json": "both_engines.json",
    "after.json": "run_again.json",
    "new.json": "run_again.json",
    "gate.json": "gate.json",
    "bisect.json": "bisect.json",
    "tune.jsonl": "tune.jsonl",
}
DESCRIBED = {"./folder/listing.txt", "sizes.json", "listing.txt"}
"""Listings of a bucket, and a folder with one file."""


class Planned(Exception):
    """A command is about to act."""


def act(*_: object, **__: object) -> None:
    raise Planned


class Reader:
    """A reader in an empty directory, who has the files that the examples read."""

    def __init__(self, page: Path, samples: Path) -> None:
        self._page, self._samples, self._has_history = page, samples, False
        self._identities = {"3fa9c1": identity(samples / "run.json"), "77d0e2": identity(samples / "run_again.json")}

    def type(self, line: str) -> str:
        """Run a line; returns what went wrong."""
        words = [self._identities.get(word, word) for word in shlex.split(line.partition(" > ")[0])[1:]]
        outputs = [word for before, word in pairwise(words) if before in OUTPUT_OPTIONS]
        for word in words:
            if word not in outputs:
                self._provide(f"{word}/listing.txt" if word == "./folder" else word)
        if words[0] == "history" and not self._has_history:
            self._has_history = True
            CliRunner().invoke(s3bench_command, ["history", "add", *map(str, self._samples.glob("run*.json"))])
        done = CliRunner().invoke(s3bench_command, words)
        if isinstance(done.exception, Planned):
            for output in outputs:
                self._copy(MADE_AS.get(output, MADE_BY[words[0]]), output)
            return ""
        if done.exit_code in {0, 3} and (done.exception is None or isinstance(done.exception, SystemExit)):
            return ""
        return f"{line}: {done.exception!r}\n{done.output}"

    def _provide(self, name: str) -> None:
        if Path(name).exists():
            return
        program = name.partition("@")[2]
        if program.startswith("./"):
            Path(program).parent.mkdir(parents=True, exist_ok=True)
            Path(program).touch(mode=0o755)
        elif name in {"link.json", "profile.yaml"}:
            language = name.partition(".")[2]
            Path(name).write_text([block.text for block in blocks_of(self._page) if block.language == language][-1])
            Path("first-bytes.txt").write_text("21ms\n")
        elif name in DESCRIBED:
            Path(name).parent.mkdir(exist_ok=True)
            Path(name).write_text("2026-01-01 00:00:00          5 file\n")
        elif name == "s4.yaml":
            Path(name).write_bytes((ROOT / "tests" / "load" / "data" / "s4.yaml").read_bytes())
        elif (self._page.parent / name).is_file() and self._page.is_relative_to(ROOT / "examples"):
            Path(name).write_bytes((self._page.parent / name).read_bytes())
        elif name.partition(",")[0] == "link.json":
            self._provide("link.json")
        elif re.fullmatch(r"[\w-]+\.jsonl?", name):
            self._copy(OTHER_INPUTS.get(name, "run.json"), name)
        if name == "bisect.json":
            self._copy("definitions.json", "definitions.json")

    def _copy(self, sample: str, name: str) -> None:
        Path(name).write_bytes((self._samples / sample).read_bytes())


def identity(path: Path) -> str:
    return index_document(path.read_bytes(), source=path.name).identity[:12]


def is_elsewhere(line: str) -> bool:
    return (
        line in ELSEWHERE
        or line.split(maxsplit=1)[0] in PROGRAMS_ELSEWHERE
        or any(server in line for server in SERVERS_ELSEWHERE)
        or "$(" in line
    )


def typed_lines() -> Iterator[str]:
    for page in PAGES:
        yield from lines_of(page)


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("samples")
    with zipfile.ZipFile(ROOT / "tests" / "data" / "before" / "documents.zip") as archive:
        archive.extractall(directory)
    sides = (("cli-classic", "Classic"), ("cli-crt", "CRT"))
    both = (result((0.5, 0.6), of=client(name), dimensions={"S3TransferClient": engine}) for name, engine in sides)
    (directory / "both_engines.json").write_bytes(encode_document(document(*both)))
    sizes = (result((0.5, 0.6), dimensions={"multipart_chunksize": size}) for size in ("8MB", "16MB"))
    (directory / "chunk_sizes.json").write_bytes(encode_document(document(*sizes)))
    (directory / "benchmarks.json").write_bytes((ROOT / "benchmarks.json").read_bytes())
    (directory / "run.html").touch()
    (directory / "profile.yaml").write_text("operation: get\n")
    return directory


@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(lines_of(page))], ids=lambda page: str(page.relative_to(ROOT))
)
def test_each_line_of_a_page_works_after_those_before_it(
    page: Path, samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name in ACTS.values():
        monkeypatch.setattr(importlib.import_module(f"s3bench.{module}"), name, act)
    monkeypatch.setenv("S3BENCH_HOME", str(tmp_path / "store"))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    reader = Reader(page, samples)
    ours = [line for line in lines_of(page) if not is_elsewhere(line)]
    assert [wrong for line in ours if (wrong := reader.type(line))] == []


def test_every_line_is_a_command_of_s3bench_or_cannot_run_here_for_a_stated_reason() -> None:
    assert [line for line in typed_lines() if not (line.startswith("s3bench ") or is_elsewhere(line))] == []


def test_no_reason_is_left_without_its_line() -> None:
    lines = list(typed_lines())
    programs = {line.split()[0] for line in lines}
    assert set(ELSEWHERE) - set(lines) == set()
    assert set(PROGRAMS_ELSEWHERE) - programs == set()
    assert [server for server in SERVERS_ELSEWHERE if not any(server in line for line in lines)] == []


def test_every_block_says_what_it_is_and_only_shell_blocks_have_commands() -> None:
    for page in PAGES:
        for block in blocks_of(page):
            assert block.language, f"{page.name}: {block.text}"
            if block.language not in {"sh", "console"}:
                assert not re.search(r"^\$ ", block.text, re.MULTILINE), f"{page.name}: {block.text}"


def test_every_page_writes_the_command_as_the_set_up_makes_it() -> None:
    for name in ("README.md", "docs/installing.md"):
        assert SET_UP in lines_of(ROOT / name)
    for page in PAGES:
        assert ".venv/bin/s3bench" not in page.read_text(encoding="utf-8"), page.name
