"""Clients that misbehave: nothing breaks, nothing hangs, and what they held of the memory comes back.

The emulator runs in its own process, as always; what it holds is read from its counters and from /proc.
"""

import base64
import contextlib
import hashlib
import random
import re
import resource
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

import pytest

from s3bench.s3.control import Counters
from s3bench.s3.emulator.handler import Emulator
from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.endpoint import EmulatorEndpoint
from s3bench.s3.server.server import Server

MIB = 1 << 20
LIMIT_BYTES = 64 * MIB
LIMIT_S = 60.0
RESET_ON_CLOSE = b"\x01\x00\x00\x00\x00\x00\x00\x00"  # SO_LINGER with no time: close() sends RST
SLACK_BYTES = 48 * MIB  # of the process: its log, its buffers, and what the allocator keeps

Answer = tuple[int, bytes]


class Client:
    """One connection that sends what it is told, and can be slow, cut short or rude."""

    def __init__(self, port: int) -> None:
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S)
        self._data = bytearray()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.sock.close()

    def send(self, method: str, target: str, body: bytes = b"", **headers: str | int) -> None:
        """Send a request; with a `content_length` of its own, the body may be shorter or longer than declared."""
        headers.setdefault("content_length", len(body))
        lines = [f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items()]
        self.sock.sendall(f"{method} {target} HTTP/1.1\r\nHost: h\r\n{''.join(lines)}\r\n".encode() + body)

    def answer(self) -> Answer:
        """Read one response."""
        while b"\r\n\r\n" not in self._data:
            self._more()
        lines, _, self._data = self._data.partition(b"\r\n\r\n")
        head = bytes(lines)
        found = re.search(rb"(?i)content-length: (\d+)", head)
        length = int(found[1]) if found and head[9:12] not in {b"204", b"304"} else 0
        while len(self._data) < length:
            self._more()
        body, self._data = bytes(self._data[:length]), self._data[length:]
        return int(head[9:12]), body

    def ask(self, method: str, target: str, body: bytes = b"", **headers: str | int) -> Answer:
        self.send(method, target, body, **headers)
        return self.answer()

    def reset(self) -> None:
        """Go away in the rudest manner."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
        self.sock.close()

    def _more(self) -> None:
        data = self.sock.recv(1 << 20)
        if not data:
            raise EOFError(self._data)
        self._data += data


class Victim:
    """The emulator, and what is known of its process."""

    def __init__(self, endpoint: EmulatorEndpoint) -> None:
        self.endpoint = endpoint

    def arm(self, **settings: object) -> None:
        chosen = {"buckets": ("bucket",), "memory_limit_bytes": LIMIT_BYTES, **settings}
        self.endpoint.arm(EmulatorSettings(**chosen))  # type: ignore[arg-type]

    def connect(self) -> Client:
        return Client(self.endpoint.port)

    def ask(self, method: str, target: str, body: bytes = b"", **headers: str | int) -> Answer:
        with self.connect() as client:
            return client.ask(method, target, body, **headers)

    def counters(self) -> Counters:
        drained = self.endpoint.drain(requests_max=100_000)
        said = (*drained.faults, *(request.error for request in drained.requests))
        assert [text for text in said if "the server failed" in text] == []
        return drained.counters

    def settled(self, holds: Callable[[Counters], bool]) -> Counters:
        """Wait until the counters are as they should be: the server learns of a closed connection a moment later."""
        deadline = time.monotonic() + LIMIT_S
        while not holds(counters := self.counters()):
            assert time.monotonic() < deadline, f"it never came about: {counters}"
        return counters

    def resident_bytes(self, name: str = "VmRSS") -> int:
        found = re.search(rf"{name}:\s+(\d+) kB", Path(f"/proc/{self.endpoint.pid}/status").read_text())
        assert found is not None
        return int(found[1]) * 1024


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatorEndpoint]:
    """One for this module alone: what its process keeps in memory is asserted."""
    with EmulatorEndpoint(directory=tmp_path_factory.mktemp("emulator")) as running:
        yield running


@pytest.fixture
def victim(endpoint: EmulatorEndpoint) -> Iterator[Victim]:
    """An emulator that has to be as before at the end: no connection, nothing held, no memory kept."""
    server = Victim(endpoint)
    server.arm()
    before_bytes = server.resident_bytes()
    yield server
    while names := re.findall(rb"<Key>([^<]*)</Key>", server.ask("GET", "/bucket?list-type=2")[1]):
        document = b"<Delete>%b</Delete>" % b"".join(b"<Object><Key>%b</Key></Object>" % name for name in names)
        assert server.ask("POST", "/bucket?delete", document, content_md5=md5(document))[0] == 200
    server.settled(lambda counters: (counters.connections_open, counters.in_flight, counters.held_bytes) == (0, 0, 0))
    assert server.resident_bytes() < before_bytes + SLACK_BYTES
    endpoint.collect()


@pytest.fixture
def many_descriptors() -> Iterator[None]:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(8192, limits[1]), limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def md5(data: bytes) -> str:
    return base64.b64encode(hashlib.md5(data).digest()).decode()


def noise(size_bytes: int, seed: int = 0) -> bytes:
    return random.Random(seed).randbytes(size_bytes)


@pytest.mark.usefixtures("many_descriptors")
def test_two_thousand_connections_are_served(victim: Victim) -> None:
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(victim.connect()) for _ in range(2000)]
        body = noise(1000)
        assert victim.ask("PUT", "/bucket/key", body)[0] == 200
        for client in clients:
            client.send("GET", "/bucket/key")
        assert {client.answer() for client in clients} == {(200, body)}
        victim.settled(lambda counters: counters.connections_open == 2000)


@pytest.mark.usefixtures("many_descriptors")
def test_clients_that_read_nothing_hold_nothing_but_their_sockets(victim: Victim) -> None:
    body = noise(8 * MIB)
    assert victim.ask("PUT", "/bucket/large", body)[0] == 200
    before_bytes = victim.resident_bytes()
    with contextlib.ExitStack() as stack:
        for _ in range(200):
            stack.enter_context(victim.connect()).send("GET", "/bucket/large")
        victim.settled(lambda counters: counters.in_flight == 200)
        assert victim.ask("GET", "/bucket/large") == (200, body)
        assert victim.resident_bytes() < before_bytes + 16 * MIB


def test_clients_that_read_nothing_hold_nothing_over_tls_either(tmp_path: Path) -> None:
    with EmulatorEndpoint(tls=True, directory=tmp_path) as endpoint, contextlib.ExitStack() as stack:
        server = Victim(endpoint)
        server.arm()
        context = ssl.create_default_context(cafile=str(endpoint.ca_bundle))

        def connect() -> Client:
            client = stack.enter_context(server.connect())
            client.sock = stack.enter_context(context.wrap_socket(client.sock, server_hostname="127.0.0.1"))
            return client

        body = noise(8 * MIB)
        assert connect().ask("PUT", "/bucket/large", body)[0] == 200
        clients = [connect() for _ in range(100)]
        before_bytes = server.resident_bytes()
        for client in clients:
            client.send("GET", "/bucket/large")
        server.settled(lambda counters: counters.in_flight == 100)
        assert server.resident_bytes() < before_bytes + 8 * MIB
        assert clients[50].answer() == (200, body)


def test_an_object_that_is_deleted_while_it_is_read_is_read_to_its_end(victim: Victim) -> None:
    body = noise(8 * MIB)
    assert victim.ask("PUT", "/bucket/large", body)[0] == 200
    with victim.connect() as slow:
        slow.send("GET", "/bucket/large")
        assert victim.ask("DELETE", "/bucket/large")[0] == 204
        assert victim.counters().held_bytes >= len(body)
        for number in range(6):
            assert victim.ask("PUT", f"/bucket/other-{number}", bytes(8 * MIB))[0] == 200
        assert slow.answer() == (200, body)


def test_an_object_that_is_replaced_while_its_last_bytes_are_on_their_way_arrives_as_it_was(victim: Victim) -> None:
    body = noise(MIB)
    assert victim.ask("PUT", "/bucket/replaced", body)[0] == 200
    with victim.connect() as slow:
        slow.send("GET", "/bucket/replaced")
        victim.settled(lambda counters: counters.requests == 2)
        for seed in range(1, 5):
            assert victim.ask("PUT", "/bucket/replaced", noise(MIB, seed))[0] == 200
        assert slow.answer() == (200, body)


def test_a_body_counts_from_its_first_byte_and_comes_back_with_its_connection(victim: Victim) -> None:
    with contextlib.ExitStack() as stack:
        slow = [stack.enter_context(victim.connect()) for _ in range(15)]
        for client in slow:
            client.send("PUT", "/bucket/slow", noise(1000), content_length=4 * MIB)
        victim.settled(lambda counters: counters.held_bytes >= 60 * MIB)
        status, told = victim.ask("PUT", "/bucket/other", bytes(5 * MIB))
        assert (status, b"<Code>InsufficientStorage</Code>" in told) == (507, True)
        for client in slow[:5]:
            client.reset()
        victim.settled(lambda counters: counters.held_bytes <= 40 * MIB)
        assert victim.ask("PUT", "/bucket/other", bytes(5 * MIB))[0] == 200


def test_a_half_received_part_comes_back_and_so_do_the_parts_of_an_aborted_upload(victim: Victim) -> None:
    created = victim.ask("POST", "/bucket/parts?uploads")[1]
    upload = re.findall(rb"<UploadId>(.*)</UploadId>", created)[0].decode()
    for number in (1, 2):
        assert victim.ask("PUT", f"/bucket/parts?partNumber={number}&uploadId={upload}", bytes(5 * MIB))[0] == 200
    with victim.connect() as client:
        client.send("PUT", f"/bucket/parts?partNumber=3&uploadId={upload}", b"x", content_length=5 * MIB)
        victim.settled(lambda counters: counters.held_bytes >= 15 * MIB)
        client.reset()
    victim.settled(lambda counters: counters.held_bytes < 11 * MIB)
    assert victim.ask("DELETE", f"/bucket/parts?uploadId={upload}")[0] == 204
    assert victim.ask("GET", f"/bucket/parts?uploadId={upload}")[0] == 404


@pytest.mark.parametrize("size_bytes", [0, 4096, 30_000, 300_000])
def test_beyond_the_limit_is_507_and_deleting_makes_room(victim: Victim, size_bytes: int) -> None:
    victim.arm(memory_limit_bytes=2 * MIB)
    body = noise(size_bytes)
    with victim.connect() as client:
        stored = 0
        while (status := client.ask("PUT", f"/bucket/{stored}", body)[0]) == 200:
            stored += 1
            assert stored < 2500, "objects without bytes take memory too"
        assert status == 507
        assert client.ask("GET", "/bucket/0") == (200, body)
        assert victim.counters().held_bytes <= 2 * MIB
        document = b"<Delete><Object><Key>1</Key></Object></Delete>"
        assert client.ask("POST", "/bucket?delete", document, content_md5=md5(document))[0] == 200
        assert client.ask("DELETE", "/bucket/0")[0] == 204
        assert client.ask("PUT", "/bucket/again", body)[0] == 200


def test_small_objects_that_are_read_take_no_more_memory_than_they_hold(victim: Victim) -> None:
    before_bytes = victim.resident_bytes()
    with victim.connect() as client:
        stored = 0
        while client.ask("PUT", f"/bucket/{stored}", bytes(8000 + stored % 20_000))[0] == 200:
            stored += 1
        for first in range(0, stored, 100):  # many at a time: the two processes take fewer turns
            numbers = range(first, min(first + 100, stored))
            for number in numbers:
                client.send("GET", f"/bucket/{number}")
            assert {client.answer()[0] for _ in numbers} == {200}
        assert victim.resident_bytes() < before_bytes + LIMIT_BYTES + SLACK_BYTES / 2


def test_a_document_that_never_ends_is_charged(victim: Victim) -> None:
    before_bytes = victim.resident_bytes()
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(victim.connect()) for _ in range(60)]
        for client in clients:
            client.send("POST", "/bucket?delete", bytes(3 * MIB), content_length=4 * MIB)
        victim.settled(lambda counters: counters.held_bytes > 100 * MIB)
        assert victim.resident_bytes() < before_bytes + LIMIT_BYTES + 64 * MIB + SLACK_BYTES


def test_what_arrives_beyond_the_announced_size_touches_no_other_object(victim: Victim) -> None:
    chunked = b"%x\r\n%b\r\n0\r\n\r\n" % (200_000, b"B" * 200_000)
    kinds: tuple[tuple[bytes, dict[str, str | int]], ...] = (
        (chunked, {"content_encoding": "aws-chunked"}),
        (b"B" * 200_000, {}),
    )
    for body, headers in kinds:
        with victim.connect() as evil:
            evil.send(
                "PUT", "/bucket/evil", b"", content_length=len(body), x_amz_decoded_content_length=40_000, **headers
            )
            victim.settled(lambda counters: counters.in_flight == 1)
            assert victim.ask("PUT", "/bucket/good", b"v" * 65_536)[0] == 200
            evil.sock.sendall(body)
            status, told = evil.answer()
            assert (status, b"<Code>IncompleteBody</Code>" in told) == (400, True)
        assert victim.ask("GET", "/bucket/good") == (200, b"v" * 65_536)
        assert victim.ask("GET", "/bucket/evil")[0] == 404


def test_a_body_shorter_than_declared_is_not_stored(victim: Victim) -> None:
    for size_bytes in (100, 100_000):
        with victim.connect() as client:
            client.send("PUT", "/bucket/short", noise(size_bytes), content_length=size_bytes + 1)
            client.sock.shutdown(socket.SHUT_WR)
            assert client.sock.recv(1000) == b""
    assert victim.ask("GET", "/bucket/short")[0] == 404


def test_what_follows_a_body_is_no_part_of_it(victim: Victim) -> None:
    with victim.connect() as client:
        client.send("PUT", "/bucket/long", b"body and more\r\n\r\n", content_length=4)
        assert client.answer()[0] == 200
        assert client.answer()[0] == 400
    assert victim.ask("GET", "/bucket/long") == (200, b"body")


def test_a_half_closed_client_gets_its_whole_answer(victim: Victim) -> None:
    body = noise(8 * MIB)
    assert victim.ask("PUT", "/bucket/large", body)[0] == 200
    with victim.connect() as client:
        client.send("GET", "/bucket/large")
        client.sock.shutdown(socket.SHUT_WR)
        assert client.answer() == (200, body)


def test_whoever_waits_before_sending_nothing_is_told_to_go_on(victim: Victim) -> None:
    # botocore asks so with empty bodies as well, and mistakes what follows where it is not told.
    with victim.connect() as client:
        client.send("PUT", "/bucket/empty", b"", expect="100-continue")
        assert [client.answer(), client.answer()] == [(100, b""), (200, b"")]
        assert client.ask("GET", "/bucket/empty") == (200, b"")


@pytest.mark.parametrize("body", [b"", b"data"])
def test_a_refusal_comes_at_once_where_the_client_waits_to_send(victim: Victim, body: bytes) -> None:
    for headers, code in (({"x_amz_acl": "public-read"}, b"AccessControlListNotSupported"), ({}, b"NoSuchBucket")):
        bucket = "bucket" if headers else "missing"
        with victim.connect() as client:
            client.send("PUT", f"/{bucket}/k", b"", content_length=len(body), expect="100-continue", **headers)
            status, document = client.answer()
            assert (status, f"<Code>{code.decode()}</Code>".encode() in document) == (400 if headers else 404, True)
            assert client.sock.recv(1) == b"", "the connection ends: nobody knows whether the body follows"


def test_a_body_that_is_on_its_way_already_is_read_before_the_refusal(victim: Victim) -> None:
    with victim.connect() as client:
        client.send("PUT", "/missing/k", b"data", expect="100-continue")
        assert client.answer()[0] == 404
        assert client.ask("GET", "/bucket/none")[0] == 404


def test_keys_that_are_not_utf8_are_refused_and_never_mixed_up(victim: Victim) -> None:
    with victim.connect() as client:
        assert client.ask("PUT", "/bucket/%EF%BF%BD", b"the replacement character")[0] == 200
        for method, target in (
            ("PUT", "/bucket/%ff"),
            ("GET", "/bucket/%fe"),
            ("GET", "/bucket/%ff?versionId=null"),
            ("DELETE", "/bucket/a%ED%A0%80"),
            ("GET", "/bucket?prefix=%ff"),
            ("GET", "/bucket?list-type=2&start-after=%ff"),
        ):
            status, document = client.ask(method, target)
            assert (status, b"<Code>InvalidURI</Code>" in document) == (400, True), target
        assert client.ask("GET", "/bucket/%EF%BF%BD") == (200, b"the replacement character")


def test_pipelined_requests_wait_for_the_requests_of_others() -> None:
    emulator = Emulator(EmulatorSettings(buckets=("bucket",)))
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        Server(listener, emulator, connections_max=10) as server,
        Client(listener.getsockname()[1]) as flood,
        Client(listener.getsockname()[1]) as other,
    ):
        while server.turn(0.05):
            pass
        flood.sock.sendall(b"GET /bucket/none HTTP/1.1\r\nHost: h\r\n\r\n" * 500)
        server.turn(1.0)
        other.send("GET", "/bucket")
        other.sock.setblocking(False)
        for _ in range(5):
            server.turn(0.05)
        other.sock.settimeout(LIMIT_S)
        assert other.answer()[0] == 200
        assert server.loop.recorder.totals().requests < 10
        for _ in range(1000):
            server.turn(0)
        assert server.loop.recorder.totals().requests == 501


def test_a_megabyte_of_headers_is_refused(victim: Victim) -> None:
    for lines in (
        b"A: " + b"a" * MIB + b"\r\n",
        b"".join(b"x-amz-meta-%d: b\r\n" % number for number in range(50_000)),
    ):
        with victim.connect() as client:
            with contextlib.suppress(ConnectionError):
                client.sock.sendall(b"GET /bucket/key HTTP/1.1\r\nHost: h\r\n" + lines + b"\r\n")
            assert client.answer()[0] == 431


def test_ten_million_random_bytes_do_no_harm(victim: Victim) -> None:
    good = b"PUT /bucket/%d HTTP/1.1\r\nHost: h\r\nContent-Encoding: aws-chunked\r\nContent-Length: 20000\r\n\r\n"
    for number in range(500):
        garbage = noise(20_000, seed=number)
        with victim.connect() as client:
            with contextlib.suppress(ConnectionError):
                client.sock.sendall(
                    (b"", good % number, b"GET /bucket?", b"POST /bucket?delete HTTP/1.1\r\n")[number % 4]
                )
                client.sock.sendall(garbage)
                client.sock.shutdown(socket.SHUT_WR)
            with contextlib.suppress(EOFError, ConnectionError):
                assert client.answer()[0] >= 400
    assert victim.ask("PUT", "/bucket/key", b"fine")[0] == 200


def test_requests_with_random_parts_are_answered(victim: Victim) -> None:
    chance = random.Random(20261121)
    targets = (
        "/bucket/key",
        "/bucket",
        "/",
        "/bucket/key?uploadId=x&partNumber=1",
        "/bucket?list-type=2&",
        "/bucket?delete",
    )
    names = ("range", "x-amz-copy-source", "content-md5", "if-match", "x-amz-tagging", "x-amz-checksum-crc32", "expect")
    with victim.connect() as client:
        for _ in range(2000):
            target = chance.choice(targets) + "".join(chance.choice("%?&=/aÿ+;") for _ in range(chance.randrange(5)))
            value = "".join(chance.choice("abc=-,;/%0129 \"'") for _ in range(chance.randrange(20))).strip()
            method = chance.choice(("GET", "HEAD", "PUT", "POST", "DELETE", "PATCH"))
            body = chance.randbytes(chance.randrange(50)) if method in {"PUT", "POST"} else b""
            client.send(method, target.encode().decode("latin-1"), body, **{chance.choice(names): value})
            if method == "HEAD":
                head = client.sock.recv(65536)
                assert head.startswith(b"HTTP/1.1 ")
                assert head.endswith(b"\r\n\r\n")
            else:
                status = client.answer()[0]
                assert 200 <= (client.answer()[0] if status == 100 else status) < 600
    victim.ask("DELETE", "/bucket")
    victim.counters()


@pytest.mark.campaign
@pytest.mark.timeout(300)
@pytest.mark.usefixtures("many_descriptors")
def test_two_thousand_clients_that_come_and_go_badly(victim: Victim) -> None:
    chance = random.Random(20261121)
    large = noise(8 * MIB)
    assert victim.ask("PUT", "/bucket/large", large)[0] == 200
    for _ in range(5):
        clients = [victim.connect() for _ in range(2000)]
        for client in clients:
            match chance.randrange(5):
                case 0:
                    client.send("GET", "/bucket/large")
                case 1:
                    client.send("PUT", "/bucket/half", noise(chance.randrange(5000)), content_length=10_000)
                case 2:
                    client.sock.sendall(b"GET /bucket/la")
                case 3:
                    client.sock.sendall(noise(5000))
                case 4:
                    client.send("PUT", "/bucket/whole", noise(3000))
        assert victim.ask("GET", "/bucket/large") == (200, large)
        assert victim.counters().held_bytes <= LIMIT_BYTES
        for client in clients:
            client.reset() if chance.random() < 0.5 else client.sock.close()
        victim.settled(lambda counters: counters.connections_open == 0)
