"""The real boto3, awscrt and s5cmd, run as a benchmark runs them, against the real stub."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from s3bench.clients.boto3.driver.s3bench_driver_backend import Boto3Backend
from s3bench.clients.client import ClientSpec
from s3bench.clients.environment import EndpointFacts, Sandbox
from s3bench.clients.finding import find_client
from s3bench.clients.inprocess import URL, read_log, write_script
from s3bench.clients.invocation import invocation
from s3bench.clients.probes.s3bench_probe.milestones import MilestoneLog
from s3bench.clients.store import ClientStore
from s3bench.clients.transfer_settings import transfer_settings
from s3bench.s3.endpoint import StubEndpoint
from s3bench.s3.wirelog import TransferEngine, WireLog
from s3bench.spec.command import parse_transfer
from s3bench.spec.definition import Definition, Environment, FileBody, RequestMatch, Response
from tests.crt import crt_alone
from tests.schemes import HTTP, HTTPS, over

DRIVEN = ["boto3-classic", "boto3-crt", "crt-python"]
ALL = [*DRIVEN, "s5cmd"]
SPLIT = {"boto3-classic", "crt-python"}  # these upload over HTTP by default, and download in tests/e2e
MILESTONES = ["interpreter_start", "imports_done", "client_created", "first_client_invocation", "exit"]
ENGINES = {
    "boto3-classic": TransferEngine.PYTHON,
    "boto3-crt": TransferEngine.CRT,
    "crt-python": TransferEngine.CRT,
    "s5cmd": TransferEngine.GO,
}
LISTING = (
    '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><IsTruncated>false</IsTruncated><Contents>'
    "<Key>p/a</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>&quot;e&quot;</ETag><Size>4096</Size>"
    "</Contents></ListBucketResult>"
)
# s5cmd waits for ever for an answer that names no deleted key.
DELETED = "<DeleteResult><Deleted><Key>k</Key></Deleted></DeleteResult>"
UPLOAD = (
    Response(match=RequestMatch(method="PUT"), instances=None),
    Response(
        match=RequestMatch(method="POST", query=(("uploads", ""),)), instances=None,
        body="<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>",
    ),
    Response(
        match=RequestMatch(method="POST", query=(("uploadId", ""),)), instances=None,
        body='<CompleteMultipartUploadResult><ETag>"e-1"</ETag></CompleteMultipartUploadResult>',
    ),
)  # fmt: skip
OBJECT = (
    Response(match=RequestMatch(method="GET", path="/b", query=(("list-type", ""),)), instances=None, body=LISTING),
    Response(match=RequestMatch(method="HEAD"), instances=None, body=FileBody(file="object")),
    Response(match=RequestMatch(method="GET"), instances=None, body=FileBody(file="object")),
    Response(match=RequestMatch(method="DELETE"), instances=None, status_code=204),
    Response(match=RequestMatch(method="POST", query=(("delete", ""),)), instances=None, body=DELETED),
)


@dataclass
class Run:
    log: WireLog
    milestones: list[str]
    exit_code: int
    stderr: str

    @property
    def requests(self) -> Counter[str]:
        return Counter(request.method for request in self.log.requests)

    @property
    def engines(self) -> set[TransferEngine]:
        return {
            request.engine for request in self.log.requests if request.method in {"PUT", "GET"} and not request.query
        }


@pytest.fixture(scope="module")
def any_stub(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StubEndpoint]:
    with StubEndpoint(tls=request.param, directory=tmp_path_factory.mktemp("stub")) as stub:
        yield stub


@pytest.fixture(scope="module")
def stub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StubEndpoint]:
    with StubEndpoint(directory=tmp_path_factory.mktemp("stub")) as stub:
        yield stub


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    box = Sandbox(
        home=tmp_path / "home", temporary=tmp_path / "tmp", work=tmp_path / "work", probe_file=tmp_path / "milestones"
    )
    box.config_file.parent.mkdir(parents=True)
    box.temporary.mkdir()
    box.work.mkdir()
    return box


def perform(
    kind: str, command: str, sandbox: Sandbox, endpoint: EndpointFacts, *, config: str = "[default]"
) -> tuple[list[str], int, str]:
    words = ("s3", *command.split())
    found = find_client(ClientSpec(kind=kind), ClientStore(sandbox.home))
    definition = Definition(name="x", command=words, environment=Environment(config=config))
    call = invocation(found, definition, parse_transfer(words), endpoint, sandbox)
    sandbox.config_file.write_text(call.config_text)
    with crt_alone(kind):
        done = subprocess.run(
            call.argv, env=call.env, cwd=sandbox.work, capture_output=True, text=True, timeout=200, check=False
        )
    probe = sandbox.probe_file
    marked = probe.read_text().splitlines() if probe is not None and probe.exists() else []
    return [line.split()[0] for line in marked], done.returncode, done.stderr


def run(
    stub: StubEndpoint,
    kind: str,
    command: str,
    sandbox: Sandbox,
    responses: tuple[Response, ...],
    config: str = "[default]",
) -> Run:
    stub.arm(responses, workspace=sandbox.work, verify=True)
    facts = EndpointFacts(url=stub.url, ca_bundle=stub.ca_bundle)
    milestones, code, stderr = perform(kind, command, sandbox, facts, config=config)
    return Run(stub.collect(), milestones, code, stderr)


@pytest.mark.parametrize(
    ("any_stub", "kind"),
    [
        *(over(HTTP, kind, also=kind not in SPLIT) for kind in ALL),
        *(over(HTTPS, kind, also=kind in SPLIT) for kind in ALL),
    ],
    indirect=["any_stub"],
)
def test_an_upload_arrives_whole_in_the_parts_of_the_config_by_the_engine_that_was_asked_for(
    kind: str, any_stub: StubEndpoint, sandbox: Sandbox
) -> None:
    (sandbox.work / "file").write_bytes(os.urandom(12 << 20))
    config = (
        "[default]\ns3 =\n  multipart_chunksize = 6MB\n  multipart_threshold = 6MB\n  max_concurrent_requests = 2\n"
    )
    done = run(any_stub, kind, "cp file s3://b/k", sandbox, UPLOAD, config)
    assert (done.exit_code, done.stderr) == (0, "")
    assert [request.body_bytes for request in done.log.requests if request.method == "PUT"] == [6 << 20, 6 << 20]
    assert {request.engine for request in done.log.requests} == {ENGINES[kind]}
    assert not any(request.error for request in done.log.requests)
    assert done.milestones == (MILESTONES if kind in DRIVEN else [])


@pytest.mark.parametrize(
    ("any_stub", "kind"),
    [
        *(over(scheme, kind, also=True) for scheme in (HTTP, HTTPS) for kind in ALL),  # tests/e2e/test_clients.py does
    ],
    indirect=["any_stub"],
)
def test_a_download_is_identical(kind: str, any_stub: StubEndpoint, sandbox: Sandbox) -> None:
    content = os.urandom(9 << 20)
    (sandbox.work / "object").write_bytes(content)
    done = run(any_stub, kind, "cp s3://b/k file", sandbox, OBJECT)
    assert (done.exit_code, done.stderr) == (0, "")
    assert (sandbox.work / "file").read_bytes() == content
    assert done.engines == {ENGINES[kind]}


CRT_OF_BOTO3 = pytest.param("boto3-crt", marks=pytest.mark.campaign)


# boto3-crt lists as Classic, transfers as above and deletes as Classic.
@pytest.mark.parametrize("kind", ["boto3-classic", CRT_OF_BOTO3, "crt-python", "s5cmd"])
def test_a_prefix_is_moved(kind: str, stub: StubEndpoint, sandbox: Sandbox) -> None:
    content = os.urandom(4096)
    (sandbox.work / "object").write_bytes(content)
    done = run(stub, kind, "mv s3://b/p out --recursive", sandbox, OBJECT)
    assert (done.exit_code, done.requests["DELETE"] + done.requests["POST"]) == (0, 1)
    assert (sandbox.work / "out" / "a").read_bytes() == content


@pytest.mark.parametrize("kind", ["boto3-classic", CRT_OF_BOTO3, "crt-python", "s5cmd"])
def test_a_prefix_is_synchronised_once_and_removed(kind: str, stub: StubEndpoint, sandbox: Sandbox) -> None:
    content = os.urandom(4096)
    (sandbox.work / "object").write_bytes(content)
    run(stub, kind, "sync s3://b/p out", sandbox, OBJECT)
    assert (sandbox.work / "out" / "a").read_bytes() == content
    if kind in DRIVEN:
        assert run(stub, kind, "sync s3://b/p out", sandbox, OBJECT).requests == {"GET": 1}
    done = run(stub, kind, "rm s3://b/p --recursive", sandbox, OBJECT)
    assert (done.exit_code, done.requests["DELETE"] + done.requests["POST"]) == (0, 1)


def test_every_setting_that_boto3_has_reaches_its_transfer_config(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "b")):
        monkeypatch.setenv(name, value)
    block = {
        "multipart_threshold": "16MB", "multipart_chunksize": "32MB", "max_concurrent_requests": "77",
        "io_chunksize": "1MB", "max_bandwidth": "50MB/s", "max_queue_size": "9", "target_bandwidth": "1Gb/s",
    }  # fmt: skip
    request = {
        "kind": "boto3-classic", "settings": transfer_settings(block), "endpoint_url": URL, "region": "us-east-1",
        "ca_bundle": None,
    }  # fmt: skip
    backend = Boto3Backend(request, MilestoneLog())
    classic, crt = backend._config("classic"), backend._config("crt")
    sizes = (16 << 20, 32 << 20, 77)
    assert (classic.multipart_threshold, classic.multipart_chunksize, classic.max_concurrency) == sizes
    assert (classic.io_chunksize, classic.max_bandwidth) == (1 << 20, 50 << 20)
    assert (crt.multipart_threshold, crt.multipart_chunksize, crt.max_concurrency) == sizes
    assert crt.get_deep_attr("io_chunksize") is crt.UNSET_DEFAULT  # boto3 refuses what its CRT does not take


# boto3-classic: tests/clients/test_inspection_probe.py. The CRT's errors are the same by boto3 and by itself.
@pytest.mark.parametrize("kind", [CRT_OF_BOTO3, "crt-python"])
def test_a_failed_transfer_exits_1_with_the_reason(kind: str, stub: StubEndpoint, sandbox: Sandbox) -> None:
    done = run(
        stub, kind, "cp s3://b/k file", sandbox, (Response(match=RequestMatch(), instances=None, status_code=403),)
    )
    assert done.exit_code == 1
    assert done.stderr.strip()
    assert "Traceback" not in done.stderr


def test_boto3_crt_that_silently_ran_classic_shows_on_the_wire(stub: StubEndpoint, sandbox: Sandbox) -> None:
    (sandbox.work / "file").write_bytes(b"x" * 4096)
    with lock_held("boto3"):
        done = run(stub, "boto3-crt", "cp file s3://b/k", sandbox, UPLOAD)
    assert done.engines == {TransferEngine.PYTHON}


@contextmanager
def lock_held(name: str) -> Iterator[None]:
    """The CRT's process lock in another process's hands."""
    take = f"lock = awscrt.s3.CrossProcessLock({name!r}); lock.acquire(); print('held', flush=True)"
    code = f"import awscrt.s3, sys; {take}; sys.stdin.read()"
    program = [sys.executable, "-c", code]
    with crt_alone("boto3-crt"), subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        yield
        assert holder.stdin is not None
        holder.stdin.close()


def test_boto3_is_stubbed_inside_its_own_process(sandbox: Sandbox, tmp_path: Path) -> None:
    content = os.urandom(9 << 20)
    (sandbox.work / "object").write_bytes(content)
    script, log = tmp_path / "script", tmp_path / "log"
    write_script(script, OBJECT, workspace=sandbox.work, log=log)
    box = Sandbox(home=sandbox.home, temporary=sandbox.temporary, work=sandbox.work, stub_script=script)
    _, code, stderr = perform("boto3-classic", "cp s3://b/k file", box, EndpointFacts(url=URL))
    assert (code, stderr) == (0, "")
    assert (sandbox.work / "file").read_bytes() == content
    wire = read_log(log, OBJECT)
    assert Counter(request.status for request in wire.requests) == {200: 1, 206: 2}
    assert wire.requests_in_flight_max >= 1
