"""Garbage, truncation, floods: the server answers or closes, and then serves the next client as if nothing had been."""

import contextlib
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from s3bench.s3.network.model import NetworkModel
from s3bench.s3.network.networked import Networked
from s3bench.s3.protocol.exchange import Handler, Reply, RequestBody
from s3bench.s3.protocol.http import RequestHead
from s3bench.s3.protocol.s3_error import error_reply
from s3bench.s3.server.server import Server
from s3bench.spec.definition import RequestMatch, Response
from tests.s3.conftest import RawClient

ANY = Response(match=RequestMatch(), instances=None, body="fine")


def serves(wire: Any) -> bool:
    """Whether a good request is answered."""
    with wire.connect() as client:
        client.send(wire.request("PUT", "/good", b"body"))
        return bool(client.response()[::2] == (200, b"fine"))


def throw(wire: Any, *pieces: bytes) -> int | None:
    """Send `pieces`, close our half, and read what comes; the first status, or `None` for a mere close."""
    with wire.connect() as client:
        with contextlib.suppress(ConnectionError):  # the server may refuse before it has read all
            for piece in pieces:
                client.send(piece)
            client.sock.shutdown(socket.SHUT_WR)
        status: int | None = client.status_or_close()
        return status


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200) + b"\r\n\r\n", 400),
        (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", 400),
        (b"GET /\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/3\r\nHost: h\r\n\r\n", 505),
        (b"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n", 400),
        (b"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999\r\n\r\n", 400),
        (b"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (b"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
        (b"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nnot hex\r\n", 400),
        (b"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcdefgh", 400),
        (b"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n7fffffffffffffffff\r\nabc", 400),
        (b"PUT / HTTP/1.1\r\nHost: h\r\nContent-Encoding: aws-chunked\r\nContent-Length: 4\r\n\r\n3\r\na", 400),
        (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: h\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\nHost: h\r\nA: " + b"a" * 70_000 + b"\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\nHost: h\r\n" + b"A: b\r\n" * 12_000 + b"\r\n", 431),
        (b"a" * 3_000_000, 431),
        (b"GET / HTTP/1.1\r\nHost: h", None),
        (b"\r\n" * 100_000, None),
        (b"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 9223372036854775807\r\n\r\nabc", None),
        (b"", None),
    ],
)
@pytest.mark.parametrize("verify", [False, True])
def test_bad_input_is_answered_or_closed(wire: Any, data: bytes, status: int | None, verify: bool) -> None:
    wire.arm(ANY, verify=verify)
    assert throw(wire, data) == status
    assert serves(wire)
    log = wire.collect()
    assert log.requests[-1].path == "/good"
    broken = [request for request in log.requests if request.path != "/good"]
    assert all(request.error and not request.complete for request in broken)
    if status is not None:
        assert len(broken) + len(log.faults) == 1


def test_a_wrong_chunk_is_refused_though_the_client_waits(wire: Any) -> None:
    wire.arm(ANY)
    with wire.connect() as client:
        client.send(b"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcX")
        status, headers, _ = client.response()
        assert (status, headers["connection"]) == (400, "close")
        assert client.at_end()
    wire.collect()


@pytest.mark.parametrize(
    ("data", "status", "why"),
    [
        (
            b"\x16\x03\x01",
            400,
            "the client speaks TLS, the server plain HTTP; use http:// in its URL, or start with --tls",
        ),
        (b"\0\0\0\x08", 400, "not an HTTP request line: '\\x00\\x00\\x00\\x08'"),
        (b"AMQP\0\0\x09\x01", 400, "not an HTTP request line: 'AMQP\\x00\\x00\\t\\x01'"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", 400, "not an HTTP request line: 'SSH-2.0-OpenSSH_9.2'"),
        (b"a /b c\r\n", 400, "not an HTTP version: 'c'"),
        (b"GET / HTTP/3\r\nHost: h\r\n", 505, "'HTTP/3' is not HTTP/1.1"),
        (b"GET / HTTP/1.1\nHost: h\n\n", 400, "the request head holds a bare CR, LF or NUL"),
        (b"GET / HTTP/1.1\r\nHost: h\n\n", 400, "the request head holds a bare CR, LF or NUL"),
    ],
)
def test_what_can_be_no_head_is_refused_though_the_client_waits(wire: Any, data: bytes, status: int, why: str) -> None:
    wire.arm(ANY)
    with wire.connect() as client:
        client.send(data)
        assert client.response()[0] == status
        assert client.at_end()
    (fault,) = wire.collect().faults
    assert fault.endswith(f": {why}")


def test_a_refused_client_can_read_the_answer_though_it_keeps_sending(wire: Any) -> None:
    wire.arm(ANY)
    with wire.connect() as client:
        head = b"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 8000000\r\nContent-Encoding: aws-chunked\r\n\r\n"
        client.send(head + b"x" * 8_000_000)
        assert client.response()[0] == 400
    wire.collect()


def test_a_head_of_64_kib_is_served(wire: Any) -> None:
    wire.arm(ANY)
    with wire.connect() as client:
        client.send(b"GET / HTTP/1.1\r\nHost: h\r\nA: " + b"a" * 65_000 + b"\r\n\r\n")
        assert client.response()[0] == 200
    wire.collect()


def test_resets_at_any_moment_do_no_harm(wire: Any) -> None:
    wire.arm(ANY)
    abort_on_close = b"\x01\x00\x00\x00\x00\x00\x00\x00"
    for data in (b"", b"GET", wire.request("GET", "/b/k"), wire.request("PUT", "/b/k", content_length="99") + b"x"):
        client = wire.connect()
        client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, abort_on_close)
        client.send(data)
        client.sock.close()
    assert serves(wire)
    wire.collect()


@pytest.mark.parametrize(
    "head",
    [b"HEAD / HTTP/1.1\r\nno colon\r\n\r\n", b"HEAD / HTTP/1.1\r\n\r\n", b"HEAD / HTTP/9\r\nHost: h\r\n\r\n"],
)
def test_the_refusal_of_a_head_request_has_no_body(wire: Any, head: bytes) -> None:
    wire.arm(ANY)
    with wire.connect() as client:
        client.send(head)
        assert client.response(to_head=True)[0] >= 400
        assert client.at_end()
    wire.collect()


class Broken:
    """A handler with a bug, in the method that is named."""

    chunk_check = None

    def __init__(self, place: str) -> None:
        self._place = place

    def begin(self, head: RequestHead) -> "Broken":
        del head
        self._reach("begin")
        return self

    def update(self, piece: memoryview, /) -> None:
        del piece
        self._reach("update")

    def finish(self, head: RequestHead, body: RequestBody, date_line: bytes) -> Reply:
        del body
        self._reach("finish" if head.path != "/good" else "")
        return error_reply(head, status=404, code="NoSuchKey", message="not here", date_line=date_line)

    def _reach(self, place: str) -> None:
        if place == self._place:
            raise KeyError("a bug")


@contextlib.contextmanager
def serving(handler: Handler) -> Iterator[tuple[Server, Callable[[], RawClient]]]:
    """A server in this process, whose loop the test turns, and what connects to it."""
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        Server(listener, handler, connections_max=10) as server,
    ):
        yield server, lambda: RawClient(f"http://127.0.0.1:{listener.getsockname()[1]}")


@pytest.mark.parametrize("network", [None, NetworkModel(connection_bytes_per_s=1e8)], ids=["plain", "paced"])
@pytest.mark.parametrize(
    ("place", "request_bytes"),
    [
        ("finish", b"GET /bad HTTP/1.1\r\nHost: h\r\n\r\n"),
        ("finish", b"PUT /bad HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc"),
        ("begin", b"PUT /bad HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc"),
        ("update", b"PUT /bad HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc"),
        ("update", b"PUT /bad HTTP/1.1\r\nHost: h\r\nContent-Length: 900000\r\n\r\nabc"),
    ],
)
def test_an_error_in_our_own_code_is_answered_500_and_reported(
    place: str, request_bytes: bytes, network: NetworkModel | None
) -> None:
    broken = Broken(place)
    with serving(broken if network is None else Networked(broken, network)) as (server, connect):
        with connect() as client:
            client.send(request_bytes)
            while server.turn(0.05) or not server.loop.recorder.pending:
                pass
            status, headers, body = client.response()
        assert (status, headers["connection"]) == (500, "close")
        assert b"<Code>InternalError</Code>" in body
        log = server.loop.recorder.log(leftover=(), server_cpu_s=0.0)
        assert [request.status for request in log.requests] == [500]
        assert "KeyError('a bug')" in log.requests[0].error
        assert len(log.failures) == 1
        assert "KeyError('a bug') in test_robustness.py, line" in log.failures[0]
        while server.turn(0.05):
            pass
        assert server.loop.busy == 0
        with connect() as client:
            client.send(b"GET /good HTTP/1.1\r\nHost: h\r\n\r\n")
            while server.turn(0.05):
                pass
            assert client.response()[0] == 404


fragments = st.sampled_from(
    [
        b"GET /b/k HTTP/1.1\r\n", b"PUT /b/k?x HTTP/1.1\r\n", b"HEAD / HTTP/1.0\r\n", b"Host: h\r\n", b"\r\n", b"\n",
        b"Content-Length: 5\r\n", b"Content-Length: 50000\r\n", b"Transfer-Encoding: chunked\r\n", b"3\r\nabc\r\n",
        b"0\r\n\r\n", b"Content-Encoding: aws-chunked\r\n", b"Expect: 100-continue\r\n", b"Connection: close\r\n",
        b"Range: bytes=0-\r\n", b"x-amz-trailer: x-amz-checksum-crc32\r\n", b"x-amz-checksum-crc32:AAAAAA==\r\n",
        b"\0", b"\xff\xfe", b"x" * 5000,
    ]
)  # fmt: skip
streams = st.lists(fragments | st.binary(max_size=20), min_size=1, max_size=12)


@given(pieces=streams, verify=st.booleans(), at_once=st.booleans())
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_stream_of_bytes_hangs_or_breaks_the_server(
    wire: Any, pieces: list[bytes], verify: bool, at_once: bool
) -> None:
    wire.arm(ANY, verify=verify)
    throw(wire, *([b"".join(pieces)] if at_once else pieces))
    assert serves(wire)
    log = wire.collect()
    assert not any("the server failed" in text for text in (*log.faults, *(request.error for request in log.requests)))
