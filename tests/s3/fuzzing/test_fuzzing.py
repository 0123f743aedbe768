"""A fuzzer for the emulator and the stub: mutated requests over real sockets, judged by `oracle`.

Every case follows from its seed and number: what failed is printed, and `pieces` can be sent again. Set
S3BENCH_FUZZ_SEED to search with another seed.
"""

import os
import re
import socket
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from s3bench.s3.control import Counters
from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.endpoint import EmulatorEndpoint, ServerProcess, StubEndpoint
from s3bench.s3.network.model import parse_network
from s3bench.spec.definition import FileBody, RequestMatch, Response
from tests.s3.fuzzing.answers import LIMIT_S, Talk, Wrong
from tests.s3.fuzzing.mutation import ACCESS_KEY, BUCKET, SECRET_KEY, Case, Draft, World, cases, corpus, signed
from tests.s3.fuzzing.oracle import owed_for

SEED = int(os.environ.get("S3BENCH_FUZZ_SEED", "20261125"))
MIB = 1 << 20
LIMIT_BYTES = 64 * MIB
SLACK_BYTES = 64 * MIB  # of the process: its buffers, a document while it is read, and what the allocator keeps
CASES_A_LOOK = 200  # between two looks at the server's counters, after which its state is made anew

LARGE = bytes(range(250)) * 400
CANARY = b"nobody may touch this"
ANY_WORLD = World(upload_id="x", part_etag="x", version_id="null")


class Fuzzed:
    """The server under test."""

    def __init__(self, endpoint: ServerProcess) -> None:
        self._endpoint = endpoint
        self._talk: Talk | None = None
        self._before_bytes = self.resident_bytes()

    def send(self, case: Case) -> None:
        """Send a case and judge the answers. Raises `Wrong`."""
        if self._talk is not None and case.fresh:
            self._hang_up()
        self._talk = self._talk or Talk(self._endpoint.port)
        self._talk.send(list(case.pieces))
        if not self._talk.collect(owed_for(case.stream), end=case.ends):
            self._hang_up()

    def run(self, chosen: Iterator[Case]) -> None:
        """Send all of them; says which one failed, and what was sent before it."""
        before: Case | None = None
        for case in chosen:
            try:
                self.send(case)
            except (Wrong, OSError) as wrong:
                self._hang_up()
                earlier = "" if before is None or case.fresh else f"\nbefore it: {before.pieces!r:.3000}"
                pytest.fail(f"seed {SEED}, case {case.number}: {wrong}\npieces: {case.pieces!r:.6000}{earlier}")
            before = case
        self._hang_up()

    def ask(self, draft: Draft) -> tuple[int, dict[str, str], bytes]:
        """Send a good request on a connection of its own."""
        with socket.create_connection(("127.0.0.1", self._endpoint.port), timeout=LIMIT_S) as sock:
            sock.sendall(draft.with_fields(("Connection", "close")).written())
            data = b"".join(iter(lambda: sock.recv(65536), b""))
        head, _, body = data.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")[1:]
        fields = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        return int(head[9:12]), fields, body

    def settle(self) -> Counters:
        """Check that nothing failed, nothing is on and nothing is held beyond its limit; forgets the wire log."""
        for _ in range(1000):
            drained = self._endpoint.drain(requests_max=0)
            assert drained.failures == ()
            counters = drained.counters
            if not counters.in_flight and not counters.connections_open:
                break
        assert (counters.in_flight, counters.connections_open) == (0, 0)
        assert counters.held_bytes <= LIMIT_BYTES
        assert self.resident_bytes() < self._before_bytes + LIMIT_BYTES + SLACK_BYTES
        return counters

    def resident_bytes(self) -> int:
        found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{self._endpoint.pid}/status").read_text())
        assert found is not None
        return int(found[1]) * 1024

    def _hang_up(self) -> None:
        if self._talk is not None:
            self._talk.close()
            self._talk = None


def now() -> str:
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")


def fuzz_emulator(endpoint: EmulatorEndpoint, numbers: range, network: str, **settings: object) -> None:
    """Send the cases with these numbers to an emulator with these settings."""
    model = parse_network(network) if network else None
    chosen = {"buckets": (BUCKET, "versioned", "canary"), "memory_limit_bytes": LIMIT_BYTES, **settings}
    is_signed = "access_key" in settings
    server = Fuzzed(endpoint)
    for start in range(numbers.start, numbers.stop, CASES_A_LOOK):
        endpoint.arm(EmulatorSettings(**chosen), network=model)  # type: ignore[arg-type]
        timestamp = now() if is_signed else ""
        world = set_up(server, timestamp)
        part = range(start, min(start + CASES_A_LOOK, numbers.stop))
        server.run(cases(corpus(world), SEED, part, timestamp))
        counters = server.settle()
        assert counters.objects >= 1
        check_state(server, timestamp, discard="discard" in settings)


def set_up(server: Fuzzed, timestamp: str) -> World:
    """Make what the corpus asks for."""

    def ask(method: str, target: str, body: bytes = b"") -> tuple[dict[str, str], bytes]:
        draft = Draft(method=method, target=target, body=body)
        status, fields, answer = server.ask(with_signature(draft, timestamp))
        assert status == 200, answer
        return fields, answer

    ask("PUT", "/canary/canary", CANARY)
    for key, body in (("small", CANARY), ("a%20b", b"ab"), ("large", LARGE)):
        ask("PUT", f"/{BUCKET}/{key}", body)
    enabled = b"<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>"
    ask("PUT", "/versioned?versioning", enabled)
    version_id = ask("PUT", "/versioned/key", CANARY)[0]["x-amz-version-id"]
    found = re.search(rb"<UploadId>(.*)</UploadId>", ask("POST", f"/{BUCKET}/parts?uploads")[1])
    assert found is not None
    upload_id = found[1].decode()
    etag = ask("PUT", f"/{BUCKET}/parts?partNumber=1&uploadId={upload_id}", LARGE)[0]["etag"]
    return World(upload_id=upload_id, part_etag=etag, version_id=version_id)


def check_state(server: Fuzzed, timestamp: str, *, discard: bool) -> None:
    """Check that what nobody asked to change is as it was, and that lists and reads agree."""
    status, _, body = server.ask(with_signature(Draft(method="GET", target="/canary/canary"), timestamp))
    assert (status, discard or body == CANARY) == (200, True)
    status, _, body = server.ask(with_signature(Draft(method="GET", target="/canary?list-type=2"), timestamp))
    assert (status, re.findall(rb"<Key>(.*?)</Key>", body)) == (200, [b"canary"])


def with_signature(draft: Draft, timestamp: str) -> Draft:
    return signed(draft, timestamp, NeverByChance()) if timestamp else draft


class NeverByChance:
    """A random generator by which nothing rare happens."""

    @staticmethod
    def random() -> float:
        return 0.5


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatorEndpoint]:
    with EmulatorEndpoint(directory=tmp_path_factory.mktemp("fuzzed-emulator")) as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def stub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StubEndpoint]:
    with StubEndpoint(directory=tmp_path_factory.mktemp("fuzzed-stub")) as endpoint:
        yield endpoint


KEYS = {"access_key": ACCESS_KEY, "secret_key": SECRET_KEY}
NETWORK = "bandwidth=1GB/s,nic=2GB/s"
EMULATORS = (
    pytest.param({}, "", 400, 70_000, id="open"),
    pytest.param(KEYS, "", 200, 15_000, id="signed"),
    pytest.param({}, NETWORK, 200, 10_000, id="paced"),
    pytest.param({"discard": True, "md5_always": True}, "", 200, 5_000, id="discarding"),
)


@pytest.mark.parametrize(("settings", "network", "few", "many"), EMULATORS)
@pytest.mark.timeout(60)
def test_mutated_requests_to_the_emulator_are_answered(
    emulator: EmulatorEndpoint, settings: dict[str, object], network: str, few: int, many: int
) -> None:
    fuzz_emulator(emulator, range(many, many + few), network, **settings)


@pytest.mark.campaign
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("settings", "network", "few", "many"), EMULATORS)
def test_campaign_mutated_requests_to_the_emulator_are_answered(
    emulator: EmulatorEndpoint, settings: dict[str, object], network: str, few: int, many: int
) -> None:
    del few
    fuzz_emulator(emulator, range(many), network, **settings)


def fuzz_stub(endpoint: StubEndpoint, numbers: range, workspace: Path, *, verify: bool) -> None:
    """Send the cases with these numbers to a stub whose responses fit every request."""
    (workspace / "small").write_bytes(CANARY)
    (workspace / "large").write_bytes(LARGE)
    (workspace / "a b").write_bytes(b"")
    responses = (
        Response(match=RequestMatch(method="GET", path=f"/{BUCKET}/*"), instances=None, body=FileBody(file="*")),
        Response(match=RequestMatch(method="HEAD", path=f"/{BUCKET}/*"), instances=None, body=FileBody(file="*")),
        Response(
            match=RequestMatch(method="POST", query=(("uploads", ""),)), instances=None, body="<UploadId>x</UploadId>"
        ),
        Response(match=RequestMatch(method="DELETE"), instances=None, status_code=204),
        Response(match=RequestMatch(method="PUT", path="/versioned/*"), instances=1, status_code=304),
        Response(match=RequestMatch(method="PUT"), instances=None),
        Response(match=RequestMatch(path="/canary"), instances=None, body="fine"),
    )
    server = Fuzzed(endpoint)
    for start in range(numbers.start, numbers.stop, CASES_A_LOOK):
        endpoint.arm(responses, workspace=workspace, verify=verify)
        server.run(cases(corpus(ANY_WORLD), SEED, range(start, min(start + CASES_A_LOOK, numbers.stop))))
        server.settle()
        assert server.ask(Draft(method="GET", target="/canary"))[::2] == (200, b"fine")
        assert server.ask(Draft(method="GET", target=f"/{BUCKET}/large"))[::2] == (200, LARGE)


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.timeout(60)
def test_mutated_requests_to_the_stub_are_answered(stub: StubEndpoint, tmp_path: Path, verify: bool) -> None:
    fuzz_stub(stub, range(100_000, 100_400), tmp_path, verify=verify)


@pytest.mark.campaign
@pytest.mark.timeout(900)
@pytest.mark.parametrize("verify", [True, False])
def test_campaign_mutated_requests_to_the_stub_are_answered(stub: StubEndpoint, tmp_path: Path, verify: bool) -> None:
    fuzz_stub(stub, range(50_000), tmp_path, verify=verify)
