"""HTTPS with the run's own certificate authority."""

import contextlib
import socket
import ssl
from pathlib import Path

import pytest

from s3bench.s3.endpoint import StubEndpoint
from s3bench.spec.definition import FileBody, RequestMatch, Response

ANY_LARGE = Response(match=RequestMatch(), instances=None, body=FileBody(file="large"))


def connect(stub: StubEndpoint, **options: str) -> ssl.SSLSocket:
    assert stub.ca_bundle is not None
    context = ssl.create_default_context(cafile=stub.ca_bundle)
    port = int(stub.url.rpartition(":")[2])
    sock = socket.create_connection(("127.0.0.1", port), timeout=60)
    return context.wrap_socket(sock, server_hostname=options.get("name", "127.0.0.1"))


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_the_certificate_is_good_for_loopback(tls_stub: StubEndpoint, workspace: Path, name: str) -> None:
    tls_stub.arm((ANY_LARGE,), workspace=workspace, verify=False)
    with connect(tls_stub, name=name) as client:
        assert client.version() in {"TLSv1.2", "TLSv1.3"}


def test_files_ranges_and_uploads_pass_through(tls_stub: StubEndpoint, workspace: Path) -> None:
    large = (workspace / "large").read_bytes()
    tls_stub.arm((Response(match=RequestMatch(method="PUT")), ANY_LARGE), workspace=workspace, verify=False)
    with connect(tls_stub) as client:
        client.sendall(b"GET /b HTTP/1.1\r\nHost: h\r\n\r\nGET /b HTTP/1.1\r\nHost: h\r\nRange: bytes=5-9\r\n\r\n")
        data = bytearray()
        while not data.endswith(large[5:10]) or data.count(b"\r\n\r\n") < 2:
            data += client.recv(1 << 20)
        assert large in data
        client.sendall(b"PUT /b HTTP/1.1\r\nHost: h\r\nContent-Length: 3000000\r\n\r\n" + bytes(3_000_000))
        assert b" 200 OK\r\n" in client.recv(1 << 16)
    log = tls_stub.collect()
    assert [request.complete for request in log.requests] == [True, True, True]
    assert [request.response_bytes for request in log.requests][:2] == [len(large), 5]
    assert log.requests[2].body_bytes == 3_000_000


def test_a_client_that_speaks_plain_http_is_a_fault(tls_stub: StubEndpoint, workspace: Path) -> None:
    tls_stub.arm((ANY_LARGE,), workspace=workspace, verify=False)
    port = int(tls_stub.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            while client.recv(1000):
                pass
    (fault,) = tls_stub.collect().faults
    assert "the TLS handshake failed" in fault


def test_a_client_that_does_not_trust_us_is_a_fault(tls_stub: StubEndpoint, workspace: Path) -> None:
    tls_stub.arm((ANY_LARGE,), workspace=workspace, verify=False)
    port = int(tls_stub.url.rpartition(":")[2])
    distrusting = ssl.create_default_context()
    with (
        socket.create_connection(("127.0.0.1", port), timeout=60) as plain,
        pytest.raises(ssl.SSLCertVerificationError),
    ):
        distrusting.wrap_socket(plain, server_hostname="127.0.0.1")
    (fault,) = tls_stub.collect().faults
    assert "TLS" in fault or "closed" in fault


def test_keys_are_private(tls_stub: StubEndpoint) -> None:
    assert tls_stub.ca_bundle is not None
    server = tls_stub.ca_bundle.parent / "server.pem"
    assert server.stat().st_mode & 0o077 == 0
    assert b"PRIVATE KEY" not in tls_stub.ca_bundle.read_bytes()
