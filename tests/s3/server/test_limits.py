"""What bounds the server, on a server inside the test whose turns and clock the test drives."""

import os
import resource
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from s3bench.s3.protocol.exchange import NO_FACTS, Reply, RequestBody
from s3bench.s3.protocol.http import RequestHead, parse_head
from s3bench.s3.server import recorder
from s3bench.s3.server.peer import HEAD_LIMIT_S, LIMITS_S, PeerState
from s3bench.s3.server.recorder import FAULTS_MAX, WireRecorder
from s3bench.s3.server.server import Server
from s3bench.s3.wirelog import WireLog


class Fixed:
    """A handler with one answer."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply

    def begin(self, head: RequestHead) -> None:
        del head

    def finish(self, head: RequestHead, body: RequestBody, date_line: bytes) -> Reply:
        del head, body, date_line
        return self.reply


OK = Reply(200, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")


class Driven:
    """A server, and time that passes when the test says so."""

    def __init__(self, server: Server, port: int) -> None:
        self.server = server
        self.port = port
        self.ahead_ns = 0
        real = server.loop.clock
        server.loop.clock = lambda: real() + self.ahead_ns

    def connect(self) -> socket.socket:
        client = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        self.settle()
        return client

    def send(self, client: socket.socket, data: bytes) -> None:
        client.sendall(data)
        self.settle()

    def settle(self) -> None:
        while self.server.turn(0.05):
            pass

    def pass_time(self, seconds: float) -> None:
        self.ahead_ns += round(seconds * 1e9)
        self.settle()

    def log(self) -> WireLog:
        return self.server.loop.recorder.log(leftover=(), server_cpu_s=0)


@contextmanager
def driven(reply: Reply = OK, connections_max: int = 100) -> Iterator[Driven]:
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        Server(listener, Fixed(reply), connections_max=connections_max) as server,
    ):
        yield Driven(server, listener.getsockname()[1])


def is_closed(client: socket.socket) -> bool:
    client.settimeout(0.2)
    try:
        while client.recv(65536):
            pass
    except TimeoutError:
        return False
    except ConnectionResetError:
        pass
    return True


def test_a_head_that_never_ends_is_given_up_though_bytes_trickle_in() -> None:
    with driven() as drive, drive.connect() as client:
        drive.send(client, b"GET / HT")
        for _ in range(3):
            drive.pass_time(HEAD_LIMIT_S / 2)
            if not is_closed(client):
                drive.send(client, b"x")
        assert is_closed(client)
        (fault,) = drive.log().faults
        assert "no data for 60 s inside a request head" in fault


def test_a_body_that_stops_is_given_up() -> None:
    with driven() as drive, drive.connect() as client:
        drive.send(client, b"PUT /b HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc")
        drive.pass_time(LIMITS_S[PeerState.BODY] - 5)
        drive.send(client, b"d")
        drive.pass_time(LIMITS_S[PeerState.BODY] - 5)
        assert drive.log().requests == ()
        drive.pass_time(10)
        assert is_closed(client)
        (request,) = drive.log().requests
        assert request.error == "no data for 120 s: PUT /b, 4 bytes of its body received"


def test_a_client_that_reads_nothing_is_given_up() -> None:
    with driven(Reply(200, OK.data, bytes(20_000_000))) as drive, drive.connect() as client:
        drive.send(client, b"GET /b HTTP/1.1\r\nHost: h\r\n\r\n")
        drive.pass_time(LIMITS_S[PeerState.SEND] + 1)
        (request,) = drive.log().requests
        assert not request.complete


def test_an_idle_connection_is_kept_for_long_but_not_for_ever() -> None:
    with driven() as drive, drive.connect() as client:
        drive.send(client, b"GET /b HTTP/1.1\r\nHost: h\r\n\r\n")
        drive.pass_time(600)
        drive.send(client, b"GET /b HTTP/1.1\r\nHost: h\r\n\r\n")
        drive.pass_time(LIMITS_S[PeerState.HEAD] + 1)
        assert is_closed(client)
        log = drive.log()
        assert (len(log.requests), log.faults) == (2, ())


def test_a_delayed_reply_is_waited_for_beyond_every_limit_and_ends_with_its_client() -> None:
    delayed = Reply(200, OK.data, delay_s=1000)
    with driven(delayed) as drive:
        with drive.connect() as client, drive.connect() as other:
            drive.send(client, b"GET /b HTTP/1.1\r\nHost: h\r\n\r\n")
            drive.send(other, b"GET /other HTTP/1.1\r\nHost: h\r\n\r\n")
            other.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
            other.close()
            drive.pass_time(999)
            assert [request.path for request in drive.log().requests] == ["/other"]
            drive.pass_time(2)
            assert client.recv(100).startswith(b"HTTP/1.1 200")
        assert [request.complete for request in drive.log().requests] == [True, False]


def test_a_full_server_refuses_and_serves_again_when_there_is_room() -> None:
    with driven(connections_max=2) as drive:
        first, second, third = (drive.connect() for _ in range(3))
        assert third.recv(1000).startswith(b"HTTP/1.1 503")
        assert is_closed(third)
        first.close()
        drive.settle()
        with drive.connect() as fourth:
            drive.send(fourth, b"GET /b HTTP/1.1\r\nHost: h\r\n\r\n")
            assert fourth.recv(1000).startswith(b"HTTP/1.1 200")
        second.close()
        third.close()
        assert drive.log().faults == ("connection 3: refused, 2 are open",)


def test_a_server_without_descriptors_refuses_instead_of_hanging() -> None:
    with driven() as drive:
        clients = [socket.create_connection(("127.0.0.1", drive.port), timeout=60) for _ in range(3)]
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        lowest_free = os.open(os.devnull, os.O_RDONLY)
        os.close(lowest_free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, limits[1]))
        try:
            for _ in range(6):
                drive.server.turn(0.05)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        assert all(client.recv(1000).startswith(b"HTTP/1.1 503") for client in clients)
        with drive.connect() as client:
            drive.send(client, b"GET /b HTTP/1.1\r\nHost: h\r\n\r\n")
            assert client.recv(1000).startswith(b"HTTP/1.1 200")
        for client in clients:
            client.close()


def test_a_handler_that_fails_ends_one_exchange_and_no_more() -> None:
    class Broken(Fixed):
        def finish(self, head: RequestHead, body: RequestBody, date_line: bytes) -> Reply:
            if head.path == "/broken":
                raise ZeroDivisionError("oops")
            return super().finish(head, body, date_line)

    with driven() as drive:
        drive.server.loop.handler = Broken(OK)
        with drive.connect() as client, drive.connect() as other:
            drive.send(client, b"GET /broken HTTP/1.1\r\nHost: h\r\n\r\n")
            assert is_closed(client)
            drive.send(other, b"GET /b HTTP/1.1\r\nHost: h\r\n\r\n")
            assert other.recv(1000).startswith(b"HTTP/1.1 200")
        broken, good = drive.log().requests
        assert "the server failed: ZeroDivisionError('oops')" in broken.error
        assert good.complete
        assert drive.server.loop.busy == 0


def test_nothing_counts_as_busy_when_all_is_over() -> None:
    with driven() as drive:
        for data in (
            b"GET /",
            b"junk\r\n\r\n",
            b"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n",
            b"\r\n",
            b"",
        ):
            client = drive.connect()
            drive.send(client, data)
            client.close()
            drive.settle()
        assert drive.server.loop.busy == 0
        assert len(drive.server.loop.watched) == 1


def test_accepted_sockets_send_small_replies_at_once() -> None:
    with driven() as drive, drive.connect():
        (connection,) = (owner for owner in drive.server.loop.watched.values() if owner is not drive.server)
        sock = connection.sock  # type: ignore[attr-defined]
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1


def test_a_full_wire_log_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "RECORDS_MAX", 3)
    kept = WireRecorder()
    head = parse_head(b"GET / HTTP/1.1\r\nHost: h")
    for number in range(5):
        kept.add(head, 1, 9 - number, 0, 0, 0, 0, 0, 0, NO_FACTS, "")
    for number in range(FAULTS_MAX + 2):
        kept.fault(str(number))
    log = kept.log(leftover=(), server_cpu_s=0)
    assert [request.started_ns for request in log.requests] == [7, 8, 9]
    assert len(log.faults) == FAULTS_MAX + 2
    assert log.faults[-2:] == (
        "the wire log is full at 3 requests; 2 more were answered but not recorded",
        "2 more faults like these",
    )
