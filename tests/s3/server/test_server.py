"""The server as clients see it: raw sockets against the real process."""

import base64
import socket
import time
import zlib
from typing import Any

import pytest

from s3bench.s3.wirelog import TransferEngine, UploadDigest, WireRequest
from s3bench.spec.definition import FileBody, RequestMatch, Response

ANY = Response(match=RequestMatch(), instances=None)


def only(wire: Any) -> WireRequest:
    """The one request of the log."""
    log = wire.collect()
    assert log.faults == ()
    (request,) = log.requests
    assert isinstance(request, WireRequest)
    return request


def test_one_connection_serves_request_after_request(wire: Any) -> None:
    wire.arm(Response(status_code=201, body="one"), Response(status_code=202, body="two"))
    with wire.connect() as client:
        for status, body in ((201, b"one"), (202, b"two")):
            client.send(wire.request("GET", "/b/k"))
            assert client.response()[::2] == (status, body)
    log = wire.collect()
    assert [request.status for request in log.requests] == [201, 202]
    assert (log.connections, log.connections_open_max, log.requests_in_flight_max) == (1, 1, 1)
    assert {request.connection for request in log.requests} == {1}


def test_pipelined_requests_are_answered_in_order(wire: Any) -> None:
    wire.arm(*(Response(body=str(number)) for number in range(5)))
    with wire.connect() as client:
        gets, put = wire.request("GET", "/b/k"), wire.request("PUT", "/b/k", b"x" * 100)
        client.send(gets + put + b"\r\n\r\n" + gets + put + gets)
        assert [client.response()[2] for _ in range(5)] == [b"0", b"1", b"2", b"3", b"4"]
    assert [request.body_bytes for request in wire.collect().requests] == [0, 100, 0, 100, 0]


def test_requests_that_arrive_byte_by_byte_are_answered(wire: Any) -> None:
    wire.arm(Response(body="a"), Response(body="b"))
    data = wire.request("PUT", "/b/k", b"0123456789") + b"\r\n" + wire.request("GET", "/b/k")
    with wire.connect() as client:
        client.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for at in range(len(data)):
            client.send(data[at : at + 1])
        assert [client.response()[2] for _ in range(2)] == [b"a", b"b"]


def test_the_wire_log_has_every_field_right(wire: Any) -> None:
    wire.arm(wire.any_file("large"))
    sent = wire.request(
        "GET", "/b/a%20b?x=1", range="bytes=100-199", amz_sdk_request="attempt=3; max=5", user_agent="aws-sdk-go/1"
    )
    before_ns = time.monotonic_ns()
    with wire.connect() as client:
        client.send(sent)
        status, headers, body = client.response()
    assert (status, headers["content-range"]) == (206, "bytes 100-199/5020000")
    assert body == (wire.workspace / "large").read_bytes()[100:200]
    request = only(wire)
    assert (request.method, request.path, request.query, request.byte_range) == (
        "GET",
        "/b/a b",
        "x=1",
        "bytes=100-199",
    )
    assert (request.attempt, request.engine, request.status, request.error) == (3, TransferEngine.GO, 206, "")
    assert (request.file, request.served_start, request.served_end, request.response_bytes) == ("large", 100, 200, 100)
    times_ns = (request.started_ns, request.body_ended_ns, request.response_started_ns, request.ended_ns)
    in_order = [before_ns, *times_ns, time.monotonic_ns()]
    assert in_order == sorted(in_order)
    assert request.complete


def test_a_large_file_is_sent_whole_to_a_slow_reader(wire: Any) -> None:
    wire.arm(wire.any_file("large"))
    with wire.connect() as client:
        client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 300_000)
        client.send(wire.request("GET", "/b/k") * 2)
        assert client.response()[2] == client.response()[2] == (wire.workspace / "large").read_bytes()
    assert [request.response_bytes for request in wire.collect().requests] == [5_020_000] * 2


def test_a_large_text_is_sent_whole(wire: Any) -> None:
    text = "0123456789" * 300_000
    wire.arm(Response(body=text))
    with wire.connect() as client:
        client.send(wire.request("GET", "/b/k"))
        assert client.response()[2] == text.encode()
    assert only(wire).response_bytes == len(text)


def test_an_upload_is_read_to_its_end_and_counted(wire: Any) -> None:
    wire.arm(Response())
    with wire.connect() as client:
        client.send(wire.request("PUT", "/b/k", bytes(8_000_000)))
        assert client.response()[0] == 200
    request = only(wire)
    assert (request.body_bytes, request.wire_bytes, request.checksums) == (8_000_000, 8_000_000, {})


def aws_chunked(payload: bytes, step: int, trailer: bytes) -> bytes:
    pieces = [payload[at : at + step] for at in range(0, len(payload), step)]
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n" + trailer + b"\r\n"


@pytest.mark.parametrize("verify", [False, True])
@pytest.mark.parametrize("outer_chunked", [False, True])
def test_aws_chunked_uploads_count_their_payload(wire: Any, verify: bool, outer_chunked: bool) -> None:
    payload = bytes(range(256)) * 12_000
    crc = base64.b64encode(zlib.crc32(payload).to_bytes(4, "big"))
    body = aws_chunked(payload, 1 << 20, b"x-amz-checksum-crc32:" + crc + b"\r\n")
    headers = {
        "content_encoding": "aws-chunked",
        "x_amz_decoded_content_length": str(len(payload)),
        "x_amz_trailer": "x-amz-checksum-crc32",
    }
    if outer_chunked:
        body = aws_chunked(body, 300_000, b"")
        data = wire.request("PUT", "/b/k", transfer_encoding="chunked", **headers) + body
    else:
        data = wire.request("PUT", "/b/k", body, **headers)
    wire.arm(Response(), Response(), verify=verify)
    with wire.connect() as client:
        client.send(data + wire.request("GET", "/b/k"))
        assert [client.response()[0], client.response()[0]] == [200, 200]
    first = wire.collect().requests[0]
    assert (first.body_bytes, first.wire_bytes) == (len(payload), len(body))
    assert first.checksums == ({"crc32": True} if verify else {})


@pytest.mark.parametrize("size_bytes", [3, 3_000_000])
def test_an_upload_without_a_checksum_has_its_crc_in_the_log_of_a_stub_that_verifies(
    wire: Any, size_bytes: int
) -> None:
    payload = (bytes(range(256)) * 12_000)[:size_bytes]
    for verify in (True, False):
        wire.arm(Response(), verify=verify)
        with wire.connect() as client:
            client.send(wire.request("PUT", "/b/k?x-id=PutObject", payload))
            assert client.response()[0] == 200
        log = wire.collect()
        digest = UploadDigest("/b/k", "x-id=PutObject", "crc32", zlib.crc32(payload).to_bytes(4, "big"))
        assert (log.verified, log.digests) == (verify, (digest,) if verify else ())
        assert log.requests[0].checksums == {}


def test_a_wrong_checksum_is_answered_and_recorded(wire: Any) -> None:
    wire.arm(verify=True)
    with wire.connect() as client:
        client.send(wire.request("PUT", "/b/k", b"abc", x_amz_checksum_crc32="AAAAAA=="))
        status, _, body = client.response()
        assert (status, b"<Code>BadDigest</Code>" in body) == (400, True)
    request = only(wire)
    assert (request.checksums, request.complete) == ({"crc32": False}, True)
    assert "checksum mismatch for PUT /b/k" in request.error


@pytest.mark.parametrize("verify", [False, True])
@pytest.mark.parametrize("crc", ["Xg5djw==", "AAAAAA=="])  # of 100 x, and a wrong one
def test_a_body_that_comes_with_its_head_is_recorded_like_one_that_comes_later(
    wire: Any, crc: str, verify: bool
) -> None:
    wire.arm(Response(), Response(), verify=verify)
    head, body = wire.request("PUT", "/b/k", b"x" * 100, x_amz_checksum_crc32=crc, expect="100-continue"), b"x" * 100
    head = head.removesuffix(body)
    with wire.connect() as client:
        client.send(head + body)
        first = client.response()
        client.send(head)
        assert client.response()[0] == 100
        client.send(body)
        assert client.response()[::2] == first[::2]
    log = wire.collect()
    facts = [
        (one.status, one.body_bytes, one.wire_bytes, one.response_bytes, one.checksums, one.complete, one.error)
        for one in log.requests
    ]
    assert facts[0] == facts[1]
    assert facts[0][1:3] == (100, 100)
    assert facts[0][4] == ({"crc32": crc == "Xg5djw=="} if verify else {})
    assert all(one.started_ns <= one.body_ended_ns <= one.response_started_ns <= one.ended_ns for one in log.requests)


def test_a_client_that_expects_continue_gets_it_before_it_sends(wire: Any) -> None:
    wire.arm(Response())
    with wire.connect() as client:
        client.send(wire.request("PUT", "/b/k", expect="100-continue", content_length="3"))
        assert client.response()[0] == 100
        client.send(b"abc")
        assert client.response()[0] == 200
    assert only(wire).body_bytes == 3


def test_a_body_that_is_already_there_needs_no_continue(wire: Any) -> None:
    wire.arm(Response())
    with wire.connect() as client:
        client.send(wire.request("PUT", "/b/k", b"abc", expect="100-continue"))
        assert client.response()[0] == 200


def test_a_client_of_http_1_0_gets_no_continue(wire: Any) -> None:
    wire.arm(Response())
    with wire.connect() as client:
        client.send(b"PUT /b/k HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n")
        assert client.response()[0] == 200


def test_head_gets_a_length_and_no_bytes(wire: Any) -> None:
    wire.arm(wire.any_file("large"))
    with wire.connect() as client:
        client.send(wire.request("HEAD", "/b/k") + wire.request("GET", "/b/k"))
        assert client.response(to_head=True)[1]["content-length"] == "5020000"
        assert len(client.response()[2]) == 5_020_000


def test_a_delay_is_waited_for_without_stopping_the_others(wire: Any) -> None:
    wire.arm(
        Response(match=RequestMatch(path="/slow"), delay_s=0.3, instances=2),
        Response(match=RequestMatch(path="/fast"), instances=9),
    )
    with wire.connect() as slow, wire.connect() as fast:
        slow.send(wire.request("GET", "/slow") * 2)
        for _ in range(3):
            fast.send(wire.request("GET", "/fast"))
            assert fast.response()[0] == 200
        assert [slow.response()[0], slow.response()[0]] == [200, 200]
    log = wire.collect()
    waits_ns = [r.response_started_ns - r.body_ended_ns for r in log.requests if r.path == "/slow"]
    assert len(waits_ns) == 2
    assert min(waits_ns) >= 300_000_000
    fast_ended_ns = max(request.ended_ns for request in log.requests if request.path == "/fast")
    assert fast_ended_ns < max(request.ended_ns for request in log.requests)
    assert log.requests_in_flight_max == 2


def test_connections_are_closed_when_the_client_asks(wire: Any) -> None:
    wire.arm(ANY)
    for data in (wire.request("GET", "/b/k", connection="close"), b"GET /b/k HTTP/1.0\r\n\r\n"):
        with wire.connect() as client:
            client.send(data)
            status, headers, _ = client.response()
            assert (status, headers["connection"]) == (200, "close")
            assert client.at_end()
    log = wire.collect()
    assert all(request.complete for request in log.requests)
    assert len(log.requests) == 2


def test_a_client_that_closes_its_half_still_gets_its_answer(wire: Any) -> None:
    wire.arm(ANY)
    with wire.connect() as client:
        client.send(wire.request("GET", "/b/k"))
        client.sock.shutdown(socket.SHUT_WR)
        assert client.response()[0] == 200
        assert client.at_end()
    assert only(wire).complete


def test_a_truncated_body_is_recorded_and_takes_no_response(wire: Any) -> None:
    wire.arm(Response())
    with wire.connect() as client:
        client.send(wire.request("PUT", "/b/k", content_length="10") + b"abc")
        client.sock.shutdown(socket.SHUT_WR)
        assert client.at_end()
    log = wire.collect()
    (request,) = log.requests
    assert (request.status, request.complete, request.body_bytes) == (0, False, 3)
    assert request.error == "the client closed the connection: PUT /b/k, 3 bytes of its body received"
    assert log.leftover == ("responses[0]: unused",)


def test_a_client_that_leaves_during_a_response_is_recorded(wire: Any) -> None:
    wire.arm(wire.any_file("large"))
    with wire.connect() as client:
        client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.send(wire.request("GET", "/b/k"))
        client.sock.recv(1000)
    request = only(wire)
    assert not request.complete
    assert request.response_bytes < 5_020_000
    assert "bytes of its response sent" in request.error


def test_a_request_that_is_on_at_the_end_of_the_iteration_is_recorded(wire: Any) -> None:
    wire.arm(Response(delay_s=60))
    with wire.connect() as client, wire.connect() as other:
        client.send(wire.request("GET", "/b/k"))
        other.send(b"GET /half")
        log = wire.collect()
        assert client.at_end()
    (request,) = log.requests
    assert request.error.startswith("the iteration ended: GET /b/k")
    (fault,) = log.faults
    assert "the iteration ended inside a request head: b'GET /half'" in fault


def test_a_connection_without_a_request_is_no_fault(wire: Any) -> None:
    wire.arm()
    wire.connect().sock.close()
    log = wire.collect()
    assert (log.connections, log.faults, log.requests) == (1, (), ())


def test_a_large_file_that_shrinks_while_it_is_served_ends_the_connection(wire: Any) -> None:
    file = wire.workspace / "its-own"
    file.write_bytes(bytes(5_000_000))
    wire.arm(wire.any_file(file.name))
    file.write_bytes(b"")
    with wire.connect() as client:
        client.send(wire.request("GET", "/b/k"))
        assert client.status_or_close() is None
    request = only(wire)
    assert not request.complete
    assert "'its-own' became shorter" in request.error


def test_a_small_file_is_served_as_it_was_when_the_iteration_began(wire: Any) -> None:
    wire.arm(wire.any_file("small"))
    (wire.workspace / "small").write_bytes(b"")
    with wire.connect() as client:
        client.send(wire.request("GET", "/b/k"))
        assert client.response()[2] == bytes(range(256))
    assert only(wire).served_end == 256


def test_requests_waiting_on_many_connections_count_as_in_flight_together(wire: Any) -> None:
    wire.arm(Response(match=RequestMatch(), instances=None, delay_s=0.05))
    clients = [wire.connect() for _ in range(20)]
    for client in clients:
        client.send(wire.request("GET", "/b/k"))
    for client in clients:
        assert client.response()[0] == 200
        client.sock.close()
    log = wire.collect()
    assert log.connections_open_max == 20
    assert 10 <= log.requests_in_flight_max <= 20


def test_what_no_script_covers_is_refused_between_iterations(wire: Any) -> None:
    wire.arm(ANY)
    wire.collect()
    with wire.connect() as client:
        client.send(wire.request("GET", "/b/k"))
        assert client.response()[0] == 400
    wire.arm(ANY)
    assert wire.collect().requests == ()


def test_the_response_body_of_each_instance_is_its_own(wire: Any) -> None:
    wire.arm(Response(body=FileBody(file="small"), instances=2), Response(body="end"))
    with wire.connect() as client:
        client.send(wire.request("GET", "/a") * 3)
        assert [client.response()[2] for _ in range(3)] == [bytes(range(256)), bytes(range(256)), b"end"]
