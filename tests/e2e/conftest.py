"""What the end-to-end tests share: the real command line in a private place, and definitions for it."""

import contextlib
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import pytest

from s3bench.clients.finding import find_client
from s3bench.clients.installing import install
from s3bench.clients.package import by_line
from s3bench.clients.plan import parse_client_spec
from s3bench.clients.store import ClientStore
from s3bench.errors import S3BenchError
from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.endpoint import EmulatorEndpoint
from tests.e2e.programs import Bench
from tests.forkserver import ForkServer

COMMAND = (sys.executable, "-c", "from s3bench.cli.main import main; main()")
MIB = 1 << 20

Definition = dict[str, Any]


class Finished:
    """A finished `s3bench`: exit code, what it said, and its results document if it wrote one."""

    def __init__(self, process: "subprocess.CompletedProcess[bytes]") -> None:
        self.code = process.returncode
        self.out = process.stdout.decode()
        self.err = process.stderr.decode()

    @property
    def document(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.out)
        return document

    @property
    def results(self) -> list[dict[str, Any]]:
        results: list[dict[str, Any]] = self.document["results"]
        return results


@pytest.fixture(scope="session")
def aws_cli() -> str:
    """An aws-cli v2 in the store, fetched on first use; the tests that need one are skipped where it cannot be had."""
    store = ClientStore.from_environment(os.environ)
    try:
        return find_client(parse_client_spec("cli-crt"), store).label
    except S3BenchError:
        pass
    try:
        install("aws-cli", store, by_line(print))
        return find_client(parse_client_spec("cli-crt"), store).label
    except S3BenchError as error:
        pytest.skip(f"needs aws-cli v2, which could not be installed: {error}")


@pytest.fixture(scope="session")
def fork_server() -> Iterator[ForkServer]:
    with ForkServer() as server:
        yield server


class Place:
    """A directory of its own for `s3bench`, with its workspaces in it."""

    def __init__(self, path: Path, server: ForkServer) -> None:
        self._path = path
        self._server = server
        self.workspaces = path / "workspaces"
        self.workspaces.mkdir()
        self.environment = {**os.environ, "S3BENCH_TMPDIR": str(self.workspaces)}

    def s3bench(self, *arguments: str | Path, timeout_s: float = 200) -> Finished:
        """Run s3bench with the arguments there."""
        words = tuple(map(str, arguments))
        return Finished(self._server.run(words, cwd=self._path, env=self.environment, timeout_s=timeout_s))

    def define(self, *definitions: Definition) -> Path:
        """Write definitions to a file there."""
        path = self._path / "definitions.json"
        path.write_text(json.dumps(definitions))
        return path


@pytest.fixture
def place(tmp_path: Path, fork_server: ForkServer) -> Place:
    return Place(tmp_path, fork_server)


@pytest.fixture
def workspaces(place: Place) -> Path:
    return place.workspaces


@pytest.fixture
def environment(place: Place) -> dict[str, str]:
    return place.environment


@pytest.fixture
def s3bench(place: Place, environment: dict[str, str]) -> Callable[..., Finished]:
    """Run s3bench with the arguments, in a directory of its own."""
    place.environment = environment  # modules may add to it
    return place.s3bench


@pytest.fixture
def load(s3bench: Callable[..., Finished], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Finished]:
    """Run `s3bench load -q` in a directory of its own, which becomes the working directory of the test too."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str | Path) -> Finished:
        return s3bench("load", "-q", *arguments)

    return run


@pytest.fixture
def define(place: Place) -> Callable[..., Path]:
    """Write definitions to a file."""
    return place.define


def upload(size_bytes: int, **changes: Any) -> Definition:
    return {
        "name": "upload",
        "command": ["s3", "cp", "file", "s3://bucket/key", "--quiet"],
        "environment": {"files": [{"name": "file", "size": size_bytes, "fill": "random"}]},
        "responses": [
            {"match": {"method": "PUT", "path": "/bucket/key"}, "instances": "any"},
            {
                "match": {"method": "POST", "path": "/bucket/key", "query": {"uploads": ""}},
                "body": "<InitiateMultipartUploadResult><UploadId>upload</UploadId></InitiateMultipartUploadResult>",
                "instances": "any",
            },
            {
                "match": {"method": "POST", "path": "/bucket/key", "query": {"uploadId": "upload"}},
                "body": '<CompleteMultipartUploadResult><ETag>"1"</ETag></CompleteMultipartUploadResult>',
                "instances": "any",
            },
        ],
        **changes,
    }


def download(size_bytes: int, **changes: Any) -> Definition:
    return {
        "name": "download",
        "command": ["s3", "cp", "s3://bucket/key", "landed", "--quiet"],
        "environment": {"files": [{"name": "remote", "size": size_bytes, "fill": "random"}]},
        "responses": [
            {"match": {"method": "HEAD", "path": "/bucket/key"}, "body": {"file": "remote"}, "instances": "any"},
            {"match": {"method": "GET", "path": "/bucket/key"}, "body": {"file": "remote"}, "instances": "any"},
        ],
        **changes,
    }


def starting(name: str = "start", **changes: Any) -> Definition:
    """The quickest benchmark there is: no request at all."""
    return {"name": name, "command": ["--version"], "responses": [], **changes}


_LONG_AGO_S = 1_600_000_000


class Emulators:
    """The emulators of one session, plain and TLS, each started when it is first asked for."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._stack = contextlib.ExitStack()
        self._running: dict[bool, EmulatorEndpoint] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def at(self, *, tls: bool) -> EmulatorEndpoint:
        if tls not in self._running:
            directory = self._root / ("https" if tls else "http")
            directory.mkdir()
            self._running[tls] = self._stack.enter_context(EmulatorEndpoint(tls=tls, directory=directory))
        return self._running[tls]

    @contextlib.contextmanager
    def armed(self, *, tls: bool, settings: EmulatorSettings) -> Iterator[EmulatorEndpoint]:
        """An emulator with nothing but what `settings` say; afterwards, no request may have broken it."""
        emulator = self.at(tls=tls)
        emulator.arm(settings)
        yield emulator
        log = emulator.collect()
        said = (*log.faults, *(request.error for request in log.requests))
        assert [text for text in said if "the server failed" in text] == []


@pytest.fixture(scope="session")
def emulators(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulators]:
    with Emulators(tmp_path_factory.mktemp("emulators")) as running:
        yield running


@pytest.fixture(params=[False, True], ids=["http", "https"])
def bench(request: pytest.FixtureRequest, emulators: Emulators, tmp_path: Path) -> Iterator[Bench]:
    """All clients, pointed at an emulator that holds the empty bucket `bucket`; over HTTP, then over HTTPS."""
    with emulators.armed(tls=request.param, settings=EmulatorSettings(buckets=("bucket",))) as emulator:
        yield Bench(emulator, tmp_path)


@pytest.fixture
def plain_bench(emulators: Emulators, tmp_path: Path) -> Iterator[Bench]:
    """As `bench`, over HTTP alone."""
    with emulators.armed(tls=False, settings=EmulatorSettings(buckets=("bucket",))) as emulator:
        yield Bench(emulator, tmp_path)


AWKWARD = (
    "plain", "with space", "two  spaces", "plus+plus", "percent%41", "percent%", "and&and", "equals=x", "hash#x",
    "question?x", "quote'x", 'double"x', "tilde~x", "semi;colon", "comma,comma", "at@at", "dollar$x", "paren(x)",
    "bracket[x]", "brace{x}", "caret^x", "pipe|x", "back`tick", "less<more>", "colon:x", "excl!x", "dot.", ".hidden",
    "-dash", "ümläut", "日本語", "emoji-\U0001f980", "combining-e\u0301", "a/b/c/deep", "a/b c/ümlaut/x y",
    "folder.d/file.txt", "%2F", "x-amz-meta", "null",
)  # fmt: skip
"""Names that clients and servers have to encode, each in its own way."""


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files from empty to several parts, and small ones, most of whose names are awkward."""
    root = tmp_path_factory.mktemp("tree")
    noise = random.Random(20261121)
    for name, size_bytes in (("empty", 0), ("one", 1), ("part-and-one", 5 * MIB + 1), ("large", 11 * MIB + 12345)):
        (root / name).write_bytes(noise.randbytes(size_bytes))
    names = [*AWKWARD, *(f"many/{number:03}" for number in range(5))]
    for name in names:
        path = root / "small" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(noise.randbytes(noise.randrange(3000)))
    for path in root.rglob("*"):
        os.utime(path, (_LONG_AGO_S, _LONG_AGO_S))  # S3 tells whole seconds, so what is new could look newer than it
    return root


def contents(root: Path) -> dict[str, bytes]:
    """Every file below `root` with its bytes."""
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}
