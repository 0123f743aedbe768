"""C and Python serve every exchange alike: the same bytes, the same records."""

import gc
import re
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from s3bench.s3.files.file_cache import FileCache
from s3bench.s3.protocol.exchange import NO_BODY, Reply, RequestBody
from s3bench.s3.protocol.http import BadRequest, RequestHead, parse_head
from s3bench.s3.server import connection, recorder
from s3bench.s3.server import fast_path as fast_path_module
from s3bench.s3.server.fast_path import fast_path
from s3bench.s3.server.server import Server
from s3bench.s3.stub.script import Script
from s3bench.spec.definition import FileBody, RequestMatch, Response

pytestmark = pytest.mark.skipif(fast_path is None, reason="the fast path was not compiled (docs/installing.md)")

TIMES = slice(0, 4)  # of a record: they differ from run to run


@pytest.fixture(autouse=True)
def _names_are_known() -> None:
    """C takes only field names that Python has validated before."""
    for name in ("Range", "amz-sdk-request", "User-Agent", "Connection", "Expect", "A", "Content-Length"):
        parse_head(request("/", f"{name}: 1").rstrip())
    parse_head(request("/", "Transfer-Encoding: chunked").rstrip())


class Handler:
    """A stub's script, which fails for some paths."""

    def __init__(self, workspace: Path) -> None:
        (workspace / "small").write_bytes(b"x" * 4096)
        (workspace / "large").write_bytes(b"y" * 3_000_000)
        responses = [
            Response(match=RequestMatch(method="GET", path=f"/b/{name}"), body=FileBody(file=name), instances=None)
            for name in ("small", "large")
        ]
        slow = Response(match=RequestMatch(method="GET", path="/b/slow"), delay_s=0.001, instances=None)
        other = Response(match=RequestMatch(method="HEAD"), headers=(("Content-Length", "7"),), instances=None)
        put = Response(match=RequestMatch(method="PUT"), instances=None)
        once = Response(match=RequestMatch(path="/b/once"), body="once")
        long = Response(match=RequestMatch(path="/b/text"), body="y" * 9_000_000, instances=None)
        self.script = Script((*responses, slow, other, put, long, once), files=FileCache(workspace), verify=False)

    def begin(self, head: RequestHead) -> Any:
        return self.script.begin(head)

    def finish(self, head: RequestHead, body: RequestBody, date_line: bytes) -> Reply:
        if head.path == "/b/bug":
            raise KeyError("a bug")
        if head.path == "/b/refused":
            raise BadRequest("refused", status=403, code="Refused")
        return self.script.finish(head, body, date_line)


def request(target: str, *lines: str, method: str = "GET", body: bytes = b"") -> bytes:
    return "\r\n".join((f"{method} {target} HTTP/1.1", "Host: h", *lines, "", "")).encode("latin-1") + body


CASES = {
    "small": [request("/b/small")],
    "with every field of the log": [
        request("/b/small?a=b", "Range: bytes=0-9", "amz-sdk-request: attempt=2", "User-Agent: aws-sdk-go/1")
    ],
    "head": [request("/b/k", method="HEAD")],
    "one after another": [request("/b/small"), request("/b/once"), request("/b/once"), request("/b/small")],
    "large": [request("/b/large")],
    "a long text": [request("/b/text"), request("/b/small")],
    "slow": [request("/b/slow")],
    "no response left": [request("/b/none")],
    "percent signs": [request("/b/sm%61ll")],
    "pipelined": [request("/b/small") * 3],
    "an empty line before": [b"\r\n" + request("/b/small")],
    "in two pieces": [request("/b/small")[:20], request("/b/small")[20:]],
    "a head inside a head": [b"GET /b/small HTTP/1.1\r\nX: ", request("/b/small")],
    "the last of a connection": [request("/b/small", "Connection: close")],
    "expects 100 Continue": [request("/b/small", "Expect: 100-continue")],
    "an empty body": [request("/b/small", "Content-Length: 0")],
    "a body": [request("/b/k", "Content-Length: 5", method="PUT", body=b"12345")],
    "a chunked body": [request("/b/k", "Transfer-Encoding: chunked", method="PUT", body=b"2\r\nab\r\n0\r\n\r\n")],
    "a chunked body that comes later": [
        request("/b/k", "Transfer-Encoding: chunked", method="PUT"),
        b"2\r\nab\r\n0\r\n\r\n",
    ],
    "no Host": [b"GET /b/small HTTP/1.1\r\nA: b\r\n\r\n"],
    "a body that comes later": [request("/b/k", "Content-Length: 5", method="PUT"), b"12345", request("/b/small")],
    "a body of a GET that comes later": [request("/b/small", "Content-Length: 5"), b"12345", request("/b/small")],
    "a bug": [request("/b/small"), request("/b/bug")],
    "refused": [request("/b/refused")],
    "refused to a HEAD": [request("/b/refused", method="HEAD")],
    "not HTTP": [b"nonsense\r\n\r\n"],
    "a field twice": [request("/b/small", "Host: h")],
}


def served(pieces: list[bytes], workspace: Path) -> tuple[bytes, list[Any], list[Any]]:
    """Send `pieces`, each when the server has nothing left to do: what it sent, its records, and its log's faults."""
    sent = b""
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        Server(listener, Handler(workspace), connections_max=10) as server,
        socket.create_connection(listener.getsockname()) as client,
    ):
        for piece in pieces:
            client.settimeout(60)
            client.sendall(piece)
            client.settimeout(0)
            while server.turn(0.02) or server.loop.timers or server.loop.prompt_timers:
                sent += received(client)
            sent += received(client)
        records = server.loop.recorder.records
        log = server.loop.recorder.log(leftover=(), server_cpu_s=0)
    for record in records:
        started_ns, body_ended_ns, response_started_ns, ended_ns = record[TIMES]
        assert 0 < started_ns <= body_ended_ns <= response_started_ns <= ended_ns
    kept = [record[TIMES.stop :] for record in records]
    return re.sub(rb"Date: [^\r]*", b"", sent), kept, [log.faults, log.failures, log.connections]


def received(client: socket.socket) -> bytes:
    data = b""
    try:
        while more := client.recv(1 << 20):
            data += more
    except (BlockingIOError, ConnectionResetError):
        pass
    return data


@pytest.mark.parametrize("case", CASES)
def test_c_serves_what_python_serves(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fast = served(CASES[case], tmp_path)
    for module in (connection, fast_path_module):
        monkeypatch.setattr(module, "fast_path", None)
    assert fast == served(CASES[case], tmp_path)
    assert fast[0]


def test_a_small_request_runs_no_python_but_the_handler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object) -> None:
        raise AssertionError("this request is simple")

    for name in ("_take", "_take_more", "_begin", "_respond_at_once"):
        monkeypatch.setattr(connection.ServerConnection, name, forbidden)
    sent, records, _ = served([request("/b/small"), request("/b/k", method="HEAD")], tmp_path)
    assert sent.count(b"HTTP/1.1 200 OK\r\n") == len(records) == 2


def test_once_the_wire_log_is_full_requests_are_answered_but_not_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "RECORDS_MAX", 2)
    sent, records, (faults, _, _) = served([request("/b/small")] * 5, tmp_path)
    assert (sent.count(b"HTTP/1.1 200 OK\r\n"), len(records)) == (5, 2)
    assert "3 more were answered but not recorded" in faults[0]


def test_a_client_that_is_gone_loses_its_connection(tmp_path: Path) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        Server(listener, Handler(tmp_path), connections_max=10) as server,
    ):
        client = socket.create_connection(listener.getsockname())
        while server.turn(0.02):
            pass
        assert len(server.loop.watched) == 2
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        client.close()  # by a reset
        while server.turn(0.02):
            pass
        assert len(server.loop.watched) == 1
        assert server.loop.recorder.log(leftover=(), server_cpu_s=0).failures == ()


@pytest.mark.parametrize("target", ["/b/small", "/b/large", "/b/slow", "/b/none", "/b/sm%61ll"])
def test_exchanges_keep_no_memory_but_their_records(target: str, tmp_path: Path) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        Server(listener, Handler(tmp_path), connections_max=10) as server,
        socket.create_connection(listener.getsockname()) as client,
    ):
        client.settimeout(0)

        def exchange() -> None:
            client.send(request(target))
            while not server.loop.recorder.pending:
                server.turn(1)
                received(client)
            server.loop.recorder.drain(0)

        def forget() -> tuple[int, ...]:
            server.loop.recorder.drain(0)
            gc.collect()
            reply = server.loop.handler.finish(usual, NO_BODY, server.loop.date_line)
            return sys.getallocatedblocks(), *(sys.getrefcount(o) for o in (reply, reply.at_once, reply.facts, NO_BODY))

        usual = parse_head(request("/b/small").rstrip())
        exchange()
        before = forget()
        for _ in range(300):
            exchange()
        growth = [after - count for after, count in zip(forget(), before, strict=True)]
    assert max(map(abs, growth)) < 150


def test_what_the_handler_raises_does_not_outlive_its_request(tmp_path: Path) -> None:
    def errors() -> int:
        return sum(type(kept) is KeyError for kept in gc.get_objects())  # isinstance would ask weak proxies

    gc.collect()
    gc.disable()  # as in the server's process
    try:
        before = errors()
        for _ in range(3):
            served(CASES["a bug"], tmp_path)
        assert errors() == before
    finally:
        gc.enable()


def test_an_interrupt_in_the_handler_ends_the_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> Reply:
        raise KeyboardInterrupt

    monkeypatch.setattr(Handler, "finish", interrupted)
    with pytest.raises(KeyboardInterrupt):
        served([request("/b/small")], tmp_path)


def test_a_client_that_goes_before_its_reply_leaves_an_incomplete_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        Server(listener, Handler(tmp_path), connections_max=10) as server,
    ):
        client = socket.create_connection(listener.getsockname())
        finish = Handler.finish

        def leaving(handler: Handler, *request: Any) -> Reply:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            client.close()  # by a reset
            return finish(handler, *request)

        monkeypatch.setattr(Handler, "finish", leaving)
        client.sendall(request("/b/small"))
        while server.turn(0.02):
            pass
        log = server.loop.recorder.log(leftover=(), server_cpu_s=0)
    assert [logged.complete for logged in log.requests] == [False]
    assert log.failures == ()
