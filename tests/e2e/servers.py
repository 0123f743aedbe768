"""Real S3 servers on loopback, each with a bucket that already holds what must be left alone.

Owns how each is found and started, and what is known to be wrong with its answers. A test is skipped, with the reason,
where the server is missing; one that is there and does not start fails the test. Run as a program, this builds
versitygw as the tests would.
"""

import functools
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import boto3
import psutil
import pytest
from botocore.config import Config

from s3bench.clients.store import ClientStore
from s3bench.s3.certificates import write_certificates
from tests.e2e.programs import rclones

ACCESS_KEY = "live-test-key"
SECRET_KEY = "live-test-secret-0123456789"
KEYS = {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY}
BUCKET = "precious"
MODULE = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"
PRECIOUS = {"mine": b"mine", "s3bench/other": b"another run's", "s3bench/0123456789ab/00000000": b"looks like ours"}
"""What is in the bucket before: a user's object, a stranger below our root, and another run's."""

BUILD_S = 400.0
_START_S = 60.0
_LOOK_AGAIN_S = 0.02
_STOP_S = 10.0
_PLACES = (str(Path.home() / "go" / "bin"), str(Path(sys.executable).parent))


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveServer:
    """A server that answers at `url`. `explained` are the failures it is known for, by phase, with the reason."""

    name: str
    url: str
    ca_bundle: Path | None = None
    explained: Mapping[tuple[str, str], str] = field(default_factory=dict)

    @property
    def options(self) -> tuple[str, ...]:
        """What tells `s3bench load` where to go."""
        trust = ("--ca-bundle", str(self.ca_bundle)) if self.ca_bundle else ()
        return ("--endpoint-url", self.url, "--bucket", BUCKET, *trust)

    def objects(self) -> dict[str, str]:
        """Key and ETag of every object of the bucket."""
        with self._client() as client:
            pages = client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET)
            return {item["Key"]: item["ETag"] for page in pages for item in page.get("Contents", ())}

    def uploads(self) -> list[str]:
        """Keys of the multipart uploads that are not finished."""
        with self._client() as client:
            try:
                return [each["Key"] for each in client.list_multipart_uploads(Bucket=BUCKET).get("Uploads", ())]
            except client.exceptions.NoSuchUpload:  # rclone's answer instead of an empty list
                return []

    def put(self, key: str, body: bytes) -> None:
        """Put an object, as somebody else would."""
        with self._client() as client:
            client.put_object(Bucket=BUCKET, Key=key, Body=body)

    def fill(self) -> None:
        """Make the bucket and what is in it before."""
        with self._client() as client:
            if BUCKET not in {each["Name"] for each in client.list_buckets()["Buckets"]}:
                client.create_bucket(Bucket=BUCKET)
            for key, body in PRECIOUS.items():
                client.put_object(Bucket=BUCKET, Key=key, Body=body)

    def _client(self) -> "closing[Any]":
        return closing(
            boto3.client(
                "s3",
                endpoint_url=self.url,
                region_name="us-east-1",
                aws_access_key_id=ACCESS_KEY,
                aws_secret_access_key=SECRET_KEY,
                verify=str(self.ca_bundle) if self.ca_bundle else None,
                config=Config(s3={"addressing_style": "path"}, request_checksum_calculation="when_required"),
            )
        )


@functools.cache
def begin_building() -> subprocess.Popen[str] | None:
    """Begin to build versitygw into the store, once, beside the tests that do not need it; `None` where it is not."""
    built = ClientStore.from_environment(os.environ).root / "servers"
    go = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    if go is None or _found("versitygw", str(built)):
        return None
    built.mkdir(parents=True, exist_ok=True)
    once = ("flock", str(built / "building")) if shutil.which("flock") else ()  # of several processes of a test run
    command = (*once, "nice", "-n", "19", go, "install", "-ldflags=-s -w", MODULE)  # cores that nobody else wants
    environment = {**os.environ, "GOBIN": str(built), "CGO_ENABLED": "0"}
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


@functools.cache
def versitygw_program() -> str:
    """The binary: found, or built where there is Go."""
    building = begin_building()
    said = building.communicate(timeout=BUILD_S)[1] if building else ""
    if found := _found("versitygw", str(ClientStore.from_environment(os.environ).root / "servers")):
        return found
    if building is None:
        pytest.skip(f"needs versitygw, and there is no Go to build it: go install {MODULE}")
    pytest.skip(f"needs versitygw, which could not be built: {said[-300:]}")


@contextmanager
def versitygw(directory: Path, *, tls: bool) -> Iterator[LiveServer]:
    """Start versitygw over an empty directory."""
    program = versitygw_program()
    data = directory / "data"
    data.mkdir()
    options: list[str] = ["--keep-alive"]
    ca_bundle = None
    if tls:
        certificates = write_certificates(directory)
        ca_bundle = certificates.ca_bundle
        options += ["--cert", str(certificates.server), "--key", str(certificates.server)]
    scheme = "https" if tls else "http"
    keys = {"ROOT_ACCESS_KEY": ACCESS_KEY, "ROOT_SECRET_KEY": SECRET_KEY}
    with _listening(lambda port: [program, "--port", f"127.0.0.1:{port}", *options, "posix", str(data)], keys) as port:
        yield _filled(LiveServer(name="versitygw", url=f"{scheme}://127.0.0.1:{port}", ca_bundle=ca_bundle))


@contextmanager
def moto(directory: Path) -> Iterator[LiveServer]:
    """Start moto's server."""
    del directory
    program = _found("moto_server")
    if program is None:
        pytest.skip("needs moto_server: install moto[server], in a virtual environment of its own, onto PATH")
    with _listening(lambda port: [program, "-p", str(port)]) as port:
        yield _filled(LiveServer(name="moto", url=f"http://127.0.0.1:{port}"))


@contextmanager
def rclone(directory: Path) -> Iterator[LiveServer]:
    """Start rclone's server, which old ones do not have."""
    able = [each.program for each in rclones() if not each.old]
    if not able:
        pytest.skip("needs rclone 1.68 or later: go install github.com/rclone/rclone@latest")
    data = directory / "data"
    (data / BUCKET).mkdir(parents=True)
    options = ("--auth-key", f"{ACCESS_KEY},{SECRET_KEY}", "--config", str(directory / "none"))
    with _listening(lambda port: [able[0], "serve", "s3", "--addr", f"127.0.0.1:{port}", *options, str(data)]) as port:
        yield _filled(
            LiveServer(
                name="rclone",
                url=f"http://127.0.0.1:{port}",
                explained={
                    ("range", "body corrupt"): "it answers a range with 200 instead of 206",
                    ("mixed", "body corrupt"): "it answers a range with 200 instead of 206",
                    ("put", "500 InternalError"): "the first writes into a new folder at the same time make it fail",
                    (
                        "multipart",
                        "500 InternalError",
                    ): "the first writes into a new folder at the same time make it fail",
                },
            )
        )


_START: Mapping[str, Callable[[Path], AbstractContextManager[LiveServer]]] = {
    "versitygw": lambda directory: versitygw(directory, tls=False),
    "versitygw-https": lambda directory: versitygw(directory, tls=True),
    "moto": moto,
    "rclone": rclone,
}

SERVERS = tuple(_START)
"""The names of the servers there are."""


class Servers:
    """Servers by name, each started when it is first asked for, below the directory `root`."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._stack = ExitStack()
        self._running: dict[str, LiveServer] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def at(self, name: str) -> LiveServer:
        """Give the server of that name."""
        if name not in self._running:
            directory = self._root / name
            directory.mkdir(exist_ok=True)
            self._running[name] = self._stack.enter_context(_START[name](directory))
        return self._running[name]


def _found(name: str, *places: str) -> str | None:
    return shutil.which(name, path=os.pathsep.join((os.environ.get("PATH", ""), *_PLACES, *places)))


def _filled(server: LiveServer) -> LiveServer:
    server.fill()
    return server


@contextmanager
def _listening(
    command_at: Callable[[int], Sequence[str]], environment: Mapping[str, str] | None = None
) -> Iterator[int]:
    """Run a server on a free port, which is given; once more on another where somebody took that meanwhile."""
    with ExitStack() as stack:
        port = _free_port()
        said = stack.enter_context(_running(command_at(port), port, environment or {}))
        if "address already in use" in said.lower():
            port = _free_port()
            said = stack.enter_context(_running(command_at(port), port, environment or {}))
        assert not said, f"the server ended before it took a connection: {said}"
        yield port


@contextmanager
def _running(command: Sequence[str], port: int, environment: Mapping[str, str]) -> Iterator[str]:
    """Run a server that listens on `port`; gives nothing once it does, and its last words where it ended instead."""
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(command, env={**os.environ, **environment}, stdout=said, stderr=said) as process,
    ):
        try:
            if _listens(process, port):
                yield ""
            else:
                said.seek(0)
                yield f"exit code {process.returncode}: {said.read()[-2000:].decode(errors='replace')}"
        finally:
            process.terminate()
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()


def _listens(process: "subprocess.Popen[bytes]", port: int) -> bool:
    """Wait until this process, and not just anybody, listens on the port; false where it ends before."""
    deadline = time.monotonic() + _START_S
    while process.poll() is None:
        with suppress(psutil.Error):
            sockets = psutil.Process(process.pid).net_connections("tcp")
            if any(each.status == psutil.CONN_LISTEN and each.laddr[1] == port for each in sockets):
                return True
        assert time.monotonic() < deadline, f"{process.args!r} took no connection"
        with suppress(subprocess.TimeoutExpired):
            process.wait(_LOOK_AGAIN_S)
    return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    from tests.conftest import use_own_store

    os.setpgrp()  # so that scripts/test can end the build as a whole
    use_own_store()
    if building := begin_building():
        building.communicate()
