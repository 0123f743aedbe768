"""The recording endpoint passes on what clients send and get, byte for byte, and keeps what a definition needs."""

import contextlib
import http.client
import queue
import socket
import threading
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
LIMIT_S = 20.0
RESET_ON_CLOSE = b"\x01\x00\x00\x00\x00\x00\x00\x00"
LARGE_BYTES = 32 << 20  # more than the buffers of two sockets hold


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


@contextlib.contextmanager
def upstream(answer: bytes, *, resets: bool = False) -> Iterator[str]:
    """The URL of a server that reads one request's head, sends `answer`, and closes the connection or `resets` it."""

    def serve() -> None:
        connection, _ = listener.accept()
        with connection, contextlib.suppress(OSError):
            if resets:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
            while b"\r\n\r\n" not in connection.recv(65536, socket.MSG_PEEK):
                pass
            connection.recv(65536)
            connection.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=serve)
        server.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.join()


def connected(endpoint: RecordingEndpoint) -> socket.socket:
    url = urlsplit(endpoint.url)
    return socket.create_connection((url.hostname or "", url.port or 0), LIMIT_S)


def everything(client: socket.socket) -> bytes:
    """Read to the connection's end."""
    received = bytearray()
    while data := client.recv(65536):
        received += data
    return bytes(received)


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
    pieces = (CONTENT[:8192], CONTENT[8192:70_000], CONTENT[70_000:])
    chunks = [b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces]
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


@pytest.mark.parametrize(
    ("answer", "resets", "why"),
    [
        (b"Content-Length: 1000\r\n\r\n" + b"x" * 500, False, "the connection was closed 500 bytes before the end"),
        (b"Content-Length: 1000\r\n\r\n" + b"x" * 500, True, "Connection reset by peer"),
        (b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", False, "the connection was closed before the last chunk"),
        (b"Transfer-Encoding: chunked\r\n\r\n9\r\nabc", False, "the connection was closed before the last chunk"),
    ],
    ids=["length", "reset", "chunks", "chunk"],
)
def test_a_response_that_breaks_off_ends_the_clients_connection_without_a_word_of_ours(
    answer: bytes, resets: bool, why: str
) -> None:
    with (
        upstream(b"HTTP/1.1 200 OK\r\n" + answer, resets=resets) as url,
        RecordingEndpoint(Upstream(url=url)) as endpoint,
        connected(endpoint) as client,
    ):
        client.sendall(b"GET /bucket/k HTTP/1.1\r\nHost: x\r\n\r\n")
        received = everything(client)
        assert received.startswith(b"HTTP/1.1 200 OK\r\n")
        assert received.count(b"HTTP/1.1") == 1
        assert not received.endswith(b"\r\n0\r\n\r\n")
        endpoint.settle()
        [failure] = endpoint.failures
        assert failure.startswith(f"the response to GET /bucket/k from {url} broke off: ")
        assert failure.endswith(why)
        assert endpoint.exchanges == ()


def test_chunks_have_no_length_beside_them(connection: Connect) -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
    with upstream(answer) as url, RecordingEndpoint(Upstream(url=url)) as endpoint:
        client = connection(endpoint)
        client.request("GET", "/bucket/k")
        response = client.getresponse()
        assert (response.getheader("content-length"), response.read()) == (None, b"abc")


def begin_and_leave(endpoint: RecordingEndpoint, client: socket.socket, target: bytes) -> None:
    """Read the first bytes of a response, and reset the connection."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
    client.sendall(b"GET %b HTTP/1.1\r\nHost: x\r\n\r\n" % target)
    assert client.recv(10)
    client.close()
    endpoint.settle()
    assert (endpoint.failures, endpoint.cut_requests) == ((), ())


@pytest.mark.parametrize("keeps_contents", [False, True])
def test_a_download_that_the_client_closes_early_is_kept_with_its_declared_size(keeps_contents: bool) -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % LARGE_BYTES
    with (
        upstream(answer + bytes(LARGE_BYTES)) as url,
        RecordingEndpoint(Upstream(url=url), keeps_contents=keeps_contents) as endpoint,
        connected(endpoint) as client,
    ):
        begin_and_leave(endpoint, client, b"/bucket/k")
        [exchange] = endpoint.exchanges
        assert (exchange.kind, exchange.object_bytes, exchange.body) == (Kind.READ, LARGE_BYTES, None)
        assert exchange.response_bytes < LARGE_BYTES


@pytest.mark.parametrize("target", [b"/bucket?list-type=2", b"/bucket/k"], ids=["listing", "object"])
def test_a_response_whose_rest_is_needed_is_read_to_its_end_though_the_client_left(target: bytes) -> None:
    chunk = b"%x\r\n%b\r\n" % (LARGE_BYTES, bytes(LARGE_BYTES))
    with (
        upstream(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk + b"0\r\n\r\n") as url,
        RecordingEndpoint(Upstream(url=url)) as endpoint,
        connected(endpoint) as client,
    ):
        begin_and_leave(endpoint, client, target)
        [exchange] = endpoint.exchanges
        assert exchange.response_bytes == LARGE_BYTES


@pytest.mark.parametrize("resets", [False, True])
@pytest.mark.parametrize(
    "body",
    [
        b"Content-Length: 9\r\n\r\nabc",
        b"Transfer-Encoding: chunked\r\n\r\n9\r\nabc",
        b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
    ],
    ids=["length", "chunk", "chunks"],
)
def test_a_client_that_leaves_in_the_middle_of_a_body_is_not_the_endpoints_failure(body: bytes, resets: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as behind:
        behind.settimeout(LIMIT_S)
        url = f"http://127.0.0.1:{behind.getsockname()[1]}"
        with RecordingEndpoint(Upstream(url=url)) as endpoint, connected(endpoint) as client:
            if resets:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
            client.sendall(b"PUT /bucket/cut HTTP/1.1\r\nHost: x\r\n" + body)
            passed_on, _ = behind.accept()  # the endpoint is in the middle of the request
            client.close()
            endpoint.settle()
            passed_on.close()
            assert endpoint.failures == endpoint.exchanges == ()
            [cut] = endpoint.cut_requests
            assert cut == "PUT /bucket/cut: the client closed the connection in the middle of the body"


def test_a_request_without_a_response_when_waiting_ends_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("s3bench.recording.endpoint._SETTLE_S", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as behind:
        behind.settimeout(LIMIT_S)
        url = f"http://127.0.0.1:{behind.getsockname()[1]}"
        with RecordingEndpoint(Upstream(url=url)) as endpoint, connected(endpoint) as client:
            client.sendall(b"GET /bucket/slow HTTP/1.1\r\nHost: x\r\n\r\n")
            passed_on, _ = behind.accept()
            endpoint.settle()
            assert endpoint.failures == ("1 request had no complete response 0 s after the command had ended",)
            passed_on.close()


def signed_for(service: str) -> dict[str, str]:
    """The headers of a request that is signed with made-up keys."""
    return {
        "Authorization": f"AWS4-HMAC-SHA256 Credential=k/20260101/us-east-1/{service}/aws4_request, Signature=x",
        "x-amz-content-sha256": "UNSIGNED-PAYLOAD",
    }


@pytest.mark.parametrize(
    ("headers", "target", "why"),
    [
        (signed_for("s3") | {"x-amz-content-sha256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"}, "/bucket/k", "each chunk"),
        (signed_for("s3express"), "/bucket--use1-az4--x-s3?session", "directory buckets"),
    ],
    ids=["signed chunks", "session"],
)
def test_what_cannot_be_signed_anew_is_refused_for_a_live_endpoint(
    emulator: EmulatorEndpoint, connection: Connect, headers: dict[str, str], target: str, why: str
) -> None:
    signer = Signer(Credentials(access_key="key", secret_key="secret"), url=emulator.url)
    with RecordingEndpoint(Upstream(url=emulator.url, is_live=True, signer=signer)) as endpoint:
        client = connection(endpoint)
        client.request("PUT", target, b"x", headers)
        assert client.getresponse().status == 501
        endpoint.settle()
        assert why in endpoint.failures[0]
        assert endpoint.exchanges == ()


def test_only_signed_requests_to_a_live_endpoint_need_credentials(
    emulator: EmulatorEndpoint, connection: Connect
) -> None:
    with RecordingEndpoint(Upstream(url=emulator.url, is_live=True)) as endpoint:
        client = connection(endpoint)
        client.request("HEAD", "/bucket")
        public = client.getresponse()
        assert (public.status, public.read()) == (200, b"")
        client.request("HEAD", "/bucket", headers=signed_for("s3"))
        assert client.getresponse().status == 501
        endpoint.settle()
        [failure] = endpoint.failures
        assert "you have no credentials to sign it anew" in failure


@contextlib.contextmanager
def upstream_that_closes(heard: queue.Queue[bytes], *, count: int) -> Iterator[str]:
    """The URL of a server that closes each of `count` connections after a response that lets it stay open.

    It says what it got once the connection is closed.
    """

    def serve() -> None:
        for _ in range(count):
            connection, _ = listener.accept()
            with connection:
                head = connection.recv(65536)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            heard.put(head)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(LIMIT_S)
        server = threading.Thread(target=serve)
        server.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.join()


def test_a_connection_that_the_endpoint_behind_closed_meanwhile_is_opened_again(connection: Connect) -> None:
    heard: queue.Queue[bytes] = queue.Queue()
    with upstream_that_closes(heard, count=2) as url, RecordingEndpoint(Upstream(url=url)) as endpoint:
        client = connection(endpoint)
        for key in (b"first", b"second"):
            client.request("GET", f"/bucket/{key.decode()}")
            assert client.getresponse().read() == b""
            assert heard.get(timeout=LIMIT_S).startswith(b"GET /bucket/%b " % key)
        endpoint.settle()
        assert endpoint.failures == ()
        assert len(endpoint.exchanges) == 2


def test_a_live_endpoint_gets_its_own_host_from_an_unsigned_request_too(connection: Connect) -> None:
    heard: queue.Queue[bytes] = queue.Queue()
    with upstream_that_closes(heard, count=1) as url, RecordingEndpoint(Upstream(url=url, is_live=True)) as endpoint:
        connection(endpoint).request("GET", "/bucket/k")
        lines = heard.get(timeout=LIMIT_S).lower().split(b"\r\n")
        assert [line for line in lines if line.startswith(b"host:")] == [f"host: {urlsplit(url).netloc}".encode()]


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
