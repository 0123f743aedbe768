"""A definition runs no code and writes nothing outside of its workspace: the rules refuse it, and the wall holds it.

The rules are gone around here by definitions that no file could hold, to see the wall alone.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from s3bench.bench.endpoints import stub_in_process, stub_server
from s3bench.bench.local import open_bench
from s3bench.bench.runner import PLAIN, Bench, Settings
from s3bench.clients.client import FoundClient
from s3bench.clients.confinement import CRT_LOCKS
from s3bench.gate.evidence import Inspection
from s3bench.gate.inspection import Inspector
from s3bench.results.measurement import Failure, Measurement
from s3bench.run.inspection import Unavailable
from s3bench.run.instructions import instruction_counter
from s3bench.run.landlock import abi_version
from s3bench.run.tracing import find_tracer
from s3bench.spec.definition import Definition, Environment, FileBody, FileLiteral, FixtureFile, RequestMatch, Response
from tests.crt import crt_alone
from tests.e2e.conftest import Finished, Place, download, upload
from tests.e2e.programs import found
from tests.forkserver import ForkServer
from tests.run.without_landlock import forget_landlock

Run = Callable[..., Finished]
Define = Callable[..., Path]

needs_landlock = pytest.mark.skipif(not abi_version(), reason="this kernel has no Landlock")
TRANSFERRING = ("cli-classic", "cli-crt", "boto3-classic", "boto3-crt", "crt-python", "s5cmd")
KEY = RequestMatch(method="GET", path="/bucket/*")
OBJECTS = (
    Response(match=RequestMatch(method="HEAD", path="/bucket/*"), body=FileBody(file="remote"), instances=None),
    Response(match=KEY, body=FileBody(file="remote"), instances=None),
)
REMOTE = Environment(files=(FixtureFile(name="remote", size_bytes=1000),))


@pytest.mark.parametrize(
    "changes",
    [
        {"command": ["s3", "cp", "s3://bucket/key", "{}/x"]},
        {"command": ["s3", "cp", "s3://bucket/key", "../../x"]},
        {
            "environment": {
                "config": "[default]\n[plugins]\ncli_legacy_plugin_path = .\nevil = evil",
                "file_literals": [{"name": "evil.py", "content": "open('{}/x', 'w')"}],
            }
        },
        {"environment": {"config": "[default]\ncredential_process = /bin/touch {}/x"}},
    ],
)
def test_a_definition_that_leaves_its_workspace_is_refused_and_nothing_runs(
    s3bench: Run, define: Define, tmp_path: Path, changes: dict[str, object]
) -> None:
    written = define({"name": "a", "command": ["s3api", "list-buckets"], **changes})
    written.write_text(written.read_text().replace("{}", str(tmp_path)))
    finished = s3bench("run", "--client", "cli-classic", written)
    assert (finished.code, finished.out) == (2, "")
    assert "$[0]." in finished.err
    assert not (tmp_path / "x").exists()


def by_default(*clients: str) -> list[object]:
    """The clients that transfer, all but these only in a campaign: one wall stands around them all."""
    return [each if each in clients else pytest.param(each, marks=pytest.mark.campaign) for each in TRANSFERRING]


@pytest.fixture(scope="module")
def parent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the workspaces are."""
    return tmp_path_factory.mktemp("parent")


@pytest.fixture(scope="module")
def bench(parent: Path) -> Iterator[Bench]:
    with open_bench(stub_server(), parent=parent) as bench:
        yield bench


def once(
    bench: Bench, definition: Definition, client: str, settings: Settings
) -> tuple[Measurement | Failure, set[str]]:
    """Run `definition` once: what came of it, and the files it left in its directory."""
    with bench.workspace(definition.environment) as runner_of:
        runner = runner_of(definition, found(client))
        outcome = runner.run_once(0, settings, "")
        return outcome, {path.name for path in runner.workspace.work.iterdir()}


@needs_landlock
@pytest.mark.usefixtures("aws_cli")
@pytest.mark.parametrize("client", by_default("cli-crt", "crt-python"))
def test_no_client_downloads_to_a_path_outside(bench: Bench, tmp_path: Path, client: str) -> None:
    target = tmp_path / "outside"
    target.mkdir()
    command = ("s3", "cp", "s3://bucket/key", f"{target}/x")
    definition = Definition(name="a", command=command, environment=REMOTE, responses=OBJECTS)
    outcome, _ = once(bench, definition, client, Settings(timeout_s=30))
    assert isinstance(outcome, Failure)
    assert list(target.iterdir()) == []


@needs_landlock
@pytest.mark.usefixtures("aws_cli")
@pytest.mark.parametrize("client", by_default("boto3-classic", "s5cmd"))
def test_no_client_follows_a_listed_key_that_leads_outside(bench: Bench, parent: Path, client: str) -> None:
    (parent / "escape").mkdir(exist_ok=True)
    keys = ["p/good", *(f"p/{'../' * steps}escape/x" for steps in range(1, 6)), f"p/{parent}/escape/y"]
    contents = "".join(
        f"<Contents><Key>{key}</Key><Size>1000</Size><LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
        for key in keys
    )
    listing = Response(
        match=RequestMatch(method="GET", path="/bucket", query=(("list-type", "2"),)),
        body=f"<ListBucketResult>{contents}</ListBucketResult>",
        instances=None,
    )
    slash = Response(
        match=RequestMatch(method="GET", path="/bucket/", query=(("list-type", "2"),)),
        body=listing.body,
        instances=None,
    )
    definition = Definition(
        name="a",
        command=("s3", "cp", "s3://bucket/p/", "landed", "--recursive"),
        environment=REMOTE,
        responses=(listing, slash, *OBJECTS),
    )
    once(bench, definition, client, Settings(timeout_s=30))
    assert list((parent / "escape").iterdir()) == []


EVIL = """
def awscli_initialize(cli):
    open("inside", "w")
    open({outside!r}, "w")
"""


@needs_landlock
@pytest.mark.usefixtures("aws_cli")
def test_code_that_got_in_writes_nothing_outside(bench: Bench, tmp_path: Path) -> None:
    evil = FileLiteral(name="evil.py", content=EVIL.format(outside=str(tmp_path / "outside")))
    config = "[default]\n[plugins]\ncli_legacy_plugin_path = .\nevil = evil"
    definition = Definition(
        name="a",
        command=("s3api", "list-buckets"),
        environment=Environment(file_literals=(evil,), config=config),
    )
    _, left = once(bench, definition, "cli-classic", Settings(probes=False, timeout_s=30))
    assert left == {"evil.py", "inside"}
    assert not (tmp_path / "outside").exists()


@pytest.mark.usefixtures("aws_cli")
def test_the_stub_in_the_clients_process_works_behind_the_wall(tmp_path: Path) -> None:
    definition = Definition(
        name="a",
        command=("s3", "cp", "s3://bucket/key", "landed"),
        environment=REMOTE,
        responses=OBJECTS,
    )
    with open_bench(stub_in_process(), parent=tmp_path, keep=True) as bench:
        outcome, left = once(bench, definition, "cli-classic", Settings(timeout_s=30))
    assert isinstance(outcome, Measurement), outcome
    assert "landed" in left


@needs_landlock
def test_the_document_says_that_clients_were_confined(s3bench: Run, define: Define) -> None:
    finished = s3bench("run", define(upload(1000, clients=["s5cmd"])))
    assert finished.document["machine"]["landlock_abi"] == abi_version()
    assert "outside of their workspaces" not in finished.err


KEYS = {"AWS_ACCESS_KEY_ID": "AKIAFORTHISTEST00000", "AWS_SECRET_ACCESS_KEY": "secret/for/this/test"}


@pytest.fixture
def without_landlock(place: Place, fork_server: ForkServer, tmp_path: Path) -> Run:
    """Run s3bench on a kernel without Landlock, with keys that look real."""

    def run(*arguments: str | Path) -> Finished:
        environment = {**place.environment, **KEYS}
        words = tuple(map(str, arguments))
        return Finished(fork_server.run(words, cwd=tmp_path, env=environment, timeout_s=200, before=forget_landlock))

    return run


def test_a_kernel_without_landlock_is_reported_once_and_in_the_document(without_landlock: Run, define: Define) -> None:
    finished = without_landlock("run", define(upload(1000, clients=["s5cmd"])))
    assert finished.code == 0, finished.err
    assert finished.err.count("clients can write outside of their workspaces") == 1
    assert finished.document["machine"]["landlock_abi"] == 0
    assert any("outside of their workspaces" in warning for warning in finished.document["warnings"])


LIVE = ("--endpoint-url", "http://127.0.0.1:9", "--bucket", "b")


@pytest.mark.parametrize("command", ["run", "tune"])
def test_without_landlock_no_client_gets_real_keys_unless_that_is_allowed(
    without_landlock: Run, define: Define, command: str
) -> None:
    what = (define(download(1000)),) if command == "run" else ("upload", "--size", "1MiB", "--clients", "s5cmd")
    refused = without_landlock(command, *what, *LIVE)
    assert (refused.code, refused.out) == (2, "")
    assert "--allow-unsandboxed" in refused.err
    allowed = without_landlock(command, *what, *LIVE, "--allow-unsandboxed")
    assert "bucket 'b' at http://127.0.0.1:9 cannot be used" in allowed.err


def inspected(bench: Bench, directory: Path, client: FoundClient, definition: Definition) -> None:
    """Strace and valgrind see what a client does; the test is skipped where they are missing."""
    tracer, counter = find_tracer(), instruction_counter()
    if isinstance(tracer, Unavailable) or isinstance(counter, Unavailable):
        pytest.skip(f"needs strace and valgrind: {tracer} {counter}")
    (directory / "observed").mkdir()
    inspector = Inspector(directory=directory / "observed", tracer=tracer, counter=counter)
    with bench.workspace(definition.environment) as runner_of:
        seen = inspector.inspect(runner_of(definition, client), Settings(timeout_s=30), PLAIN)
    assert isinstance(seen, Inspection), seen
    assert seen.instructions is not None
    assert seen.instructions > 1_000_000
    assert seen.files is not None
    assert "$WORK/remote" in seen.files or "remote" in seen.files
    assert seen.system_calls


def test_system_calls_and_instructions_are_counted_behind_the_wall(bench: Bench, tmp_path: Path) -> None:
    program = tmp_path / "aws"
    program.write_text("#!/bin/sh\nread line <remote\nwhile [ $((number += 1)) -lt 5000 ]; do :; done\n")
    program.chmod(0o755)
    client = FoundClient(kind="cli-classic", version="1", executable=program)
    inspected(bench, tmp_path, client, Definition(name="a", command=("--version",), environment=REMOTE))


@pytest.mark.campaign
@pytest.mark.timeout(120)  # valgrind takes up to 30 times as long
@pytest.mark.parametrize("client", ["s5cmd", "boto3-classic"])
def test_system_calls_and_instructions_of_real_clients_are_counted_behind_the_wall(
    bench: Bench, tmp_path: Path, client: str
) -> None:
    definition = Definition(
        name="a",
        command=("s3", "cp", "remote", "s3://bucket/key"),
        environment=REMOTE,
        responses=(Response(match=RequestMatch(method="PUT", path="/bucket/key"), instances=None),),
    )
    inspected(bench, tmp_path, found(client), definition)


def test_the_crt_keeps_its_lock_file_behind_the_wall(bench: Bench) -> None:
    definition = Definition(
        name="a",
        command=("s3", "cp", "remote", "s3://bucket/key"),
        environment=REMOTE,
        responses=(Response(match=RequestMatch(method="PUT", path="/bucket/key"), instances=None),),
    )
    with crt_alone("boto3-crt"):  # another process that holds the file that goes would hold nothing
        (CRT_LOCKS / "boto3.lock").unlink(missing_ok=True)
        outcome, _ = once(bench, definition, "boto3-crt", Settings(timeout_s=30))
        assert isinstance(outcome, Measurement), outcome
        assert (CRT_LOCKS / "boto3.lock").is_file()
