"""Connections on a link, in a server whose clock the test turns: what has left and arrived by when."""

import os
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from s3bench.s3.certificates import write_certificates
from s3bench.s3.network.link import Link
from s3bench.s3.network.model import parse_network
from s3bench.s3.network.networked import Networked
from s3bench.s3.protocol.exchange import Reply, RequestBody, Segment, Sink, Unwanted
from s3bench.s3.protocol.http import BadRequest, RequestHead
from s3bench.s3.server.paced import SLACK_NS
from s3bench.s3.server.server import Server
from s3bench.s3.server.tls import server_context
from s3bench.s3.wirelog import InjectedFault, WireRequest

HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n"
GET = b"GET /b/k HTTP/1.1\r\nHost: h\r\n\r\n"
MS = 1_000_000
EARLY_BYTES = 4 * 1024 + 50  # what may leave before its slot ends: 50 us of it, at the rates used here


class Fixed:
    """A handler that answers every request with the same body, half of it in memory."""

    def __init__(self, size_bytes: int) -> None:
        self.descriptor = os.memfd_create("body")
        self.name = "body"
        os.truncate(self.descriptor, size_bytes)
        half = size_bytes // 2
        segments = (Segment(self, half, size_bytes),) if size_bytes > half else ()
        self.reply = Reply(200, HEAD % size_bytes, bytes(half), segments=segments)

    def close(self) -> None:
        os.close(self.descriptor)

    def begin(self, head: RequestHead) -> Sink | None:
        return Unwanted(BadRequest("refused")) if head.path == "/refused" else None

    def finish(self, head: RequestHead, body: RequestBody, date_line: bytes) -> Reply:
        del head, body, date_line
        return self.reply


class Linked:
    """A server behind the `network` of a model, where time passes when the test says so."""

    def __init__(self, server: Server, port: int, network: Link) -> None:
        self.server = server
        self.network = network
        self._port = port
        self.now_ns = server.loop.clock()
        self._began_ns = self.now_ns
        self._clients: list[socket.socket] = []
        server.loop.clock = lambda: self.now_ns

    def connect(self, *, buffer_bytes: int | None = None) -> socket.socket:
        client = socket.socket()
        if buffer_bytes is not None:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer_bytes)
        client.connect(("127.0.0.1", self._port))
        client.settimeout(0)
        self._clients.append(client)
        self.settle()
        return client

    def send(self, client: socket.socket, data: bytes) -> None:
        client.sendall(data)
        self.settle()

    def close(self) -> None:
        for client in self._clients:
            client.close()

    def settle(self) -> None:
        for _ in range(3):  # what one turn sends may let the next one go on
            while self.server.turn(0):
                pass

    def until(self, at_ms: float, *, step_ms: float = 0.25) -> None:
        """Let time pass until `at_ms` after the beginning."""
        self.later((self._began_ns - self.now_ns) / MS + at_ms, step_ms=step_ms)

    def later(self, more_ms: float, *, step_ms: float = 0.25) -> None:
        """Let so much more time pass."""
        end_ns = self.now_ns + round(more_ms * MS)
        while self.now_ns < end_ns:
            self.now_ns = min(end_ns, self.now_ns + round(step_ms * MS))
            self.settle()

    def requests(self) -> tuple[WireRequest, ...]:
        return self.server.loop.recorder.log(leftover=(), server_cpu_s=0).requests


def on_link(listener: socket.socket, networked: Networked, context: ssl.SSLContext | None = None) -> Server:
    return Server(listener, networked, connections_max=100, context=context, link=networked.link)


@contextmanager
def linked(model: str, size_bytes: int = 0) -> Iterator[Linked]:
    handler = Fixed(size_bytes)
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        on_link(listener, networked := Networked(handler, parse_network(model))) as server,
    ):
        link = Linked(server, listener.getsockname()[1], networked.link)
        with closing(link), closing(handler):
            yield link


def arrived(client: socket.socket) -> int:
    """How many bytes wait for the client, which takes them; -1 when it was reset."""
    count = 0
    try:
        while data := client.recv(1 << 20):
            count += len(data)
    except BlockingIOError:
        pass
    except ConnectionResetError:
        return -1
    return count


def put(size_bytes: int) -> bytes:
    return b"PUT /b/k HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % size_bytes + bytes(size_bytes)


def test_the_head_leaves_at_the_time_to_first_byte_and_the_last_byte_at_its_own() -> None:
    size = 1_000_000
    with linked("ttfb=20ms,bandwidth=10MB/s", size) as link, link.connect() as client:
        link.send(client, GET)
        link.until(19.9)
        assert arrived(client) == 0
        link.until(20)
        got = arrived(client)
        assert len(HEAD % size) <= got <= len(HEAD % size) + EARLY_BYTES
        link.until(70)
        got += arrived(client)
        assert abs(got - len(HEAD % size) - 500_000) <= 20_000
        link.until(119.9)
        got += arrived(client)
        assert got < len(HEAD % size) + size
        link.until(120)
        assert got + arrived(client) == len(HEAD % size) + size
        (request,) = link.requests()
        assert request.complete
        assert request.response_started_ns - request.body_ended_ns == 20 * MS
        assert (request.ended_ns - request.response_started_ns) / MS == pytest.approx(100, abs=0.3)
        assert (request.asked_ttfb_s, request.fault, request.response_bytes) == (0.02, InjectedFault.NONE, size)


def test_a_large_reply_behind_latency_alone_arrives_whole() -> None:
    """Nothing paces its bytes, and the socket takes them in several turns."""
    size = 24 << 20
    with linked("ttfb=5ms", size) as link, link.connect() as client:
        link.send(client, GET)
        link.until(5)
        got = 0
        while (more := arrived(client)) > 0:
            got += more
            link.settle()
        assert got == len(HEAD % size) + size
        (request,) = link.requests()
        assert (request.complete, request.response_bytes) == (True, size)


def test_a_small_reply_leaves_whole() -> None:
    with linked("ttfb=5ms,bandwidth=93MB/s", 1000) as link, link.connect() as client:
        link.send(client, GET)
        link.until(5)
        assert arrived(client) == len(HEAD % 1000) + 1000


def test_late_timers_do_not_add_up() -> None:
    size = 1_000_000
    with linked("bandwidth=10MB/s", size) as link, link.connect() as client:
        link.send(client, GET)
        got = 0
        for at_ms in range(7, 106, 7):
            link.until(at_ms, step_ms=7)
            got += arrived(client)
        assert got == len(HEAD % size) + size


def test_connections_share_the_nic_evenly() -> None:
    size = 500_000
    with linked("nic_down=40MB/s", size) as link:
        clients = [link.connect() for _ in range(4)]
        for client in clients:
            link.send(client, GET)
        link.until(25)
        got = [arrived(client) for client in clients]
        assert max(got) - min(got) <= 30_000
        assert sum(got) == pytest.approx(1_000_000, abs=100_000)
        link.until(50.1)
        got = [before + arrived(client) for before, client in zip(got, clients, strict=True)]
        assert got == [len(HEAD % size) + size] * 4


@pytest.mark.parametrize("late_ms", [3, 5, 10])
def test_late_timers_lose_nothing_where_the_nic_and_each_connection_are_limited(late_ms: int) -> None:
    size = 250_000
    with linked("nic_down=10MB/s,bandwidth=4MB/s", size) as link:
        clients = [link.connect() for _ in range(4)]
        for client in clients:
            link.send(client, GET)
        got = [0] * 4
        for at_ms in range(late_ms, 100 + 2 * late_ms, late_ms):
            link.until(at_ms, step_ms=late_ms)
            got = [before + arrived(client) for before, client in zip(got, clients, strict=True)]
            assert max(got) - min(got) <= 60_000
        assert got == [len(HEAD % size) + size] * 4


def test_a_request_that_comes_before_late_timers_loses_nothing() -> None:
    size = 300_000
    with linked("nic_down=10MB/s", size) as link:
        clients = [link.connect() for _ in range(4)]
        for client in clients:
            link.send(client, GET)
            link.now_ns += 8 * MS  # the server sees that when the next request comes
        link.until(125, step_ms=5)
        assert [arrived(client) for client in clients] == [len(HEAD % size) + size] * 4


def test_a_small_upload_that_comes_before_late_timers_loses_nothing() -> None:
    with linked("nic_up=10MB/s") as link:
        clients = [link.connect() for _ in range(11)]
        link.send(clients[0], put(800_000))
        for client in clients[1:]:
            link.now_ns += 8 * MS
            link.send(client, put(20_000))
        link.until(101, step_ms=1)
        assert [arrived(client) for client in clients] == [len(HEAD % 0)] * 11


def test_uploads_share_nothing_with_downloads() -> None:
    with linked("nic_up=10MB/s", 200_000) as link, link.connect() as client:
        link.send(client, GET)
        link.until(0.25)
        assert arrived(client) == len(HEAD % 200_000) + 200_000


def test_a_request_body_arrives_at_the_links_pace_before_it_is_answered() -> None:
    with linked("ttfb=5ms,bandwidth=1MB/s") as link, link.connect() as client:
        link.send(client, put(100_000))
        link.until(104.5)
        assert arrived(client) == 0
        link.until(105.5)
        assert arrived(client) == len(HEAD % 0)
        (request,) = link.requests()
        assert (request.body_ended_ns - request.started_ns) / MS == pytest.approx(100, abs=0.6)
        assert (request.body_bytes, request.wire_bytes) == (100_000, 100_000)


def test_late_timers_do_not_add_up_for_uploads_either() -> None:
    with linked("bandwidth=10MB/s") as link, link.connect() as client:
        link.send(client, put(1_000_000))
        link.until(112, step_ms=7)
        assert arrived(client) == len(HEAD % 0)


def test_a_request_after_a_paced_one_is_served_though_it_was_read_with_it() -> None:
    with linked("bandwidth=1MB/s") as link, link.connect() as client:
        link.send(client, put(10_000) + GET + put(10_000))
        link.until(30)
        assert arrived(client) == 3 * len(HEAD % 0)
        assert [request.method for request in link.requests()] == ["PUT", "GET", "PUT"]


def test_a_refusal_without_100_continue_does_not_wait_for_the_uploads_of_others() -> None:
    with linked("nic_up=1MB/s") as link, link.connect() as other, link.connect() as client:
        link.send(other, put(100_000))
        link.send(client, b"PUT /refused HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
        assert arrived(client) > 0


def test_uploads_share_the_nic() -> None:
    with linked("nic_up=2MB/s") as link:
        clients = [link.connect() for _ in range(2)]
        for client in clients:
            link.send(client, put(100_000))
        link.until(95)
        assert [arrived(client) for client in clients] == [0, 0]
        link.until(100.6)
        assert [arrived(client) for client in clients] == [len(HEAD % 0)] * 2


def test_a_client_that_did_not_read_gets_the_slack_and_no_more_at_once() -> None:
    size, rate = 40_000_000, 100e6
    with linked("bandwidth=100MB/s", size) as link:
        client = link.connect(buffer_bytes=64 * 1024)
        link.send(client, GET)
        link.until(300, step_ms=1)  # on an empty link 30 MB; the sockets hold a few
        held = arrived(client)
        while True:  # drain what the sockets held, without any time passing
            link.settle()
            more = arrived(client)
            held += more
            if not more:
                break
        assert held < size - 5_000_000
        link.until(310, step_ms=1)
        more = arrived(client)
        assert more <= (10 * MS + SLACK_NS) / 1e9 * rate


def test_a_stall_stops_the_body_half_way_and_then_it_goes_on() -> None:
    size = 100_000
    with linked("bandwidth=10MB/s,stalls=1:5s,seed=3", size) as link, link.connect() as client:
        link.send(client, GET)
        link.until(1000, step_ms=1)
        got = arrived(client) - len(HEAD % size)
        assert 0 <= got < size
        link.until(4990, step_ms=10)
        assert arrived(client) == 0
        link.until(5020, step_ms=1)
        assert got + arrived(client) == size
        (request,) = link.requests()
        assert (request.complete, request.fault) == (True, InjectedFault.STALL)


def test_a_reset_cuts_the_reply_and_is_told_in_the_log() -> None:
    size = 100_000
    with linked("bandwidth=10MB/s,resets=1,seed=3", size) as link, link.connect() as client:
        link.send(client, GET)
        got = 0
        for at_ms in range(1, 20):
            link.until(at_ms)
            count = arrived(client)
            if count < 0:
                break
            got += count
        assert count == -1
        (request,) = link.requests()
        assert (request.complete, request.status, request.fault) == (False, 200, InjectedFault.RESET)
        assert 0 <= request.response_bytes < size
        assert request.error.startswith("the network model reset the connection: GET /b/k, ")


def test_a_reset_needs_no_limited_bandwidth() -> None:
    with linked("resets=1", 100_000) as link, link.connect() as client:
        link.send(client, GET)
        assert -1 in {arrived(client), arrived(client)}  # what came before the reset may be read or lost


def test_a_client_that_goes_away_while_its_bytes_are_on_the_link_leaves_no_trace() -> None:
    with linked("ttfb=1ms,bandwidth=1MB/s", 1_000_000) as link:
        for request in (GET, put(500_000)):
            client = link.connect()
            link.send(client, request)
            link.later(10)
            arrived(client)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
            client.close()
            link.later(50)
        assert [request.complete for request in link.requests()] == [False, False]
        assert (link.network.down.active, link.network.up.active, link.server.loop.busy) == (0, 0, 0)


def test_waiting_for_the_link_is_not_held_against_the_client() -> None:
    with linked("bandwidth=1KB/s,ttfb=150s", 300_000) as link, link.connect() as client:
        link.send(client, GET)
        link.until(300_000, step_ms=19)
        assert arrived(client) == pytest.approx(150_000, abs=4_200)
        assert link.requests() == ()


def test_a_stall_may_outlast_the_patience_with_clients() -> None:
    with linked("bandwidth=10MB/s,stalls=1:200s", 100_000) as link, link.connect() as client:
        link.send(client, GET)
        link.until(20)
        link.until(199_000, step_ms=1000)
        link.until(201_000, step_ms=10)
        assert arrived(client) == len(HEAD % 100_000) + 100_000


def test_a_refusal_whose_client_goes_away_leaves_no_trace() -> None:
    with linked("bandwidth=1KB/s") as link:
        client = link.connect()
        link.send(client, b"nonsense\r\n\r\n")
        arrived(client)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        client.close()
        link.until(10)
        assert (link.network.down.active, link.server.loop.busy) == (0, 0)


def test_the_server_sleeps_while_it_waits_for_a_slot() -> None:
    with (
        closing(Fixed(0)) as handler,
        socket.create_server(("127.0.0.1", 0)) as listener,
        on_link(listener, Networked(handler, parse_network("ttfb=100ms"))) as server,
        socket.create_connection(listener.getsockname(), timeout=60) as client,
    ):
        client.sendall(GET)
        turns = 0
        while not server.loop.recorder.pending and turns < 100:
            server.turn(1.0)
            turns += 1
        assert client.recv(100).startswith(b"HTTP/1.1 200")
        assert turns < 10


def test_a_request_that_cannot_be_read_is_refused_over_a_link_too() -> None:
    with linked("ttfb=5ms,bandwidth=1MB/s") as link, link.connect() as client:
        link.send(client, b"PUT /b/k HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
        link.until(20)
        assert client.recv(100).startswith(b"HTTP/1.1 400")
        assert (link.network.down.active, link.network.up.active) == (0, 0)


def test_only_connections_made_under_a_model_have_its_pace() -> None:
    size = 100_000
    with (
        closing(Fixed(size)) as handler,
        socket.create_server(("127.0.0.1", 0)) as listener,
        Server(listener, handler, connections_max=100) as server,
    ):
        networked = Networked(handler, parse_network("bandwidth=1MB/s"))
        link = Linked(server, listener.getsockname()[1], networked.link)
        with link.connect() as client:
            link.send(client, GET)
            assert arrived(client) == len(HEAD % size) + size
        server.start_recording(networked, link=networked.link)
        with link.connect() as client:
            link.send(client, GET)
            got = arrived(client)
            assert got <= len(HEAD % size) + EARLY_BYTES
            link.later(100)
            assert got + arrived(client) == len(HEAD % size) + size


def test_over_tls_the_link_has_the_same_pace_and_loses_nothing(tmp_path: Path) -> None:
    certificates = write_certificates(tmp_path)
    context = server_context(certificates.server)
    network = parse_network("bandwidth=2MB/s,ttfb=10ms")
    ended = threading.Event()
    with (
        closing(Fixed(100_000)) as handler,
        socket.create_server(("127.0.0.1", 0)) as listener,
        on_link(listener, Networked(handler, network), context) as server,
        ThreadPoolExecutor(1) as pool,
    ):
        driver = pool.submit(_drive, server, ended)
        try:
            port = listener.getsockname()[1]
            trust = ssl.create_default_context(cafile=str(certificates.ca_bundle))
            with (
                socket.create_connection(("127.0.0.1", port), timeout=60) as sock,
                trust.wrap_socket(sock, server_hostname="localhost") as client,
            ):
                began_s = time.monotonic()
                # The GET shares a TLS record with the end of the body, and is longer than what is read at a time.
                client.sendall(put(100_000) + GET[:-2] + b"X-Long: %s\r\n\r\n" % bytes(8000).replace(b"\0", b"x"))
                left = 2 * (len(HEAD % 100_000) + 100_000)
                while left:
                    left -= len(client.recv(left))
                elapsed_s = time.monotonic() - began_s
        finally:
            ended.set()
            driver.result(10)
        requests = server.loop.recorder.log(leftover=(), server_cpu_s=0).requests
    assert elapsed_s >= 0.169  # three bodies of 50 ms and two first bytes of 10 ms; the last 50 us may come early
    assert [(request.method, request.complete) for request in requests] == [("PUT", True), ("GET", True)]


def _drive(server: Server, ended: threading.Event) -> None:
    while not ended.is_set():
        server.turn(0.05)
