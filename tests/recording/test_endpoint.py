"""The recording endpoint passes on what clients send and get, byte for byte, and keeps what a definition needs."""

import contextlib
import http.client
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from s3bench.clients.environment import Credentials
from s3bench.recording.endpoint import RecordingEndpoint, Upstream
from s3bench.recording.exchange import Kind
from s3bench.recording.signing import Signer
from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.endpoint import EmulatorEndpoint

CONTENT = bytes(range(256)) * 4096  # more than one piece


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatorEndpoint]:
    with EmulatorEndpoint(directory=tmp_path_factory.mktemp("emulator")) as server:
        server.arm(EmulatorSettings(buckets=("bucket",)))
        yield server


@pytest.fixture
def endpoint(emulator: EmulatorEndpoint) -> Iterator[RecordingEndpoint]:
    with RecordingEndpoint(Upstream(url=emulator.url)) as recording:
        yield recording


Connect = Callable[[RecordingEndpoint], http.client.HTTPConnection]


@pytest.fixture
def connection() -> Iterator[Connect]:
    with contextlib.ExitStack() as stack:

        def connect(endpoint: RecordingEndpoint) -> http.client.HTTPConnection:
            url = urlsplit(endpoint.url)
            client = http.client.HTTPConnection(url.hostname or "", url.port, timeout=60)
            return stack.enter_context(contextlib.closing(client))

        yield connect


def test_requests_on_one_connection_are_kept_in_their_order(endpoint: RecordingEndpoint, connection: Connect) -> None:
    client = connection(endpoint)
    client.request("PUT", "/bucket/a%20b", CONTENT)
    assert client.getresponse().read() == b""
    client.request("GET", "/bucket/a%20b", headers={"Range": "bytes=5-9"})
    partial = client.getresponse()
    assert (partial.status, partial.read()) == (206, CONTENT[5:10])
    client.request("HEAD", "/bucket/a%20b")
    head = client.getresponse()
    assert (head.read(), head.getheader("content-length")) == (b"", str(len(CONTENT)))
    client.request("GET", "/bucket/missing")
    missing = client.getresponse()
    assert (missing.status, b"NoSuchKey" in missing.read()) == (404, True)
    endpoint.settle()
    put, get, looked, failed = endpoint.exchanges
    assert (put.kind, put.path, put.request_bytes) == (Kind.PUT, "/bucket/a b", len(CONTENT))
    assert (get.kind, get.object_bytes, get.response_bytes, get.body) == (Kind.READ, len(CONTENT), 5, None)
    assert (looked.kind, looked.object_bytes) == (Kind.HEAD, len(CONTENT))
    assert failed.kind is Kind.OTHER
    assert b"NoSuchKey" in (failed.body or b"")


def test_a_chunked_body_arrives_whole(endpoint: RecordingEndpoint, connection: Connect) -> None:
    client = connection(endpoint)
    chunks = [b"%x\r\n%b\r\n" % (len(piece), piece) for piece in (CONTENT[:1], CONTENT[1:70_000], CONTENT[70_000:])]
    headers = {
        "Content-Encoding": "aws-chunked",
        "x-amz-content-sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER",
        "x-amz-decoded-content-length": str(len(CONTENT)),
        "Transfer-Encoding": "chunked",
    }
    client.request("PUT", "/bucket/chunked", iter([*chunks, b"0\r\n\r\n"]), headers, encode_chunked=True)
    client.getresponse().read()
    client.request("GET", "/bucket/chunked")
    assert client.getresponse().read() == CONTENT
    endpoint.settle()
    assert endpoint.exchanges[0].request_bytes == len(CONTENT)


def test_contents_are_kept_only_when_asked_for(emulator: EmulatorEndpoint, connection: Connect) -> None:
    with RecordingEndpoint(Upstream(url=emulator.url), keeps_contents=True) as endpoint:
        client = connection(endpoint)
        for method, body in (("PUT", b"text"), ("GET", None)):
            client.request(method, "/bucket/text", body)
            client.getresponse().read()
        endpoint.settle()
        assert endpoint.exchanges[-1].body == b"text"


def test_a_client_that_waits_for_100_continue_gets_it(endpoint: RecordingEndpoint) -> None:
    url = urlsplit(endpoint.url)
    with socket.create_connection((url.hostname or "", url.port or 0), 20) as client:
        client.sendall(b"PUT /bucket/k HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
        assert client.recv(100).startswith(b"HTTP/1.1 100 ")
        client.sendall(b"abc")
        assert client.recv(1000).startswith(b"HTTP/1.1 200 ")


def test_a_request_that_cannot_be_passed_on_is_answered_and_told(connection: Connect) -> None:
    with socket.socket() as closed:  # bound, and not listening
        closed.bind(("127.0.0.1", 0))
        with RecordingEndpoint(Upstream(url=f"http://127.0.0.1:{closed.getsockname()[1]}")) as endpoint:
            client = connection(endpoint)
            client.request("GET", "/bucket/k")
            assert client.getresponse().status == 502
            endpoint.settle()
            [failure] = endpoint.failures
            assert failure.startswith("GET /bucket/k could not be passed on to http://127.0.0.1:")
            assert "refused" in failure


def test_a_body_of_signed_chunks_is_refused_for_a_live_endpoint(
    emulator: EmulatorEndpoint, connection: Connect
) -> None:
    signer = Signer(Credentials(access_key="key", secret_key="secret"), url=emulator.url)
    with RecordingEndpoint(Upstream(url=emulator.url, signer=signer)) as endpoint:
        client = connection(endpoint)
        headers = {
            "Authorization": "AWS4-HMAC-SHA256 Credential=k/20260101/us-east-1/s3/aws4_request, Signature=x",
            "x-amz-content-sha256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
        }
        client.request("PUT", "/bucket/k", b"x", headers)
        assert client.getresponse().status == 501
        endpoint.settle()
        assert "signed" in endpoint.failures[0]


def test_it_listens_over_tls(emulator: EmulatorEndpoint, tmp_path: Path) -> None:
    import ssl  # noqa: PLC0415

    from s3bench.s3.certificates import write_certificates  # noqa: PLC0415

    certificates = write_certificates(tmp_path)
    with RecordingEndpoint(Upstream(url=emulator.url), certificate=certificates.server) as endpoint:
        url = urlsplit(endpoint.url)
        context = ssl.create_default_context(cafile=certificates.ca_bundle)
        client = http.client.HTTPSConnection(url.hostname or "", url.port, timeout=60, context=context)
        client.request("GET", "/bucket")
        assert client.getresponse().status == 200
        client.close()
