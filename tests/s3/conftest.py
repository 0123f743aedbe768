"""The server under test, in its own process, and a client that sends exactly the bytes it is told to."""

import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pytest

from s3bench.s3.endpoint import StubEndpoint
from s3bench.s3.wirelog import WireLog
from s3bench.spec.definition import FileBody, RequestMatch, Response

LIMIT_S = 60.0


class RawClient:
    """One connection; every wait is bounded by `LIMIT_S`."""

    def __init__(self, url: str) -> None:
        port = int(url.rpartition(":")[2])
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S)
        self._data = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.sock.close()

    def send(self, data: bytes) -> None:
        self.sock.sendall(data)

    def response(self, *, to_head: bool = False) -> tuple[int, dict[str, str], bytes]:
        """Read one response, `to_head` when it answers a HEAD: status, headers, body."""
        while b"\r\n\r\n" not in self._data:
            self._more()
        head, _, self._data = self._data.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
        length = 0 if to_head else int(headers.get("content-length", "0"))
        while len(self._data) < length:
            self._more()
        body, self._data = self._data[:length], self._data[length:]
        return int(lines[0].split(" ")[1]), headers, body

    def status_or_close(self) -> int | None:
        """Read until the server has answered or closed; the status, or `None` where it only closed."""
        try:
            return self.response()[0]
        except (EOFError, ConnectionError):
            return None

    def at_end(self) -> bool:
        """Wait for the server to close; whether it does so without another byte."""
        try:
            return self._data + self.sock.recv(1) == b""
        except ConnectionResetError:
            return True

    def _more(self) -> None:
        data = self.sock.recv(65536)
        if not data:
            raise EOFError(self._data)
        self._data += data


class Wire:
    """The stub and what tests do with it."""

    def __init__(self, stub: StubEndpoint, workspace: Path) -> None:
        self.stub = stub
        self.workspace = workspace

    def arm(self, *responses: Response, verify: bool = False) -> None:
        self.stub.arm(responses, workspace=self.workspace, verify=verify)

    def collect(self) -> WireLog:
        return self.stub.collect()

    def connect(self) -> RawClient:
        return RawClient(self.stub.url)

    @staticmethod
    def request(method: str, target: str, body: bytes = b"", **headers: str) -> bytes:
        """A request with Host and Content-Length; underscores in header names stand for hyphens."""
        lines = [f"{method} {target} HTTP/1.1", "Host: 127.0.0.1"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        if body:
            lines.append(f"Content-Length: {len(body)}")
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + body

    @staticmethod
    def any_file(name: str) -> Response:
        """A response with the file that fits every request, without end."""
        return Response(match=RequestMatch(), instances=None, body=FileBody(file=name))


@pytest.fixture(scope="session")
def stub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StubEndpoint]:
    with StubEndpoint(directory=tmp_path_factory.mktemp("stub")) as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def tls_stub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StubEndpoint]:
    with StubEndpoint(tls=True, directory=tmp_path_factory.mktemp("tls-stub")) as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "large"
    path.write_bytes(bytes(range(251)) * 20000)
    return path


@pytest.fixture
def workspace(tmp_path: Path, large: Path) -> Path:
    """Files of its own, but for `large`, which is the same one in all tests and only read."""
    os.link(large, tmp_path / "large")
    (tmp_path / "small").write_bytes(bytes(range(256)))
    (tmp_path / "empty").write_bytes(b"")
    return tmp_path


@pytest.fixture
def wire(stub: StubEndpoint, workspace: Path) -> Wire:
    return Wire(stub, workspace)


@pytest.fixture
def in_new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine whose local time is not UTC."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "America/New_York")
        time.tzset()
        yield
    time.tzset()
